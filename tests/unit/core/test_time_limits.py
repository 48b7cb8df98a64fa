"""When a running job is found over its limit: at slurmctld's next scan, each partition with its own OverTimeLimit."""

from __future__ import annotations

from world import World, simple

CONF = simple(nodes=3, more="OverTimeLimit=1") + "PartitionName=own Nodes=ALL MaxTime=UNLIMITED OverTimeLimit=0\n"


def test_a_partitions_own_allowance_may_find_a_later_end_first() -> None:
    w = World(CONF, "builtin", start=7)
    w.sbatch("-J main -t 1", run=1000)
    w.sbatch("-J own -p own -t 1", run=1000)
    w.until(20)
    state = w.controller.state
    limits, running = state.time_limits, state.running
    found = {job.name: limits.found_at(end, job) for end, _, job in running}
    assert (found["main"] - 7) % 30 == (found["own"] - 7) % 30 == 0
    assert found["own"] < found["main"]
    assert limits.next_time(running) == found["own"]
    assert [job.name for job in limits.overdue(running, found["own"])] == ["own"]
    assert limits.overdue(running, found["own"] - 1) == []
    assert {job.name for job in limits.overdue(running, found["main"])} == {"main", "own"}


def test_scans_come_every_30_s_from_the_start_of_slurmctld() -> None:
    limits = World(CONF, "builtin", start=7).controller.state.time_limits
    assert [limits.scan_after(due) for due in (7, 8, 37, 38)] == [7, 37, 37, 67]
