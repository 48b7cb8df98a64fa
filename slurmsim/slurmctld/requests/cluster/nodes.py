"""scontrol's requests about nodes: states and what else may be changed, reboots, new and deleted nodes.

Mirrors update_node (node_mgr.c, 22.05): the reason is set before the state, and cleared when the node afterwards is
neither down, drained nor failing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from slurmsim.config.dynamic_nodes import nodes_of_line
from slurmsim.core.placement.compiled_request import NO_SUCH_TOPOLOGY
from slurmsim.core.records.messages import (
    AlterNodes,
    Fact,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesMute,
    NodesPower,
    NodesReboot,
    NodesRebootCancel,
    NodesResume,
    NodesUndrain,
)
from slurmsim.hostlist import expand
from slurmsim.model.node import Gres
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal
from slurmsim.records.node import NODE
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.fields.node_fields import POWERED_DOWN, SET_DOWN, is_future
from slurmsim.slurmctld.requests.cluster import dynamic_nodes

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
CHANGES = frozenset({"update_node", "create_node", "delete_node", "register_node", "reboot_nodes"})
NODES_STAY = "slurmsim does not move nodes to another unit of a topology"
BAD_USER, BAD_NODE = "Invalid user id", "Invalid node name specified"
DEFAULT_WEIGHT = 1
_OF_INSTANCES = ("instance_id", "instance_type")
BAD_ACTION = "Invalid power action"
_NO_UID = 0xFFFFFFFE
_POWER = ("POWER_UP", "POWER_DOWN", "POWER_DOWN_ASAP", "POWER_DOWN_FORCE", "POWER_UP_FORCE")
_TEXTS = tuple(row.name for row in NODE if row.update and not row.attribute and not row.ruled)


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the requests by name."""
    control = _Nodes(cluster)
    return {
        "update_node": control.update, "create_node": control.create, "delete_node": control.delete,
        "reboot_nodes": control.reboot, "register_node": control.register,
    }  # fmt: skip


def administrators_only(cluster: LiveCluster, person: Person) -> None:
    """Refuse all other users."""
    if not cluster.database.is_administrator(person):
        raise Refusal(BAD_USER)


def operators_only(cluster: LiveCluster, person: Person) -> None:
    """Refuse all other users but administrators."""
    if not cluster.database.is_operator(person):
        raise Refusal(BAD_USER)


