"""The headline figures of docs/fidelity.md are the kept ones, and so are the tables of docs/fidelity-figures.md."""

from __future__ import annotations

import re
from pathlib import Path

from fidelity_tables import page, rows

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "fidelity.md").read_text("utf-8")
FIGURES = (DOCS / "fidelity-figures.md").read_text("utf-8")
NAMES = {
    "name": "recording", "slurm": "Slurm", "order": "same order", "nodes": "same nodes", "locked": "locked: starts",
    "seconds": "seconds (reordered, unexplained)", "reasons": "reasons", "free_order": "free: order",
    "start": "median start difference",
}  # fmt: skip
ROWS = [{name: row[column] for name, column in NAMES.items()} for row in rows("recordings") if row["set"] != "kinds"]
OLD = [row for row in ROWS if row["slurm"].startswith("22.05")]
NEW = [row for row in ROWS if row not in OLD]


def percent(text: str) -> float:
    return float(text.partition("%")[0])


def test_tables_are_those_of_the_kept_figures() -> None:
    assert page() == FIGURES, "python tests/docs/fidelity_tables.py writes them anew"


def test_decisions() -> None:
    other_nodes = [percent(row["nodes"]) for row in OLD if percent(row["nodes"]) < 100]
    assert {percent(row["order"]) for row in OLD} == {100} and len(other_nodes) == 1
    assert f"Of {len(OLD)} recordings of 22.05 all have the same order of starts, {len(OLD) - 1} the same nodes" in PAGE
    assert f"(the other: {other_nodes[0]} % of the jobs)" in PAGE
    alike = [row for row in NEW if percent(row["nodes"]) == 100 and row["seconds"].endswith(", 0)")]
    assert (len(NEW), len(alike)) == (13, 12) and "Of 13 of 24.11 and 26.05, twelve are decided alike" in PAGE


def test_locked_and_free() -> None:
    assert {percent(row["locked"]) for row in OLD} == {100} and "22.05: every start." in PAGE
    assert f"Newer releases: {min(percent(row['locked']) for row in NEW)} %" in PAGE
    assert f"agree in {min(percent(row['reasons']) for row in ROWS)} % of the looks" in PAGE
    builtin = [row for row in ROWS if ".builtin" in row["name"]]
    assert {percent(row["free_order"]) for row in builtin} == {100}
    starts = [int(row["start"].split()[0]) for row in builtin]
    assert f"median start {min(starts)} to {max(starts)} s off" in PAGE
    worst = max(ROWS, key=lambda row: int(row["start"].split()[0]))["start"]
    seconds, share = re.findall(r"[\d.]+", worst)
    assert f"{seconds} s off at most, {share} % of the makespan" in PAGE


def test_repeats_and_commands() -> None:
    kept = {(row["workload"], row["scheduler"]): row for row in rows("repeats")}
    for workload, scheduler, *shown in re.findall(
        r"^\| (\w+), (\w+) \| (\d) \| (\d+%) \| (\d+%) \| ([\d.]+ s) \| ([\d.]+ s) \|", PAGE, re.M
    ):
        row = kept[workload, scheduler]
        nodes, seconds = ([row[f"{pair}: {what}"].split(" (")[0] for pair in ("real, real", "replay, real")]
                          for what in ("nodes", "start difference"))  # fmt: skip
        assert shown == [row["runs"], *nodes, *seconds]
    shares = re.findall(r"\d+/\d+ \([\d.]+ %\)|(?<=\| )[\d.]+ %|[\d.]+ % alike|\d+ of \d+ \([\d.]+ %\)", PAGE)
    assert len(shares) > 9
    for share in shares:
        assert share.removesuffix(" alike").replace(" %", "%") in FIGURES.replace(" %", "%"), share
