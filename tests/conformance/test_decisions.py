"""What a policy may decide about single jobs: the same under every driver, and judged by the validator.

The drivers are a simulation, a sweep, a live cluster in this process, and a simulation whose loops are plain Python.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from live.other_release import OTHER, written_by

import slurmsim
from slurmsim.errors import PolicyError
from slurmsim.policy import (
    Cancel,
    Hold,
    Migrate,
    Policy,
    Release,
    Requeue,
    Resume,
    SetLimit,
    SetNice,
    SetPriority,
    Start,
    Suspend,
    WakeAt,
)
from slurmsim.validate import validate_trace
from slurmsim_policies.slurm_backfill.cycle import SlurmBackfill as Backfill

Step = tuple[int, type, int, dict[str, Any]]  # when, what, about which job, and with what


class Script:
    """Decides what `steps` say, each at its time; `outcomes` has what came of it."""

    STATE = ("followed",)
    steps: ClassVar[list[Step]] = []
    outcomes: ClassVar[list[bool | None]] = []
    followed = -1

    def follow(self, view: Any, now: int) -> Any:
        due = [step for step in self.steps if step[0] == now != self.followed]
        self.followed = now
        for _, kind, job_id, more in due:
            self.outcomes.append((yield kind(view.job(job_id), **more)))
        later = [when for when, *_ in self.steps if when > now]
        if later:
            yield WakeAt(min(later))


class Turns(Script, Policy):
    """First come, first served, and the script."""

    name = "turns"

    def schedule(self, view: Any, now: int) -> Any:
        yield from self.follow(view, now)
        for job in view.pending:
            if not (yield Start(job)):
                break


class Filled(Script, Backfill):
    """Slurm's backfill, and the script."""

    name = "filled"
    STATE = (*Script.STATE, *Backfill.STATE)

    def schedule(self, view: Any, now: int) -> Any:
        yield from super().schedule(view, now)
        yield from self.follow(view, now)


def rows(*jobs: tuple[int, int, int, int]) -> pd.DataFrame:
    """Jobs (submit, run time, limit, nodes), with ids from 1."""
    columns = ("submit", "run_time", "time_limit", "nodes")
    frame = pd.DataFrame([dict(zip(columns, job, strict=True)) for job in jobs])
    return frame.assign(job_id=range(1, len(jobs) + 1), user="ann", exclusive=1)


JOBS = rows((0, 1000, 1200, 2), (0, 400, 600, 2), (10, 300, 600, 2), (20, 500, 600, 1))
CASES: dict[str, tuple[list[Step], list[bool]]] = {
    "suspend and resume": ([(100, Suspend, 1, {}), (500, Resume, 1, {}), (1000, Resume, 1, {})], [True, False, True]),
    "requeue": ([(100, Requeue, 1, {})], [True]),
    "migrate": ([(100, Migrate, 1, {"within": 0b1100})], [True]),
    "migrate to too few nodes": ([(100, Migrate, 1, {"within": 0b1000})], [False]),
    "cancel": ([(100, Cancel, 1, {}), (100, Cancel, 4, {})], [True, True]),
    "cancel with grace": ([(100, Cancel, 1, {"grace_s": 60}), (130, Cancel, 1, {})], [True, False]),
    "cancel what ends before": ([(390, Cancel, 2, {"grace_s": 60})], [True]),
    "shorter limit": ([(100, SetLimit, 1, {"time_limit_s": 300})], [True]),
    "longer limit of a pending job": ([(100, SetLimit, 3, {"time_limit_s": 6000})], [True]),
    "priority": ([(100, SetPriority, 4, {"priority": 2**32 - 2})], [True]),
    "nice": ([(100, SetNice, 4, {"nice": -50})], [True]),
    "hold and release": ([(100, Hold, 3, {}), (200, Hold, 3, {}), (700, Release, 3, {})], [True, False, True]),
    "requeue and hold": ([(100, Requeue, 2, {}), (101, Hold, 2, {}), (2000, Release, 2, {})], [True, True, True]),
}
cases = pytest.mark.parametrize("case", CASES)
kinds = pytest.mark.parametrize("kind", [Turns, Filled])


def script(kind: type[Any], case: str) -> list[bool]:
    steps, expected = CASES[case]
    Script.steps, Script.outcomes = steps, []
    return expected


