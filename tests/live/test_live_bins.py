"""Bins in a live cluster: squeue says who is held back, sbatch never refuses, and places survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim

CONF = """ClusterName=c
SlurmctldHost=localhost
SchedulerType=sched/{policy}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=600
"""
SHOWN = ["squeue", "-h", "-t", "PD", "-o", "%j %r", "-S", "i"]


def submit(c: slurmsim.Cluster, name: str) -> None:
    """A job of the whole machine."""
    script = "#!/bin/sh\nsleep 100\n"
    c.client.call("submit", job={"name": name, "script": script, "work_dir": "/", "time_limit": 2, "num_tasks": 16})


def lines(c: slurmsim.Cluster) -> list[str]:
    return c.run(SHOWN, check=True).stdout.splitlines()


@pytest.mark.parametrize("base", ["conservative", "backfill"])
def test_who_is_held_back(tmp_path: Path, base: str) -> None:
    """One runs, two are queued, the others wait for a place; after a restart too, and then they move up."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(policy=f"bins:base={base},limit=2"), "utf-8")
    with slurmsim.cluster(conf=conf, frozen=True, start="2026-01-05T08:00:00Z", folder=tmp_path / "c") as c:
        for name in ("a", "b", "c", "d", "e"):
            submit(c, name)
        c.step(1)
        held = "QOSMaxSubmitJobPerUserLimit"
        queued = ["b Resources", "c Priority"]
        if base == "backfill":
            c.step(60)
        assert lines(c) == [*queued, f"d {held}", f"e {held}"]
        c.stop()
        c.start()
        assert lines(c) == [*queued, f"d {held}", f"e {held}"]
        c.step(100 if base == "conservative" else 60)
        assert [line.split()[0] for line in lines(c)] == ["c", "d", "e"]
        assert [line.endswith(held) for line in lines(c)] == [False, False, True]
        c.until_idle()
        assert lines(c) == []
