"""The large machine under other choices of ours as tables: whether the paper determines its 5.2."""

from __future__ import annotations

from typing import Any

from slurmsim.experiments.claims import Claim, claim_facts, claims_table
from slurmsim.experiments.results import estimate_facts
from slurmsim.metrics.estimate import Estimate
from slurmsim.papers.parm.choices.view import decided
from slurmsim.papers.parm.contested.run import GAMMA, TRIED, ContestedResult
from slurmsim.papers.parm.data import FEWEST, MOST, PAPERS_MACHINE
from slurmsim.papers.parm.goals import LARGE
from slurmsim.report.text import table


def figures(found: ContestedResult, shape: str) -> dict[str, Estimate]:
    """Return speed-ups over both baselines, paired by seed."""
    wse = found.values(shape, "wSE")
    return {
        what: Estimate.of([b / a for a, b in zip(wse, found.values(shape, name), strict=True)])
        for what, name in zip(LARGE, (MOST, FEWEST), strict=True)
    }


def claims(found: ContestedResult) -> list[Claim]:
    """Return the paper's statements beside ours under each choice."""
    return [
        goal.called(f"contested, {shape}: {what}").measured(figures(found, shape)[what])
        for shape in TRIED for what, goal in LARGE.items()
    ]  # fmt: skip


def choices_table(found: ContestedResult) -> list[list[str]]:
    """Return a row a choice; the first row is a header, the second the paper."""
    rows = [["parallelism and variation", *LARGE], ["paper", *(goal.paper for goal in LARGE.values())]]
    return rows + [[shape, *(e.text(2) for e in figures(found, shape).values())] for shape in TRIED]


def decided_table(found: ContestedResult) -> list[list[str]]:
    """Return what all choices together say of the paper's number; the first row is a header."""
    return decided(LARGE, {shape: [figures(found, shape)] for shape in TRIED})


def as_text(found: ContestedResult) -> str:
    """All tables for a terminal."""
    return "\n\n".join([
        f"PARM on {PAPERS_MACHINE}, γ = {GAMMA:g}, what the paper leaves open varied: {found.count} jobs, "
        f"{found.seeds} replicates; ± is the 95 % interval",
        table(choices_table(found)), table(decided_table(found)), table(claims_table(claims(found))),
    ])  # fmt: skip


def as_dict(found: ContestedResult) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "seeds": found.seeds, "jobs": found.count, "claims": claim_facts(claims(found)),
        "figures": {shape: {name: estimate_facts(e) for name, e in figures(found, shape).items()} for shape in TRIED},
        "runs": found.runs,
    }  # fmt: skip
