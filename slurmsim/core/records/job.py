"""The controller's record of one job. It has a time limit and no actual run time: that belongs to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmsim.bitmap import Bitmap
from slurmsim.errors import InvariantError
from slurmsim.model.submission import Submission
from slurmsim.states import TRANSITIONS, JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.placement.compiled_request import CompiledRequest
    from slurmsim.core.records.allocation import Allocation
    from slurmsim.core.records.associations import Branch
    from slurmsim.core.records.barred_partitions import Bars
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.records.reservation import Reservation
    from slurmsim.model.accounting import Qos

# An unlimited job counts as one year wherever an end is needed (slurmctld: start + 1 year).
ONE_YEAR_S: Final = 365 * 86400
OVERRUN_S: Final = (0, 60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
"""How much longer than predicted a job is taken to run, by how often its prediction has proved too short."""
UNSPLIT: Final = 2**32  # added to the index of a task that still is in the record of its array


NO_PRIORITY: Final = 2**32 - 2  # NO_VAL: of a job that ended before it got one
AS_ASKED: Final = -1  # `Job.foremost` where its submission found nodes in none of its partitions


class Job:
    """One job or array task from submission to its final state.

    `requests` and `partitions` run in parallel: a job may ask for several partitions. `partition` is the one it runs
    in, or the first while pending. `end_limit` is start + limit while running. `waits_for` holds what keeps it from
    being eligible: unmet dependencies by id. `submit_time` is renewed by a requeue, as slurmctld does, and
    `first_submit` never. `suspended_s` are the seconds the present run was suspended, up to `suspended_at`, the start
    of a suspension that lasts. `preempt_time` is when the present run was preempted; `preempt_start` is when the job
    last preempted others. `likely_nodes` is how many nodes were last found for it, if that is known. `branch` is its
    association and `qos_spec` its QOS, None without accounting data. `bars` has the partitions that do not take its
    account or QOS, None when all do.
    """

    __slots__ = (
        "account", "accrue_time", "alloc", "array_key", "array_limit", "bars", "begin", "branch", "claims",
        "corrections", "deadline", "depth", "eligible_time", "end_limit", "end_time", "exit_code",
        "first_submit", "forced", "foremost", "held_since", "id", "key", "licenses", "likely_nodes", "limit_fixed",
        "n_cpus", "n_nodes", "name", "nodes", "order", "partition", "partitions", "planned_nodes", "planned_start",
        "predicted_s", "preempt_start", "preempt_time", "priority", "qos", "qos_spec", "queued", "rank",
        "reason", "request", "requests", "reservation", "reservation_name", "reservations", "restarts",
        "scheduler", "special", "start_time", "state", "sub", "submit_time", "suspended_at", "suspended_s",
        "threshold", "time_limit_s", "time_min_s", "tried_cpus", "turn", "user", "waits_for", "within_limits",
    )  # fmt: skip

    def __init__(
        self, sub: Submission, partitions: tuple[Partition, ...], requests: tuple[CompiledRequest, ...], now: int
    ) -> None:
        self.sub = sub
        self.id = sub.job_id
        self.user, self.account, self.name, self.qos = sub.user, sub.account, sub.name, sub.qos
        self.branch: Branch | None = None
        self.qos_spec: Qos | None = None
        self.bars: Bars | None = None
        self.threshold = 0.0  # fair share below which its QOS lets it wait
        self.partitions, self.requests = partitions, requests
        self.partition, self.request = partitions[0], requests[0]
        self.submit_time = self.first_submit = now
        task = sub.array_task_id
        self.rank = -1 if task is None else task + UNSPLIT  # among the tasks of its array
        self.order = 0  # place in slurmctld's job table: order of creation
        self.begin = sub.begin
        self.eligible_time: int | None = None
        self.accrue_time: int | None = None  # since when it accrues age where limits are enforced (`accrual`)
        self.start_time: int | None = None
        self.held_since: int | None = None  # its nodes: since its start, the boot before it, or its last resize
        self.end_time: int | None = None
        self.end_limit: int | None = None
        self.time_limit_s: int = ONE_YEAR_S
        self.limit_fixed = False
        self.priority = 0
        self.state: str = JobState.PENDING
        self.reason: str = Reason.NONE
        self.restarts = 0
        self.special = False  # requeued into SPECIAL_EXIT, not released since
        self.exit_code = "0:0"
        self.alloc: Allocation | None = None
        self.nodes: Bitmap = 0
        self.n_nodes: int = self.request.min_nodes
        self.n_cpus: int = self.request.told_cpus
        self.array_key = sub.array_job_id if sub.array_job_id is not None else sub.job_id
        self.array_limit: int | None = sub.array_limit
        self.planned_start: int | None = None
        self.planned_nodes: Bitmap = 0
        self.predicted_s: int | None = None  # run time, as it was predicted when it came into the queue
        self.corrections = 0  # how often that has proved too short in the present run
        self.tried_cpus = 0  # of the whole nodes it has been planned on: they count in its priority
        self.likely_nodes = 0
        self.foremost: int | None = (
            None  # of several the one it ran in or its submission found nodes in, AS_ASKED: none
        )
        self.forced = False  # its last start was where OverSubscribe=FORCE:n has all jobs share
        self.scheduler = ""
        self.depth = 0
        self.waits_for: list[tuple[str, int, int]] = []
        self.queued = False
        self.within_limits = -1  # count of edits at which all its partitions' limits were found to allow it
        self.key: tuple[int, ...] = ()
        self.turn: tuple[int, int] | None = None  # place in the queue where a discipline gives places
        # whether it asks for a reservation, licenses or a deadline: most do not, and need not be asked more
        self.claims = bool(sub.reservation or sub.licenses) or sub.deadline is not None
        self.time_min_s: int | None = sub.time_min_s
        self.deadline: int | None = sub.deadline
        self.licenses: tuple[tuple[str, int], ...] = ()
        self.reservations: tuple[Reservation, ...] = ()  # those it named
        self.reservation: Reservation | None = None  # the one it runs in
        self.reservation_name: str = ""  # as %v prints it
        self.suspended_at: int | None = None
        self.suspended_s: int = 0
        self.preempt_time: int | None = None
        self.preempt_start: int | None = None

    @property
    def expected_s(self) -> int:
        """Seconds it is planned with: its limit, or less where a predictor says so; corrected while it runs."""
        predicted, limit = self.predicted_s, self.time_limit_s
        if predicted is None or self.corrections >= len(OVERRUN_S):
            return limit
        return min(limit, max(1, predicted + OVERRUN_S[self.corrections]))

    @property
    def expected_end(self) -> int | None:
        """When running it is planned to end: no later than its limit has it end."""
        end, start = self.end_limit, self.start_time
        if end is None or start is None or self.predicted_s is None:
            return end
        return min(end, start + self.suspended_s + self.expected_s)

    def stood_still_s(self, now: int) -> int:
        """Seconds its present run has been suspended by `now`."""
        return self.suspended_s + (now - self.suspended_at if self.suspended_at is not None else 0)

    @property
    def asked(self) -> tuple[tuple[str, int], ...]:
        """Amounts it asks for in the first of its partitions, whatever it was given: nodes, CPUs, memory, GRES."""
        request = self.requests[0]
        wanted = request.asked
        amounts = [("node", request.min_nodes), ("cpu", request.told_cpus)]
        memory = wanted.mem_per_node_mib, wanted.mem_per_cpu_mib, wanted.mem_per_gpu_mib
        names = "mem_per_node", "mem_per_cpu", "mem_per_gpu"
        amounts += [(name, mib) for name, mib in zip(names, memory, strict=True) if mib is not None]
        amounts += [(f"gres/{g.name}:{g.type}" if g.type else f"gres/{g.name}", g.count) for g in wanted.gres]
        return tuple(amounts)

    @property
    def part_qos(self) -> Qos | None:
        """The QOS of the partition it runs in, or of the first while pending."""
        return self.partition.qos

    @property
    def array_task_id(self) -> int | None:
        """Its place in its array, None outside of one."""
        return self.sub.array_task_id

    @property
    def het(self) -> tuple[int, int] | None:
        """The id of the leader and the number of components of its heterogeneous job; None: it is none's."""
        return self.sub.het

    @property
    def holds_whole_nodes(self) -> bool:
        """True if it runs on nodes it has to itself."""
        return self.alloc is not None and self.alloc.whole

    @property
    def nodes_asked(self) -> int:
        """Nodes it asks for: the fewest it may have in one of its partitions."""
        return min(request.min_nodes for request in self.requests)

    @property
    def never_asked(self) -> bool:
        """True for an array task that was not tested yet: a submission does not test whether a task may start.

        True before the first pass alone, for jobs that wait for one (`JobQueue.unasked`).
        """
        kept_out = self.reason in (Reason.BEGIN_TIME, Reason.DEPENDENCY, Reason.ARRAY_TASK_LIMIT)
        return self.sub.array_task_id is not None and self.eligible_time == self.submit_time and not kept_out

    def split(self) -> None:
        """Give a held, requeued or changed task a record of its own, which sorts before that of its array."""
        if self.rank >= UNSPLIT:
            self.rank -= UNSPLIT

    def move(self, state: str) -> None:
        """Change state by the one table of legal moves; anything else raises and changes nothing."""
        if state not in TRANSITIONS[self.state]:
            raise InvariantError(f"job {self.id} cannot go from {self.state} to {state}")
        self.state = state

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.state} {self.partition.name}>"
