"""Power saving: idle nodes are switched off, and on again for the job that gets them.

Mirrors slurmctld's power_save.c (22.05). A scan comes the second after any node has changed, and `SCAN_S` seconds after
another one (a second later since 24.11). It powers down nodes idle for longer than SuspendTime (no more than
SuspendRate a minute). It notes that nodes are off once their SuspendTimeout is over, and
gives up nodes that have not come up within ResumeTimeout. Nodes of State=CLOUD begin off. Nodes that are off are chosen
after all others.
A job that gets some is CONFIGURING: its nodes boot (`Boot`; the driver says `NodesBooted`), and when the last one is up
its processes start and its limit counts from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices, lowest, to_indices
from slurmsim.core.occupancy.kept_awake import KeptAwake
from slurmsim.core.records.messages import (
    Boot,
    BootFailed,
    Fact,
    Launch,
    NodesDown,
    NodesPower,
    NodesResume,
    OfNodes,
    PowerDown,
)  # fmt: skip
from slurmsim.core.records.observer import Observer
from slurmsim.model.power_saving import has_programs, saves_power
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.occupancy.node_states import NodeStates
    from slurmsim.core.records.job import Job
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

SCAN_S: Final = 10  # power_save_interval
TIMED_OUT: Final = "ResumeTimeout reached"
_UNSAID, _NEVER = -2, 1 << 62  # a time of a node that no partition says, and one that is longer than all others


def make_power(state: ControllerState, runs: RunWay, node_states: NodeStates) -> PowerSaving | None:
    """Power saving as configured; None when no node is ever powered down."""
    by_hand = state.rules.powers_by_hand and has_programs(state.spec)
    saves = by_hand or saves_power(state.spec)
    return PowerSaving(state, runs, node_states) if saves else None


class PowerSaving:
    """Which nodes are off, on their way there, or on their way back."""

    def __init__(self, state: ControllerState, runs: RunWay, node_states: NodeStates) -> None:
        self.state, self._runs, self._node_states = state, runs, node_states
        self.nodes = state.power
        option, table = state.spec.option, state.table
        self.suspend_rate, self.resume_rate = int(option("SuspendRate")), int(option("ResumeRate"))
        self._suspended = self._resumed = 0.0  # decaying counts of the last minute
        self._last_scan = state.start_time
        self.suspend_time = _per_node(state, "suspend_time_s", option("SuspendTime"))
        for i, spec in enumerate(table.specs):
            if spec.suspend_time_s is not None:
                self.suspend_time[i] = spec.suspend_time_s
        self.suspend_timeout = _per_node(state, "suspend_timeout_s", option("SuspendTimeout"))
        self.resume_timeout = _per_node(state, "resume_timeout_s", option("ResumeTimeout"))
        self._kept = KeptAwake(state, node_states)
        self.suspend_time[to_indices(self._kept.never)] = -1
        cloud = from_indices([i for i, spec in enumerate(state.spec.nodes) if spec.state == "CLOUD"])
        state.selector.asleep = self.nodes.off = cloud  # these begin powered down
        self.since = np.full(table.n, state.start_time, np.int64)  # of the present state: idle, going, coming
        self._to_boot: Bitmap = 0  # given to a job, waiting for ResumeRate
        self._booting_for: dict[int, tuple[Job, Bitmap]] = {}
        self._scan_at: int | None = None
        self._scan_every = SCAN_S + state.rules.power_scans_later
        self._scanned = state.start_time  # a scan that came, also if it had nothing to do
        self._plan_scan()

    def begin_anew(self) -> None:
        """Count nodes that are idle as such from now on, and scans as well: slurmctld is a new process."""
        self.since[to_indices(self._idle())] = self._scanned = self.state.now
        self._plan_scan()

    def take(self, off: Bitmap, going: Bitmap = 0, coming: Bitmap = 0, asked: Bitmap = 0) -> None:
        """Let nodes be in these states and all others on, as another controller had them; those coming boot anew."""
        now, states = self.state.now, self.nodes
        states.off, states.going, states.coming, states.asked = off, going, 0, asked
        self.since[to_indices(going)] = now
        self.state.selector.asleep = off
        self._to_boot = coming
        self._node_states.refresh()
        self.state.changed()
        self._resume()

    # -- what the controller tells ----------------------------------------------------------------------------------

    def boots(self, job: Job) -> bool:
        """`job` got its nodes: whether some of them have to come up first. If so they begin to."""
        self.nodes_changed()
        if job.partition.spec.power_down_on_idle:
            self._ask(job.nodes)
        missing = job.nodes & (self.nodes.off | self.nodes.coming)
        if not missing:
            return False
        self._booting_for[job.id] = (job, missing)
        self._to_boot |= missing & self.nodes.off
        self._resume()
        return True

    def freed(self, job: Job, nodes: Bitmap) -> None:
        """Take note that `job` gave its nodes back; `nodes` of them are idle now."""
        self._booting_for.pop(job.id, None)
        self._left(nodes)

    def resized(self, job: Job, nodes: Bitmap) -> None:
        """`job` goes on without some of its nodes; `nodes` of them are idle now. It waits for the others only."""
        self._left(nodes)
        if job.id in self._booting_for:
            missing = self._booting_for[job.id][1] & job.nodes
            self._booting_for[job.id] = (job, missing)
            if job.state == JobState.RUNNING:
                self.launched(job)

    def _left(self, nodes: Bitmap) -> None:
        """Take note that `nodes` have become idle."""
        idle = nodes & ~self.nodes.coming
        if nodes & self.nodes.asked:
            self._node_states.refresh()  # no other job gets them
        self._to_boot &= ~(nodes & self.nodes.off)
        self.since[to_indices(idle)] = self.state.now
        self.nodes_changed()

    def booted(self, nodes: Bitmap) -> None:
        nodes &= self.nodes.coming
        if not nodes:
            return
        self.nodes.coming &= ~nodes
        self.since[to_indices(nodes & self.state.table.idle)] = self.state.now
        self._tell("IDLE", nodes)
        for job_id in list(self._booting_for):
            job, missing = self._booting_for[job_id]
            missing &= ~nodes
            self._booting_for[job_id] = (job, missing)
            if not missing and job.state == JobState.RUNNING:
                self.launched(job)
        self._plan_scan()

    def registered(self, nodes: Bitmap) -> None:
        """Take note that the slurmd of `nodes` has registered: those that boot are up, and so are others that were off.

        A node may be switched on beside ResumeProgram (slurmctld's validate_node_specs).
        """
        beside = nodes & (self.nodes.off | self.nodes.going)
        if beside:
            self.nodes.off &= ~beside
            self.nodes.going &= ~beside
            self.nodes.coming |= beside
            self._to_boot &= ~beside
        self.booted(nodes)

    def waiting_for(self, nodes: Bitmap) -> list[tuple[Job, Bitmap]]:
        """Return the jobs that have some of `nodes` and wait until they are up, with those nodes."""
        found = self._booting_for.values()
        return [(job, missing & nodes) for job, missing in found if missing & nodes]

    def waits(self, job: Job) -> bool:
        """Return True if the processes of `job` have not been started yet."""
        return job.id in self._booting_for

    def launched(self, job: Job) -> None:
        """Start the processes of `job` if its nodes are up, which may have come up while it was suspended."""
        if not self._booting_for[job.id][1]:
            del self._booting_for[job.id]
            self._runs.ready(job)

    def on_request(self, fact: NodesPower) -> None:
        """Apply ``scontrol update State=POWER_UP`` or ``POWER_DOWN``."""
        nodes = from_indices(sorted(self.state.table.index[n] for n in fact.nodes))
        if fact.up:
            if fact.forced:  # its jobs are lost, and it boots whatever it did
                self._node_states.end_jobs(nodes)
                self.nodes.going &= ~nodes
                self.nodes.coming &= ~nodes
                self.nodes.off |= nodes
            self._to_boot |= nodes & self.nodes.off
            self._resume()
            return
        nodes &= ~self.nodes.going
        if fact.forced:
            self._node_states.end_jobs(nodes)
            self.nodes.coming &= ~nodes
        self._ask(nodes)

    def _ask(self, nodes: Bitmap) -> None:
        """Have `nodes` powered down as soon as no job is on them; until then no job begins on those without one."""
        self.nodes.asked |= nodes
        self._node_states.refresh()

    # -- scans ------------------------------------------------------------------------------------------------------

    def told(self, facts: Sequence[Fact]) -> None:
        """Take note of what was said of nodes; one that is resumed while it goes down is down from then on."""
        of_nodes = [fact for fact in facts if isinstance(fact, OfNodes)]
        for fact in of_nodes:
            if isinstance(fact, NodesResume):
                self._are_off(self.state.nodes_named(fact.nodes) & self.nodes.going)
        if of_nodes:
            self.nodes_changed()

    def nodes_changed(self) -> None:
        """Take note that the record of some node has changed: a scan comes in the next second."""
        self._scanned = self.state.now + 1
        self._plan_scan()

    def _plan_scan(self) -> None:
        """Make sure that the first scan comes in which a node changes its state by itself."""
        due = self._next_due()
        if due is None:
            return
        at = max(due, self.state.now + 1)
        at += (self._scanned - at) % self._scan_every
        if at != self._scan_at:
            self._scan_at = at
            self.state.timers.set(at, self._scan, at)

    def _next_due(self) -> int | None:
        times = []
        idle = self._idle()
        for nodes, wait in (
            (idle & ~self._kept_now(idle), self.suspend_time),
            (self.nodes.going, self.suspend_timeout),
            (self.nodes.coming, self.resume_timeout),
        ):
            idx = to_indices(nodes)
            idx = idx[wait[idx] >= 0]
            if len(idx):
                times.append(int((self.since[idx] + wait[idx]).min()) + 1)
        if self.nodes.asked & (idle | self.nodes.off & self._without_jobs()) or self._to_boot:
            times.append(self.state.now + 1)
        return min(times, default=None)

    def _idle(self) -> Bitmap:
        states, busy = self.nodes, self._node_states.booting | self.state.holders.suspended_nodes()
        return self._without_jobs() & ~(states.off | states.going | states.coming | busy)

    def _without_jobs(self) -> Bitmap:
        """Return the nodes without a job; deleted ones are none."""
        return self.state.table.idle & ~self.state.table.gone

    def _kept_now(self, idle: Bitmap) -> Bitmap:
        return self._kept.now(idle, self.nodes.off | self.nodes.going | self.nodes.coming)

    def _scan(self, at: int) -> None:
        if at != self._scan_at:
            return  # an earlier one was set since
        self._scan_at = None
        now = self._scanned = self.state.now
        self._decay(now)
        self._resume()
        self._suspend(now)
        self._are_off(self._over(self.nodes.going, self.suspend_timeout, now))
        lost = self._over(self.nodes.coming, self.resume_timeout, now)
        if lost:
            self.nodes.coming &= ~lost
            self.nodes.off |= lost
            self._tell("POWERED_DOWN", lost)
            names = self._names(lost)
            self._node_states.set_down(NodesDown(names, TIMED_OUT), answering=False)
            self.state.actions.append(BootFailed(names))
        self._plan_scan()

    def _are_off(self, nodes: Bitmap) -> None:
        """Take note that `nodes`, if any, do not go down any more but are down."""
        if nodes:
            self.nodes.going &= ~nodes
            self.nodes.off |= nodes
            self._tell("POWERED_DOWN", nodes)

    def _decay(self, now: int) -> None:
        """Reduce the counts of SuspendRate and ResumeRate by what is older than about a minute."""
        part = max(0, 60 - (now - self._last_scan)) / 60
        self._suspended, self._resumed = self._suspended * part, self._resumed * part
        self._last_scan = now

    def _over(self, nodes: Bitmap, wait: np.ndarray, now: int) -> Bitmap:
        idx = to_indices(nodes)
        return from_indices(idx[self.since[idx] + wait[idx] < now])

    def _suspend(self, now: int) -> None:
        idle = self._idle()
        idx = to_indices(idle & ~self._kept_now(idle))
        idx = idx[self.suspend_time[idx] >= 0]
        nodes = from_indices(idx[self.since[idx] + self.suspend_time[idx] < now])
        asked = self.nodes.asked & (idle | self.nodes.off & self._without_jobs())  # also those that are off go down
        nodes |= asked
        if self.suspend_rate:
            room = max(0, self.suspend_rate - int(self._suspended + 0.5))
            nodes = lowest(nodes, min(room, nodes.bit_count()))
        if nodes:
            self._suspended += nodes.bit_count()
            self._node_states.drained &= ~(nodes & self.nodes.asked)  # POWER_DOWN_ASAP is over
            self.nodes.asked &= ~nodes
            self.nodes.off &= ~nodes
            self.nodes.going |= nodes
            self.since[to_indices(nodes)] = now
            self._tell("POWERING_DOWN", nodes)
            self.state.actions.append(PowerDown(self._names(nodes)))

    def _resume(self) -> None:
        """Boot what jobs wait for, as many as ResumeRate allows."""
        nodes = self._to_boot
        if self.resume_rate:
            room = max(0, self.resume_rate - int(self._resumed + 0.5))
            nodes = lowest(nodes, min(room, nodes.bit_count()))
        if nodes:
            self._resumed += nodes.bit_count()
            self._to_boot &= ~nodes
            self.nodes.off &= ~nodes
            self.nodes.coming |= nodes
            self.since[to_indices(nodes)] = self.state.now
            self._tell("POWERING_UP", nodes)
            self.state.actions.append(Boot(self._names(nodes)))
        self._plan_scan()

    def _names(self, nodes: Bitmap) -> tuple[str, ...]:
        return tuple(self.state.table.names[i] for i in to_indices(nodes).tolist())

    def _tell(self, state: str, nodes: Bitmap) -> None:
        """Note a change of power states, and let everybody look at the nodes anew."""
        shown = self.state.cluster.compress(self._names(nodes))
        self.state.events.append((self.state.now, "POWER", None, state, "", "", shown, None, ""))
        self.state.selector.asleep = self.nodes.off
        self._node_states.refresh()
        self.state.usage.touch_all()
        self.state.changed()
        if state == "POWERED_DOWN":  # they can be given to jobs again
            self.state.triggers.request()


def _per_node(state: ControllerState, attribute: str, default: int | None) -> np.ndarray:
    """Return a time for each node: that of its partitions, the longest of several, else the cluster's; -1 for never."""
    found = np.full(state.table.n, -1 if default is None else default, np.int64)
    given = np.full(state.table.n, _UNSAID, np.int64)
    for partition in state.partitions:
        value = getattr(partition.spec, attribute)
        if value is not None:
            idx = to_indices(partition.mask)
            given[idx] = np.maximum(given[idx], value if value >= 0 else _NEVER)
    found[given != _UNSAID] = given[given != _UNSAID]
    found[found == _NEVER] = -1
    return found


class Launcher(Observer):
    """Starts the processes of jobs, now or when their nodes are up."""

    def __init__(self, state: ControllerState, power: PowerSaving | None) -> None:
        self.state, self._power = state, power

    def started(self, job: Job, now: int) -> None:
        if self._power is None or not self._power.boots(job):
            self.state.actions.append(Launch(job))
