"""Partitions that do not take a job."""

from __future__ import annotations

from collections.abc import Mapping

from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.states import Reason


@dataclass(frozen=True, slots=True)
class Bar(Value):
    """A partition that does not take a job."""

    text: str  # what squeue shows while the job waits for the partition to change its mind
    refusal: str  # what sbatch says where EnforcePartLimits does not even let it wait
    by_qos: bool  # because of the QOS, which backfill asks about too, and not only because of the account
    reason: str = ""  # the limit of the partition it counts as (`partition_access`), "" for accounts and QOS

    @property
    def mute(self) -> bool:
        """True if only the submission shows it, as PartitionConfig; passes leave the job the reason it has."""
        return self.text == Reason.PARTITION_CONFIG


Bars = Mapping[int, Bar]  # by index of the partition
