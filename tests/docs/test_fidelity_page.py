"""The headline figures of docs/fidelity.md are those of docs/fidelity-figures.md, where they are measured."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "fidelity.md").read_text("utf-8")
FIGURES = (DOCS / "fidelity-figures.md").read_text("utf-8")
NAMES = (
    "name", "slurm", "jobs", "order", "nodes", "seconds", "locked", "in_time", "reasons", "launch", "free_order",
    "free_nodes", "start",
)  # fmt: skip
ROWS = [
    dict(zip(NAMES, [cell.strip() for cell in line.strip("|").split("|")], strict=False))
    for line in FIGURES.splitlines()
    if re.match(r"\| [a-z]+\d?\.[\w.]+ \| \d\d\.\d\d\.\d ", line)
]
OLD = [row for row in ROWS if row["slurm"].startswith("22.05")]
NEW = [row for row in ROWS if row not in OLD]


def percent(text: str) -> float:
    return float(text.partition("%")[0])


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
    for row in re.findall(r"^\| (\w+), (\w+) \| (\d) \| (\d+%) \| (\d+%) \| ([\d.]+ s) \| ([\d.]+ s) \|", PAGE, re.M):
        workload, scheduler, runs, real, ours, real_s, ours_s = map(re.escape, row)
        assert re.search(
            rf"^\| {workload} \| {scheduler} \| 22.05.8 \| {runs} \|[^|]+\| {real} [^|]+\| {real_s} \|[^|]+\| {ours} "
            rf"[^|]+\| {ours_s} \|", FIGURES, re.M,
        ), row  # fmt: skip
    shares = re.findall(r"\d+/\d+ \([\d.]+ %\)|(?<=\| )[\d.]+ %|[\d.]+ % alike|\d+ of \d+ \([\d.]+ %\)", PAGE)
    assert len(shares) > 9
    for share in shares:
        assert share.removesuffix(" alike") in FIGURES, share
