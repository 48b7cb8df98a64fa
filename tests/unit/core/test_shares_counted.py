"""The kernel's count of CPUs and jobs of nodes, as Python and as an extension."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from slurmsim.kernel import load

FORMS = pytest.mark.parametrize("kernel", [import_module("slurmsim.kernel.placement"), load("placement")])


def column(*values: int) -> Any:
    return np.array(values, np.int64)


@FORMS
def test_what_is_taken_is_given_back(kernel: Any) -> None:
    free, jobs = column(4, 4, 4), column(0, 0, 0)
    assert kernel.take(column(0, 2), column(1, 3), free, jobs) == 0
    assert kernel.take(column(2), column(1), free, jobs) == 0
    assert (free.tolist(), jobs.tolist()) == ([3, 4, 0], [1, 0, 2])
    assert kernel.give_back(column(0, 2), column(1, 3), free, jobs) == 1  # another job is on node 2
    assert kernel.give_back(column(2), column(1), free, jobs) == 0
    assert (free.tolist(), jobs.tolist()) == ([4, 4, 4], [0, 0, 0])


@FORMS
@pytest.mark.parametrize("node", [-1, 2, 1 << 40])
def test_a_node_there_is_not_is_not_written_to(kernel: Any, node: int) -> None:
    free, jobs = column(4, 4), column(0, 0)
    assert kernel.take(column(node), column(1), free, jobs) == -1
    assert kernel.give_back(column(node), column(1), free, jobs) == -1
    assert (free.tolist(), jobs.tolist()) == ([4, 4], [0, 0])
