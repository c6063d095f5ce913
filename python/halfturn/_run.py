"""Running experiments."""

import os
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from halfturn import _halfturn
from halfturn._experiment import Experiment, Value, located, sets
from halfturn._results import Results
from halfturn._sweep import SweepResults


def simulate(
    experiment: Experiment,
    /,
    *,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    **overrides: Value,
) -> Results:
    """Runs an experiment in virtual time, on all cores, as `halfturn simulate` does.

    `experiment` is the path of a file, the text of one (of several lines), or a dictionary of its tables. Tables given by name
    change single keys of it: `scheduler={"policy": ["fcfs", "satf"]}`, `run={"requests": 2000}`. `set` takes dotted names, as
    `--set` does, also of a workload by its name: `set={"workload.reader.depth": [1, 2, 4]}`. A list of values is varied.
    `progress` is called with the number of replications that have ended.

    Raises `BadInputError`, which says where, what and how to mend it; and KeyboardInterrupt as soon as it comes.
    """
    path, text = located(experiment)
    return Results(_halfturn.simulate(path, text, sets(set, overrides), seed, threads or 0, progress))


def sweep(
    experiment: Experiment,
    folder: str | PathLike[str],
    /,
    *,
    shard: str | None = None,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    **overrides: Value,
) -> SweepResults:
    """Runs a long sweep as `halfturn sweep` does: each run is kept in `folder` as it ends, and is not computed again.

    `shard`, as "2/8", runs the second of eight parts; `halfturn merge` joins their folders. All else is as `simulate` has it.
    """
    path, text = located(experiment)
    changes = sets(set, overrides)
    place = Path(folder)
    portable = _halfturn.portable(path, text, changes, seed)
    place.mkdir(parents=True, exist_ok=True)
    copy = place / "experiment.toml"
    if text is not None or not (copy.exists() and copy.samefile(path)):
        _replace(copy, portable)
    rows, table = _draft(place / "rows.jsonl"), _draft(place / "rows.csv")
    journal = place / "points.jsonl"
    try:
        count, ran = _halfturn.sweep(path, text, changes, seed, threads or 0, shard, journal, rows, table, progress)
        os.replace(rows, place / "rows.jsonl")
        os.replace(table, place / "rows.csv")
    finally:
        rows.unlink(missing_ok=True)
        table.unlink(missing_ok=True)
    return SweepResults(place, count, ran)


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.part{os.getpid()}")


def _replace(path: Path, text: str) -> None:
    draft = _draft(path)
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
