"""The arena: every installed policy on a fixed set of workloads, and a page of who was better at what.

The set has a version. What is on a page of one version compares with pages of the same one, whoever made them; a new
workload, load or seed makes a new version.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from slurmsim import __version__
from slurmsim.campaign.conclusions import MEASURES, Ranking, Row, overall, rankings
from slurmsim.campaign.view import difference
from slurmsim.errors import ConfigError
from slurmsim.metrics.paired import fewest
from slurmsim.policy.registry import policy_names
from slurmsim.report.shortfall import shortfall

if TYPE_CHECKING:
    import pandas as pd

    from slurmsim.campaign.sweep import Sweep

VERSION = 1
BASELINE = "easy"
SEEDS = 6
NAMES = {"mean_wait_so_far_s": "wait", "mean_bounded_slowdown": "slowdown", "utilization_central": "use"}


def grid(policies: Sequence[str] = ()) -> dict[str, Any]:
    """The set, for `policies` (as ``--policy`` takes them; all installed ones if none are named) beside the baseline.

    ``site``
        The bundled sample on its own slurm.conf (partitions, GPUs, arrays), submit times jittered by 10 minutes.
    ``lublin``
        Lublin and Feitelson's model, 32 nodes.
    ``mix``
        Poisson arrivals and lognormal run times of several partitions, 32 nodes.

    All at twice their load, so that there is a queue.
    """
    chosen = list(dict.fromkeys([BASELINE, *(policies or policy_names())]))
    sample = files("slurmsim_workloads.samples")
    return {
        "name": f"arena {VERSION}, quick", "baseline": BASELINE, "loads": [2], "seeds": SEEDS, "policies": chosen,
        "workloads": [
            {"name": "site", "workload": str(sample / "sample.parquet"), "conf": str(sample / "sample.conf"),
             "jobs": 60, "jitter": 600},
            {"name": "lublin", "workload": "generate:lublin:jobs=60,nodes=32"},
            {"name": "mix", "workload": "generate:mix:jobs=60,nodes=32"},
        ],
    }  # fmt: skip


def page(found: Sweep) -> str:
    """The leaderboard, in Markdown."""
    frame = found.frame()
    workloads = ", ".join(sorted(frame["workload"].unique()))
    lines = [
        f"# Arena {VERSION} (quick)", "",
        f"slurmsim {__version__}, {found.done} cells: {SEEDS} seeds of {workloads}, each at twice its load. Baseline: "
        f"{BASELINE}. Differences are ratios over all workloads with their 95 % intervals by bootstrap, paired by "
        "workload and seed. *p* is corrected by Holm over all pairs of policies; policies no test tells apart share a "
        "place (docs/campaigns.md).", "",
    ]  # fmt: skip
    lines += _missing(frame) + _failures(found)
    frame = _whole(frame)
    boards = [board for by in MEASURES if (board := overall(frame, BASELINE, by)) is not None]
    if not boards:
        raise ConfigError("no policy could be compared with the baseline", field="--policy",
                          expected=f"beside {BASELINE}, one that runs the set")  # fmt: skip
    policies, pairs = len(boards[0].rows), boards[0].rows[0].cells
    if pairs < (needed := fewest(policies * (policies - 1) // 2)):
        lines += [f"With {pairs} pairs no test can tell {policies} policies apart; {needed} is the fewest.", ""]
    for board in boards:
        lines += _board(board)
    lines += ["## Where each policy loses", "",
              "Differences in wait that a test tells from chance, workload by workload and over all.", ""]  # fmt: skip
    every = [*rankings(frame, BASELINE), boards[0]]
    lines += [f"- **{row.policy}**: {_losses(row, every)}" for row in boards[0].rows]
    return "\n".join(lines) + "\n"


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Without policies some of whose cells failed: nobody could be compared where they have none."""
    cells = frame.groupby("policy")["key"].transform("size")
    return frame[cells == cells.max()]


def _missing(frame: pd.DataFrame) -> list[str]:
    """What no mean shows, policy by policy."""
    lines = []
    for policy, cells in frame.groupby("policy", sort=True):
        counts = {name: int(cells[name].sum()) for name in ("jobs", "refused", "never_started", "dropped")}
        if said := shortfall(counts):
            lines.append(f"- {policy}: {said}")
    return ["Jobs no mean shows:", "", *lines, ""] if lines else []


def _failures(found: Sweep) -> list[str]:
    lines = [f"- {one.cell}: {one.error}\n  `{one.command}`" for one in found.failed]
    return ["Cells that failed; their policies have no place:", "", *lines, ""] if lines else []


def _board(board: Ranking) -> list[str]:
    lines = [f"## {NAMES[board.by]} (`{board.by}`)", "", f"| place | policy | against {BASELINE} | p |",
             "|---|---|---|---|"]  # fmt: skip
    for row in board.rows:
        against, p = row.against.get(board.by), row.p.get(board.by)
        shown = "" if against is None else difference(against, board)
        behind = "" if row.complete else " (behind those that started more)"
        lines.append(f"| {row.rank} | {row.policy}{behind} | {shown} | {'' if p is None else f'{p:.3f}'} |")
    return [*lines, ""]


def _losses(row: Row, every: Sequence[Ranking]) -> str:
    """To whom, and where."""
    said = []
    for ranking in every:
        for one in ranking.rows:
            if one.policy == row.policy and one.beaten_by:
                said.append(f"{ranking.title}: to {', '.join(one.beaten_by)}")
    return "; ".join(said) or "to nobody that a test could tell"
