"""What snapshots of older schemas lack, and how it is made good.

An attribute an older release did not know is added to its tables with the value that release acted by. An attribute of
a part of the engine stays what it is in a new one. What refers to other records is made when all of them are there.

| schema | releases | what the next one added |
|---|---|---|
| 1 | 0.2.0 | what GPUs bring, CPUs of a request, requeues of this second, nodes that do not answer |
| 2 | 0.3.0 | limits operators have lifted of a job |
| 3 | 0.4.0 | partitions that take no jobs of root |
"""

from __future__ import annotations

from typing import Any

from slurmsim.core.gres import GpuDefaults
from slurmsim.core.shape import Shape
from slurmsim.errors import WorkloadError
from slurmsim.slurmctld.snapshot.kinds import SCHEMA

_ADDED: dict[int, dict[str, dict[str, Any]]] = {
    1: {
        "request": {"cpus_per_gpu": 0, "cpus_given": False, "cpus": None},
        "partition spec": {"def_cpu_per_gpu": None, "def_mem_per_gpu_mib": None},
        "live job": {"requeued_at": -1},
        "gres demand": {"cpus": 0, "reserved": False, "total": 0},
        "shape": {"per_gpu": None},
    },
    2: {"submission": {"exempt": ""}},
    3: {"partition spec": {"disable_root_jobs": None}},
}
"""By the schema that lacks them: columns of kinds of records, with the value all records have."""


def check(schema: object) -> int:
    """`schema` if this release can go on from it. Raises WorkloadError."""
    if schema != SCHEMA and schema not in _ADDED:
        known = ", ".join(map(str, [*_ADDED, SCHEMA]))
        raise WorkloadError(f"the snapshot has schema {schema}", expected=f"one of {known}")
    assert isinstance(schema, int)
    return schema


def lead_over(table: dict[str, Any], schema: int) -> dict[str, Any]:
    """A table of records as the present schema has it."""
    for older in range(schema, SCHEMA):
        for column, value in _ADDED[older].get(table["kind"], {}).items():
            table["columns"][column] = {"=": value}
    return table


def lead_parts_over(parts: dict[str, dict[str, Any]], now: int, schema: int) -> None:
    """What the parts of an engine kept, under the names they have now."""
    if schema < 2:
        host = parts["policy host"]
        host["_changed"], host["_changed_at"] = host.pop("changed"), now
        parts["tried jobs"] = {}


def complete(shapes: list[Shape], schema: int) -> None:
    """What is a record itself and follows from what others hold."""
    if schema < 2:
        for shape in shapes:
            shape.per_gpu = GpuDefaults().complete(shape.request)