@cases
@kinds
def test_in_a_simulation(kind: type[Any], case: str, tmp_path: Path) -> None:
    expected = script(kind, case)
    trace = slurmsim.run(JOBS, nodes=4, policy=kind, out=tmp_path / "out")
    assert Script.outcomes == expected
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()
    frame = trace.events_frame(dates=False)
    names = {Suspend: "SUSPEND", Resume: "RESUME", Requeue: "REQUEUE", Migrate: "MIGRATE", Cancel: "CANCEL",
             SetLimit: "LIMIT", Hold: "HOLD", Release: "RELEASE"}  # fmt: skip
    for (when, what, job_id, _), done in zip(CASES[case][0], expected, strict=True):
        if what in names:
            told = frame[(frame["time"] == when) & (frame["event"] == names[what]) & (frame["job_id"] == job_id)]
            by = {Turns: "turns", Filled: "Backfill"}[kind]
            assert told["scheduler"].tolist() == [by] * done


def outcome_of(trace: slurmsim.Trace) -> list[tuple[int, str, int | None, int | None, int]]:
    """(job, state, start, end, restarts) by job."""
    frame = trace.jobs_frame(dates=False).sort_values("job_id")
    return [
        (int(r.job_id), str(r.state), None if pd.isna(r.start) else int(r.start), int(r.end), int(r.restarts))
        for r in frame.itertuples()
    ]


def submit(c: slurmsim.Cluster, case: str) -> int:
    """Submit the jobs when they come, to a cluster that has just begun; return when it began."""
    base = c.now
    Script.steps = [(base + when, *more) for when, *more in CASES[case][0]]
    columns = ["submit", "run_time", "time_limit", "nodes"]
    for number, (at, run_time, limit, nodes) in enumerate(JOBS[columns].itertuples(index=False), 1):
        if base + at > c.now:
            c.step(base + at - c.now)
        text = f"sbatch --exclusive -N{nodes} -t {limit // 60} -J j{number} --wrap 'sleep {run_time}'"
        assert c.run(text).returncode == 0
    return base


@cases
def test_in_a_live_cluster(case: str, tmp_path: Path) -> None:
    """Jobs end as they do in the simulation, in the same second."""
    expected = script(Turns, case)
    wanted = outcome_of(slurmsim.run(JOBS, nodes=4, policy=Turns, out=tmp_path / "out"))
    Script.outcomes = []
    with slurmsim.cluster(nodes=4, frozen=True, policy=Turns, folder=tmp_path / "live") as c:
        base = submit(c, case)
        seen: dict[int, Any] = {}
        for _ in range(40):
            c.step("200s")
            seen.update({job.job_id: job for job in c.jobs()})
        found = [
            # of a job that is cancelled while it waits, Slurm shows its end as its start
            (job_id, job.state, job.start_time - base if job.start_time and (job.state != "CANCELLED" or job.nodes) else
             None, job.end_time - base, job.restarts)
            for job_id, job in sorted(seen.items())
        ]  # fmt: skip
    assert Script.outcomes == expected
    assert found == wanted


def happened(jobs: list[Any]) -> list[tuple[Any, ...]]:
    """What cannot be undone; plans, reasons and priorities of jobs that wait follow the rules of today."""
    held = ("JobHeldAdmin", "JobHeldUser")
    return [
        (job.job_id, job.state, job.time_limit, job.nodes, job.restarts, job.reason in held,
         None if job.state == "PENDING" else (job.start_time, job.end_time))
        for job in jobs
    ]  # fmt: skip


@cases
@kinds
def test_a_live_cluster_goes_on_as_it_was(kind: type[Any], case: str, tmp_path: Path) -> None:
    """Started again it decides the same; another version follows the journal."""
    script(kind, case)
    with slurmsim.cluster(nodes=4, frozen=True, policy=kind, folder=tmp_path / "live") as c:
        base = submit(c, case)
        c.step(base + 720 - c.now)
        before = c.jobs()
        c.stop()
        c.start()
        assert c.jobs() == before
        c.stop()
        written_by(OTHER, tmp_path / "live" / "journal")
        c.start()
        assert happened(c.jobs()) == happened(before)
        assert c.until_idle() > base


