"""Sessions and think times: by hand, as a fixed point, and on a machine that is slower or faster than the log's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import WorkloadError
from slurmsim.validate import validate_trace
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads.registry import read_workload, write_workload
from slurmsim_workloads.transforms.feedback import with_feedback

Row = tuple[int, int, int, int, str]  # id, submit, start, run time, user


def log(rows: list[Row]) -> Workload:
    columns = [np.array([row[k] for row in rows], np.int64) for k in range(4)]
    ints = dict(zip(("job_id", "submit", "log_start", "run_time"), columns, strict=True))
    ints |= {"nodes": np.ones(len(rows), np.int64), "time_limit": ints["run_time"].copy()}
    ints["log_end"] = np.where(ints["log_start"] >= 0, ints["log_start"] + ints["run_time"], -1)
    return Workload(ints, {"user": TextColumn.from_list([row[4] for row in rows])})


def follows(workload: Workload) -> dict[int, tuple[int, int]]:
    ints = workload.ints
    rows = zip(*(ints[name].tolist() for name in ("job_id", "depends_on", "think_after")), strict=True)
    return {job: (before, think) for job, before, think in rows if think >= 0}


def test_batches_and_sessions_by_hand() -> None:
    """Ann: 1 and 2 overlap; 3 comes 50 s after 2, the later end; 4 while 3 runs; 5 after a break of an hour."""
    made = with_feedback(
        log([
            (1, 0, 0, 100, "ann"), (2, 50, 60, 200, "ann"), (3, 310, 310, 100, "ann"), (4, 330, 330, 10, "ann"),
            (5, 4010, 4010, 10, "ann"), (6, 5220, 5220, 10, "ann"), (7, 6431, 6431, 10, "ann"),
            (8, 311, 311, 10, "bob"), (9, 321, 321, 10, "bob"), (10, 322, 322, 10, ""), (11, 335, 335, 1, ""),
        ]),
        "log",
    )  # fmt: skip
    assert follows(made) == {3: (2, 50), 4: (2, 70), 6: (5, 1200), 9: (8, 0)}
    submits = dict(zip(made.ints["job_id"].tolist(), made.ints["submit"].tolist(), strict=True))
    assert submits == {1: 0, 2: 50, 3: 50, 4: 50, 5: 4010, 6: 4010, 7: 6431, 8: 311, 9: 311, 10: 322, 11: 335}
    assert made.ints["submit"].tolist() == sorted(made.ints["submit"].tolist())


def test_a_job_that_never_ran_is_followed_by_nobody() -> None:
    made = with_feedback(log([(1, 0, 0, 10, "ann"), (2, 20, -1, 5, "ann"), (3, 30, 30, 5, "ann")]), "log")
    assert follows(made) == {2: (1, 10), 3: (1, 20)}


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Workload]:
    """A log on four nodes as EASY schedules it: its waits and ends are those of the replay."""
    folder = tmp_path_factory.mktemp("feedback")
    rng = np.random.default_rng(8)
    submit = np.cumsum(rng.integers(1, 400, 300)).tolist()
    rows = [(k + 1, submit[k], -1, int(rng.integers(5, 900)), f"u{rng.integers(0, 6)}") for k in range(300)]
    write_workload(log(rows), folder / "plain.parquet")
    trace = slurmsim.run(folder / "plain.parquet", nodes=4, policy="easy", out=folder / "out", report=False)
    jobs = trace.jobs_frame().sort_values(["submit", "job_id"])
    columns = (jobs[name].tolist() for name in ("job_id", "submit", "start", "run_time_s", "user"))
    made = log(list(zip(*columns, strict=True)))
    write_workload(made, folder / "log.parquet")
    return folder, made


def test_the_same_schedule_is_a_fixed_point(replayed: tuple[Path, Workload]) -> None:
    """Where everything ends as it did in the log, everybody comes as in the log."""
    folder, made = replayed
    assert len(follows(with_feedback(made, "log"))) > 100
    trace = slurmsim.run(
        folder / "log.parquet", nodes=4, policy="easy", feedback=True, out=folder / "same", report=False
    )
    assert validate_trace(folder / "same").failed == []
    jobs = trace.jobs_frame().sort_values("job_id")
    order = np.argsort(made.ints["job_id"])
    assert (jobs["submit"].to_numpy() == made.ints["submit"][order]).all()
    assert (jobs["start"].to_numpy() == made.ints["log_start"][order]).all()


@pytest.mark.parametrize(("nodes", "later"), [(1, True), (40, False)])
def test_users_come_later_on_a_slower_machine_and_sooner_on_a_faster_one(
    replayed: tuple[Path, Workload], nodes: int, later: bool, tmp_path: Path
) -> None:
    folder, made = replayed
    trace = slurmsim.run(
        folder / "log.parquet", nodes=nodes, policy="easy", feedback=True, out=tmp_path / "out", report=False
    )
    jobs = trace.jobs_frame().set_index("job_id")
    linked = follows(with_feedback(made, "log"))
    in_log = dict(zip(made.ints["job_id"].tolist(), made.ints["submit"].tolist(), strict=True))
    shift = np.array([jobs["submit"][job] - in_log[job] for job in linked])
    assert (shift >= 0).all() if later else (shift <= 0).all()
    assert shift.any()
    for job, (before, think) in linked.items():
        assert jobs["submit"][job] == jobs["end"][before] + think


def test_logs_that_say_nothing_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = [(1, 0, 0, 10, "ann"), (2, 15, 15, 10, "ann")]
    made = with_feedback(log(rows), "log")
    with pytest.raises(WorkloadError, match=r"log: --feedback: the log has think times of its own"):
        with_feedback(made, "log")
    with pytest.raises(WorkloadError, match="no job has a user"):
        with_feedback(log([(*row[:4], "") for row in rows]), "log")
    with pytest.raises(WorkloadError, match="no job has a recorded end"):
        with_feedback(log([(row[0], row[1], -1, *row[3:]) for row in rows]), "log")
    write_workload(made, tmp_path / "x.parquet")
    assert follows(read_workload(tmp_path / "x.parquet")) == {2: (1, 5)}
    command = ["run", "--workload", str(tmp_path / "x.parquet"), "--nodes", "1", "--out", str(tmp_path / "out")]
    assert main([*command, "--feedback"]) == 2
    assert "--feedback: the log has think times of its own" in capsys.readouterr().err
