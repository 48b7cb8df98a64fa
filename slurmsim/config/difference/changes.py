"""What decides otherwise under another configuration: values with their defaults, not lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from slurmsim.config.difference import words
from slurmsim.config.files import Remembering
from slurmsim.config.findings import Seen
from slurmsim.config.load import examine, load_cluster
from slurmsim.config.option import Status
from slurmsim.config.options import find_scalar
from slurmsim.data_classes import dataclass, fields
from slurmsim.duration import format_duration
from slurmsim.hostlist import compress
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.node import NodeSpec
from slurmsim.model.partition import PartitionSpec

_UNSET = "not set"
_ASIDE = frozenset({"name", "line"})


@dataclass(frozen=True, slots=True)
class Change:
    """One: what it is of, before and after as text, what that does, its page of rules, and where it is said.

    `kind` is ``key``, ``parameter``, ``partition``, ``node`` or ``switches``; `name` the key, or ``batch MaxTime``.
    """

    kind: str
    name: str
    before: str
    after: str
    does: str
    rules: str
    place: str = ""

    @property
    def words(self) -> str:
        """``partition batch MaxTime: not set -> 12:00:00``."""
        kind = "" if self.kind in ("key", "parameter") else f"{self.kind} "
        return f"{kind}{self.name}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class Silent:
    """A key that differs and decides nothing here: why it does not."""

    key: str
    before: str
    after: str
    why: str
    modelled: bool


def compare(old: Path, new: Path, release: str) -> tuple[list[Change], list[Silent]]:
    """Return all that differs, what decides first. Raises ConfigError for a configuration that cannot be read."""
    a, _ = load_cluster(old, release=release)
    files = Remembering(new.parent)
    b, _ = load_cluster(new, release=release, files=files)
    places = _Places(files.texts)
    return _decides(a, b, places), list(_silent(_seen(old, release), _seen(new, release)))


def decides(a: ClusterSpec, b: ClusterSpec) -> list[Change]:
    """Return what decides otherwise in `b`, without the places where it is said."""
    return _decides(a, b, _Places({}))


def _decides(a: ClusterSpec, b: ClusterSpec, places: _Places) -> list[Change]:
    found = [*_keys(a, b, places), *_parameters(a, b, places), *_partitions(a, b), *_nodes(a, b)]
    if a.switches != b.switches:
        found.append(Change("switches", "topology", f"{len(a.switches)} switches", f"{len(b.switches)} switches",
                            "Which nodes lie close together.", words.PLACEMENT))  # fmt: skip
    if a.blocks != b.blocks:
        before, after = (f"{len(one.blocks.blocks)} base blocks" if one.blocks else "no blocks" for one in (a, b))
        found.append(Change("switches", "topology", before, after, "Which nodes lie close together.", words.PLACEMENT))
    known = (a.switches, a.blocks) != (b.switches, b.blocks)
    if (a.rings, a.topologies) != (b.rings, b.topologies) and not known:
        before, after = (", ".join(f"{n.name} ({n.plugin})" for n in one.networks) for one in (a, b))
        why = "Which nodes lie close together."
        found.append(Change("topologies", "topology", before, after, why, words.PLACEMENT))
    if a.hierarchies != b.hierarchies:
        before, after = (", ".join(n.name for n in one.hierarchies) or "none" for one in (a, b))
        found.append(Change("resources", "hierarchical resources", before, after, "Counts that nodes of layers share.",
                            words.LICENSES))  # fmt: skip
    return found


class _Places:
    """Where a key stands in the texts of a configuration."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def of(self, key: str) -> str:
        """``slurm.conf:12``; empty where it is not said."""
        pattern = re.compile(rf"(?:^|[\s,=]){re.escape(key)}\s*(?:=|,|$)", re.IGNORECASE)
        for name, text in self._texts.items():
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line.partition("#")[0]):
                    return f"{name}:{number}"
        return ""


def _keys(a: ClusterSpec, b: ClusterSpec, places: _Places) -> Iterator[Change]:
    for key in sorted({*a.options, *b.options}):
        option = find_scalar(key)
        before, after = a.options.get(key), b.options.get(key)
        if before == after or key == "SchedulerParameters" or option is None or option.status is not Status.HONOURED:
            continue
        does, rules = words.SCALARS[key]
        yield Change("key", key, text(before), text(after), does, rules, places.of(key))
    if a.name != b.name:
        yield Change("key", "ClusterName", a.name, b.name, *words.SCALARS["ClusterName"], places.of("ClusterName"))


