"""Drives: those of the catalogue, and those of files."""

import tomllib
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from halfturn import _halfturn


class Drive:
    """A drive by its name in the catalogue, or by the path of its file."""

    def __init__(self, name: str | PathLike[str]) -> None:
        self.name = fspath(name)
        facts = _halfturn.drive(self.name)
        self.title = facts["title"]
        """What it is."""
        self.queue = facts["depth"]
        """How many commands it takes at once."""
        self.blocks = facts["blocks"]
        """How many blocks of 512 bytes it has; nothing of what is not a disk."""
        self._text = facts["file"]

    @staticmethod
    def names() -> list[str]:
        """All names of the catalogue, disks first."""
        return _halfturn.drive_names()

    @property
    def capacity_bytes(self) -> int | None:
        """How much it holds; nothing of what is not a disk."""
        return None if self.blocks is None else self.blocks * 512

    @property
    def text(self) -> str:
        """Its drive file."""
        return Path(self.name).read_text(encoding="utf-8") if self._text is None else self._text

    @property
    def parameters(self) -> dict[str, Any]:
        """What its drive file says, by table and key, as docs/reference/drive-files.md explains them."""
        return tomllib.loads(self.text)

    def __repr__(self) -> str:
        return f"<Drive {self.name}: {self.title}>"
