"""Nodes put together as sinfo prints them: which share a line, and what the line knows of them.

Mirrors ``_build_sinfo_data`` and the sorting of sinfo (22.05). A line is one partition and all its nodes that agree
in what is printed; sizes need to agree only with --exact. With -N every node of every partition is a line.
"""

from __future__ import annotations

from slurmsim.commands.sinfo.columns import COLUMNS
from slurmsim.commands.text import node_state_text
from slurmsim.hostlist import compress, expand, natural_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from slurmsim.commands.text.print_fields import Table


_BY_TEXT = ("state", "statecomplete")  # for these kinds the texts must agree, not what they are made of
_EXACTLY = {"port": "port", "version": "name"}
"""Kinds with --exact alone; of versions slurmctld compares where two texts are, not what they say."""
NODE_FIELDS = frozenset({"name", "state", "state_flags", "alloc_cpus", "cpus", "cpus_efctv"})
"""Node fields the grouping itself looks at."""


class Group:
    """The nodes of one line: rows of the node table, and their partition's row."""

    __slots__ = ("_members", "nodes", "partition")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.nodes: list[int] = []
        self._members: set[int] = set()

    def add(self, node: int) -> None:
        """Take a node in, once: partitions that share a line may share nodes."""
        if node not in self._members:
            self._members.add(node)
            self.nodes.append(node)


def apart_fields(kinds: frozenset[str], exact: bool) -> tuple[list[str], list[str]]:
    """Node fields and partition fields that keep lines apart for these kinds of columns: those they are made of."""
    nodes = [name for kind, name in _EXACTLY.items() if exact and kind in kinds]
    partitions: list[str] = []
    for column in COLUMNS:
        if column.group in kinds and column.group not in _EXACTLY and column.group not in _BY_TEXT:
            for field in column.fields:
                how, _, name = field.partition(":")
                if how == "part":
                    partitions.append(name)
                elif how in ("first", "last", "list") or (exact and how == "low"):
                    nodes.append(name)
    return nodes, partitions


def group_nodes(
    partitions: Table, nodes: Table, rows: Sequence[int], *, kinds: frozenset[str], exact: bool, by_node: bool,
    anywhere: bool, chosen: frozenset[str] | None,
) -> list[Group]:  # fmt: skip
    """Return the lines, in the order in which Slurm makes them.

    Parameters
    ----------
    rows
        Rows of `nodes` that pass the filters.
    kinds
        `Column.group` of what is printed.
    by_node
        One line for every node of every partition (-N).
    anywhere
        The partition does not matter (-R).
    chosen
        Names of the partitions asked for; None for all.
    """
    wanted = [row for row, name in enumerate(partitions["name"]) if chosen is None or name in chosen]
    node_fields, partition_fields = apart_fields(kinds, exact)
    key_of = _node_keys(nodes, rows, node_fields, kinds)
    groups: list[Group] = []
    empty: dict[Any, list[Group]] = {}
    known: dict[Any, Group] = {}
    partition_key = {
        row: () if anywhere else tuple(partitions[field][row] for field in partition_fields) for row in wanted
    }
    if not by_node and "partition" in kinds:  # every partition has a line, even without nodes
        for row in wanted:
            groups.append(Group(row))
            empty.setdefault(partition_key[row], []).append(groups[-1])
    for row in wanted:
        members = set(expand(partitions["nodes"][row] or ""))
        key = partition_key[row]
        for node in rows:
            if nodes["name"][node] not in members:
                continue
            both = (row, node) if by_node else (key, key_of[node])
            group = known.get(both)
            if group is None:
                unused = empty.get(key)
                if unused:
                    group = unused.pop(0)
                else:
                    group = Group(row)
                    groups.append(group)
                known[both] = group
            group.add(node)
    return groups


def _node_keys(nodes: Table, rows: Sequence[int], fields: Sequence[str], kinds: frozenset[str]) -> dict[int, Any]:
    states: list[Callable[[str, Sequence[str]], str]] = []
    if "state" in kinds:
        states.append(node_state_text.long)
    if "statecomplete" in kinds:
        states.append(node_state_text.complete)
    bases, flags = nodes["state"], nodes["state_flags"]
    return {
        row: (*(nodes[field][row] for field in fields), *(of(bases[row], flags[row] or ()) for of in states))
        for row in rows
    }


