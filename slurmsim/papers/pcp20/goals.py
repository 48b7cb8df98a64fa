"""What the papers on PCP'20 and its relatives say, and which of our values would mean the same; written before a run.

Tolerances. A ratio of times may differ by a quarter of the paper's: machine and solver are others. Where the paper says
"nearly all" we want 95 %, for "the vast majority" 80 %. Of two models one is faster on half of the instances if there
is nothing in it: that is "no effect".
"""

from slurmsim.experiments.claims import Goal, Listed
from slurmsim.experiments.verdicts import Target

TABLES_1_2 = {
    ("kit", "L2"): {"hcp19": 292, "pcp20": 537}, ("kit", "R"): {"hcp19": 270, "pcp20": 662},
    ("eurora", "D"): {"hcp19": 411, "pcp19": 565, "pcp20": 252},
    ("eurora", "R"): {"hcp19": 385, "pcp19": 512, "pcp20": 364},
}  # fmt: skip
"""Mean time of a dispatch, ms, by system and how durations are known. PCP'19 did not finish on KIT."""
WHOLE_S: dict[tuple[str, str], dict[str, int | None]] = {
    ("kit", "L2"): {"hcp19": 58_934, "pcp19": None, "pcp20": 108_608},
    ("kit", "R"): {"hcp19": 54_719, "pcp19": None, "pcp20": 133_086},
    ("eurora", "D"): {"hcp19": 219_142, "pcp19": 301_078, "pcp20": 134_240},
    ("eurora", "R"): {"hcp19": 204_363, "pcp19": 272_925, "pcp20": 193_751},
}
"""The time of a whole simulation, s; None did not finish."""
RATIO_SHARE = 0.25
BUDGET_S = 600.0  # of CPU time, for a run under PCP'20; ours
EVALUATION = "section on saved instances"

VARIABLES = Goal("variables, PCP'20 / PCP'19: median", "Figure 6", Target(0, 0.1, 1.0), said="< 0.1", digits=3)
ALL_BELOW = Goal("… of all instances below 0.1", "Figure 6", Target(100, 100), 100, unit="%", digits=0)
TENFOLD = Goal("PCP'20's variables on ten times the nodes: the same", "model", Target(100, 100), said="yes", unit="%",
               digits=0)  # fmt: skip
EQUAL = Goal("PCP'20 and PCP'19 with one objective", EVALUATION, Target(80, 100), said="most", unit="%", digits=0)
BETWEEN = Goal("… ratio of times between 0.01 and 1, paper's search", "Figure 7", Target(95, 100), said="nearly all",
               unit="%", digits=0)  # fmt: skip
LESS_CPU = tuple(
    (Goal(what, "Figure 7", Target(95, 100, 50.0), said="nearly all", unit="%", digits=0), mine, theirs)
    for what, mine, theirs in (
        ("PCP'20 less CPU than PCP'19 to one objective, paper's search", "pcp20_paper", ("pcp19_paper",)),
        ("… CP-SAT's own search", "pcp20_solver", ("pcp19_solver",)),
        ("… paper's search, PCP'19 with its quicker one", "pcp20_paper", ("pcp19_paper", "pcp19_solver")),
    )
)
"""With the columns of an instance that are compared: ours, and the quickest of theirs."""


BELOW = Goal("eurora: dispatches of PCP'20 that take less than 252 ms", "Tables 1 and 2", Target(95, 100),
             said="252 ms in the mean", unit="%", digits=1)  # fmt: skip


def small_at(system: str, pace: float) -> Goal:
    """Return the goal that the ratio of variables is below the paper's at a pace of arrivals."""
    return Goal(f"{system}, arrivals × {pace:g}: share of instances with a ratio of variables below 0.1", "Figure 6",
                Target(100, 100), 100, unit="%", digits=0)  # fmt: skip


def budget(system: str) -> Goal:
    """Return our goal for the CPU time of a whole run under PCP'20."""
    return Goal(f"{system}: CPU time of a whole run under PCP'20", "", Target(0, BUDGET_S), unit="s", digits=0)


def of_ratio(system: str, letter: str, name: str) -> Goal | None:
    """Return the goal of the time of a dispatch over HCP'19's; None where the paper has no number."""
    paper = TABLES_1_2.get((system, letter), {})
    if name not in paper or name == "hcp19":
        return None
    return Goal.near(f"{system}, {letter}: {name} over hcp19", "Tables 1 and 2", round(paper[name] / paper["hcp19"], 2),
                     RATIO_SHARE, no_effect=1, said=f"{paper[name]} / {paper['hcp19']}")  # fmt: skip


def whole_run(system: str, letter: str, name: str) -> Goal:
    """Return the goal of the time of all dispatches of a run over HCP'19's."""
    paper = WHOLE_S[system, letter]
    mine, base = paper[name] or 0, paper["hcp19"] or 1
    return Goal.near(f"whole run, {system}, {letter}: {name} over hcp19", "Tables 1 and 2", round(mine / base, 2),
                     RATIO_SHARE, no_effect=1, said=f"{mine:,} / {base:,}")  # fmt: skip


def stalls(system: str, letter: str) -> Goal:
    """Return the goal that a run under PCP'19 does not end, in CPU seconds; the bound is ours."""
    return Goal(f"whole run, {system}, {letter}: PCP'19 does not finish", "Tables 1 and 2", Target(low=BUDGET_S),
                said="∞", unit="s", digits=0)  # fmt: skip


def faster(one: str, other: str) -> Goal:
    """Return the goal that a dispatcher takes less time than another, as a ratio."""
    return Goal(f"{one} faster than {other}", "Tables 1 and 2", Target(0, 1, 1.0), said="yes")


LISTED = (
    Listed("model: boxes, symmetry, search", (VARIABLES.what, ALL_BELOW.what, TENFOLD.what)),
    Listed("predecessors HCP'19 and PCP'19", shown="policies hcp19 and pcp19, checked by trying everything"),
    Listed("Tables 1 and 2, times of a dispatch", ("HCP'19 faster", "PCP'20 faster")),
    Listed(
        "Tables 1 and 2, whole simulations of KIT and Eurora",
        ("whole run, ",),
        "of shorter windows, and KIT's machine with the jobs of another one",
    ),
    Listed("Figures 4 and 5, quality of service", shown="tables of the parts on quality; the paper has no numbers"),
    Listed("Figure 6, variables", (VARIABLES.what, ALL_BELOW.what, "eurora, arrivals", "mixed, arrivals")),
    Listed("Figure 7, times and objectives", ("PCP'20 less CPU", "… CP-SAT", "… paper's", BETWEEN.what, EQUAL.what)),
    Listed("a dispatch takes 252 ms", (BELOW.what,), "absolute times are of another machine and solver"),
    Listed("prediction by the last two jobs", shown="predictor last_two, rows with .L2"),
)
