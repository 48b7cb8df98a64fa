"""Bins in a live cluster: squeue says who is held back, sbatch never refuses, and places survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import SlurmSimError

CONF = """ClusterName=c
SlurmctldHost=localhost
SchedulerType=sched/{policy}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=600
"""
TABLE = """limit = 2
[[bin]]
nodes = [1, 4]
hours = {hours}
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


def test_a_table_of_bins_is_kept_with_the_cluster(tmp_path: Path) -> None:
    """It is copied and carried like slurm.conf: comments may change, what it says may not, and nothing is lost."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(policy="bins:base=conservative,file=tables/bins.toml"), "utf-8")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "bins.toml").write_text(TABLE.format(hours=1), "utf-8")
    with slurmsim.cluster(conf=conf, frozen=True, start="2026-01-05T08:00:00Z", folder=tmp_path / "c") as c:
        (tmp_path / "tables" / "bins.toml").unlink()  # the cluster has a copy
        own = tmp_path / "c" / "tables" / "bins.toml"
        for name in ("a", "b", "c", "d"):
            submit(c, name)
        c.step(1)
        held = "QOSMaxSubmitJobPerUserLimit"
        before = ["b Resources", "c Priority", f"d {held}"]
        assert lines(c) == before
        c.stop()
        own.write_text("# what bins there are\n" + TABLE.format(hours=1), "utf-8")
        c.start()
        assert lines(c) == before
        c.stop()
        own.write_text(TABLE.format(hours=0.01), "utf-8")
        with pytest.raises(SlurmSimError) as refused:
            c.start()
        assert "file of the policy in SchedulerType (tables/bins.toml); put the files back" in str(refused.value)
        running = tmp_path / "c" / "conf.running" / "tables" / "bins.toml"
        own.write_text(running.read_text("utf-8"), "utf-8")
        c.start()
        assert lines(c) == before
        own.write_text("[[bin]]\nnodes = [3, 1]\n", "utf-8")
        told = c.run(["scontrol", "reconfigure"])
        assert told.returncode != 0 and "no job fits it" in told.stderr + told.stdout
        own.unlink()
        c.stop()
        with pytest.raises(SlurmSimError, match="cannot be read: No such file or directory"):
            c.start()
        own.write_text(running.read_text("utf-8"), "utf-8")
        c.start()
        c.until_idle()
        assert lines(c) == []
