"""What happens to nodes: down, drained, failing, rebooting, back; and to the jobs on them.

Mirrors update_node and kill_running_job_by_node_name (22.05). A node may be down and drained at once: RESUME clears
everything, UNDRAIN the drain alone. What nodes are usable is the union of these states, kept in
``controller.unusable``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap, to_indices
from slurmsim.core.messages import (
    Boot,
    Kill,
    NodesBooted,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesMute,
    NodesPower,
    NodesReboot,
    NodesRebootCancel,
    NodesRegister,
    NodesResume,
    NodesUndrain,
)  # fmt: skip
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.controller import Controller

SILENT = "Not responding"
PING_S = 100  # between two rounds of pings where SlurmdTimeout=0; else a third of that


class NodeStates:
    """The states facts give nodes.

    Attributes
    ----------
    down, silent
        Nodes DOWN; those of them that stopped answering, not set DOWN by somebody.
    mute
        Nodes that are said not to answer: they take no jobs until they are asked the next time.
    pinged
        When nodes were asked last out of turn; rounds of pings are counted from there.
    drained, failing, booting
        Nodes with DRAIN, with FAIL, and with a reboot issued.
    to_reboot
        Nodes that will be rebooted as soon as no job is on them.
    asap
        Those of them and of `booting` whose DRAIN the reboot ends, whoever set it.
    """

    def __init__(self, controller: Controller) -> None:
        self.c = controller
        self.down: Bitmap = controller.unusable
        self.silent: Bitmap = 0
        self.mute: Bitmap = 0
        self.pinged = controller.start_time + 1
        self.ping_s = int(controller.cluster.options.get("SlurmdTimeout", 300)) // 3 or PING_S
        self.drained: Bitmap = 0
        self.failing: Bitmap = 0
        self.booting: Bitmap = 0
        self.to_reboot: Bitmap = 0
        self.asap: Bitmap = 0
        self.return_to_service = int(controller.cluster.option("ReturnToService"))

    def handlers(self) -> dict[type, Callable[[Any], None]]:
        """Fact -> method, for the controller's table."""
        return {
            NodesDown: self.set_down, NodesDrain: self._drain, NodesResume: self._resume, NodesFail: self._fail,
            NodesUndrain: self._undrain, NodesRegister: self._register, NodesReboot: self._reboot,
            NodesBooted: self._booted, NodesPower: self._power, NodesRebootCancel: self._cancel_reboot,
            NodesMute: self._set_mute,
        }  # fmt: skip

    def _changed(self, state: str, reason: str, names: Sequence[str]) -> None:
        self.refresh()
        self.c._node_event(state, reason, names)

    def refresh(self) -> None:
        """Work out anew which nodes can take jobs."""
        c = self.c
        c.unusable = self.down | self.drained | self.failing | self.booting | self.mute
        if c.power is not None:
            c.unusable |= c.power.going
        c._set_up()

    def _names(self, mask: Bitmap) -> tuple[str, ...]:
        return tuple(self.c.table.names[i] for i in to_indices(mask).tolist())

    # -- facts ----------------------------------------------------------------------------------------------------

    def set_down(self, fact: NodesDown, *, answering: bool = True) -> None:
        """Nodes are lost: jobs on them go on without them (--no-kill), are requeued, or end with NODE_FAIL.

        With ReturnToService=2 nodes that are still `answering` come back at once.
        """
        c = self.c
        mask = c._mask(fact.nodes)
        self.down |= mask
        self.silent = self.silent | mask if fact.reason == SILENT else self.silent & ~mask
        self.booting &= ~mask
        self.to_reboot &= ~mask
        self.asap &= ~mask
        self._changed("DOWN", fact.reason, fact.nodes)
        c.reservations.nodes_lost()
        for job in [entry[2] for entry in (*c.running, *c.suspension.jobs) if entry[2].nodes & mask]:
            if job.alloc is None or job.id not in c.jobs:
                continue  # gone with one of the others
            if job.sub.no_kill and job.nodes & ~mask and job.state == JobState.RUNNING:
                c.resizes.keep(job, job.nodes & ~mask)
            elif c.requeues.wanted(job):
                c.requeue(job, JobState.NODE_FAIL, Reason.NODE_DOWN)
            else:
                c.actions.append(Kill(job))
                c.finish(job, JobState.NODE_FAIL, Reason.NODE_DOWN)
        if self.return_to_service == 2 and fact.reason != SILENT and answering:
            self._register(NodesRegister(fact.nodes))

    def _set_mute(self, fact: NodesMute) -> None:
        c = self.c
        self.mute |= c._mask(fact.nodes)
        self.refresh()
        c._edited()
        c.alarms.set(c.now + self.ping_s - (c.now - self.pinged) % self.ping_s, self.answered)

    def ask(self) -> None:
        """slurmctld asks all nodes at once whether they are there (ping_nodes_now)."""
        self.pinged = self.c.now
        if self.mute:
            self.c.alarms.set(self.pinged + 1, self.answered)

    def answered(self) -> None:
        """Nodes were asked, and those that were mute said something."""
        self.mute = 0
        self.refresh()
        self.c._edited()

    def _drain(self, fact: NodesDrain) -> None:
        mask = self.c._mask(fact.nodes)
        self.drained |= mask
        self.failing &= ~mask  # a node has one of the two: what was asked for last (update_node)
        self._changed("DRAIN", fact.reason, fact.nodes)
        self.c.reservations.nodes_lost()

    def _fail(self, fact: NodesFail) -> None:
        mask = self.c._mask(fact.nodes)
        self.failing |= mask
        self.drained &= ~mask
        self._changed("FAILING", fact.reason, fact.nodes)
        self.c.reservations.nodes_lost()

    def _undrain(self, fact: NodesUndrain) -> None:
        self.ask()
        self.drained &= ~self.c._mask(fact.nodes)
        self._back(fact.nodes)

    def _resume(self, fact: NodesResume) -> None:
        mask = self.c._mask(fact.nodes)
        if mask & (self.down | self.drained):
            self.ask()
        self.down &= ~mask
        self.silent &= ~mask
        self.drained &= ~mask
        self.failing &= ~mask
        self.to_reboot &= ~mask
        self.asap &= ~mask
        self._back(fact.nodes)

    def _register(self, fact: NodesRegister) -> None:
        """A node answers again: ReturnToService says which of those that are DOWN come back by that."""
        mask = self.c._mask(fact.nodes) & self.down
        mask &= (0, self.silent, mask)[self.return_to_service]
        self.silent &= ~self.c._mask(fact.nodes)
        if mask:
            self.down &= ~mask
            self._back(self._names(mask))

    def _back(self, names: Sequence[str]) -> None:
        """Tell of each group of nodes what it is now."""
        mask = self.c._mask(names)
        for state, those in (("DOWN", self.down), ("DRAIN", self.drained), ("FAILING", self.failing)):
            if mask & those:
                self._changed(state, "", self._names(mask & those))
                mask &= ~those
        if mask:
            self._changed("IDLE", "", self._names(mask))
            self.c.reservations.resumed(mask)

    # -- reboots --------------------------------------------------------------------------------------------------

    def _reboot(self, fact: NodesReboot) -> None:
        """scontrol reboot: each node when no job is on it; with ASAP it takes no new jobs until then."""
        mask = self.c._mask(fact.nodes)
        self.to_reboot |= mask
        if fact.asap:
            self.drained |= mask
            self.asap |= mask
            self._changed("DRAIN", fact.reason or "reboot requested", fact.nodes)
        self.freed(mask)

    def _cancel_reboot(self, fact: NodesRebootCancel) -> None:
        """scontrol cancel_reboot: those that still wait are what they were before ASAP drained them."""
        mask = self.c._mask(fact.nodes) & self.to_reboot
        self.to_reboot &= ~mask
        drained = mask & self.asap
        self.asap &= ~mask
        self.drained &= ~drained
        if drained:
            self._back(self._names(drained))

    def freed(self, mask: Bitmap) -> None:
        """Jobs left the nodes of `mask`: reboot those that wait for it."""
        now = mask & self.to_reboot & self.c.table.idle & ~self.c.suspension.nodes
        if now:
            self.to_reboot &= ~now
            self.booting |= now
            names = self._names(now)
            self._changed("DRAIN+REBOOT", "reboot issued", names)
            self.c.actions.append(Boot(names))

    def _booted(self, fact: NodesBooted) -> None:
        mask = self.c._mask(fact.nodes)
        if self.c.power is not None:
            self.c.power.booted(mask)
        mask &= self.booting
        if mask:
            self.booting &= ~mask
            self.drained &= ~(mask & self.asap)
            self.asap &= ~mask
            self._back(self._names(mask))

    def _power(self, fact: NodesPower) -> None:
        if self.c.power is not None:
            self.c.power.on_request(fact)
