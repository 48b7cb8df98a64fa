"""The figures behind a reason: what is asked for, what there is, who has it, and until when.

Each fact is a plain dictionary with a `kind`; `text` has the sentence for each. All of it is read from the core's own
state, limits by the rules it decides by.
"""

from collections.abc import Iterator
from typing import Any

from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.accounting.limit_rules import Rule
from slurmsim.core.accounting.limit_usage import JobsRunning, TresInUse
from slurmsim.core.records.job import Job
from slurmsim.core.records.partition import Partition
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.fields.dependencies import dependency_text
from slurmsim.states import RESOURCES_TEXTS, JobState, Reason, is_held

Fact = dict[str, Any]
SHOWN = 5  # jobs a fact names; of all others it has the number
IN_LINE = (Reason.NONE, Reason.PRIORITY, Reason.RESOURCES, *RESOURCES_TEXTS)


def facts(engine: Engine, live: LiveJob) -> Iterator[Fact]:
    """Yield what stands behind the reason of a pending job."""
    core, reason = live.core, str(live.core.reason)
    if reason in LIMIT_REASONS:
        yield from _limits(engine, core, reason)
    elif reason == Reason.LICENSES:
        yield from _licenses(engine, core)
    elif reason in (Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER):
        yield {"kind": "dependency", "text": dependency_text(engine, live)}
    elif reason == Reason.BEGIN_TIME:
        yield {"kind": "begin", "at": int(core.begin or 0)}
    elif reason == Reason.ARRAY_TASK_LIMIT and live.array is not None:
        running = [task for task in live.array.tasks.values() if task.core.state == JobState.RUNNING]
        yield {"kind": "array", "limit": core.array_limit, "running": len(running)}
    elif reason in (Reason.PARTITION_TIME_LIMIT, Reason.PARTITION_NODE_LIMIT):
        yield from (_partition_limits(core, partition) for partition in core.partitions)
    elif reason == Reason.RESERVATION or core.reservations:
        for one in core.reservations:
            yield {"kind": "reservation", "name": one.name, "start": int(one.start), "end": int(one.end)}
    if not is_held(reason) and reason not in (Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER, Reason.BEGIN_TIME):
        yield from (_nodes(engine, core, partition) for partition in core.partitions)


def ahead(engine: Engine, live: LiveJob) -> tuple[int, list[str]]:
    """How many jobs stand before this one where it waits, and the first of them."""
    found: dict[int, Job] = {}
    for mine in engine.controller.state.queue.jobs.get(live.core.id, ()):
        pool = engine.controller.state.queue.pools[mine.partition.pool]
        for other in pool.records[: pool.position(mine)]:
            if other.partition is mine.partition and other.job.id != live.core.id:
                found[other.job.id] = other.job
    return len(found), [shown(engine, job) for job in list(found.values())[:SHOWN]]


def shown(engine: Engine, job: Job) -> str:
    """Return a job as users name it."""
    live = engine.jobs.get(job.id)
    if live is None:
        return str(job.id)
    return str(live.id) if live.array is None else f"{live.array.id}_{live.task}"


def _nodes(engine: Engine, core: Job, partition: Partition) -> Fact:
    """Return what the job asks for, what of the partition is free, and who gives back something first."""
    table, request = engine.controller.state.table, core.requests[core.partitions.index(partition)]
    up = partition.mask & table.up & ~table.down
    places, shared = ([i for i in range(table.n) if mask >> i & 1] for mask in (up, up & (table.idle | table.mixed)))
    ends = [
        {"job": shown(engine, job), "ends": int(end), "nodes": (job.nodes & partition.mask).bit_count()}
        for end, _, job in engine.controller.state.running if job.nodes & partition.mask
    ]  # fmt: skip
    gres = {}
    for k, (name, kind) in enumerate(table.gres_kinds):
        label = f"{name}:{kind}" if kind else name
        gres[label] = [int(table.free_gres[k][shared].sum()), int(table.gres[k][places].sum())]
    return {
        "kind": "nodes", "partition": partition.name, "asked_nodes": int(request.min_nodes),
        "asked_cpus": int(request.min_cpus), "up": len(places), "of": partition.mask.bit_count(),
        "idle": (up & table.idle).bit_count(), "free_cpus": int(table.free_cpus[shared].sum()),
        "cpus": int(table.cpus[places].sum()), "gres": gres, "first_ends": ends[:SHOWN], "running": len(ends),
    }  # fmt: skip


def _partition_limits(core: Job, partition: Partition) -> Fact:
    spec = partition.spec
    return {
        "kind": "partition", "partition": partition.name, "time_limit_s": int(core.time_limit_s),
        "max_time_s": spec.max_time_s, "nodes": int(core.request.min_nodes), "min_nodes": spec.min_nodes,
        "max_nodes": spec.max_nodes,
    }  # fmt: skip


def _licenses(engine: Engine, core: Job) -> Iterator[Fact]:
    used, totals = engine.controller.licenses.used, engine.controller.state.license_totals
    for name, count in engine.controller.licenses.counted(core):
        holders = [job for _, _, job in engine.controller.state.running if name in dict(job.licenses)]
        yield {
            "kind": "license", "name": name, "asked": count, "used": used[name], "of": totals[name],
            "by": [shown(engine, job) for job in holders[:SHOWN]], "by_n": len(holders),
        }  # fmt: skip


def _limits(engine: Engine, core: Job, reason: str) -> Iterator[Fact]:
    """Yield the limit behind this reason, by the core's own rule: its number, what counts towards it, its owner."""
    limits = engine.controller.accounting.limits
    if limits is None:
        return
    for partition, request in zip(core.partitions, core.requests, strict=True):
        claim = limits.counters.claim(core, partition)
        if claim is None:
            continue
        demand = limits.demand(core, partition, request)
        for rule in (*claim.before, *claim.after):
            if rule.reason == reason and rule.broken(demand):
                yield _limit(engine, rule, demand.tres, demand.minutes)
                return


def _limit(engine: Engine, rule: Rule, tres: list[int], minutes: int) -> Fact:
    limits = engine.controller.accounting.limits
    assert limits is not None
    index = limits.counters.tracked.index
    at = index.get(rule.tres)
    found: Fact = {
        "kind": "limit", "reason": rule.reason, "of": rule.tres or "jobs",
        "limit": rule.most if rule.least is None else rule.least,
        "asked": minutes if rule.tres == "time" else 1 if at is None else tres[at], "used": None, "by": [], "by_n": 0,
        "whose": "",
    }  # fmt: skip
    counted = rule.gauge.in_use if isinstance(rule.gauge, JobsRunning | TresInUse) else None
    if counted is None:
        return found
    holders = [number for number, held in limits.counters.held.items()
               if counted in held.claim.counters and (at is None or held.tres[at])]  # fmt: skip
    jobs = [engine.controller.state.jobs[number] for number in holders if number in engine.controller.state.jobs]
    return {
        **found, "used": counted.jobs if at is None else counted.tres[at],
        "by": [shown(engine, job) for job in jobs[:SHOWN]], "by_n": len(jobs),
        "whose": limits.counters.owner_of(counted),
    }  # fmt: skip
