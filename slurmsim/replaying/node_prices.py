"""What nodes cost by the hour (``--prices FILE``), and what a run paid for them, also while no job ran there.

A TOML file has two tables, each optional: ``nodes`` (hostlist = money an hour) and ``features`` (feature = money an
hour). The price of a node is the first that names it, tables and lines in the order of the file; nodes without a price
cost nothing. A node is paid for from the first event of the run to the last, but not while it is powered down.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.errors import ConfigError
from slurmsim.hostlist import expand
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.power_saving import saves_power
from slurmsim.toml_file import read_toml
from slurmsim.trace.reader import Trace

FIELD = "--prices"
MOST = 1e6
HOUR_S = 3600.0
LISTS = 4096  # node lists that are remembered
IntArray = npt.NDArray[np.int64]


def read_prices(path: Path, cluster: ClusterSpec) -> npt.NDArray[np.float64]:
    """Return the price of an hour of each node, in the cluster's order. Raises ConfigError with file and key."""
    facts = read_toml(str(path), "tables nodes or features with money an hour")
    for key in facts:
        if key not in ("nodes", "features"):
            raise ConfigError("unknown table", file=str(path), field=key[:40], expected="nodes, features")
    index = {node.name: i for i, node in enumerate(cluster.nodes)}
    by_feature: dict[str, list[int]] = {}
    for i, node in enumerate(cluster.nodes):
        for feature in node.features:
            by_feature.setdefault(feature, []).append(i)
    found = np.full(len(index), np.nan)
    for table, rows in facts.items():
        if not isinstance(rows, Mapping):
            raise ConfigError("no table", file=str(path), field=table, expected="name = money an hour")
        for name, value in rows.items():
            price = _price(value, name, path)
            at = _named(name, index, path) if table == "nodes" else by_feature.get(name, [])
            if not at:
                raise ConfigError("no node has it", file=str(path), field=name[:80], expected="a feature of a node")
            at = [i for i in at if np.isnan(found[i])]
            found[at] = price
    if not len(facts) or np.isnan(found).all():
        raise ConfigError("has no price", file=str(path), field=FIELD, expected="a table nodes or features")
    found[np.isnan(found)] = 0.0
    return found


def _price(value: Any, name: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and 0 <= value <= MOST):
        raise ConfigError(f"{str(value)[:40]!r}", file=str(path), field=name[:80],
                          expected=f"money an hour, from 0 to {MOST:g}")  # fmt: skip
    return float(value)


def _named(text: str, index: Mapping[str, int], path: Path) -> list[int]:
    try:
        names = expand(text, len(index))
    except ValueError:
        names = []
    unknown = next((name for name in names if name not in index), "")
    if not names or unknown:
        raise ConfigError(f"no such node: {unknown or text!r}"[:120], file=str(path), field=text[:80],
                          expected="a hostlist of nodes of the cluster")  # fmt: skip
    return [index[name] for name in names]


def of_prices(trace: Trace, prices: npt.NDArray[np.float64], cluster: ClusterSpec) -> dict[str, float]:
    """Return ``node_cost`` of a run, and ``idle_node_cost``: the part for nodes that no job had."""
    time = trace.ints_where("usage", ("time",), "partition", "", null=0)[0]
    if not len(time):
        return {"node_cost": 0.0, "idle_node_cost": 0.0}
    index = {node.name: i for i, node in enumerate(cluster.nodes)}
    first, last = int(time[0]), int(time[-1])
    awake = _awake_s(trace, index, cluster, first, last)
    idle = np.maximum(awake - _busy_s(trace, index, first, last), 0)
    return {"node_cost": round(float(awake @ prices / HOUR_S), 6),
            "idle_node_cost": round(float(idle @ prices / HOUR_S), 6)}  # fmt: skip


def _awake_s(trace: Trace, index: Mapping[str, int], cluster: ClusterSpec, first: int, last: int) -> IntArray:
    """Return for how many seconds each node was not powered down between the two instants."""
    off_since = np.full(len(index), -1, np.int64)
    codes, kinds = trace.text("events", "event")
    rows = np.flatnonzero(codes == kinds.index("POWER")) if "POWER" in kinds else np.zeros(0, np.int64)
    if saves_power(cluster):
        off_since[[i for i, node in enumerate(cluster.nodes) if node.state == "CLOUD"]] = first
    found = np.full(len(index), last - first, np.int64)
    times = trace.ints("events", "time")[0][rows].tolist()
    states, lists = trace.texts_at("events", "state", rows), trace.texts_at("events", "nodes", rows)
    for at, state, nodes in zip(times, states, lists, strict=True):
        for i in [index[name] for name in expand(nodes)]:
            if state == "POWERED_DOWN" and off_since[i] < 0:
                off_since[i] = at
            elif state != "POWERED_DOWN" and off_since[i] >= 0:
                found[i] -= max(0, at - int(off_since[i]))
                off_since[i] = -1
    still = off_since >= 0
    found[still] -= np.maximum(0, last - off_since[still])
    return found


def _busy_s(trace: Trace, index: Mapping[str, int], first: int, last: int) -> IntArray:
    """Return for how many seconds each node had a job, of the runs that ended in a requeue too.

    Runs are taken in order of their starts, so that what a run adds to a node begins where all before it have ended.
    """

    @lru_cache(LISTS)
    def places(nodes: str) -> IntArray:
        return np.array([index[name] for name in expand(nodes)], np.int64)

    starts, ends, lists = [], [], []
    for table in ("jobs", "requeued"):
        start, end = trace.ints(table, "start", "end", null=-1)
        rows = np.flatnonzero(start >= 0)
        starts.append(start[rows])
        ends.append(np.where(end[rows] >= 0, end[rows], last))
        lists += trace.texts_at(table, "node_list", rows)
    start, end = np.concatenate(starts), np.minimum(np.concatenate(ends), last)
    found, reached = np.zeros(len(index), np.int64), np.full(len(index), first, np.int64)
    for k in np.argsort(start, kind="stable").tolist():
        at = places(lists[k])
        found[at] += np.maximum(0, end[k] - np.maximum(reached[at], start[k]))
        reached[at] = np.maximum(reached[at], end[k])
    return found
