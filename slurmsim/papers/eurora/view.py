"""The EURORA experiment as tables, verdicts, pictures and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from slurmsim.experiments.claims import Claim, Goal, claim_facts, claims_table, in_order, list_of_claims
from slurmsim.experiments.results import write_results
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.eurora.data import CLASSES, EWT_S, MODELS, PBS, TABLE_6, WINDOW_S
from slurmsim.papers.eurora.goals import (
    CAPPED,
    DEBUG,
    LISTED,
    LONGPAR,
    ORDER,
    PACKING,
    PAPER,
    PURE,
    RULES,
    THREE_CP,
    THREE_PBS,
    TWO_GPUS,
    USE,
    WAITS,
    cpu_time,
    no_worse,
    of_batch_1,
)
from slurmsim.papers.eurora.packing import figure as packing_figure
from slurmsim.papers.eurora.packing import packing_table
from slurmsim.papers.eurora.run import RULED, SOLVING, Batch, Result, Row
from slurmsim.papers.eurora.watts import CHOICES, SHARES, WattResult
from slurmsim.report import style
from slurmsim.report.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTES = """\
rules_X is X with the rules that PBS had: four nodes kept for debug, longpar jobs from 18:00 on only.
* sum of the waits of the queue by the number of all jobs, as the paper's Table 4 has it; beside it the mean of the
queue. ± is the 95 % interval. Percentages are of 1,024 cores, PBS's of 976. Waits may differ from the paper's by 35 %,
what is in use by 15 % (MICs and PBS 2 %): the paper's solver was another one, where it stopped is unknown, and 64 jobs
that waited long are not in the trace."""


def claims(found: Result) -> list[Claim]:
    """Return the paper's numbers beside ours, on the batches as the trace has them."""
    return [claim for part in claims_by_part(found).values() for claim in part]


def claims_by_part(found: Result) -> dict[str, list[Claim]]:
    """Return the claims of each batch, of the example on packing and of the budgets of watts; none is empty."""
    numbers = sorted({batch.number for batch in found.batches})
    made = {f"batch{number}": [*_of_batch(found, number)] for number in numbers}
    return {part: claims for part, claims in made.items() if claims} | _packing(found) | _watts(found)


def _of_batch(found: Result, number: int) -> Iterator[Claim]:
    """Return what the paper says of a batch, and what ours did with it."""
    if number == 1:
        yield from _batch_1(found)
    if number == 2 and (row := found.row(2, "mks_wt_nl")) is not None:
        yield TWO_GPUS.measured(row.figures()["gpus"])
    for goal, name in ((THREE_CP, "mks_wt_nl"), (THREE_PBS, PBS)) if number == 3 else ():
        if (row := found.row(3, name)) is not None:
            yield goal.measured(row.figures()["cores_percent"])
    yield from _ours(found, number)


def _batch_1(found: Result) -> Iterator[Claim]:
    """Tables 4 and 5; PBS's own row first."""
    kept = {name: row.figures() for name in (PBS, *MODELS) if (row := found.row(1, name)) is not None}
    for name, figures in kept.items():
        for measure in (*WAITS, *USE):
            yield of_batch_1(name, measure, kept.get(PBS, PAPER[PBS])).measured(figures[measure])
    if set(MODELS) <= set(kept):
        waits = {name: round(kept[name]["wait"], 6) for name in MODELS}
        yield ORDER.measured(_agreement(waits), in_order(waits.items()))
        by_model = {key: {name: kept[name][key] for name in MODELS} for key in ("wait_debug", "wait_longpar")}
        yield _less(DEBUG, by_model["wait_debug"], [name for name in MODELS if name not in PURE])
        yield _less(LONGPAR, by_model["wait_longpar"], [name for name in MODELS if name.startswith("mks")])


def _agreement(waits: Mapping[str, float]) -> float:
    """Kendall's τ of our order of the models with the paper's: pairs in the same order less pairs in the other."""
    pairs = list(combinations(waits, 2))
    signs = (np.sign(waits[a] - waits[b]) * np.sign(PAPER[a]["wait"] - PAPER[b]["wait"]) for a, b in pairs)
    return float(sum(signs)) / len(pairs)


def _less(goal: Goal, waits: Mapping[str, float], names: Sequence[str]) -> Claim:
    """Return the claim that the mean of `names` is below that of all others."""
    others = [wait for name, wait in waits.items() if name not in names]
    less = round(fmean(others) - fmean(waits[name] for name in names), 6)
    return goal.measured(less, "" if less else "a tie")


