"""Nodes that come later: the columns of a controller's state, which has none of them yet, get theirs.

Nodes keep their places in the table for good, so that allocations of the past name the right ones; new nodes come
last, and deleted ones stay as nodes that are down and not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.controller.controller import Controller
from slurmsim.model.node import NodeSpec

_COLUMNS = ("mem", "weight", "free_cpus", "free_mem", "n_jobs")
_GRES = ("gres", "free_gres")
_OF_POWER = ("since", "suspend_time")


def growth(c: Controller) -> Callable[[], None]:
    """Return what gives a controller of the new configuration the nodes that its restored state lacks."""
    table, power, gang = c.state.table, c.power, _gang(c)
    specs: tuple[NodeSpec, ...] = table.specs
    columns = {name: getattr(table, name).copy() for name in (*_COLUMNS, *_GRES)}
    of_power = {} if power is None else {name: getattr(power, name).copy() for name in _OF_POWER}
    cores, total = [] if gang is None else list(gang._all), table.total_cpus

    def grow() -> None:
        known = len(table.n_jobs)
        fresh: Bitmap = table.everything & ~((1 << known) - 1)
        table.specs = tuple(
            replace(spec, dynamic=new.dynamic) for spec, new in zip(table.specs, specs, strict=False)
        ) + specs[known:]  # fmt: skip
        for name in _COLUMNS:
            setattr(table, name, _longer(getattr(table, name), columns[name]))
        for name in _GRES:
            setattr(table, name, _wider(getattr(table, name), columns[name]))
        table.used_by = {key: _longer(used, np.zeros(table.n, np.int64)) for key, used in table.used_by.items()}
        if power is not None:
            for name in _OF_POWER:
                setattr(power, name, _longer(getattr(power, name), of_power[name]))
        if gang is not None:
            gang._all = [*gang._all, *cores[known:]]
        table.total_cpus = total
        _take_in(c, fresh, known)

    return grow


def _gang(controller: Any) -> Any:
    """Return what shares nodes by turns; None where nothing does."""
    return getattr(controller, "gang", None)


def _take_in(c: Controller, fresh: Bitmap, known: int) -> None:
    """Make the new nodes idle, or down where nothing can run on them yet; deleted ones are down."""
    table, states = c.state.table, c.node_states
    saving = c.power is not None
    clouds = [i for i in range(known, table.n) if table.specs[i].state == "CLOUD"]
    away = [i for i in range(known, table.n) if table.specs[i].state == "FUTURE"] + ([] if saving else clouds)
    down = from_indices(away) | table.gone
    table.idle |= fresh
    table.up |= fresh
    table.count_anew()
    states.down |= down
    if saving:
        c.state.power.off |= from_indices(clouds)
        c.state.selector.asleep = c.state.power.off
    states.refresh()


def _longer(old: Any, new: Any) -> Any:
    return np.concatenate([old, new[len(old) :]])


def _wider(old: Any, new: Any) -> Any:
    found = new.copy()
    found[:, : old.shape[1]] = 0
    found[: old.shape[0], : old.shape[1]] = old
    return found
