"""Changes of a cluster that are asked about: nodes drained, a reservation, other settings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slurmsim.config.load import parse_override
from slurmsim.core.records.messages import CreateReservation
from slurmsim.data_classes import dataclass, replace
from slurmsim.duration import parse_duration
from slurmsim.errors import ConfigError, InputError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.model.reservation import ReservationSpec
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.twin.conf import CONF
from slurmsim.twin.dump import Dump

_RESERVE = "NODES+IN+LENGTH, as n[1-4]+2-00:00:00+08:00:00"


@dataclass(frozen=True, slots=True)
class Changes:
    """What is changed: nodes to drain, reservations (nodes, seconds from now, seconds long), settings of slurm.conf."""

    drain: tuple[str, ...] = ()
    reserve: tuple[tuple[str, int, int], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def any(self) -> bool:
        """True if something is changed."""
        return bool(self.drain or self.reserve or self.settings)


def read_changes(drain: Sequence[str], reserve: Sequence[str], settings: Sequence[str]) -> Changes:
    """Return the changes that options name. Raises ConfigError."""
    return Changes(tuple(drain), tuple(map(_reservation, reserve)), tuple(map(parse_override, settings)))


def _reservation(text: str) -> tuple[str, int, int]:
    nodes, _, times = text.partition("+")
    first, _, length = times.partition("+")
    try:
        begins, lasts = parse_duration(first), parse_duration(length)
    except InputError as error:
        raise ConfigError(f"{text!r}: {error.message}", field="--reserve", expected=_RESERVE) from None
    if not nodes or begins is None or not lasts:
        raise ConfigError(f"{text!r}", field="--reserve", expected=_RESERVE)
    return nodes, begins, lasts


def settled(dump: Dump, texts: dict[str, str], changes: Changes) -> Dump:
    """Return the dump with the settings in its slurm.conf; `texts` are the files it had. Raises ConfigError."""
    conf = texts[CONF]
    for key, value in changes.settings:
        conf = _with_partition(conf, value) if key.lower() == "partitionname" else _with_scalar(conf, key, value)
    kept = {name: text for name, text in texts.items() if not name.startswith("accounting-")}
    return replace(dump, texts={**dump.texts, **kept, CONF: conf})


def _with_scalar(conf: str, key: str, value: str) -> str:
    lines = [line for line in conf.splitlines() if line.partition("=")[0].strip().lower() != key.lower()]
    return "\n".join([f"{key}={value}", *lines]) + "\n"


def _with_partition(conf: str, text: str) -> str:
    """Return `conf` with ``debug:MaxTime=12:00:00`` on the line of that partition."""
    name, _, pair = text.partition(":")
    key, equals, value = pair.partition("=")
    lines = conf.splitlines()
    at = [k for k, line in enumerate(lines) if re.match(rf"PartitionName={re.escape(name)}(\s|$)", line, re.IGNORECASE)]
    if not at or not equals or not key:
        raise ConfigError(f"{text!r}", field="--set PartitionName", expected="a partition of the cluster and Key=Value")
    words = [word for word in lines[at[0]].split() if word.partition("=")[0].lower() != key.lower()]
    lines[at[0]] = " ".join([*words, f"{key}={value}"])
    return "\n".join(lines) + "\n"


def carry_out(engine: Engine, changes: Changes) -> None:
    """Drain nodes and make reservations, as an administrator would. Raises ConfigError with Slurm's text."""
    owner, network = engine.people.by_uid(engine.owner), engine.network
    for nodes in changes.drain:
        try:
            asked = {"names": nodes, "state": "DRAIN", "reason": "what if"}
            engine.execute(engine.now, "update_node", asked, owner)
        except Refusal as refusal:
            raise ConfigError(f"{nodes!r}: {refusal.text}", field="--drain", expected="nodes of the cluster") from None
    for number, (nodes, begins, lasts) in enumerate(changes.reserve):
        start = engine.now + begins
        spec = ReservationSpec(
            f"whatif{number}", start, start + lasts, _nodes(engine, nodes), users=(owner.name,),
            flags=frozenset({"SPEC_NODES", "IGNORE_JOBS"}),
        )  # fmt: skip
        already = len(network.refused_reservations)
        network.tell(engine.now, [CreateReservation(spec)])
        for _, text in network.refused_reservations[already:]:
            raise ConfigError(text, field="--reserve", expected="nodes that no reservation has then")


def _nodes(engine: Engine, text: str) -> tuple[str, ...]:
    known = engine.controller.state.table.index
    try:
        names = tuple(expand(text, MOST_NAMES))
    except HostlistError:
        names = ()
    if not names or any(name not in known for name in names):
        raise ConfigError(f"{text!r}", field="--reserve", expected="nodes of the cluster")
    return names
