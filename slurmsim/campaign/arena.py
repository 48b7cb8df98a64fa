"""The arena: every installed policy on a fixed set of workloads, and a page of who was better at what.

The sets, a quick and a full one, have a version. Pages of one set and version can be compared, wherever they were made.
A new workload, load, condition or seed makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from slurmsim import __version__
from slurmsim.campaign.conclusions import MEASURES, Ranking, Row, overall, rankings, too_few
from slurmsim.campaign.pages import differences
from slurmsim.campaign.view import difference, place
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.policy.registry import policy_names
from slurmsim.report import page
from slurmsim.report.shortfall import SHORT_OF, shortfall

if TYPE_CHECKING:
    import pandas as pd

    from slurmsim.campaign.sweep import Sweep

VERSION = 2
BASELINE = "easy"
LOSES = "Differences in wait that a test tells from chance, workload by workload and over all."
_HEAD = ("place", "policy", f"against {BASELINE}", "p")
NAMES = dict(zip(MEASURES, ("wait", "slowdown", "use"), strict=True))


@dataclass(frozen=True, slots=True)
class Set:
    """A fixed set of cells for each policy."""

    name: str  # ``quick`` or ``full``
    # seeds, jobs: how many seeds of each workload, and jobs in each
    seeds: int
    jobs: int
    loads: tuple[float, ...]  # factors of a workload's own load
    models: Mapping[str, str]  # generators and what they are told beside the number of jobs, by the name on the page
    settings: tuple[Mapping[str, Any], ...] = ()  # conditions: tables of a grid

    @property
    def title(self) -> str:
        """Of its page."""
        return f"Arena {VERSION} ({self.name})"


QUICK = Set("quick", 6, 60, (2,), {"lublin": "lublin:nodes=32", "mix": "mix:nodes=32"})
FULL = Set(
    "full", 5, 100, (1, 2),
    {
        "lublin": "lublin:nodes=64,load=0.5", "exact": "lublin:nodes=64,load=0.5,estimate=exact",
        "mix": "mix:nodes=32,load=0.5",
    },
    ({"name": "plain"}, {"name": "failing", "mtbf": 400_000, "mttr": 7_200}),
)  # fmt: skip
"""Half of what the cluster can do, and all of it; with and without nodes that fail every five days. Over all that makes
80 pairs; more seeds would cost as much again, and on one workload eighteen policies could still not be told apart."""


def grid(policies: Sequence[str] = (), of: Set = QUICK) -> dict[str, Any]:
    """Return the grid of the set for `policies` beside the baseline.

    `policies` are named as ``--policy`` takes them; without any all installed ones are taken.

    Its workloads are those of its models, and ``site``: the bundled sample on its own slurm.conf (partitions, GPUs,
    arrays), submit times jittered by 10 minutes.
    """
    chosen = list(dict.fromkeys([BASELINE, *(policies or policy_names())]))
    sample = files("slurmsim_workloads.samples")
    site = {"name": "site", "workload": str(sample / "sample.parquet"), "conf": str(sample / "sample.conf"),
            "jobs": of.jobs, "jitter": 600}  # fmt: skip
    made = [{"name": name, "workload": f"generate:{model},jobs={of.jobs}"} for name, model in of.models.items()]
    settings = {"settings": [dict(one) for one in of.settings]} if of.settings else {}
    return {
        "name": f"arena {VERSION}, {of.name}", "baseline": BASELINE, "loads": list(of.loads), "seeds": of.seeds,
        "policies": chosen, "workloads": [site, *made], **settings,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """What the page says."""

    title: str  # of the page
    lead: str  # what was run, and how it is compared
    # missing, failures: jobs that no mean shows, policy by policy; cells that failed, with their commands
    missing: list[str]
    failures: list[tuple[str, str]]
    note: str  # where no test could tell anything: that. Else empty.
    boards: list[Ranking]  # a ranking over all workloads for each measure
    # for each policy, best first: the measures on which it loses, and the policies that beat it
    losses: list[tuple[str, str]]


def leaderboard(found: Sweep, of: Set = QUICK) -> Leaderboard:
    """Return the board of a run of the set `of`. Raises ConfigError where no policy could be compared."""
    frame = found.frame()
    workloads = ", ".join(sorted(frame["workload"].unique()))
    loads = " and ".join(f"{load:g}" for load in of.loads)
    under = "; ".join(str(one["name"]) for one in of.settings)
    lead = (
        f"slurmsim {__version__}, {found.done:,} cells: {of.seeds} seeds of {workloads}, {of.jobs} jobs each, at "
        f"{loads} times their load{f'; {under}' if under else ''}. Baseline: {BASELINE}. Differences are ratios over "
        "all workloads with their 95 % intervals by bootstrap, paired by workload and seed. *p* is corrected by Holm "
        "over the pairs with the baseline"
    )
    missing = _missing(frame)
    frame = _whole(frame)
    boards = [board for by in MEASURES if (board := overall(frame, BASELINE, by)) is not None]
    if not boards:
        raise ConfigError("no policy could be compared with the baseline", field="--policy",
                          expected=f"beside {BASELINE}, one that runs the set")  # fmt: skip
    policies, pairs = len(boards[0].rows), boards[0].rows[0].cells
    note = too_few(pairs, policies)
    lead += f"{'' if note else '; policies no test tells apart share a place'} (docs/campaigns.md)."
    every = [*rankings(frame, BASELINE), boards[0]]
    losses = [(row.policy, _losses(row, every)) for row in boards[0].rows]
    return Leaderboard(
        of.title,
        lead,
        missing,
        [(f"{one.cell}: {one.error}", one.command) for one in found.failed],
        note,
        boards,
        losses,
    )


def markdown(found: Leaderboard) -> str:
    """Return the page in Markdown."""
    lines = [f"# {found.title}", "", found.lead, ""]
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
    """Return the page as one HTML document."""
    blocks = [page.heading(found.title, found.lead.replace("*p*", "p"))]
    blocks += [page.banner(found.note)] if found.note else []
    blocks.append(page.section("Jobs no mean shows", page.bullets(found.missing)))
    failed = page.bullets(f"{what} ({command})" for what, command in found.failures)
    blocks.append(page.section("Cells that failed; their policies have no place", failed))
    for board in found.boards:
        rows = page.table(_HEAD, _rows(board), left=(0, 1, 2))
        blocks.append(page.section(_heading(board).replace("`", ""), rows, differences(board)))
    losses = page.table(("policy", "loses"), found.losses, left=(0, 1))
    blocks.append(page.section("Where each policy loses", page.paragraph(LOSES), losses))
    return page.page(found.title, blocks)


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` without policies that have failed cells: a cell counts only where every policy has it."""
    cells = frame.groupby("policy")["key"].transform("size")
    whole: pd.DataFrame = frame[cells == cells.max()]
    return whole


