"""Published results, and what comes of the same experiments here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from halfturn import _halfturn
from halfturn._experiment import Value, sets

if TYPE_CHECKING:
    import pandas


class Reproduced:
    """What was measured of each target, in the order of `halfturn reproduce --list`."""

    def __init__(self, text: str) -> None:
        self.json = text
        """What `halfturn reproduce --format json` prints, byte for byte."""
        self._fields: dict[str, Any] = json.loads(text)

    @property
    def summary(self) -> Mapping[str, Any]:
        """How many targets hold, by what their numbers rest on."""
        found: Mapping[str, Any] = self._fields["summary"]
        return found

    @property
    def targets(self) -> Sequence[Mapping[str, Any]]:
        """Each target: `id`, `published`, `measured`, `verdict`, `tolerance`, `source` and more."""
        found: Sequence[Mapping[str, Any]] = self._fields["targets"]
        return found

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.targets)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each target."""
        import pandas

        return pandas.DataFrame(list(self.targets))

    def __repr__(self) -> str:
        held = sum(target["verdict"] == "held" for target in self)
        return f"<Reproduced: {held} of {len(self)} targets held>"

    def _repr_html_(self) -> str:
        heads = ("id", "published", "measured", "tolerance", "verdict")
        lines = ("".join(f"<td>{escape(str(target[head]))}</td>" for head in heads) for target in self)
        head = "".join(f"<th>{head}</th>" for head in heads)
        rows = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<p>{escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{rows}</table>"


def targets(*ids: str) -> dict[str, str]:
    """The claim of each target that `reproduce` knows, by its id; of those alone that these are, or the beginnings of."""
    return dict(_halfturn.list_targets(list(ids)))


def reproduce(
    *ids: str,
    full: bool = False,
    seeds: int | None = None,
    threads: int | None = None,
    set: Mapping[str, Value] | None = None,
    progress: Callable[[int], object] | None = None,
    **overrides: Value,
) -> Reproduced:
    """Repeats published experiments and compares, as `halfturn reproduce` does: of these targets, or of all.

    An id may be the beginning of several, as "vio". `full` takes the longer runs that some have, and ten seeds; `seeds` another number.
    `set` and tables given by name change keys of all experiments, as they do for `simulate`.
    """
    changes = sets(set, overrides)
    return Reproduced(_halfturn.reproduce(list(ids), full, seeds, changes, threads or 0, progress))
