"""What slurmdbd keeps of a run of a job: the whole row, and what was noted when it first heard of the run."""

from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.slurmctld.base.step import Step


@dataclass(slots=True)
class JobRecord:
    """One run of a job. Times are seconds since the epoch, 0 where there is none; see `slurmdb_job_rec_t`."""

    db_index: int
    original_index: int
    job_id: int
    array_job_id: int
    array_task_id: int | None
    array_task_str: str | None
    array_max_tasks: int
    assoc_id: int
    account: str
    user: str
    uid: int
    gid: int
    group: str
    partition: str
    qos: str
    name: str
    state: str
    exit_code: int
    derived_ec: int
    killed_by: int | None
    submit: int
    eligible: int | None  # None: not before its array lets it
    start: int
    end: int
    suspended: int
    time_limit: int | None  # minutes; None: UNLIMITED, -1: the partition's
    nodes: str
    alloc_nodes: int
    req_cpus: int
    mem_cpu: int | None  # MiB asked for each CPU or node
    mem_node: int | None
    tres_req: dict[str, int]
    tres_alloc: dict[str, int]
    priority: int
    flags: tuple[str, ...]
    reason: str
    constraints: str | None
    resv_name: str | None
    resv_id: int
    restarts: int
    asked: Any  # the request; its texts are never changed
    admin_comment: str | None
    comment: str | None
    first_cpus: int
    first_mem: int
    steps: list[Step]
    het: tuple[int, int, int] | None = None  # leader, place and number of the components of its heterogeneous job
    first_gres: dict[str, int] | None = None  # on the first node, where it has not as many on each


@dataclass(slots=True)
class First:
    """What was noted of a run when slurmdbd first heard of it."""

    db_index: int
    priority: int
    restarts: int
    original: int = 0  # the index of the job's first run, where this is not that
