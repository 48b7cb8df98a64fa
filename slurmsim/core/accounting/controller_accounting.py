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
    """The accounting side of a controller; each is None where the configuration does not ask for it."""

    def __init__(self) -> None:
        self.accounts: Accounts | None = None  # who may submit where; None as without slurmdbd
        self.limits: Limits | None = None  # with AccountingStorageEnforce=limits
        self.book: UsageBook | None = None  # usage of associations and QOS; where fair share or limits need it
        self.accrual: Accrual | None = None  # who accrues age; where limits are enforced and age counts
