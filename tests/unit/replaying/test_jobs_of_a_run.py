"""Where the jobs of a run come from: generators by name, windows, loads and jitter."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import SlurmSimError
from slurmsim.validate import validate_trace

MODEL = "generate:lublin:jobs=60,nodes=8"


def test_a_generator_is_a_workload(tmp_path: Path) -> None:
    trace = slurmsim.run(MODEL, policy="easy", seed=3, out=tmp_path / "a", report=False)
    assert trace.summary["jobs"] == 60 and trace.manifest["workload"]["file"] == MODEL
    assert validate_trace(tmp_path / "a").valid
    other = slurmsim.run(MODEL, policy="easy", seed=4, out=tmp_path / "b", report=False)
    assert trace.manifest["workload_sha256"] != other.manifest["workload_sha256"]


def test_more_load_waits_longer_and_jitter_is_drawn_by_the_seed(tmp_path: Path) -> None:
    def waits(**options: object) -> float:
        trace = slurmsim.run(MODEL, policy="fcfs", out=tmp_path / "a", report=False, **options)  # type: ignore[arg-type]
        assert validate_trace(tmp_path / "a").valid
        return float(trace.summary["mean_wait_s"])

    assert waits(load=0.01) < waits() < waits(load=4.0)
    assert waits(jitter=3000) != waits() and waits(jitter=3000) == waits(jitter=3000)


def test_a_window_has_the_jobs_submitted_in_it(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    row = "{} {} -1 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxNodes: 2\n" + "".join(row.format(i + 1, 100 * i) for i in range(10)))
    trace = slurmsim.run(log, window="200,500", out=tmp_path / "a", report=False)
    assert sorted(trace.jobs_frame()["job_id"]) == [3, 4, 5]


@pytest.mark.parametrize(
    ("workload", "options", "complaint"),
    [
        ("generate:lublin:jobs=no", {}, "jobs"), ("generate:lubin", {}, "no workload model 'lubin'"),
        ("generate:lublin:nods=3", {}, "nods"), ("generate:lublin:jobs", {}, "--workload: 'jobs' is not an option"),
        (MODEL, {"format": "swf"}, "a generator has no format"), (MODEL, {"load": 0.0}, "--load: 0"),
        (MODEL, {"window": "5"}, "--window: '5'"), (MODEL, {"window": "a,b"}, "--window: 'a' is no time"),
        (MODEL, {"window": "-9,-8"}, "--window: '-9,-8' has no job"), (MODEL, {"jitter": -1}, "--jitter: -1"),
        (MODEL, {"jitter": 1, "feedback": True}, "--feedback with --jitter"),
    ],
)  # fmt: skip
def test_one_line(tmp_path: Path, workload: str, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(SlurmSimError, match=complaint) as caught:
        slurmsim.run(workload, out=tmp_path / "a", **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
