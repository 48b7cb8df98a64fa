"""Blocks of SWF are read alike by the kernel, as Python and as extension, by NumPy, and line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.kernel_forms import FORMS, kernel

from slurmsim.errors import WorkloadError
from slurmsim_workloads.swf import format as swf_format
from slurmsim_workloads.swf import table

NUMBER = st.integers(-(10**15) + 1, 10**15 - 1).map(str) | st.integers(-1, 300).map(str)
ODD = st.sampled_from(["", "-", "--1", "1-", "+1", "1.5", "1e3", "9" * 16, "x", "00", "-0", "1_0", "\0", "2\x1c3"])
BLANK = st.sampled_from([" ", "  ", "\t", "\r", " \x0b"])
WHOLE = st.lists(st.tuples(*[NUMBER] * 18).map(list) | st.just([]), min_size=1, max_size=6)
ANY = st.lists(st.lists(NUMBER | ODD, max_size=20) | st.tuples(*[NUMBER | ODD] * 18).map(list), min_size=1, max_size=4)


def text_of(lines: list[list[str]], blank: str) -> bytes:
    return "".join(f"{blank.join(line)}{blank}\n" for line in lines).encode()


def by_kernel(form: str, block: bytes, first_line: int) -> Any:
    most = block.count(b"\n") + 1
    values, lines = np.zeros((18, most), np.int64), np.zeros(most, np.int64)
    end = kernel("numbers", form).columns_of(block, first_line, 1, values, lines)
    return None if end < 0 else (values[:, 1:end].tolist(), lines[1:end].tolist())


def by_line(block: bytes, first_line: int) -> Any:
    """Numbers and lines read one by one; None for a line that is no record."""
    found = table.SwfTable(np.empty((0, 18), np.int64), np.empty(0, np.int64))
    try:
        values, lines = table._parse_slow(block, first_line, Path("x.swf"), False, found)
    except WorkloadError:
        return None
    return values.tolist(), lines.tolist()


@FORMS
@given(WHOLE, BLANK, st.integers(1, 10**9))
def test_whole_numbers(form: str, lines: list[list[str]], blank: str, first_line: int) -> None:
    block = text_of(lines, blank)
    expected = by_line(block, first_line)
    assert by_kernel(form, block, first_line) == expected
    by_numpy = table._parse_fast(block, first_line)
    assert by_numpy is not None
    assert (by_numpy[0].tolist(), by_numpy[1].tolist()) == expected


@FORMS
@given(ANY, BLANK)
@example([["1"] * 19], " ")
@example([["1"] * 17], " ")
@example([["1"] * 17 + ["-"]], " ")
@example([["1"] * 17 + ["9" * 400]], " ")
def test_what_the_kernel_reads_is_what_the_lines_say(form: str, lines: list[list[str]], blank: str) -> None:
    """It may leave a block to who reads line by line; it never reads one in another way."""
    block = text_of(lines, blank)
    found = by_kernel(form, block, 7)
    assert found is None or found == by_line(block, 7)


@pytest.mark.parametrize("asked", [False, True])
def test_a_block_with_a_fraction_is_among_others(asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[k, *[-1] * 17] for k in range(1, 400)]
    lines = [" ".join(map(str, row)) for row in rows]
    lines[200] = lines[200].replace("201 -1", "201 12.25", 1)
    rows[200][1] = 12
    path = tmp_path / "x.swf"
    path.write_text("; MaxProcs: 4\n\n" + "\n".join(lines))  # no newline at the end
    blocks = table.read_line_blocks
    monkeypatch.setattr(table, "read_line_blocks", lambda p: blocks(p, 512))
    if not asked:
        monkeypatch.setattr(table, "compiled", lambda _: False)
    found = table.read_table(path)
    assert found.values.tolist() == rows and found.lines.tolist() == list(range(3, 402))
    assert found.rounded == {1: [203]} and found.comments == ["MaxProcs: 4"]


@given(st.lists(st.integers(-5, 40) | st.integers(-(2**53), 2**53), min_size=1, max_size=60))
def test_distinct_numbers(values: list[int]) -> None:
    column = np.array(values, np.int64)
    expected = np.unique(column, return_inverse=True)
    found = swf_format._distinct(column)
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_order_by_submission_and_number(jobs: list[tuple[int, int]]) -> None:
    submit, job = (np.array(column, np.int64) for column in zip(*jobs, strict=True))
    rows = np.arange(len(jobs)) * 3
    assert swf_format._in_order(rows, submit, job).tolist() == rows[np.lexsort((job, submit))].tolist()
