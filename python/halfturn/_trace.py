"""Traces: requests that were recorded, as a table."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from halfturn import _halfturn

if TYPE_CHECKING:
    import pandas

NAME = "trace"
"""What errors call a trace that is no file."""


class Trace:
    """A block trace: a row for each request, with `time_ns`, `op` (read, write or flush), `lbn` and `blocks` (of 512 bytes), `device`
    and, where it was measured, `response_ns`.

    `source` is the path of a trace in any format that `halfturn trace --help` lists; or a frame of pandas, or whatever speaks Arrow's C
    interface (a table of pyarrow, a frame of Polars, a result of DuckDB), with columns called as those of `csv` are. `format`,
    `columns` and `device` are `--trace-format`, `--columns` and `--device` of the command line.

    It speaks Arrow's C interface itself: `polars.DataFrame(trace)`, `duckdb.sql("from trace")`, and `Trace(trace)` is the same again.
    """

    def __init__(
        self,
        source: str | PathLike[str] | Any,
        /,
        *,
        format: str | None = None,
        columns: str | None = None,
        device: str | None = None,
    ) -> None:
        if isinstance(source, (str, PathLike)):
            self._table = _halfturn.read_trace(fspath(source), None, format, columns, device)
        else:
            self._table = _halfturn.read_trace(NAME, _text(source), format or (None if columns else "csv"), columns, device)

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
        """The same as a frame of pandas. Needs pyarrow."""
        import pyarrow

        table: Any = pyarrow.table(self)
        frame: pandas.DataFrame = table.to_pandas()
        return frame

    def write(self, path: str | PathLike[str], /, *, to: str | None = None) -> int:
        """Writes it into a file, for `workload={"kind": "trace", "file": path}`: in the format that `to` names, or else its ending.
        How many requests were written: what the format cannot hold is left out."""
        return _halfturn.write_trace(self._table, fspath(path), to)

    def __repr__(self) -> str:
        return f"<Trace: {len(self):,} requests>"


def _text(source: Any) -> bytes:
    """A frame or a table as lines with tabs, since names of devices may have commas. Columns without any value are left out."""
    import pyarrow

    table: Any = pyarrow.table(source)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    columns = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    lines = ["\t".join(columns), *("\t".join(map(_cell, row)) for row in zip(*columns.values()))]
    return ("\n".join(lines) + "\n").encode()


def _cell(value: object) -> str:
    return "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
