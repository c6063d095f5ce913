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

class Waiting:
    """A request that waits."""

    block: int
    blocks: int
    write: bool
    arrived_ns: int
    @property
    def class_(self) -> str: ...
    priority: int

class Table:
    """Rows that others read."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def columns(self) -> tuple[str, ...]: ...

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
    requests: bool,
    policy: Callable[[], object] | None,
    progress: Callable[[int], object] | None,
) -> tuple[str, Table | None]: ...
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
def sweep_shard(path: str | PathLike[str], text: str, shard: str, journal: str | PathLike[str]) -> int: ...
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
def read_trace(
    path: str | PathLike[str], bytes: bytes | None, format: str | None, columns: str | None, device: str | None
) -> Table: ...
def write_trace(table: Table, path: str | PathLike[str], to: str | None) -> int: ...
def profile(
    device: str, quick: bool, scratch: str | None, seed: int, progress: Callable[[int], object] | None
) -> tuple[str, str | None, int, float]: ...
def reproduce(
    ids: list[str],
    full: bool,
    seeds: int | None,
    sets: list[str],
    threads: int,
    progress: Callable[[int], object] | None,
) -> str: ...
def list_targets(ids: list[str]) -> list[tuple[str, str]]: ...
def portable(path: str | PathLike[str], text: str | None, sets: list[str], seed: int | None) -> str: ...
def drive_names() -> list[str]: ...
def drive(name: str) -> DriveFacts: ...
