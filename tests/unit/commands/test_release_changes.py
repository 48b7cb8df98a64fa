"""What differs between releases is looked up by name, and the catalogue of names is complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from parsed_sources import below

from slurmsim.commands.sacct import fields as sacct_fields
from slurmsim.commands.sacctmgr import fields as sacctmgr_fields
from slurmsim.commands.scontrol.job_text import LINES
from slurmsim.commands.sinfo import columns as node_columns
from slurmsim.commands.sinfo.options import ROWS as SINFO_OPTIONS
from slurmsim.commands.squeue import columns as job_columns
from slurmsim.commands.squeue import step_columns
from slurmsim.commands.squeue.options import ROWS as SQUEUE_OPTIONS
from slurmsim.commands.submit.options.job_options import OPTIONS
from slurmsim.core.records.release_rules import ReleaseRules
from slurmsim.records.job import CARRIED
from slurmsim.records.node import NODE
from slurmsim.records.reservation import RESERVATION
from slurmsim.release_changes import CHANGES, OTHERWISE, REFUSED, SHOWN, since
from slurmsim.releases import RECORDED_RELEASES, RELEASES
from slurmsim.rest.routes import ROUTES

ROOT = Path(__file__).resolve().parents[3]
RELEASE = re.compile(r"\d\d\.\d\d(\.\d+)?")


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Modules in which a release or a change may be named."""
    for folder in ("slurmsim", "policies", "workloads"):
        for path, tree in below(ROOT / folder).items():
            if re.search(r"""["']\d\d\.\d\d|release_changes""", path.read_text("utf-8")):
                yield str(path.relative_to(ROOT)), tree


def literals(node: ast.AST) -> list[int]:
    """Lines on which something is compared with a release that is written out."""
    found = []
    for each in ast.walk(node):
        if isinstance(each, ast.Compare):
            sides: list[ast.AST] = []
            for side in (each.left, *each.comparators):
                sides += side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
        elif isinstance(each, ast.MatchValue):
            sides = [each.value]
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "startswith":
            sides = list(each.args)
        else:
            continue
        values = [side.value for side in sides if isinstance(side, ast.Constant)]
        if any(isinstance(value, str) and RELEASE.fullmatch(value) for value in values):
            found.append(each.lineno if isinstance(each, ast.expr) else each.value.lineno)
    return found


def names(node: ast.AST) -> list[str]:
    """The changes `since` is asked for; it is asked by name alone."""
    found = []
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "since":
            name = call.args[1]
            assert isinstance(name, ast.Constant) and isinstance(name.value, str), ast.unparse(call)
            found.append(name.value)
    return found


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ('release >= "24.11"', True),
        ('"24.11" <= release', True),
        ('session.release[:5] == "24.11"', True),
        ('release in ("22.05", "24.11")', True),
        ('release.startswith("24.11")', True),
        ('match release:\n    case "24.11":\n        pass', True),
        ('row({"22.05": 1, "24.11": 2}, release)', False),
        ('since(release, "node_count_lists")', False),
        ('first <= release and text == "24.11 CPUs"', False),
    ],
)
def test_the_search_finds_what_it_looks_for(line: str, bad: bool) -> None:
    assert bool(literals(ast.parse(line))) == bad


def test_no_release_is_written_where_it_is_compared() -> None:
    searched = dict(trees())
    assert "slurmsim/commands/small/sdiag.py" in searched and "slurmsim/slurmctld/fields/job_fields.py" in searched
    found = [f"{path}:{line}" for path, tree in searched.items() for line in literals(tree)]
    assert not found, "name the difference in slurmsim/release_changes.py"


def test_changes_that_are_asked_for_are_those_of_the_catalogue() -> None:
    used = {name for _, tree in trees() for name in names(tree)}
    assert used - CHANGES.keys() == set(), "not in the catalogue"
    assert CHANGES.keys() - used == set(), "asked for nowhere"


def test_rows_are_as_they_should_be() -> None:
    for name, (first, command, text, harm) in CHANGES.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert first in RELEASES[1:], name  # the first is what all others are compared with
        assert command and text.endswith(".") and ". " not in text and harm in (REFUSED, OTHERWISE, SHOWN), name
    assert len({text for _, _, text, _ in CHANGES.values()}) == len(CHANGES)


def spans() -> Iterator[tuple[str, ...]]:
    """The releases that rows of the tables name: the first, and the first without."""
    tables = (OPTIONS, CARRIED, NODE, RESERVATION, job_columns.COLUMNS, step_columns.COLUMNS, node_columns.COLUMNS,
              sacct_fields.FIELDS, sacctmgr_fields.FIELDS)  # fmt: skip
    yield from ((row.since, row.until) for table in tables for row in table)
    yield from (tuple(row[-2:]) for table in (SQUEUE_OPTIONS, SINFO_OPTIONS) for row in table)
    yield from (tuple(row[:2]) for row in LINES)
    yield from ((route.since,) for route in ROUTES)
    yield from (each.metadata["span"] for each in fields(ReleaseRules) if each.metadata)


def test_each_row_names_a_release_there_is() -> None:
    named = [one for span in spans() for one in span if one]
    assert len(named) > 200 and set(named) <= set(RELEASES[1:])
    assert all(first < last for first, last in (span for span in spans() if len(span) == 2) if last)


def test_a_change_lasts() -> None:
    assert [since(release, "node_count_lists") for release in ("22.05", "22.05.8")] == [False] * 2
    assert [since(release, "node_count_lists") for release in ("23.02", "24.11.5", "25.05", "26.05")] == [True] * 4
    assert [since(release, "expedited_requeue") for release in RECORDED_RELEASES] == [False, False, True]


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError, match="no_such_change"):
        since("24.11", "no_such_change")
