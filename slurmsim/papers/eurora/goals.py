"""What the EURORA paper says, and which of our values would mean the same; written before a run.

Tolerances. The trace has 373 of the 437 jobs of BATCH1, and those that are missing waited long: on PBS's own starts
the mean wait of the jobs there are is 30 % below the paper's. So waits may differ by 35 % of the paper's value (or by
1 s, where that is more), and what is in use by 15 %. MICs count three jobs that are all in the trace: 2 %. PBS's own
use is read from the trace: 2 %. "No effect" is what PBS did with the same jobs.
"""

from collections.abc import Mapping

from slurmsim.experiments.claims import Goal, Listed
from slurmsim.experiments.verdicts import Target
from slurmsim.papers.eurora.data import PBS

PURE = ("mks", "wt", "nl")
WAITS = ("wait", "wait_debug", "wait_parallel", "wait_longpar")
USE = ("cores", "gpus", "mics", "jobs")
TABLES_4_5 = {
    "mks": (187.14, 4.77, 161.81, 0.01, 678.81, 45.21, 3.99, 121.68),
    "mks_wt_nl": (165.98, 0.10, 160.04, 0.01, 701.92, 45.61, 3.99, 121.92),
    "nl": (722.04, 2.30, 316.92, 369.14, 614.75, 45.89, 3.99, 116.58),
    "nl_mks_wt": (201.32, 0.31, 145.59, 18.99, 670.75, 45.00, 3.99, 121.21),
    "wt": (662.18, 2.16, 203.50, 446.34, 671.41, 47.67, 3.98, 120.50),
    "wt_mks_nl": (861.81, 0.76, 278.60, 572.29, 620.45, 41.72, 3.99, 119.07),
    PBS: (6840.81, 17.34, 2825.05, 3600.40, 447.98, 29.16, 0.33, 63.04),
}
"""BATCH1: waits of all jobs and by queue (s, by the number of all jobs), then cores, GPUs, MICs and jobs in use."""
PAPER = {name: dict(zip((*WAITS, *USE), row, strict=True)) for name, row in TABLES_4_5.items()}
WAIT_SHARE, USE_SHARE, MICS_SHARE, PBS_SHARE, WAIT_S = 0.35, 0.15, 0.02, 0.02, 1.0
BUDGET_S = 300.0  # of CPU time, for a batch under one model; ours
GPUS, BATCH_2_GPUS = 64, 63
BATCH_3_CP, BATCH_3_PBS = 85, 55  # cores in use, %
_TEXTS = {"wait": "mean wait", "mics": "MICs in use", "gpus": "GPUs in use", "cores": "cores in use",
          "jobs": "jobs in use", **{f"wait_{queue}": f"waits of {queue} by all jobs"
                                    for queue in ("debug", "parallel", "longpar")}}  # fmt: skip


def of_batch_1(name: str, measure: str, pbs: Mapping[str, float] = PAPER[PBS]) -> Goal:
    """Return the goal of a cell of Tables 4 and 5; `pbs` is what PBS did with the same jobs."""
    value = PAPER[name][measure]
    what, waits = f"batch 1, {name}: {_TEXTS[measure]}", measure.startswith("wait")
    where, unit = ("Table 4", "s") if waits else ("Table 5", "")
    nothing = None if name == PBS else pbs[measure]
    if waits:
        margin = max(WAIT_SHARE * value, WAIT_S)
        return Goal(what, where, Target(value - margin, value + margin, nothing), value, unit=unit)
    share = PBS_SHARE if name == PBS else MICS_SHARE if measure == "mics" else USE_SHARE
    return Goal.near(what, where, value, share, no_effect=nothing)


ORDER = Goal("batch 1: order of mean waits (agreement of ranks, Kendall's τ)", "Table 4", Target(0.8, 1.0, 0.0),
             said="mks_wt_nl < mks < nl_mks_wt < wt < nl < wt_mks_nl")  # fmt: skip
DEBUG = Goal.positive("batch 1: debug jobs wait less under composites", "section 5", unit="s")
LONGPAR = Goal.positive("batch 1: longpar jobs wait less under mks models", "section 5", unit="s")
TWO_GPUS = Goal("batch 2, mks_wt_nl: GPUs in use, of 64", "section 5", Target(BATCH_2_GPUS, GPUS), said="> 63")
THREE_CP = Goal.near("batch 3, mks_wt_nl: cores in use", "section 5", BATCH_3_CP, 0.1, no_effect=BATCH_3_PBS,
                     unit="%", digits=0)  # fmt: skip
THREE_PBS = Goal.near("batch 3, PBS: cores in use", "section 5", BATCH_3_PBS, 0.05, unit="%", digits=0)
PACKING = Goal.positive("packing example: the job that needs all GPUs waits less under the models than under EASY",
                        "section 4.2", unit="s", digits=0)  # fmt: skip
RULES = Goal("batch 1: share of the gain over PBS that list scheduling loses with PBS's rules", "",
             Target(50, 100, 0), said="mostly", unit="%", digits=0)  # fmt: skip
CAPPED = Goal("power: no budget was exceeded (most watts over the budget)", "", Target(high=1), digits=3)


def no_worse(number: int) -> Goal:
    """Return our goal that no plan of a pure model is worse than the best list schedule."""
    return Goal(f"batch {number}, pure models: plans worse than the best list schedule", "", Target(0, 0), digits=0)


def cpu_time(number: int) -> Goal:
    """Return our goal for the dearest model of a batch."""
    return Goal(f"batch {number}: CPU time under one model", "", Target(0, BUDGET_S), unit="s", digits=0)


LISTED = (
    Listed("Table 1, queues", shown="the queues of the runs"),
    Listed("equations 1-14, the model and six objectives", shown="policy cp_eurora, checked by trying everything"),
    Listed("Tables 2 and 3, worked example", shown="a test; the printed plan is feasible, not optimal (14,400 s)"),
    Listed("Table 4, waits of all jobs and by queue", tuple(
        f"batch 1, {name}: {_TEXTS[one]}" for name in PAPER for one in WAITS)),
    Listed("composites are better for debug, mks models for longpar", (DEBUG.what, LONGPAR.what)),
    Listed("the order of the models", (ORDER.what,)),
    Listed("Table 5, cores, GPUs, MICs and jobs in use", tuple(
        f"batch 1, {name}: {_TEXTS[one]}" for name in PAPER for one in USE)),
    Listed("Table 6, jobs by category", shown="above each batch: how many of the paper's jobs the trace has"),
    Listed("batch 2: more than 63 GPUs in use", (TWO_GPUS.what,)),
    Listed("batch 3: 85 % of the cores in use, 55 % under PBS", (THREE_CP.what, THREE_PBS.what)),
    Listed("figures 1, 3, 5: running jobs and cores over time", shown="drawn; the paper has no numbers for them"),
    Listed("figures 2a, 4a, 6a: waiting jobs over time", shown="drawn; the paper has no numbers for them"),
    Listed("figures 2b, 4b, 6b: histograms of wait / ewt",
           shown="drawn, and a table; the paper has no numbers for them"),
    Listed("section 4.2, packing of GPUs", (PACKING.what,), "an example of ours"),
    Listed("PBS's hard rules as the cause", (RULES.what,)),
)  # fmt: skip