@kinds
def test_in_a_sweep(kind: type[Any], tmp_path: Path) -> None:
    """Each cell runs in a process of its own and decides the same."""
    policies, alone = [], {}
    for case, (steps, _) in CASES.items():
        script(kind, case)
        alone[case] = slurmsim.run(JOBS, nodes=4, policy=kind, out=tmp_path / "alone").summary
        policy = kind()
        policy.steps = steps  # in another process the class has none
        policies.append({"name": case.replace(" ", "_"), "policy": policy})
    Script.steps = []
    JOBS.to_parquet(tmp_path / "log.parquet")
    swept = slurmsim.sweep(
        {"workloads": [{"workload": str(tmp_path / "log.parquet"), "nodes": 4}], "policies": policies},
        out=tmp_path / "swept",
    )
    assert swept.failed == []
    rows = swept.frame().set_index("policy")
    for case, expected in alone.items():
        found = rows.loc[case.replace(" ", "_")]
        for measure in ("cancelled", "completed", "timeout", "requeues", "mean_wait_s", "makespan_s"):
            assert found[measure] == expected[measure], (case, measure)


WITHOUT_KERNELS = """
import sys
sys.path[:0] = {path!r}
import slurmsim.kernel
slurmsim.kernel.find_spec = lambda name: None
import slurmsim
from conformance.test_decisions import CASES, Filled, JOBS, Script, Turns
assert not slurmsim.kernel.compiled("cycle")
for number, case in enumerate(CASES):
    Script.steps = CASES[case][0]
    slurmsim.run(JOBS, nodes=4, policy={kind}, out=f"{out}/{{number}}")
"""


@pytest.mark.parametrize("kind", [pytest.param(Turns, marks=pytest.mark.slow), Filled])
def test_without_kernels(kind: type[Any], tmp_path: Path) -> None:
    """The bytes of all tables are those of the compiled loops."""
    given = {"path": [path for path in sys.path if path], "out": tmp_path.as_posix(), "kind": kind.__name__}
    text = WITHOUT_KERNELS.format(**given)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for number, case in enumerate(CASES):
        script(kind, case)
        slurmsim.run(JOBS, nodes=4, policy=kind, out=tmp_path / "with")
        for table in ("jobs.parquet", "events.parquet", "requeued.parquet"):
            without = tmp_path / str(number) / table
            assert (tmp_path / "with" / table).read_bytes() == without.read_bytes(), case


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "suspend of a pending job": (lambda view: Suspend(view.job(3)), "yielded Suspend of job 3, which is PENDING"),
    "resume of a running job": (lambda view: Resume(view.job(1)), "yielded Resume of job 1, which is RUNNING"),
    "requeue of a pending job": (lambda view: Requeue(view.job(3)), "yielded Requeue of job 3, which is PENDING"),
    "hold of a running job": (lambda view: Hold(view.job(1)), "yielded Hold of job 1, which is RUNNING"),
    "priority of a running job": (lambda view: SetPriority(view.job(1), 5), "of job 1, which is RUNNING"),
    "priority 0": (lambda view: SetPriority(view.job(3), 0), "with priority=0 (expected a whole number from 1"),
    "no limit": (lambda view: SetLimit(view.job(1), 0), "with time_limit_s=0"),
    "half a second": (lambda view: SetLimit(view.job(1), 10.5), "with time_limit_s=10.5"),  # type: ignore[arg-type]
    "negative grace": (lambda view: Cancel(view.job(1), -1), "with grace_s=-1"),
    "nodes that are not there": (lambda view: Migrate(view.job(1), 1 << 50), "expected a bitmap of nodes"),
    "an id": (lambda view: Cancel(1), "yielded Cancel of 1, which is no job of the view"),  # type: ignore[arg-type]
    "no job": (lambda view: Cancel(view.job(99)), "yielded Cancel of None, which is no job of the view"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_right_ends_the_run_in_one_line(wrong: str, tmp_path: Path) -> None:
    decision, text = WRONG[wrong]

    class Mistaken(Policy):
        name = "mistaken"

        def schedule(self, view: Any, now: int) -> Any:
            for job in view.pending:
                if not (yield Start(job)):
                    break
            if now == 10:
                yield decision(view)

    with pytest.raises(PolicyError) as error:
        slurmsim.run(JOBS, nodes=4, policy=Mistaken, out=tmp_path / "out")
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    assert "(test_decisions.py:" in str(error.value)
