"""Advice: what should be set."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from halfturn import _halfturn
from halfturn._experiment import Experiment, Value, located, sets


class Advice:
    """What comes nearest to a goal, and what that gives on the half of the load that the search did not see."""

    def __init__(self, text: str, experiment: str, service: str | None) -> None:
        self.json = text
        """What `halfturn advise --format json` prints, byte for byte."""
        self.experiment = experiment
        """The experiment with what is advised, for `simulate` (TOML)."""
        self.service = service
        """The same as a file for `halfturn serve`; None where it cannot be served."""
        self._fields: dict[str, Any] = json.loads(text)

    def __getitem__(self, key: str) -> Any:
        """A field of the JSON by its name."""
        return self._fields[key]

    @property
    def set(self) -> Sequence[str]:
        """What to set, as `--set` has it; empty where nothing comes nearer to the goal."""
        found: Sequence[str] = self._fields["set"]
        return found

    @property
    def unseen(self) -> Sequence[Mapping[str, Any]]:
        """Each measure of the goal: `today`, `advised`, `difference`, `ci95`, `bound`, `holds`."""
        found: Sequence[Mapping[str, Any]] = self._fields["unseen"]
        return found

    def __repr__(self) -> str:
        return f"<Advice for {self['goal']}: {', '.join(self.set) or 'leave it as it is'}>"

    def _repr_html_(self) -> str:
        heads = ("measure", "unit", "today", "advised", "difference", "ci95", "bound", "holds")
        cells = [["" if row[head] is None else _show(row[head]) for head in heads] for row in self.unseen]
        lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        head = "".join(f"<th>{head}</th>" for head in heads)
        return f"<p>{escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{lines}</table>"


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def advise(
    experiment: Experiment,
    goal: str,
    /,
    *,
    stack: str | None = None,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    **overrides: Value,
) -> Advice:
    """Finds what should be set for a goal, such as `"p99(interactive) <= 30ms, then throughput"`, as `halfturn advise` does.

    `stack`, one of "linux", "zfs", "ceph" and "md", asks what should be set of what people run today, and what Halfturn would add.
    `progress` is called with the number of trials that have ended; all else is as `simulate` has it.
    """
    path, text = located(experiment)
    changes = sets(set, overrides)
    return Advice(*_halfturn.advise(path, text, changes, seed, threads or 0, goal, stack, progress))
