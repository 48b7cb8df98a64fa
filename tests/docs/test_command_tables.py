"""The README's table of commands is that of the parser, and the README is short."""

from __future__ import annotations

from collections import Counter

from command_tables import GROUPS, PAGE, PAGES, helps, page


def test_the_page_has_the_commands_of_the_parser() -> None:
    assert PAGE.read_text("utf-8") == page(), "python tests/docs/command_tables.py writes it anew"


def test_every_command_is_in_one_group() -> None:
    named = Counter(name for names in GROUPS.values() for name in names)
    assert named == dict.fromkeys(helps(), 1)
    assert set(PAGES) <= set(named)


def test_the_readme_is_short() -> None:
    assert len(PAGE.read_text("utf-8").splitlines()) <= 120


def test_the_two_commands_are_first_and_are_what_the_checks_run() -> None:
    first = PAGE.read_text("utf-8").partition("```sh\n")[2].partition("```")[0]
    assert [" ".join(line.split()[:2]) for line in first.splitlines()] == ["make demo", "make test"]
    makefile = (PAGE.parent / "Makefile").read_text("utf-8")
    assert all(f"\n{target}: " in makefile for target in ("demo", "test"))
    assert "exec make --no-print-directory test\n" in (PAGE.parent / ".ci" / "run").read_text("utf-8")
