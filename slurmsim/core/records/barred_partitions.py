"""Partitions that do not take a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slurmsim.core.records.value import Value


@dataclass(frozen=True, slots=True)
class Bar(Value):
    """A partition that does not take a job.

    Attributes
    ----------
    text
        What squeue shows while the job waits for the partition to change its mind.
    refusal
        What sbatch says where EnforcePartLimits does not even let it wait.
    by_qos
        Because of the QOS, which backfill asks about too, and not only because of the account.
    reason
        The limit of the partition it counts as (`partition_access`), "" for accounts and QOS.
    """

    text: str
    refusal: str
    by_qos: bool
    reason: str = ""


Bars = Mapping[int, Bar]  # by index of the partition