def _ours(found: Result, number: int) -> Iterator[Claim]:
    """Claims of ours about a batch, over every dispatcher it was run under, completed batches too."""
    every = [found.rows[str(batch)] for batch in found.batches if batch.number == number]
    pure = [rows[name].figures() for rows in every for name in PURE if name in rows]
    contested, worse = (int(sum(one.get(key, 0) for one in pure)) for key in ("contested", "worse"))
    if contested:
        yield no_worse(number).measured(worse, f"{worse} of {contested:,}")
    if solved := [row for rows in every for name, row in rows.items() if name in SOLVING]:
        yield cpu_time(number).measured(max(float(row.cpu_s or 0) for row in solved))
    if number == 1 and (lost := lost_to_rules(found, 1, "list")) is not None:
        yield RULES.measured(lost)


def _packing(found: Result) -> dict[str, list[Claim]]:
    if not found.packing:
        return {}
    waits = {name: figures["wait"][2] for name, figures in found.packing.items()}
    return {"packing": [PACKING.measured(waits["easy"] - max(waits[model] for model in MODELS))]}


def _watts(found: Result) -> dict[str, list[Claim]]:
    if found.watts is None:
        return {}
    used = (one["most_w"] / (share * found.watts.full_w) for (_, share), one in found.watts.runs.items())
    return {"watts": [CAPPED.measured(max(used))]}


def gain_of_lists(found: Result, number: int, model: str) -> float | None:
    """How much of a model's gain over PBS in mean wait list scheduling by arrival has as well, in per cent."""
    rows = [found.row(number, name) for name in (PBS, "list", model)]
    if any(row is None for row in rows):
        return None
    pbs, plain, best = (float(row.waits.mean()) for row in rows if row is not None)
    return None if pbs <= best else 100 * (pbs - plain) / (pbs - best)


_SHOWN_USE = (("cores", 1), ("cores_percent", 0), ("gpus", 2), ("mics", 2), ("jobs", 1))
_TITLES = {"cores_percent": "cores, %", "cpu_s": "CPU, s", "tardiness": "tardiness"}


def waits_table(rows: dict[str, Row]) -> list[list[str]]:
    """Return the waits of a batch, a row a dispatcher; the first row is a header."""
    header = ["", "wait, s", *(f"{queue}*" for queue in EWT_S), *EWT_S, "late", "tardiness"]
    found = [header]
    for name, row in rows.items():
        figures = row.figures()
        found.append([
            name, f"{figures['wait']:,.1f}", *(f"{figures[f'wait_{queue}']:,.1f}" for queue in EWT_S),
            *(f"{figures[f'mean_{queue}']:,.0f}" for queue in EWT_S), f"{figures['late']:.0f}",
            f"{figures['tardiness']:.2f}",
        ])  # fmt: skip
    return found


def use_table(rows: dict[str, Row]) -> list[list[str]]:
    """Return what is in use of a batch, a row a dispatcher; the first row is a header."""
    found = [["", *(_TITLES.get(name, name) for name, _ in _SHOWN_USE), "CPU, s"]]
    for name, row in rows.items():
        figures = row.figures()
        found.append([name, *(f"{figures[key]:,.{digits}f}" for key, digits in _SHOWN_USE),
                      "–" if row.cpu_s is None else f"{row.cpu_s:.0f}"])  # fmt: skip
    return found


def histogram_table(rows: dict[str, Row]) -> list[list[str]]:
    """Return how long those that wait do so, in waits thought fit: per cent of all jobs; the first row is a header."""
    found = [["", "no wait", *(f"≤ {b:g}" for b in BINS[1:-1]), f"> {BINS[-2]:g}"]]
    for name, row in rows.items():
        share = 100 * _shares(row)
        found.append([name, f"{100 - share.sum():.0f}", *(f"{one:.0f}" for one in share)])
    return found


def _shares(row: Row) -> np.ndarray:
    """Return the share of all jobs in each bin of wait / ewt, of those that wait."""
    ewt = np.array([EWT_S[job.queue] for job in row.batch.jobs])
    waited = row.waits[row.waits > 0] / ewt[row.waits > 0]
    return np.histogram(waited, BINS)[0] / max(len(row.waits), 1)


def lost_to_rules(found: Result, number: int, name: str) -> float | None:
    """How much of a dispatcher's gain over PBS in mean wait is lost with PBS's rules, in per cent."""
    rows = [found.row(number, one) for one in (PBS, name, f"rules_{name}")]
    if any(row is None for row in rows):
        return None
    pbs, free, ruled = (float(row.waits.mean()) for row in rows if row is not None)
    return None if pbs <= free else 100 * (ruled - free) / (pbs - free)


