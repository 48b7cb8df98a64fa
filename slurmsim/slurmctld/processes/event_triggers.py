"""strigger: programs that run when something happens to nodes, a job or the configuration (trigger_mgr.c).

slurmctld looks every sixteen seconds at what has happened since its last look. A program runs as the user who set its
trigger; here programs run where jobs do, and only those of the cluster's owner. Nothing ever happens to the controller,
to slurmdbd or to their database here, so triggers about these wait forever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from slurmsim.bitmap import to_indices
from slurmsim.hostlist import HostlistError, compress, expand
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.event_trigger import DONE, PENDING, PULLED, EventTrigger
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.fields.node_fields import NODE_FIELDS

if TYPE_CHECKING:
    from slurmsim.bitmap import Bitmap
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

PERIOD_S, MOST_S = 16, 300  # how often slurmctld looks, and how long a program may take
NO_SUCH, DUPLICATE, OVER, BAD_NODE, DISABLED = (
    ("No such process", 3), ("Duplicate event trigger", 2089), ("Job/step already completing or completed", 2021),
    ("Invalid node name specified", 2018), ("Requested operation is presently disabled", 2037),
)  # fmt: skip
_OF_NODES = ("down", "drained", "fail", "draining", "up", "resume")


class Timer(Protocol):
    """What the network calls with."""

    @property
    def value(self) -> Any:
        """What was given to it."""


class EventTriggers:
    """The triggers of one cluster, what has happened since the last look, and the requests about them."""

    CHANGES = frozenset({"set_trigger", "clear_trigger"})

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self.records: list[EventTrigger] = []
        self.last_id = 0
        self.happened: dict[str, int] = {}  # nodes by event, since the last look
        self.reread = False  # the configuration was read again since the last look
        self.seen: tuple[int, int, int] = (0, 0, 0)  # nodes that were down, not to be used, drained when looked last
        self.due: int | None = None  # when slurmctld looks next, if something may come of it
        self.began = cluster.network.start_time  # when slurmctld began to look

    def calls(self) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
        """Return the requests by name."""
        return {"triggers": self.show, "set_trigger": self.add, "clear_trigger": self.clear}

    # -- requests ----------------------------------------------------------------------------------------------------

    def show(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Return the triggers that still wait for their event."""
        return {
            "triggers": [
                [one.number, one.kind, one.asked, list(one.events), one.offset, one.uid, one.user, one.permanent,
                 one.program]
                for one in self.records if one.state == PENDING
            ]
        }  # fmt: skip

    def add(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Take a trigger; a program that may not run is told in the answer, as it uses a number up. Raises Refusal."""
        cluster = self._cluster
        self._check_right(person)
        made = EventTrigger(
            self.last_id + 1, arguments["kind"], arguments.get("asked"), tuple(arguments["events"]),
            int(arguments["offset"]), person.uid, person.name, bool(arguments.get("permanent")), arguments["program"],
        )  # fmt: skip
        self._place(made)
        if any(one.same(made) for one in self.records):
            raise Refusal(*DUPLICATE)
        self.last_id += 1
        if not arguments["runs"]:
            return {"refused": DENIED}
        if not self.records:
            self.seen = self._unusable()
            self.reread = cluster.now < self.began + PERIOD_S  # as it was when slurmctld came up
        self.records.append(made)
        self._look_again()
        return {}

    def _check_right(self, person: Person) -> None:
        """Raise Refusal for a user who may set no triggers: where SlurmUser is not root, it alone may."""
        cluster = self._cluster
        words = str(cluster.spec.options.get("SlurmctldParameters") or "").lower()
        if "disable_triggers" in words and since(cluster.release, "triggers_disabled"):
            raise Refusal(*DISABLED)
        slurm_user = str(cluster.conf.scalar("SlurmUser") or "root")
        if person.uid == cluster.owner or person.name == slurm_user:
            return
        if slurm_user != "root" or "allow_user_triggers" not in words:
            raise Refusal(DENIED, 2002)

    def _place(self, made: EventTrigger) -> None:
        """Find the job or the nodes a trigger is about. Raises Refusal."""
        text, table = made.asked, self._cluster.controller.state.table
        if made.kind == "job":
            live = self._job(int(text or 0))
            if live is None:
                raise Refusal(INVALID_JOB, 2017)
            if live.over:
                raise Refusal(*OVER)
            made.job_id = int(text or 0)
        elif text and not text.startswith("*"):
            try:
                made.nodes = sum(1 << table.index[name] for name in dict.fromkeys(expand(text, MOST_NAMES)))
            except (HostlistError, KeyError):
                raise Refusal(*BAD_NODE) from None

    def clear(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Forget the triggers with a number, of a job or of a user. Raises Refusal where there are none."""
        number, job_id, uid = (arguments.get(key) for key in ("id", "job_id", "user_id"))
        found = [
            one for one in self.records
            if one.state != DONE and number in (None, 0, one.number) and job_id in (None, one.job_id)
            and uid in (None, one.uid)
        ]  # fmt: skip
        mine = [one for one in found if person.uid in (0, self._cluster.owner, one.uid)]
        if not mine:
            raise Refusal(*((DENIED, 2002) if found else NO_SUCH))
        self.records = [one for one in self.records if not any(one is gone for gone in mine)]
        return {}

    # -- events ------------------------------------------------------------------------------------------------------

    def _unusable(self) -> tuple[Bitmap, Bitmap, Bitmap]:
        """Return the nodes that are down, those that get no jobs, and of these the ones without any."""
        controller = self._cluster.controller
        states, table = controller.node_states, controller.state.table
        away = states.drained | states.failing
        return states.down, away, away & table.idle & ~controller.completing.nodes & ~states.down

    def turned(self) -> None:
        """Take down what a turn of the controller has done to nodes, and look once something may come of it."""
        if not self.records:
            return
        (was_down, was_away, was_drained), seen = self.seen, self._unusable()
        self.seen = down, away, drained = seen
        news = {
            "down": down & ~was_down, "up": was_down & ~down, "drained": drained & ~was_drained,
            "resume": (was_down | was_away) & ~(down | away),
        }  # fmt: skip
        failing = self._cluster.controller.node_states.failing
        news["draining"] = away & ~was_away & ~failing
        if since(self._cluster.release, "failing_nodes_trigger"):
            news["fail"] = away & ~was_away & failing
        for event, nodes in news.items():
            if nodes:
                self.happened[event] = self.happened.get(event, 0) | nodes
        self._look_again()

    def note_reread(self) -> None:
        """Note that the configuration was read again, since 23.11 by a new slurmctld that has seen nothing yet."""
        cluster = self._cluster
        if since(cluster.release, "reconfigure_begins_anew"):
            self.happened, self.due, self.began = {}, None, cluster.now
            for one in self.records:
                one.resource = one.asked if one.state == PULLED else one.resource
        self.reread = bool(self.records)
        self._look_again()

    def _look_again(self) -> None:
        """Plan the next look, if anything can come of it."""
        now, start = self._cluster.now, self.began
        if self.due is not None or not (self.happened or self.reread or any(map(self._may_fire, self.records))):
            return
        self.due = start + ((now - start) // PERIOD_S + 1) * PERIOD_S
        self._cluster.network.at(self.due, self._look)

    def _may_fire(self, one: EventTrigger) -> bool:
        """Return True if a trigger may fire though nothing happens to nodes."""
        if one.state != PENDING:
            return one.state == PULLED
        live = self._job(one.job_id) if one.kind == "job" else None
        if one.kind == "job" and (live is None or live.over):
            return True
        return "idle" in one.events or ("time" in one.events and live is not None and live.core.end_limit is not None)

    def _job(self, job_id: int) -> LiveJob | None:
        return self._cluster.job_table.shown(job_id)

    # -- looking -----------------------------------------------------------------------------------------------------

    def _look(self, timer: Timer) -> None:
        """Start programs as their events have come (trigger_process)."""
        now, cloned = self._cluster.now, list[EventTrigger]()
        if self.due != now:
            return  # of a slurmctld that is gone
        self.due = None
        self.records = [one for one in self.records if one.state != DONE or now - one.due <= MOST_S]
        for one in self.records:
            if one.state == PENDING and self._pulled(one, now):
                one.state = PULLED
            if one.state != PULLED or one.due > now:
                continue
            if one.permanent:
                cloned.insert(0, replace(one, state=PENDING, due=0))
            one.state, one.due = DONE, now
            self._run(one)
        self.records[:0] = cloned
        self.happened, self.reread = {}, False
        if all(one.state == DONE for one in self.records):
            self.records = []
        self._look_again()

    def _run(self, one: EventTrigger) -> None:
        real = self._cluster.real
        if real is not None and one.uid == self._cluster.owner:
            real.run_program([*one.program.split(), *([one.resource] if one.resource is not None else [])])

    def _pulled(self, one: EventTrigger, now: int) -> bool:
        """Return True if the event of a trigger has come; note when its program runs, and what it is told of."""
        one.due, one.resource = now + one.offset, one.asked
        if one.kind == "job":
            return self._pulled_by_job(one, now)
        for event in (event for event in (*_OF_NODES[:3], "idle", "up", "draining", "resume") if event in one.events):
            nodes = self._idle_for(one.offset, now) if event == "idle" else self.happened.get(event, 0)
            mine = nodes if one.nodes is None else nodes & one.nodes
            if mine or (event == "idle" and one.nodes is None):
                names = self._cluster.controller.state.table.names
                one.resource = compress(names[i] for i in to_indices(mine))
                one.due = now if event == "idle" else one.due
                return True
        if "reconfig" in one.events and self.reread:
            one.resource = "reconfig"
            return True
        return False

    def _idle_for(self, seconds: int, now: int) -> Bitmap:
        """Return the nodes that have been idle for so long."""
        cluster, found = self._cluster, 0
        state, last_busy = NODE_FIELDS["state"], NODE_FIELDS["last_busy"]
        for i in range(cluster.controller.state.table.n):
            if state(i, cluster) == "IDLE" and last_busy(i, cluster) <= now - seconds:
                found |= 1 << i
        return found

    def _pulled_by_job(self, one: EventTrigger, now: int) -> bool:
        live = self._job(one.job_id)
        if "fini" in one.events and (live is None or (live.over and live.core.id not in self._completing())):
            return True
        if live is None:  # there is nothing to wait for any more
            one.state, one.due = DONE, now
            return False
        limit = live.core.end_limit
        if "time" in one.events and limit is not None and limit - now <= -one.offset:
            one.due = now
            return True
        return any(
            self.happened.get(event, 0) & live.core.nodes for event in ("down", "fail", "up") if event in one.events
        )

    def _completing(self) -> set[int]:
        return {core_id for core_id, _ in self._cluster.controller.completing.runs()}
