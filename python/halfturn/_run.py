"""Running experiments."""

import os
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from halfturn import _halfturn
from halfturn._cluster import sweep_on
from halfturn._experiment import Experiment, Value, located, sets
from halfturn._policy import Policy
from halfturn._requests import Requests
from halfturn._results import Results
from halfturn._sweep import SweepResults


def simulate(
    experiment: Experiment,
    /,
    *,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    requests: bool = False,
    policy: Callable[[], Policy] | None = None,
    progress: Callable[[int], object] | None = None,
    **overrides: Value,
) -> Results:
    """Runs an experiment in virtual time, on all cores, as `halfturn simulate` does.

    `experiment` is the path of a file, the text of one (of several lines), or a dictionary of its tables. Tables given by name
    change single keys of it: `scheduler={"policy": ["fcfs", "satf"]}`, `run={"requests": 2000}`. `set` takes dotted names, as
    `--set` does, also of a workload by its name: `set={"workload.reader.depth": [1, 2, 4]}`. A list of values is varied.
    `requests` keeps a record of each request, in `Results.requests`. `policy`, a class or whatever makes a `Policy`, goes in the
    place of the policy that the experiment names. `progress` is called with the number of replications that have ended.

    Raises `BadInputError`, which says where, what and how to mend it; and KeyboardInterrupt as soon as it comes.
    """
    path, text = located(experiment)
    changes = sets(set, overrides)
    text, table = _halfturn.simulate(path, text, changes, seed, threads or 0, requests, policy, progress)
    return Results(text, None if table is None else Requests(table))


def sweep(
    experiment: Experiment,
    folder: str | PathLike[str],
    /,
    *,
    shard: str | None = None,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    client: Any = None,
    progress: Callable[[int], object] | None = None,
    **overrides: Value,
) -> SweepResults:
    """Runs a long sweep as `halfturn sweep` does: each run is kept in `folder` as it ends, and is not computed again.

    `shard`, as "2/8", runs the second of eight parts; `halfturn merge` joins their folders. `client`, a `distributed.Client`, has the
    workers of a Dask cluster run what is not there yet: they must have this package, and files that the experiment names where this
    machine has them. `progress` is then called with the number of runs. All else is as `simulate` has it.
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
    elsewhere = 0
    if client is not None:
        if shard is not None:
            raise ValueError("a cluster runs all of a sweep: give either a client or a shard")
        elsewhere = sweep_on(client, portable, journal, progress)
        progress = None
    try:
        count, ran = _halfturn.sweep(path, text, changes, seed, threads or 0, shard, journal, rows, table, progress)
        os.replace(rows, place / "rows.jsonl")
        os.replace(table, place / "rows.csv")
    finally:
        rows.unlink(missing_ok=True)
        table.unlink(missing_ok=True)
    return SweepResults(place, count, ran + elsewhere)


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.part{os.getpid()}")


def _replace(path: Path, text: str) -> None:
    draft = _draft(path)
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
