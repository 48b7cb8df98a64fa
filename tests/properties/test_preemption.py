"""Preemption, suspension and gang scheduling on random clusters: counts hold, rules hold, nobody is lost.

After every instant the controller recounts everything (`World` calls `Controller.check`); at the end the independent
validator judges the run from its events.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st
from unit.core.world import World
from verdict import approve

from slurmsim.core.records.job import Job
from slurmsim.core.records.messages import Cancel, NodesDown, NodesResume, Requeue, Resume, SetTimeLimit, Suspend
from slurmsim.model.accounting import Accounting, Association, Qos
from slurmsim.states import FINAL_STATES

MODES = ("CANCEL", "REQUEUE", "SUSPEND,GANG")
QOS = Accounting(
    (
        Association("root"),
        Association("acc", parent="root"),
        Association("acc", "alice", qos=("scav", "std", "prem", "normal"), default_qos="normal", is_default=True),
    ),
    (
        Qos("normal", grace_time_s=20),
        Qos("scav", preempt_mode="CANCEL"),
        Qos("std", priority=10, preempt=("scav",), preempt_exempt_time_s=60, preempt_mode="REQUEUE,WITHIN"),
        Qos("prem", priority=100, preempt=("scav", "std"), grace_time_s=45),
    ),
)  # fmt: skip


@st.composite
def confs(draw: st.DrawFn) -> tuple[str, bool]:
    """slurm.conf text, and whether it preempts by QOS."""
    by_qos = draw(st.sampled_from((False, False, False, True)))
    mode = draw(st.sampled_from(MODES[:2] if by_qos else MODES))
    gang = "GANG" in mode
    cores = draw(st.sampled_from((1, 2, 4)))
    linear = not gang and draw(st.sampled_from((False, False, True)))
    lines = ["ClusterName=random", "KillWait=5", "MessageTimeout=10", "DefMemPerCPU=100"]
    lines.append("SelectType=select/linear" if linear else "SelectType=select/cons_tres")
    lines.append("" if linear else f"SelectTypeParameters={draw(st.sampled_from(('CR_Core', 'CR_Core_Memory')))}")
    lines += [f"PreemptType=preempt/{'qos' if by_qos else 'partition_prio'}", f"PreemptMode={mode}"]
    lines.append(draw(st.sampled_from(("", "", "PreemptExemptTime=00:01:00"))))
    parameters = draw(st.sampled_from(("", "preempt_youngest_first", "preempt_strict_order,preempt_reorder_count=3")))
    lines.append(f"SchedulerParameters=bf_interval=10,{parameters}")
    if by_qos:
        lines.append("AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations")
    lines.append(f"NodeName=n[1-4] Sockets=1 CoresPerSocket={cores} RealMemory=1000")
    for number, tier in enumerate(draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))):
        line = f"PartitionName=p{number} Nodes={draw(st.sampled_from(('ALL', 'ALL', 'n[2-4]')))} PriorityTier={tier}"
        line += f" Default={'NO' if number else 'YES'} MaxTime=60"
        own = ("", "", "OFF", "CANCEL", "REQUEUE", *(("SUSPEND",) if gang else ()))
        choice = draw(st.sampled_from(own))
        line += f" PreemptMode={choice}" if choice else ""
        line += draw(st.sampled_from(("", "", " GraceTime=40")))
        if gang:
            line += draw(st.sampled_from(("", " OverSubscribe=FORCE:1", " OverSubscribe=FORCE:2")))
        lines.append(line)
    return "\n".join(lines) + "\n", by_qos


class Machine:
    """Random submissions and edits, told to a World over ten minutes or so."""

    def __init__(self, data: st.DataObject, conf: str, by_qos: bool) -> None:
        self.by_qos = by_qos
        self.w = World(conf, data.draw(st.sampled_from(("backfill", "backfill", "builtin"))),
                       accounting=QOS if by_qos else None)  # fmt: skip
        self.names: list[str] = []
        n = len(self.w.cluster.partitions)
        at = 0
        for number in range(1, data.draw(st.integers(2, 16)) + 1):
            at += data.draw(st.sampled_from((0, 0, 1, 5, 30, 90)))
            draw = data.draw
            shape = draw(st.sampled_from(("-n1", "-n2", "-N2", "-N1 -n2", "-N3", "-n3", "-N4 --exclusive")))
            memory = draw(st.sampled_from(("", "", " --mem 300", " --mem 600")))
            kind = draw(st.sampled_from(("", "", " --no-requeue")))
            qos = f" -q {draw(st.sampled_from(('normal', 'scav', 'std', 'prem')))}" if by_qos else ""
            limit = draw(st.sampled_from((1, 2, 10, 20)))
            where = f" -p p{draw(st.integers(0, n - 1))}"
            self.w.sbatch(f"-J j{number} {shape}{memory}{kind}{qos}{where} -t {limit}",
                          draw(st.sampled_from((1, 20, 60, 200, limit * 60 + 100))), at=at)  # fmt: skip
            self.names.append(f"j{number}")
            if draw(st.sampled_from((True, False, False))):
                self.edit(data, number, at)
        self.over = at

    def edit(self, data: st.DataObject, job: int, at: int) -> None:
        """Something is done to the job or its nodes later on."""
        w, when = self.w, at + data.draw(st.integers(1, 120))
        kind = data.draw(st.sampled_from(("suspend", "suspend", "cancel", "requeue", "down", "limit")))
        if kind == "suspend":
            w.tell(Suspend(job), when)
            w.tell(Resume(job), when + data.draw(st.sampled_from((0, 1, 50, 400))))
        elif kind == "cancel":
            w.tell(Cancel(job), when)
        elif kind == "requeue":
            w.tell(Requeue(job), when)
        elif kind == "limit":
            w.tell(SetTimeLimit(job, 300), when)
        else:
            w.tell(NodesDown(("n2",)), when)
            w.tell(NodesResume(("n2",)), when + 60)

    def run(self) -> None:
        self.w.until(self.over + 20_000)

    def jobs(self) -> list[Job]:
        return [self.w.jobs[name] for name in self.names if name in self.w.jobs]


def may_preempt(by_qos: bool, by: Job, victim: dict[str, Any], partitions: dict[str, Any]) -> bool:
    """The rule once more, from the configuration alone."""
    if by_qos:
        assert by.qos_spec is not None
        same = by.qos_spec.name == victim["qos"]
        return victim["qos"] in by.qos_spec.preempt or (same and by.qos_spec.name == "std")
    mine = max(partitions[p.name].priority_tier for p in by.partitions)
    theirs = partitions[victim["partition"]]
    return bool(theirs.priority_tier < mine and theirs.preempt_mode != "OFF")


@settings(deadline=None)
@given(st.data(), confs())
def test_random_clusters(data: st.DataObject, chosen: tuple[str, bool]) -> None:
    conf, by_qos = chosen
    note(conf)
    m = Machine(data, conf, by_qos)
    m.run()
    w = m.w
    jobs = m.jobs()
    left = [job for job in jobs if job.state not in FINAL_STATES]
    # who is left can start nowhere: nothing runs that it could wait for
    assert not w.controller.state.running and not w.controller.state.suspended, left
    for job in left:
        assert job.state == "PENDING" and not w.controller.state.selector.possible(job.requests[0]), job
    partitions = {p.name: p for p in w.cluster.partitions}
    by_id = {job.id: job for job in jobs}
    exempt = w.cluster.option("PreemptExemptTime") or 0
    started: dict[int, int] = {}
    for time, event, job_id, _, _, partition, _, value, _ in w.controller.state.events:
        if event == "START":
            started[job_id] = time
        if event == "PREEMPT":
            victim = {"partition": partition, "qos": by_id[job_id].qos}
            assert may_preempt(by_qos, by_id[value], victim, partitions), (time, job_id, value)
            waits = 60 if victim["qos"] == "std" else exempt
            assert time >= started[job_id] + waits
    for job in jobs:
        if job.state == "COMPLETED":  # whatever happened to it, in the end it ran as long as it had to
            assert job.end_time is not None and job.start_time is not None
            assert job.end_time - job.start_time - job.suspended_s == w._run[job.id][0]
    approve(w.controller, [job for job in jobs if job.state in FINAL_STATES], w.controller.state.events)
