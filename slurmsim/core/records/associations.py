"""The association tree while the cluster runs: who belongs where, and what each branch has used.

`Ledger` holds the amounts limits and fair share speak of; one for each association and for each QOS. Who changes them:
`limits` what is in use, `fairshare` what has been used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from slurmsim.model.accounting import Accounting, Association, Qos


class UsageRows:
    """What is used, a row an association or QOS: billing-seconds, wall seconds, then TRES-seconds of `names`."""

    amounts: npt.NDArray[np.float64]
    names: Sequence[str]

    def rate(self, amount: int, row: int) -> float:
        """Return how much of ``amounts[amount, row]`` is used each second."""
        raise NotImplementedError

    def decays(self, row: int) -> bool:
        raise NotImplementedError


class Ledger:
    """Amounts of one association or QOS, read from the book they are kept in (`usage_decay`); 0 without one."""

    __slots__ = ("_book", "_row")

    def __init__(self) -> None:
        self._book: UsageRows | None = None
        self._row = 0

    def attach(self, book: UsageRows, row: int) -> None:
        """Read row `row` of `book` from now on."""
        self._book, self._row = book, row

    @property
    def used_s(self) -> float:
        """Billing-seconds used, decayed."""
        return float(self._book.amounts[0, self._row]) if self._book is not None else 0.0

    @property
    def used_wall_s(self) -> float:
        """Wall seconds used, decayed."""
        return float(self._book.amounts[1, self._row]) if self._book is not None else 0.0

    @property
    def used_tres_s(self) -> dict[str, float]:
        """TRES-seconds used by name, decayed; empty unless limits are enforced."""
        if self._book is None:
            return {}
        return dict(zip(self._book.names, self._book.amounts[2:, self._row].tolist(), strict=True))

    def wall_rate(self) -> float:
        """Return the wall seconds used a second."""
        return self._book.rate(1, self._row) if self._book is not None else 0.0

    def tres_rate(self, name: str) -> float:
        """Return the TRES-seconds of that name used a second."""
        if self._book is None or name not in self._book.names:
            return 0.0
        return self._book.rate(2 + self._book.names.index(name), self._row)

    @property
    def decays(self) -> bool:
        return self._book is not None and self._book.decays(self._row)


class Branch:
    """An association with its place in the tree; `path` leads from itself up to the root, `row` is its number."""

    __slots__ = ("children", "ledger", "parent", "path", "row", "spec")

    def __init__(self, spec: Association, parent: Branch | None) -> None:
        self.spec, self.parent = spec, parent
        self.children: list[Branch] = []
        self.ledger = Ledger()
        self.row = 0
        self.path: tuple[Branch, ...] = (self, *(parent.path if parent is not None else ()))
        if parent is not None:
            parent.children.append(self)

    @property
    def is_user(self) -> bool:
        """True if jobs run in it (an account only has branches)."""
        return bool(self.spec.user)

    def qos_names(self) -> tuple[str, ...] | None:
        """QOS it may use, its own or those of the nearest account above that has some; None: every one."""
        return next((b.spec.qos for b in self.path if b.spec.qos is not None), None)

    def default_qos(self) -> str:
        """Return the QOS of a job that asks for none, or "" if no association sets one."""
        return next((b.spec.default_qos for b in self.path if b.spec.default_qos), "")


class AssociationTree:
    """All branches in order of creation, and the QOS.

    Parameters
    ----------
    accounting
        What slurmdbd knows; validated, so parents exist and come first.
    """

    def __init__(self, accounting: Accounting) -> None:
        self.branches: list[Branch] = []
        self._accounts: dict[str, Branch] = {}
        self._users: dict[tuple[str, str, str], Branch] = {}
        self._default_account: dict[str, str] = {}
        for spec in accounting.associations:
            if spec.user:
                branch = Branch(spec, self._accounts[spec.account])
                self._users[spec.user, spec.account, spec.partition] = branch
                if spec.is_default or spec.user not in self._default_account:
                    self._default_account[spec.user] = spec.account
            else:
                branch = Branch(spec, self._accounts[spec.parent] if spec.parent else None)
                self._accounts[spec.account] = branch
            branch.row = len(self.branches)
            self.branches.append(branch)
        self.root = self.branches[0]
        self.qos: dict[str, Qos] = {qos.name: qos for qos in accounting.qos}
        self.qos_ledgers = {name: Ledger() for name in self.qos}

    def default_account(self, user: str) -> str:
        """Return the account of jobs of `user` that name none, "" for a stranger."""
        return self._default_account.get(user, "")

    def find(self, user: str, account: str, partition: str) -> Branch | None:
        """Return the association of a job: that of the partition if there is one, else that of the account."""
        return self._users.get((user, account, partition)) or self._users.get((user, account, ""))

    def users(self) -> Iterator[Branch]:
        """Return the branches jobs run in, in order of creation."""
        return (branch for branch in self.branches if branch.is_user)
