"""The Lomonosov experiment as tables, verdicts, a picture and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.experiments.claims import Claim, claim_facts, claims_table, list_of_claims
from slurmsim.experiments.results import estimate_facts, write_results
from slurmsim.experiments.verdicts import MISSING
from slurmsim.metrics.estimate import Estimate
from slurmsim.metrics.packing import MEASURES
from slurmsim.papers.lomonosov import goals
from slurmsim.papers.lomonosov.run import BASE, DEFAULT, LIMITS, PERIODS, SAMPLE_S, Part, Result
from slurmsim.report import style
from slurmsim.report.efficiency import TITLES
from slurmsim.report.shortfall import shortfalls
from slurmsim.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def claims(found: Result, part: Part) -> list[Claim]:
    """Return the paper's numbers beside those of one part."""
    same = found.same_as_base(part)
    listed = changes(found, [part], constructed=part.workload == "log")
    return [*listed, goals.INFINITE.measured(float(same), "same bytes" if same else "differs")]


def changes(found: Result, parts: Sequence[Part], *, constructed: bool = False) -> list[Claim]:
    """Return the paper's numbers beside those of all replicates of `parts`; of `constructed` use is none of ours."""
    wanted = (
        (goals.FIRST, "first_wait_s", True, 1.0), (goals.FIRST_MIN, "first_wait_s", False, 1 / 60),
        (goals.ALL, "all_wait_s", True, 1.0), (goals.OTHERS, "other_wait_s", False, 1.0),
        (replace(goals.USE, constructed=constructed), "utilization", False, 100.0),
    )  # fmt: skip
    listed = []
    for goal, measure, percent, scale in wanted:
        change = found.change(parts, DEFAULT, measure, percent=percent)
        assert change is not None
        scaled = _scaled(change, scale)
        listed.append(goal.measured(scaled, f"{scaled.text(goal.digits, signed=True)} {goal.unit}"))
    return listed


def state_claims(found: Result) -> list[Claim]:
    """Return the shares of final states in the synthetic workload beside the paper's."""
    return [goals.OF_STATE[state].measured(share) for state, share in (found.states or {}).items()]


def _scaled(e: Estimate, scale: float) -> Estimate:
    return Estimate(e.mean * scale, None if e.half is None else e.half * scale, e.n)


_WAITS = (
    ("first_wait_s", "first job of a user and week"), ("other_wait_s", "other jobs"), ("all_wait_s", "all jobs"),
    ("large_wait_s", "jobs of 1/16 of the machine or more"), ("work_wait_s", "all jobs, by CPU-hours"),
    ("fuj_s", "FUJStartTime"),
)  # fmt: skip


def waits_table(found: Result, part: Part) -> list[list[str]]:
    """Mean waits in minutes without a limit, and the change in per cent at each limit; the first row is a header."""
    rows = [["mean wait", "no limit, min", *(f"×{limit.removesuffix('x')}" for limit in part.limits if limit != BASE)]]
    for key, title in _WAITS:
        base = found.estimate(part, BASE, key)
        if base is None:
            continue
        minutes = _scaled(base, 1 / 60)
        changes = [found.change(part, limit, key, percent=True) for limit in part.limits if limit != BASE]
        rows.append([title, minutes.text(1), *("–" if c is None else f"{c.text(1, signed=True)} %" for c in changes)])
    return rows


def losses_table(found: Result, part: Part) -> list[list[str]]:
    """Utilization, the five losses and the efficiency at each limit; the first row is a header."""
    rows = [["mean of the weeks", *("∞" if limit == BASE else f"×{limit.removesuffix('x')}" for limit in part.limits)]]
    for key, title in (
        ("utilization", "utilization"),
        *((f"loss_{m}", f"loss: {TITLES[m]}") for m in MEASURES),
        ("efficiency", "efficiency (c = 0.2)"),
    ):
        estimates = [found.estimate(part, limit, key) for limit in part.limits]
        rows.append([title, *("–" if e is None else e.text(4) for e in estimates)])
    return rows


def _replicates(found: Result, part: Part) -> str:
    """Return how many replicates a part has; of the two limits that verdicts compare, if those have more."""
    most, all_limits = (found.count(part, limit) for limit in (BASE, part.limits[-1]))
    return str(most) if most == all_limits else f"{most} (other limits than {BASE} and {DEFAULT}: {all_limits})"


