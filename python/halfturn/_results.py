"""Results: what `--format json` prints, to look at from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfturn._requests import Requests

if TYPE_CHECKING:
    import pandas


class Run(Mapping[str, Any]):
    """One combination of what was varied: a dictionary with the keys of docs/reference/json.md."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def labels(self) -> Mapping[str, float | str]:
        """What was varied, and its value here."""
        labels: Mapping[str, float | str] = self._fields["labels"]
        return labels

    @property
    def classes(self) -> Mapping[str, Mapping[str, Any]]:
        """Results of each service class, by name."""
        classes: Mapping[str, Mapping[str, Any]] = self._fields["classes"]
        return classes

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know before believing the figures."""
        notes: Sequence[str] = self._fields["notes"]
        return notes

    def __repr__(self) -> str:
        labels = ", ".join(f"{key}={value}" for key, value in self.labels.items())
        return f"<Run {labels or 'as the experiment says'}: {self['requests']} requests>"

    def _rows(self) -> Iterator[dict[str, Any]]:
        whole = ("requests", "unfinished", "simulated_seconds", "throughput_mb_s", "idle_fraction", "expected_wait_ms")
        for name, fields in self.classes.items():
            row: dict[str, Any] = {**self.labels, "class": name}
            row |= {f"run.{key}": self[key] for key in whole}
            for key, value in fields.items():
                if isinstance(value, Mapping):
                    row |= {f"{key}.{part}": inner for part, inner in value.items()}
                elif not isinstance(value, list):
                    row[key] = value
            yield row


class Results(Sequence[Run]):
    """The runs of an experiment, in the order of its lists."""

    def __init__(self, text: str, requests: Requests | None = None) -> None:
        self.json = text
        """What `halfturn simulate --format json` prints, byte for byte."""
        self.requests = requests
        """A record of each request, where `simulate` was told to keep them."""
        self._fields: dict[str, Any] = json.loads(text)
        self.runs = [Run(run) for run in self._fields["runs"]]

    def __getitem__(self, key: Any) -> Any:
        """A run by its place, or a field of the JSON by its name."""
        return self._fields[key] if isinstance(key, str) else self.runs[key]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def inputs(self) -> Sequence[Mapping[str, Any]]:
        """The drives and traces that the results rest on, with the SHA-256 of each."""
        inputs: Sequence[Mapping[str, Any]] = self._fields.get("inputs", [])
        return inputs

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `json` has it."""
        fields: dict[str, Any] = json.loads(self.json)
        return fields

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each class of each run: what was varied, the class, figures of the run (`run.…`) and of the class."""
        import pandas

        return pandas.DataFrame([row for run in self.runs for row in run._rows()])

    def histograms(self) -> pandas.DataFrame:
        """How many times were below each bound, and not below the one before: of responses and waits, by run and class."""
        import pandas

        return pandas.DataFrame(
            [
                {**run.labels, "class": name, "time": time, "below_ms": below, "count": count}
                for run in self.runs
                for name, fields in run.classes.items()
                for time in ("response", "waiting")
                for below, count in fields[f"{time}_histogram_ms"]
            ]
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the JSON into a file."""
        Path(path).write_text(self.json, encoding="utf-8")

    def __repr__(self) -> str:
        varied = sorted({key for run in self.runs for key in run.labels})
        return f"<Results: {len(self)} runs" + (f", varied: {', '.join(varied)}>" if varied else ">")

    def _repr_html_(self) -> str:
        labels = list(dict.fromkeys(key for run in self.runs for key in run.labels))
        heads = [*labels, "class", "requests", "mean ms", "± 95 %", "p50 ms", "p99 ms", "max ms", "MB/s"]
        table = ["<table><thead><tr>", *(f"<th scope='col'>{escape(head)}</th>" for head in heads), "</tr></thead><tbody>"]
        for run in self.runs:
            for name, fields in run.classes.items():
                times = fields["response_ms"]
                figures = [times["mean"], times["ci95"], times["p50"], times["p99"], times["max"], fields["throughput_mb_s"]]
                cells = [str(run.labels.get(label, "")) for label in labels] + [name, f"{fields['requests']:,}"]
                cells += ["–" if figure is None else f"{figure:,.2f}" for figure in figures]
                table += ["<tr>", *(f"<td>{escape(cell)}</td>" for cell in cells), "</tr>"]
        notes = dict.fromkeys(note for run in self.runs for note in run.notes)
        return "".join([*table, "</tbody></table>", *(f"<p>{escape(note)}</p>" for note in notes)])
