"""A twin in this process."""

from __future__ import annotations

from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.reconfiguration import Configuration
from slurmsim.twin.findings import Findings
from slurmsim.twin.jobs import SeenJob
from slurmsim.workload import Workload


@dataclass(slots=True)
class Twin:
    """A twin in this process: its engine, the header of its journal, its files, its instant and what was found."""

    engine: Engine
    header: dict[str, Any]
    configuration: Configuration
    now: int
    findings: Findings
    jobs: list[SeenJob]
    lives: dict[int, LiveJob]  # by the identity of their records
    past: Workload | None = None  # its sacct records, once they are read
