"""What happens to nodes: down, drained, failing, rebooting, back; and to the jobs on them.

Mirrors update_node and kill_running_job_by_node_name (22.05). A node may be down and drained at once: RESUME clears
everything, UNDRAIN the drain alone. What nodes are usable is the union of these states, kept in
``ControllerState.unusable``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.records.messages import (
    Boot,
    Kill,
    NodesBooted,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesMute,
    NodesReboot,
    NodesRebootCancel,
    NodesRegister,
    NodesResume,
    NodesUndrain,
)  # fmt: skip
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.reservations.book import Reservations
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.core.state.interfaces import RunWay

SILENT: Final = "Not responding"
PING_S: Final = 100  # between two rounds of pings where SlurmdTimeout=0; else a third of that


class NodeStates:
    """The states facts give nodes."""

    def __init__(self, state: ControllerState, runs: RunWay, reservations: Reservations) -> None:
        self.state, self._runs, self._reservations = state, runs, reservations
        # down, silent: nodes DOWN; those of them that stopped answering, not set DOWN by an administrator
        self.down: Bitmap = state.unusable
        self.silent: Bitmap = 0
        self.mute: Bitmap = 0  # nodes that are said not to answer: they take no jobs until they are asked the next time
        # nodes that came back and are to register first; the moment from which their slurmd has
        self.registering: Bitmap = 0
        self.registered_at = 0
        # when nodes were asked last out of turn; rounds of pings are counted from there
        self.pinged = state.start_time + 1
        self.ping_s = int(state.spec.options.get("SlurmdTimeout", 300)) // 3 or PING_S
        # drained, failing, booting: nodes with DRAIN, with FAIL, and with a reboot issued
        self.drained: Bitmap = 0
        self.failing: Bitmap = 0
        self.booting: Bitmap = 0
        self.to_reboot: Bitmap = 0  # nodes that will be rebooted as soon as no job is on them
        # those nodes of `to_reboot` and `booting` where the reboot ends DRAIN, whatever its origin
        self.asap: Bitmap = 0
        self.return_to_service = int(state.spec.option("ReturnToService"))

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """Fact -> method, for the controller's table."""
        return {
            NodesDown: self.set_down, NodesDrain: self._drain, NodesResume: self._resume, NodesFail: self._fail,
            NodesUndrain: self._undrain, NodesReboot: self._reboot,
            NodesBooted: self.booted, NodesRebootCancel: self._cancel_reboot,
            NodesMute: self._set_mute,
        }  # fmt: skip

    def _changed(self, state: str, reason: str, names: Sequence[str]) -> None:
        self.refresh()
        self.state.usage.touch_all()
        shown = self.state.cluster.compress(names)
        self.state.events.append((self.state.now, "NODE", None, state, reason, "", shown, None, ""))
        self.state.look_again()

    def refresh(self) -> None:
        """Work out anew which nodes can take jobs."""
        self.state.unusable = self.down | self.drained | self.failing | self.booting | self.mute | self.registering
        self.state.unusable |= self.state.power.going | self.state.power.asked & self.state.table.idle
        self._reservations.set_up()

    def _names(self, mask: Bitmap) -> tuple[str, ...]:
        return tuple(self.state.table.names[i] for i in to_indices(mask).tolist())

    # -- facts ----------------------------------------------------------------------------------------------------

    def set_down(self, fact: NodesDown, *, answering: bool = True) -> None:
        """Nodes are lost: jobs on them go on without them (--no-kill), are requeued, or end with NODE_FAIL.

        With ReturnToService=2 nodes that are still `answering` come back at once.
        """
        mask = self.state.nodes_named(fact.nodes)
        self.down |= mask
        if fact.alone:
            self.drained &= ~mask
            self.failing &= ~mask
        self.silent = self.silent | mask if fact.reason == SILENT else self.silent & ~mask
        self.booting &= ~mask
        self.to_reboot &= ~mask
        self.asap &= ~mask
        self._changed("DOWN", fact.reason, fact.nodes)
        self._reservations.nodes_lost(down=True)
        self.end_jobs(mask)
        if self.return_to_service == 2 and fact.reason != SILENT and answering:
            self.register(NodesRegister(fact.nodes))

    def end_jobs(self, mask: Bitmap) -> None:
        """End the jobs on lost nodes: they go on without them, are requeued, or fail (kill_running_job_by_node_ptr)."""
        lost = [entry[2] for entry in (*self.state.running, *self.state.suspended) if entry[2].nodes & mask]
        for job in sorted(lost, key=attrgetter("order")):  # as the table of jobs has them
            if job.alloc is None or job.id not in self.state.jobs:
                continue  # gone with one of the others
            if job.sub.no_kill and job.nodes & ~mask and job.state == JobState.RUNNING:
                self._runs.keep(job, job.nodes & ~mask)
            elif self._runs.may_requeue(job):
                self._runs.requeue(job, JobState.NODE_FAIL, Reason.NODE_DOWN)
            else:
                self.state.actions.append(Kill(job))
                self._runs.finish(job, JobState.NODE_FAIL, Reason.NODE_DOWN)

    def _set_mute(self, fact: NodesMute) -> None:
        self.mute |= self.state.nodes_named(fact.nodes)
        self.refresh()
        self.state.look_again()
        self.state.timers.set(
            self.state.now + self.ping_s - (self.state.now - self.pinged) % self.ping_s, self.answered
        )

    def ask(self) -> None:
        """Ping all nodes at once, as slurmctld does (ping_nodes_now)."""
        self.pinged = self.state.now
        if self.mute:
            self.state.timers.set(self.pinged + 1, self.answered)

    def answered(self) -> None:
        """Nodes were asked, and those that were mute said something; those that are down are not listened to."""
        self.mute &= self.down
        self.refresh()
        self.state.look_again()

    def _drain(self, fact: NodesDrain) -> None:
        mask = self.state.nodes_named(fact.nodes)
        self.drained |= mask
        self.failing &= ~mask  # a node has one of the two: what was asked for last (update_node)
        self._changed("DRAIN", fact.reason, fact.nodes)
        self._reservations.nodes_lost()

    def _fail(self, fact: NodesFail) -> None:
        mask = self.state.nodes_named(fact.nodes)
        self.failing |= mask
        self.drained &= ~mask
        self._changed("FAILING", fact.reason, fact.nodes)
        self._reservations.nodes_lost()

    def _undrain(self, fact: NodesUndrain) -> None:
        self.ask()
        mask = self.state.nodes_named(fact.nodes)
        if fact.registers:
            self._require_registration(mask)
        self.drained &= ~mask
        self._back(fact.nodes)

    def _resume(self, fact: NodesResume) -> None:
        mask = self.state.nodes_named(fact.nodes)
        if back := mask & (self.down | self.drained):
            self.ask()
            if fact.registers:
                self._require_registration(back)
        self.down &= ~mask
        self.silent &= ~mask
        self.drained &= ~mask
        self.failing &= ~mask
        self.to_reboot &= ~mask
        self.asap &= ~mask
        self._back(fact.nodes)

    def _require_registration(self, mask: Bitmap) -> None:
        """Keep jobs off the nodes of `mask` until they have registered (_require_node_reg).

        The loop's next round asks them, makes its pass, and hears of them; that asks for the pass that may use them.
        A policy that follows events has them at once.
        """
        if not self.state.event_driven:
            self.registering |= mask
            self.registered_at = self.state.now + 1
            self.state.timers.set(self.registered_at, self._no_more)

    def _no_more(self) -> None:
        """Only wake the controller: `registered` follows the pass."""

    def registered(self, now: int) -> None:
        """Give jobs the nodes that were asked to register in a second before `now`."""
        if now >= self.registered_at:
            self.registering = 0
            self.refresh()
            self.state.look_again()

    def register(self, fact: NodesRegister) -> None:
        """Take note that nodes answer again: ReturnToService decides which DOWN nodes come back."""
        self.booted(NodesBooted(fact.nodes))
        mask = self.state.nodes_named(fact.nodes) & self.down
        mask &= (0, self.silent, mask)[self.return_to_service]
        self.silent &= ~self.state.nodes_named(fact.nodes)
        if mask:
            self.down &= ~mask
            self._back(self._names(mask))

    def _back(self, names: Sequence[str]) -> None:
        """Tell of each group of nodes what it is now."""
        mask = self.state.nodes_named(names)
        for state, those in (("DOWN", self.down), ("DRAIN", self.drained), ("FAILING", self.failing)):
            if mask & those:
                self._changed(state, "", self._names(mask & those))
                mask &= ~those
        if mask:
            self._changed("IDLE", "", self._names(mask))
            self._reservations.resumed(mask)

    # -- reboots --------------------------------------------------------------------------------------------------

    def _reboot(self, fact: NodesReboot) -> None:
        """Apply ``scontrol reboot``: each node reboots without a job; with ASAP it takes no new jobs until then."""
        mask = self.state.nodes_named(fact.nodes)
        self.to_reboot |= mask
        if fact.asap:
            self.drained |= mask
            self.asap |= mask
            self._changed("DRAIN", fact.reason or "reboot requested", fact.nodes)
        if fact.forced:
            self.end_jobs(mask)
        self.freed(mask)

    def _cancel_reboot(self, fact: NodesRebootCancel) -> None:
        """Apply ``scontrol cancel_reboot``: nodes that still wait are as before ASAP drained them."""
        mask = self.state.nodes_named(fact.nodes) & self.to_reboot
        self.to_reboot &= ~mask
        drained = mask & self.asap
        self.asap &= ~mask
        self.drained &= ~drained
        if drained:
            self._back(self._names(drained))

    def freed(self, mask: Bitmap) -> None:
        """Jobs left the nodes of `mask`: reboot those that wait for it, now or at the next look."""
        if not mask & self.to_reboot:
            return
        if self.state.rules.reboots_looked_for:
            self.state.timers.set(self.state.now + 1, self.look_for_reboots)
        else:
            self._reboot_idle(mask)

    def look_for_reboots(self) -> None:
        """Reboot all nodes that wait for it and have no job."""
        self._reboot_idle(self.to_reboot)

    def _reboot_idle(self, mask: Bitmap) -> None:
        now = mask & self.to_reboot & self.state.table.idle & ~self.state.holders.suspended_nodes()
        if now:
            self.to_reboot &= ~now
            self.booting |= now
            names = self._names(now)
            self._changed("DRAIN+REBOOT", "reboot issued", names)
            self.state.actions.append(Boot(names))

    def booted(self, fact: NodesBooted) -> None:
        """Nodes are up again."""
        mask = self.state.nodes_named(fact.nodes) & self.booting
        if mask:
            self.booting &= ~mask
            self.drained &= ~(mask & self.asap)
            self.asap &= ~mask
            self._back(self._names(mask))
