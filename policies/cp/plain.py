"""Instances as plain data, the form of JSON and of ``slurmsim dispatch``'s TOML file.

``now``, ``[[nodes]]`` (``count`` and any resources, in their order) and ``[[jobs]]`` (``id``, ``q``, ``rn``, the
demand of one unit, ``duration``, ``ewt``; ``start`` and ``nodes`` if it runs; ``within``, ``per_node``, ``power_w``).
Optional: ``origin``, ``power``, ``[[reservations]]`` (``start``, ``duration``, ``nodes``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slurmsim_policies.cp.instance_data import DEFAULT_EWT_S, Job, NodeGroup, Reservation
from slurmsim_policies.cp.problem import Instance
from slurmsim_policies.cp.validation import wrong

_TOP = ("now", "origin", "power", "nodes", "jobs", "reservations")
_JOB = ("id", "q", "rn", "duration", "ewt", "start", "nodes", "within", "per_node", "power_w")
_RESERVATION = ("start", "duration", "nodes")
_MISSING = object()


def instance_from(data: Mapping[str, Any]) -> Instance:
    """Return the instance `data` describes. Raises InstanceError with the place of what is wrong."""
    if not isinstance(data, Mapping):
        wrong("instance", f"expected a table, got {_shown(data)}")
    _known(data, "", _TOP)
    nodes = _tables(data, "nodes", required=True)
    names = tuple(dict.fromkeys(key for table in nodes for key in table if key != "count"))
    taken = [name for name in names if name in _JOB]
    if taken:
        wrong(f"nodes.{taken[0]}", "expected a resource with a name that is no key of jobs")
    if not names:
        wrong("nodes[0]", "expected at least one resource, as in core = 16")
    return Instance(
        now=_integer(data, "", "now"),
        resources=names,
        groups=tuple(
            NodeGroup(_integer(table, f"nodes[{n}].", "count", 1),
                      tuple(_integer(table, f"nodes[{n}].", name, 0) for name in names))
            for n, table in enumerate(nodes)
        ),
        jobs=tuple(_job(table, f"jobs[{n}].", names) for n, table in enumerate(_tables(data, "jobs"))),
        reservations=tuple(
            _reservation(table, f"reservations[{n}].") for n, table in enumerate(_tables(data, "reservations"))
        ),
        power=_integer(data, "", "power") if "power" in data else None,
        origin=_integer(data, "", "origin", 0),
    )  # fmt: skip


def _job(table: Mapping[str, Any], where: str, names: tuple[str, ...]) -> Job:
    _known(table, where, (*_JOB, *names))
    within = _indices(table, where, "within") if "within" in table else None
    return Job(
        id=_id(table, where),
        q=_integer(table, where, "q"),
        units=_integer(table, where, "rn"),
        demand=tuple(_integer(table, where, name, 0) for name in names),
        duration=_integer(table, where, "duration"),
        ewt=_integer(table, where, "ewt", DEFAULT_EWT_S),
        start=_integer(table, where, "start") if "start" in table else None,
        nodes=_indices(table, where, "nodes"),
        within=None if within is None else tuple(sorted(set(within))),
        per_node=_integer(table, where, "per_node") if "per_node" in table else None,
        power_w=_integer(table, where, "power_w", 0),
    )


def _reservation(table: Mapping[str, Any], where: str) -> Reservation:
    _known(table, where, _RESERVATION)
    nodes = tuple(sorted(set(_indices(table, where, "nodes"))))
    return Reservation(_integer(table, where, "start"), _integer(table, where, "duration"), nodes)


def _id(table: Mapping[str, Any], where: str) -> str:
    value = table.get("id", _MISSING)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        wrong(f"{where}id", f"expected a word or a number, got {_shown(value)}")
    return str(value)


def _integer(table: Mapping[str, Any], where: str, key: str, default: int | None = None) -> int:
    value = table.get(key, _MISSING if default is None else default)
    if isinstance(value, bool) or not isinstance(value, int):
        wrong(f"{where}{key}", f"expected an integer, got {_shown(value)}")
    return value


def _indices(table: Mapping[str, Any], where: str, key: str) -> tuple[int, ...]:
    value = table.get(key, ())
    if isinstance(value, str) or not isinstance(value, Sequence):
        wrong(f"{where}{key}", f"expected a list of node indices, got {_shown(value)}")
    for one in value:
        if isinstance(one, bool) or not isinstance(one, int):
            wrong(f"{where}{key}", f"expected a list of node indices, got {_shown(one)} in it")
    return tuple(value)


def _tables(data: Mapping[str, Any], key: str, required: bool = False) -> list[Mapping[str, Any]]:
    value = data.get(key, ())
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence) or (required and not value):
        wrong(key, f"expected tables, [[{key}]], got {_shown(data.get(key, _MISSING))}")
    for index, table in enumerate(value):
        if not isinstance(table, Mapping):
            wrong(f"{key}[{index}]", f"expected a table, got {_shown(table)}")
    return list(value)


def _known(table: Mapping[str, Any], where: str, keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            wrong(f"{where}{key}", f"expected one of {', '.join(keys)}")


def _shown(value: object) -> str:
    return "nothing" if value is _MISSING else repr(value)[:40]


def plain_from(instance: Instance) -> dict[str, Any]:
    """Return `instance` as dictionaries, lists, integers and words; `instance_from` takes it back."""
    data: dict[str, Any] = {"now": instance.now}
    if instance.origin:
        data["origin"] = instance.origin
    if instance.power is not None:
        data["power"] = instance.power
    data["nodes"] = [
        {"count": group.count, **dict(zip(instance.resources, group.capacity, strict=True))}
        for group in instance.groups
    ]
    data["jobs"] = [_plain_job(job, instance.resources) for job in instance.jobs]
    if instance.reservations:
        data["reservations"] = [
            {"start": kept.start, "duration": kept.duration, "nodes": list(kept.nodes)}
            for kept in instance.reservations
        ]
    return data


def _plain_job(job: Job, names: tuple[str, ...]) -> dict[str, Any]:
    table: dict[str, Any] = {"id": job.id, "q": job.q, "rn": job.units}
    table |= {name: amount for name, amount in zip(names, job.demand, strict=True) if amount}
    table |= {"duration": job.duration, "ewt": job.ewt}
    if job.start is not None:
        table |= {"start": job.start, "nodes": list(job.nodes)}
    if job.within is not None:
        table["within"] = list(job.within)
    if job.per_node is not None:
        table["per_node"] = job.per_node
    if job.power_w:
        table["power_w"] = job.power_w
    return table