def rules_table(found: Result, number: int) -> list[list[str]]:
    """Return what PBS's rules cost each dispatcher of a batch; the first row is a header."""
    rows = [["", "wait, s", "with PBS's rules", "lost of the gain over PBS", "longpar*, with rules",
             "parallel*, with rules"]]  # fmt: skip
    for name in (one.removeprefix("rules_") for one in RULED):
        lost = lost_to_rules(found, number, name)
        pair = found.row(number, name), found.row(number, f"rules_{name}")
        if lost is None or pair[0] is None or pair[1] is None:
            continue
        free, ruled = pair[0].figures(), pair[1].figures()
        rows.append([name, f"{free['wait']:,.0f}", f"{ruled['wait']:,.0f}", f"{lost:.0f} %",
                     f"{ruled['wait_longpar']:,.0f}", f"{ruled['wait_parallel']:,.0f}"])  # fmt: skip
    return rows


def watts_table(found: WattResult) -> list[list[str]]:
    """Return mean waits and late jobs under budgets of watts; the first row is a header."""
    rows = [["budget", *(f"{choice}: wait, s" for choice in CHOICES), *(f"{choice}: late" for choice in CHOICES),
             *(f"{choice}: mean W" for choice in CHOICES)]]  # fmt: skip
    for share in SHARES:
        runs = [found.runs[choice, share] for choice in CHOICES]
        rows.append([f"{100 * share:.0f} %, {share * found.full_w:,.0f} W", *(f"{one['wait']:,.0f}" for one in runs),
                     *(str(one["late"]) for one in runs), *(f"{one['mean_w']:,.0f}" for one in runs)])  # fmt: skip
    return rows


def tables(found: Result) -> dict[str, list[list[str]]]:
    made: dict[str, list[list[str]]] = {}
    for batch in (one for one in found.batches if one.seed == 0):
        rows, number = found.rows[str(batch)], batch.number
        made |= {f"waits {number}": waits_table(rows), f"use {number}": use_table(rows),
                 f"solves {number}": solves_table(rows), f"histogram {number}": histogram_table(rows),
                 f"completed {number}": completed_table(found, number),
                 f"rules {number}": rules_table(found, number)}  # fmt: skip
    made |= {"packing": packing_table(found.packing)} if found.packing else {}
    return made | ({"watts": watts_table(found.watts)} if found.watts is not None else {})


def solves_table(rows: dict[str, Row]) -> list[list[str]]:
    """Return what the solver did at the contested activations of a batch; the first row is a header."""
    found = [["", "contested", "better than list", "worse", "proven optimal", "fallback", "CPU a solve, ms"]]
    for name, row in rows.items():
        figures = row.figures()
        n = int(figures.get("contested", 0))
        if n:
            found.append([
                name, f"{n}", *(f"{figures[key]:.0f} ({100 * figures[key] / n:.0f} %)" for key in ("better",)),
                f"{figures['worse']:.0f}", f"{figures['optimal']:.0f} ({100 * figures['optimal'] / n:.0f} %)",
                f"{figures['fallback']:.0f}", f"{1000 * figures['solver_cpu_s'] / n:.0f}",
            ])  # fmt: skip
    return found


def completed_table(found: Result, number: int) -> list[list[str]]:
    """Means over the completed batches of one number; the first row is a header."""
    header = [["completed", "wait, s", *(_TITLES.get(name, name) for name, _ in _SHOWN_USE)]]
    names = next((list(rows) for key, rows in found.rows.items() if key.startswith(f"batch{number}-")), [])
    for name in names:
        figures = [row.figures() for row in found.completed(number, name)]
        cells = [Estimate.of([one[key] for one in figures]).text(d) for key, d in (("wait", 1), *_SHOWN_USE)]
        header.append([name, *cells])
    return header