def _of_loads(found: Result) -> dict[str, list[list[str]]]:
    """Tables over the logs that were brought to other loads, a row a part; none without such parts."""
    parts = [part for part in found.parts if part.load]
    if not parts:
        return {}
    limits = [limit for limit in PERIODS if limit != BASE]
    loads = [
        ["log", "load", "utilization, no limit", "first jobs", "per week", "all jobs", "other jobs", "utilization"]
    ]
    periods = [["log", "load", *(f"{title}, ×{limit.removesuffix('x')}" for title in ("first jobs", "other jobs")
                                 for limit in limits)]]  # fmt: skip
    users = [
        ["log", "load", *(f"users {what}, {limit}" for what in ("queued", "running") for limit in ("no limit", "×1"))]
    ]
    for part in parts:
        head = [part.workload, f"{part.load / 100:.2f}"]
        busy = found.estimate(part, BASE, "utilization")
        loads.append([*head, "–" if busy is None else busy.text(3), *map(_judged, changes(found, [part]))])
        waits = [found.change(part, limit, key, percent=True)
                 for key in ("first_wait_s", "other_wait_s") for limit in limits]  # fmt: skip
        periods.append([*head, *("–" if c is None else f"{c.text(1, signed=True)} %" for c in waits)])
        counts = [found.estimate(part, limit, f"users_{what}")
                  for what in ("queued", "running") for limit in (BASE, DEFAULT)]  # fmt: skip
        users.append([*head, *("–" if e is None else e.text(1) for e in counts)])
    for load, together in found.of_loads().items():
        loads.append(["three logs", f"{load / 100:.2f}", "–", *map(_judged, changes(found, together))])
    return {"loads": loads, "periods": periods, "users": users}


def _judged(claim: Claim) -> str:
    """Return a value with its verdict; behind an open one, how many replicates would decide it."""
    return f"{claim.ours}: {claim.verdict}{claim.wanted and f' ({claim.wanted})'}"


def claims_by_part(found: Result) -> dict[str, list[Claim]]:
    """Return all claims, by part; ``logs90`` has all windows of all logs at a load of 0.90 together."""
    states = {"states": state_claims(found)} if found.states is not None else {}
    each = {str(part): claims(found, part) for part in found.parts}
    return states | each | {f"logs{load}": changes(found, parts) for load, parts in found.of_loads().items()}


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    names = list(found.runs)
    lines = shortfalls(names, [found.runs[name].get("summary", {}) for name in names])
    blocks = ["\n".join(lines)] if lines else []
    if found.states is not None:
        blocks.append(table(claims_table(state_claims(found))))
    for part in found.parts:
        weeks = found.runs[f"{part}-{BASE}-1"]["weeks"]
        jobs = found.runs[f"{part}-{BASE}-1"]["jobs"]
        blocks.append(
            f"{part}: {_replicates(found, part)} replicates of {jobs:,} jobs in {weeks} weeks; ± is the 95 % interval"
        )
        listed = claims_table(claims(found, part), "paper's claim (default limit, ×1)")
        blocks += [table(listed), table(waits_table(found, part)), table(losses_table(found, part))]
    blocks += [f"{name}:\n\n{table(rows)}" for name, rows in _of_loads(found).items()]
    blocks.append(f"On the history of Lomonosov itself: {MISSING}, since {goals.HISTORY}.")
    blocks += [f"{part}: {MISSING}; name a log with --log or SLURMSIM_DATA." for part in found.left_out]
    all_claims = [claim for those in claims_by_part(found).values() for claim in those]
    return "\n\n".join([*blocks, table(list_of_claims(goals.LISTED, all_claims))])


