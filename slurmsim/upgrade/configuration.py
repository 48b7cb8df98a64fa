"""What another release makes of the same slurm.conf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from slurmsim.config.difference.changes import Change, decides
from slurmsim.config.findings import Finding
from slurmsim.config.load import Override, examine, load_cluster
from slurmsim.config.scheduler_options import SUB_OPTIONS
from slurmsim.data_classes import dataclass
from slurmsim.model.cluster import ClusterSpec

_SHOWN_ONLY = " NodeSets"  # of a partition: what scontrol prints of its nodes


@dataclass(frozen=True, slots=True)
class Readings:
    """One configuration under two releases.

    Attributes
    ----------
    refused
        What the newer daemons do not start with and the older ones did, or say nothing more of: keys that went, values
        that are not taken any more.
    told
        What only the newer ones say otherwise: warnings and notes.
    changes
        What decides otherwise since another default holds.
    cluster
        The cluster under the newer release; None if it cannot be read even when obsolete keys are passed over.
    """

    refused: list[Finding]
    told: list[Finding]
    changes: list[Change]
    cluster: ClusterSpec | None


def read_twice(conf: Path, overrides: Sequence[Override], old: str, new: str) -> Readings:
    """Read a configuration under both releases.

    Raises
    ------
    ConfigError
        The older release cannot read it either.
    """
    before, _ = load_cluster(conf, overrides, release=old)
    known = {_key(one) for one in examine(conf, overrides, strict=True, release=old).report.findings}
    findings = examine(conf, overrides, strict=True, release=new).report.findings
    news = [one for one in findings if _key(one) not in known]
    after = examine(conf, overrides, release=new).cluster
    return Readings(
        [one for one in news if one.severity == "error"],
        [*_passed_over(before, old, new), *(one for one in news if one.severity != "error")],
        [one for one in decides(before, after) if not one.name.endswith(_SHOWN_ONLY)] if after is not None else [],
        after,
    )


def _key(one: Finding) -> tuple[str | None, int | None, str, str, str]:
    return one.file, one.line, one.severity, one.key, one.value


def _passed_over(cluster: ClusterSpec, old: str, new: str) -> Iterator[Finding]:
    """Yield the words of SchedulerParameters that the newer release passes over without a word."""
    for name in cluster.scheduler_parameters:
        option = SUB_OPTIONS.get(name.lower())
        if option is not None and option.known_in(old) and not option.known_in(new):
            said = f"passed over from {option.gone} on"
            more = f"; {option.instead} is in its place" if option.instead else ""
            yield Finding("warning", None, None, "SchedulerParameters", name, said + more)
