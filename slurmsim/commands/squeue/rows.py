"""Which jobs and steps squeue prints.

Mirrors the filters of squeue (22.05) and how it joins pending tasks of an array or takes them apart.
"""

from __future__ import annotations

from slurmsim.commands.text import array_text
from slurmsim.commands.text.job_state_text import FLAGS
from slurmsim.fast_imports import NamedTuple
from slurmsim.protocol import alike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from slurmsim.commands.text.print_fields import Table


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
    """Return the chosen rows, in that order, as a table of its own."""
    chosen = list(rows)
    return {field: _taken(values, chosen) for field, values in table.items()}


def _taken(values: list[Any], chosen: list[int]) -> list[Any]:
    if len(chosen) <= len(values) and alike(values):
        return values[: len(chosen)]
    return list(map(values.__getitem__, chosen))


def choose_jobs(table: Table, count: int, wanted: Wanted) -> Table:
    """Return the jobs that pass the filters; an array asked for by task keeps only those tasks."""
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
    for field, passes in _tests(wanted):
        values = table[field]
        rows = [row for row in rows if passes(values[row])]
    chosen = table if len(rows) == count else take(table, rows)
    if partial:
        for at, row in enumerate(rows):
            if row in partial:
                _keep_tasks(chosen, at, partial[row])
    return chosen


def _tests(wanted: Wanted) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """Yield filters that look at one field: its name, and what its value has to pass."""
    users, not_user, partitions = wanted.users, wanted.not_user, wanted.partitions
    if wanted.nodes is not None:
        yield "nodes", _NodeTest(wanted.nodes)
    if users is not None:
        yield "user_id", users.__contains__
    if not_user is not None:
        yield "user_id", lambda uid: bool(uid != not_user)
    if wanted.reservation is not None:
        yield "resv_name", lambda name: bool(name == wanted.reservation)
    if partitions is not None:
        yield "partition", lambda names: _in_partitions(names, partitions)


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
    """Return the rows in `states`: a flag matches wherever it is set, a base state only where no flag is."""
    bases, flags = table["job_state"], table["state_flags"]
    if states is None:
        if _LIVE.issuperset(bases):
            return rows
        return [
            row
            for row in rows
            if bases[row] in _LIVE or (flags[row] and ("COMPLETING" in flags[row] or "STAGE_OUT" in flags[row]))
        ]
    asked_flags = {"REQUEUE" if name == "REQUEUED" else name for name in states if name in FLAGS} | {
        name for name in states if name in FLAGS
    }
    # UPDATE_DB is cleared before states are compared (_filter_job)
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
    """A test if a node list shares a node with the wanted ones; equal lists are tested once."""

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
    rows: list[int] = []
    tasks: list[int | None] = []
    for row, text in enumerate(table["array_task_str"]):
        own: list[int | None] = [*array_text.tasks_printed(text)] if text else [table["array_task_id"][row]]
        rows.extend([row] * len(own))
        tasks.extend(own)
    split = take(table, rows)
    split["array_task_id"], split["array_task_str"] = tasks, [None] * len(rows)
    return split


def choose_steps(table: Table, count: int, wanted: Wanted) -> Table:
    """Return the steps that pass the filters."""
    # a step with an srun that waits for room has a record as well, which squeue never prints (_filter_step)
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
    return bool(asked.task == table["array_task_id"][row] and asked.job == array)
