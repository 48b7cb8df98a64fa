"""What makes an instance impossible, each as one line that names the place: ``jobs[3].rn: ...``."""

from typing import NoReturn

import numpy as np

from slurmsim.errors import InputError
from slurmsim_policies.cp.instance_data import InstanceData, Job, Reservation

LARGEST = 1 << 40  # amounts and times
MOST_NODES = 1 << 20


class InstanceError(InputError):
    """An instance is wrong; `field` says where, as in ``jobs[3].rn``."""


def check_instance(instance: InstanceData) -> None:
    """Raise InstanceError unless every job fits the empty machine and what runs fits now."""
    _check_time("now", instance.now)
    _check_time("origin", instance.origin)
    if instance.power is not None:
        _check_amount("power", instance.power, 1)
    _check_nodes(instance)
    known: dict[str, int] = {}
    for index, job in enumerate(instance.jobs):
        where = f"jobs[{index}]"
        if job.id in known:
            wrong(f"{where}.id", f"expected an id of its own, {job.id!r} is jobs[{known[job.id]}] already")
        known[job.id] = index
        _check_numbers(instance, where, job)
        _check_places(instance, where, job)
        if job.running:
            _check_running(instance, where, job)
        elif job.nodes:
            wrong(f"{where}.start", f"expected the start of a job that has nodes (job {job.id})")
    for index, kept in enumerate(instance.reservations):
        _check_reservation(instance, f"reservations[{index}]", kept)
    _check_what_runs(instance)


def wrong(field: str, message: str) -> NoReturn:
    """Raise the InstanceError for the value at `field`."""
    raise InstanceError(message, field=field)


def _check_nodes(instance: InstanceData) -> None:
    if not instance.groups:
        wrong("nodes", "expected at least one node")
    for index, group in enumerate(instance.groups):
        _check_amount(f"nodes[{index}].count", group.count, 1)
        for name, amount in zip(instance.resources, group.capacity, strict=True):
            _check_amount(f"nodes[{index}].{name}", amount, 0)
    total = sum(group.count for group in instance.groups)
    if total > MOST_NODES:
        wrong("nodes", f"expected at most {MOST_NODES} nodes in all, got {total}")


def _check_numbers(instance: InstanceData, where: str, job: Job) -> None:
    _check_time(f"{where}.q", job.q)
    if job.q > instance.now:
        wrong(f"{where}.q", f"expected a time up to now ({instance.now}), got {job.q} (job {job.id})")
    _check_amount(f"{where}.rn", job.units, 1)
    _check_amount(f"{where}.duration", job.duration, 1)
    _check_amount(f"{where}.ewt", job.ewt, 1)
    _check_amount(f"{where}.power_w", job.power_w, 0)
    if job.per_node is not None:
        _check_amount(f"{where}.per_node", job.per_node, 1)
    for name, amount in zip(instance.resources, job.demand, strict=True):
        _check_amount(f"{where}.{name}", amount, 0)
    if not any(job.demand):
        wrong(where, f"expected a demand of at least one resource above 0 (job {job.id})")
    _check_indices(instance, f"{where}.within", job.within or (), job.id)
    _check_indices(instance, f"{where}.nodes", job.nodes, job.id)


def _check_places(instance: InstanceData, where: str, job: Job) -> None:
    """Raise unless some node holds a unit, and all nodes together hold all of them."""
    capacity = instance.capacity
    for r, (name, amount) in enumerate(zip(instance.resources, job.demand, strict=True)):
        if amount > (largest := int(capacity[:, r].max())):
            wrong(f"{where}.{name}", f"expected at most {largest}, what the largest node has, got {amount} "
                  f"(job {job.id})")  # fmt: skip
    places = instance.places(job)
    if not places.any():
        wrong(where, f"expected a unit that some node it may use can hold (job {job.id})")
    if (room := int(places.sum())) < job.units:
        wrong(f"{where}.rn", f"expected at most {room}, what all nodes hold when empty, got {job.units} (job {job.id})")
    if instance.power is not None and job.power_w > instance.power:
        wrong(f"{where}.power_w", f"expected at most {instance.power}, the power there is, got {job.power_w} "
              f"(job {job.id})")  # fmt: skip


def _check_running(instance: InstanceData, where: str, job: Job) -> None:
    assert job.start is not None
    _check_time(f"{where}.start", job.start)
    if job.start > instance.now:
        wrong(f"{where}.start", f"expected a time up to now ({instance.now}), got {job.start} (job {job.id})")
    if len(job.nodes) != job.units:
        wrong(f"{where}.nodes", f"expected {job.units} node indices, one a unit, got {len(job.nodes)} (job {job.id})")


def _check_what_runs(instance: InstanceData) -> None:
    """Raise if the running jobs overfill a node, or the power."""
    used = np.zeros_like(instance.capacity)
    for index in instance.running:
        job = instance.jobs[index]
        for node in job.nodes:
            used[node] += np.array(job.demand, np.int64)
        over = np.argwhere(used > instance.capacity)
        if len(over):
            node, r = map(int, over[0])
            wrong(f"jobs[{index}].nodes", f"expected units that fit, node {node} would have {used[node, r]} of "
                  f"{instance.capacity[node, r]} {instance.resources[r]} in use (job {job.id})")  # fmt: skip
    drawn = sum(instance.jobs[i].power_w for i in instance.running)
    if instance.power is not None and drawn > instance.power:
        wrong("power", f"expected at least {drawn}, what running jobs draw, got {instance.power}")


def _check_reservation(instance: InstanceData, where: str, kept: Reservation) -> None:
    _check_time(f"{where}.start", kept.start)
    _check_amount(f"{where}.duration", kept.duration, 1)
    _check_indices(instance, f"{where}.nodes", kept.nodes, "")


def _check_indices(instance: InstanceData, field: str, nodes: tuple[int, ...], job: str) -> None:
    for node in nodes:
        if not 0 <= node < instance.n_nodes:
            of = f" (job {job})" if job else ""
            wrong(field, f"expected node indices from 0 to {instance.n_nodes - 1}, got {node}{of}")


def _check_time(field: str, value: int) -> None:
    if not -LARGEST <= value <= LARGEST:
        wrong(field, f"expected a time of at most {LARGEST} seconds, got {value}")


def _check_amount(field: str, value: int, least: int) -> None:
    if not least <= value <= LARGEST:
        wrong(field, f"expected an integer from {least} to {LARGEST}, got {value}")