class _Nodes:
    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster

    def _names(self, text: str) -> tuple[str, ...]:
        """Nodes of a list, ``ALL`` for every one. Raises Refusal for one there is not."""
        table = self.cluster.controller.state.table
        if text.upper() == "ALL":
            return tuple(name for i, name in enumerate(table.names) if not table.gone >> i & 1)
        try:
            names = tuple(expand(text, MOST_NAMES))
        except ValueError:
            names = ()
        if not names or not all(map(table.has, names)):
            raise Refusal(BAD_NODE)
        return names

    def update(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol update nodename``."""
        administrators_only(self.cluster, person)
        names = self._names(str(arguments.get("names") or ""))
        if arguments.get("topology"):
            known = {one.name for one in self.cluster.spec.networks}
            named = {word.partition(":")[0] for word in str(arguments["topology"]).split(",")}
            raise Refusal(NODES_STAY if named <= known else NO_SUCH_TOPOLOGY)
        hosts = {field: self._hosts(str(arguments[field]), names, one_for_all=field in _OF_INSTANCES)
                 for field in ("node_addr", "node_hostname", *_OF_INSTANCES) if arguments.get(field)}  # fmt: skip
        state = arguments.get("state")
        self._check_action(str(state), arguments.get("power_action"))
        facts, refused = self._states(names, state, arguments.get("reason") or "")
        if not self._active_are_available(arguments, names):
            refused = Refusal("Active features not subset of available features")
            arguments = {**arguments, "features": None, "features_act": None}
        if refused is not None:  # they come last, and only if all went well
            arguments = {key: value for key, value in arguments.items() if key not in ("weight", "gres", "features")}
        alter = self._alter(arguments, names)
        if alter is not None:
            facts.append(alter)
        index = self.cluster.controller.state.table.index
        if state in _POWER:
            self.cluster.power_programs.ask(names, arguments.get("power_action"))
        for name in names:
            self._note(name, arguments, hosts, person)
            if state == "RESUME":
                self.cluster.node_texts[index[name]].pop("resume_after", None)
        before = self.cluster.controller.node_states.down
        self.cluster.network.tell(self.cluster.now, _joined(facts))
        up = self.cluster.controller.state.table.everything & ~before
        idle = self.cluster.controller.state.table.idle & ~self.cluster.controller.state.power.off
        for name in names:
            if state == "RESUME" and idle >> index[name] & 1:
                self.cluster.node_texts[index[name]]["last_busy"] = self.cluster.now
            if not (state == "IDLE" and up >> index[name] & 1):  # clears the flags, not what is told of them
                self._forget_reason(index[name])
        if refused is not None:
            raise refused
        return {}

    def _note(self, name: str, arguments: Arguments, hosts: dict[str, dict[str, str]], person: Person) -> None:
        """Keep what is told of a node and no decision depends on."""
        i = self.cluster.controller.state.table.index[name]
        if arguments.get("reason") is not None:
            self.cluster.node_reasons.note(i, str(arguments["reason"]) or None, self.cluster.now, person.uid)
        kept = self.cluster.node_texts.setdefault(i, {})
        for field in _TEXTS:
            if field in hosts:
                kept[field] = hosts[field][name]
            elif arguments.get(field) is not None:
                kept[field] = arguments[field]
        if arguments.get("features") is not None and arguments.get("features_act") is None:
            kept["features_act"] = arguments["features"]

    @staticmethod
    def _hosts(text: str, names: tuple[str, ...], *, one_for_all: bool) -> dict[str, str]:
        """Return the address, host name or instance of each node. Raises Refusal unless there are as many."""
        try:
            found = expand(text, MOST_NAMES)
        except ValueError:
            found = []
        if one_for_all and len(found) == 1:
            found *= len(names)
        if len(found) != len(names):
            raise Refusal(BAD_NODE)
        return dict(zip(names, found, strict=True))

    def _active_are_available(self, arguments: Arguments, names: tuple[str, ...]) -> bool:
        """Return True if every active feature, asked for or present, is an available one of its node."""
        new, active = arguments.get("features"), arguments.get("features_act")
        if new is None and active is None:
            return True
        table = self.cluster.controller.state.table
        for name in names:
            i = table.index[name]
            present = table.specs[i].features
            on = self.cluster.node_texts.get(i, {}).get("features_act")
            on = ",".join(present) if on is None else on
            able = present if new is None else tuple(str(new).split(","))
            if not {word for word in str(on if active is None else active).split(",") if word} <= set(able):
                return False
        return True

    def _forget_reason(self, i: int) -> None:
        states, bit = self.cluster.controller.node_states, 1 << i
        if not (states.down | states.drained | states.failing) & bit:
            self.cluster.node_reasons.note(i, None, self.cluster.now, 0)

    def _alter(self, arguments: Arguments, names: tuple[str, ...]) -> AlterNodes | None:
        weight, features, gres = arguments.get("weight"), arguments.get("features"), arguments.get("gres")
        if "weight" in arguments and weight is None:
            weight = DEFAULT_WEIGHT
        active = arguments.get("features_act")
        if weight is None and features is None and gres is None and active is None:
            return None
        counts = None if gres is None else _gres(str(gres))
        return AlterNodes(names, weight, _words(features), counts, _words(active))

    def _states(self, names: Sequence[str], state: Any, reason: str) -> tuple[list[Fact], Refusal | None]:
        """Return what a state is to the core; one node's error does not keep the others from what is asked."""
        facts: list[Fact] = []
        refused: Refusal | None = None
        for name in names if state is not None else ():
            try:
                facts += self._state(name, str(state), reason)
            except Refusal as refusal:
                refused = refusal
        return facts, refused

    def _state(self, name: str, state: str, reason: str) -> list[Fact]:
        """Return what a state asked for one node is to the core. Raises Refusal for a transition there is not."""
        only = (name,)
        match state:
            case "DOWN":
                i = self.cluster.controller.state.table.index[name]
                kept = self.cluster.node_texts.setdefault(i, {})
                kept["future"] = None
                if kept.get(POWERED_DOWN):
                    kept[POWERED_DOWN] = SET_DOWN
                return [NodesDown(only, reason)]
            case "DRAIN":
                return [NodesDrain(only, reason)]
            case "FAIL":
                return [NodesFail(only, reason)]
            case "UNDRAIN":
                return [NodesUndrain(only, self._require_registration(name))]
            case "NO_RESPOND":
                return [NodesMute(only)]
            case _ if state in _POWER and self.cluster.controller.power is not None:
                facts: list[Fact] = []
                if state == "POWER_DOWN_ASAP":
                    if not reason:
                        i = self.cluster.controller.state.table.index[name]
                        self.cluster.node_reasons.note(i, state, self.cluster.now, _NO_UID)
                    facts.append(NodesDrain(only, reason or state))
                return [*facts, NodesPower(only, state.startswith("POWER_UP"), state.endswith("_FORCE"))]
        found = self._state_from(name, state)
        if found is not None:
            return found
        if state in _POWER and since(self.cluster.release, "invalid_power_action"):
            raise Refusal(BAD_ACTION)
        transition = since(self.cluster.release, "invalid_transition")
        raise Refusal("Invalid node state transition" if transition else "Invalid node state specified")

    def _state_from(self, name: str, state: str) -> list[Fact] | None:
        """Do the same for states that not every node can go to; None if this one cannot."""
        states, table = self.cluster.controller.node_states, self.cluster.controller.state.table
        i, only = table.index[name], (name,)
        bit = 1 << i
        down, drained, failing = (bool(mask & bit) for mask in (states.down, states.drained, states.failing))
        waits = bool(states.to_reboot & bit)
        future = is_future(self.cluster, i)
        match state:
            case "RESUME" if self.cluster.node_texts.get(i, {}).get(POWERED_DOWN) == SET_DOWN:
                self.cluster.node_texts[i][POWERED_DOWN] = True
                return []
            case "FUTURE" if not future and table.idle & bit:
                self.cluster.node_texts.setdefault(i, {})["future"] = True
                return [NodesDown(only, "", alone=True)]
            case "RESUME" if future:
                self.cluster.node_texts[i]["future"] = None
                return [NodesResume(only), NodesMute(only)]
            case "RESUME" if down or drained or failing or waits or self.cluster.controller.state.power.going & bit:
                return [NodesResume(only, (down or drained) and self._require_registration(name))]
            case "IDLE" if self._is_switched_on(bit):
                return self.cluster.power_programs.registered(only)
            case "IDLE" if not future and (down or table.idle & bit):
                return [NodesResume(only)] if down or drained or failing else []
            case "CANCEL_REBOOT" if waits:
                return [NodesRebootCancel(only)]
        return None

    def _check_action(self, state: str, action: str | None) -> None:
        """Raise Refusal for a PowerAction that there is not, or that cannot do it."""
        kind = "resume" if state.startswith("POWER_UP") else "suspend"
        if action is not None and not (state in _POWER and self.cluster.power_programs.is_valid(kind, action)):
            raise Refusal(BAD_ACTION)

    def _is_switched_on(self, bit: int) -> bool:
        """Return True for a node that boots by ResumeProgram: what switches it on may say so, as its slurmd would."""
        power = self.cluster.controller.power
        return power is not None and bool(power.nodes.coming & bit) and self.cluster.power_programs.runs("resume")

    def _require_registration(self, name: str) -> bool:
        """Note that for the rest of the second nothing is known of the node's slurmd. Return False if it has none."""
        i = self.cluster.controller.state.table.index[name]
        if self.cluster.controller.state.table.specs[i].state == "EXTERNAL":
            return False
        self.cluster.node_texts.setdefault(i, {})["registers"] = self.cluster.now
        return True

    def reboot(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol reboot``."""
        action = arguments.get("power_action")
        if action is None and not self.cluster.conf.scalar("RebootProgram"):  # scontrol sees that before it asks
            raise Refusal("RebootProgram isn't defined")
        administrators_only(self.cluster, person)
        if action is not None and not self.cluster.power_programs.is_valid("reboot", action):
            raise Refusal(BAD_ACTION)
        names = self._names(str(arguments["names"]))
        states, index = self.cluster.controller.node_states, self.cluster.controller.state.table.index
        busy = states.booting
        names = tuple(name for name in names if not busy >> index[name] & 1)
        if not names:
            named = since(self.cluster.release, "nodes_being_rebooted")
            raise Refusal("Requested nodes are already being rebooted" if named else BAD_NODE)
        reason, asap = arguments.get("reason"), bool(arguments.get("asap"))
        for name in names:
            i = index[name]
            if reason:
                self.cluster.node_reasons.note(i, str(reason), self.cluster.now, person.uid)
            elif asap and not self.cluster.node_reasons.of(i)[0]:
                self.cluster.node_reasons.note(i, "Reboot ASAP", self.cluster.now, person.uid)
            self.cluster.node_texts.setdefault(i, {})["next_state"] = arguments.get("next_state")
        self.cluster.power_programs.ask(names, action)
        forced = bool(arguments.get("forced"))
        self.cluster.network.tell(self.cluster.now, [NodesReboot(names, asap, str(reason or ""), forced)])
        return {}

    def create(self, arguments: Arguments, person: Person) -> Arguments:
        """Note what is known of new nodes: the server has put them into the configuration."""
        administrators_only(self.cluster, person)
        lines = nodes_of_line(str(arguments["line"]))
        self._require(one.name for one in lines)
        dynamic_nodes.created(self.cluster, lines)
        return {}

    def register(self, arguments: Arguments, person: Person) -> Arguments:
        """Note that a slurmd has told of its node."""
        administrators_only(self.cluster, person)
        names = [one.name for one in nodes_of_line(str(arguments["line"]))]
        self._require(names)
        dynamic_nodes.registered(self.cluster, names, str(arguments.get("host") or ""))
        return {"gres": arguments.get("gres")}

    def _require(self, names: Iterable[str]) -> None:
        """Raise Refusal unless these nodes are there: an engine alone makes none."""
        if not all(name in self.cluster.controller.state.table.index for name in names):
            raise Refusal(dynamic_nodes.NOT_SUPPORTED)

    def delete(self, arguments: Arguments, person: Person) -> Arguments:
        """Forget what was known of deleted nodes: the server has taken them out of the configuration."""
        administrators_only(self.cluster, person)
        table = self.cluster.controller.state.table
        gone = {name: i for i, name in enumerate(table.names) if table.gone >> i & 1}
        for name in expand(str(arguments["target"]), MOST_NAMES):
            i = gone.get(name)
            if i is None:
                raise Refusal(dynamic_nodes.NOT_SUPPORTED)
            self.cluster.node_texts.pop(i, None)
            self.cluster.node_reasons.note(i, None, self.cluster.now, 0)
        self.cluster.network.tell(self.cluster.now, [])
        return {}


def _joined(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts with one for all nodes that are powered alike: one program is run for them."""
    powered: dict[tuple[bool, bool], list[str]] = {}
    for fact in facts:
        if isinstance(fact, NodesPower):
            powered.setdefault((fact.up, fact.forced), []).extend(fact.nodes)
    other = [fact for fact in facts if not isinstance(fact, NodesPower)]
    return [*other, *(NodesPower(tuple(names), up, forced) for (up, forced), names in powered.items())]


def _words(text: object) -> tuple[str, ...] | None:
    return None if text is None else tuple(filter(None, str(text).split(",")))


def _gres(text: str) -> tuple[Gres, ...]:
    """``gpu:a100:2,nvme:1``. Raises Refusal."""
    found = []
    for item in filter(None, text.split(",")):
        parts = item.partition("(")[0].split(":")
        count = parts.pop() if len(parts) > 1 and is_number(parts[-1]) else "1"
        if not 1 <= len(parts) <= 2:
            raise Refusal("Invalid generic resource (gres) specification")
        found.append(Gres(parts[0], parts[1] if len(parts) > 1 else "", int(count)))
    return tuple(found)
