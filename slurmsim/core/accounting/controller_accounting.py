"""What is replaced together when sacctmgr changes the associations of a running cluster."""

from __future__ import annotations

from slurmsim.core.accounting.accounts import Accounts
from slurmsim.core.accounting.accrual import Accrual
from slurmsim.core.accounting.limits import Limits
from slurmsim.core.accounting.usage_decay import UsageBook
from slurmsim.core.records.job import Job
from slurmsim.core.records.observer import Observer


class UsageObserver(Observer):
    """Tells a book of usage who uses what."""

    def __init__(self, book: UsageBook) -> None:
        self._book = book

    def started(self, job: Job, now: int) -> None:
        self._book.started(job, now)

    def released(self, job: Job, now: int) -> None:
        self._book.released(job, now)

    def resized(self, job: Job, now: int) -> None:
        self._book.released(job, now)
        self._book.started(job, now)


class AccountingParts:
    """The accounting side of a controller; each is None where the configuration does not ask for it.

    Attributes
    ----------
    accounts
        Who may submit where; None as without slurmdbd.
    limits
        With AccountingStorageEnforce=limits.
    book
        Usage of associations and QOS; where fair share or limits need it.
    accrual
        Who accrues age; where limits are enforced and age counts.
    """

    def __init__(self) -> None:
        self.accounts: Accounts | None = None
        self.limits: Limits | None = None
        self.book: UsageBook | None = None
        self.accrual: Accrual | None = None