def passing(
    nodes: Table, count: int, *, names: frozenset[str] | None, silent: bool | None, states: Sequence[str] | None,
    every: bool,
) -> list[int]:  # fmt: skip
    """Rows of the nodes that pass the filters: by name, by whether they answer, by state (all words or any)."""
    rows: list[int] = list(range(count))
    if names is not None:
        rows = [row for row in rows if nodes["name"][row] in names]
    if silent is not None:
        rows = [row for row in rows if ("NOT_RESPONDING" in (nodes["state_flags"][row] or ())) == silent]
    if states is not None:
        judge = all if every else any
        rows = [
            row
            for row in rows
            if judge(
                node_state_text.matches(
                    word, nodes["state"][row], nodes["state_flags"][row] or (), nodes["alloc_cpus"][row] or 0
                )
                for word in states
            )
        ]
    return rows


# ---- what a line knows ----


def group_table(groups: Sequence[Group], fields: Iterable[str], partitions: Table, nodes: Table) -> Table:
    """Return the fields of the columns (``first:features``, ``low:cpus``, …) for every line."""
    counted: dict[str, list[dict[str, int]]] = {}
    table: Table = {}
    for field in fields:
        how, _, name = field.partition(":")
        if how in _COUNTS:
            if how not in counted:
                counted[how] = [_COUNTS[how](group, nodes) for group in groups]
            table[field] = [counts[name] for counts in counted[how]]
        else:
            table[field] = _values(groups, field, partitions, nodes)
    return table


def _values(groups: Sequence[Group], field: str, partitions: Table, nodes: Table) -> list[Any]:
    how, _, name = field.partition(":")
    if how == "part":
        values = partitions[name]
        return [values[group.partition] for group in groups]
    values = nodes[name]
    if how == "list":
        listed = (group.nodes for group in groups)
        return [values[rows[0]] if len(rows) == 1 else compress(values[row] for row in rows) for rows in listed]
    if how in ("low", "high"):
        pick = min if how == "low" else max
        return [_extreme(pick, [values[node] for node in group.nodes]) for group in groups]
    at = 0 if how == "first" else -1
    return [values[group.nodes[at]] if group.nodes else None for group in groups]


def _extreme(pick: Callable[[Iterable[Any]], Any], values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return pick(known) if known else (None if values else 0)


def _unusable(base: str, flags: Sequence[str] | None) -> bool:
    return base == "DOWN" or "DRAIN" in (flags or ())


def _node_counts(group: Group, nodes: Table) -> dict[str, int]:
    counts = {"alloc": 0, "idle": 0, "other": 0, "total": len(group.nodes)}
    for node in group.nodes:
        base, flags = nodes["state"][node], nodes["state_flags"][node]
        if base in ("ALLOCATED", "MIXED") or "COMPLETING" in (flags or ()):
            counts["alloc"] += 1
        else:
            counts["other" if _unusable(base, flags) else "idle"] += 1
    return counts


def _cpu_counts(group: Group, nodes: Table) -> dict[str, int]:
    counts = {"alloc": 0, "idle": 0, "other": 0, "total": 0}
    for node in group.nodes:
        used, total = nodes["alloc_cpus"][node] or 0, nodes["cpus"][node] or 0
        counts["alloc"] += used
        counts["total"] += total
        counts["other" if _unusable(nodes["state"][node], nodes["state_flags"][node]) else "idle"] += total - used
    return counts


_COUNTS = {"n": _node_counts, "cpu": _cpu_counts}


# ---- order ----

_PARTITION_STATES = {"INACTIVE": 0, "DOWN": 1, "DRAIN": 2, "UP": 3}


def _text_key(value: Any) -> Any:
    return value or ""


def _number_key(value: Any) -> Any:
    return value or 0


def _unlimited_key(value: Any) -> Any:
    return 0xFFFFFFFF if value is None else value


_KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a": ("part:state_up", lambda value: _PARTITION_STATES.get(value or "", 0)),
    "A": ("n:alloc", _number_key), "F": ("n:alloc", _number_key), "b": ("first:features_act", _text_key),
    "c": ("low:cpus", _number_key), "d": ("low:tmp_disk", _number_key), "D": ("n:total", _number_key),
    "E": ("first:reason", _text_key), "f": ("first:features", _text_key), "g": ("part:allow_groups", _text_key),
    "h": ("part:max_share", _number_key), "H": ("first:reason_time", _number_key),
    "l": ("part:max_time", _unlimited_key), "m": ("low:real_memory", _number_key),
    "M": ("part:preempt_mode", _text_key), "O": ("low:cpu_load", _number_key), "e": ("low:free_mem", _number_key),
    "p": ("part:priority_tier", _number_key), "r": ("part:root_only", bool),
    "s": ("part:max_nodes", _unlimited_key), "S": ("part:priority_job_factor", _number_key),
    "u": ("first:reason_uid", _unlimited_key), "U": ("first:reason_uid", _unlimited_key),
    "w": ("low:weight", _number_key), "X": ("low:sockets", _number_key), "Y": ("low:cores", _number_key),
    "Z": ("low:threads", _number_key),
}  # fmt: skip
_LISTS = {"N": "list:name", "n": "list:node_hostname", "o": "list:node_addr"}


