"""Worlds in which most jobs wait, most end early, and backfill has much to plan."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from bare_loop import START, World

from slurmsim.core.records.messages import Cancel, CreateReservation, Fact, Maintain, NodesDown, NodesResume, Submit
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.model.reservation import ReservationSpec
from slurmsim.model.submission import Submission

BACKFILL = (
    "", "", "bf_interval=60,bf_resolution=30", "bf_max_job_test=4", "bf_window=5", "bf_max_job_user=2",
    "bf_max_job_start=1", "bf_node_space_size=3", "bf_one_resv_per_job", "bf_job_part_count_reserve=1",
    "bf_min_age_reserve=100", "bf_running_job_reserve", "bf_max_job_part=2", "default_queue_depth=1",
    "bf_min_prio_reserve=4294901755", "partition_job_depth=1", "bf_interval=61", "bf_interval=150",
)  # fmt: skip
WHOLE_NODES = (
    "bf_interval=30", "bf_interval=10", "bf_interval=60,bf_resolution=30", "bf_resolution=1", "bf_resolution=600",
    "bf_window=10", "bf_window=40",
    "bf_busy_nodes", "bf_window_linear=60", "bf_running_job_reserve", "bf_node_space_size=40", "bf_max_job_test=12",
    "default_queue_depth=1", "bf_interval=300",
)  # fmt: skip


def some_limits(draw: random.Random, n_nodes: int) -> Accounting:
    """Three users in two accounts and two QOS, some of them with limits that hold many jobs for a while."""
    nodes, jobs = draw.choice((n_nodes // 3, n_nodes // 2, n_nodes)), draw.choice((1, 2, 4))
    group = draw.choice(({"node": nodes}, {"cpu": 2 * nodes}, {"node": nodes, "cpu": nodes}, {}))
    return Accounting(
        (
            Association("root"),
            Association("a", parent="root", limits=Limits(grp_tres=draw.choice((group, {})))),
            Association("b", parent="root", limits=Limits(grp_jobs=draw.choice((None, 2)))),
            Association("a", user="u", is_default=True),
            Association("a", user="v", limits=Limits(max_jobs=draw.choice((None, jobs)))),
            Association("b", user="w", limits=Limits(max_tres={"node": nodes}), is_default=True),
        ),
        (
            Qos("normal"),
            Qos("q1", limits=Limits(grp_tres=group)),
            Qos("q2", max_jobs_pu=jobs, max_tres_pu=draw.choice(({}, {"node": nodes}))),
        ),
    )


def any_limits(draw: random.Random, n_nodes: int) -> Accounting:
    """The same people with one or two limits each of any kind there is."""

    def some() -> Limits:
        node, cpu = draw.choice((n_nodes // 3, n_nodes // 2, n_nodes)), draw.choice((n_nodes, 2 * n_nodes))
        kinds: list[dict[str, Any]] = [
            {"grp_tres": {"node": node}}, {"grp_tres": {"cpu": cpu}}, {"grp_tres": {"mem": 100 * node}},
            {"max_tres": {"node": node}}, {"max_tres": {"cpu": cpu}}, {"max_tres_per_node": {"cpu": 1}},
            {"max_tres_mins": {"cpu": 30 * cpu}}, {"grp_tres_run_mins": {"cpu": 30 * cpu}},
            {"grp_tres_mins": {"node": 40 * node}}, {"grp_wall_s": 7200}, {"max_wall_s": 1200},
            {"grp_jobs": draw.choice((2, 5))},
        ]  # fmt: skip
        return Limits(
            **{name: value for kind in draw.sample(kinds, draw.choice((0, 1, 1, 2))) for name, value in kind.items()}
        )

    def qos(name: str) -> Qos:
        node, jobs = draw.choice((n_nodes // 3, n_nodes // 2)), draw.choice((1, 2, 4))
        kinds: list[dict[str, Any]] = [
            {"max_jobs_pu": jobs}, {"max_jobs_pa": jobs + 1}, {"max_tres_pu": {"node": node}},
            {"max_tres_pa": {"cpu": 3 * node}}, {"max_tres_run_mins_pu": {"node": 20 * node}},
            {"min_tres": {"node": 2}},
        ]  # fmt: skip
        own = {key: value for kind in draw.sample(kinds, draw.choice((0, 1, 2))) for key, value in kind.items()}
        return Qos(name, limits=some(), **own)

    return Accounting(
        (
            Association("root", limits=some()),
            Association("a", parent="root", limits=some()),
            Association("b", parent="root", limits=some()),
            Association("a", user="u", limits=some(), is_default=True),
            Association("a", user="v", limits=some()),
            Association("b", user="w", limits=some(), is_default=True),
        ),
        (Qos("normal"), qos("q1"), qos("q2")),
    )


def busy_world(seed: int, *, limited: bool = False) -> World:
    """Many jobs for whole, equal nodes, most of them waiting, most ending early: what deep plans are made for."""
    draw = random.Random(seed)
    n = draw.choice((6, 12, 40))
    lines = [
        "ClusterName=whole", "SelectType=select/linear", f"NodeName=n[1-{n}] CPUs=2 RealMemory=100",
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"PartitionName=all Nodes=ALL Default=YES MaxTime={draw.choice(('2:00:00', '30'))}",
        f"SchedulerParameters={draw.choice(WHOLE_NODES)}",
    ]  # fmt: skip
    if draw.random() < 0.6:
        lines.append("PriorityType=priority/multifactor")
        lines.append(f"PriorityWeightJobSize={draw.choice((0, 1000))}")
        lines.append(f"PriorityWeightAge={draw.choice((0, 1000))}")
        lines.append("PriorityMaxAge=0-1")
    if draw.random() < 0.2:
        lines.append(f"PartitionName=part Nodes=n[1-{n // 2}] MaxTime=60")
    accounting = None
    if limited:
        some = draw.random() < 0.5
        accounting = some_limits(draw, n) if some else any_limits(draw, n)
        lines.append(f"AccountingStorageEnforce={'limits' if some else 'safe'},qos")  # safe: nobody is ended early
    facts: list[tuple[int, Fact]] = []
    runs = {}
    now = START
    for job_id in range(1, draw.randint(20, 70)):
        now += draw.choice((0, 0, 5, 20, 60, 250))
        nodes = min(n, draw.choice((1, 1, 1, 2, 2, 3, n // 4, n // 3, n // 2, n)))
        limit = draw.choice((60, 120, 300, 600, 900, 1200, 1800, 3600, 7200))
        most = nodes if draw.random() < 0.9 else min(n, nodes + 2)
        where = ("part",) if "PartitionName=part" in lines[-1] and draw.random() < 0.3 else ()
        request = ResourceRequest(min_nodes=nodes, max_nodes=most)
        sub = Submission(job_id, request, time_limit_s=limit, partitions=where, nice=draw.choice((0, 0, 0, -5, 5)))
        if limited:
            sub.user, sub.qos = draw.choice("uuvw"), draw.choice(("", "q1", "q2"))
        runs[job_id] = draw.choice((1, 30, limit // 3, limit // 2, limit, limit + 100))
        facts.append((now, Submit(sub)))
        if draw.random() < 0.05:
            facts.append((now + draw.randint(0, 900), Cancel(job_id)))
    if draw.random() < 0.2:
        down = draw.randint(START, now)
        facts += [(down, NodesDown(("n1", "n2"))), (down + draw.randint(1, 2000), NodesResume(("n1", "n2")))]
    return World(lines, facts, runs, accounting)


def shared_world(seed: int) -> World:
    """The same jobs for shares of nodes, some of which have GPUs."""
    draw = random.Random(seed)
    world = busy_world(seed)
    n_gpus = draw.choice((0, 2))
    lines = ["SelectTypeParameters=CR_Core_Memory", "GresTypes=gpu", "DefMemPerCPU=10"]
    for line in world.lines:
        if line.startswith("SelectType="):
            line = "SelectType=select/cons_tres"
        elif line.startswith("NodeName="):
            line = line.replace("CPUs=2", "CPUs=8") + (f" Gres=gpu:{n_gpus}" if n_gpus else "")
        lines.append(line)
    facts = []
    for at, fact in world.facts:
        if isinstance(fact, Submit):
            tasks = max(1, fact.sub.request.min_nodes * draw.choice((1, 2, 5, 8)))
            gres = (GresRequest("gpu", "", 1, "node"),) if n_gpus and draw.random() < 0.3 else ()
            nodes = fact.sub.request.min_nodes if draw.random() < 0.3 else 1
            request = ResourceRequest(
                n_tasks=tasks, min_nodes=nodes, max_nodes=nodes if nodes > 1 else 0, gres=gres,
                cpus_per_task=draw.choice((1, 1, 1, 3)), mem_per_cpu_mib=draw.choice((None, 5, 20)),
            )  # fmt: skip
            fact = Submit(replace(fact.sub, request=request))
        facts.append((at, fact))
    return replace(world, lines=lines, facts=facts)


def with_arrays(world: World, seed: int) -> World:
    """The same jobs, many of them arrays of a few tasks, some with ``%N`` or split over the queue by their priority."""
    draw = random.Random(seed)
    resv = draw.choice(("", "", ",bf_max_job_array_resv=1", ",bf_max_job_array_resv=2"))
    lines = [line + resv if line.startswith("SchedulerParameters=") else line for line in world.lines]
    numbers: dict[int, int] = {}  # of the first task of what was a job
    facts: list[tuple[int, Fact]] = []
    runs: dict[int, int] = {}
    for at, fact in world.facts:
        if isinstance(fact, Cancel):
            fact = Cancel(numbers[fact.job_id])
        elif isinstance(fact, Submit):
            old, first = fact.sub, len(runs) + 1
            numbers[old.job_id] = first
            tasks = draw.choice((1, 1, 2, 3, 6))
            limit = draw.choice((None, None, 1, 2))
            for k in range(tasks):
                runs[first + k] = draw.choice((world.runs[old.job_id], 30))
                array = {"array_job_id": first, "array_task_id": k, "array_limit": limit} if tasks > 1 else {}
                nice = draw.choice((old.nice, old.nice, 3))
                facts.append((at, Submit(replace(old, job_id=first + k, nice=nice, **array))))
            continue
        facts.append((at, fact))
    return replace(world, lines=lines, facts=facts, runs=runs)


def in_two_pools(world: World, seed: int) -> World:
    """The same jobs on nodes cut in two, some of them in the other partition."""
    draw = random.Random(seed)
    lines, half = [], 1
    for line in world.lines:
        if line.startswith("NodeName=n[1-"):
            half = int(line[len("NodeName=n[1-") :].partition("]")[0]) // 2
        if line.startswith("PartitionName=all"):
            lines.append(line.replace("Nodes=ALL", f"Nodes=n[1-{half}]"))
            lines.append(f"PartitionName=other Nodes=n[{half + 1}-{2 * half}] MaxTime=60")
        elif not line.startswith("PartitionName="):
            lines.append(line)
    facts = []
    for at, fact in world.facts:
        if isinstance(fact, Submit):
            nodes = min(fact.sub.request.min_nodes, half)
            request = replace(fact.sub.request, min_nodes=nodes, max_nodes=nodes)
            fact = Submit(replace(fact.sub, request=request, partitions=draw.choice(((), (), ("other",)))))
        facts.append((at, fact))
    return replace(world, lines=lines, facts=facts)


def _with(world: World, words: dict[str, str], *more: str) -> World:
    """With these words at the end of the lines that begin so, and more lines before those of partitions."""
    lines = [line + "".join(word for start, word in words.items() if line.startswith(start)) for line in world.lines]
    first = next(at for at, line in enumerate(lines) if line.startswith("PartitionName="))
    return replace(world, lines=[*lines[:first], *more, *lines[first:]])


def with_wishes(world: World, seed: int) -> World:
    """The same jobs, some of which ask for more than nodes: kinds of them, names, licenses, a minimum time, company."""
    draw = random.Random(seed)
    licensed = draw.choice(("", "", ",bf_licenses"))
    world = _with(world, {"NodeName=": " Feature=a", "SchedulerParameters=": licensed}, "Licenses=x:3")
    world = replace(world, lines=[line.replace("NodeName=n[1-", "NodeName=n[2-") for line in world.lines])
    at = next(at for at, line in enumerate(world.lines) if line.startswith("NodeName="))
    one = world.lines[at].replace("Feature=a", "Feature=a,b")
    head, rest = one[: one.index("[")], one[one.index("]") + 1 :]
    world.lines.insert(at, f"{head}1{rest}")
    facts: list[tuple[int, Fact]] = []
    leader = None
    for when, fact in world.facts:
        if isinstance(fact, Submit):
            sub, request = fact.sub, fact.sub.request
            kinds: list[dict[str, Any]] = [
                {"contiguous": True}, {"node_list": ("n2",)}, {"exclude": ("n3",)}, {"constraint": "[a*1&b*1]"},
                {"constraint": "[a|b]"}, {"spread": True}, {"exclusive": True},
            ]  # fmt: skip
            if draw.random() < 0.2:
                request = replace(request, **draw.choice(kinds))
            other: dict[str, Any] = draw.choice(
                (*({},) * 12, {"licenses": "x"}, {"licenses": "x:2"}, {"time_min_s": 60}, {"deadline": when + 2000})
            )
            sub = replace(sub, request=request, **other)
            if leader is not None:  # components may have more licenses than there are, as in Slurm
                when, first = leader
                sub, leader = replace(sub, het=(first, 2), licenses=""), None
            elif draw.random() < 0.1 and sub.array_job_id is None and sub.job_id + 1 in world.runs:
                sub, leader = replace(sub, het=(sub.job_id, 2), licenses=""), (when, sub.job_id)
            fact = Submit(sub)
        facts.append((when, fact))
    return replace(world, facts=facts)


def with_reservations(world: World, seed: int) -> World:
    """The same jobs beside reservations, in which some of them run."""
    draw = random.Random(seed)
    last = max(at for at, _ in world.facts)
    flags = (
        (), (), ("IGNORE_JOBS",), ("MAINT", "IGNORE_JOBS"), ("FLEX",), ("MAGNETIC",), ("HOURLY", "IGNORE_JOBS"),
        ("ALL_NODES", "IGNORE_JOBS", "MAINT"), ("PART_NODES", "IGNORE_JOBS"),
    )  # fmt: skip
    facts: list[tuple[int, Fact]] = []
    for number in range(draw.choice((1, 1, 2, 3))):
        created = draw.choice((START, draw.randint(START, last)))
        start, chosen = created + draw.choice((0, 60, 600, 3000)), frozenset(draw.choice(flags))
        everything = bool(chosen & {"ALL_NODES", "PART_NODES"})
        spec = ReservationSpec(
            f"r{number}", start, start + draw.choice((60, 300, 900, 3600)),
            ("ALL",) if everything else draw.choice((("n1",), ("n2", "n3"), ("n1", "n5", "n6"))),
            partition="all" if "PART_NODES" in chosen else "", users=("u",), flags=chosen,
        )  # fmt: skip
        facts.append((created, CreateReservation(spec)))
    if draw.random() < 0.3:
        begin = draw.randint(START, last)
        facts.append((START, Maintain(("n4",), begin, begin + 900)))
    for at, fact in world.facts:
        if isinstance(fact, Submit):
            sub = replace(fact.sub, user=fact.sub.user or draw.choice("uv"))
            claims = sub.user == "u" and draw.random() < 0.15
            fact = Submit(replace(sub, reservation=draw.choice(("r0", "r0", "r0,r1")) if claims else ""))
        facts.append((at, fact))
    return replace(world, facts=facts)


def with_preemption(world: World, seed: int) -> World:
    """The same jobs, some of them in a partition whose jobs make those of the others go."""
    draw = random.Random(seed)
    words = {"PartitionName=": draw.choice(("", " GraceTime=40")), "PartitionName=all": " PriorityTier=1"}
    mode = draw.choice(("REQUEUE", "CANCEL"))
    world = _with(world, words, "PreemptType=preempt/partition_prio", f"PreemptMode={mode}")
    world.lines.append("PartitionName=high Nodes=ALL PriorityTier=3 MaxTime=2:00:00")
    facts: list[tuple[int, Fact]] = []
    for at, fact in world.facts:
        if isinstance(fact, Submit) and draw.random() < 0.2:
            fact = Submit(replace(fact.sub, partitions=draw.choice((("high",), ("high", "all")))))
        facts.append((at, fact))
    return replace(world, facts=facts)


def with_power_saving(world: World, seed: int) -> World:
    """The same jobs, later and later, on nodes that are powered down when they are idle for a while."""
    draw = random.Random(seed)
    lines = ["SuspendProgram=/bin/true", "ResumeProgram=/bin/true", f"SuspendTime={draw.choice((20, 60))}",
             f"SuspendTimeout={draw.choice((5, 30))}", f"ResumeTimeout={draw.choice((40, 90))}"]  # fmt: skip
    weights = {"NodeName=": draw.choice(("", "", " Weight=3"))}
    return replace(_with(world, weights, *lines), facts=[(at + (at - START) // 3, fact) for at, fact in world.facts])
