"""What sdiag tells: counters of jobs, of the schedulers' cycles as far as they are kept, and of requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import DENIED, Refusal
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.base.people import Person

_RPCS: dict[str, tuple[str, int]] = {
    "submit": ("REQUEST_SUBMIT_BATCH_JOB", 4003), "kill": ("REQUEST_KILL_JOB", 5032),
    "jobs": ("REQUEST_JOB_INFO", 2003), "nodes": ("REQUEST_NODE_INFO", 2007), "partitions": ("REQUEST_PARTITION_INFO",
    2009),
    "steps": ("REQUEST_JOB_STEP_INFO", 2005), "reservations": ("REQUEST_RESERVATION_INFO", 2024),
    "shares": ("REQUEST_SHARE_INFO", 2022), "priority_factors": ("REQUEST_PRIORITY_FACTORS", 2026),
    "ended": ("REQUEST_COMPLETE_BATCH_SCRIPT", 5018), "step_create": ("REQUEST_JOB_STEP_CREATE", 5001),
    "step_end": ("REQUEST_STEP_COMPLETE", 5016), "account_change": ("ACCOUNTING_UPDATE_MSG", 10001),
    "licenses": ("REQUEST_LICENSE_INFO", 1021),
}  # fmt: skip


class Statistics:
    """Counters since the cluster began, or since their last reset."""

    CHANGES = frozenset({"reset_statistics"})

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self.since = cluster.network.start_time
        self.submitted = self.started = self.completed = self.canceled = self.failed = self.het_started = 0
        self.requests: Counter[str] = Counter()
        self.users: Counter[int] = Counter()

    def calls(self) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
        """Return the requests about them."""
        return {"statistics": lambda arguments, person: self._answer(), "reset_statistics": self._asked_to_reset}

    def _asked_to_reset(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        if not self.cluster.database.is_operator(person):
            raise Refusal(DENIED, 2002)
        self.reset()
        return {}

    def reset(self) -> None:
        """Begin anew."""
        self.since = self.cluster.now
        self.submitted = self.started = self.completed = self.canceled = self.failed = self.het_started = 0
        self.requests.clear()
        self.users.clear()

    def ended(self, live: LiveJob) -> None:
        """Note that a job is over."""
        state = live.core.state
        if state == JobState.CANCELLED:
            self.canceled += 1
        elif state in (JobState.NODE_FAIL, JobState.BOOT_FAIL):
            self.failed += 1
        else:
            self.completed += 1

    def asked(self, call: str, person: Person) -> None:
        """Note that a request came."""
        if call in _RPCS:
            self.requests[call] += 1
            self.users[person.uid] += 1

    def _answer(self) -> dict[str, Any]:
        cluster, controller = self.cluster, self.cluster.controller
        # states are counted once a minute from the controller's start
        counted = cluster.now - (cluster.now - cluster.network.start_time) % 60
        states = Counter(str(live.core.state) for live in cluster.jobs.values())
        first = counted == cluster.network.start_time
        main = controller.main
        rpcs = [(*_RPCS[call], count) for call, count in self.requests.items()]
        return {
            "now": cluster.now, "since": self.since, "submitted": self.submitted, "started": self.started,
            "completed": self.completed, "canceled": self.canceled, "failed": self.failed, "states_at": counted,
            "pending": 0 if first else states[JobState.PENDING], "running": 0 if first else states[JobState.RUNNING],
            "main_cycles": int(getattr(main, "passes", 0)), "queue_length": len(controller.state.queue.jobs),
            "backfilled": int(controller.life_cycle.backfilled), "backfilled_het": self.het_started,
            "bf_cycles": 0, "bf_last": 0,
            "dbd": cluster.database.exists, "rpcs": [list(one) for one in rpcs],
            "users": [[cluster.people.by_uid(uid).name, uid, count] for uid, count in self.users.items()],
        }  # fmt: skip
