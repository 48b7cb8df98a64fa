"""Nodes that go down and come back, take no more jobs, or boot slowly, because an injected rule asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slurmsim.core.records.messages import NodesDown, NodesDrain, NodesResume
from slurmsim.errors import ConfigError
from slurmsim.faults.kinds import KINDS, NODES
from slurmsim.faults.rule import NEVER, FaultRule
from slurmsim.hostlist import expand
from slurmsim.slurmctld.base.submit_request import MOST_NAMES

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.processes.job_timers import Timer

_NOT_RESPONDING = "Not responding"


class NodeTroubles:
    """What the rules of nodes do; their instants lie in the cluster's network."""

    def __init__(self, cluster: LiveCluster, rules: Mapping[int, FaultRule]) -> None:
        self._cluster, self._rules = cluster, rules

    def check(self, rule: FaultRule) -> None:
        """Raise ConfigError for nodes there are not."""
        if KINDS[rule.what].of != NODES:
            return
        text = rule.parameters["nodes"]
        try:
            names = expand(text, MOST_NAMES)
        except ValueError:
            names = []
        if not names or not all(map(self._cluster.controller.state.table.has, names)):
            raise ConfigError(f"no such nodes: {text!r}", field="nodes", expected="a list of nodes there are")

    def begin(self, rule: FaultRule) -> None:
        now = self._cluster.now
        if rule.what == "drain":
            names = self._struck(rule)
            self.note_reason(names, rule.parameters["reason"])
            self._cluster.network.tell(now, [NodesDrain(names, rule.parameters["reason"])])
            if rule.until != NEVER:
                self._cluster.network.at(rule.until, self._undrain, rule.id)
        elif rule.what == "flap":
            self._cluster.network.at(now + int(rule.parameters["up"]), self._go_down, rule.id)

    def end(self, rule: FaultRule) -> None:
        """End a rule: its nodes are back."""
        if rule.what in ("drain", "flap") and rule.met:
            self._resume(_names(rule))

    def that_boot(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Return those of these nodes that can boot: a rule may keep the others off."""
        kept: set[str] = set()
        for rule in self._rules.values():
            if rule.what == "no-boot" and rule.lasts(self._cluster.now) and not set(_names(rule)).isdisjoint(nodes):
                rule.strikes()
                kept.update(_names(rule))
        return tuple(name for name in nodes if name not in kept)

    def boot_s(self, nodes: Sequence[str]) -> int:
        """How much longer these nodes take to boot: the slowest of them counts."""
        found = 0
        for rule in self._rules.values():
            if rule.what == "slow-boot" and rule.lasts(self._cluster.now) and not set(_names(rule)).isdisjoint(nodes):
                rule.strikes()
                found = max(found, int(rule.parameters["seconds"]))
        return found

    def note_reason(self, names: Sequence[str], reason: str | None) -> None:
        """Set what ``sinfo -R`` says of nodes; None: nothing any more."""
        cluster = self._cluster
        for name in names:
            cluster.node_reasons.note(cluster.controller.state.table.index[name], reason, cluster.now, cluster.owner)

    def take_down(self, names: tuple[str, ...]) -> None:
        """Nodes stop responding now."""
        self.note_reason(names, _NOT_RESPONDING)
        self._cluster.network.tell(self._cluster.now, [NodesDown(names, _NOT_RESPONDING)])

    def resume_later(self, names: tuple[str, ...], instant: int) -> None:
        """Nodes are back at `instant`."""
        self._cluster.network.at(instant, self._back, names)

    def _struck(self, rule: FaultRule) -> tuple[str, ...]:
        rule.strikes()
        return _names(rule)

    def _go_down(self, timer: Timer) -> None:
        (number,) = timer.value
        rule, now = self._rules.get(number), self._cluster.now
        if rule is None or not rule.lasts(now):
            return
        self.take_down(self._struck(rule))
        self._cluster.network.at(now + int(rule.parameters["down"]), self._come_back, number)

    def _come_back(self, timer: Timer) -> None:
        (number,) = timer.value
        rule, now = self._rules.get(number), self._cluster.now
        if rule is None:
            return  # they came back when it went
        self._resume(_names(rule))
        self._cluster.network.at(now + int(rule.parameters["up"]), self._go_down, number)

    def _undrain(self, timer: Timer) -> None:
        rule = self._rules.get(timer.value[0])
        if rule is not None:
            self._resume(_names(rule))

    def _back(self, timer: Timer) -> None:
        self._resume(timer.value[0])

    def _resume(self, names: tuple[str, ...]) -> None:
        self.note_reason(names, None)
        self._cluster.network.tell(self._cluster.now, [NodesResume(names)])


def _names(rule: FaultRule) -> tuple[str, ...]:
    return tuple(expand(rule.parameters["nodes"], MOST_NAMES))
