"""Fair-share factors from shares and usage: Fair Tree, and the classic formula.

Mirrors fair_tree.c, priority_multifactor.c (_set_usage_efctv, _depth_oblivious_set_usage_efctv) and assoc_mgr.c
(_set_assoc_parent_and_user, _get_children_level_shares) of 22.05. Equations: docs/rules/fair-share.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import exp2, isnan, log

import numpy as np
import numpy.typing as npt

from slurmsim.core.records.associations import AssociationTree, Branch
from slurmsim.kernel import load
from slurmsim.model.accounting import PARENT_SHARES

Floats = npt.NDArray[np.float64]
kernel = load("priorities")


class ShareTree:
    """Shares and the tree they are compared in.

    That tree differs from the tree of accounts in one thing: below an account with Fairshare=parent everything hangs
    from the first account above that has shares of its own. Siblings come in slurmctld's order, the last created
    first, which decides ties.
    """

    def __init__(self, tree: AssociationTree) -> None:
        self.tree = tree
        n = len(tree.branches)
        self.shares = [branch.spec.shares for branch in tree.branches]
        self.is_user = [branch.is_user for branch in tree.branches]
        self.parent = [-1] * n  # row of the account each branch is compared in, -1 for the root
        self.children: list[list[int]] = [[] for _ in range(n)]  # rows below each row
        self._hang(tree.root)
        self.level_shares = [0] * n  # sum of the shares of its siblings and itself
        for below in self.children:
            total = sum(max(self.shares[row], 0) for row in below)
            for row in below:
                self.level_shares[row] = total
        self.n_users = max(1, sum(self.is_user))

    def _hang(self, branch: Branch) -> None:
        for child in reversed(branch.children):
            above = branch
            while above.parent is not None and above.spec.shares == PARENT_SHARES:
                above = above.parent
            self.parent[child.row] = above.row
            self.children[above.row].append(child.row)
            self._hang(child)

    def norm(self, row: int) -> float:
        """Share of `row` among its siblings."""
        total = self.level_shares[row]
        return max(self.shares[row], 0) / total if total else 0.0


class Siblings:
    """All branches but the root, grouped by parent, those higher in the tree first, and users first in each group."""

    def __init__(self, shares: ShareTree) -> None:
        depths = [[shares.tree.root.row]]
        while any(shares.children[row] for row in depths[-1]):
            depths.append([child for row in depths[-1] for child in shares.children[row]])
        n_users = [int(is_user) for is_user in shares.is_user]
        for below in reversed(depths[1:]):
            for row in below:
                n_users[shares.parent[row]] += n_users[row]
        groups = [shares.children[row] for depth in depths for row in depth if shares.children[row]]
        # users come first: an account that ties with one takes over its rank (fair_tree.c)
        rows = [row for group in groups for row in sorted(group, key=lambda row: not shares.is_user[row])]
        # rows, above, users, is_user: row, that of the parent, how many users are in the branch, and whether it is one
        self.rows = np.array(rows, np.int64)
        self.above = np.array([shares.parent[row] for row in rows], np.int64)
        # where each group begins, and where the last ends
        self.starts = np.cumsum([0, *map(len, groups)], dtype=np.int64)
        self.users = np.array([n_users[row] for row in rows], np.int64)
        self.is_user = np.array([shares.is_user[row] for row in rows], bool)


class FairTree:
    """Fair Tree: users are ranked by walking the tree best first; factor = rank / number of users.

    Level fair share of a branch is S/U: its part of its siblings' shares over its part of its parent's usage. Equal
    sibling users share a rank; an account that ties with its predecessor hands the tie on to its own first child.
    The manual says that tied accounts are merged before sorting; slurmctld does not do that.

    Notes
    -----
    Ranks are worked out from the root down: O(branches · log branches).

    References
    ----------
    R. Cox and L. Morrison, Fair Tree, Brigham Young University, 2014; slurmctld's fair_tree.c (22.05).
    """

    def __init__(self, shares: ShareTree) -> None:
        self._shares = shares
        n = len(shares.parent)
        self._count = shares.n_users
        self.find_siblings()
        self._part = np.array([shares.norm(row) for row in range(n)])
        self._parent = np.maximum(np.array(shares.parent, np.int64), 0)
        fixed = [row for row in range(n) if shares.shares[row] == PARENT_SHARES]
        self._fixed = np.array(fixed, np.int64)
        # such a user ranks highest in the account; such an account has no users below it
        self._fixed_fs = np.array([np.inf if shares.is_user[row] else 2.0**32 - 2 for row in fixed])
        self.factors: Floats = np.zeros(n)
        self.level_fs: Floats = np.zeros(n)
        self.effective: Floats = np.zeros(n)  # usage as part of the parent's
        self.update(np.zeros(n))  # slurmctld's first run comes before the first job

    def find_siblings(self) -> None:
        """Group the branches as the ranks go through them."""
        self._siblings = Siblings(self._shares)

    def update(self, used: Floats, _rows: Callable[[], Iterable[int]] = tuple) -> None:
        """Compute the factors of all users anew, after `used` (n_branches,) billing-seconds."""
        siblings, n = self._siblings, len(used)
        self.seen = used.copy()
        self.effective, self.level_fs, self.factors = np.zeros(n), np.zeros(n), np.ones(n)
        kernel.compare(used, self._parent, self._part, self.effective, self.level_fs)
        if len(self._fixed):
            self.level_fs[self._fixed] = self._fixed_fs
        kernel.rank(
            self.level_fs, siblings.rows, siblings.starts, siblings.above, siblings.users,
            siblings.is_user.view(np.uint8), self._count, self.factors,
        )  # fmt: skip

    def forget(self, rows: Sequence[int]) -> None:
        """Take the branches in `rows` for new: nothing is known of them before the next update (create_assoc_usage)."""
        self.factors[rows] = self.level_fs[rows] = self.effective[rows] = 0.0
        self.seen[rows] = np.nan

    def shown(self, row: int) -> dict[str, float | None]:
        """Return what sshare shows of a branch below the root, as of the last update."""
        total, seen = float(self.seen[self._shares.tree.root.row]), float(self.seen[row])
        norm = None if isnan(seen) else seen / total if total else 0.0
        return {
            "norm_shares": float(self._part[row]), "norm_usage": norm, "effective": float(self.effective[row]),
            "factor": float(self.factors[row]), "level_fs": float(self.level_fs[row]),
        }  # fmt: skip

    def preview(self, used: Floats) -> Floats:
        """Factors of all users as they would be now."""
        self.update(used)
        return self.factors

    def settle(self, _used: Floats) -> None:
        """Nothing to do before usage of a period is added."""

    def factor(self, row: int, _used: Floats) -> float:
        return float(self.factors[row])


class Classic:
    """The formula of PriorityFlags=NO_FAIR_TREE: factor = 2^(-U_E / S / FairShareDampeningFactor).

    S is the product of shares down the tree, U_E the effective usage. Accounts' effective usage is that of *before*
    the period (slurmctld works it out first and adds the period's usage then); a user's is worked out when the first
    job asks for it afterwards, and kept until the next period.

    Notes
    -----
    In slurmctld the first of a user's pending jobs asks while the walk over the jobs adds usage, so that running jobs
    behind it in the job table are not in it yet. Here all of the period's usage is.
    """

    def __init__(self, shares: ShareTree, *, damping: int = 1, depth_oblivious: bool = False) -> None:
        self._shares, self._damping = shares, damping or 1
        self._oblivious = depth_oblivious
        n = len(shares.parent)
        self._root = shares.tree.root.row
        self._down = [row for row in _top_down(shares) if not shares.is_user[row]]
        self._users = [row for row in range(n) if shares.is_user[row]]
        self._product = self._products()
        self._effective: list[float | None] = [None] * n
        self._effective[self._root] = 1.0
        self._norm = [0.0] * n
        self.factors: Floats = np.zeros(n)
        self.settle(self.factors)

    def _products(self) -> list[float]:
        shares = self._shares
        found = [1.0] * len(shares.parent)
        for branch in shares.tree.branches[1:]:
            row = branch.row
            if shares.shares[row] == PARENT_SHARES:
                found[row] = found[shares.parent[row]]
                continue
            for step in branch.path[:-1]:
                if step.spec.shares != PARENT_SHARES:
                    found[row] *= shares.norm(step.row)
        return found

    def settle(self, used: Floats) -> None:
        """Compute the effective usage of accounts as a period begins; that of users is unknown until read."""
        for row in self._users:
            self._effective[row] = None
        for row in self._down:
            self._work_out(row, used)

    def update(self, used: Floats, rows: Callable[[], Iterable[int]] = tuple) -> None:
        """Factors of the users that `rows` gives, those with pending jobs."""
        for row in rows():
            self.factors[row] = self.factor(row, used)

    def factor(self, row: int, used: Floats) -> float:
        source = self._shares.parent[row] if self._shares.shares[row] == PARENT_SHARES else row
        effective = self._effective[source]
        if effective is None:
            effective = self._work_out(source, used)
        part = self._product[source]
        return exp2(-effective / part / self._damping) if part > 0 else 0.0

    def shown(self, row: int, used: Floats) -> dict[str, float | None]:
        """Return what sshare shows of a branch below the root; the client works the factor out."""
        effective, kept = self._effective[row], (self._effective.copy(), self._norm.copy())
        if effective is None:
            effective = self._work_out(row, used)
        found: dict[str, float | None] = {
            "norm_shares": self._product[row], "norm_usage": self._norm[row], "effective": effective,
        }  # fmt: skip
        self._effective, self._norm = kept
        return found

    def preview(self, used: Floats) -> Floats:
        """Factors of all users as they would be now; nothing is kept, since asking early is asking for other usage."""
        kept = self._effective.copy(), self._norm.copy()
        found = np.zeros(len(self.factors))
        for row in self._users:
            found[row] = self.factor(row, used)
        self._effective, self._norm = kept
        return found

    def _work_out(self, row: int, used: Floats) -> float:
        shares = self._shares
        total = float(used[self._root])
        norm = self._norm[row] = min(float(used[row]) / total, 1.0) if total else 0.0
        above = shares.parent[row]
        parents = self._effective[above]
        assert parents is not None
        if above == self._root:
            value = norm
        elif shares.shares[row] == PARENT_SHARES:
            value = parents
        elif self._oblivious:
            value = self._depth_oblivious(row, parents)
        elif not shares.level_shares[row]:
            value = parents
        else:
            value = norm + (parents - norm) * shares.norm(row)
        self._effective[row] = value
        return value

    def _depth_oblivious(self, row: int, parents: float) -> float:
        """Effective usage such that depth matters less: ratio of the parent × own ratio^k, times the own share."""
        shares, norm, part = self._shares, self._norm[row], self._product[row]
        above = shares.parent[row]
        of_parent = self._product[above]
        if not (part and of_parent and parents and norm):
            return norm
        ratio = parents / of_parent
        siblings = sum(self._norm[r] for r in shares.children[above] if shares.shares[r] != PARENT_SHARES)
        own = norm / part / (siblings / of_parent)
        logs = log(ratio)
        k = 1.0 if logs * log(own) >= 0 else 1 / (1 + (5.0 * logs) ** 2)
        found: float = ratio * own**k * part
        return found


def _top_down(shares: ShareTree) -> list[int]:
    """Return all rows but the root, parents first."""
    found = list(shares.children[shares.tree.root.row])
    for row in found:
        found += shares.children[row]
    return found