def _missing(frame: pd.DataFrame) -> list[str]:
    """Return what no mean shows; policies of which the same is to be said share a line."""
    lines: dict[str, list[str]] = {}
    for policy, cells in frame.groupby("policy", sort=True):
        counts = {name: int(cells[name].sum()) for name in SHORT_OF if name in cells}
        if said := shortfall(counts):
            lines.setdefault(said, []).append(str(policy))
    return [f"{', '.join(policies)}: {said}" for said, policies in lines.items()]


def _heading(board: Ranking) -> str:
    return f"{NAMES[board.by]} (`{board.by}`)"


def _rows(board: Ranking) -> list[tuple[str, str, str, str]]:
    found = []
    for row in board.rows:
        against, p = row.against.get(board.by), row.p.get(board.by)
        shown = "" if against is None else difference(against, board)
        behind = "" if row.complete else " (behind those that started more)"
        found.append((place(row), row.policy + behind, shown, "" if p is None else f"{p:.3f}"))
    return found


def _losses(row: Row, every: Sequence[Ranking]) -> str:
    """Name the policies that beat this one, measure by measure."""
    said = []
    for ranking in every:
        for one in ranking.rows:
            if one.policy == row.policy and one.beaten_by:
                said.append(f"{ranking.title}: to {', '.join(one.beaten_by)}")
    return "; ".join(said) or "to no policy that a test could tell"
