"""A node as slurm.conf describes it."""

from slurmsim.data_classes import dataclass, field


@dataclass(frozen=True, slots=True)
class Gres:
    """One generic resource of a node: `name` (``gpu``), optional `type` (``a100``), how many.

    `counted` ones have no device files: they are told as a number, and no job learns which of them it has. Those that
    are not `consumed` (``no_consume``) are there for any number of jobs. An `explicit` one goes only to jobs that ask
    for it, not to those that take whole nodes.
    """

    name: str
    type: str
    count: int
    counted: bool = False
    consumed: bool = True
    explicit: bool = False
    near: tuple[tuple[int, int], ...] = ()


GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL")
"""What slurmd sets to the numbers of a job's GPUs where gres.conf neither names the variables nor detects devices."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One NodeName after hostlist expansion; sizes as configured. Memory in MiB. `line` counts the lines of slurm.conf.

    ``cpus`` counts logical CPUs (sockets * cores_per_socket * threads_per_core unless CPUs says cores only).
    `gpu_variables` are set to the numbers of a job's GPUs on the node, or to their `gpu_uuids`, if it tells any.
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
    gpu_variables: tuple[str, ...] = GPU_VARIABLES
    gpu_uuids: tuple[str, ...] = ()
    suspend_time_s: int | None = None  # idle seconds until it is powered down; -1 never, None as its partitions say
    dynamic: str = ""  # NORM for a node that came later, GONE for one that was deleted
    spec_cores: tuple[int, ...] = ()  # kept from jobs by CPUSpecList; otherwise the last of each socket in turn
    line: int = field(default=0, compare=False)
