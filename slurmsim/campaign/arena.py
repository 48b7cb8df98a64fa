"""The arena: every installed policy on a fixed set of workloads, and a page of who was better at what.

The set has a version. What is on a page of one version compares with pages of the same one, whoever made them; a new
workload, load or seed makes a new version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from slurmsim import __version__
from slurmsim.campaign.conclusions import MEASURES, Ranking, Row, overall, rankings
from slurmsim.campaign.pages import differences
from slurmsim.campaign.view import difference
from slurmsim.errors import ConfigError
from slurmsim.metrics.paired import fewest
from slurmsim.policy.registry import policy_names
from slurmsim.report import page
from slurmsim.report.shortfall import shortfall

if TYPE_CHECKING:
    import pandas as pd

    from slurmsim.campaign.sweep import Sweep

VERSION = 1
BASELINE = "easy"
SEEDS = 6
TITLE = f"Arena {VERSION} (quick)"
LOSES = "Differences in wait that a test tells from chance, workload by workload and over all."
_HEAD = ("place", "policy", f"against {BASELINE}", "p")
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


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """What the page says.

    Attributes
    ----------
    lead
        What was run, and how it is compared.
    missing, failures
        Jobs that no mean shows, policy by policy; cells that failed, with their commands.
    note
        Where no test could tell anything: that. Else empty.
    boards
        A ranking over all workloads for each measure.
    losses
        Each policy, best first, and where and to whom it loses.
    """

    lead: str
    missing: list[str]
    failures: list[tuple[str, str]]
    note: str
    boards: list[Ranking]
    losses: list[tuple[str, str]]


def leaderboard(found: Sweep) -> Leaderboard:
    """The board of a run of the set. Raises ConfigError where no policy could be compared."""
    frame = found.frame()
    workloads = ", ".join(sorted(frame["workload"].unique()))
    lead = (
        f"slurmsim {__version__}, {found.done} cells: {SEEDS} seeds of {workloads}, each at twice its load. Baseline: "
        f"{BASELINE}. Differences are ratios over all workloads with their 95 % intervals by bootstrap, paired by "
        "workload and seed. *p* is corrected by Holm over all pairs of policies; policies no test tells apart share a "
        "place (docs/campaigns.md)."
    )
    missing = _missing(frame)
    frame = _whole(frame)
    boards = [board for by in MEASURES if (board := overall(frame, BASELINE, by)) is not None]
    if not boards:
        raise ConfigError("no policy could be compared with the baseline", field="--policy",
                          expected=f"beside {BASELINE}, one that runs the set")  # fmt: skip
    policies, pairs = len(boards[0].rows), boards[0].rows[0].cells
    note = ""
    if pairs < (needed := fewest(policies * (policies - 1) // 2)):
        note = f"With {pairs} pairs no test can tell {policies} policies apart; {needed} is the fewest."
    every = [*rankings(frame, BASELINE), boards[0]]
    losses = [(row.policy, _losses(row, every)) for row in boards[0].rows]
    return Leaderboard(
        lead, missing, [(f"{one.cell}: {one.error}", one.command) for one in found.failed], note, boards, losses
    )


def markdown(found: Leaderboard) -> str:
    """The page in Markdown."""
    lines = [f"# {TITLE}", "", found.lead, ""]
    if found.missing:
        lines += ["Jobs no mean shows:", "", *(f"- {line}" for line in found.missing), ""]
    if found.failures:
        failed = [f"- {what}\n  `{command}`" for what, command in found.failures]
        lines += ["Cells that failed; their policies have no place:", "", *failed, ""]
    if found.note:
        lines += [found.note, ""]
    for board in found.boards:
        lines += [f"## {_heading(board)}", "", "| " + " | ".join(_HEAD) + " |", "|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in _rows(board)] + [""]
    lines += ["## Where each policy loses", "", LOSES, ""]
    lines += [f"- **{policy}**: {where}" for policy, where in found.losses]
    return "\n".join(lines) + "\n"


def html(found: Leaderboard) -> str:
    """The page as one HTML document."""
    blocks = [page.heading(TITLE, found.lead.replace("*p*", "p"))]
    blocks += [page.banner(found.note)] if found.note else []
    blocks.append(page.section("Jobs no mean shows", page.bullets(found.missing)))
    failed = page.bullets(f"{what} ({command})" for what, command in found.failures)
    blocks.append(page.section("Cells that failed; their policies have no place", failed))
    for board in found.boards:
        rows = page.table(_HEAD, _rows(board), left=(0, 1, 2))
        blocks.append(page.section(_heading(board).replace("`", ""), rows, differences(board)))
    losses = page.table(("policy", "loses"), found.losses, left=(0, 1))
    blocks.append(page.section("Where each policy loses", page.paragraph(LOSES), losses))
    return page.page(TITLE, blocks)


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
            lines.append(f"{policy}: {said}")
    return lines


def _heading(board: Ranking) -> str:
    return f"{NAMES[board.by]} (`{board.by}`)"


def _rows(board: Ranking) -> list[tuple[str, str, str, str]]:
    found = []
    for row in board.rows:
        against, p = row.against.get(board.by), row.p.get(board.by)
        shown = "" if against is None else difference(against, board)
        behind = "" if row.complete else " (behind those that started more)"
        found.append((str(row.rank), row.policy + behind, shown, "" if p is None else f"{p:.3f}"))
    return found


def _losses(row: Row, every: Sequence[Ranking]) -> str:
    """To whom, and where."""
    said = []
    for ranking in every:
        for one in ranking.rows:
            if one.policy == row.policy and one.beaten_by:
                said.append(f"{ranking.title}: to {', '.join(one.beaten_by)}")
    return "; ".join(said) or "to nobody that a test could tell"
