"""Frozen records of the core hold plain values, and a copy of one is itself."""

from __future__ import annotations

import importlib
import pkgutil
from copy import copy, deepcopy

import slurmsim.core
from slurmsim.core.queue.dependency import Term
from slurmsim.core.records.value import Value


def test_a_copy_is_the_record_itself() -> None:
    term = Term("afterok", 7)
    assert copy(term) is term
    assert deepcopy([term])[0] is term


def test_frozen_records_are_values() -> None:
    """The compiled build could not copy a frozen record that is none (`slurmsim.fidelity` copies controllers)."""
    frozen = set()
    for module in pkgutil.walk_packages(slurmsim.core.__path__, "slurmsim.core."):
        for found in vars(importlib.import_module(module.name)).values():
            parameters = getattr(found, "__dataclass_params__", None)
            if parameters is not None and parameters.frozen and found.__module__.startswith("slurmsim.core."):
                frozen.add(found)
    assert Term in frozen
    assert {record.__name__ for record in frozen if not issubclass(record, Value)} == set()
