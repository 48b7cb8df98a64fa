"""The page of public traces has the table of the readers."""

from __future__ import annotations

from trace_table import PAGE, made, table


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text("utf-8")
    assert table() in page, "python tests/docs/trace_table.py"
    assert made(page) == page
