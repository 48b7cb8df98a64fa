"""Which jobs and steps squeue prints, and in what order.

Mirrors the filters, the joining of pending array tasks and the sorting of squeue (22.05). Sort keys are applied last
to first with a stable sort; jobs are first put in order of their start, latest first, which decides ties.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from slurmsim.commands import array_text
from slurmsim.commands.job_columns import Show, seconds_used
from slurmsim.commands.job_state_text import FLAGS, state_code, state_text
from slurmsim.commands.print_fields import Table

_INFINITE, _NOT_SET = 0xFFFFFFFF, 0xFFFFFFFE
_LIVE = frozenset({"PENDING", "RUNNING", "SUSPENDED"})

ALWAYS = frozenset({
    "job_id", "array_job_id", "array_task_id", "array_task_str", "job_state", "state_flags", "name", "partition",
    "start_time", "state_reason", "state_desc",
})  # fmt: skip
"""Fields that choosing and joining need whatever is printed."""


class JobId(NamedTuple):
    """A job, array or task asked for; `step` for ``-s``."""

    job: int
    task: int | None = None
    step: int | None = None


class Wanted(NamedTuple):
    """The filters; None is no filter, an empty one lets nothing through."""

    ids: tuple[JobId, ...] | None = None
    steps: tuple[JobId, ...] | None = None
    users: frozenset[int] | None = None
    not_user: int | None = None
    states: frozenset[str] | None = None
    all_states: bool = False
    partitions: frozenset[str] | None = None
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    names: frozenset[str] | None = None
    licenses: frozenset[str] | None = None
    reservation: str | None = None
    nodes: frozenset[str] | None = None

    def fields(self) -> set[str]:
        """Record fields these filters look at."""
        needed = {
            "het_job_id": self.ids, "user_id": self.users, "account": self.accounts, "qos": self.qos,
            "licenses": self.licenses, "resv_name": self.reservation, "nodes": self.nodes,
        }  # fmt: skip
        found = {field for field, filter_ in needed.items() if filter_ is not None}
        return found | ({"user_id"} if self.not_user is not None else set())


def take(table: Table, rows: Iterable[int]) -> Table:
    """The chosen rows, in that order, as a table of its own."""
    chosen = list(rows)
    return {field: [values[row] for row in chosen] for field, values in table.items()}


def choose_jobs(table: Table, count: int, wanted: Wanted) -> Table:
    """The jobs that pass the filters; an array asked for by task keeps only those tasks."""
    rows: list[int] = list(range(count))
    partial: dict[int, list[int]] = {}
    if wanted.ids is not None:
        rows = [row for row in rows if _by_id(table, row, wanted.ids, partial)]
    for field, allowed in (("account", wanted.accounts), ("qos", wanted.qos), ("name", wanted.names)):
        if allowed is not None:
            values = table[field]
            rows = [row for row in rows if (values[row] or "").lower() in allowed and values[row] is not None]
    if wanted.licenses is not None:
        rows = [row for row in rows if _license_names(table["licenses"][row]) & wanted.licenses]
    if not wanted.all_states:
        rows = _by_state(table, rows, wanted.states)
    if wanted.nodes is not None:
        on_nodes = _NodeTest(wanted.nodes)
        rows = [row for row in rows if on_nodes(table["nodes"][row])]
    if wanted.users is not None:
        rows = [row for row in rows if table["user_id"][row] in wanted.users]
    if wanted.not_user is not None:
        rows = [row for row in rows if table["user_id"][row] != wanted.not_user]
    if wanted.reservation is not None:
        rows = [row for row in rows if table["resv_name"][row] == wanted.reservation]
    if wanted.partitions is not None:
        rows = [row for row in rows if _in_partitions(table["partition"][row], wanted.partitions)]
    chosen = take(table, rows)
    for at, row in enumerate(rows):
        if row in partial:
            _keep_tasks(chosen, at, partial[row])
    return chosen


def _by_id(table: Table, row: int, ids: Iterable[JobId], partial: dict[int, list[int]]) -> bool:
    job, array, task = table["job_id"][row], table["array_job_id"][row], table["array_task_id"][row]
    for asked in ids:
        if asked.task is None:
            if asked.job in (array, job):
                return True
        elif asked.job == array:
            if asked.task == task:
                return True
            text = table["array_task_str"][row]
            if text and asked.task in (tasks := array_text.tasks_of(text)):
                also = {other.task for other in ids if other.job == array}
                partial[row] = [one for one in tasks if one in also]
                return True
        if asked.job == table["het_job_id"][row]:
            return True
    return False


def _keep_tasks(table: Table, at: int, tasks: list[int]) -> None:
    if len(tasks) == 1:
        table["array_task_id"][at], table["array_task_str"][at] = tasks[0], None
    else:
        table["array_task_str"][at] = array_text.ranges(tasks)


def _by_state(table: Table, rows: list[int], states: Collection[str] | None) -> list[int]:
    """A flag matches wherever it is set, a base state only where no flag is."""
    bases, flags = table["job_state"], table["state_flags"]
    if states is None:
        return [
            row
            for row in rows
            if bases[row] in _LIVE or (flags[row] and ("COMPLETING" in flags[row] or "STAGE_OUT" in flags[row]))
        ]
    asked_flags = {"REQUEUE" if name == "REQUEUED" else name for name in states if name in FLAGS} | {
        name for name in states if name in FLAGS
    }
    return [
        row
        for row in rows
        if (not asked_flags.isdisjoint(flags[row]) or (bases[row] in states and not set(flags[row]) - {"UPDATE_DB"})
            if flags[row] else bases[row] in states)
    ]  # fmt: skip


def _license_names(text: str | None) -> set[str]:
    return {item.partition(":")[0] for item in (text or "").split(",") if item}


def _in_partitions(text: str | None, wanted: Collection[str]) -> bool:
    return text in wanted or any(name in wanted for name in (text or "").split(","))


class _NodeTest:
    """Whether a node list shares a node with the wanted ones; equal lists are tested once."""

    def __init__(self, wanted: frozenset[str]) -> None:
        from slurmsim.hostlist import expand

        self._wanted, self._expand = wanted, expand
        self._known: dict[str | None, bool] = {None: False, "": False}

    def __call__(self, nodes: str | None) -> bool:
        known = self._known.get(nodes)
        if known is None:
            known = self._known[nodes] = not self._wanted.isdisjoint(self._expand(nodes or ""))
        return known


def join_pending_tasks(table: Table, length: int) -> Table:
    """Pending tasks that were split off their array go back into its line, their reasons beside its own."""
    tasks_of_array: dict[tuple[int, str, str], int] = {}
    for row, text in enumerate(table["array_task_str"]):
        if text and table["job_state"][row] == "PENDING":
            tasks_of_array[table["array_job_id"][row], table["name"][row], table["partition"][row]] = row
    if not tasks_of_array:
        return table
    joined: dict[int, list[int]] = {}
    gone = set()
    for row, task in enumerate(table["array_task_id"]):
        if task is None or table["array_task_str"][row] or table["job_state"][row] != "PENDING":
            continue
        into = tasks_of_array.get((table["array_job_id"][row], table["name"][row], table["partition"][row]))
        if into is not None:
            joined.setdefault(into, []).append(task)
            gone.add(row)
            _join_reason(table, into, row)
    for row, tasks in joined.items():
        everything = sorted({*array_text.tasks_of(table["array_task_str"][row]), *tasks})
        table["array_task_str"][row] = array_text.ranges(everything, length)
    return take(table, (row for row in range(len(table["job_id"])) if row not in gone)) if gone else table


def _join_reason(table: Table, into: int, row: int) -> None:
    reason = table["state_reason"][row]
    if reason == table["state_reason"][into]:
        return
    text = table["state_desc"][into] or table["state_reason"][into]
    table["state_desc"][into] = text if reason in text else f"{text},{reason}"


def by_partition(table: Table, tiers: Mapping[str, int], wanted: Collection[str] | None) -> Table:
    """One row for each partition a job may run in (--priority), with that partition's tier as ``part_prio``."""
    rows, names = [], []
    for row, text in enumerate(table["partition"]):
        for name in (text or "").split(","):
            if name and (wanted is None or name in wanted):
                rows.append(row)
                names.append(name)
    split = take(table, rows)
    split["partition"] = names
    split["part_prio"] = [tiers.get(name, 1) for name in names]
    return split


