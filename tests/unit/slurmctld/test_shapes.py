"""Many texts checked at once are judged as one by one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slurmsim.slurmctld.requests.shapes.values import Fields, Malformed, Shape, Text

MOST = 6
texts = st.text(st.sampled_from("aA=/\0é\ud800\udcff"), max_size=MOST + 1)
values = st.one_of(texts, st.none(), st.integers(0, 3), st.lists(texts, max_size=1))


class OneByOne(Text):
    """The same shape, of which `Fields` knows nothing more."""


def verdict(shape: Shape, value: Any) -> str:
    try:
        shape.check(value, "environment")
    except Malformed as error:
        return str(error)
    return ""


@given(st.dictionaries(texts, values, max_size=4), st.integers(0, 1))
def test_an_environment(value: dict[str, Any], least: int) -> None:
    at_once = Fields(others=Text(MOST, least), most=3)
    assert verdict(at_once, value) == verdict(Fields(others=OneByOne(MOST, least), most=3), value)
