"""What the paper on Titan's allocations says, and which of our values would mean the same; written before a run.

Tolerances. Formulas: one part in 10,000, since the paper's own sum misses its closed form by 0.8 of that. What stands
on Titan's own log is tried on synthetic jobs with the log's published moments; the shape of their tails is ours, so
means, spreads and free nodes may differ by 35 %.
"""

from slurmsim.experiments.claims import Goal, Listed
from slurmsim.experiments.verdicts import Target
from slurmsim.papers.titan.allocation import Moments

REAL_WAIT_H, PAPER_WAIT_H, PAPER_WAIT_SD_H = 6.21, 30.51, 97.34
LOG_SHARE = 0.35
OWN_LOG = "no log of Titan with its jobs is public"

USE = Goal.near("node-hours of validation 1", "section 3.4.1", 13_822_864, 1e-4, corrected=13_824_000, digits=0)
VARIANCE = Goal("variance of use, Poisson(8) x normal(4, 2)", "equation 13", Target(415.999, 416.001),
                said="the printed formula gives 96", corrected=416, constructed=True)  # fmt: skip
CHANCE = Goal("P(U > 900) with counts from 1", "equation 11", Target.near(0.8295, 1e-4), corrected=0.8295,
              said="0.5 with counts from 100", digits=4, constructed=True)  # fmt: skip
LOAD = Goal.near("load of the synthetic Titan", "Figure 9", 88.2, 0.05, unit="%", digits=1, constructed=True)
THROUGHPUT = Goal("jobs that ended per job that came", "", Target.near(1, 0.03), digits=3)
BOUNDED = Goal("jobs waiting, second half over first", "", Target(0, 3))
SKEW = Goal("std / mean of waits, median of seeds", "Figure 9",
            Target.near(PAPER_WAIT_SD_H / PAPER_WAIT_H, LOG_SHARE), said="97.34 / 30.51")  # fmt: skip
WAIT = Goal.near("mean wait", "Figure 9", PAPER_WAIT_H, LOG_SHARE, no_effect=REAL_WAIT_H, unit="h")
BOOSTS = Goal.positive("no boosts: bins 1 and 2 wait longer (log of the ratio)", "")
LIMIT = Goal.positive("no limit: the wait of bins 1 and 2 changes (log of the ratio)", "")
FREE = {name: Goal(f"free nodes: {name} ({value:,} in Titan's backfill log)", "", Target.near(value, LOG_SHARE),
                   digits=0) for name, value in (("mean", 732), ("median", 22), ("p90", 1791))}  # fmt: skip
YEAR = "a year"
READINGS = {"best": "hypothesis: the best bin", "any": "hypothesis: any fixed bin"}


def of_hypothesis(reading: str, how: str) -> Goal:
    """Return the goal of the paper's hypothesis, in per cent of the cases in which a bin and drawing anew differ."""
    what = f"{READINGS[reading]} uses up the allocation more likely than bins drawn anew, share of cases ({how})"
    return Goal(what, "hypothesis", Target(50, 100, 50), said="in most cases", unit="%", digits=0)


def use_of_projects(variant: str, jobs: str, mean: float) -> Goal:
    """Return the goal of a mean of validation 2: what renewal theory says."""
    return Goal(f"validation 2 {variant}, {jobs}: mean use", "", Target.near(mean, 0.01), digits=1)


def spread_of_projects(variant: str, model: Moments) -> Goal:
    """Return the goal of their standard deviation, of which 100 projects tell no more than a quarter."""
    return Goal(f"validation 2 {variant}: standard deviation", "", Target.near(model.sd, 0.25), digits=1)


def curves(variant: str, most: float = 0.14) -> Goal:
    """Return the goal of the largest distance of the curves of model and simulation."""
    said = "the curves coincide" if variant == "A" else ""
    return Goal(f"validation 2 {variant}: largest distance of the two curves", "Figure 4" if said else "",
                Target(0, most), said=said, digits=3)  # fmt: skip


def added_by(rules: str, share: float = 0.1) -> Goal:
    """Return the goal of a mean wait under other rules over that under Titan's, paired."""
    return Goal(f"{rules}: mean wait over that of titan", "", Target.near(1, share))


BASES = {"a": "by execution time", "b": "by requested wall time"}


def of_project(figure: str, name: str, model: Moments) -> Goal:
    """Return the goal of a project's node-hours: the formula fed with the waits it had, a quarter to each side.

    `figure` is a or b, the two curves of Figure 11. The paper has no number for them, so these are checks of ours.
    """
    return Goal(f"a project like HEP110, {BASES[figure]}, next {name}: node-hours", "", Target.near(model.mean, 0.25),
                digits=0)  # fmt: skip


LISTED = (
    Listed("equations 1-13, as printed and corrected", (VARIANCE.what, CHANCE.what)),
    Listed("section 3.4.1, validation 1", (USE.what,)),
    Listed("section 3.4.2 and Figure 4, validation 2", ("validation 2",)),
    Listed("QSS: states, arrivals, buffer, streams, bins", shown="policy bins and streams of workloads"),
    Listed("Figures 5-8", shown=f"they are drawn of the log itself, and {OWN_LOG}", attempted=False),
    Listed("Figure 9, mean wait and load", (LOAD.what, WAIT.what, SKEW.what, YEAR)),
    Listed("Figure 10, curves by bin", shown="drawn and in a table, of synthetic jobs; the paper has no numbers"),
    Listed("Figure 11 a, by execution time (HEP110)", ("a project like HEP110, by execution time",)),
    Listed("Figure 11 b, by requested wall time", ("a project like HEP110, by requested wall time",)),
    Listed("strategies: launching scheme, nodes, wall time", shown="slurmsim strategy"),
    Listed(
        "hypothesis: fixed strategies beat one drawn anew for each job",
        tuple(READINGS.values()),
        "by the model and in simulation; slurmsim strategy does both on your log",
    ),
)
