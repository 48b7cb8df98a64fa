"""Node events during a run: read from a file, or failures and repairs drawn from MTBF and MTTR."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from pathlib import Path

import numpy as np

from slurmsim.core.messages import (
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
from slurmsim.errors import ConfigError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.model.cluster import ClusterSpec
from slurmsim.sim.simulation import Timed
from slurmsim.until import parse_until
from slurmsim.workload import Workload

COLUMNS = ("time", "action", "nodes", "until", "reason")
ACTIONS = ("down", "drain", "undrain", "fail", "resume", "register", "reboot", "reboot-asap", "maintenance")
_PLAIN: dict[str, Callable[[tuple[str, ...]], Fact]] = {
    "resume": NodesResume, "undrain": NodesUndrain, "register": NodesRegister,
}  # fmt: skip


def read_node_events(path: Path, cluster: ClusterSpec, workload: Workload) -> list[Timed]:
    """A CSV file with the columns ``time,action,nodes[,until][,reason]``, in any order of times.

    `time` as in ``--until``; `action` one of `ACTIONS`; `nodes` a hostlist of the cluster. A maintenance lasts from
    `time` to `until` and is known to the scheduler from the beginning of the run.

    Raises
    ------
    ConfigError
        The file cannot be read, or a line is wrong; the message names line and field.
    """
    known = {n.name for n in cluster.nodes}
    found: list[Timed] = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            names = tuple(rows.fieldnames or ())
            if set(names) - set(COLUMNS) or not {"time", "action", "nodes"} <= set(names):
                raise ConfigError(f"columns are {', '.join(names) or 'missing'}", file=str(path), line=1,
                                  expected="time,action,nodes[,until][,reason]")  # fmt: skip
            for row in rows:
                found.append(_event(row, rows.line_num, path, known, workload))
    except (OSError, UnicodeDecodeError) as error:
        text = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"cannot be read: {text}", file=str(path), field="--node-events") from None
    return sorted(found, key=lambda timed: timed.time)


def _event(row: dict[str, str], line: int, path: Path, known: set[str], workload: Workload) -> Timed:
    def wrong(field: str, message: str, expected: str) -> ConfigError:
        return ConfigError(message, file=str(path), line=line, field=field, expected=expected)

    try:
        time = parse_until((row["time"] or "").strip(), workload)
    except ConfigError as error:
        raise wrong("time", error.message, error.expected or "a time") from None
    try:
        nodes = tuple(expand((row["nodes"] or "").strip()))
    except HostlistError as error:
        raise wrong("nodes", str(error), "a hostlist") from None
    missing = [n for n in nodes if n not in known]
    if missing or not nodes:
        raise wrong("nodes", f"unknown node {missing[0]!r}" if missing else "no node", "nodes of the cluster")
    action = (row["action"] or "").strip().lower()
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
        try:
            until = parse_until((row.get("until") or "").strip(), workload)
        except ConfigError as error:
            raise wrong("until", error.message, error.expected or "a time") from None
        if until <= time:
            raise wrong("until", f"{until} is not after {time}", "the end of the maintenance")
        return Timed(int(workload.ints["submit"].min()), Maintain(nodes, time, until, reason))
    raise wrong("action", f"{action!r}", ", ".join(ACTIONS))


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
