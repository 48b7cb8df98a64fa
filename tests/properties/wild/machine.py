"""The slurm.conf of a wild world: nodes, partitions, preemption, sharing, power saving, parameters, policy."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

USERS = {"ann": "a", "bob": "b", "eve": "bb"}  # user -> account
QOS = ("normal", "high", "low")
SELECT = (
    ("select/cons_tres", "CR_CPU"), ("select/cons_tres", "CR_CPU_Memory"), ("select/cons_tres", "CR_Core"),
    ("select/cons_tres", "CR_Core_Memory"), ("select/cons_tres", "CR_Core_Memory"), ("select/cons_tres", "CR_Socket"),
    ("select/cons_tres", "CR_Socket_Memory"), ("select/cons_tres", "CR_Core_Memory,CR_LLN"),
    ("select/cons_tres", "CR_CPU_Memory,CR_Pack_Nodes"), ("select/cons_tres", ""), ("select/cons_res", "CR_Core"),
    ("select/linear", ""), ("select/linear", "CR_Memory"),
)  # fmt: skip
PREEMPTION = (
    ("none", "OFF"), ("none", "OFF"), ("none", "OFF"), ("none", "GANG"), ("none", "GANG"),
    ("partition_prio", "CANCEL"), ("partition_prio", "REQUEUE"), ("partition_prio", "SUSPEND,GANG"),
    ("partition_prio", "SUSPEND,GANG"), ("partition_prio", "REQUEUE,GANG"), ("partition_prio", "CANCEL,GANG"),
    ("qos", "CANCEL"), ("qos", "REQUEUE"), ("qos", "REQUEUE,WITHIN"), ("qos", "CANCEL,GANG"),
)  # fmt: skip
PARAMETERS = (
    "bf_interval=10", "bf_interval=60", "bf_interval=90", "bf_interval=300", "bf_resolution=1", "bf_resolution=600",
    "bf_window=5", "bf_window=60", "bf_busy_nodes", "bf_licenses", "bf_one_resv_per_job", "bf_running_job_reserve",
    "bf_max_job_test=3", "bf_max_job_user=2", "bf_max_job_part=2", "bf_max_job_start=1", "bf_max_job_assoc=2",
    "bf_max_job_array_resv=1", "bf_node_space_size=4", "bf_job_part_count_reserve=1", "bf_min_age_reserve=100",
    "bf_min_prio_reserve=1000", "bf_window_linear=60", "bf_continue", "assoc_limit_stop", "defer",
    "default_queue_depth=1", "default_queue_depth=3", "partition_job_depth=1", "sched_min_interval=0",
    "sched_min_interval=5000000", "sched_interval=20", "sched_interval=-1", "sched_max_job_start=1",
    "batch_sched_delay=0", "batch_sched_delay=20", "pack_serial_at_end", "preempt_strict_order",
    "preempt_youngest_first", "preempt_reorder_count=3", "max_switch_wait=60", "bf_max_job_user_part=1",
)  # fmt: skip
POLICIES = (
    *["backfill"] * 24, "builtin", "builtin", "builtin", "fcfs", "easy", "easy", "easy:order=shortest",
    "easy:predictor=last_two", "easy:predictor=real", "easy:predictor=data_driven,order=shortest", "conservative",
    "conservative:early=replan", "conservative:predictor=last_two", "conservative:early=replan,predictor=data_driven",
    "spf", "spf:predictor=last_two", "cpu_hours", "cpu_hours:base=conservative,limit=0.5x",
    "cpu_hours:base=backfill,limit=2", "bins:file=@bins.toml", "bins:file=@bins.toml,base=backfill",
    "bins:base=easy,limit=1,longest=run", "titan:base=easy", "titan:base=backfill,limit=1", "eos", "eos:base=fcfs",
    "eos:base=backfill", "eos:boosts=off,limit=none", "equipartition", "equipartition:every=100", "parm:budget_w=900",
    "parm:version=nose,f_se=60,budget_w=1500", "parm:version=nomm,budget_w=700,sizes=3", "list", "list:scheme=serial",
    "list:order=slowdown", "cp_eurora:limit=0.01", "pcp19:limit=0.01", "hcp19:limit=0.01", "pcp20:limit=0.01",
    "cp_classes:limit=0.01",
)  # fmt: skip
LIKE_SLURM = ("backfill", "builtin")
SOLVING = ("cp_eurora", "pcp19", "hcp19", "pcp20", "cp_classes", "parm")  # seconds of a solver a run

UNITS_ONLY = ("list", "cp_eurora", "pcp19", "hcp19", "pcp20", "cp_classes")  # which place units of jobs themselves


@dataclass(slots=True)
class Machine:
    """What the draws of jobs and events have to know of the configuration."""

    conf: list[str]
    policy: str
    select: str
    nodes: list[str] = field(default_factory=list)
    cores: int = 1
    cpus: int = 1
    memory: int = 1000
    gpus: tuple[str, ...] = ()  # of the first group: gpu:2, or types
    partitions: list[str] = field(default_factory=list)
    topology: list[str] = field(default_factory=list)
    licensed: bool = False
    power: bool = False
    accounted: bool = False
    preempt: str = "none"

    @property
    def policy_name(self) -> str:
        return self.policy.partition(":")[0]

    @property
    def like_slurm(self) -> bool:
        """Whether passes come as slurmctld makes them."""
        return self.policy_name in LIKE_SLURM


def draw_machine(draw: random.Random) -> Machine:
    """A configuration, most of it at odds with itself in some place or other, as real ones are."""
    policy = draw.choice(POLICIES)
    select, unit = draw.choice(SELECT)
    machine = Machine([], policy, select)
    conf = machine.conf
    conf += ["ClusterName=wild", "SlurmctldHost=h", f"SelectType={select}", "GresTypes=gpu,nic"]
    conf += [f"SelectTypeParameters={unit}"] if unit else []
    machine.accounted = draw.random() < 0.6
    _preemption(draw, machine)
    _priorities(draw, machine)
    if machine.accounted:
        enforce = draw.choice(("associations", "associations,limits", "limits,qos", "safe,qos", "limits"))
        conf += ["AccountingStorageType=accounting_storage/slurmdbd", f"AccountingStorageEnforce={enforce}"]
    if draw.random() < 0.4:
        machine.licensed = True
        conf.append("Licenses=mat:3,flu")
    machine.power = draw.random() < 0.35
    if machine.power:
        _power_saving(draw, conf)
    words = draw.sample(PARAMETERS, draw.choice((0, 0, 1, 2, 3, 5)))
    conf += [f"SchedulerParameters={','.join(words)}"] if words else []
    conf += [line for line in _scalars(draw) if machine.policy_name not in UNITS_ONLY or "DefMem" not in line]
    _nodes(draw, machine)
    for number in range(draw.choice((1, 2, 2, 3, 3))):
        conf.append(_partition(draw, machine, number))
    return machine


def _preemption(draw: random.Random, machine: Machine) -> None:
    allowed = [
        (kind, mode) for kind, mode in PREEMPTION
        if not (machine.select == "select/linear" and "SUSPEND" in mode) and (machine.accounted or kind != "qos")
    ]  # fmt: skip
    kind, mode = draw.choice(allowed)
    machine.preempt = kind
    machine.conf += [f"PreemptType=preempt/{kind}", f"PreemptMode={mode}"]
    if "GANG" in mode:
        machine.conf.append(f"SchedulerTimeSlice={draw.choice((5, 10, 30, 60))}")
    if kind != "none" and draw.random() < 0.2:
        machine.conf.append(f"PreemptExemptTime={draw.choice(('00:01:00', '00:05:00'))}")
    if kind != "none" and draw.random() < 0.2:
        machine.conf.append(f"PreemptParameters={draw.choice(('youngest_first', 'strict_order', 'reorder_count=2'))}")


def _priorities(draw: random.Random, machine: Machine) -> None:
    if draw.random() < 0.4:
        machine.conf.append("PriorityType=priority/basic")
        return
    machine.conf.append("PriorityType=priority/multifactor")
    for name in ("Age", "Fairshare", "JobSize", "QOS", "Partition"):
        if draw.random() < 0.5 and (machine.accounted or name not in ("Fairshare", "QOS")):
            machine.conf.append(f"PriorityWeight{name}={draw.choice((500, 1000, 10000))}")
    machine.conf.append(f"PriorityMaxAge={draw.choice((100, 1000, 86400))}")
    machine.conf.append(f"PriorityDecayHalfLife={draw.choice((0, 600, 1440))}")  # minutes
    machine.conf.append(f"PriorityCalcPeriod={draw.choice((60, 60, 300))}")
    if draw.random() < 0.2:
        machine.conf.append(f"PriorityFlags={draw.choice(('SMALL_RELATIVE_TO_TIME', 'ACCRUE_ALWAYS', 'NO_FAIR_TREE'))}")
    if draw.random() < 0.1:
        machine.conf.append("PriorityFavorSmall=YES")


def _power_saving(draw: random.Random, conf: list[str]) -> None:
    conf += [
        "SuspendProgram=/bin/true", "ResumeProgram=/bin/true", f"SuspendTime={draw.choice((20, 60, 300))}",
        f"SuspendTimeout={draw.choice((5, 30))}", f"ResumeTimeout={draw.choice((30, 60, 90))}",
        f"SuspendRate={draw.choice((0, 2, 60))}", f"ResumeRate={draw.choice((0, 2, 300))}",
    ]  # fmt: skip
    if draw.random() < 0.2:
        conf.append("SuspendExcNodes=n1")


def _scalars(draw: random.Random) -> list[str]:
    """Keys that bear on when jobs end, come back and what they have by default."""
    return [
        f"KillWait={draw.choice((0, 5, 30))}", f"OverTimeLimit={draw.choice((0, 0, 0, 1))}",
        f"CompleteWait={draw.choice((0, 0, 10))}", f"ReturnToService={draw.choice((0, 1, 2))}",
        f"MinJobAge={draw.choice((2, 300))}", f"JobRequeue={draw.choice((1, 1, 0))}",
        f"ResvOverRun={draw.choice((0, 0, 2))}",
        *draw.choice(((), (), ("RequeueExit=7", "RequeueExitHold=8"))),
        *draw.choice(((), (), ("DefMemPerCPU=100",), ("DefMemPerNode=500",), ("MaxMemPerCPU=2000",))),
        *draw.choice(((), (), ("EnforcePartLimits=ALL",), ("EnforcePartLimits=ANY",))),
    ]  # fmt: skip


def _nodes(draw: random.Random, machine: Machine) -> None:
    total = draw.choice((1, 2, 3, 4, 4, 6, 8, 12))
    machine.nodes = [f"n{k}" for k in range(1, total + 1)]
    first, number = 1, 0
    while first <= total:
        alike = draw.random() < 0.7 or machine.policy_name in UNITS_ONLY
        last = total if alike else draw.randint(first, total)
        sockets, cores, threads = draw.choice(((1, 1, 1), (1, 4, 1), (1, 8, 1), (2, 2, 1), (2, 4, 1), (1, 2, 2)))
        memory = draw.choice((1000, 4000, 8000))
        gpus = draw.choice(((), (), ("gpu:1",), ("gpu:2",), ("gpu:4",), ("gpu:x:1", "gpu:y:2"), ("gpu:2", "nic:2")))
        line = f"NodeName=n[{first}-{last}] CPUs={sockets * cores * threads} Sockets={sockets} CoresPerSocket={cores}"
        line += f" ThreadsPerCore={threads} RealMemory={memory} Feature={draw.choice(('a', 'b', 'a,b'))}"
        line += f" Weight={draw.choice((1, 1, 5))}" + (f" Gres={','.join(gpus)}" if gpus else "")
        if machine.power and draw.random() < 0.3:
            line += " State=CLOUD"
        elif draw.random() < 0.05:
            line += f" State={draw.choice(('DOWN', 'DRAIN'))}"
        if draw.random() < 0.05:
            line += " MemSpecLimit=200"
        machine.conf.append(line)
        if number == 0 or sockets * cores * threads > machine.cpus:
            machine.cores, machine.cpus = sockets * cores, sockets * cores * threads
        if number == 0 or memory < machine.memory:
            machine.memory = memory
        if gpus and not machine.gpus:
            machine.gpus = gpus
        first, number = last + 1, number + 1
    if total > 2 and draw.random() < 0.15:
        cut = draw.randint(1, total - 1)
        machine.conf.append("TopologyPlugin=topology/tree")
        machine.topology = [f"SwitchName=s1 Nodes=n[1-{cut}]", f"SwitchName=s2 Nodes=n[{cut + 1}-{total}]",
                            "SwitchName=top Switches=s[1-2]"]  # fmt: skip


def _partition(draw: random.Random, machine: Machine, number: int) -> str:
    total = len(machine.nodes)
    name = "pqz"[number]
    machine.partitions.append(name)
    high = draw.randint(1, total)
    nodes = "ALL" if number == 0 or draw.random() < 0.5 else f"n[{draw.randint(1, high)}-{high}]"
    line = f"PartitionName={name} Nodes={nodes} Default={'NO' if number else 'YES'}"
    forms = ("", "", "EXCLUSIVE", "YES:2", "YES", "FORCE:1", "FORCE:2", "FORCE:2", "FORCE:3")
    if machine.policy_name in UNITS_ONLY:
        forms = ("",)
    share = draw.choice(forms[:3] if machine.select == "select/linear" else forms)
    line += f" OverSubscribe={share}" if share else ""
    line += f" PriorityTier={draw.choice((1, 1, 5, 10))}"
    line += draw.choice(("", "", " MaxTime=60", " MaxTime=20 DefaultTime=5", " DefaultTime=10"))
    line += draw.choice((*[""] * 8, " MaxNodes=2", " ExclusiveUser=YES", f" MaxCPUsPerNode={max(1, machine.cpus // 2)}",
                         " LLN=YES", " OverTimeLimit=1", " MaxMemPerNode=2000", " MinNodes=2"))  # fmt: skip
    if machine.preempt != "none":
        gang = any("GANG" in line for line in machine.conf)
        own = ("", "", "", "OFF", "CANCEL", "REQUEUE", *(("SUSPEND",) if gang and machine.preempt != "qos" else ()))
        mode = draw.choice(own)
        line += f" PreemptMode={mode}" if mode else ""
        line += f" GraceTime={draw.choice((0, 0, 20, 60))}"
    if machine.power:
        line += draw.choice(("", "", " SuspendTime=30", " SuspendTime=INFINITE", " ResumeTimeout=100"))
    if machine.accounted:
        line += draw.choice((*[""] * 5, " AllowQos=normal,high", " DenyAccounts=b", " QOS=low", " AllowAccounts=a,bb"))
    return line
