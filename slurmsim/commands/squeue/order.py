"""In what order squeue prints jobs and steps.

Mirrors the sorting of squeue (22.05): keys are applied last to first with a stable sort; jobs are first put in order
of their start, latest first, which decides ties.
"""

from __future__ import annotations

from slurmsim.commands.squeue.columns import seconds_used
from slurmsim.commands.squeue.rows import take
from slurmsim.commands.text.job_state_text import state_code, state_text
from slurmsim.commands.text.print_fields import each_once
from slurmsim.fast_imports import NamedTuple
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from slurmsim.commands.squeue.columns import Show
    from slurmsim.commands.text.print_fields import Table


_INFINITE, _NOT_SET = 0xFFFFFFFF, 0xFFFFFFFE


class SortError(Exception):
    """A sort letter squeue does not know."""


class _Key(NamedTuple):
    fields: tuple[str, ...]
    key: Callable[..., Any]


def _text(value: str | None) -> str:
    return value or ""


def _number(value: int | None) -> int:
    return value or 0


def _limit(value: int | None) -> int:
    return _INFINITE if value is None else _NOT_SET if value < 0 else value


def _topology(*counts: int | None) -> tuple[int, ...]:
    return tuple(0xFFFE if count is None else count for count in counts)


def _id_key(job: int, array: int | None, task: int | None, het: int | None, offset: int | None) -> tuple[int, int]:
    if het:
        return het, offset or 0
    return (job, _NOT_SET) if task is None else (array or 0, task)


_RUN = ("job_state", "start_time", "end_time", "suspend_time", "pre_sus_time")
_JOB_KEYS: dict[str, _Key] = {
    "B": _Key(("batch_host",), _text),
    "C": _Key(("num_cpus",), _number),
    "d": _Key(("pn_min_tmp_disk",), _number),
    "D": _Key(("num_nodes",), _number),
    "e": _Key(("end_time",), _number),
    "g": _Key(("group_name",), _text),
    "G": _Key(("group_id",), _number),
    "H": _Key(("sockets_per_node",), _topology),
    "i": _Key(("job_id", "array_job_id", "array_task_id", "het_job_id", "het_job_offset"), _id_key),
    "I": _Key(("cores_per_socket",), _topology),
    "j": _Key(("name",), _text),
    "J": _Key(("threads_per_core",), _topology),
    "l": _Key(("time_limit",), _limit),
    "m": _Key(("pn_min_memory",), _number),
    "P": _Key(("partition",), _text),
    "t": _Key(("job_state", "state_flags"), state_code),
    "T": _Key(("job_state", "state_flags"), state_text),
    "u": _Key(("user_name",), _text),
    "U": _Key(("user_id",), _number),
    "v": _Key(("resv_name",), _text),
    "V": _Key(("submit_time",), _number),
    "z": _Key(("sockets_per_node", "cores_per_socket", "threads_per_core"), _topology),
}
_STEP_KEYS: dict[str, _Key] = {
    "i": _Key(("job_id", "step_id"), lambda job, step: (job, step)),
    "P": _Key(("partition",), _text),
    "l": _Key(("time_limit",), _limit),
    "S": _Key(("start_time",), _number),
    "M": _Key(("start_time",), lambda start: -_number(start)),
    "u": _Key(("user_name",), _text),
    "U": _Key(("user_id",), _number),
}
_NO_ORDER = "cfhnO"  # accepted, and without effect
_CLUSTER = "cluster"


def sort_letters(text: str, release: str) -> list[tuple[str, bool]]:
    """Letters of a ``-S`` text in the order they are applied, each with whether it runs backwards."""
    found = []
    if not since(release, "sort_by_group_name"):  # by group name did nothing: both names were looked up into one buffer
        text = text.replace("g", "n")
    at = len(text) - 1
    while at >= 0:
        if text[: at + 1].lower().endswith(_CLUSTER):
            at -= len(_CLUSTER)  # one cluster: nothing to order
            continue
        if text[at] not in ",+-":
            found.append((text[at], text[at - 1 : at] == "-"))
        at -= 1
    return found


