"""Tables in a terminal: as wide as the window, the same text otherwise."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.cli.terminal import for_terminal, show
from slurmsim.report.text import table
from slurmsim.shown import Stream

WORDS = st.lists(st.text("abc é", max_size=60), min_size=3, max_size=3)


@given(rows=st.lists(WORDS, min_size=1, max_size=5), width=st.integers(60, 200), left=st.integers(1, 3))
def test_no_word_is_lost_and_no_wide_window_changes_a_table(rows: list[list[str]], width: int, left: int) -> None:
    text = table([["job", "reason", "rule"], *rows], left=left)
    fitted = for_terminal(text, width, color=False)
    assert sorted(re.sub(r"[\s-]", "", fitted)) == sorted(re.sub(r"[\s-]", "", text))
    dashes = text.split("\n")[1]
    widest = max(map(len, dashes.split("  ")))
    assert len(fitted.split("\n")[1]) == max(min(width, len(dashes)), len(dashes) - max(0, widest - 24))
    if len(dashes) <= width:
        assert fitted == text


def test_the_widest_column_is_wrapped_beside_the_others() -> None:
    text = "Job 1\n\n" + table(
        [["from", "rule", "n"], ["1", "as many tasks as the array allows were running", "7"]], left=2
    )
    assert for_terminal(text + "\n\nend", 36, color=False).split("\n") == [
        "Job 1",
        "",
        "from  rule                         n",
        "----  ---------------------------  -",
        "1     as many tasks as the array   7",
        "      allows were running",
        "",
        "end",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_and_not_where_they_are_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = table([["a", "b\x1b[2J"], ["1", "2"]])
    plain = Terminal()
    for colours, unwanted in ((True, ""), (False, "1")):
        monkeypatch.setenv("NO_COLOR", unwanted)
        out = Terminal()
        monkeypatch.setattr("sys.stdout", Stream(out))
        show(text)
        assert out.getvalue().startswith("\x1b[1ma  b\\u001b[2J\x1b[0m\n") == colours
        assert out.getvalue().startswith("a  b\\u001b[2J\n") != colours
    monkeypatch.setattr("sys.stdout", plain)
    show(text)
    assert plain.getvalue() == text + "\n"


def test_a_command_in_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environ = {**os.environ, "COLUMNS": "60"}
    environ.pop("NO_COLOR", None)
    with subprocess.Popen([sys.executable, "-P", "-m", "slurmsim", "predictors"], stdout=theirs, env=environ):
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:
            pass  # the terminal's other end is closed
    os.close(ours)
    lines = re.sub(rb"\x1b\[\d*m", b"", said).decode().splitlines()
    assert b"\x1b[1m" in said and max(map(len, lines[:2])) <= 60
