"""Decisions as plain data, the form of ``slurmsim parm``'s file, and what can be wrong with one.

``nodes``, ``budget_w``, ``base_w`` (56 unless given), ``levels_w`` and ``[[jobs]]``: ``id``, ``weight`` (1), and either
``options`` ([[nodes, watts, value], ...]) or ``sizes`` with an application (``app``, a row's name, or its numbers, and
``t1_s``, ``parallelism``, ``sigma``); ``running`` ([nodes, watts]) and ``fixed_nodes`` of what runs, and ``least_w``,
what it draws at least. Models are kept: the policy asks about the same jobs again and again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple, NoReturn

import numpy as np

from slurmsim.energy import BASE_W, TABLE, Application
from slurmsim.errors import ConfigError, InputError
from slurmsim_policies.parm.decision import MOST_W, Choice, Decision, FloatArray, IntArray, JobOptions, Option, Options

_TOP = ("nodes", "budget_w", "base_w", "levels_w", "jobs")
_POWER = ("a", "b", "c", "p_low_w", "p_high_w", "beta")
_SCALING = ("t1_s", "parallelism", "sigma")
_JOB = ("id", "app", *_POWER, *_SCALING, "sizes", "weight", "running", "fixed_nodes", "least_w", "options")
_APPLICATION = ("app", *_POWER, *_SCALING)
_MOST = 1 << 40


def decision_from(data: Mapping[str, Any]) -> Decision:
    """Return the decision `data` describes. Raises InputError with the place of what is wrong."""
    _known(data, "", _TOP)
    nodes = _integer(data, "", "nodes", 1)
    base_w = _number(data, "", "base_w", 0.0, BASE_W)
    budget_w = _number(data, "", "budget_w", 0.0)
    levels = tuple(_levels(data))
    tables = data.get("jobs", [])
    if not isinstance(tables, Sequence) or isinstance(tables, str) or not all(isinstance(t, Mapping) for t in tables):
        _wrong("jobs", "expected tables, [[jobs]]")
    ids: dict[str, int] = {}
    jobs = []
    for k, table in enumerate(tables):
        job = _job(table, f"jobs[{k}].", levels)
        if job.id in ids:
            _wrong(f"jobs[{k}].id", f"expected an id of its own, {job.id!r} is jobs[{ids[job.id]}] already")
        ids[job.id] = k
        jobs.append(job)
    decision = Decision(nodes, budget_w, base_w, tuple(jobs))
    if not np.isfinite(decision.most_worth):
        _wrong("jobs", "values too large: their sum has to be a finite number")
    return decision


def plain_from(decision: Decision, choice: Choice) -> dict[str, Any]:
    """Return the answer as plain data: objective, bound, status, [nodes, watts] by id, nodes and watts drawn."""
    taken = {decision.jobs[index].id: decision.jobs[index].options[k] for index, k in sorted(choice.chosen.items())}
    found = choice.status != "infeasible"
    return {
        "objective": choice.objective if found else None, "bound": choice.bound if found else None,
        "status": choice.status,
        "chosen": {job_id: [one.nodes, one.watts] for job_id, one in taken.items()},
        "nodes": sum(one.nodes for one in taken.values()),
        "watts": float(sum(decision.draw(one) for one in taken.values()) / decision.scale),
        "waiting": [job.id for job in decision.jobs if job.id not in taken],
    }  # fmt: skip


def _levels(data: Mapping[str, Any]) -> list[float]:
    levels = data.get("levels_w", [])
    if not isinstance(levels, Sequence) or isinstance(levels, str) or not all(_is_number(one) for one in levels):
        _wrong("levels_w", "expected a list of watts")
    if any(one <= 0 for one in levels):
        _wrong("levels_w", f"expected watts above 0, got {min(levels):g}")
    return sorted(set(levels))


def _job(table: Mapping[str, Any], where: str, levels: tuple[float, ...]) -> JobOptions:
    _known(table, where, _JOB)
    name = table.get("id")
    if not isinstance(name, str) or not name:
        _wrong(f"{where}id", f"expected a name, got {name!r}")
    weight = _number(table, where, "weight", 0.0, 1.0)
    running = _running(table, where)
    if "options" in table:
        strange = [key for key in ("app", "sizes", "least_w", *_POWER, *_SCALING) if key in table]
        if strange:
            _wrong(f"{where}{strange[0]}", "expected either options or an application")
        options = _given(table, where, weight)
    else:
        options = _modelled(table, where, levels, weight)
    fixed = _fixed(table, where, running)
    if fixed is not None:
        kept = np.flatnonzero(options.nodes == fixed)
        if not len(kept):
            _wrong(f"{where}fixed_nodes", f"expected a size it has options for, got {fixed}")
        options = Options(options.nodes[kept], options.watts[kept], options.value[kept], options.least_w[kept])
    return JobOptions(name, options, running)


def _running(table: Mapping[str, Any], where: str) -> tuple[int, float] | None:
    if "running" not in table:
        return None
    pair = table["running"]
    good = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 and _is_whole(pair[0])
    if not good or not _is_number(pair[1]) or pair[0] < 1 or pair[1] <= 0:
        _wrong(f"{where}running", f"expected [nodes, watts], got {pair!r}")
    return int(pair[0]), float(pair[1])


def _fixed(table: Mapping[str, Any], where: str, running: tuple[int, float] | None) -> int | None:
    """Return the only count of nodes it may have (equation 6); ``true`` stands for what it runs on."""
    fixed = table.get("fixed_nodes", False)
    if fixed is True:
        if running is None:
            _wrong(f"{where}fixed_nodes", "expected a number of nodes: it does not run")
        return running[0]
    if fixed is False:
        return None
    return _integer(table, where, "fixed_nodes", 1)


def _given(table: Mapping[str, Any], where: str, weight: float) -> Options:
    rows = table["options"]
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        _wrong(f"{where}options", "expected at least one [nodes, watts, value]")
    found = []
    for k, row in enumerate(rows):
        good = isinstance(row, Sequence) and not isinstance(row, str) and len(row) in (3, 4) and _is_whole(row[0])
        if not good or not all(_is_number(one) and one >= 0 for one in row[1:]) or not 1 <= row[0] <= _MOST:
            _wrong(f"{where}options[{k}]", f"expected [nodes, watts, value], got {row!r}")
        worth = _worth(weight, float(row[2]), f"{where}options[{k}]")
        found.append(Option(int(row[0]), float(row[1]), worth, float(row[3]) if len(row) == 4 else 0.0))
    return Options.of(found)


def _modelled(table: Mapping[str, Any], where: str, levels: tuple[float, ...], weight: float) -> Options:
    """Sizes times levels of an application, each worth weight times its power-aware speed-up (equation 7)."""
    sizes = table.get("sizes")
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not sizes:
        _wrong(f"{where}sizes", "expected at least one number of nodes")
    values = [table.get(key) for key in _APPLICATION]
    try:
        try:
            model = _model(levels, *values, *sizes)
        except TypeError:  # a list or a table instead of a number
            model = _model.__wrapped__(levels, *values, *sizes)
    except InputError as error:
        raise InputError(error.message, field=f"{where}{error.field}", expected=error.expected) from None
    _worth(weight, model.most, f"{where}weight")
    least_w = _number(table, where, "least_w", 0.0, 0.0)
    return Options(
        model.nodes, model.watts, weight * model.speedups, model.nothing + least_w if least_w else model.nothing
    )


class _Model(NamedTuple):
    """All sizes of an application at all levels it can have, by size; (n_options,) each."""

    nodes: IntArray
    watts: FloatArray
    speedups: FloatArray  # over the fewest nodes at the lowest level
    most: float  # of these
    nothing: FloatArray  # zeros


@lru_cache(maxsize=65536, typed=True)
def _model(levels: tuple[float, ...], *values: Any) -> _Model:
    """Return the model of the values of `_APPLICATION`, None for what is not given, and of the sizes after them."""
    sizes = values[len(_APPLICATION) :]
    if not all(map(_is_whole, sizes)):
        _wrong("sizes", "expected at least one number of nodes")
    if min(sizes) < 1 or max(sizes) > _MOST:
        _wrong("sizes", f"expected 1 or more, got {min(sizes)}")
    given = {name: value for name, value in zip(_APPLICATION, values, strict=False) if value is not None}
    app = _application(given)
    offered = [one for one in levels if one >= app.p_low_w]
    if not offered:
        _wrong("p_low_w" if "p_low_w" in given else "app",
               f"expected a level of levels_w at {app.p_low_w:g} W or above")  # fmt: skip
    # a level beyond the first at which it is no faster would only draw more
    watts = np.array(offered[: bisect_left(offered, app.p_high_w) + 1])
    nodes = np.unique(np.array(sizes, np.int64))
    times = np.asarray(app.time_s(nodes[:, np.newaxis], watts))
    speedups = (times[0, 0] / times).ravel()
    return _Model(
        np.repeat(nodes, len(watts)), np.tile(watts, len(nodes)), speedups, float(speedups.max()),
        np.zeros(len(speedups)),
    )  # fmt: skip


def _application(table: Mapping[str, Any]) -> Application:
    power = dict[str, float]()
    if "app" in table:
        name = table["app"]
        if not isinstance(name, str) or name not in TABLE:
            _wrong("app", f"expected one of {', '.join(TABLE)}, got {name!r}")
        power = dict(TABLE[name])
    power |= {key: _number(table, "", key, None) for key in _POWER if key in table}
    lacking = [key for key in _POWER if key not in power]
    if lacking:
        _wrong(lacking[0], "expected a number, or a row's name in app")
    try:
        return Application(**{key: _number(table, "", key, None) for key in _SCALING}, **power)
    except ConfigError as error:
        raise InputError(error.message, field=error.field, expected=error.expected) from None


def _worth(weight: float, value: float, where: str) -> float:
    if not np.isfinite(weight * value):
        _wrong(where, f"weight times value is too large: {weight:g} times {value:g}")
    return weight * value


# -- values -----------------------------------------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isfinite(value) if type(value) is float else _is_whole(value) and abs(value) < MOST_W


def _integer(table: Mapping[str, Any], where: str, key: str, least: int) -> int:
    value = table.get(key)
    if not _is_whole(value) or not least <= int(value or 0) <= _MOST:
        _wrong(f"{where}{key}", f"expected an integer from {least} to {_MOST}, got {value!r}")
    return int(value or 0)


def _number(table: Mapping[str, Any], where: str, key: str, least: float | None, default: float | None = None) -> float:
    value = table.get(key, default)
    if not _is_number(value) or (least is not None and float(value or 0) < least):
        _wrong(f"{where}{key}", "expected a number" + (f", at least {least:g}" if least is not None else "")
               + f", got {value!r}")  # fmt: skip
    return float(value or 0)


def _known(table: Mapping[str, Any], where: str, known: Sequence[str]) -> None:
    if not table.keys() <= set(known):
        strange = [key for key in table if key not in known]
        _wrong(f"{where}{strange[0]}", f"unknown key (expected {', '.join(known)})")


def _wrong(field: str, message: str) -> NoReturn:
    raise InputError(message, field=field)
