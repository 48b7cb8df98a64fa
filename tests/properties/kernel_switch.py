"""Which form of the kernels a run uses, and a run without any: what their tests compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from unit.kernel_forms import kernel

from slurmsim import bitmap
from slurmsim.core.accounting import fairshare, usage_decay
from slurmsim.core.placement import best_fit, shares
from slurmsim.core.queue import columns
from slurmsim.core.records import job_queue, node_table
from slurmsim_policies.slurm_backfill import atom_plans


@contextmanager
def kernels(form: str, shares_wanted: bool = True) -> Iterator[None]:
    """The kernels in that form, and whether that of shares is asked at all."""

    def find(name: str) -> Any:
        return kernel(name, form)

    with (
        mock.patch.object(atom_plans, "kernel", find("cycle")),
        mock.patch.object(atom_plans, "atoms_kernel", find("atoms")),
        mock.patch.object(atom_plans, "queue_kernel", find("queue")),
        mock.patch.object(atom_plans, "limits_kernel", find("limits")),
        mock.patch.object(shares, "load", find),
        mock.patch.object(shares, "COMPILED", shares_wanted),
        mock.patch.object(node_table, "_KERNEL", find("placement") if shares_wanted else None),
    ):
        yield


OTHERS = ((job_queue, "priorities"), (columns, "priorities"), (fairshare, "priorities"), (usage_decay, "amounts"))


@contextmanager
def without_kernels() -> Iterator[None]:
    """No extension at all: sets of nodes, placement, priorities and usage in Python.

    The policy is told by its own option, ``atoms=0``.
    """
    with kernels("python", shares_wanted=False), ExitStack() as stack:
        for module, name in OTHERS:
            stack.enter_context(mock.patch.object(module, "kernel", kernel(name, "python")))
        for module in (bitmap, best_fit):
            stack.enter_context(mock.patch.object(module, "_PICKER", None))
        yield
