"""The format engine: what each form of a format prints, checked on a real squeue 22.05.8 where it is odd."""

from __future__ import annotations

import pytest

from slurmsim.commands.text.print_fields import (
    NULL,
    Column,
    Layout,
    Uncut,
    by_letter,
    by_name,
    fit,
    header,
    lines,
    parse_letters,
    parse_names,
)

COLUMNS = (
    Column("JOBID", ("id",), letter="i", names=("jobid",)),
    Column("NAME", ("name",), letter="j", names=("name",)),
    Column("NODELIST", ("nodes",), letter="N", names=("nodelist",), uncut=True, header_uncut=True),
    Column("WHERE", ("nodes",), lambda _, nodes: Uncut(nodes) if nodes else "(Resources)", letter="R", marked=True),
    Column("OLD", ("id",), letter="s", until="24.11"),
    Column("NEW", ("name",), letter="s", names=("new",), since="26.05"),
)
TABLE = {"id": [7, 12], "name": ["short", None], "nodes": ["n[1-2,5]", ""]}


def rows(text: str, release: str = "22.05") -> list[str]:
    layout = parse_letters(text, by_letter(COLUMNS, release))
    return [header(layout), *lines(layout, None, TABLE, 2)]


def long_rows(text: str) -> list[str]:
    layout = parse_names(text, by_name(COLUMNS, "22.05"))
    return [header(layout), *lines(layout, None, TABLE, 2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%i|%j", ["JOBID|NAME", "7|short", "12|(null)"]),
        ("%.5i|%5i|", ["JOBID|JOBID|", "    7|7    |", "   12|12   |"]),
        ("%.3j|%3j", ["NAM|NAM", "sho|sho", "(nu|   "]),  # a missing text leaves a narrow left column empty
        ("%6j|", ["NAME  |", "short |", "(null)|"]),
        ("%.0i", ["JOBID", "7", "12"]),
        ("id %i, %%i", ["id JOBID, JOBID", "id 7, 7", "id 12, 12"]),  # signs in a row count as one
        ("%i%", ["JOBID", "7", "12"]),
        ("plain", ["plain", "plain", "plain"]),
        ("", ["", "", ""]),
        ("%.4N|%4N", ["NODELIST|NODE", "n[1-2,5]|n[1-", "    |    "]),  # uncut only where justified right
        ("%.4R|%4R", ["WHER|WHER", "n[1-2,5]|n[1-", "(Res|(Res"]),
        ("100%i%%", ["100JOBID", "1007", "10012"]),
    ],
)
def test_letters(text: str, expected: list[str]) -> None:
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        ("%-8i", ["%-8i", "%-8i", "%-8i"], ("-",)),
        ("a%5", ["a%5", "a%5", "a%5"], ("",)),
        ("%i %q!%j", ["JOBID %q!NAME", "7 %q!short", "12 %q!(null)"], ("q",)),
        ("%%|x", ["%|x", "%|x", "%|x"], ("|",)),
    ],
)
def test_unknown_letters_are_echoed(text: str, expected: list[str], unknown: tuple[str, ...]) -> None:
    assert rows(text) == expected
    assert parse_letters(text, by_letter(COLUMNS, "22.05")).unknown == unknown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jobid", ["JOBID" + " " * 15, "7" + " " * 19, "12" + " " * 18]),
        ("JobID:5,NAME:.6", ["JOBID  NAME", "7     short", "12   (null)"]),
        ("jobid:0|,name:", ["JOBID|NAME", "7|short", "12|(null)"]),
        ("jobid:abc,name:0", ["JOBIDabcNAME", "7abcshort", "12abc(null)"]),
        (",,jobid:3,,", ["JOB", "7  ", "12 "]),
        ("jobid:-5,name:0", ["JOBID NAME", "7 short", "12 (null)"]),
        ("jobid:.3 x,name:+6|", ["JOB xNAME  |", "  7 xshort |", " 12 x(null)|"]),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert long_rows(text) == expected


def test_unknown_names_leave_their_suffix() -> None:
    layout = parse_names("jobid:3,nosuch:10|,name:0", by_name(COLUMNS, "22.05"))
    assert layout.unknown == ("nosuch",)
    assert lines(layout, None, TABLE, 2) == ["7  |short", "12 |(null)"]


def test_all_has_every_known_letter_of_the_release() -> None:
    assert rows("%all", "22.05")[0] == "JOBID|NAME|OLD|NODELIST|WHERE|"
    assert rows("%ALL", "24.11")[0] == "JOBID|NAME|NODELIST|WHERE|"
    assert rows("%all", "26.05")[0] == "JOBID|NAME|NEW|NODELIST|WHERE|"
    blank = parse_letters("%all", by_letter(COLUMNS, "24.11"), all_upper_blank=True)
    assert header(blank) == "JOBID|NAME|NODELIST |WHERE |"


def test_only_the_fields_of_the_columns_are_needed() -> None:
    assert parse_letters("%i %N", by_letter(COLUMNS, "22.05")).fields() == {"id", "nodes"}


def test_widths_by_heading() -> None:
    layout = parse_names("name:9,jobid:.2", by_name(COLUMNS, "22.05"))
    assert header(layout, {"NAME": 6}) == "NAME  JO"
    assert lines(layout, None, TABLE, 2, {"NAME": 6}) == ["short  7", "(null)12"]


def test_widths_count_bytes() -> None:
    table = {"id": [1], "name": ["näme"], "nodes": [""]}
    layout = parse_letters("%.7j|%7j|%4j|", by_letter(COLUMNS, "22.05"))
    assert lines(layout, None, table, 1) == ["  näme|näme  |näm|"]
    cut = parse_letters("%2j|", by_letter(COLUMNS, "22.05"))
    (line,) = lines(cut, None, table, 1)
    assert line.encode("utf-8", "surrogateescape") == b"n\xc3|"


def test_fit() -> None:
    assert fit("abc", 2, True) == "ab"
    assert fit("abc", 2, True, cut=False) == "abc"
    assert fit("abc", 2, False, cut=False) == "ab"
    assert fit(NULL, 4, False) == "    "
    assert fit("".join(["(nu", "ll)"]), 4, False) == "(nul"  # a text that only looks like it
    assert fit("x", -3, False) == "x "


def test_a_layout_without_columns_repeats_its_text() -> None:
    assert lines(Layout("100%", (), ()), None, {}, 2) == ["100%", "100%"]