def sort_fields(letters: Iterable[tuple[str, bool]], steps: bool = False) -> set[str]:
    """Record fields the sort letters look at."""
    table = _STEP_KEYS if steps else _JOB_KEYS
    needed: set[str] = set()
    for letter, _ in letters:
        if letter in table:
            needed.update(table[letter].fields)
        elif letter == "N":
            needed.add("nodes")
        elif not steps and letter in "pQ":
            needed.add("priority")
        elif not steps and letter in "LM":
            needed.update((*_RUN, "time_limit"))
    return needed


def sort_jobs(table: Table, letters: Iterable[tuple[str, bool]], show: Show) -> list[int]:
    """Return the rows, by number, in the order asked for. Raises SortError at a letter that means nothing."""
    rows = _by_start(table, list(range(len(table["job_id"]))), show.now, True)
    for letter, backwards in letters:
        if letter in _NO_ORDER or letter == "b":
            continue
        if letter == "S":
            rows = _by_start(table, rows, show.now, backwards)
        elif letter == "N":
            rows = _by_first_node(table["nodes"], rows, backwards)
        else:
            keys = _job_keys(table, letter, show)
            rows.sort(key=keys.__getitem__, reverse=backwards)
    return rows


def _job_keys(table: Table, letter: str, show: Show) -> list[Any]:
    if letter in "pQ":
        tiers = table.get("part_prio")
        return list(zip(tiers, table["priority"], strict=True)) if tiers else table["priority"]
    if letter in "LM":
        used = [seconds_used(show, *run) for run in zip(*(table[field] for field in _RUN), strict=True)]
        if letter == "M":
            return used
        return [
            _INFINITE if limit is None or limit < 0 else limit * 60 - ran
            for limit, ran in zip(table["time_limit"], used, strict=True)
        ]
    if letter not in _JOB_KEYS:
        raise SortError(letter)
    return _keys(table, _JOB_KEYS[letter])


def _keys(table: Table, by: _Key) -> list[Any]:
    if len(by.fields) == 1:
        return each_once(lambda values: [by.key(value) for value in values], table[by.fields[0]])
    rows = list(zip(*(table[field] for field in by.fields), strict=True))
    return each_once(lambda rows: [by.key(*row) for row in rows], rows)


def _by_start(table: Table, rows: list[int], now: int, backwards: bool) -> list[int]:
    """Jobs without a start come last, and each such sort turns their order round, as Slurm's comparison does."""
    starts, states = table["start_time"], table["job_state"]
    with_start = [row for row in rows if starts[row]]
    keys = {row: max(starts[row], now) if states[row] == "PENDING" else starts[row] for row in with_start}
    with_start.sort(key=keys.__getitem__, reverse=backwards)
    return with_start + [row for row in reversed(rows) if not starts[row]]


def _by_first_node(nodes: list[str | None], rows: list[int], backwards: bool) -> list[int]:
    """In node order; jobs without nodes last and turned round, or first when backwards."""
    from slurmsim.hostlist import expand, natural_key

    known: dict[str, str] = {}
    for row in rows:
        text = nodes[row]
        if text and text not in known:
            known[text] = natural_key(expand(text)[0])
    placed = [row for row in rows if nodes[row]]
    bare = [row for row in rows if not nodes[row]]
    placed.sort(key=lambda row: known[nodes[row] or ""], reverse=backwards)
    return bare + placed if backwards else placed + bare[::-1]


def sort_steps(table: Table, letters: Iterable[tuple[str, bool]]) -> Table:
    """Return the steps in the order asked for; letters that mean nothing are passed over, as Slurm does."""
    rows = list(range(len(table["job_id"])))
    for letter, backwards in letters:
        if letter == "N":
            rows = _by_first_node(table["nodes"], rows, backwards)
        elif letter in _STEP_KEYS:
            keys = _keys(table, _STEP_KEYS[letter])
            rows.sort(key=keys.__getitem__, reverse=backwards)
    return take(table, rows)
