"""What a predictor has learned survives the daemon, whichever way it ends; an oracle is refused before there is one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.slurmctld.history.journal import read

START = "2026-01-05T08:00:00Z"
CONF = """ClusterName=c
SlurmctldHost=localhost
SchedulerType=sched/{policy}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=600
"""


def cluster(folder: Path, predictor: str) -> slurmsim.Cluster:
    conf = folder.parent / "slurm.conf"
    if not conf.exists():
        conf.write_text(CONF.format(policy=f"conservative:predictor={predictor}"), "utf-8")
    return slurmsim.cluster(conf=conf, frozen=True, start=START, folder=folder)


def submit(c: slurmsim.Cluster, seconds: int, name: str = "cfd") -> None:
    script = f"#!/bin/sh\nsleep {seconds}\n"
    c.client.call("submit", job={"name": name, "script": script, "work_dir": "/", "time_limit": 60, "num_tasks": 8})


def wait_for_the_last(c: slurmsim.Cluster) -> int:
    """Seconds until the planned start of the job that waits."""
    told = c.run(["squeue", "-h", "-t", "PD", "-o", "%S"], check=True).stdout.strip()
    now = datetime.fromisoformat(c.run(["squeue", "-h", "-t", "R", "-o", "%S"], check=True).stdout.strip())
    return int((datetime.fromisoformat(told) - now).total_seconds())


@pytest.mark.parametrize("predictor", ["last_two", "data_driven"])
@pytest.mark.parametrize("snapshot", [True, False])
def test_what_was_learned_survives(tmp_path: Path, predictor: str, snapshot: bool) -> None:
    with cluster(tmp_path / "c", predictor) as c:
        for _ in range(60 if snapshot else 2):  # enough for a stop to make a snapshot, or too few
            submit(c, 90)
            c.until_idle()
        submit(c, 500)
        submit(c, 500)
        c.step(1)
        assert wait_for_the_last(c) == 90  # limits say 3600
        c.step(100)
        assert wait_for_the_last(c) == 150  # the first correction: a minute
        c.stop()
        assert ("snapshot" in read(c.folder / "journal").header) == snapshot
        c.start()
        assert wait_for_the_last(c) == 150
        c.step(100)
        assert wait_for_the_last(c) == 390
        c.until_idle()
        submit(c, 10)
        submit(c, 10)
        c.step(1)
        assert wait_for_the_last(c) == 500


def test_an_oracle_is_refused_with_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(policy="easy:predictor=real"), "utf-8")
    assert main(["up", "--state", str(tmp_path / "c"), "--conf", str(conf), "--frozen"]) != 0
    (line,) = capfd.readouterr().err.splitlines()
    assert "predictor real needs real run times, which a live cluster does not know" in line
    with (
        pytest.raises(ConfigError, match="predictor real needs real run times"),
        slurmsim.cluster(conf=conf, frozen=True),
    ):
        pass
