"""Atoms of several words are the sets of nodes they stand for."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.kernel import atoms, load


def nodes_of(atoms: Any, s: int) -> set[int]:
    return {node for begin, size in atoms.runs(s) for node in range(begin, begin + size)}


@pytest.mark.parametrize("kernel", [atoms, load("atoms")])
@given(cycles=st.lists(st.lists(st.sets(st.integers(0, 399), max_size=120), min_size=1, max_size=5), max_size=3))
def test_atoms_of_several_words(kernel: Any, cycles: list[list[set[int]]]) -> None:
    """Words that an earlier cycle has used have nothing of it in the sets of a later one."""
    atoms = kernel.Atoms()
    for sets in cycles:
        atoms.restart(array("q", [0, 400]), 1)
        made = []
        for nodes in sets:
            made.append(atoms.make([(node, 1) for node in sorted(nodes)]))
            for s, expected in zip(made, sets, strict=False):
                assert nodes_of(atoms, s) == expected
                assert atoms.count(s) == len(expected)
        rest = atoms.full()
        for s in made:
            atoms.remove(rest, s)
        assert nodes_of(atoms, rest) == set(range(400)).difference(*sets)
        assert atoms.common(made[0], made[-1]) == len(sets[0] & sets[-1])
