"""Watts and joules, from the trace alone: no instant exceeds the budget, and every run is told of in phases.

Only runs with power in their manifest are judged: what nodes draw, and what the budget is.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from slurmsim.data_classes import dataclass
from slurmsim.errors import WorkloadError
from slurmsim.validate.columns import NULL, IntArray, Table
from slurmsim.validate.report import ValidationReport
from slurmsim.validate.runs import JobRuns

Span = tuple[int, int, int]  # from when until when a job had so many nodes


@dataclass(frozen=True, slots=True)
class PowerFacts:
    """What the manifest says, milliwatts; `budget` as (from when, how much), ascending."""

    base_mw: int
    full_mw: int
    idle_mw: int
    budget: tuple[tuple[int, int], ...]
    measured: bool = False  # jobs draw what a log says, whatever they are charged


def power_facts(found: Any, file: str) -> PowerFacts | None:
    """Read the manifest's ``power``; None where the run knew of none. Raises WorkloadError."""
    if found is None:
        return None
    if isinstance(found, Mapping):
        base, full, idle, steps = found.get("base_mw"), found.get("full_mw"), found.get("idle_mw"), found.get("budget")
        if isinstance(steps, list) and all(isinstance(step, list) and len(step) == 2 for step in steps):
            whole = all(_whole_number(one) for step in steps for one in step)
            measured = found.get("measured", False)
            whole = whole and isinstance(measured, bool)
            if whole and _whole_number(base) and _whole_number(full) and _whole_number(idle):
                return PowerFacts(base, full, idle, tuple((step[0], step[1]) for step in steps), bool(measured))
    raise WorkloadError(f"{found!r}", file=file, field="power", expected="base_mw, full_mw, idle_mw and budget")


def _whole_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def check_power(
    report: ValidationReport, facts: PowerFacts, phases: Table, jobs: Table, records: Table, runs: JobRuns,
    usage: Table | None, n_nodes: int,
) -> None:  # fmt: skip
    """All checks on watts.

    Parameters
    ----------
    records, runs
        Rows of jobs and of runs before, and the runs, cut where jobs were suspended.
    n_nodes
        Of the cluster.
    """
    last = int(runs.times[-1]) if len(runs.times) else 0
    end = np.where(phases.ints["end"] == NULL, last, phases.ints["end"])
    _check_spans(report, phases, end, records, runs)
    _check_rows(report, facts, phases, end)
    times, charged, drawn = _summed(phases, end)
    _check_budget(report, facts, times, charged, usage, n_nodes)
    _check_joules(report, phases, end, jobs)
    if usage is not None:
        _check_usage(report, facts, times, charged, drawn, usage)


def _check_spans(report: ValidationReport, phases: Table, end: IntArray, records: Table, runs: JobRuns) -> None:
    """Phases tell of all runs, and of nothing else: the same nodes at the same time."""
    told: dict[int, list[Span]] = {}
    cells = (phases.ints["job_id"], phases.ints["start"], end, phases.ints["nodes"])
    for job, begin, until, nodes in zip(*(column.tolist() for column in cells), strict=True):
        told.setdefault(job, []).append((begin, until, nodes))
    ran: dict[int, list[Span]] = {}
    goes = np.flatnonzero(~runs.stopped)
    cells = (records.ints["job_id"][runs.row], runs.times[runs.begin], runs.times[runs.end], runs.nodes)
    for job, begin, until, nodes in zip(*(column[goes].tolist() for column in cells), strict=True):
        ran.setdefault(job, []).append((begin, until, nodes))
    check = report.new("phases_tell_runs", len(told.keys() | ran.keys()))
    for job in sorted(told.keys() | ran.keys()):
        mine, real = _joined(told.get(job, [])), _joined(ran.get(job, []))
        if mine != real:
            odd = sorted(set(mine) ^ set(real))[0]
            who, other = ("phases say", "runs do not") if odd in mine else ("runs say", "phases do not")
            check.add(f"job {job}: {odd[2]} nodes from {odd[0]} to {odd[1]}, its {who}; its {other}")


def _joined(spans: list[Span]) -> list[Span]:
    """Spans by time; those without a length left out, those that go on as they were made one."""
    found: list[Span] = []
    for begin, until, nodes in sorted(spans):
        if until <= begin:
            continue
        if found and found[-1][1] == begin and found[-1][2] == nodes:
            found[-1] = (found[-1][0], until, nodes)
        else:
            found.append((begin, until, nodes))
    return found


