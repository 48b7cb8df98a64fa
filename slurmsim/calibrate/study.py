"""A site's own data looked through: what is missing, what cannot be modelled, the grade, and what would explain it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slurmsim.calibrate.candidates import Site, candidates, check_families
from slurmsim.calibrate.causes import Causes, Progress, find_causes
from slurmsim.calibrate.clock import clock_remarks
from slurmsim.calibrate.data import data_remarks, log_not_modelled
from slurmsim.calibrate.remarks import Remark
from slurmsim.config.findings import warnings_among
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.fidelity.grade import Fit, grade
from slurmsim.fidelity.log import replay_log
from slurmsim.replaying.options import RunOptions
from slurmsim.report.shortfall import shortfall
from slurmsim_workloads.registry import choose_input_format
from slurmsim_workloads.sacct.clock import DumpClock, dump_clock


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found."""

    # log, records: the log's name, and the jobs of it that were replayed
    log: str
    records: int
    missing: str  # what must be said before any figure; empty when nothing must
    # data, clock, options: remarks on what the log lacks, on its times, and on options of its jobs that are not
    # modelled
    data: list[Remark]
    clock: list[Remark]
    options: list[Remark]
    # fit, by: the grade, and that of each partition and of each class of length and size
    fit: Fit
    by: dict[str, list[tuple[str, Fit]]]
    # the changes tried; None where none was asked for, or the log has too few starts to compare with
    causes: Causes | None
    summary: dict[str, Any]  # of the replay
    findings: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the search for causes."""
        return self.causes is not None and self.causes.interrupted


def calibrate(
    options: RunOptions, *, families: Sequence[str] | None = (), replicates: int = 5, jitter_s: int = 60, top: int = 5,
    progress: Progress | None = None,
) -> Diagnosis:  # fmt: skip
    """Look through the log of `options` and its configuration (its `out` is not used). Raises SlurmSimError.

    Parameters
    ----------
    families
        Kinds of changes to try (`slurmsim.calibrate.candidates.FAMILIES`), all when empty; None for no change.
    replicates, jitter_s
        Replays of the best changes with submit times moved by up to so many seconds.
    top
        How many of the best changes are looked at twice.
    progress
        Called with (replays done, replays in all).
    """
    _check(options, replicates, jitter_s, top)
    check_families(families or ())
    found = replay_log(options)
    prepared = found.prepared
    workload = prepared.workload
    dump = _dump(options)
    causes = None
    fit = grade(found.logged, found.replayed)
    if families is not None and fit.verdict != "none":  # else there is nothing to come nearer to
        changes = candidates(Site(prepared.cluster, workload, prepared.accounting), families)
        told = None if progress is None else (lambda done, total: progress(done + 1, total + 1))
        causes = find_causes(options, found, changes, replicates=replicates, jitter_s=jitter_s, top=top, progress=told)
    return Diagnosis(
        Path(options.workload).name, len(workload), shortfall(found.summary),
        data_remarks(workload, prepared.cluster, prepared.accounting, dump),
        clock_remarks(workload, dump, [event.time for event in prepared.timed]), log_not_modelled(workload),
        fit, found.by, causes, found.summary,
        tuple(warnings_among(prepared.findings)),
    )  # fmt: skip


def _check(options: RunOptions, replicates: int, jitter_s: int, top: int) -> None:
    for field, value, least in (("--replicates", replicates, 0), ("--jitter", jitter_s, 0), ("--top", top, 1)):
        if value < least:
            raise ConfigError(f"{value} is too few", field=field, expected=f"at least {least}")
    if options.conf is None:
        raise ConfigError("no configuration is given", field="--conf", expected="the site's slurm.conf")


def _dump(options: RunOptions) -> DumpClock | None:
    """Return the clock of the log where it is a dump of sacct."""
    file = Path(options.workload)
    if choose_input_format(file, options.format).name != "sacct":
        return None
    return dump_clock(file, dict(options.option))
