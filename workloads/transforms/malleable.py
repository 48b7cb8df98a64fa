"""A share of a log's jobs made malleable, by Amdahl's law.

On n nodes a job takes s + (1 - s)/n of its time on one: s is its serial part, its efficiency 1 / (1 + s (n - 1)). A log
does not tell s, so it is chosen: on the nodes that a job asks for, which are its *preferred* ones, its efficiency is
``efficiency``. Its fewest nodes are the most on which that is still ``min`` or more, its most nodes the last with
``max`` or more, and no more than the machine has. Run time and limit are those of the log on the preferred nodes.

The law is Downey's with sigma = 1 and an average parallelism of 1 / 2s, which is Amdahl's up to 1/s - 1 nodes; no job
gets more. The power of its processors is that of a row of PARM's table, which matters only where watts count.

Source: the three efficiencies, and that sizes follow from them, are the defaults of the public job generator of the
group of arXiv 2602.17318 (``projectwagomu/MalleableJobScheduling``). Sizes are powers of two there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.workload import TextColumn, Workload

FIELD = "--malleable"
POWER = "LeanMD"
_TEXTS = ("gres", "gpus", "constraint", "node_list", "exclude", "options", "app")
_FLOATING = 1e-9  # what a float may lack of a whole number of nodes


@dataclass(frozen=True, slots=True)
class Malleability:
    """Which share of the jobs becomes malleable, and the efficiencies that say how far."""

    share: float
    efficiency: float = 0.8
    min: float = 0.95
    max: float = 0.5

    @classmethod
    def read(cls, text: str) -> Malleability:
        """Return what ``SHARE[:efficiency=E,min=E,max=E]`` says. Raises ConfigError."""
        share, _, rest = text.partition(":")
        numbers = {"share": _number("share", share)}
        for item in filter(None, rest.split(",")):
            name, _, value = item.partition("=")
            if name not in ("efficiency", "min", "max") or name in numbers:
                raise ConfigError(f"{item[:40]!r}", field=FIELD, expected="each of efficiency=E, min=E and max=E once")
            numbers[name] = _number(name, value)
        found = cls(**numbers)
        if not 0 <= found.share <= 1:
            raise ConfigError(f"a share of {found.share:g}", field=FIELD, expected="a share of the jobs from 0 to 1")
        if not 0.01 <= found.max <= found.efficiency <= found.min <= 1 or found.efficiency > 0.999:
            raise ConfigError(f"efficiencies of {found.max:g}, {found.efficiency:g} and {found.min:g}", field=FIELD,
                              expected="0.01 <= max <= efficiency <= min <= 1, efficiency at most 0.999")  # fmt: skip
        return found

    def sizes(self, preferred: int, machine: int) -> tuple[int, int, float]:
        """Return the fewest and the most nodes of a job, and its serial part; `preferred` is 2 or more."""
        serial = min((1 / self.efficiency - 1) / (preferred - 1), 0.5)
        least, most = (int((1 / each - 1) / serial + 1 + _FLOATING) for each in (self.min, self.max))
        most = min(most, int(1 / serial - 1 + _FLOATING), machine)
        return max(min(least, preferred), 1), max(most, preferred), serial


def made_malleable(workload: Workload, how: Malleability, node_cpus: Sequence[int], seed: int) -> Workload:
    """Return `workload` with that share of its jobs malleable; the same jobs are also among those of a larger share.

    Parameters
    ----------
    node_cpus
        CPUs of each node of the machine. Jobs fill nodes, so they have to be equal.

    Raises
    ------
    ConfigError
        Nodes are not equal, or no job can be malleable: each asks for one node, parts of nodes, GPUs or nodes by name.
    """
    if len(set(node_cpus)) != 1:
        raise ConfigError("the nodes have different numbers of CPUs", field=FIELD, expected="equal nodes")
    nodes = _whole_nodes(workload, node_cpus[0])
    able = (nodes >= 2) & (nodes <= len(node_cpus))
    for name in _TEXTS:
        able &= workload.texts[name].codes == 0
    if how.share and not able.any():
        raise ConfigError("no job can be malleable", field=FIELD, expected="jobs of two whole nodes or more")
    drawn = np.random.default_rng(seed).random(len(workload)) < how.share
    rows = np.flatnonzero(able & drawn)
    return _with(workload, how, nodes, rows, len(node_cpus))


def _whole_nodes(workload: Workload, cpus: int) -> npt.NDArray[Any]:
    """Return how many nodes each job fills, 0 where it shares one."""
    ints = workload.ints
    total = np.maximum(ints["tasks"], 1) * ints["cpus_per_task"]
    by_tasks = np.where((ints["tasks"] > 0) & (total % cpus == 0), total // cpus, 0)
    named = np.where((ints["nodes_max"] == -1) | (ints["nodes_max"] == ints["nodes"]), ints["nodes"], 0)
    whole = (ints["exclusive"] == 1) | (total == named * cpus) | (cpus == 1)
    found: npt.NDArray[Any] = np.where(ints["nodes"] > 0, np.where(whole, named, 0), by_tasks)
    return found


def _with(workload: Workload, how: Malleability, nodes: npt.NDArray[Any], rows: npt.NDArray[Any],
          machine: int) -> Workload:  # fmt: skip
    ints = {name: np.array(column) for name, column in workload.ints.items()}
    codes, values = np.zeros(len(workload), np.int32), [""]
    old = workload.texts["app"]
    if old.used() != [0] and len(workload):  # applications of their own stay
        codes, values = np.array(old.codes), list(old.values)
    for preferred in np.unique(nodes[rows]).tolist():
        of = rows[nodes[rows] == preferred]
        least, most, serial = how.sizes(preferred, machine)
        before, after = (serial + (1 - serial) / n for n in (preferred, most))
        ints["min_nodes"][of], ints["max_nodes"][of] = least, most
        for name in ("run_time", "time_limit"):
            taken = ints[name][of]
            ints[name][of] = np.where(taken > 0, np.maximum(np.rint(taken * after / before), 1), taken)
        codes[of] = len(values)
        values.append(f"{POWER}:parallelism={1 / (2 * serial)!r}:sigma=1")
    ints["malleable"][rows] = 1
    # where every job fills nodes all ask for nodes, so that counting nodes decides; else those that are malleable
    whole = np.arange(len(workload)) if (nodes > 0).all() else rows
    ints["nodes"][whole], ints["exclusive"][whole], ints["cpus_per_task"][whole] = nodes[whole], 1, 1
    for name in ("tasks", "tasks_per_node", "nodes_max"):
        ints[name][whole] = -1
    workload.header.fields["malleable"] = f"{len(rows)} of {len(workload)} jobs made malleable"
    return Workload(ints, {**workload.texts, "app": TextColumn(codes, values)}, workload.header, workload.quality,
                    workload.streams)  # fmt: skip


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise ConfigError(f"{name} {text[:40]!r}", field=FIELD, expected="SHARE[:efficiency=E,min=E,max=E], numbers")
    return number
