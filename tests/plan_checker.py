"""The checker of plans from any source. Plain loops over the definition; it shares no code with the planners.

It reads the instance's jobs, nodes and reservations only, not what the package derives from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slurmsim_policies.cp.instance_data import Job
from slurmsim_policies.cp.plan import Plan
from slurmsim_policies.cp.problem import Instance

Span = tuple[int, int, int, str]
"""Start, end (s), amount, and the job's id."""


def problems(instance: Instance, plan: Plan, *, queued: Iterable[str] = (), pooled: bool = False) -> list[str]:
    """Return the errors of `plan`, a line each; an empty list if it is right.

    Parameters
    ----------
    queued
        Waiting jobs the dispatcher leaves without a start.
    pooled
        Only jobs that start now need a layout, the others must fit the resources of all nodes together (HCP'19).
    """
    left = set(queued)
    found = [*_who(instance, plan, left)]
    if found:
        return found
    placed = [job for job in instance.jobs if job.id in plan.starts]
    for job in placed:
        found += _when(instance, plan, job)
        if job.id in plan.layout:
            found += _where(instance, plan, job)
        elif not pooled or job.running or plan.starts[job.id] == instance.now:
            found.append(f"job {job.id} has no layout")
    if found:
        return found
    found += _nodes(instance, plan, placed)
    found += _all_together(instance, plan, placed)
    return [*found, *_boxes(instance, plan)]


def _who(instance: Instance, plan: Plan, left: set[str]) -> Iterator[str]:
    """Yield an error for each job without a start that does not wait, and for each unknown job in the plan."""
    known = {job.id: job for job in instance.jobs}
    for name in {*plan.starts, *plan.layout, *plan.boxes, *left} - set(known):
        yield f"job {name} is not in the instance"
    for name, job in known.items():
        if name in left and (job.running or name in plan.starts):
            yield f"job {name} is said to wait on but runs or has a start"
        if name not in plan.starts and name not in left:
            yield f"job {name} has no start"


def _when(instance: Instance, plan: Plan, job: Job) -> Iterator[str]:
    start = plan.starts[job.id]
    if job.start is not None:
        if start != job.start:
            yield f"running job {job.id} is moved from {job.start} to {start}"
        return
    if start < instance.now:
        yield f"job {job.id} starts at {start}, before now ({instance.now})"
    if start + job.duration > instance.horizon:
        yield f"job {job.id} ends at {start + job.duration}, after the horizon ({instance.horizon})"


def _where(instance: Instance, plan: Plan, job: Job) -> Iterator[str]:
    layout = plan.layout[job.id]
    if job.start is not None:
        here = {node: job.nodes.count(node) for node in job.nodes}
        if layout != here:
            yield f"running job {job.id} is moved from {here} to {layout}"
        return
    if sum(layout.values()) != job.units or any(units < 1 for units in layout.values()):
        yield f"job {job.id} has {job.units} units, its layout {layout}"
    for node, units in layout.items():
        if not 0 <= node < instance.n_nodes:
            yield f"job {job.id} is on node {node}, of {instance.n_nodes}"
        elif job.within is not None and node not in job.within:
            yield f"job {job.id} is on node {node}, which it may not use"
        elif job.per_node is not None and units > job.per_node:
            yield f"job {job.id} has {units} units on node {node}, more than {job.per_node}"
        for kept in instance.reservations:
            start = plan.starts[job.id]
            if node in kept.nodes and start < kept.start + kept.duration and kept.start < start + job.duration:
                yield f"job {job.id} runs on node {node}, which is reserved from {kept.start}"


def _span(instance: Instance, plan: Plan, job: Job, amount: int) -> Span:
    start = plan.starts[job.id]
    end = start + job.duration
    return (start, max(instance.now + 1, end) if job.running else end, amount, job.id)


def _nodes(instance: Instance, plan: Plan, jobs: list[Job]) -> Iterator[str]:
    """No node is overfilled in any resource at any time."""
    sizes = [group.capacity for group in instance.groups for _ in range(group.count)]
    on: dict[int, list[tuple[Job, int]]] = {}
    for job in jobs:
        for node, units in plan.layout.get(job.id, {}).items():
            on.setdefault(node, []).append((job, units))
    for node, there in sorted(on.items()):
        for r, name in enumerate(instance.resources):
            spans = [_span(instance, plan, job, units * job.demand[r]) for job, units in there]
            for at, used in _over(spans, sizes[node][r]):
                yield f"node {node} has {used} of {sizes[node][r]} {name} in use at {at}"


def _all_together(instance: Instance, plan: Plan, jobs: list[Job]) -> Iterator[str]:
    """Nor all nodes together (which says something of jobs without a layout), nor the power."""
    for r, name in enumerate(instance.resources):
        whole = sum(group.count * group.capacity[r] for group in instance.groups)
        for at, used in _over([_span(instance, plan, job, job.units * job.demand[r]) for job in jobs], whole):
            yield f"all nodes have {used} of {whole} {name} in use at {at}"
    if instance.power is not None:
        for at, used in _over([_span(instance, plan, job, job.power_w) for job in jobs], instance.power):
            yield f"{used} W of {instance.power} are drawn at {at}"


def _over(spans: list[Span], limit: int) -> Iterator[tuple[int, int]]:
    """Moments at which more than `limit` is in use: use grows only where something starts."""
    for at in sorted({start for start, _, _, _ in spans}):
        used = sum(amount for start, end, amount, _ in spans if start <= at < end)
        if used > limit:
            yield at, used


def _boxes(instance: Instance, plan: Plan) -> Iterator[str]:
    """Units of a plan with boxes lie inside their node, where the layout says, and do not overlap."""
    jobs = {job.id: job for job in instance.jobs}
    sizes = [group.capacity for group in instance.groups for _ in range(group.count)]
    lying: dict[int, list[tuple[Job, tuple[int, ...]]]] = {}
    for name, units in plan.boxes.items():
        found = [node for node, _ in units]
        if {node: found.count(node) for node in found} != plan.layout.get(name):
            yield f"job {name} has boxes on other nodes than its layout"
        for node, offsets in units:
            lying.setdefault(node, []).append((jobs[name], offsets))
    for node, there in sorted(lying.items()):
        for r, resource in enumerate(instance.resources):
            boxes = [(offsets[r], _span(instance, plan, job, job.demand[r])) for job, offsets in there if job.demand[r]]
            for low, (_, _, size, name) in boxes:
                if low < 0 or low + size > sizes[node][r]:
                    yield f"job {name} lies outside of {resource} of node {node}: {low} to {low + size}"
            for index, (low, (start, end, size, name)) in enumerate(boxes):
                for low2, (start2, end2, size2, name2) in boxes[index + 1 :]:
                    if low < low2 + size2 and low2 < low + size and start < end2 and start2 < end:
                        yield f"jobs {name} and {name2} overlap in {resource} of node {node}"
