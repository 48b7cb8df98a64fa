"""The plan of one dispatching problem as text: what was found, and a bar for each job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slurmsim.report.text import number, table

WIDTH = 60
_TITLES = {"mks": "makespan", "wt": "weighted tardiness", "nl": "late jobs", "slowdown": "sum of slowdowns"}


def as_text(problem: Mapping[str, Any], answer: Mapping[str, Any], title: str) -> str:
    """Return a line on the result, and a table of jobs in the order of their starts with their nodes and a bar each.

    Parameters
    ----------
    problem, answer
        The instance and its answer in plain data.
    title
        What the dispatcher was asked for as.
    """
    return f"{_headline(answer, title)}\n\n{_bars(problem, answer)}"


def _headline(answer: Mapping[str, Any], title: str) -> str:
    shown = {key: _amount(answer[key]) for key in ("objective", "hint_objective", "first_objective", "bound")}
    name = _TITLES[answer["criterion"]]
    lines = [
        f"{title}: {answer['status']}, {name} {shown['objective']} "
        f"(list schedule {shown['hint_objective']}, the dispatcher's own order {shown['first_objective']}, "
        f"none below {shown['bound']})",
        "all: " + ", ".join(f"{_TITLES[key]} {_amount(value)}" for key, value in answer["values"].items()),
    ]
    if answer["bounds"]:
        lines.append("under: " + ", ".join(f"{_TITLES[k]} at most {_amount(v)}" for k, v in answer["bounds"].items()))
    asked = f"{number(answer['solver_variables'])} of the solver" if answer["asked"] else "the solver was not asked"
    lines.append(f"variables: {number(answer['variables'])} by the paper, {asked}; {answer['seconds']:.2f} s")
    if answer["queued"]:
        lines.append("without a start: " + ", ".join(answer["queued"]))
    if answer["note"]:
        lines.append(answer["note"])
    return "\n".join(lines)


def _amount(value: float | None) -> str:
    return number(value, 4)


def spans(problem: Mapping[str, Any], answer: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], int, int]]:
    """Job, start and end (s) of each job with a start, in the order of starts."""
    now = problem["now"]
    found = []
    for job in problem.get("jobs", ()):
        start = answer["starts"].get(str(job["id"]))
        if start is not None:
            end = start + job["duration"]
            found.append((job, start, max(end, now + 1) if "start" in job else end))
    return sorted(found, key=lambda span: (span[1], span[2], str(span[0]["id"])))


def _bars(problem: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    now = problem["now"]
    found = spans(problem, answer)
    end = max((until for _, _, until in found), default=now + 1)
    step = (end - now) / WIDTH
    lines = [["job", "start", "end", "units", f"|{str(now).ljust(WIDTH - len(str(end)))}{end}|", "nodes"]]
    for job, start, until in found:
        first = max(0, min(WIDTH - 1, int((start - now) / step)))
        last = max(first + 1, min(WIDTH, round((until - now) / step)))
        bar = " " * first + ("=" if "start" in job else "#") * (last - first) + " " * (WIDTH - last)
        layout = answer["layout"].get(str(job["id"]))
        where = "–" if layout is None else _ranges(layout)
        lines.append([str(job["id"]), str(start), str(until), str(job["rn"]), f"|{bar}|", where])
    return table(lines, left=6)


def _ranges(layout: Mapping[str, int]) -> str:
    """Nodes as ranges, those with several units marked: ``0 (x2),2-31``."""
    parts = []
    for low, high, units in _runs(sorted((int(node), units) for node, units in layout.items())):
        parts.append((f"{low}-{high}" if high > low else f"{low}") + (f" (x{units})" if units > 1 else ""))
    return ",".join(parts)


def _runs(nodes: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int, int]]:
    """Neighbouring nodes with equally many units, as (first, last, units)."""
    at = 0
    while at < len(nodes):
        until = at
        while until + 1 < len(nodes) and nodes[until + 1] == (nodes[until][0] + 1, nodes[at][1]):
            until += 1
        yield nodes[at][0], nodes[until][0], nodes[at][1]
        at = until + 1
