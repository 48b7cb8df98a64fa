"""Clusters on which every rule may meet every other: preemption, gang, shared cores, power saving, limits, licenses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from limits_judge import USERS, accountings
from random_worlds import POLICIES, SELECT, requests

from slurmsim.config.load import parse_cluster
from slurmsim.core.controller.controller import Controller
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.request import ResourceRequest
from slurmsim.model.reservation import ReservationSpec
from slurmsim.policy import load_policy

REQUEUE_EXIT, HOLD_EXIT = 7, 8  # RequeueExit, RequeueExitHold
PARAMETERS = (
    "", "", "bf_interval=10", "bf_interval=60,bf_resolution=30", "defer,batch_sched_delay=0", "default_queue_depth=1",
    "bf_max_job_test=3", "bf_max_job_user=2", "sched_max_job_start=1", "bf_licenses", "bf_running_job_reserve",
    "preempt_youngest_first", "preempt_strict_order,preempt_reorder_count=3", "assoc_limit_stop", "bf_busy_nodes",
    "bf_interval=10,bf_one_resv_per_job",
)  # fmt: skip
DBD = "AccountingStorageType=accounting_storage/slurmdbd"
PRIORITIES = (
    (), ("PriorityType=priority/multifactor", "PriorityWeightJobSize=1000"),
    ("PriorityType=priority/multifactor", "PriorityWeightAge=1000", "PriorityMaxAge=0-1", "PriorityCalcPeriod=1",
     "PriorityWeightFairshare=500", DBD),
)  # fmt: skip
POWER = ("SuspendProgram=/bin/off", "ResumeProgram=/bin/on")
FLAGS = (
    (), (), ("IGNORE_JOBS",), ("MAINT", "IGNORE_JOBS"), ("FLEX",), ("MAGNETIC",), ("OVERLAP",), ("DAILY",),
    ("HOURLY", "IGNORE_JOBS"), ("PURGE_COMP",), ("NO_HOLD_JOBS_AFTER",), ("MAGNETIC", "FLEX", "IGNORE_JOBS"),
    ("REPLACE_DOWN",), ("STATIC",),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setup:
    """All a controller is made from, so that a second one can be made to replay what the first was told."""

    lines: list[str]
    topology: list[str]
    accounting: Accounting | None
    policy: str
    power: bool = False
    epilog_s: int = 0
    term_s: int = 0

    def cluster(self) -> ClusterSpec:
        """The configuration, read anew. Raises ConfigError."""
        return parse_cluster(self.lines, "random cluster", topology_lines=self.topology)[0]

    def controller(self, start: int) -> Controller:
        """A new controller. Raises ConfigError where accounting and configuration contradict each other."""
        return Controller(
            self.cluster(), load_policy(self.policy)(), start, accounting=self.accounting,
            epilog_s=self.epilog_s, term_s=self.term_s,
        )  # fmt: skip


def _sometimes(draw: st.DrawFn, likely: int = 2) -> bool:
    """True once in `likely` + 1."""
    return draw(st.sampled_from((False,) * likely + (True,)))


@st.composite
def _preemption(draw: st.DrawFn, linear: bool, accounting: bool) -> tuple[list[str], bool, bool]:
    """Lines about preemption, whether it is by partition, and whether there is a gang scheduler."""
    kind = draw(st.sampled_from(("none", "none", "partition_prio", "partition_prio", "qos" if accounting else "none")))
    modes = {
        "none": ["OFF", "OFF", "GANG"], "qos": ["CANCEL", "REQUEUE"],
        "partition_prio": ["CANCEL", "REQUEUE", "SUSPEND,GANG", "SUSPEND,GANG", "REQUEUE,GANG"],
    }[kind]  # fmt: skip
    mode = draw(st.sampled_from([m for m in modes if not (linear and "GANG" in m)]))
    lines = [f"PreemptType=preempt/{kind}", f"PreemptMode={mode}"]
    if kind != "none":
        lines += draw(st.sampled_from(((), (), ("PreemptExemptTime=00:01:00",))))
    if "GANG" in mode:
        lines.append(f"SchedulerTimeSlice={draw(st.sampled_from((5, 30)))}")
    return lines, kind == "partition_prio", "GANG" in mode


@st.composite
def _partition(draw: st.DrawFn, number: int, made: int, rules: tuple[bool, bool, bool, bool, bool]) -> str:
    by_partition, gang, linear, power, limits = rules
    low = draw(st.integers(1, made)) if number else 1
    high = draw(st.integers(low, made)) if number else made
    line = f"PartitionName=p{number} Nodes=n[{low}-{high}] Default={'NO' if number else 'YES'}"
    forms = ("", "", "EXCLUSIVE") if linear else ("", "", "EXCLUSIVE", "YES:2", "FORCE:1", "FORCE:2", "FORCE:2")
    form = draw(st.sampled_from(forms))
    line += f" OverSubscribe={form}" if form else ""
    line += draw(st.sampled_from(("", "", " MaxTime=20", " MaxTime=20 DefaultTime=2")))
    line += draw(st.sampled_from(("", "", "", " MaxNodes=2", " ExclusiveUser=YES", " OverTimeLimit=1")))
    line += draw(st.sampled_from(("", "", "", "", " MaxMemPerNode=2000", " MaxMemPerCPU=500", " ReqResv=YES")))
    line += draw(st.sampled_from(("", " PriorityTier=2", " PriorityTier=3", " PriorityJobFactor=10")))
    if by_partition:
        own = ("", "", "OFF", "CANCEL", "REQUEUE", *(("SUSPEND",) if gang else ()))
        mode = draw(st.sampled_from(own))
        line += f" PreemptMode={mode}" if mode else ""
        line += draw(st.sampled_from(("", "", " GraceTime=40")))
    if power:
        line += draw(st.sampled_from(("", "", " SuspendTime=30", " SuspendTime=INFINITE")))
    if limits:
        line += draw(st.sampled_from(("", "", " QOS=q2")))
    return line


@st.composite
def setups(draw: st.DrawFn, max_nodes: int = 8) -> Setup:
    """Any of the rules, in any company the configuration allows."""
    policy = draw(st.sampled_from(("backfill", "backfill", "backfill", *POLICIES)))
    select, unit = draw(st.sampled_from(SELECT))
    linear = select == "select/linear"
    accounting = draw(accountings(preempt=True)) if draw(st.booleans()) else None
    lines = ["ClusterName=random", f"SelectType={select}", "GresTypes=gpu", "Licenses=a:3,b", "KillWait=5",
             f"ResvOverRun={draw(st.sampled_from((0, 0, 2)))}", *draw(st.sampled_from(PRIORITIES)),
             f"RequeueExit={REQUEUE_EXIT}", f"RequeueExitHold={HOLD_EXIT}",
             f"ReturnToService={draw(st.integers(0, 2))}"]  # fmt: skip
    lines += [f"SelectTypeParameters={unit}"] if unit else []
    lines += draw(st.sampled_from(((), (), ("OverTimeLimit=1",))))
    more, by_partition, gang = draw(_preemption(linear, accounting is not None))
    lines += more
    if accounting is not None:
        lines += [] if DBD in lines else [DBD]
        lines.append(f"AccountingStorageEnforce=associations{draw(st.sampled_from(('', ',limits,qos', ',safe,qos')))}")
    power = _sometimes(draw)
    if power:
        lines += [
            *POWER, f"SuspendTime={draw(st.sampled_from((20, 60)))}",
            f"SuspendTimeout={draw(st.sampled_from((5, 30)))}", f"ResumeTimeout={draw(st.sampled_from((40, 90)))}",
            *draw(st.sampled_from(((), (), ("SuspendRate=2", "ResumeRate=2"), ("SuspendExcNodes=n1",)))),
        ]  # fmt: skip
    chosen = draw(st.sampled_from(PARAMETERS))
    lines += [f"SchedulerParameters={chosen}"] if chosen else []
    made = draw(st.integers(1, max_nodes))
    topology = []
    if made > 2 and _sometimes(draw, 3):
        cut = draw(st.integers(1, made - 1))
        lines.append("TopologyPlugin=topology/tree")
        topology = [f"SwitchName=s1 Nodes=n[1-{cut}]", f"SwitchName=s2 Nodes=n[{cut + 1}-{made}]",
                    "SwitchName=top Switches=s[1-2]"]  # fmt: skip
    first = 1
    while first <= made:
        last = draw(st.integers(first, made)) if first < made else made
        cores = draw(st.sampled_from((1, 2, 4)))
        line = f"NodeName=n[{first}-{last}] Sockets=1 CoresPerSocket={cores} RealMemory={1000 * cores}"
        line += f" Weight={draw(st.integers(1, 2))} Feature={draw(st.sampled_from(('a', 'b', 'a,b')))}"
        gpus = draw(st.sampled_from(("", "", "gpu:2", "gpu:x:1,gpu:y:2")))
        lines.append(line + (f" Gres={gpus}" if gpus else ""))
        first = last + 1
    rules = (by_partition, gang, linear, power, accounting is not None)
    lines += [draw(_partition(number, made, rules)) for number in range(draw(st.integers(1, 3)))]
    slow = policy in ("backfill", "builtin")  # the others know no COMPLETING nodes
    epilog_s, term_s = draw(st.sampled_from(((0, 0), (0, 0), (400, 0), (90, 60), (3, 4)))) if slow else (0, 0)
    return Setup(lines, topology, accounting, policy, power, epilog_s, term_s)


@st.composite
def wide_requests(draw: st.DrawFn, n_nodes: int) -> ResourceRequest:
    """What one job asks for, most of it small enough to share the cluster with others."""
    if draw(st.booleans()):
        request: ResourceRequest = draw(requests(n_nodes))
        return request
    nodes = draw(st.integers(1, min(n_nodes, 3)))
    values: dict[str, Any] = {"min_nodes": nodes, "max_nodes": nodes, "n_tasks": draw(st.integers(0, 2 * nodes))}
    rare = draw(st.sampled_from(("", "", "", "oversubscribe", "exclusive_user", "spread", "contiguous", "switches")))
    if rare == "switches":
        values |= {"switches": 1, "switch_wait_s": draw(st.sampled_from((0, 30, 300)))}
    elif rare:
        values[rare] = True
    return ResourceRequest(**values)


def users_of(setup: Setup) -> Sequence[str]:
    """Who submits."""
    return sorted(USERS) if setup.accounting is not None else ("u", "v")


@st.composite
def reservations(
    draw: st.DrawFn, name: str, now: int, nodes: Sequence[str], users: Sequence[str], cores: bool
) -> ReservationSpec:  # fmt: skip
    """A reservation from now on or soon; some of it refused."""
    start = now + draw(st.sampled_from((0, 7, 60, 60, 300)))
    low = draw(st.integers(0, len(nodes) - 1))
    high = draw(st.integers(low, len(nodes) - 1))
    what = draw(st.sampled_from(("nodes", "nodes", "count", "all", "licenses", "cores" if cores else "nodes")))
    flags = frozenset(draw(st.sampled_from(FLAGS)))
    return ReservationSpec(
        name, start, start + draw(st.sampled_from((60, 300, 900))),
        {"nodes": tuple(nodes[low : high + 1]), "all": ("ALL",), "cores": (nodes[low],)}.get(what, ()),
        node_counts=(draw(st.integers(1, len(nodes))),) if what == "count" else (),
        core_counts=(1,) if what == "cores" else (),
        licenses=(("a", 2),) if what == "licenses" or draw(st.booleans()) else (),
        users=draw(st.sampled_from((tuple(users), tuple(users[:1]), (f"-{users[0]}",)))),
        flags=flags | ({"ANY_NODES"} if what == "licenses" else set()), purge_comp_s=60,
    )  # fmt: skip
