"""Decisions as plain data, the form of ``slurmsim parm``'s file, and what can be wrong with one.

``nodes``, ``budget_w``, ``base_w`` (56 unless given), ``levels_w`` and ``[[jobs]]``: ``id``, ``weight`` (1), and either
``options`` ([[nodes, watts, value], ...]) or ``sizes`` with an application (``app``, a row's name, or its numbers, and
``t1_s``, ``parallelism``, ``sigma``); ``running`` ([nodes, watts]) and ``fixed_nodes`` of what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from slurmsim.energy import BASE_W, TABLE, Application
from slurmsim.errors import ConfigError, InputError
from slurmsim_policies.parm.decision import Choice, Decision, JobOptions, Option

_TOP = ("nodes", "budget_w", "base_w", "levels_w", "jobs")
_POWER = ("a", "b", "c", "p_low_w", "p_high_w", "beta")
_SCALING = ("t1_s", "parallelism", "sigma")
_JOB = ("id", "app", *_POWER, *_SCALING, "sizes", "weight", "running", "fixed_nodes", "options")
_MOST = 1 << 40


def decision_from(data: Mapping[str, Any]) -> Decision:
    """Return the decision `data` describes. Raises InputError with the place of what is wrong."""
    _known(data, "", _TOP)
    nodes = _integer(data, "", "nodes", 1)
    base_w = _number(data, "", "base_w", 0.0, BASE_W)
    budget_w = _number(data, "", "budget_w", 0.0)
    levels = _levels(data)
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
    if not np.isfinite(sum(max((one.value for one in job.options), default=0.0) for job in jobs)):
        _wrong("jobs", "values too large: their sum has to be a finite number")
    return Decision(nodes, budget_w, base_w, tuple(jobs))


def plain_from(decision: Decision, choice: Choice) -> dict[str, Any]:
    """Return the answer as plain data: objective, bound, status, [nodes, watts] by id, nodes and watts drawn."""
    taken = {decision.jobs[index]: decision.jobs[index].options[k] for index, k in sorted(choice.chosen.items())}
    found = choice.status != "infeasible"
    return {
        "objective": choice.objective if found else None, "bound": choice.bound if found else None,
        "status": choice.status,
        "chosen": {job.id: [one.nodes, one.watts] for job, one in taken.items()},
        "nodes": sum(one.nodes for one in taken.values()),
        "watts": float(sum(decision.draw(one) for one in taken.values()) / decision.scale),
        "waiting": [job.id for job in decision.jobs if job not in taken],
    }  # fmt: skip


def _levels(data: Mapping[str, Any]) -> list[float]:
    levels = data.get("levels_w", [])
    if not isinstance(levels, Sequence) or isinstance(levels, str) or not all(_is_number(one) for one in levels):
        _wrong("levels_w", "expected a list of watts")
    if any(one <= 0 for one in levels):
        _wrong("levels_w", f"expected watts above 0, got {min(levels):g}")
    return sorted(set(levels))


def _job(table: Mapping[str, Any], where: str, levels: Sequence[float]) -> JobOptions:
    _known(table, where, _JOB)
    name = table.get("id")
    if not isinstance(name, str) or not name:
        _wrong(f"{where}id", f"expected a name, got {name!r}")
    weight = _number(table, where, "weight", 0.0, 1.0)
    running = _running(table, where)
    if "options" in table:
        strange = [key for key in ("app", "sizes", *_POWER, *_SCALING) if key in table]
        if strange:
            _wrong(f"{where}{strange[0]}", "expected either options or an application")
        options = _given(table, where, weight)
    else:
        options = _modelled(table, where, levels, weight)
    fixed = _fixed(table, where, running)
    if fixed is not None:
        options = [one for one in options if one.nodes == fixed]
        if not options:
            _wrong(f"{where}fixed_nodes", f"expected a size it has options for, got {fixed}")
    return JobOptions(name, tuple(options), running)


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


def _given(table: Mapping[str, Any], where: str, weight: float) -> list[Option]:
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
    return found


def _modelled(table: Mapping[str, Any], where: str, levels: Sequence[float], weight: float) -> list[Option]:
    """Sizes times levels of an application, each worth weight times its power-aware speed-up (equation 7)."""
    sizes = table.get("sizes")
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not sizes or not all(_is_whole(n) for n in sizes):
        _wrong(f"{where}sizes", "expected at least one number of nodes")
    if min(sizes) < 1 or max(sizes) > _MOST:
        _wrong(f"{where}sizes", f"expected 1 or more, got {min(sizes)}")
    app = _application(table, where)
    offered = [level for level in levels if level >= app.p_low_w]
    if not offered:
        _wrong(f"{where}p_low_w" if "p_low_w" in table else f"{where}app",
               f"expected a level of levels_w at {app.p_low_w:g} W or above")  # fmt: skip
    times = np.asarray(app.time_s(np.array(sorted(set(sizes)))[:, np.newaxis], np.array(offered)))
    return [
        Option(n, float(watts), _worth(weight, float(times[0, 0] / times[i, k]), f"{where}weight"))
        for i, n in enumerate(sorted(set(sizes))) for k, watts in enumerate(offered)
    ]  # fmt: skip


def _worth(weight: float, value: float, where: str) -> float:
    if not np.isfinite(weight * value):
        _wrong(where, f"weight times value is too large: {weight:g} times {value:g}")
    return weight * value


def _application(table: Mapping[str, Any], where: str) -> Application:
    power = dict[str, float]()
    if "app" in table:
        name = table["app"]
        if name not in TABLE:
            _wrong(f"{where}app", f"expected one of {', '.join(TABLE)}, got {name!r}")
        power = dict(TABLE[name])
    power |= {key: _number(table, where, key, None) for key in _POWER if key in table}
    lacking = [key for key in _POWER if key not in power]
    if lacking:
        _wrong(f"{where}{lacking[0]}", "expected a number, or a row's name in app")
    try:
        return Application(**{key: _number(table, where, key, None) for key in _SCALING}, **power)
    except ConfigError as error:
        raise InputError(error.message, field=f"{where}{error.field}", expected=error.expected) from None


# -- values -----------------------------------------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


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
    strange = [key for key in table if key not in known]
    if strange:
        _wrong(f"{where}{strange[0]}", f"unknown key (expected {', '.join(known)})")


def _wrong(field: str, message: str) -> NoReturn:
    raise InputError(message, field=field)