def _check_rows(report: ValidationReport, facts: PowerFacts, phases: Table, end: IntArray) -> None:
    """Check that a job is charged at least its caps and its nodes' base draw, and draws no more than it is charged."""
    ids, cap, charged = (phases.ints[name] for name in ("job_id", "cap_mw", "charged_mw"))
    least = phases.ints["nodes"] * (cap + facts.base_mw)
    wrong = (cap <= 0) | (cap > facts.full_mw) | (charged < least) | (end < phases.ints["start"])
    wrong |= phases.ints["drawn_mw"] < 0 if facts.measured else phases.ints["drawn_mw"] > charged
    bad = np.flatnonzero(wrong)
    check = report.new("phase_watts", phases.n)
    text = "job {} from {}: charged {} mW, {} at least for its nodes and caps, and draws {}"
    start, drawn = phases.ints["start"], phases.ints["drawn_mw"]
    check.flag(len(bad), (text.format(ids[k], start[k], charged[k], least[k], drawn[k]) for k in bad))


def _summed(phases: Table, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Instants, and what all phases together are charged and draw from each until the next."""
    start = phases.ints["start"]
    times = np.unique(np.concatenate([start, end]))
    sums = []
    for name in ("charged_mw", "drawn_mw"):
        change = np.zeros(len(times), np.int64)
        np.add.at(change, np.searchsorted(times, start), phases.ints[name])
        np.add.at(change, np.searchsorted(times, end), -phases.ints[name])
        sums.append(np.cumsum(change))
    return times, sums[0], sums[1]


def _budget_at(facts: PowerFacts, times: IntArray) -> IntArray:
    """Return the budget in force, `NULL` for none."""
    begins = np.array([step[0] for step in facts.budget], np.int64)
    amounts = np.array([NULL, *(step[1] for step in facts.budget)], np.int64)
    return amounts[np.searchsorted(begins, times, "right")]


def _at(times: IntArray, values: IntArray, when: IntArray) -> IntArray:
    """Values of a step series at given instants; 0 before its first."""
    padded: IntArray = np.concatenate([np.zeros(1, np.int64), values])
    return padded[np.searchsorted(times, when, "right")]


def _check_budget(
    report: ValidationReport, facts: PowerFacts, times: IntArray, charged: IntArray, usage: Table | None, n_nodes: int
) -> None:
    """At no instant do jobs, and nodes without one, draw more than the budget."""
    if not facts.budget:
        report.skip("budget_kept", "no budget")
        return
    begins = np.array([step[0] for step in facts.budget], np.int64)
    first, last = (int(times[0]), int(times[-1])) if len(times) else (0, 0)
    when = np.unique(np.concatenate([times, begins[(begins >= first) & (begins <= last)]]))
    total = _at(times, charged, when)
    if facts.idle_mw:
        if usage is None:
            report.skip("budget_kept", "no usage table, which tells of nodes without a job")
            return
        at, rows = _whole(usage)
        when = np.unique(np.concatenate([when, at]))
        awake = n_nodes - usage.ints["alloc_nodes"][rows] - usage.ints["off_nodes"][rows]
        total = _at(times, charged, when) + facts.idle_mw * np.maximum(_at(at, awake, when), 0)
    budget = _budget_at(facts, when)
    bad = np.flatnonzero((budget != NULL) & (total > budget))
    check = report.new("budget_kept", len(when))
    check.flag(len(bad), (f"at {when[k]}: {total[k]} mW, the budget is {budget[k]}" for k in bad))


def _whole(usage: Table) -> tuple[IntArray, IntArray]:
    """Instants of the cluster's rows, and the last of them at each."""
    rows = np.flatnonzero(usage.texts["partition"].mask([""]))
    time = usage.ints["time"][rows]
    last = np.append(np.diff(time) != 0, True)[: len(rows)]
    return time[last], rows[last]


def _check_joules(report: ValidationReport, phases: Table, end: IntArray, jobs: Table) -> None:
    """Check that a job's energy is that of its phases."""
    spent: dict[int, int] = {}
    used = (end - phases.ints["start"]) * phases.ints["drawn_mw"]
    for job, millijoules in zip(phases.ints["job_id"].tolist(), used.tolist(), strict=True):
        spent[job] = spent.get(job, 0) + millijoules
    check = report.new("joules", jobs.n)
    for job, told in zip(jobs.ints["job_id"].tolist(), jobs.ints["energy_j"].tolist(), strict=True):
        found = spent.get(job, 0)
        if abs(1000 * told - found) > 500:
            check.add(f"job {job} has used up {told} J, its phases say {found / 1000:g}")


def _check_usage(
    report: ValidationReport, facts: PowerFacts, times: IntArray, charged: IntArray, drawn: IntArray, usage: Table
) -> None:
    """Rows of the cluster: what jobs are charged and draw, and the budget."""
    at, rows = _whole(usage)
    check = report.new("usage_watts", len(rows))
    for name, counted in (
        ("charged_mw", _at(times, charged, at) + usage.ints["idle_mw"][rows]),
        ("drawn_mw", _at(times, drawn, at)),
        ("budget_mw", _budget_at(facts, at)),
    ):
        told = usage.ints[name][rows]
        bad = np.flatnonzero(told != counted)
        check.flag(len(bad), (f"{name} at {at[k]} is {told[k]}, a recount gives {counted[k]}" for k in bad))
