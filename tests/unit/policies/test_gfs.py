"""GFS: who is evicted for a high-priority job, what the quota leaves to spot jobs, and what the forecast says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
from slurmsim.validate import validate_trace
from slurmsim_policies.gfs import HOUR_S, Gfs

CONF = """ClusterName=gpus
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[1-2] CPUs=16 CoresPerSocket=16 Gres=gpu:4 State=UNKNOWN
PartitionName=high Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=spot Nodes=ALL MaxTime=INFINITE
"""


def job(at: int, partition: str, gpus: int, run: int, nodes: int = 1) -> dict[str, Any]:
    return {"submit": at, "run_time": run, "time_limit": run, "nodes": nodes, "gres": f"gpu:{gpus}",
            "partition": partition, "user": "u", "account": "a"}  # fmt: skip


def run(folder: Path, policy: str, *rows: dict[str, Any]) -> slurmsim.Trace:
    folder.mkdir(exist_ok=True)
    (folder / "slurm.conf").write_text(CONF)
    frame = pd.DataFrame(rows).assign(job_id=range(1, len(rows) + 1))
    trace = slurmsim.run(frame, conf=folder / "slurm.conf", policy=policy, out=folder / "out", report=False)
    report = validate_trace(folder / "out")
    assert report.valid, report.to_text()
    return trace


def starts(trace: slurmsim.Trace) -> dict[int, int]:
    return {int(k): int(v) for k, v in trace.jobs_frame(dates=False).set_index("job_id")["start"].items()}


def evicted(trace: slurmsim.Trace) -> list[int]:
    return sorted(trace.requeued_frame(dates=False)["job_id"].tolist())


def test_the_spot_job_that_loses_least_is_evicted(tmp_path: Path) -> None:
    """When job 4 comes job 3 has had 150 GPU seconds, less than the others; it began anew when job 5 comes."""
    trace = run(
        tmp_path, "gfs:quota=all,guarantee=1", job(0, "spot", 4, 9000), job(500, "spot", 2, 9000),
        job(525, "spot", 2, 9000), job(600, "high", 1, 50), job(1225, "high", 2, 100),
    )  # fmt: skip
    assert evicted(trace) == [3, 3]
    assert [starts(trace)[k] for k in (4, 5)] == [600, 1225]


def test_within_its_guarantee_a_spot_job_is_the_last_to_go(tmp_path: Path) -> None:
    """Job 2 has lost less, but has not had its hour yet."""
    trace = run(
        tmp_path, "gfs:quota=all", job(0, "spot", 4, 9000), job(3000, "spot", 4, 9000), job(4000, "high", 4, 100)
    )
    assert evicted(trace) == [1]


def test_no_spot_job_goes_in_vain(tmp_path: Path) -> None:
    """A job of both nodes cannot start beside a high-priority one: nothing is evicted."""
    trace = run(
        tmp_path, "gfs:quota=all,guarantee=1", job(0, "high", 1, 5000), job(0, "spot", 3, 9000),
        job(100, "high", 4, 100, nodes=2),
    )  # fmt: skip
    assert starts(trace)[3] == 5000
    assert evicted(trace) == [2]


@pytest.mark.parametrize(("quota", "second"), [("0.5", 3600), ("all", 0)])
def test_a_quota_keeps_room(quota: str, second: int, tmp_path: Path) -> None:
    """Half of eight GPUs are for spot jobs, of which the first has three; without demand the second waits for it."""
    rows = [job(0, "spot", 3, 3600), job(0, "spot", 3, 100)]
    assert starts(run(tmp_path, f"gfs:quota={quota}", *rows))[2] == second


def test_the_forecast_keeps_room(tmp_path: Path) -> None:
    """At 7200 one of eight GPUs is asked for, and demand changed by up to three in an hour before."""
    rows = [job(0, "high", 4, 3500), job(3700, "high", 1, 20_000), job(7200, "spot", 3, 100), job(7250, "spot", 4, 100)]
    found = starts(run(tmp_path, "gfs", *rows))
    assert found[3] == 7200
    assert found[4] > 7250
    assert starts(run(tmp_path / "all", "gfs:quota=all", *rows))[4] == 7250


def test_the_forecast_knows_the_day() -> None:
    """Demand of 10 at nine each morning and 2 else: at eight it will grow by 8, at nine not at all."""
    policy = Gfs({"confidence": "0.5"})
    for hour in range(5 * 24 + 9):
        policy._note({"a": 10 if hour % 24 == 9 else 2}, hour * HOUR_S)
    assert policy.growth() == pytest.approx(8, abs=0.5)
    policy._note({"a": 10}, (5 * 24 + 9) * HOUR_S)
    assert policy.growth() == 0


def test_evictions_shrink_the_quota() -> None:
    policy = Gfs()
    policy.began, policy.evicted = [0] * 10, [0] * 5
    policy._note({"a": 1}, HOUR_S)
    assert policy.eta == pytest.approx(0.9)
    policy._note({"a": 1}, 30 * HOUR_S)  # what was evicted a day ago counts no more
    assert policy.eta == pytest.approx(0.945)