def as_dict(found: Result) -> dict[str, Any]:
    """Everything for programs: claims and figures of each part, and every run."""
    return {
        "missing": shortfalls(list(found.runs), [one.get("summary", {}) for one in found.runs.values()]),
        "seeds": found.seeds,
        "parts": {
            **{name: {"claims": claim_facts(those)} for name, those in claims_by_part(found).items()},
            **{
                str(part): {
                    "claims": claim_facts(claims(found, part)),
                    "changes_percent": {
                        limit: {key: estimate_facts(found.change(part, limit, key, percent=True)) for key, _ in _WAITS}
                        for limit in part.limits
                    },
                    "same_as_base": found.same_as_base(part),
                }
                for part in found.parts
            },
        },
        "tables": {
            f"{name} {part}": rows(found, part)
            for part in found.parts
            for name, rows in (("waits", waits_table), ("losses", losses_table))
        }
        | {  # in pieces, so that a run of one part leaves the rows of others on the page
            f"{name}: {row[1]} {row[0]}": [rows[0], row] for name, rows in _of_loads(found).items() for row in rows[1:]
        },
        "not_attempted": [str(part) for part in found.left_out],
        "runs": found.runs,
    }


@style.styled
def figure(found: Result) -> Figure:
    """Return the change of mean waits over the limit, a panel a part, with intervals."""
    parts = [part for part in found.parts if not part.load]
    fig = style.figure(11, 4)
    panels = fig.subplots(1, max(len(parts), 1), squeeze=False)[0]
    fig.subplots_adjust(left=0.07, right=0.985, top=0.92, bottom=0.21, wspace=0.2)
    shown = _WAITS[:5]
    limits = LIMITS[::-1]
    for ax, part in zip(panels, parts, strict=False):
        for i, ((key, title), color) in enumerate(zip(shown, style.colors([t for _, t in shown]), strict=True)):
            changes = [found.change(part, limit, key, percent=True) for limit in limits]
            known = [(at, c) for at, c in enumerate(changes) if c is not None]
            if not known:
                continue
            x = np.array([at for at, _ in known]) + 0.06 * (i - 2)
            ax.errorbar(x, [c.mean for _, c in known], [c.half or 0 for _, c in known], color=color, label=title,
                        marker="o", markersize=3.5, capsize=2, linewidth=1.2)  # fmt: skip
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.set_xticks(range(len(limits)), ["∞" if v == BASE else f"×{v.removesuffix('x')}" for v in limits])
        ax.set_xlabel("limit, in even shares")
        ax.set_title(str(part))
    if parts:
        panels[0].set_ylabel("change of the mean wait, %")
        fig.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=len(shown))
    else:
        style.note(panels[0], "no part with all limits was run")
    return fig


@style.styled
def users_figure(found: Result) -> Figure:
    """Return users with jobs in the queue and with jobs that run, over two weeks of a part's first replicate."""
    part = next((part for part in reversed(found.parts) if part.load), found.parts[0] if found.parts else None)
    fig = style.figure(11, 4)
    panels = fig.subplots(1, 2)
    fig.subplots_adjust(left=0.06, right=0.985, top=0.9, bottom=0.13, wspace=0.15)
    for ax, what in zip(panels, ("queued", "running"), strict=True):
        for limit, color in zip((BASE, DEFAULT), style.colors(["no limit", "×1"]), strict=True) if part else ():
            values = found.runs[f"{part}-{limit}-1"].get(f"users_{what}_over_time", [])
            days = np.arange(len(values)) * SAMPLE_S / 86_400
            ax.step(days, values, color=color, where="post", label="no limit" if limit == BASE else "×1", linewidth=1.2)
        ax.set(xlabel="days after the first week", ylabel=f"users with jobs {what}", ylim=(0, None))
    if part is not None:
        panels[0].set_title(str(part))
        panels[0].legend()
    else:
        style.note(panels[0], "no part was run")
    return fig


def write(found: Result, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json``, ``results.parquet``, ``lomonosov.png``, ``lomonosov-users.png``.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    titles = ("part", "limit", "replicate", "measure", "value")
    pictures = {"lomonosov.png": figure(found), "lomonosov-users.png": users_figure(found)}
    return write_results(folder, as_text(found), as_dict(found), pictures, titles, list(_rows(found)))


def _rows(found: Result) -> Iterator[tuple[Any, ...]]:
    for name, figures in found.runs.items():
        workload, base, limit, replicate = name.split("-")
        for measure, value in figures.items():
            if isinstance(value, int | float):
                yield f"{workload}-{base}", limit, int(replicate), measure, float(value)
