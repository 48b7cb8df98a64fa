"""The autonomy loop: jobs end behind a checkpoint, or get time for one more; without checkpoints it is EASY."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import slurmsim
from slurmsim.validate import validate_trace
from slurmsim_policies.autonomy import Autonomy

# two jobs that would run for ever, and one that waits for the nodes of the first
JOBS = pd.DataFrame({"job_id": [1, 2, 3], "submit": [0, 0, 10], "run_time": [99_999, 99_999, 200],
                     "time_limit": [1000, 2200, 300], "nodes": [1, 1, 1], "user": ["ann"] * 3})  # fmt: skip
SAVES = "300:10:0"  # written at 310, 620, 930; at 1860 and 2170
ENDS = {
    "early": {1: (930, "CANCELLED"), 2: (2170, "CANCELLED"), 3: (1130, "COMPLETED")},
    "extend": {1: (1240, "TIMEOUT"), 2: (2480, "TIMEOUT"), 3: (1440, "COMPLETED")},
    "hybrid": {1: (930, "CANCELLED"), 2: (2480, "TIMEOUT"), 3: (1130, "COMPLETED")},
}


def lost(trace: slurmsim.Trace) -> int:
    """Seconds of work that no checkpoint holds."""
    rows = trace.checkpoints_frame(dates=False)
    return int((rows["from_s"] + rows["work_s"] - rows["saved_s"]).sum())


@pytest.mark.parametrize("mode", ENDS)
def test_what_becomes_of_jobs(mode: str, tmp_path: Path) -> None:
    """Job 3 waits when job 1 is at its last checkpoint, and no job when job 2 is."""
    policy = Autonomy({"mode": mode})
    trace = slurmsim.run(JOBS, nodes=2, policy=policy, out=tmp_path / "out", checkpoint=SAVES, report=False)
    frame = trace.jobs_frame(dates=False).set_index("job_id")
    assert {int(job): (int(row["end"]), row["state"]) for job, row in frame.iterrows()} == ENDS[mode]
    assert lost(trace) == 0
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()


def test_easy_loses_the_tails(tmp_path: Path) -> None:
    """70 s behind the checkpoint at 930, and 30 s behind that at 2170."""
    trace = slurmsim.run(JOBS, nodes=2, policy="easy", out=tmp_path / "out", checkpoint=SAVES, report=False)
    assert lost(trace) == 70 + 30


def test_without_checkpoints_it_is_easy(tmp_path: Path) -> None:
    log = "generate:lublin:jobs=300,nodes=40"
    for name, policy in (("easy", "easy"), ("loop", Autonomy())):
        slurmsim.run(log, nodes=40, policy=policy, out=tmp_path / name, report=False)
    tables = [(tmp_path / name / "requeued.parquet").read_bytes() for name in ("easy", "loop")]
    starts = [slurmsim.read_trace(tmp_path / name).jobs_frame()["start"].tolist() for name in ("easy", "loop")]
    assert tables[0] == tables[1] and starts[0] == starts[1]


def test_options_come_before_the_cluster(tmp_path: Path) -> None:
    """The loop believes in checkpoints every 400 s: at 800 s it cancels job 1, 180 s behind one that there is."""
    policy = Autonomy({"mode": "early", "interval": "400"})
    trace = slurmsim.run(JOBS.head(1), nodes=2, policy=policy, out=tmp_path / "out", checkpoint=SAVES, report=False)
    assert trace.jobs_frame(dates=False)["end"].tolist() == [800]
    assert lost(trace) == 180


def test_in_a_live_cluster() -> None:
    """The limit of a job is extended while it runs, from 1200 s to 1240 s."""
    policy = Autonomy({"mode": "extend", "interval": "300", "write": "10"})
    with slurmsim.cluster(nodes=2, frozen=True, policy=policy) as c:
        c.run("sbatch -t 20 --wrap 'sleep 9999'")
        c.until_idle()
        job = c.job(1)
        assert (job.time_limit, job.state, job.end_time - job.start_time) == (20, "TIMEOUT", 1240)
