"""A sweep on the workers of a Dask cluster: each task runs a shard of it and gives back the lines of its journal."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from halfturn import _halfturn

TASKS = 4
"""So many tasks a thread of the cluster: a worker that goes away loses no more than one at a time, and none is waited for long."""
RETRIES = 5
"""How often a task is run again whose worker went away."""


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""What glibc's mallopt sets: how much that is free is given back to the system, and from which size on what is freed always is."""


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keeps what one run frees for the next: Dask's workers are told to give it back at once, and to have it again costs a short run a
    fifth of its time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        yield
        return
    usual = 128 << 10
    told = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    mallopt(M_TRIM_THRESHOLD, 32 << 20)
    mallopt(M_MMAP_THRESHOLD, 32 << 20)
    try:
        yield
    finally:
        mallopt(M_TRIM_THRESHOLD, int(told) if told.isdecimal() else usual)
        mallopt(M_MMAP_THRESHOLD, usual)


def run_shard(text: str, done: str, shard: str) -> str:
    """Runs those points of a shard that `done`, the text of a journal, has not got; gives the lines of those that ran."""
    with TemporaryDirectory() as folder, kept_memory():
        journal = Path(folder) / "points.jsonl"
        journal.write_text(done, encoding="utf-8")
        _halfturn.sweep_shard("experiment", text, shard, journal)
        return journal.read_text(encoding="utf-8").removeprefix(done)


def sweep_on(client: Any, text: str, journal: Path, progress: Callable[[int], object] | None) -> int:
    """Has a cluster run what a journal has not got, and keeps it there as it comes; how many runs that were."""
    done = journal.read_text(encoding="utf-8") if journal.exists() else ""
    # What was being written when the sweep before was killed is not whole.
    done = done[: done.rfind("\n") + 1]
    count = max(TASKS * sum(client.nthreads().values()), 1)
    shards = [f"{number}/{count}" for number in range(1, count + 1)]
    tasks = client.map(run_shard, [text] * count, [done] * count, shards, pure=False, retries=RETRIES)
    ran = 0
    try:
        with journal.open("w", encoding="utf-8") as lines:
            lines.write(done)
            for _, found in importlib.import_module("distributed").as_completed(tasks, with_results=True):
                lines.write(found)
                lines.flush()
                ran += found.count("\n")
                if progress is not None:
                    progress(ran)
    finally:
        client.cancel(tasks)
    return ran
