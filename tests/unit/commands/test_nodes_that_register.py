"""Nodes that come back take jobs once their slurmd has registered (22.05, 24.11 and 26.05 alike)."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import CONF, ROOT, START, Cluster

ONE_CPU = CONF.replace("CPUs=4", "CPUs=1").replace("AccountingStorageEnforce=associations,limits,qos\n", "")


def _states(cluster: Cluster, until: int) -> str:
    """Return R or P of job 1 in each second from now on, as far as `until`."""
    found = ""
    while cluster.engine.now < START + until:
        cluster.engine.execute(cluster.engine.now + 1, "ping", {}, ROOT)
        found += cluster.text("squeue -h -j 1 -o %t").strip()[0]
    return found


@pytest.mark.parametrize("state", ["down", "drain"])
def test_the_pass_that_a_resume_asks_for_does_not_see_its_node(state: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, ONE_CPU + "SchedulerParameters=bf_interval=600\n")
    for name in ("n1", "n2"):
        cluster.run(f"scontrol update nodename={name} state={state} reason=x")
    cluster.submit()
    assert _states(cluster, 10) == "P" * 10
    cluster.run("scontrol update nodename=n1 state=resume")
    assert cluster.text("sinfo -h -n n1 -o %t") == "idle*\n"
    # the loop's round, in the next second, asks for registrations and passes; the next pass is batch_sched_delay later
    assert _states(cluster, 15) == "PPPRR"


def test_backfill_of_the_second_in_which_it_registers_does(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, ONE_CPU + "SchedulerParameters=bf_interval=1\n")
    for name in ("n1", "n2"):
        cluster.run(f"scontrol update nodename={name} state=down reason=x")
    cluster.submit()
    assert _states(cluster, 10) == "P" * 10
    cluster.run("scontrol update nodename=n1 state=resume")
    assert _states(cluster, 12) in ("PR", "RR")


def test_a_node_set_idle_need_not_register(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, ONE_CPU + "SchedulerParameters=bf_interval=600\n")
    for name in ("n1", "n2"):
        cluster.run(f"scontrol update nodename={name} state=down reason=x")
    cluster.submit()
    _states(cluster, 10)
    cluster.run("scontrol update nodename=n1 state=idle")
    assert _states(cluster, 12) == "RR"
