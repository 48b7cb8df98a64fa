"""One submission as the controller receives it. No actual run time: what is not here cannot leak to a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.data_classes import dataclass
from slurmsim.model.request import ResourceRequest

if TYPE_CHECKING:
    from slurmsim.energy.profile import Profile


@dataclass(slots=True, init=False)
class Submission:
    """Facts of ``sbatch``. Times are int seconds (absolute); `time_limit_s` None means the partition's default.

    `partitions` in the order given; empty means the default partition. `dependency` is Slurm's syntax with
    job ids. `priority` is an explicitly set one; `hold` is ``-H``. `array_*`: this submission is one task of an
    array (the whole array is submitted as its tasks, in index order, at one instant); `array_limit` is ``%N``.
    `no_kill`: it survives the loss of a node. `kill_invalid`: --kill-on-invalid-dep, None for the cluster's setting.
    `exempt`: TRES, and ``time``, without limits because an operator gave the job what it asks for.
    `site_factor` is what an administrator adds to its priority (priority/multifactor).
    `profile` is its application, where one is known.
    `het` are the id of the leader and the number of components of the heterogeneous job it is part of.
    `cron` are the times of a line of a user's table (`slurmsim.cron`): it waits for the next one whenever it has run.
    `reservation` is one name or several (``a,b``), `licenses` ``-L``'s ``mat:2,flu``, `deadline` an absolute time.
    """

    job_id: int
    request: ResourceRequest
    time_limit_s: int | None = None
    time_min_s: int | None = None
    name: str = ""
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    begin: int | None = None
    nice: int = 0
    priority: int | None = None
    hold: bool = False
    dependency: str = ""
    requeue: bool = True
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_limit: int | None = None
    reservation: str = ""
    licenses: str = ""
    deadline: int | None = None
    no_kill: bool = False
    kill_invalid: bool | None = None
    exempt: str = ""
    site_factor: int = 0
    profile: Profile | None = None
    het: tuple[int, int] | None = None
    cron: str = ""

    def __init__(
        self, job_id: int, request: ResourceRequest, time_limit_s: int | None = None, time_min_s: int | None = None,
        name: str = "", user: str = "", account: str = "", qos: str = "", partitions: tuple[str, ...] = (),
        begin: int | None = None, nice: int = 0, priority: int | None = None, hold: bool = False,
        dependency: str = "", requeue: bool = True, array_job_id: int | None = None, array_task_id: int | None = None,
        array_limit: int | None = None, reservation: str = "", licenses: str = "", deadline: int | None = None,
        no_kill: bool = False, kill_invalid: bool | None = None, exempt: str = "", site_factor: int = 0,
        profile: Profile | None = None, het: tuple[int, int] | None = None, cron: str = "",
    ) -> None:  # fmt: skip
        self.job_id, self.request, self.time_limit_s, self.time_min_s = job_id, request, time_limit_s, time_min_s
        self.name, self.user, self.account, self.qos, self.partitions = name, user, account, qos, partitions
        self.begin, self.nice, self.priority, self.hold, self.dependency = begin, nice, priority, hold, dependency
        self.requeue, self.array_job_id, self.array_task_id = requeue, array_job_id, array_task_id
        self.array_limit, self.reservation, self.licenses = array_limit, reservation, licenses
        self.deadline, self.no_kill, self.kill_invalid, self.exempt = deadline, no_kill, kill_invalid, exempt
        self.site_factor, self.profile, self.het, self.cron = site_factor, profile, het, cron
