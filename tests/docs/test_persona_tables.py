"""The table of personas in docs/fidelity-figures.md is that of the kept figures."""

from __future__ import annotations

from pathlib import Path

from persona_tables import PAGE, page, table


def test_the_page_has_the_figures_that_are_kept() -> None:
    assert Path(PAGE).read_text("utf-8") == page(), "run python tests/docs/persona_tables.py"


def test_rows_are_personas_and_kinds() -> None:
    figures = {"22.05": {"sessions": 1, "persona": {"pi": [4, 3]}, "kind": {"gpu": [4, 3]}, "again": [5, 5],
                         "values": [8, 6]},
               "24.11": {"sessions": 0, "persona": {}, "kind": {"lab": [0, 0]}}}  # fmt: skip
    assert table(figures).splitlines()[2:] == [
        "| persona pi | 3/4 (75.0%) |  |",
        "| kind gpu | 3/4 (75.0%) |  |",
        "| kind lab |  |  |",
        "| **all** | 3/4 (75.0%) |  |",
        "| real Slurm's third recording | 5/5 (100.0%) |  |",
        "| values of JSON and REST | 6/8 (75.0%) |  |",
        "| sessions | 1 | 0 |",
    ]
