"""How deep a quick pass looks: recorded with slurmctld 22.05.8. Seconds after 08:00:00 of the recording."""

from __future__ import annotations

from unit.core.world import HEAD, World

CONF = f"""{HEAD}SchedulerParameters=bf_interval=300,default_queue_depth=2,partition_job_depth=0,sched_max_job_start=0
NodeName=n[1-2] Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=pa Nodes=n1 MaxTime=INFINITE
PartitionName=pb Nodes=n2 MaxTime=INFINITE
"""


def test_queue_depth() -> None:
    """queue-depth: three jobs that must wait fill a quick pass, two that could start wait for the full pass."""
    w = World(CONF, "backfill")
    w.sbatch("-p main -J r1 -N1 -n4 -w n1 -t 10", 400, at=4)
    for name, partition in (("w1", "pa"), ("w2", "pa"), ("w3", "pa"), ("x1", "pb"), ("x2", "pb")):
        w.sbatch(f"-p {partition} -J {name} -n1 -t 5", 30, at=12)
    for time in (18, 48):
        w.until(time)
        assert w.reasons("w1 w2 w3 x1 x2") == {
            "w1": "Resources", "w2": "Priority", "w3": "Priority", "x1": "Priority", "x2": "Priority",
        }  # fmt: skip
    w.until(88)
    assert w.starts("x1 x2") == {"x1": 60, "x2": 60}
    assert (w.nodes("x1"), w.nodes("x2")) == ("n2", "n2")
    assert w.reasons("w1 w2 w3") == {"w1": "Resources", "w2": "Priority", "w3": "Priority"}
