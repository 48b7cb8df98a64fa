"""Constructors that are written out (`slurmsim.core.records.messages` says why) take what their dataclass says."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

import pytest

MODULES = (
    "slurmsim.core.accounting.job_limits",
    "slurmsim.core.accounting.limit_rules",
    "slurmsim.core.placement.best_fit",
    "slurmsim.core.records.messages",
    "slurmsim.model.submission",
    "slurmsim.sim.network",
    "slurmsim_policies.slurm_backfill.search",
)


def written() -> Iterator[Any]:
    for name in MODULES:
        module = import_module(name)
        found = [
            one for one in vars(module).values()
            if is_dataclass(one) and isinstance(one, type) and one.__module__ == name
            and not one.__dataclass_params__.init  # type: ignore[attr-defined]
        ]  # fmt: skip
        assert found, name
        yield from found


@pytest.mark.parametrize("cls", list(written()), ids=lambda cls: cls.__name__)
def test_parameters_are_the_fields(cls: Any) -> None:
    parameters = inspect.signature(cls).parameters.values()
    said = [(p.name, MISSING if p.default is p.empty else p.default) for p in parameters]
    assert said == [(f.name, f.default) for f in fields(cls) if f.init]
    if import_module(cls.__module__).__file__.endswith(".so"):  # type: ignore[union-attr]
        return  # whose types are checked
    values = {f.name: object() for f in fields(cls) if f.init}
    made = cls(**values)
    assert {name: getattr(made, name) for name in values} == values
