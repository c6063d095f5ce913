"""The rows of a sweep, which may be more than memory holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


class SweepResults:
    """The folder of a sweep: a row for each run, with the whole experiment beside its results."""

    def __init__(self, folder: Path, count: int, ran: int) -> None:
        self.folder = folder
        self.count = count
        """How many rows there are."""
        self.ran = ran
        """How many runs were computed now; the others had ended before."""

    @property
    def rows(self) -> Path:
        """The file of rows, a JSON object a line."""
        return self.folder / "rows.jsonl"

    @property
    def table(self) -> Path:
        """The same as comma-separated values, without histograms."""
        return self.folder / "rows.csv"

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self.rows.open(encoding="utf-8") as lines:
            for line in lines:
                row: dict[str, Any] = json.loads(line)
                yield row

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each run, a column for each figure."""
        import pandas

        return pandas.read_csv(self.table)

    def __repr__(self) -> str:
        return f"<SweepResults: {self.count} runs in {self.folder}, {self.ran} of them computed now>"
