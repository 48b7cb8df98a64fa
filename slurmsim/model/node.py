"""A node as slurm.conf describes it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gres:
    """One generic resource of a node: `name` (``gpu``), optional `type` (``a100``), how many."""

    name: str
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One NodeName after hostlist expansion; sizes as configured. Memory in MiB. `line` counts the lines of slurm.conf.

    ``cpus`` counts logical CPUs (sockets * cores_per_socket * threads_per_core unless CPUs says cores only).
    """

    name: str
    cpus: int = 1
    sockets: int = 1
    cores_per_socket: int = 1
    threads_per_core: int = 1
    real_memory_mib: int = 1
    tmp_disk_mib: int = 0
    weight: int = 1
    features: tuple[str, ...] = ()
    gres: tuple[Gres, ...] = ()
    state: str = "UNKNOWN"
    reason: str = ""
    core_spec_count: int = 0
    mem_spec_limit_mib: int = 0
    line: int = field(default=0, compare=False)