def batch_text(batch: Batch) -> str:
    """How many of the paper's jobs a batch has."""
    wanted, have = TABLE_6[batch.number], batch.jobs
    queues = ", ".join(f"{queue} {sum(job.queue == queue for job in have)}/{wanted[queue]}" for queue in EWT_S)
    cores = ", ".join(f"{name} {sum(job.core_class == name for job in have)}/{wanted[name]}" for name in CLASSES)
    total = sum(wanted[queue] for queue in EWT_S)
    return f"{batch}: {len(have)} of the paper's {total} jobs ({queues}; by cores {cores})"


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    blocks = [table(claims_table(claims(found)))]
    for batch in found.batches:
        if batch.seed == 0:
            rows = found.rows[str(batch)]
            blocks += [batch_text(batch), *map(table, (waits_table(rows), use_table(rows), histogram_table(rows)))]
            solved = solves_table(found.rows[str(batch)])
            if len(solved) > 1:
                blocks.append(table(solved))
            share = gain_of_lists(found, batch.number, "mks_wt_nl")
            if share is not None:
                blocks.append(f"{batch}: list scheduling has {share:.0f} % of mks_wt_nl's gain over PBS in mean wait.")
            full = completed_table(found, batch.number)
            if len(full) > 1:
                blocks.append(table(full))
            ruled = rules_table(found, batch.number)
            blocks += [f"{batch} with and without PBS's rules:", table(ruled)] if len(ruled) > 1 else []
    blocks += ["Section 4.2, packing:", table(packing_table(found.packing))] if found.packing else []
    if found.watts is not None:
        blocks += [f"Batch 1 under budgets of watts ({found.watts.unmeasured} of {found.watts.jobs} jobs have none in "
                   "the trace):", table(watts_table(found.watts))]  # fmt: skip
    return "\n\n".join([*blocks, NOTES, table(list_of_claims(LISTED, claims(found)))])


def as_dict(found: Result) -> dict[str, Any]:
    """Everything for programs."""
    return {
        "parts": {part: {"claims": claim_facts(made)} for part, made in claims_by_part(found).items()},
        "tables": tables(found),
        "batches": {str(batch): batch_text(batch) for batch in found.batches},
        "figures": {key: {name: row.figures() for name, row in rows.items()} for key, rows in found.rows.items()},
        "gain_of_lists_percent": {
            str(batch): gain_of_lists(found, batch.number, "mks_wt_nl") for batch in found.batches if batch.seed == 0
        },
    }


BINS = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 1e9])
_SHOWN = (PBS, "list", "mks", "mks_wt_nl", "nl", "wt")


@style.styled
def figure(rows: dict[str, Row], title: str) -> Figure:
    """Cores, GPUs and waiting jobs over the window, and how long jobs waited, in ewt (the paper's figures 1 to 6)."""
    fig = style.figure(12, 6.4)
    panels = fig.subplots(2, 2).ravel()
    fig.subplots_adjust(left=0.06, right=0.985, top=0.93, bottom=0.13, wspace=0.16, hspace=0.34)
    names = [name for name in _SHOWN if name in rows]
    for k, (name, color) in enumerate(zip(names, style.colors(names), strict=True)):
        row = rows[name]
        minutes = (row.samples - row.samples[0]) / 60
        for ax, line in zip(panels, (row.in_use("cores"), row.in_use("gpus"), row.waiting()), strict=False):
            ax.step(minutes, line, where="post", color=color, label=name, linewidth=1.2)
        share = _shares(row)
        panels[3].bar(np.arange(len(share)) + 0.8 * (k - len(names) / 2 + 0.5) / len(names), 100 * share,
                      0.8 / len(names), color=color)  # fmt: skip
    for ax, what in zip(panels, (f"{title}: cores in use", "GPUs in use", "jobs that wait", "waits of those who wait"),
                        strict=True):  # fmt: skip
        ax.set_title(what)
    for ax in panels[:3]:
        ax.set_xlim(0, WINDOW_S / 60)
        ax.set_xlabel("minutes from the beginning")
    panels[3].set_xticks(range(len(BINS) - 1), [*(f"≤ {b:g}" for b in BINS[1:-1]), "> 5"], fontsize=8)
    panels[3].set_xlabel("wait, in waits thought fit (ewt)")
    panels[3].set_ylabel("jobs, % of all")
    fig.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=len(names))
    return fig


def write(found: Result, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json``, ``results.parquet`` and a picture a batch. Raises OutputError."""
    pictures = {f"{key}.png": figure(rows, key) for key, rows in found.rows.items()}
    pictures |= {"packing.png": packing_figure(found.packing)} if found.packing else {}
    titles = ("batch", "number", "seed", "dispatcher", "measure", "value")
    table_rows = [
        (str(batch), batch.number, batch.seed, name, measure, float(value))
        for batch in found.batches
        for name, row in found.rows[str(batch)].items()
        for measure, value in row.figures().items()
    ]
    return write_results(folder, as_text(found), as_dict(found), pictures, titles, table_rows)
