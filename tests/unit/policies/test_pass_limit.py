"""A pass that takes too long ends: in a run with one line, in a live cluster with Slurm's words."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import slurmsim
from slurmsim.errors import ConfigError, PassTooLong, PolicyError
from slurmsim.policy import Policy, Start
from slurmsim.sim.pass_watch import LOOK_S, PassWatch

LOG = "; MaxProcs: 4\n1  0 -1  600 4 -1 -1 4  600 -1 1 1 1 1 1 1 -1 -1\n"


class Loops(Policy):
    """Loops without a decision at every job but two."""

    def schedule(self, view: Any, now: int) -> Any:
        for job in view.pending:
            while job.name not in ("a", "b"):
                pass
            yield Start(job)


class LoopsOn(Policy):
    """Goes on after an exception, but not for ever."""

    def schedule(self, view: Any, now: int) -> Any:
        caught = 0
        while caught < 2:
            try:
                while True:
                    pass
            except BaseException:
                caught += 1
        return [Start(job) for job in view.pending]


@pytest.mark.parametrize("policy", [Loops, LoopsOn])
def test_a_pass_beyond_its_limit_ends_the_run(policy: Any, tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    if policy is LoopsOn:  # it was told twice, and decides after all: the run goes on
        trace = slurmsim.run(tmp_path / "log.swf", policy=policy, pass_limit=0.3)
        assert trace.jobs_frame()["state"].tolist() == ["COMPLETED"]
        return
    with pytest.raises(PolicyError, match=r"policy Loops: a pass takes more than 0.3 s \(test_pass_limit.py:\d+\)$"):
        slurmsim.run(tmp_path / "log.swf", policy=policy, pass_limit=0.3)


def test_a_limit_is_a_time(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    with pytest.raises(ConfigError, match="--pass-limit"):
        slurmsim.run(tmp_path / "log.swf", policy=Loops, pass_limit=0)


def test_nothing_is_raised_once_a_pass_is_over() -> None:
    """Passes that end about when their limit does leave nothing behind that is raised later."""
    for part in range(20):
        watch = PassWatch(0.05)
        try:
            with watch:
                last = time.monotonic() + 0.04 + part * 0.001
                while time.monotonic() < last:
                    watch.look(time.monotonic())
        except PassTooLong:
            pass
        sum(range(1000))
    assert threading.current_thread() is threading.main_thread()


def test_a_live_cluster_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    import slurmsim.policy

    monkeypatch.setattr("slurmsim.sim.network.LIVE_LIMIT_S", 0.3)
    point = EntryPoint("loops", f"{__name__}:Loops", slurmsim.policy.GROUP)
    monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: [point])
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=t\nSlurmctldHost=h\nSchedulerType=sched/loops\nNodeName=n[1-2] CPUs=4\n"
                    "PartitionName=p Nodes=n[1-2] Default=YES\n")  # fmt: skip
    with slurmsim.cluster(conf=conf, frozen=True) as c:
        assert c.run("sbatch -J a --wrap 'sleep 5'").returncode == 0
        refused = c.run("sbatch -J loop --wrap 'sleep 5'")
        assert refused.returncode == 1 and refused.stderr == (
            "sbatch: error: Batch job submission failed: Unspecified error\n"
        )
        assert c.run("sbatch -J b --wrap 'sleep 5'").returncode == 0
        assert [job.name for job in c.jobs()] == ["a", "b"]
        found = c.client.call("status")
        assert found["policy_error"].startswith("policy Loops: a pass takes more than 0.3 s (test_pass_limit.py:")


def test_looking_rests_whatever_is_made_of_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    class Counting(PassWatch):
        def look(self, now: float) -> None:
            nonlocal looks
            looks += 1

    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with Counting(60):
        last = time.monotonic() + 4 * LOOK_S
        while time.monotonic() < last:
            sum(range(1000))
    assert 1 <= looks <= 5