def sort_letters(text: str) -> list[tuple[str, bool, bool]]:
    """Letters of a -S text in the order they are applied; whether backwards; whether by place in the configuration."""
    return [
        (text[at], text[at - 1 : at] == "-", text[at - 1 : at] == "#")
        for at in range(len(text) - 1, -1, -1)
        if text[at] not in ",#+-"
    ]


def sort_fields(letters: Iterable[tuple[str, bool, bool]]) -> set[str]:
    """Fields of the lines that the sort letters look at."""
    found = set()
    for letter, _, _ in letters:
        if letter in "tT":
            found |= {"first:state", "first:state_flags"}
        elif letter == "z":
            found |= {"low:sockets", "low:cores", "low:threads"}
        elif letter in "PR":
            found.add("part:name")
        elif letter in _KEYS:
            found.add(_KEYS[letter][0])
        elif letter in _LISTS:
            found.add(_LISTS[letter])
    return found


def sort_groups(
    groups: list[Group], table: Table, letters: Iterable[tuple[str, bool, bool]], kinds: frozenset[str]
) -> list[int]:
    """Rows of `table` in the order asked for; letters that mean nothing are passed over."""
    rows = list(range(len(groups)))
    listed: Mapping[str, bool] = {"N": True, "n": "hostnames" in kinds, "o": "node_addr" in kinds}
    for letter, backwards, by_place in letters:
        if letter in listed:
            texts = table[_LISTS[letter]] if listed[letter] else [""] * len(rows)
            rows = _by_first_name(texts, rows, backwards)
            continue
        keys = _keys(groups, table, letter, by_place)
        if keys is not None:
            rows.sort(key=keys.__getitem__, reverse=backwards)
    return rows


def _keys(groups: list[Group], table: Table, letter: str, by_place: bool) -> list[Any] | None:
    if letter in "PR":
        return [group.partition for group in groups] if by_place else [name or "" for name in table["part:name"]]
    if letter in "tT":
        states = zip(table["first:state"], table["first:state_flags"], strict=True)
        return [0 if base is None else node_state_text.number(base, flags or ()) for base, flags in states]
    if letter == "z":
        return list(zip(table["low:sockets"], table["low:cores"], table["low:threads"], strict=True))
    if letter not in _KEYS:
        return None
    field, key = _KEYS[letter]
    return [key(value) for value in table[field]]


def _by_first_name(texts: list[str], rows: list[int], backwards: bool) -> list[int]:
    """In node order; lines without names last and turned round, or first when backwards, as Slurm's comparison does."""
    named = [row for row in rows if texts[row]]
    bare = [row for row in rows if not texts[row]]
    keys = {row: natural_key(expand(texts[row])[0] if "[" in texts[row] else texts[row]) for row in named}
    named.sort(key=keys.__getitem__, reverse=backwards)
    return bare + named if backwards else named + bare[::-1]
