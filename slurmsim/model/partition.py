"""A partition as slurm.conf describes it."""

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """One PartitionName line after DEFAULT lines. Times in seconds, memory in MiB; None means unlimited or unset.

    `disable_root_jobs` is None where the cluster's holds.
    A limit on memory is 0 where there is none although the cluster has one, None where the cluster's holds; so is what
    a GPU brings.
    `oversubscribe` is NO, EXCLUSIVE, YES or FORCE with `oversubscribe_max` jobs a core.
    `node_sets` are the names by which its nodes were given: of NodeSet lines, or ALL.
    `state` is UP, DOWN, DRAIN or INACTIVE. `allow_groups` matters where groups are known (`ClusterSpec.groups`).
    """

    name: str
    nodes: tuple[str, ...] = ()
    default: bool = False
    max_time_s: int | None = None
    default_time_s: int | None = None
    min_nodes: int = 0
    max_nodes: int | None = None
    max_cpus_per_node: int | None = None
    def_mem_per_cpu_mib: int | None = None
    def_mem_per_node_mib: int | None = None
    max_mem_per_cpu_mib: int | None = None
    max_mem_per_node_mib: int | None = None
    oversubscribe: str = "NO"
    oversubscribe_max: int = 1
    priority_tier: int = 1
    priority_job_factor: int = 1
    state: str = "UP"
    over_time_limit_s: int | None = None
    lln: bool = False
    root_only: bool = False
    req_resv: bool = False
    disable_root_jobs: bool | None = None
    exclusive_user: bool = False
    allow_groups: tuple[str, ...] = ()
    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    qos: str = ""
    grace_time_s: int = 0
    preempt_mode: str = ""
    suspend_time_s: int | None = None
    suspend_timeout_s: int | None = None
    resume_timeout_s: int | None = None
    tres_billing_weights: tuple[tuple[str, float], ...] = ()
    def_cpu_per_gpu: int | None = None
    def_mem_per_gpu_mib: int | None = None
    node_sets: str = ""
    max_cpus_per_socket: int | None = None
    exclusive_topo: bool = False
    power_down_on_idle: bool = False
    topology: str = ""  # of topology.yaml; "": the cluster's default

    def cpus_of_node(self, sockets: int) -> int | None:
        """Return how many CPUs of a node with so many sockets its jobs may have together, None for all.

        MaxCPUsPerSocket counts for all sockets of a node together.
        """
        of_sockets = None if self.max_cpus_per_socket is None else self.max_cpus_per_socket * sockets
        return min((most for most in (self.max_cpus_per_node, of_sockets) if most is not None), default=None)

    @property
    def counts_cpus(self) -> bool:
        """True if its jobs may have only so many CPUs of a node together."""
        return self.max_cpus_per_node is not None or self.max_cpus_per_socket is not None

    @property
    def all_share(self) -> bool:
        """True if its jobs share cores whatever they ask for: FORCE with more than one a core."""
        return self.oversubscribe == "FORCE" and self.oversubscribe_max > 1
