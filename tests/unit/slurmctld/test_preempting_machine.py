"""A daemon with a QOS that preempts another: commands and steps of the clock in any order, none of which fails.

Jobs that were requeued become eligible, start and are preempted again within one second here, which a session of
twenty-one commands once showed to break the clock.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from slurmsim.protocol import Refusal
from slurmsim.releases import RECORDED_RELEASES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "commands"))
import engine_client

CONF = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
PreemptType=preempt/qos
PreemptMode={mode}
PriorityType=priority/multifactor
PriorityWeightQOS=1000
JobRequeue=1
GresTypes=gpu
SchedulerParameters={parameters}
NodeName=n[1-2] CPUs=4 Gres=gpu:2
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=5
"""
PEOPLE = """\
add qos name=low preemptmode={mode}
add qos name=high preempt=low priority=100
add account name=lab
add user name=alice account=lab qos=low,high,normal defaultqos=low
"""
ASKED = ("-n1", "-n4", "-N2", "-N2 --exclusive", "--gpus=2", "--gres=gpu:1 -n2", "--exclusive", "-n3 --gpus-per-task=1")
IDS = st.integers(1, 14)
CHANGES = ("requeue {}", "requeuehold {}", "hold {}", "release {}", "suspend {}", "resume {}", "top {}",
           "update job={} priority=7", "update job={} timelimit=2", "update job={} qos=high")  # fmt: skip


class Preempting(RuleBasedStateMachine):
    """Jobs of both QOS, what an operator does to them, and time."""

    @initialize(
        release=st.sampled_from(RECORDED_RELEASES),
        mode=st.sampled_from(("REQUEUE", "CANCEL")),
        parameters=st.sampled_from(("bf_interval=1", "defer,bf_interval=5", "preempt_youngest_first,bf_interval=1")),
    )
    def begin(self, release: str, mode: str, parameters: str) -> None:
        people = PEOPLE.format(mode=mode.lower())
        self.folder = tempfile.TemporaryDirectory()
        conf = CONF.format(mode=mode, parameters=parameters)
        self.cluster = engine_client.Cluster(Path(self.folder.name), conf, "slurmdbd", people, release, ("alice",))

    def tell(self, command: str, user: str = "root") -> str:
        """What a command says, which is never that something is wrong with the daemon."""
        _, out, error = self.cluster.run(command, user)
        assert "Unspecified error" not in error
        return out

    @rule(asked=st.sampled_from(ASKED), qos=st.sampled_from(("low", "high")), seconds=st.sampled_from((0, 1, 9, 300)),
          more=st.sampled_from(("", "", "--array=0-2", "--no-requeue", "--begin=now+2", "-H")))  # fmt: skip
    def submits(self, asked: str, qos: str, seconds: int, more: str) -> None:
        self.tell(f"sbatch -q {qos} {asked} {more} --wrap 'sleep {seconds}'", "alice")

    @rule(change=st.sampled_from(CHANGES), job=IDS)
    def changes(self, change: str, job: int) -> None:
        self.tell(f"scontrol {change.format(job)}")

    @rule(job=IDS)
    def cancels(self, job: int) -> None:
        with contextlib.suppress(Refusal):
            self.cluster.call("kill", engine_client.PEOPLE["alice"], {"job_id": str(job)})

    @rule(node=st.sampled_from(("n1", "n2")), state=st.sampled_from(("down", "drain", "resume")))
    def changes_a_node(self, node: str, state: str) -> None:
        self.tell(f"scontrol update nodename={node} state={state} reason=why")

    @rule(seconds=st.sampled_from((0, 1, 1, 2, 5, 60, 121, 700)))
    def waits(self, seconds: int) -> None:
        self.cluster.now += seconds

    @invariant()
    def all_is_counted(self) -> None:
        shown = self.tell("squeue -h -o '%i %T %C %R'")
        self.cluster.engine.controller.check()
        for line in shown.splitlines():
            assert line.split()[1] in ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "PREEMPTED")
        used = [int(row.split("/")[0]) for row in self.tell("sinfo -h -N -o %C").splitlines()]
        assert all(0 <= cpus <= 4 for cpus in used)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


Preempting.TestCase.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
TestPreempting = Preempting.TestCase
