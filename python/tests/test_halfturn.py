"""The package beside the command line. `HALFTURN` names the binary to compare with; without it `target` is searched."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence, Sized
from pathlib import Path
from typing import Any

import pytest

import halfturn
from halfturn._experiment import document, toml

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "crates/halfturn/tests/cli/data/small.toml"

EXAMPLES: dict[str, list[str]] = {
    "first-look": [],
    "closed-depths": ["run.requests=400"],
    "queue-in-the-drive": ["run.requests=400"],
    "queue-trade": ["run.duration=10s"],
    "two-compressions": ["workload.0.input=200KiB", "workload.0.output=100KiB", "run.replications=1"],
    "rebuilding": ["run.duration=5s"],
    "stepping-in": ["run.duration=10s"],
    "interactive-beside-stream": ["run.duration=10s"],
    "scan-of-a-busy-disk": ["run.duration=10s"],
    "share-the-arm": ["run.duration=5s"],
    "drifting-drive": ["run.requests=400"],
    "learning-the-drive": ["run.requests=400"],
}

DICTIONARY: dict[str, halfturn.Value] = {
    "drive": {"model": "st318437lw"},
    "scheduler": {"policy": ["fcfs", "satf"]},
    "workload": [{"name": "readers", "kind": "closed", "depth": 8, "size": "4KiB", "read": 0.5}],
    "run": {"requests": 500, "warmup": "1s", "replications": 2},
}


def binary() -> str:
    named = os.environ.get("HALFTURN")
    found = [named] if named else [str(ROOT / "target" / kind / "halfturn") for kind in ("release", "debug")]
    for path in found:
        if Path(path).is_file():
            return path
    pytest.skip("SKIPPED: no halfturn to compare with; cargo build --release -p halfturn")


def said(*arguments: str, ok: bool = True) -> str:
    done = subprocess.run([binary(), *arguments], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode == 0) == ok, done.stderr
    return done.stdout if ok else done.stderr


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_bytes_are_those_of_the_command_line(name: str) -> None:
    path, sets = f"examples/{name}.toml", EXAMPLES[name]
    arguments = [word for one in sets for word in ("--set", one)]
    changes = dict(one.split("=", 1) for one in sets)
    values = {key: int(value) if value.isdigit() else value for key, value in changes.items()}
    ours = halfturn.simulate(path, set=values, seed=3)
    assert ours.json == said("simulate", path, "--seed", "3", "--format", "json", *arguments)


def test_a_dictionary_a_text_and_a_file_are_one_experiment(tmp_path: Path) -> None:
    text = document(DICTIONARY)
    file = tmp_path / "experiment"
    file.write_text(text)
    results = halfturn.simulate(DICTIONARY)
    assert results.json == halfturn.simulate(text).json == halfturn.simulate(file).json
    assert results.json == said("simulate", str(file), "--format", "json")
    assert [run.labels for run in results] == [{"policy": "fcfs"}, {"policy": "satf"}]


def test_overrides_change_single_keys() -> None:
    plain = halfturn.simulate(DICTIONARY, scheduler={"policy": "c-look"}, set={"workload.readers.depth": [1, 2]})
    assert [dict(run.labels) for run in plain] == [{"depth": 1}, {"depth": 2}]
    assert plain[0]["requests"] == 1000
    other = halfturn.simulate(DICTIONARY, run={"requests": 100}, seed=9, threads=1)
    assert other.runs[0]["requests"] == 200


def test_errors_have_the_words_of_the_command_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(SMALL.read_text().replace('"satf"', '"satff"'))
    with pytest.raises(halfturn.BadInputError) as raised:
        halfturn.simulate(bad)
    assert f"error: {raised.value}\n" == said("simulate", str(bad), ok=False)
    assert raised.value.file == str(bad) and raised.value.line == 7
    assert "satff" in raised.value.what and "satf" in raised.value.mend
    with pytest.raises(halfturn.BadInputError, match="no \\[\\[workload\\]\\]"):
        halfturn.simulate({**DICTIONARY, "workload": None})
    with pytest.raises(halfturn.BadInputError, match="x.toml: cannot be read"):
        halfturn.simulate("x.toml")


def test_values_are_toml() -> None:
    import tomllib

    values: dict[str, halfturn.Value] = {
        "text": 'a "b" \\ \n \x7f é', "truth": True, "whole": 2**63, "number": 1e300, "list": [1.5, [2]], "a b": {"c": "d"},
        "path": Path("x/y"), "none": None,
    }
    read = tomllib.loads(document(values))
    assert read == {**{key: value for key, value in values.items() if value is not None}, "path": "x/y"}
    numpy = pytest.importorskip("numpy")
    assert toml(numpy.arange(3)) == "[0, 1, 2]" and toml(numpy.float64(0.1)) == "0.1" and toml(numpy.int64(4)) == "4"


def test_results_are_tables_dictionaries_and_pages() -> None:
    pandas = pytest.importorskip("pandas")
    results = halfturn.simulate(DICTIONARY)
    frame = results.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["policy"]) == ["fcfs", "satf"]
    assert frame["response_ms.mean"][1] == results[1].classes["readers"]["response_ms"]["mean"]
    histogram = results.histograms()
    counts = histogram.groupby(["policy", "time"])["count"].sum()
    assert (counts == 1000).all() and len(counts) == 4
    assert results.to_dict() == json.loads(results.json) and results["schema"] == 1
    page = results._repr_html_()
    assert page.count("<tr>") == 3 and "<td>satf</td>" in page
    assert results.inputs[0]["name"] == "st318437lw" and len(results.inputs[0]["sha256"]) == 64
    assert repr(results) == "<Results: 2 runs, varied: policy>"


def test_a_sweep_is_that_of_the_command_line_and_goes_on_where_it_was(tmp_path: Path) -> None:
    lists: dict[str, halfturn.Value] = {"workload.0.depth": [1, 2, 4], "run.requests": 300}
    ours = halfturn.sweep(SMALL, tmp_path / "ours", set=lists)
    sets = ("--set", "workload.0.depth=[1,2,4]", "--set", "run.requests=300")
    said("sweep", str(SMALL), "-o", str(tmp_path / "theirs"), *sets)
    for name in ("rows.jsonl", "rows.csv", "experiment.toml"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    assert (len(ours), ours.ran) == (6, 6)
    assert halfturn.sweep(SMALL, tmp_path / "theirs", set=lists).ran == 0
    first = halfturn.sweep(SMALL, tmp_path / "one", shard="1/2", set=lists)
    assert [row["number"] for row in first] == [0, 2, 4] and sorted(os.listdir(first.folder)) == sorted(
        ["experiment.toml", "points.jsonl", "rows.csv", "rows.jsonl"]
    )
    with pytest.raises(ValueError, match="write I/N"):
        halfturn.sweep(SMALL, tmp_path / "bad", shard="3/2", set=lists)
    pytest.importorskip("pandas")
    assert list(ours.to_pandas()["run.labels.depth"]) == [row["run"]["labels"]["depth"] for row in ours]


def test_a_sweep_on_a_cluster_gives_the_same_rows_though_a_worker_is_killed(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed")
    lists: dict[str, halfturn.Value] = {"workload.0.depth": [1, 2, 3, 4, 6, 8], "run.requests": 3000}
    here = halfturn.sweep(SMALL, tmp_path / "here", set=lists)
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill(_: int) -> None:
            if not killed:
                killed.extend(worker["pid"] for worker in client.run(_pid).values())
                os.kill(killed[0], signal.SIGKILL)

        there = halfturn.sweep(SMALL, tmp_path / "there", set=lists, client=client, progress=kill)
        assert (len(there), there.ran, bool(killed)) == (12, 12, True)
        for name in ("rows.jsonl", "rows.csv", "experiment.toml"):
            assert (here.folder / name).read_bytes() == (there.folder / name).read_bytes(), name
        assert halfturn.sweep(SMALL, tmp_path / "there", set=lists, client=client).ran == 0
        with pytest.raises(ValueError, match="either a client or a shard"):
            halfturn.sweep(SMALL, tmp_path / "there", set=lists, client=client, shard="1/2")


def _pid() -> dict[str, int]:
    return {"pid": os.getpid()}


def test_advice_is_that_of_the_command_line(tmp_path: Path) -> None:
    goal = "mean <= 500ms, then throughput"
    sets = {"run.requests": 400, "workload.recorded.depth": 4, "drive.queue": 32}
    told = [f"--set={key}={value}" for key, value in sets.items()]
    look = ROOT / "examples/first-look.toml"
    advice = halfturn.advise(look, goal, set={**sets, "scheduler.policy": "fcfs"}, stack="linux")
    assert advice.json == said(
        "advise", str(look), "--goal", goal, *told, "--set=scheduler.policy=fcfs", "--stack=linux", "--format=json"
    )
    assert [row["measure"] for row in advice.unseen] == ["mean", "throughput"]
    assert goal in repr(advice) and "<table>" in advice._repr_html_()
    copy = tmp_path / "advised.toml"
    copy.write_text(advice.experiment, encoding="utf-8")
    assert halfturn.simulate(copy)[0]["requests"] > 0
    with pytest.raises(ValueError, match="there are linux, zfs, ceph, md"):
        halfturn.advise(look, goal, set={**sets, "scheduler.policy": "fcfs"}, stack="windows")


def test_drives_are_those_of_the_catalogue(tmp_path: Path) -> None:
    drive = halfturn.Drive("ST318437LW")
    assert drive.blocks is not None and drive.capacity_bytes == drive.blocks * 512
    assert "st318437lw" in halfturn.Drive.names() and "title" in drive.text
    mine = tmp_path / "mine.toml"
    mine.write_text(drive.text)
    assert halfturn.Drive(mine).parameters == drive.parameters
    with pytest.raises(halfturn.BadInputError, match="st318437"):
        halfturn.Drive("st318437lx")


def test_the_interpreter_is_free_while_something_runs() -> None:
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.wait(0.005):
            ticks.append(time.monotonic())

    ticking = threading.Thread(target=tick)
    ticking.start()
    began = time.monotonic()
    ended: list[int] = []
    halfturn.simulate(DICTIONARY, run={"requests": 200_000}, progress=ended.append)
    took = time.monotonic() - began
    stop.set()
    ticking.join()
    assert took > 0.05 and len(ticks) > 0.2 * took / 0.005, (took, len(ticks))
    assert ended == sorted(ended) and all(1 <= count <= 4 for count in ended)


class Nearest:
    """`sstf`, in Python: of several that are as near, the one that came first."""

    def choose(self, now_ns: int, arm: int, waiting: Sequence[halfturn.Waiting], /) -> int:
        return min(range(len(waiting)), key=lambda place: abs(waiting[place].block - arm))


def test_a_policy_in_python_decides_as_the_one_that_is_built_in() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    load = {**DICTIONARY, "run": {"requests": 400, "replications": 2}}
    mixed: list[halfturn.Value] = [
        {"name": "near", "kind": "closed", "depth": 6, "size": "64KiB", "read": 0.5},
        {"name": "open", "kind": "open", "rate": "40/s", "size": "4KiB"},
    ]
    for more in ({}, {"workload": mixed}):
        built_in = halfturn.simulate({**load, **more}, scheduler={"policy": "sstf"}, requests=True)
        ours = halfturn.simulate({**load, **more}, scheduler={"policy": "fcfs"}, requests=True, policy=Nearest)
        other = halfturn.simulate({**load, **more}, scheduler={"policy": "fcfs"}, requests=True)
        assert ours.json == built_in.json != other.json
        assert pyarrow.table(ours.requests).equals(pyarrow.table(built_in.requests))


def test_what_a_policy_is_shown_is_what_waits_and_its_errors_end_the_run() -> None:
    seen: list[halfturn.Waiting] = []

    class Looks:
        def choose(self, now_ns: int, arm: int, waiting: Sequence[halfturn.Waiting], /) -> int:
            assert all(it.arrived_ns <= now_ns for it in waiting)
            seen.extend(waiting)
            return len(waiting) - 1

    halfturn.simulate(DICTIONARY, scheduler={"policy": "fcfs"}, run={"requests": 100}, policy=Looks)
    assert {it.class_ for it in seen} == {"readers"} and {it.blocks for it in seen} == {8} and {it.write for it in seen} == {True, False}
    assert repr(seen[0]).startswith("<Waiting: ")

    class Fails:
        def choose(self, now_ns: int, arm: int, waiting: Sequence[halfturn.Waiting], /) -> int:
            return 1 // 0

    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        halfturn.simulate(DICTIONARY, run={"requests": 4 * 10**9}, policy=Fails)

    class Outside:
        def choose(self, now_ns: int, arm: int, waiting: Sequence[halfturn.Waiting], /) -> int:
            return len(waiting)

    with pytest.raises(IndexError, match="requests wait"):
        halfturn.simulate(DICTIONARY, run={"requests": 4 * 10**9}, policy=Outside)
    assert time.monotonic() - began < 20


def test_a_yield_curve_in_python_is_one_of_eight_points() -> None:
    assert halfturn.curve(lambda share: 1.0) == [[0.0, 1.0], [1.0, 1.0]]
    assert halfturn.curve(lambda share: 1 - share) == [[0.0, 1.0], [1.0, 0.0]]
    points = halfturn.curve(lambda share: (1 - share) ** 2)
    assert len(points) == 8
    for first, last in zip(points, points[1:]):
        middle = (first[0] + last[0]) / 2
        assert abs((first[1] + last[1]) / 2 - (1 - middle) ** 2) < 0.02
    with pytest.raises(ValueError, match="rises, at 0.5"):
        halfturn.curve(lambda share: 0.5 if share < 0.5 else 0.6)
    worth = {"class": {"readers": {"curve": points}}}
    load = {**DICTIONARY, "workload": [{**dict(DICTIONARY["workload"][0]), "deadline": "200ms"}]}  # type: ignore[index, arg-type]
    results = halfturn.simulate(load, scheduler={"policy": "yield", **worth}, run={"requests": 200})
    assert results[0]["requests"] > 0


def test_requests_are_read_by_others_and_say_what_the_lines_say(tmp_path: Path) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    requests = halfturn.simulate(SMALL, requests=True).requests
    assert requests is not None and halfturn.simulate(SMALL).requests is None
    said("simulate", str(SMALL), "--requests", str(tmp_path / "r.csv"))
    lines = pandas.read_csv(tmp_path / "r.csv", keep_default_na=False)
    assert list(lines.columns) == list(requests.columns) and len(lines) == len(requests)
    frame = requests.to_pandas()
    words = ["case", "device", "class", "op", "ending"]
    assert [name for name in frame if frame[name].dtype == "category"] == words
    pandas.testing.assert_frame_equal(frame.astype({word: lines[word].dtype for word in words}), lines)
    everything = pyarrow.table(requests)
    # The same memory, whoever asks, and how often.
    place = everything["arrival_ns"].chunk(0).buffers()[1].address
    assert place == pyarrow.table(requests)["arrival_ns"].chunk(0).buffers()[1].address
    if polars := _there("polars"):
        assert polars.DataFrame(requests)["end_ns"].max() == lines["end_ns"].max()
    if duckdb := _there("duckdb"):
        assert duckdb.sql("select count(*), sum(seek_ns) from everything").fetchall() == [(len(lines), lines["seek_ns"].sum())]
    assert repr(requests) == f"<Requests: {len(lines):,} rows of 29 columns>"


def _there(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def test_files_of_requests_are_read_by_others(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    out = tmp_path / "r.parquet"
    done = subprocess.run([binary(), "simulate", str(SMALL), "--requests", str(out)], capture_output=True, text=True)
    if "was built without" in done.stderr:
        pytest.skip("SKIPPED: this halfturn was built without files of Parquet and Arrow")
    assert done.returncode == 0, done.stderr
    said("simulate", str(SMALL), "--requests", str(tmp_path / "r.arrow"))
    ours = pyarrow.table(halfturn.simulate(SMALL, requests=True).requests)
    parquet = importlib.import_module("pyarrow.parquet").read_table(out)
    with pyarrow.ipc.open_file(tmp_path / "r.arrow") as file:
        arrow = file.read_all()
    assert arrow.equals(ours) and parquet.schema == ours.schema
    assert parquet.unify_dictionaries().to_pylist() == ours.to_pylist()
    if duckdb := _there("duckdb"):
        [(rows, last)] = duckdb.sql(f"select count(*), max(end_ns) from '{out}'").fetchall()
        assert (rows, last) == (ours.num_rows, max(ours["end_ns"].to_pylist()))
    if polars := _there("polars"):
        assert polars.read_parquet(out).equals(polars.DataFrame(halfturn.simulate(SMALL, requests=True).requests))


@pytest.mark.parametrize("path", sorted((ROOT / "python/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(path: Path) -> None:
    pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, text in enumerate(code):
        exec(compile(text, f"{path.name}, cell {number}", "exec"), names)
    assert len(code) >= 3 and cells[0]["cell_type"] == "markdown"
    assert all(not cell.get("outputs") for cell in cells), "outputs are not kept"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_ends_a_run_soon() -> None:
    # Whoever runs the tests in the background may have had interrupts ignored.
    long = "import halfturn, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    long += "print('ready', flush=True); halfturn.simulate(sys.argv[1], run={'requests': 4 * 10**9})"
    running = subprocess.Popen(
        [sys.executable, "-c", long, str(SMALL)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    time.sleep(0.5)
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    try:
        _, stderr = running.communicate(timeout=60)
    finally:
        running.kill()
    assert stderr.rstrip().endswith("KeyboardInterrupt") and time.monotonic() - began < 10, stderr


TRACE = "examples/traces/fio-mixed.blkparse.txt.gz"


def test_a_trace_is_a_table_and_comes_back_from_one(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    trace = halfturn.Trace(TRACE)
    frame = trace.to_pandas()
    assert len(trace) == len(frame) > 100 and trace.columns == tuple(frame.columns)
    assert set(frame["op"]) == {"read", "write", "flush"} and (frame["blocks"] > 0).equals(frame["op"] != "flush")
    # Of itself, of pandas, of polars and of pyarrow: with whatever each makes of times that are not there.
    for source in (trace, frame, polars.DataFrame(trace), pyarrow.table(trace)):
        pandas.testing.assert_frame_equal(halfturn.Trace(source).to_pandas(), frame)
    # Some were measured.
    frame["response_ns"] = [None if row % 3 == 0 else 1000.0 * row for row in range(len(frame))]
    pandas.testing.assert_frame_equal(halfturn.Trace(frame).to_pandas(), frame)
    # Columns of other names are mapped, those of no meaning passed over.
    named = frame.rename(columns={"lbn": "Block", "time_ns": "When"})[["When", "op", "Block", "blocks", "device"]]
    mapped = halfturn.Trace(named, columns="time_ns=When,op=op,lbn=Block,blocks=blocks,device=device")
    pandas.testing.assert_frame_equal(mapped.to_pandas()[["time_ns", "lbn"]], frame[["time_ns", "lbn"]])
    device = frame["device"].iloc[0]
    assert len(halfturn.Trace(TRACE, device=device)) == (frame["device"] == device).sum()


def test_a_trace_that_is_written_is_what_the_command_line_converts(tmp_path: Path) -> None:
    ours, its = tmp_path / "ours.iolog", tmp_path / "its.iolog"
    trace = halfturn.Trace(TRACE)
    written = trace.write(ours)
    said("trace", "convert", TRACE, str(its))
    assert ours.read_bytes() == its.read_bytes() and 0 < written <= len(trace)
    assert trace.write(tmp_path / "ours.txt", to="disksim") > 0
    said("trace", "convert", TRACE, str(tmp_path / "its.txt"), "--to", "disksim")
    assert (tmp_path / "ours.txt").read_bytes() == (tmp_path / "its.txt").read_bytes()


def test_errors_of_traces_have_the_words_of_the_command_line(tmp_path: Path) -> None:
    wrong: list[tuple[list[str], Callable[[], object]]] = [
        (["trace", "info", "none.trace"], lambda: halfturn.Trace("none.trace")),
        (["trace", "info", TRACE, "--trace-format", "mrs"], lambda: halfturn.Trace(TRACE, format="mrs")),
        (["trace", "info", TRACE, "--device", "sdq"], lambda: halfturn.Trace(TRACE, device="sdq")),
        (["trace", "info", TRACE, "--columns", "tim=1"], lambda: halfturn.Trace(TRACE, columns="tim=1")),
        (["trace", "convert", TRACE, "a.none"], lambda: halfturn.Trace(TRACE).write("a.none")),
        (["trace", "convert", TRACE, "none/a.iolog"], lambda: halfturn.Trace(TRACE).write("none/a.iolog")),
    ]
    for arguments, call in wrong:
        with pytest.raises(halfturn.BadInputError) as raised:
            call()
        assert f"error: {raised.value}\n" == said(*arguments, ok=False)
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(halfturn.BadInputError, match="^trace:"):
        halfturn.Trace(pyarrow.table({"a": [1, 2]}))


def test_a_drive_is_learned_as_the_command_line_learns_it(tmp_path: Path) -> None:
    file = tmp_path / "learned.toml"
    device = "simulated:mimic-base"
    said("profile", device, "--quick", "--seed", "3", "-o", str(file))
    mapped: list[int] = []
    found = halfturn.profile(device, quick=True, seed=3, progress=mapped.append)
    assert found.text == file.read_text(encoding="utf-8") and found.commands > 1000 and found.seconds > 1.0
    assert mapped == sorted(mapped) and all(0 < share <= 1000 for share in mapped)
    found.write(tmp_path / "again.toml")
    assert halfturn.Drive(tmp_path / "again.toml").blocks == halfturn.Drive("mimic-base").blocks
    for wrong, arguments in [("simulated:none", []), ("simulated:flash-x25m", ["-o", str(file)])]:
        with pytest.raises(halfturn.BadInputError) as raised:
            halfturn.profile(wrong, quick=True)
        assert said("profile", wrong, "--quick", *arguments, ok=False).endswith(f"error: {raised.value}\n")
    with pytest.raises(halfturn.BadInputError, match="Python learns drives in virtual time alone"):
        halfturn.profile("/dev/null")


def test_an_interrupt_ends_a_profile_at_once() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        halfturn.profile("simulated:st318437lw")
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 5.0


def test_published_results_are_those_of_the_command_line() -> None:
    ours = halfturn.reproduce("vio.table2", seeds=2, run={"seed": 7})
    assert ours.json == said("reproduce", "vio.table2", "--seeds", "2", "--set", "run.seed=7", "--format", "json")
    assert len(ours) == len(ours.to_pandas()) == len(halfturn.targets("vio.table2")) > 0
    assert ours.summary["published_numbers"]["targets"] > 0 and "targets held" in ours._repr_html_()
    listed = json.loads(said("reproduce", "--list", "--format", "json"))["targets"]
    assert halfturn.targets() == {target["id"]: target["claim"] for target in listed}
    with pytest.raises(halfturn.BadInputError) as raised:
        halfturn.reproduce("vio.tabel2")
    assert f"error: {raised.value}\n" == said("reproduce", "vio.tabel2", ok=False)


def test_the_code_of_the_guide_runs(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    guide = (ROOT / "docs/guide/python.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in guide.split("```python\n")[1:]]
    drawn: list[str] = []

    class Pyplot:
        """What of a library for plots the guide uses."""

        @staticmethod
        def semilogx(below: Sized, share: Sized, label: object) -> None:
            drawn.append(f"{label}: {len(below) == len(share)}")

    names: dict[str, Any] = {"pyplot": Pyplot}
    for block in blocks:
        for name in ("depths", "reads.iolog"):
            block = block.replace(f'"{name}"', repr(str(tmp_path / name)))
        exec(block, names)
    assert len(blocks) == 6 and drawn == ["1.0: True", "4.0: True", "16.0: True", "64.0: True"]
    assert len(names["rows"]) == 10


def test_forty_runs_of_the_guide_take_two_commands(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    guide = (ROOT / "docs/guide/README.md").read_text(encoding="utf-8")
    [commands, script] = [guide.split(f"```{mark}\n")[1].split("```")[0] for mark in ("sh cold python", "python")]
    # The first is how this package came to be here.
    assert commands.splitlines() == ["pip install ./python", "python forty.py"]
    (tmp_path / "forty.py").write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, "forty.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split()[1:] for line in done.stdout.splitlines()[1:]]
    assert len(rows) == len({(policy, depth) for policy, depth, *_ in rows}) == 40
    assert all(float(mean) > 0 and float(rate) > 0 for *_, mean, rate in rows)


def test_types_are_strict() -> None:
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "halfturn", "tests"], cwd=ROOT / "python", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
