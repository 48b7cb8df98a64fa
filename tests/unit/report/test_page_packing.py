"""Data inside a page: what is packed comes back, and no text ends the element it is in."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from slurmsim.report.web.packing import json_text, pack, unpack

BOUNDS = (0, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**53, -1, -(2**31), -(2**31) - 1)
INTS = arrays.arrays(np.int64, st.integers(0, 9), elements=st.sampled_from(BOUNDS) | st.integers(-(2**53), 2**53))


@given(st.dictionaries(st.text(min_size=1, max_size=5), INTS, max_size=4))
def test_integers_come_back_as_they_were(columns):
    places, text = pack(columns)
    found = unpack(json.loads(json_text(places)), text)
    assert {name: values.tolist() for name, values in found.items()} == {n: v.tolist() for n, v in columns.items()}
    assert all(offset % 8 == 0 for _, offset, _ in places.values())


@pytest.mark.parametrize(
    ("values", "kind"),
    [((0, 255), "u1"), ((0, 256), "u2"), ((-1, 3), "i4"), ((0, 2**31), "f8"), ((), "u1"), ((0.5,), "f4")],
)
def test_a_column_is_as_narrow_as_its_values_allow(values, kind):
    dtype = np.float64 if kind == "f4" else np.int64
    assert pack({"x": np.array(values, dtype)})[0]["x"] == [kind, 0, len(values)]


VALUES = st.recursive(st.text() | st.integers(), lambda one: st.lists(one) | st.dictionaries(st.text(), one))


@given(VALUES)
def test_json_comes_back_and_holds_no_markup(value):
    text = json_text(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_what_json_does_not_have_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        json_text({"mean": float("nan")})
