"""No page promises a command, option, directive, variable, file or name that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_code import ROOT, claims, pages, wrong


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_in_passing(page: Path) -> None:
    found = [(claim.where, claim.text, problem) for claim in claims(page) if (problem := wrong(claim.text))]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "slurmsim fly", "slurmsim run --fly 3", "slurmsim run --workload x --fly", "--flying", "-x --flying",
        "#SLURM runtime=3", "#SLURMSIM exit=x", "#SBATCH --flying=3", "SLURMSIM_FLYING=3", "squeue --flying -h",
        "slurmsim as alice -- squeue --flying", "docs/flying.md", "slurmsim/flying.py", "bf_flying=3", "make flying",
        "slurmsim.flying", "c.fly(3)", 'eval "$(slurmsim flying)"', "docs/adr/{0001-sans-io-core,flying}.md",
    ],
)  # fmt: skip
def test_it_notices(text: str) -> None:
    assert wrong(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "slurmsim run", "slurmsim run --mtbf 3", "--mtbf", "#SLURMSIM runtime=90 exit=3", "#SBATCH --nodes=2 -J x",
        "SLURMSIM_DATA", "squeue -a --start", "sbatch --wrap 'pip --flying'", "docs/live.md", "bf_interval=60",
        "make demo", "slurmsim.run", "c.step(3)", "anything else", "docs/adr/{0001-sans-io-core,0011-live-cluster}.md",
    ],
)  # fmt: skip
def test_it_lets_pass(text: str) -> None:
    assert wrong(text) is None


def test_it_reads_code_links_and_shell_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(claim.text.startswith("#SLURMSIM") for claim in claims(ROOT / "docs" / "live.md"))
    monkeypatch.setattr("inline_code.ROOT", tmp_path)
    mine = tmp_path / "page.md"
    mine.write_text("See `a b` and [that](gone.md).\n\n```sh\nslurmsim \\\n  fly\n```\n\n``c `d` ``\n", "utf-8")
    assert [(claim.where, claim.text) for claim in claims(mine)] == [
        ("page.md:3", "slurmsim fly"), ("page.md:1", "a b"), ("page.md:8", "c `d`"), ("page.md:1", "link to gone.md")
    ]  # fmt: skip
