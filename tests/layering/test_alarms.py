"""Decisions say how we would know that they were wrong. What can be counted of it is counted here.

Each test names its decision, docs/adr/NNNN. A number may fall; where it has to rise, the decision is asked again.
`test_complexity` counts for 0015, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from parsed_sources import below

from slurmsim import records
from slurmsim.policy import Policy, SlurmView, discipline, predictor
from slurmsim.records import accounting, job, partition, reservation

ROOT = Path(__file__).resolve().parents[2]
WORLD = {
    "asyncio", "io", "os", "pathlib", "random", "secrets", "selectors", "simpy", "socket", "subprocess",
    "tempfile", "threading", "time", "uuid",
}  # fmt: skip


def trees(room: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules of a folder, by path."""
    for file, tree in below(ROOT / room).items():
        yield file.relative_to(ROOT).as_posix(), tree


def imported(tree: ast.Module) -> set[str]:
    """Return what a module imports at any depth."""
    found = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    return found | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def public(cls: type) -> set[str]:
    return {name for name, value in vars(cls).items() if not name.startswith("_") and callable(value)}


def test_0001_the_core_does_not_look_at_the_world() -> None:
    seen = {path: names & WORLD for path, tree in trees("slurmsim/core") if (names := imported(tree)) & WORLD}
    assert seen == {}


def test_0005_the_port_does_not_grow_with_each_policy() -> None:
    assert len(public(Policy)) <= 8
    assert len(public(SlurmView)) <= 22


@pytest.mark.parametrize(("words", "most"), [("cast", 2), ("# type: ignore", 2)])
def test_0014_policies_reach_everything_by_its_type(words: str, most: int) -> None:
    found = 0
    for path, tree in trees("policies"):
        if words == "cast":
            called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
            found += sum(isinstance(func, ast.Name) and func.id == words for func in called)
        else:
            found += (ROOT / path).read_text(encoding="utf-8").count(words)
    assert found <= most


def test_0015_the_state_does_not_grow() -> None:
    """What one part alone decides by lies with that part."""
    tree = dict(trees("slurmsim/core/state"))["slurmsim/core/state/controller_state.py"]
    found = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    assert len(found) <= 35


def test_0015_the_live_cluster_has_records_only() -> None:
    tree = dict(trees("slurmsim/slurmctld/base"))["slurmsim/slurmctld/base/live_cluster.py"]
    cluster = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "LiveCluster")
    assert [node.name for node in cluster.body if isinstance(node, ast.FunctionDef)] == ["__init__", "now"]


def test_0017_a_predictor_learns_of_jobs_when_they_end() -> None:
    assert public(predictor.Predictor) == {"predict", "ended", "estimate"}


def test_0019_a_discipline_remembers_nothing() -> None:
    kept = [
        f"{path}:{method.name}"
        for room in ("slurmsim/policy", "policies")
        for path, tree in trees(room)
        for cls in ast.walk(tree)
        if isinstance(cls, ast.ClassDef) and any(ast.unparse(base).endswith("Discipline") for base in cls.bases)
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and method.name != "__init__"
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    assert public(discipline.Discipline) == {"refusal", "ahead_s", "check"}
    assert kept == []


def test_0021_no_fault_needs_code_in_a_command() -> None:
    asking = [path for path, tree in trees("slurmsim/commands") if any("faults" in name for name in imported(tree))]
    assert asking == []


def test_0026_a_row_holds_names_and_no_code() -> None:
    rows = [
        row
        for table in (accounting, job, partition, reservation)
        for value in vars(table).values()
        if isinstance(value, tuple)
        for row in value
        if isinstance(row, records.Field)
    ]
    parts = [part for row in rows for part in (row, row.option, row.column, row.line) if part is not None]
    assert len(rows) > 100
    assert not [part for part in parts if any(callable(getattr(part, name)) for name in type(part).__slots__)]
