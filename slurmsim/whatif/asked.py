"""What a study asks, in words: what was changed, of which configuration, on which log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.config.difference.changes import decides
from slurmsim.data_classes import dataclass
from slurmsim.version import __version__

if TYPE_CHECKING:
    from slurmsim.replaying.options import RunOptions
    from slurmsim.replaying.preparation import Prepared

MOST = 8  # changes that the sentence names; all are in whatif.json


@dataclass(frozen=True, slots=True)
class Asked:
    """The question of a study."""

    # ``partition all MaxTime: not set -> 1-00:00:00``, each; what decides nothing is not there
    changes: tuple[str, ...] = ()
    # conf, workload: the files as they were given; `conf` says what the cluster was made of where there is none
    conf: str = ""
    workload: str = ""
    jobs: int = 0  # jobs of the log that are replayed

    @property
    def sentence(self) -> str:
        """``Change: … (slurm.conf, jobs.sacct, 3,000 jobs)``."""
        return f"Change: {self.what} ({self._log})"

    @property
    def what(self) -> str:
        """The changes: ``bf_interval: 60 -> 600; PriorityWeightAge: 0 -> 1000``."""
        shown = list(self.changes[:MOST])
        if len(self.changes) > MOST:
            shown.append(f"{len(self.changes) - MOST} more")
        return "; ".join(shown) or "nothing that decides anything"

    @property
    def of(self) -> str:
        """What was replayed, and by which slurmsim: ``slurm.conf, jobs.sacct, 3,000 jobs; slurmsim 0.6.0``."""
        return f"{self._log}; slurmsim {__version__}"

    @property
    def _log(self) -> str:
        jobs = "1 job" if self.jobs == 1 else f"{self.jobs:,} jobs"
        return f"{self.conf}, {self.workload}, {jobs}"


def asked(first: Prepared, second: Prepared) -> Asked:
    """Return what differs between two runs of one log."""
    before = first.options
    return Asked(tuple(_changes(first, second)), _cluster(before), before.workload, len(first.workload))


def _changes(first: Prepared, second: Prepared) -> list[str]:
    a, b = first.options, second.options
    found = [one.words for one in decides(first.cluster, second.cluster) if not (b.policy and one.name == _POLICY_KEY)]
    if first.cluster.release != second.cluster.release:
        found.insert(0, f"release: {first.cluster.release} -> {second.cluster.release}")
    if a.policy != b.policy:
        found.insert(0, f"policy: {a.policy or first.policy_name} -> {b.policy or second.policy_name}")
    for name in ("accounting", "reservations"):
        old, new = getattr(a, name), getattr(b, name)
        if old != new:
            found.append(f"{name}: {_files(old)} -> {_files(new)}")
    return found


_POLICY_KEY = "SchedulerType"


def _files(given: str | tuple[str, ...] | None) -> str:
    return given if isinstance(given, str) else ", ".join(given or ()) or "none"


def _cluster(options: RunOptions) -> str:
    if options.conf is not None:
        return options.conf
    return f"{options.nodes} nodes" if options.nodes is not None else "a cluster as the log says"