def _parameters(a: ClusterSpec, b: ClusterSpec, places: _Places) -> Iterator[Change]:
    old, new = a.scheduler_parameters, b.scheduler_parameters
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key) and key in words.PARAMETERS:
            does, rules = words.PARAMETERS[key]
            before, after = (_UNSET if value is None else value or "set" for value in (old.get(key), new.get(key)))
            yield Change("parameter", key, before, after, does, rules, places.of(key))


def _partitions(a: ClusterSpec, b: ClusterSpec) -> Iterator[Change]:
    old, new = {p.name: p for p in a.partitions}, {p.name: p for p in b.partitions}
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            yield Change("partition", name, "there", "gone", "Jobs that name it are refused.", "")
        elif name not in old:
            does = f"Jobs can be submitted to it; it has {len(new[name].nodes)} nodes."
            yield Change("partition", name, "not there", "new", does, "")
        else:
            for f in fields(PartitionSpec):
                before, after = getattr(old[name], f.name), getattr(new[name], f.name)
                if before != after and f.name not in _ASIDE:
                    values = _value(f.name, before), _value(f.name, after)
                    yield Change("partition", f"{name} {_label(f.name)}", *values, *words.PARTITION[f.name])


def _nodes(a: ClusterSpec, b: ClusterSpec) -> Iterator[Change]:
    """Yield the changes of nodes, one for all nodes with the same change; the CPUs in all are told once."""
    old, new = {n.name: n for n in a.nodes}, {n.name: n for n in b.nodes}
    cpus = f"The cluster has {sum(n.cpus for n in b.nodes):,} CPUs (was {sum(n.cpus for n in a.nodes):,})."
    if gone := [name for name in old if name not in new]:
        yield Change("node", compress(gone), "there", "gone", cpus, words.NODES)
    if came := [name for name in new if name not in old]:
        yield Change("node", compress(came), "not there", "new", cpus, words.NODES)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name in old:
        if name in new:
            for f in fields(NodeSpec):
                before, after = getattr(old[name], f.name), getattr(new[name], f.name)
                if before != after and f.name not in _ASIDE:
                    alike.setdefault((f.name, _value(f.name, before), _value(f.name, after)), []).append(name)
    for (field, before, after), names in alike.items():
        does, rules = words.NODE[field]
        yield Change(
            "node", f"{compress(names)} {_label(field)}", before, after, cpus if field == "cpus" else does, rules
        )


def _label(field: str) -> str:
    """Return an attribute as slurm.conf calls it, but for capitals within words: ``MaxTime``."""
    return "".join(part.capitalize() for part in field.removesuffix("_s").removesuffix("_mib").split("_"))


def _value(field: str, value: Any) -> str:
    if field.endswith("_s") and value is not None:
        return format_duration(int(value))
    if field == "nodes":
        return compress(list(value)) or _UNSET
    if field == "gres":
        return ",".join(f"{g.name}:{g.type}:{g.count}" if g.type else f"{g.name}:{g.count}" for g in value) or "none"
    return text(value)


def text(value: Any) -> str:
    """Return a value as people write it."""
    if value is None or value == "":
        return _UNSET
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={one}" for key, one in value.items()) or "none"
    if isinstance(value, frozenset | set):
        return ",".join(sorted(map(str, value))) or "none"
    if isinstance(value, list | tuple):
        return ",".join("=".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value) or "none"
    return str(value)


def _seen(path: Path, release: str) -> Iterable[Seen]:
    return examine(path, release=release).report.seen


def _silent(old: Iterable[Seen], new: Iterable[Seen]) -> Iterator[Silent]:
    """Keys of lines of their own that differ as they are written, and are not honoured."""
    before = {one.option.name: one for one in old if not one.group}
    after = {one.option.name: one for one in new if not one.group}
    for key in sorted({*before, *after}):
        one = after.get(key) or before[key]
        was, now = (found[key].value if key in found else _UNSET for found in (before, after))
        if one.option.status is not Status.HONOURED and was != now:
            yield Silent(key, was, now, one.option.why, one.option.status is not Status.NOT_MODELLED)
