"""What the paper on Lomonosov says, and which of our values would mean the same; written before a run.

Tolerances. Gains of first jobs may differ by a fifth, delays of the others by half of their 10 s. The start of all jobs
may differ from the paper's by one point, utilization by half a point. The paper's machine is saturated (88.7 to
92.3 %); on a log with room to spare utilization cannot change: it is said to be so by construction.
"""

from slurmsim.experiments.claims import Goal, Listed
from slurmsim.experiments.verdicts import Target

HISTORY = "the history of Lomonosov is not public"
FIRST = Goal.near("first job of each user and week, start", "conclusion", -9, 0.2, no_effect=0, unit="%", digits=1,
                  said="up to 9 % earlier")  # fmt: skip
FIRST_MIN = Goal.near("the same, per week", "conclusion", -9.5, 0.2, no_effect=0, unit="min", digits=1,
                      said="9.5 min earlier")  # fmt: skip
ALL = Goal("all jobs, start", "conclusion", Target(-0.8, 1.2), 0.2, unit="%", digits=1)
OTHERS = Goal.near("jobs that are not the first, delay", "conclusion", 10, 0.5, no_effect=0, unit="s", digits=0)
USE = Goal("utilization", "conclusion", Target(-0.5, 0.5), 0, said="unchanged", unit="points")
STATES_SHARE = 0.1
OF_STATE = {
    state: Goal.near(f"jobs by final state: {state}", "Table 1", round(100 * jobs / 828_389, 1), STATES_SHARE, unit="%",
                     digits=1, constructed=True, said=f"{jobs:,} of 828,389")
    for state, jobs in (("timeout", 77_668), ("failed", 267_550))
}  # fmt: skip
"""Shares of Lomonosov's jobs; the synthetic partition is made with them."""
INFINITE = Goal("limit infinite: as the base scheduler", "", Target(1, 1), digits=0)

LISTED = (
    Listed(
        "Table 1, jobs by final state",
        ("jobs by final state",),
        f"{HISTORY}; the synthetic partition has its shares, but no job that is cancelled or loses a node",
    ),
    Listed("five metrics, weights, efficiency", shown="slurmsim report and the second table of each part"),
    Listed("first jobs start 9 % or 9.5 min earlier", (FIRST.what, FIRST_MIN.what)),
    Listed("0.2 % and 10 s later for the others", (ALL.what, OTHERS.what)),
    Listed("utilization unchanged", (USE.what,)),
    Listed(
        "Figures 2 and 3, users queued and running", shown="drawn for logs at higher loads; their means are in a table"
    ),
    Listed(
        "saturation, 88.7 to 92.3 %",
        shown="the load of regular4 is set to 0.923, those of three logs to 0.85 to 0.95: by construction",
    ),
)
