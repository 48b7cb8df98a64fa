"""Node events during a run: read from a file, or failures and repairs drawn from MTBF and MTTR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from pathlib import Path

import numpy as np

from slurmsim.core.records.messages import (
    Fact,
    Maintain,
    NodesDown,
    NodesDrain,
    NodesFail,
    NodesReboot,
    NodesRegister,
    NodesResume,
    NodesUndrain,
)  # fmt: skip
from slurmsim.csv_rows import Row, columns_are, csv_rows
from slurmsim.errors import ConfigError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.input_file import read_text
from slurmsim.model.cluster import ClusterSpec
from slurmsim.replaying.until import parse_until
from slurmsim.sim.account_changes import AccountCommand
from slurmsim.sim.simulation import Timed
from slurmsim.workload import Workload

COLUMNS = ("time", "action", "nodes", "until", "reason", "command")
ACTIONS = ("down", "drain", "undrain", "fail", "resume", "register", "reboot", "reboot-asap", "maintenance")
SACCTMGR = "sacctmgr"
_PLAIN: dict[str, Callable[[tuple[str, ...]], Fact]] = {
    "resume": NodesResume, "undrain": NodesUndrain, "register": NodesRegister,
}  # fmt: skip


def read_node_events(path: Path, cluster: ClusterSpec, workload: Workload) -> list[Timed]:
    """Return a CSV file with the columns ``time,action,nodes[,until][,reason][,command]``, in any order of times.

    Lines of the action ``sacctmgr`` are left to `read_account_commands`. `time` as in ``--until``; `action` one of
    `ACTIONS`; `nodes` a hostlist of the cluster. A maintenance lasts from `time` to `until` and is known to the
    scheduler from the beginning of the run.

    Raises
    ------
    ConfigError
        The file cannot be read, or a line is wrong; the message names line and field.
    """
    known = {n.name for n in cluster.nodes}
    found = [_event(row, line, path, known, workload) for line, row in _rows(path) if _action(row) != SACCTMGR]
    return sorted(found, key=lambda timed: timed.time)


def read_account_commands(path: Path, workload: Workload) -> list[AccountCommand]:
    """Return the lines of the action ``sacctmgr``: their `command` is given at their `time`. Raises ConfigError."""
    found: list[AccountCommand] = []
    for line, row in _rows(path):
        if _action(row) != SACCTMGR:
            continue
        wrong = partial(_wrong, path, line)
        for column in ("nodes", "until"):
            if beside := (row.get(column) or "").strip():
                raise wrong(column, f"{beside!r} beside a command", "nothing")
        command = (row.get("command") or "").strip()
        if not command:
            raise wrong("command", "there is none", "a sacctmgr command: modify qos normal set MaxJobsPU=4")
        found.append(AccountCommand(_time(row, "time", workload, wrong), command, str(path), line))
    return found


def _rows(path: Path) -> list[tuple[int, Row]]:
    """Rows of the file with their line numbers. Raises ConfigError."""
    try:
        text = read_text(path, newline="")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"cannot be read: {said}", file=str(path), field="--node-events") from None
    names, rows = csv_rows(text, str(path), "--node-events")
    if set(names) - set(COLUMNS) or not {"time", "action", "nodes"} <= set(names):
        raise ConfigError(columns_are(names), file=str(path), line=1,
                          expected="time,action,nodes[,until][,reason][,command]")  # fmt: skip
    return list(rows)


def _action(row: Row) -> str:
    return (row["action"] or "").strip().lower()


def _wrong(path: Path, line: int, field: str, message: str, expected: str) -> ConfigError:
    return ConfigError(message, file=str(path), line=line, field=field, expected=expected)


def _time(row: Row, column: str, workload: Workload, wrong: Callable[[str, str, str], ConfigError]) -> int:
    try:
        return parse_until((row.get(column) or "").strip(), workload)
    except ConfigError as error:
        raise wrong(column, error.message, error.expected or "a time") from None


def _event(row: Row, line: int, path: Path, known: set[str], workload: Workload) -> Timed:
    wrong = partial(_wrong, path, line)
    time = _time(row, "time", workload, wrong)
    if (row.get("command") or "").strip():
        raise wrong("command", "does not go with this action", f"the action {SACCTMGR}")
    try:
        nodes = tuple(expand((row["nodes"] or "").strip()))
    except HostlistError as error:
        raise wrong("nodes", str(error), "a hostlist") from None
    missing = [n for n in nodes if n not in known]
    if missing or not nodes:
        raise wrong("nodes", f"unknown node {missing[0]!r}" if missing else "no node", "nodes of the cluster")
    action = _action(row)
    reason = (row.get("reason") or "").strip()
    if action == "down":
        return Timed(time, NodesDown(nodes, reason or "Not responding"))
    if action == "drain":
        return Timed(time, NodesDrain(nodes, reason))
    if action in _PLAIN:
        return Timed(time, _PLAIN[action](nodes))
    if action == "fail":
        return Timed(time, NodesFail(nodes, reason))
    if action in ("reboot", "reboot-asap"):
        return Timed(time, NodesReboot(nodes, action == "reboot-asap", reason))
    if action == "maintenance":
        until = _time(row, "until", workload, wrong)
        if until <= time:
            raise wrong("until", f"{until} is not after {time}", "the end of the maintenance")
        # announced before the first job, so that jobs which would last into it wait
        return Timed(int(workload.ints["submit"].min()), Maintain(nodes, time, until, reason))
    raise wrong("action", f"{action!r}", ", ".join((*ACTIONS, SACCTMGR)))


def drawn_failures(
    cluster: ClusterSpec, workload: Workload, mtbf_s: int | None, mttr_s: int | None, seed: int
) -> Iterator[Timed]:
    """Failures of single nodes: exponential times to failure and to repair, independent, without an end.

    Parameters
    ----------
    mtbf_s, mttr_s
        Mean time between failures of one node, and to its repair, seconds; both are needed.

    Raises
    ------
    ConfigError
        One of them is missing or not positive.
    """
    for field, value in (("--mtbf", mtbf_s), ("--mttr", mttr_s)):
        if value is None or value < 1:
            raise ConfigError(f"{value}" if value is not None else "missing", field=field,
                              expected="seconds, with --mtbf and --mttr together")  # fmt: skip
    assert mtbf_s is not None and mttr_s is not None
    first = int(workload.ints["submit"].min()) if len(workload) else 0
    return _draw(cluster, first, mtbf_s, mttr_s, seed)


def _draw(cluster: ClusterSpec, first: int, mtbf_s: int, mttr_s: int, seed: int) -> Iterator[Timed]:
    random = np.random.default_rng([seed, 0xFA11])
    heap: list[tuple[int, int, bool]] = []
    for node, delay in enumerate(random.exponential(mtbf_s, len(cluster.nodes)).tolist()):
        heappush(heap, (first + 1 + int(delay), node, True))
    while heap:
        at, node, fails = heappop(heap)
        names = (cluster.nodes[node].name,)
        fact: Fact = NodesDown(names, "Not responding") if fails else NodesResume(names)
        yield Timed(at, fact)
        heappush(heap, (at + 1 + int(random.exponential(mttr_s if fails else mtbf_s)), node, not fails))
