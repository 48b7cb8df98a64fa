"""The losses of a trace: columns, slots, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_traces import job_row, make_trace, write_trace

from slurmsim.cli import main
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.metrics.packing import MEASURES, losses
from slurmsim.metrics.utilization import Interval
from slurmsim.report.compare import compare
from slurmsim.report.compare_view import as_text as comparison_text
from slurmsim.report.efficiency import Question, height, measure, rectangles, slots_between
from slurmsim.report.rundata import RunData
from slurmsim.trace.reader import read_trace
from slurmsim.trace.writer import TraceWriter

NODES = {"nodes": [["n[1-4]", 2, 0, {}]]}  # four nodes of two CPUs


def row(job_id: int, queued: int, start: int | None, end: int | None, nodes: int, user: str, **more: object) -> tuple:
    times = {"submit": queued, "last_submit": queued, "start": start, "end": end}
    return job_row(job_id=job_id, **times, nodes=nodes, cpus=2 * nodes, user=user, **more)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Over [0, 100]: 2 nodes for 100 s, 2 nodes for 50 s; one job waits 20 s; one is refused."""
    return write_trace(
        tmp_path / "run",
        jobs=[
            row(1, 0, 0, 100, 2, "ann"),
            row(2, 10, 30, 80, 2, "bob"),
            row(3, 40, None, None, 4, "bob", state="PENDING"),
            row(4, 5, None, None, 4, "cid", state="REFUSED"),
        ],
        cluster=NODES,
    )


def test_a_trace_by_hand(trace: Path) -> None:
    """Empty: 1 - (2 x 100 + 2 x 50)/400 = 1/4. Least waits 0 and 20, mean 10, over D = 100: 0.1; mean wait the same.

    One of three in the queue does not start; of ann and bob each has one that does. Refused ones are nobody.
    """
    found = losses(rectangles(read_trace(trace), "nodes"), Interval(0, 100), height(read_trace(trace), "nodes"))
    assert found.values == pytest.approx((0.25, 0.1, 1 / 3, 0, 0.1))
    by_cpus = losses(rectangles(read_trace(trace)), Interval(0, 100), height(read_trace(trace)))
    assert by_cpus.values == pytest.approx(found.values)  # whole nodes: the same share


def test_a_requeued_run_is_a_job_of_its_own(tmp_path: Path) -> None:
    """It ran over [0, 40] and was requeued at 40: from then on it waits again, 20 s until 60."""
    with TraceWriter(tmp_path / "run") as writer:
        writer.jobs.append(row(1, 40, 60, 100, 4, "ann"))
        writer.requeued.append(row(1, 0, 0, 40, 4, "ann", state="REQUEUED"))
        writer.requeued.append(row(1, 0, 0, 20, 4, "ann", state="RESIZING"))
        writer.write_json("run.json", {"cluster": NODES})
    found = losses(rectangles(read_trace(tmp_path / "run")), Interval(0, 100), 8)
    assert found.jobs == 2 and found.utilization.value == pytest.approx(0.2)
    assert found.mean_wait.raw == 10  # (0 + 20)/2


@pytest.mark.parametrize(
    ("question", "slots"),
    [
        (Question(slot_s=40), [(0, 40), (40, 80)]),  # the rest of 20 is left out
        (Question(slot_s=50), [(0, 50), (50, 100)]),
        (Question(slot_s=500), [(0, 100)]),  # one slot is all there is
        (Question(slot_s=30, begin=10, end=75), [(10, 40), (40, 70)]),
    ],
)
def test_slots(question: Question, slots: list[tuple[int, int]]) -> None:
    assert [(s.begin, s.end) for s in slots_between(question, Interval(0, 100))] == slots


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Question(begin=-1), "outside the trace"),
        (Question(end=101), "outside the trace"),
        (Question(begin=50, end=50), "end after the begin"),
        (Question(slot_s=0), "positive length"),
    ],
)
def test_slots_that_are_none(question: Question, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        slots_between(question, Interval(0, 100))


def test_what_a_trace_must_say(tmp_path: Path, trace: Path) -> None:
    with pytest.raises(ConfigError, match="unit"):
        rectangles(read_trace(trace), "cores")
    silent = write_trace(tmp_path / "silent", jobs=[row(1, 0, 0, 5, 1, "a")])
    with pytest.raises(WorkloadError, match="how large"):
        measure(RunData(read_trace(silent)), Question())
    empty = write_trace(tmp_path / "empty", cluster=NODES)
    with pytest.raises(WorkloadError, match="no job"):
        measure(RunData(read_trace(empty)), Question())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_trace(tmp_path / "run", n_jobs=300, n_nodes=16)
    assert main(["efficiency", str(folder), "--slot", "6:00:00", "--class", "2:8", "--class", "all"]) == 0
    text = capsys.readouterr().out
    assert "wait 2:8" in text and "wait all" in text and "mean" in text
    data = json.loads((folder / "efficiency.json").read_text())
    assert (folder / "plots/efficiency.png").stat().st_size > 10_000
    assert data["slot_s"] == 21_600 and data["classes"] == ["2:8", "all"] and len(data["slots"]) > 2
    for slot in data["slots"]:
        assert slot["end"] - slot["begin"] == 21_600
        total = 0.2 * sum(slot[name]["value"] for name in MEASURES)
        assert slot["efficiency"] == pytest.approx(total)
    mean = sum(slot["utilization"]["value"] for slot in data["slots"]) / len(data["slots"])
    assert data["means"]["utilization"] == pytest.approx(mean)
    assert main(["efficiency", str(folder), "--json", "--out", str(tmp_path / "out"), "--weights", "1,0,0,0,0"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["means"]["efficiency"] == pytest.approx(again["means"]["utilization"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--weights", "0.5,0.5,0.5,0,0"), "sum to 1.5"),
        (("--weights", "1,2"), "2 weights"),
        (("--weights", "a,b"), "no list of numbers"),
        (("--class", "huge"), "unknown class 'huge'"),
        (("--slot", "soon"), "--slot"),
        (("--slot", "0"), "--slot"),
        (("--slot", "UNLIMITED"), "--slot"),
        (("--from", "-5"), "outside the trace"),
        (("--to", "+400-00"), "outside the trace"),
        (("--from", "noon"), "'noon' is no time"),
        (("--from", "+UNLIMITED"), "is no time"),
    ],
)
def test_refused_in_one_line(
    trace: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    options = (f"{options[0]}={options[1]}",)
    assert main(["efficiency", str(trace), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and said in error
    assert not (trace / "efficiency.json").exists()


def test_compare_shows_them_over_the_time_all_runs_cover(tmp_path: Path) -> None:
    folders = [make_trace(tmp_path / str(load), n_jobs=400, n_nodes=16, load=load) for load in (0.7, 1.2)]
    found = compare(folders)
    first, other = found.losses
    assert [one.slot for one in first.slots] == [one.slot for one in other.slots]
    lines = {line.split("  ")[0]: line.split() for line in comparison_text(found).splitlines() if line}
    assert float(lines["empty strip"][2]) == pytest.approx(first.means["utilization"], abs=1e-4)
    assert float(lines["empty strip"][4]) == pytest.approx(
        other.means["utilization"] - first.means["utilization"], abs=2e-4
    )
    assert found.as_dict()["losses"][1]["means"] == other.means
