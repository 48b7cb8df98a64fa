"""The line that says a command is still at work."""

import io
import sys
import time

import pytest

from slurmsim.cli import working as room
from slurmsim.shown import Stream


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(monkeypatch: pytest.MonkeyPatch, error: io.StringIO, *, shown: bool, after: float = 0.0) -> str:
    """What the terminal got from a command that works for a while and prints."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", error)
    monkeypatch.setattr(sys, "stdout", Stream(out))
    monkeypatch.setattr(room, "_AFTER_S", after)
    with room.working("slurmsim convert", shown=shown):
        last = time.monotonic() + 10
        while shown and error.isatty() and not after and not error.getvalue() and time.monotonic() < last:
            time.sleep(0.01)
        print("done")
        after_print = error.getvalue()
    assert out.getvalue() == "done\n" and error.getvalue() == after_print
    return after_print


def test_it_is_shown_until_something_is_printed(monkeypatch):
    text = seen(monkeypatch, Terminal(), shown=True)
    assert text.startswith("\r\x1b[Kslurmsim convert: ") and text.endswith(" s so far\r\x1b[K")


def test_nothing_where_it_is_quick_or_no_terminal_looks_on(monkeypatch):
    assert seen(monkeypatch, Terminal(), shown=True, after=60.0) == ""
    assert seen(monkeypatch, io.StringIO(), shown=True) == seen(monkeypatch, Terminal(), shown=False) == ""
