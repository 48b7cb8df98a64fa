"""The users that partitions let in, beside accounts and QOS: AllowGroups, RootOnly, ReqResv, DisableRootJobs.

Mirrors _part_access_check and _valid_job_part (job_mgr.c, 22.05). A job of one partition is refused at once, whatever
EnforcePartLimits says; of several, it waits as PartitionConfig for those that are closed to it and starts in others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from slurmsim.core.accounting.accounts import bars_without_accounts
from slurmsim.core.accounting.controller_accounting import AccountingParts
from slurmsim.core.records.barred_partitions import Bar, Bars
from slurmsim.errors import SubmitError
from slurmsim.states import JobState, Reason

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.partition import Partition
    from slurmsim.core.state.controller_state import ControllerState
    from slurmsim.model.partition import PartitionSpec
    from slurmsim.model.submission import Submission

DENIED: Final = "Access/permission denied"
NO_ROOT: Final = "Invalid user id"
NOT_IN_GROUP: Final = "uid "  # how the reason of a job begins that waits for its user's groups to be let in
NO_GROUP: Final = "User's group not permitted to use this partition"
NOT_AVAILABLE: Final = "Required partition not available (inactive or drain)"


class PartitionAccess:
    """Asks partitions whether they let a user in."""

    def __init__(self, state: ControllerState, accounting: AccountingParts) -> None:
        self.state, self._accounting = state, accounting
        groups = state.spec.groups
        # groups of a user; None where nothing is known of groups: AllowGroups then lets everybody in
        self.groups_of: Callable[[str], Collection[str]] | None = None
        if groups is not None:
            self.groups_of = lambda user: groups.get(user, frozenset())
        # users RootOnly and AllowGroups do not keep out: root and SlurmUser
        self.privileged = {"root", str(state.spec.options.get("SlurmUser") or "root")}
        # what a user is called where a job waits for a partition closed to the user's groups (since 24.11)
        self.uid_of: Callable[[str], object] = lambda user: user
        # closed: some partition does not let everybody in
        # accountless: slurmctld runs without a database: AllowAccounts and AllowQos let no user in. A replay without
        # accounting data does not know the accounts, and lets every user in.
        # edited: partitions have changed since the controller was made
        self.closed = self.edited = self.accountless = False
        self._look()

    def without_accounts(self) -> None:
        """There is no database to know an account or QOS from."""
        self.accountless = True
        self._look()

    def _look(self) -> None:
        specs = [p.spec for p in self.state.partitions]
        self.closed = any(
            spec.allow_groups or spec.root_only or spec.req_resv or self.keeps_root_out(spec) for spec in specs
        )
        if self.accountless:
            self.closed |= any(spec.allow_accounts for spec in specs)

    def keeps_root_out(self, spec: PartitionSpec) -> bool:
        """Return True if DisableRootJobs holds for a partition."""
        own = spec.disable_root_jobs
        return bool(self.state.spec.option("DisableRootJobs")) if own is None else own

    def denial(self, user: str, partition: Partition, reserved: bool) -> str:
        """Return why `partition` does not let in a job of `user`, in a reservation or not; "" when it does."""
        spec = partition.spec
        if spec.req_resv and not reserved:
            return DENIED
        if user == "root" and self.keeps_root_out(spec):
            return NO_ROOT
        if user in self.privileged:
            return ""
        if spec.root_only:
            return DENIED
        if spec.allow_groups and self.groups_of is not None:
            return "" if not set(spec.allow_groups).isdisjoint(self.groups_of(user)) else NO_GROUP
        return ""

    @property
    def _groups_late(self) -> bool:
        """True if a job waits where no group of its user is let in, instead of being refused."""
        return self.state.rules.groups_late and self.state.spec.option("EnforcePartLimits") == "NO"

    def shuts_out(self, user: str, partition: Partition, reserved: bool) -> bool:
        """Return True if `partition` does not even let a job of `user` wait for it."""
        denial = self.denial(user, partition, reserved)
        return bool(denial) and not (denial == NO_GROUP and self._groups_late)

    def refuse(self, partitions: Sequence[Partition], bars: Bars | None) -> None:
        """Raise SubmitError with what slurmctld says of a new job that is not let in.

        Of several partitions only EnforcePartLimits looks at others than the first that is open.
        """
        if bars is None:
            return
        found = [bars.get(p.index) for p in partitions]
        texts = ["" if bar is None or bar.reason != Reason.PARTITION_CONFIG else bar.refusal for bar in found]
        first = next((at for at, text in enumerate(texts) if text), None)
        if first is None:
            return
        enforce = self.state.spec.option("EnforcePartLimits")
        alone = len({p.index for p in partitions}) == 1  # also one that is named twice (get_part_list)
        if alone or enforce == "ALL":
            raise SubmitError(texts[first])
        if enforce == "ANY":
            raise SubmitError(NOT_AVAILABLE if first else texts[0])

    def heed(self, job: Job) -> None:
        """Note on `job` which of its partitions do not let it in; its account and QOS were tested before."""
        job.bars = self.bars_of(job.sub, job.partitions, job.bars)

    def bars_of(self, sub: Submission, partitions: Sequence[Partition], bars: Bars | None) -> Bars | None:
        """Return `bars` of account and QOS, and those of `partitions` that do not let the user in.

        When the first of several does not, and the job names no maximum of nodes, slurmctld never works out its
        minimum: it then exceeds the nodes of every partition.
        """
        if self.accountless and not self.state.rules.lists_associations:
            bars = bars_without_accounts(partitions)
        late = self._groups_late
        found: dict[int, Bar] = {}
        for p in partitions:
            text = self.denial(sub.user, p, bool(sub.reservation))
            if text == NO_GROUP and late:
                groups = ",".join(p.spec.allow_groups)
                who = f"{NOT_IN_GROUP}{self.uid_of(sub.user)} not in group permitted to use this partition ({p.name})"
                found[p.index] = Bar(f"{who}. groups allowed: {groups}", "", False)
            elif text:
                found[p.index] = Bar("", text, False, Reason.PARTITION_CONFIG)
        if not found:
            return bars
        if partitions[0].index in found and not (late or sub.request.max_nodes):
            for p in partitions:
                found.setdefault(p.index, Bar("", "", False, Reason.PARTITION_NODE_LIMIT))
        return {**(bars or {}), **found}

    def ask_again(self) -> None:
        """Partitions are not what they were: who waits is looked at again."""
        self._look()
        self.edited = True
        if self._accounting.accounts is not None:
            self._accounting.accounts.forget()
        for job in self.state.jobs.values():
            if job.state == JobState.PENDING:
                self.look_again(job)

    def look_again(self, job: Job) -> None:
        """Test again which partitions of the pending `job` let it in."""
        accounts = self._accounting.accounts
        job.bars = accounts.bars_of(job, self.state.rules) if accounts is not None else None
        if self.closed:
            self.heed(job)
