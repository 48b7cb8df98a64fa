"""Python and NumPy columns to Arrow and back, without pandas."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.trace.columns import NULL, int_array, int_values, text_array, text_codes

INT64 = st.integers(-(2**63) + 1, 2**63 - 1)


@given(st.lists(st.none() | INT64))
def test_nullable_integers_survive(values):
    array = int_array(values, nullable=True)
    array.validate(full=True)
    assert array.to_pylist() == values
    assert int_values(array).tolist() == [NULL if v is None else v for v in values]
    assert int_values(array, null=-1).tolist() == [-1 if v is None else v for v in values]


@given(st.lists(st.none() | INT64, min_size=3), st.data())
def test_slices_of_nullable_integers_are_read_right(values, data):
    begin = data.draw(st.integers(0, len(values) - 1))
    part = int_array(values, nullable=True).slice(begin)
    assert int_values(part, null=7).tolist() == [7 if v is None else v for v in values[begin:]]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_survive(values):
    array = text_array(values)
    array.validate(full=True)
    assert array.to_pylist() == values
    codes, texts = text_codes(array)
    assert [texts[c] for c in codes] == values
    assert texts == list(dict.fromkeys(values))


def test_texts_of_several_chunks_share_one_list():
    chunks = pa.chunked_array([text_array(["b", "a"]), text_array(["c", "a"])])
    codes, texts = text_codes(chunks)
    assert [texts[c] for c in codes] == ["b", "a", "c", "a"]
    assert sorted(texts) == ["a", "b", "c"]


class Reason(StrEnum):
    NODE_DOWN = "NodeDown"


def test_members_of_a_str_enum_become_their_value_and_meet_plain_texts():
    array = text_array([Reason.NODE_DOWN, "NodeDown", None])
    assert array.to_pylist() == ["NodeDown", "NodeDown", ""]
    assert array.dictionary.to_pylist() == ["NodeDown", ""]


def test_arrays_mark_null_by_mask_or_by_the_least_integer():
    assert int_array(np.array([1, NULL]), nullable=True).to_pylist() == [1, None]
    assert int_array(np.ma.array([1, 2], mask=[True, False]), nullable=True).to_pylist() == [None, 2]


def test_a_later_change_of_the_callers_array_does_not_reach_the_trace():
    mine = np.array([1, 2, 3])
    array = int_array(mine, nullable=False)
    mine[:] = 0
    assert array.to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("values", [[1, None], np.array([1, NULL]), np.array([1.5]), ["x"]])
def test_what_a_plain_integer_column_cannot_hold_is_refused(values):
    with pytest.raises((TypeError, ValueError)):
        int_array(values, nullable=False)


def test_writing_and_reading_a_trace_never_loads_pandas(tmp_path):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from slurmsim.trace.writer import TraceWriter\n"
        "from slurmsim.trace.reader import read_trace\n"
        "w = TraceWriter(Path(sys.argv[1]))\n"
        "w.usage.append((0, 'p') + (1,) * 10)\n"
        "w.close()\n"
        "t = read_trace(sys.argv[1])\n"
        "assert t.ints('usage', 'time')[0].tolist() == [0] and t.text('usage', 'partition')[1] == ['p']\n"
        "print([m for m in ('pandas', 'matplotlib') if m in sys.modules])\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path / "t")], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("value", [7, None, 0])
@pytest.mark.parametrize("n", [1, 5])
def test_columns_of_one_value_are_like_any_other(value, n):
    same = int_array([value] * n, nullable=True)
    assert same.to_pylist() == [value] * n and same.null_count == (n if value is None else 0)
    mixed = int_array([*[value] * n, 9], nullable=True)
    assert mixed.to_pylist() == [*[value] * n, 9]
    if value is None:
        with pytest.raises(TypeError):
            int_array([value] * n, nullable=False)


@pytest.mark.parametrize("value", ["gpu", "", None])
def test_text_columns_of_one_value_have_one_entry(value):
    array = text_array([value] * 4)
    assert array.to_pylist() == [value or ""] * 4 and array.dictionary.to_pylist() == [value or ""]
