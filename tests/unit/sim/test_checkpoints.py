"""Checkpoints: what a run costs and saves, and that a requeued job goes on from its last one."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.policy import Policy, Requeue, Start, WakeAt
from slurmsim.sim.checkpoints import Checkpoints
from slurmsim.validate import validate_trace
from slurmsim.validate.checkpoints import Saving, follow


@pytest.mark.parametrize(
    ("work", "saved", "takes"),
    [(100, 0, 100), (101, 0, 111), (200, 0, 210), (201, 0, 221), (250, 200, 55), (250, 100, 165), (1, 0, 1)],
)
def test_how_long_a_run_takes(work: int, saved: int, takes: int) -> None:
    """A write every 100 s of work but after the last of it; a restart where something is saved."""
    assert Checkpoints(100, 10, 5).run_time(work, saved) == takes


@pytest.mark.parametrize(
    ("saved", "ran", "found"),
    [
        (0, 0, (0, 0, 0)), (0, 99, (99, 0, 0)), (0, 109, (100, 0, 9)), (0, 110, (100, 100, 10)),
        (0, 165, (155, 100, 10)), (100, 3, (0, 100, 3)), (100, 5, (0, 100, 5)), (100, 120, (105, 200, 15)),
        (200, 55, (50, 200, 5)),
    ],
)  # fmt: skip
def test_what_a_run_did_and_saved(saved: int, ran: int, found: tuple[int, int, int]) -> None:
    assert tuple(Checkpoints(100, 10, 5).progress(250, saved, ran)) == found


@given(st.integers(1, 50), st.integers(0, 20), st.integers(0, 20), st.integers(1, 400), st.integers(0, 7), st.data())
def test_it_is_what_the_judge_walks_through(
    interval: int, write: int, restart: int, work: int, n_saved: int, data: Any
) -> None:
    """Formulas here, a walk from interval to interval there; and a whole run takes as long as was said."""
    spec, saved = Checkpoints(interval, write, restart), min(n_saved, max(0, work - 1) // interval) * interval
    takes = spec.run_time(work, saved)
    ran = data.draw(st.integers(0, takes - 1))
    found = spec.progress(work, saved, ran)
    assert follow(Saving(interval, write, restart), saved, ran, work) == (found.work_s, found.saved_s, found.overhead_s)
    whole = spec.progress(work, saved, takes)
    assert whole.work_s == work - saved
    assert follow(Saving(interval, write, restart), saved, takes, work) == (work - saved, work, whole.overhead_s)


class Once(Policy):
    """First come, first served; the first job is requeued at 1000."""

    name = "once"

    def schedule(self, view: Any, now: int) -> Any:
        if now == 1000 and (job := view.job(1)) is not None and job.state == "RUNNING":
            yield Requeue(job)
        for job in view.pending:
            if not (yield Start(job)):
                break
        if now < 1000:
            yield WakeAt(1000)


JOBS = pd.DataFrame({"job_id": [1, 2], "submit": [0, 0], "run_time": [2000, 100], "time_limit": [7200, 7200],
                     "nodes": [1, 1], "user": ["ann", "bob"]})  # fmt: skip


def test_a_requeued_job_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    """Of 1000 s are 900 work, and 100 writes; 900 of it are saved but the last write: its 9th is at 990."""
    out = tmp_path / "out"
    trace = slurmsim.run(JOBS, nodes=2, policy=Once, out=out, checkpoint="100:10:30", report=False)
    row = trace.jobs_frame(dates=False).set_index("job_id").loc[1]
    assert (row["start"], row["run_time_s"], row["state"]) == (1121, 30 + 1100 + 10 * 10, "COMPLETED")
    rows = trace.checkpoints_frame(dates=False)
    assert rows[rows["job_id"] == 1][["start", "from_s", "work_s", "saved_s", "overhead_s"]].to_numpy().tolist() == [
        [0, 0, 910, 900, 90], [1121, 900, 1100, 2000, 130],
    ]  # fmt: skip
    assert (trace.summary["lost_cpu_s"], trace.summary["checkpoint_cpu_s"]) == (10, 90 + 130)
    assert trace.summary["goodput"] == pytest.approx(2100 / (2 * row["end"]))
    report = validate_trace(out)
    assert report.valid, report.to_text()
    assert report.check("checkpoints_kept").subjects == 3


def test_without_checkpoints_it_begins_anew(tmp_path: Path) -> None:
    trace = slurmsim.run(JOBS, nodes=2, policy=Once, out=tmp_path / "out", report=False)
    assert trace.jobs_frame(dates=False).set_index("job_id").loc[1]["run_time_s"] == 2000
    assert "checkpoint_cpu_s" not in trace.summary
    assert trace.summary["goodput"] < 1  # what it did before was lost


PREEMPTING = """ClusterName=c
SlurmctldHost=h
SelectType=select/linear
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=checkpoint_interval=300,checkpoint_write=20,checkpoint_restart=40
NodeName=n[1-2] CPUs=1
PartitionName=low Nodes=ALL Default=YES MaxTime=UNLIMITED PriorityTier=1
PartitionName=high Nodes=ALL MaxTime=UNLIMITED PriorityTier=2 PreemptMode=OFF
"""


def test_under_slurms_own_preemption(tmp_path: Path) -> None:
    """The configuration says how; a job of a higher tier takes the nodes, and the first goes on from 900 of 2000 s."""
    (tmp_path / "slurm.conf").write_text(PREEMPTING, encoding="utf-8")
    jobs = JOBS.assign(nodes=2, partition=["low", "high"], submit=[0, 1000])
    trace = slurmsim.run(jobs, conf=tmp_path / "slurm.conf", policy="backfill", out=tmp_path / "out", report=False)
    rows = trace.checkpoints_frame(dates=False)
    first, second = rows[rows["job_id"] == 1].to_dict("records")
    assert (first["saved_s"], second["from_s"], second["saved_s"]) == (900, 900, 2000)
    assert trace.requeued_frame(dates=False)["state"].tolist() == ["PREEMPTED"]
    assert validate_trace(tmp_path / "out").valid


def test_a_damaged_table_is_noticed(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    trace = slurmsim.run(JOBS, nodes=2, policy=Once, out=tmp_path / "out", checkpoint="100:10:30", report=False)
    table = trace.checkpoints
    at = table.schema.get_field_index("saved_s")
    saved = np.array(table["saved_s"]) + 1
    pq.write_table(table.set_column(at, table.schema.field(at), [saved]), tmp_path / "out/checkpoints.parquet")
    check = validate_trace(tmp_path / "out").check("checkpoints_kept")
    assert check.examples[0] == "job 1, run from 0: saved_s is 901, its times give 900"


@pytest.mark.parametrize("text", ["", "0", "-5", "60:", "60:1:2:3", "1h", "60:-1"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--checkpoint"):
        Checkpoints.read(text)


def test_not_beside_power(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not modelled in a run that knows of power"):
        slurmsim.run(JOBS, nodes=2, policy="easy", out=tmp_path / "out", checkpoint="60", power_budget=1000, base_w=50,
                     full_w=200)  # fmt: skip


def test_goodput_is_that_of_the_closed_formula(tmp_path: Path) -> None:
    """Daly (2006), eq. 13 without the approximation: T = M e^(R/M) (e^((t + d)/M) - 1) W / t of running time.

    A job on one node that fails with an MTBF of two hours; only the time it runs counts, not that of repairs.
    """
    mtbf, interval, write, restart, work = 7200, 1800, 120, 300, 6_000_000
    jobs = JOBS.head(1).assign(run_time=work, time_limit=30_000_000)
    trace = slurmsim.run(jobs, nodes=1, policy="fcfs", out=tmp_path / "out", mtbf=mtbf, mttr=60, seed=3, report=False,
                         checkpoint=f"{interval}:{write}:{restart}")  # fmt: skip
    rows = trace.checkpoints_frame(dates=False)
    ran = int((rows["work_s"] + rows["overhead_s"]).sum())
    wanted = mtbf * math.exp(restart / mtbf) * math.expm1((interval + write) / mtbf) * work / interval
    assert len(rows) > 500
    assert ran == pytest.approx(wanted, rel=0.02)


def test_in_a_live_cluster(tmp_path: Path) -> None:
    """A simulated job is requeued after 1000 s; a copy made while it waits goes on from 900 s, too."""
    (tmp_path / "slurm.conf").write_text(PREEMPTING, encoding="utf-8")
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True) as c:
        c.run("sbatch -p low -N1 -t 100 --wrap 'sleep 2000'")
        c.step("1000s")
        began = c.job(1).start_time
        c.step(began + 1000 - c.now)
        assert c.run("scontrol requeue 1").returncode == 0
        c.step("10s")
        for one in (c.fork(), c):
            with one if one is not c else nullcontext():
                one.until_idle()
                job = one.job(1)
                assert (job.state, job.restarts) == ("COMPLETED", 1)
                assert job.end_time - job.start_time == 40 + 1100 + 3 * 20
