"""Worlds in which some jobs may never start, and in which something goes on for ever.

A world is the files and options of one ``slurmsim run``. Limits, dead nodes, closed partitions and usage hold jobs
back. Drawn failures, power saving, decay of usage, repeating reservations, begin times and policies with times of their
own keep the clock going.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slurmsim.core.records.job import Job
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.replaying.simulating import simulation_of
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation

POLICIES = ("backfill", "backfill", "builtin", "easy", "fcfs", "conservative", "cpu_hours", "bins", "spf")
DAY = 86_400


class TooMuch(Exception):
    """More turns than the budget has."""


class Counted(Listener):
    """Counts the controller's turns, and keeps what ended."""

    def __init__(self, budget: int) -> None:
        self.left = budget
        self.ended: list[Job] = []

    def turn(self, now: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooMuch(now)

    def finished(self, job: Job) -> None:
        self.ended.append(job)


@dataclass
class EndingWorld:
    """The files by name, and the options of a run."""

    files: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    fails: bool = False  # failures are drawn

    def play(self, folder: Path, budget: int, **more: Any) -> tuple[Simulation, Counted]:
        """Run it in `folder`. Raises TooMuch."""
        for name, text in self.files.items():
            (folder / name).write_text(text)
        paths = {key: folder / value if value in self.files else value for key, value in self.options.items()}
        if "accounting" in paths:
            paths["accounting"] = [paths["accounting"]]
        paths["conf"] = folder / "slurm.conf"
        prepared = prepare(RunOptions.of(folder / "jobs.csv", folder / "out", **paths, **more))
        counted = Counted(budget)
        simulation = simulation_of(prepared, counted, Simulation)
        simulation.run()
        return simulation, counted


def starts(simulation: Simulation, counted: Counted) -> dict[int, int | None]:
    """When each job started, None for never."""
    jobs = [*counted.ended, *simulation.controller.state.jobs.values()]
    return {job.id: job.start_time for job in jobs}


def ending_world(seed: int) -> EndingWorld:
    """A world of a few nodes and jobs."""
    draw = random.Random(seed)
    policy = draw.choice(POLICIES)
    world = EndingWorld({"slurm.conf": _conf(draw), "jobs.csv": _jobs(draw)}, {"policy": policy})
    if draw.random() < 0.5:
        world.files["acc.txt"] = _accounts(draw)
        world.options |= {"accounting": "acc.txt", "unknown_accounts": "add"}
    if draw.random() < 0.5:
        world.files["events.csv"] = _events(draw)
        world.options["node_events"] = "events.csv"
    if draw.random() < 0.3:
        world.files["resv.toml"] = _reservation(draw)
        world.options["reservations"] = "resv.toml"
    if draw.random() < 0.3:
        world.fails = True
        world.options |= {"mtbf": draw.choice((20_000, 400_000)), "mttr": draw.choice((600, 20_000))}
    if "SuspendTime=300" in world.files["slurm.conf"]:
        world.options["boot_time"] = draw.choice((20, 60, 600))  # nodes are given up after ResumeTimeout, 60 s
    if draw.random() < 0.2:
        world.options["as_live"] = True
    return world


def _conf(draw: random.Random) -> str:
    parameters = draw.sample(
        ("bf_interval=61", "bf_interval=150", "bf_max_job_test=1", "bf_max_job_user=1", "partition_job_depth=1",
         "default_queue_depth=1", "bf_licenses", "assoc_limit_stop", "bf_min_age_reserve=600", "sched_max_job_start=1",
         "bf_max_job_start=1"), draw.randint(0, 2))  # fmt: skip
    lines = ["ClusterName=c", "SlurmctldHost=h", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
             "AccountingStorageType=accounting_storage/slurmdbd", "Licenses=x:1",
             "AccountingStorageEnforce=associations,limits,qos"]  # fmt: skip
    lines += ["SchedulerParameters=" + ",".join(parameters)] if parameters else []
    if draw.random() < 0.7:
        lines += ["PriorityType=priority/multifactor", f"PriorityWeightAge={draw.choice((0, 1000))}",
                  f"PriorityWeightFairshare={draw.choice((0, 1000))}", f"PriorityMaxAge={draw.choice(('0-2', '0-1'))}",
                  f"PriorityDecayHalfLife={draw.choice(('0', '0-1', '0-1'))}",
                  f"PriorityUsageResetPeriod={draw.choice(('NONE', 'NONE', 'DAILY'))}",
                  f"PriorityCalcPeriod={draw.choice((1, 5, 60))}"]  # fmt: skip
        if "PriorityDecayHalfLife=0" in lines:
            lines = [line.replace("Period=NONE", "Period=DAILY") for line in lines]
    if draw.random() < 0.3:
        lines += ["PreemptType=preempt/partition_prio", f"PreemptMode={draw.choice(('SUSPEND,GANG', 'REQUEUE'))}"]
    if draw.random() < 0.3:
        lines += ["SuspendTime=300", "SuspendProgram=/bin/true", "ResumeProgram=/bin/true"]
    lines += ["NodeName=n[1-3] CPUs=2 CoresPerSocket=2 Feature=a", "NodeName=n4 CPUs=4 CoresPerSocket=4 Feature=b",
              f"PartitionName=p Nodes=ALL Default=YES MaxTime={draw.choice(('INFINITE', '60'))}",
              f"PartitionName=q Nodes=n[1-2] PriorityTier=2 MaxNodes={draw.choice(('1', '2'))}",
              f"PartitionName=z Nodes=ALL State={draw.choice(('UP', 'DOWN', 'INACTIVE', 'DRAIN'))}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _jobs(draw: random.Random) -> str:
    rows = ["job_id,submit,run_time,time_limit,nodes,partition,user,account,begin,cancel_at,dependency,licenses,qos"]
    submit = 0
    for job in range(1, draw.randint(2, 9)):
        submit += draw.choice((0, 1, 60, 4000)) if job > 1 else 0
        run = draw.choice((0, 50, 900, 4000))
        begin = submit + draw.choice((100, 2 * DAY)) if draw.random() < 0.15 else ""
        cancel = submit + draw.choice((10, DAY)) if draw.random() < 0.15 else ""
        waits = draw.choice((f"afterok:{draw.randint(1, job)}", f"after:{draw.randint(1, job)}"))
        waits = waits if draw.random() < 0.2 and not waits.endswith(f":{job}") else ""
        rows.append(",".join(map(str, (
            job, submit, run, draw.choice((60, 1000, 3600, 40_000)), draw.choice((1, 1, 2, 3, 4)),
            draw.choice(("p", "p", "q", "z")), draw.choice(("ann", "bob")), draw.choice(("a", "b")), begin, cancel,
            waits, draw.choice(("", "", "x")), draw.choice(("normal", "low")),
        ))))  # fmt: skip
    return "\n".join(rows) + "\n"


def _accounts(draw: random.Random) -> str:
    minutes, wall, forever = draw.choice((1, 60, 500)), draw.choice((5, 100)), draw.choice(("", " Flags=NoDecay"))
    fair = draw.choice(("", " UsageThreshold=0.6 Flags=EnforceUsageThreshold"))
    lines = [f"add qos low Priority=1 MaxJobsPerUser=1{forever} GrpTRESMins=cpu={minutes}", f"add qos normal{fair}",
             f"add account a Fairshare=10 QOS=normal,low GrpTRESMins=cpu={minutes}",
             f"add account b Fairshare=1 QOS=normal,low GrpWall={wall} GrpTRES=cpu={draw.choice((1, 4))}",
             "add user ann Account=a,b", "add user bob Account=a,b"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _events(draw: random.Random) -> str:
    rows = ["time,action,nodes,until,reason,command"]
    for _ in range(draw.randint(1, 3)):
        node = f"n{draw.randint(1, 4)}"
        rows.append(f"{draw.choice((0, 5, 3000))},{draw.choice(('down', 'drain', 'fail'))},{node},,x,")
        if draw.random() < 0.4:
            rows.append(f"{draw.choice((6000, 3 * DAY))},resume,{node},,,")
    return "\n".join(rows) + "\n"


def _reservation(draw: random.Random) -> str:
    flags = draw.choice(("[]", '["DAILY"]', '["HOURLY"]', '["MAINT"]', '["DAILY", "IGNORE_JOBS"]'))
    nodes = draw.choice(('nodes = "n1"', 'nodes = "n[1-4]"', "node_count = 3"))
    duration = draw.choice(("00:01:00", "01:00:00", "02:00:00", "2-12:00:00"))  # also for longer than its cycle
    return (f'[[reservation]]\nname = "r"\nstart = {draw.choice((100, 5000))}\nduration = "{duration}"\n'
            f'{nodes}\nusers = ["carol"]\nflags = {flags}\n')  # fmt: skip
