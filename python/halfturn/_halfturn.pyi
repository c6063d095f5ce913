from collections.abc import Callable
from os import PathLike
from typing import TypedDict

VERSION: str
COMMIT: str | None

class BadInputError(ValueError):
    """What was given cannot be used; it says where, why, and what to do."""

    file: str
    line: int | None
    what: str
    mend: str

class DriveFacts(TypedDict):
    title: str
    depth: int
    file: str | None
    blocks: int | None

def simulate(
    path: str | PathLike[str],
    text: str | None,
    sets: list[str],
    seed: int | None,
    threads: int,
    progress: Callable[[int], object] | None,
) -> str: ...
def sweep(
    path: str | PathLike[str],
    text: str | None,
    sets: list[str],
    seed: int | None,
    threads: int,
    shard: str | None,
    journal: str | PathLike[str],
    rows: str | PathLike[str],
    table: str | PathLike[str],
    progress: Callable[[int], object] | None,
) -> tuple[int, int]: ...
def advise(
    path: str | PathLike[str],
    text: str | None,
    sets: list[str],
    seed: int | None,
    threads: int,
    goal: str,
    stack: str | None,
    progress: Callable[[int], object] | None,
) -> tuple[str, str, str | None]: ...
def portable(path: str | PathLike[str], text: str | None, sets: list[str], seed: int | None) -> str: ...
def drive_names() -> list[str]: ...
def drive(name: str) -> DriveFacts: ...
