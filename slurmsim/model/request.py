"""What a job asks for: the placement side of a submission, interned so that equal requests are one object."""

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class GresRequest:
    """`count` of GRES `name` (of `type` when not empty), per ``node``, ``job``, ``task`` or ``socket`` (`scope`)."""

    name: str
    type: str
    count: int
    scope: str = "node"


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """The resources of one job; two jobs of equal request are placed alike.

    `max_nodes` 0 means the user gave no maximum (``-N`` absent or a single number: then it equals `min_nodes`
    when `nodes_given`). `mem_*` None means not asked: the partition's or the cluster's default applies;
    0 means all memory of each node (``--mem=0``). `n_tasks` 0 means ``-n`` was not given: one task a node, or
    `tasks_per_node` of them. `oversubscribe` is ``-s``, `exclusive` ``--exclusive``, `exclusive_user`
    ``--exclusive=user``, `unshared` ``OverSubscribe=NO`` of an update: it starts on empty nodes, if it names none, and
    no later job joins it there. `min_cpus_per_node` is ``--mincpus``, what each node gives at least.
    `switches` is the count of ``--switches=n@t`` (0: not asked), `switch_wait_s` its time in
    seconds (None: max_switch_wait). `cpus_given` tells that ``-c`` was written, be it ``-c 1``.
    `spread` is ``--spread-job``. `sockets_per_node` matters to GRES per socket only. `tasks_per_socket` and
    `tasks_per_core` are ``--ntasks-per-socket`` and ``--ntasks-per-core``, 0 where not given. Of each core
    `threads_per_core` threads are used (``--threads-per-core``, ``--hint``), all where it is 0.
    `tasks_per_gpu` is ``--ntasks-per-gpu``. `segment` is ``--segment``: so many nodes are placed together in a block.
    `cpus` is how many CPUs the job wants when its tasks and nodes do not say it (else None): a range of nodes has no
    tasks of its own, and an update changes one without the other. `enforce_binding` is
    ``--gres-flags=enforce-binding``: no GPUs but those beside its cores, also by default unless `disable_binding`
    says otherwise. `prefer` is ``--prefer``, a constraint that is tried before `constraint`, in its stead.
    `one_task_per_sharing` and `tasks_share` (multiple-tasks-per-sharing) say so of the shares of GPUs
    that its tasks have. `block_cores` fills one socket of a node after
    the other (``-m *:block``, plane), where it matters which cores a job has.
    """

    min_nodes: int = 1
    max_nodes: int = 0
    n_tasks: int = 0
    cpus_per_task: int = 1
    tasks_per_node: int = 0
    mem_per_node_mib: int | None = None
    mem_per_cpu_mib: int | None = None
    gres: tuple[GresRequest, ...] = ()
    exclusive: bool = False
    oversubscribe: bool = False
    constraint: str = ""
    node_list: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    contiguous: bool = False
    exclusive_user: bool = False
    spread: bool = False
    use_min_nodes: bool = False
    switches: int = 0
    switch_wait_s: int | None = None
    mem_per_gpu_mib: int | None = None
    sockets_per_node: int = 1
    overcommit: bool = False
    cpus_per_gpu: int = 0
    cpus_given: bool = False
    cpus: int | None = None
    unshared: bool = False
    min_cpus_per_node: int = 0
    tasks_per_socket: int = 0
    tasks_per_core: int = 0
    threads_per_core: int = 0
    tasks_per_gpu: int = 0
    segment: int = 0
    consolidate_segments: bool = False
    spread_segments: bool = False
    enforce_binding: bool = False
    disable_binding: bool = False
    one_task_per_sharing: bool = False
    tasks_share: bool = False
    block_cores: bool = False
    exclusive_topo: bool = False  # --exclusive=topo: no other job within the blocks or rings of its nodes
    prefer: str = ""
    # what each of its nodes takes of a hierarchical resource in mode 3 (-L, --resources), "" for none
    layered: tuple[str, int] = ("", 0)
    core_spec: int | None = None  # --core-spec, or --thread-spec with `THREAD_FLAG`; counts where the site allows it

    @property
    def min_cpus(self) -> int:
        """CPUs the job asks for: tasks times CPUs a task (scontrol's NumCPUs while pending)."""
        if self.cpus is not None:
            return self.cpus
        if self.overcommit:
            return max(self.min_nodes, 1)
        return self.tasks * self.cpus_per_task

    @property
    def tasks_apart(self) -> int:
        """Tasks of a node that need CPUs of their own: with --overcommit they share one, and one may be all."""
        return 1 if self.overcommit or self.tasks == 1 else max(self.tasks_per_node, 1)

    @property
    def tasks_together(self) -> int:
        """Tasks a node needs room for before it gets one, however few the job has (job_test.c _select_cores)."""
        if self.overcommit or self.tasks_per_node:
            return 1
        return self.tasks_per_socket or self.tasks_per_core or 1

    @property
    def tasks(self) -> int:
        """Tasks the job will have: as given, else what its nodes imply."""
        return self.n_tasks or max(self.min_nodes, 1) * max(self.tasks_per_node, 1)
