"""The table of docs/modelled.md says what the option tables say, of which docs/configuration.md is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slurmsim.config.line_options import PARTITION_KEYS
from slurmsim.config.option import Status
from slurmsim.config.options import SCALARS
from slurmsim.config.scheduler_options import SUB_OPTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "modelled.md"
VERDICTS = {**PARTITION_KEYS, **SUB_OPTIONS, **SCALARS}


def columns() -> dict[str, list[str]]:
    """Column of the table -> the names of keys in it."""
    rows = [line.strip("|").split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    head = [cell.strip() for cell in rows[0]]
    found: dict[str, list[str]] = {name: [] for name in head}
    for row in rows[2:]:
        for name, cell in zip(head, row, strict=True):
            found[name] += [key for key in re.findall(r"`([\w/*]+)`", cell) if key.lower() in VERDICTS]
    return found


def test_the_table_names_keys() -> None:
    found = columns()
    assert {"DefMemPerCPU", "MaxMemPerCPU", "DefCpuPerGPU"} <= set(found["in this version"])
    assert "PrioritySiteFactorPlugin" in found["not yet"] and "KillWait" not in found["not yet"]


@pytest.mark.parametrize("column", ["in this version", "not yet", "not planned"])
def test_page_and_option_tables_agree(column: str) -> None:
    good = Status.HONOURED if column == "in this version" else Status.NOT_MODELLED
    assert {name: VERDICTS[name.lower()].status for name in columns()[column]} == dict.fromkeys(columns()[column], good)