def one_row_a_task(table: Table) -> Table:
    """Every pending task of an array in a row of its own (--array)."""
    rows, tasks = [], []
    for row, text in enumerate(table["array_task_str"]):
        own = array_text.tasks_of(text) if text else [table["array_task_id"][row]]
        rows.extend([row] * len(own))
        tasks.extend(own)
    split = take(table, rows)
    split["array_task_id"], split["array_task_str"] = tasks, [None] * len(rows)
    return split


# ---- order ----


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


def sort_letters(text: str) -> list[tuple[str, bool]]:
    """Letters of a ``-S`` text in the order they are applied, each with whether it runs backwards."""
    found = []
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


def sort_jobs(table: Table, letters: Iterable[tuple[str, bool]], show: Show) -> Table:
    """The rows in the order asked for. Raises SortError at a letter that means nothing."""
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
    return take(table, rows)


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
        return list(map(by.key, table[by.fields[0]]))
    return [by.key(*row) for row in zip(*(table[field] for field in by.fields), strict=True)]


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


# ---- steps ----


def choose_steps(table: Table, count: int, wanted: Wanted) -> Table:
    """The steps that pass the filters."""
    rows = [row for row in range(count) if table["state"][row] != "PENDING"]
    if wanted.ids is not None:
        rows = [row for row in rows if any(_is_of(table, row, asked) for asked in wanted.ids)]
    if wanted.partitions is not None:
        rows = [row for row in rows if table["partition"][row] in wanted.partitions]
    if wanted.steps is not None:
        rows = [
            row
            for row in rows
            if any(asked.step == table["step_id"][row] and _is_of(table, row, asked) for asked in wanted.steps)
        ]
    if wanted.nodes is not None:
        on_nodes = _NodeTest(wanted.nodes)
        rows = [row for row in rows if on_nodes(table["nodes"][row])]
    if wanted.users is not None:
        rows = [row for row in rows if table["user_id"][row] in wanted.users]
    return take(table, rows)


def _is_of(table: Table, row: int, asked: JobId) -> bool:
    array = table["array_job_id"][row]
    if asked.task is None:
        return asked.job in (array, table["job_id"][row])
    return asked.task == table["array_task_id"][row] and asked.job == array


def sort_steps(table: Table, letters: Iterable[tuple[str, bool]]) -> Table:
    """The steps in the order asked for; letters that mean nothing are passed over, as Slurm does."""
    rows = list(range(len(table["job_id"])))
    for letter, backwards in letters:
        if letter == "N":
            rows = _by_first_node(table["nodes"], rows, backwards)
        elif letter in _STEP_KEYS:
            keys = _keys(table, _STEP_KEYS[letter])
            rows.sort(key=keys.__getitem__, reverse=backwards)
    return take(table, rows)
