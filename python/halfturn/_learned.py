"""Drives that are learned from the times of their commands."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from halfturn import _halfturn


class Profile:
    """A drive as it was learned."""

    def __init__(self, text: str, usable: str | None, commands: int, seconds: float) -> None:
        self.text = text
        """The file that `halfturn profile -o` writes, byte for byte."""
        self.usable = usable
        """Why it is to be believed with its intervals only; None where it is good as it is."""
        self.commands = commands
        """How many commands it took."""
        self.seconds = seconds
        """How long they took of the drive's time."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What the file says, by table and key."""
        return tomllib.loads(self.text)

    def write(self, path: str | PathLike[str], /) -> None:
        """Writes the file, which `Drive` and `drive={"model": path}` take."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        grade = "good" if self.usable is None else f"usable: {self.usable}"
        return f"<Profile by {self.commands:,} commands in {self.seconds:,.0f} s, {grade}>"


def profile(
    device: str,
    /,
    *,
    quick: bool = False,
    scratch: str | None = None,
    seed: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Profile:
    """Learns a drive from the times of its commands, as `halfturn profile` does; in virtual time alone.

    `device` is `simulated:` and a name of the catalogue or a drive file. `scratch`, as "100GiB+1GiB", is where it may write. `progress`
    is called with how many thousandths of the drive are mapped.

    Raises `BadInputError` where nothing may be believed of what was learned, as the command line does.
    """
    return Profile(*_halfturn.profile(device, quick, scratch, seed, progress))
