"""What README and docs count or cite of the source is what the source says (`figures`)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from figures import FIGURES, MARK, ROOT, answering, pages, refusing, written

import slurmsim
from slurmsim.live.programs import NAMES

TEXTS = {page: page.read_text("utf-8") for page in pages()}
COUNTED = {
    "answering commands": r"\b\d+ commands of Slurm",
    "trace schema": r"trace schema \d|`trace_schema`[^|]*\| *\d",
    "snapshot schema": r"snapshot/kinds\.py` *\| *\d",
    "workload schema": r"workload schema, version \d",
    "rooms of core": r"in \w+ rooms",
}
"""Statements that have to be marked wherever they stand: name of a figure -> how it looks when it is not."""


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_are_true(page: Path) -> None:
    assert written(TEXTS[page]) == TEXTS[page], "python tests/docs/figures.py writes them anew"


def test_every_figure_is_shown() -> None:
    assert {found["name"] for text in TEXTS.values() for found in MARK.finditer(text)} == set(FIGURES)


@pytest.mark.parametrize("name", COUNTED)
def test_none_is_typed_by_hand(name: str) -> None:
    for page, text in TEXTS.items():
        assert not re.search(COUNTED[name], text), f"{page.name}: mark it as <!-- figure: {name} -->"


def test_a_stale_figure_is_found() -> None:
    stale = "<!-- figure: answering commands -->18<!-- end --> commands"
    assert written(stale) == stale.replace("18", str(answering()))
    with pytest.raises(KeyError):
        written("<!-- figure: moons -->1<!-- end -->")


def test_the_commands_that_refuse_do_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command is called in a way in which it has something to do."""
    monkeypatch.chdir(tmp_path)  # a job that really runs leaves its output there
    calls = {name: [name] for name in NAMES if name != "slurmrestd"}
    calls |= {
        "salloc": ["salloc", "true"], "sattach": ["sattach", "--layout", "1.0"], "sbatch": ["sbatch", "--wrap", "true"],
        "sbcast": ["sbcast", "-j", "1", __file__, "b/"], "scancel": ["scancel", "1"],
        "scontrol": ["scontrol", "show", "config"],
        "scrontab": ["scrontab", "-l"], "seff": ["seff", "1"],
        "sreport": ["sreport", "cluster", "utilization"], "srun": ["srun", "true"],
        "sacctmgr": ["sacctmgr", "show", "qos"], "sstat": ["sstat", "-j", "1"],
        "strigger": ["strigger", "--set", "--up", "--program=/bin/true"],
    }  # fmt: skip
    with slurmsim.cluster(nodes=1) as c:
        c.run(["sbatch", "--wrap", "srun sleep 60"], check=True)
        said = {name: _both(c.run(words)) for name, words in calls.items()}
    assert [name for name, text in sorted(said.items()) if "not modelled" in text] == refusing()


def _both(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr
