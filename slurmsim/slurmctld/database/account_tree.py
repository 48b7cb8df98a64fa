"""The order in which Slurm lists associations: down the tree, users of an account before accounts in it, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurmsim.core.records.associations import AssociationTree, Branch

TRES_ORDER = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""TRES every cluster has, in the order of their numbers."""


def hierarchical(tree: AssociationTree) -> Iterator[Branch]:
    """All branches, parents first (slurmdb_sort_hierarchical_assoc_list)."""
    stack = [tree.root]
    while stack:
        branch = stack.pop()
        yield branch
        stack.extend(sorted(branch.children, key=_place, reverse=True))


def _place(branch: Branch) -> tuple[bool, str, str]:
    spec = branch.spec
    return not spec.user, spec.user or spec.account, spec.partition
