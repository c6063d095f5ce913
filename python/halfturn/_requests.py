"""The record of each request of a run, as a table that other libraries read without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfturn import _halfturn

if TYPE_CHECKING:
    import pandas


class Requests:
    """A row for each request, with the columns of docs/reference/requests.md: times in ns, words coded by a dictionary.

    It speaks Arrow's C interface: `polars.DataFrame(requests)`, `pyarrow.table(requests)`, `duckdb.sql("from requests")`.
    """

    def __init__(self, table: _halfturn.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._table.columns()

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a frame of pandas; words are categories. Needs pyarrow."""
        import pyarrow

        table: Any = pyarrow.table(self)
        frame: pandas.DataFrame = table.to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"<Requests: {len(self):,} rows of {len(self.columns)} columns>"
