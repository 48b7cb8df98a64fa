"""Names of sets of nodes."""

from __future__ import annotations

import pytest

from slurmsim.core.records.node_names import NodeNamer


@pytest.mark.parametrize("names", [["n1", "n2"], ["a", "b"], []])
def test_no_node_has_no_name(names: list[str]) -> None:
    """A partition without nodes made the manifest say ``n[]``, which no reader takes."""
    assert NodeNamer(names).runs([]) == ""
