"""The list of outcomes: what it says of a test, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream.outcomes import (
    LIST,
    end_of,
    ended,
    entry_of,
    moved,
    read,
    recounted,
    surprises,
    table,
    with_families,
    without,
)
from tests.upstream.tell import README, put

_LIST = """
[[out]]
reason = "no MPI"
tests = ["test_9_1"]
[[waits]]
reason = "later"
tests = ["test_9_2::test_a"]
[[fails]]
reason = "a defect"
tests = ["test_9_2::test_b[1]", "test_9_2::test_c"]
"""
_RESULTS = {
    "test_9_1": [{"test": "test_9_1::test_x", "outcome": "skipped", "why": "no mpicc"}],
    "test_9_2": [
        {"test": "test_9_2::test_a", "outcome": "error"}, {"test": "test_9_2::test_b[1]", "outcome": "failed"},
        {"test": "test_9_2::test_b[2]", "outcome": "skipped", "why": "no tty"},
        {"test": "test_9_2::test_c", "outcome": "passed"}, {"test": "test_9_2::test_d", "outcome": "xfailed"},
    ],
    "test_10_1": [{"test": "test_10_1::test_y", "outcome": "passed"}],
}  # fmt: skip


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "outcomes.toml"
    path.write_text(_LIST)
    return path


def test_an_entry_names_a_module_a_test_or_one_with_its_parameters(listed: Path) -> None:
    entries = read(listed)
    assert end_of(entries, "test_9_1::test_x", "skipped") == "out of scope"
    assert end_of(entries, "test_9_2::test_a[x]", "failed") == "waits"
    assert end_of(entries, "test_9_2::test_b[1]", "error") == "fails"
    assert entry_of(entries, "test_9_2::test_b[2]") is None
    assert end_of(entries, "test_9_2::test_b[2]", "skipped") == "fails"  # no reason of ours
    assert end_of(entries, "test_9_2::test_a", "passed") == "passes"


def test_the_table_counts_families_and_all(listed: Path) -> None:
    assert table(read(listed), _RESULTS).splitlines() == [
        "| family | tests | passes | fails | out of scope | not applicable | waits |",
        "|---|--:|--:|--:|--:|--:|--:|",
        "| 10 | 1 | 1 | 0 | 0 | 0 | 0 |",
        "| 9 | 6 | 2 | 2 | 1 | 0 | 1 |",
        "| **all** | 7 | 3 | 2 | 1 | 0 | 1 |",
    ]


def test_what_the_list_does_not_say_is_told(listed: Path) -> None:
    assert surprises(read(listed), _RESULTS) == [
        "test_9_2::test_b[2] skipped: ['no tty']",
        "test_9_2::test_c passes and is listed: a defect",
    ]


def test_tests_that_pass_leave_the_list_and_are_counted(listed: Path) -> None:
    names = moved(read(listed), _RESULTS)
    assert names == ["test_9_2::test_c"]
    entry = '[[fails]]\nreason = "b"\ntests = [\n    "y",\n    "z",\n]\n'
    text = '[[fails]]\nreason = "a"\ntests = [\n    "x",\n]\n\n' + entry
    assert without(text, ["x", "z"]) == '[[fails]]\nreason = "b"\ntests = [\n    "y",\n]\n'
    told = "| family | tests | passes | fails |\n|---|--:|--:|--:|\n| 9 x | 6 | 2 | 2 |\n| **all** | 7 | 3 | 2 |\n"
    assert recounted(told, names).splitlines()[2:] == ["| 9 x | 6 | 3 | 1 |", "| **all** | 7 | 4 | 1 |"]


def test_a_module_that_comes_to_its_end_is_counted_by_its_tests(listed: Path) -> None:
    listed.write_text(_LIST.replace("test_9_2::test_c", "test_9_3::module"))
    outcomes = ("passed", "failed", "passed")
    results = {"test_9_3": [{"test": f"t::{k}", "outcome": outcome} for k, outcome in enumerate(outcomes)]}
    assert ended(read(listed), results) == ["test_9_3::module"]
    assert ended(read(listed), {"test_9_3": [{"test": "module", "outcome": "error"}]}) == []
    told = "| family | tests | passes | fails |\n|---|--:|--:|--:|\n| 9 x | 6 | 2 | 2 |\n| **all** | 7 | 3 | 2 |\n"
    counted = recounted(told, [], ["test_9_3::module"], results).splitlines()[2:]
    assert counted == ["| 9 x | 8 | 4 | 2 |", "| **all** | 9 | 5 | 2 |"]


def test_no_test_is_listed_twice(listed: Path) -> None:
    listed.write_text(_LIST.replace("test_9_2::test_c", "test_9_1"))
    with pytest.raises(ValueError, match="names a test twice: test_9_1"):
        read(listed)
    assert read(LIST)


def test_the_table_goes_between_its_marks() -> None:
    text = README.read_text("utf-8")
    assert put(put(text, "| a |\n"), "| b |\n").count("| b |") == 1 and "| a |" not in put(text, "| b |\n")


def test_rows_of_whole_families_are_written_anew() -> None:
    told = """\
| family | tests | passes | fails | out of scope | not applicable | waits |
|---|--:|--:|--:|--:|--:|--:|
| 149 | 2 | 1 | 1 | 0 | 0 | 0 |
| 150 topology | 9 | 1 | 0 | 0 | 0 | 8 |
| **all** | 11 | 2 | 1 | 0 | 0 | 8 |
"""
    results = {"test_150_1": [{"test": "a::test_x", "outcome": "passed"}, {"test": "a::test_y", "outcome": "failed"}]}
    found = with_families(told, table([], results))
    assert found.splitlines()[2:] == [
        "| 149 | 2 | 1 | 1 | 0 | 0 | 0 |", "| 150 topology | 2 | 1 | 1 | 0 | 0 | 0 |",
        "| **all** | 4 | 2 | 2 | 0 | 0 | 0 |",
    ]  # fmt: skip
