"""``load_accounting``: files of any of the forms, together the accounting data of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.commands import read_commands
from slurmsim.config.accounting.draft import Draft, fail
from slurmsim.config.accounting.dump import ENTITY, read_dump
from slurmsim.config.accounting.script_lines import VERBS, has_calls
from slurmsim.config.accounting.tables import header_of, read_table
from slurmsim.config.accounting.toml_file import read_toml
from slurmsim.config.files import DISK, Files
from slurmsim.config.findings import Place, Report
from slurmsim.errors import ConfigError, nearest
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.release_changes import since

FORMS = "sacctmgr dump, a -P table, sacctmgr commands or TOML"


def load_accounting(paths: Sequence[str | Path], *, cluster: str = "", report: Report | None = None) -> Accounting:
    """Read accounting data from one or several files, which add to each other.

    Parameters
    ----------
    paths
        Files in any mixture of four forms, told apart by their content: the flat file of ``sacctmgr dump``, tables of
        ``sacctmgr show assoc -P`` and ``show qos -P`` (also ``user``, ``account``), sacctmgr commands, TOML (by the
        ending ``.toml``). Commands change what earlier files defined.
    cluster
        ClusterName; chooses among the clusters of a table, and a warning says when the data are another's.
    report
        Where warnings go.

    Raises
    ------
    ConfigError
        A file cannot be read or is none of the forms; something unknown, defined twice, contradictory or circular.
        One line with file, line and field.
    """
    return build(read_draft(paths, cluster=cluster, report=report), ", ".join(map(str, paths)))


def read_draft(
    paths: Sequence[str | Path], *, cluster: str = "", report: Report | None = None, files: Files = DISK
) -> Draft:
    """Return the same, still to be edited and built. Raises ConfigError for what cannot be read."""
    if not paths:
        raise ConfigError("no file is given", field="--accounting", expected="FILE")
    draft = Draft(report if report is not None else Report())
    for path in paths:
        _read(Path(path), str(path), draft, cluster, files)
    if cluster and draft.cluster and draft.cluster != cluster.lower():
        draft.report.warning(
            Place(str(paths[0]), None), "Cluster", draft.cluster, f"is not the ClusterName of slurm.conf, {cluster}"
        )
    if not draft.associations:
        fail(Place(str(paths[0]), None), "", "no association is defined: QOS alone do not say who may submit",
             "associations, as sacctmgr dump or show assoc -P writes them")  # fmt: skip
    return draft


def check_partitions(accounting: Accounting, cluster: ClusterSpec, report: Report | None = None) -> None:
    """Raise ConfigError for an unknown QOS= of a partition; warn about unknown names in its lists."""
    accounts = {a.account for a in accounting.associations if not a.user}
    qos = {q.name for q in accounting.qos}
    relative = {q.name for q in accounting.qos if "Relative" in q.flags}
    if relative and not since(cluster.release, "relative_qos"):
        fail(Place(), "Flags", f"QOS {min(relative)} has the flag Relative, which Slurm has since 23.11",
             "limits as numbers, or a newer SlurmVersion")  # fmt: skip
    having = {p.qos.lower(): p.name for p in cluster.partitions}
    for p in cluster.partitions:
        if p.qos.lower() in relative and having[p.qos.lower()] != p.name:
            fail(Place(), f"PartitionName={p.name} QOS", f"QOS {p.qos} has the flag Relative and is that of the "
                 f"partition {having[p.qos.lower()]}, too", "one partition for each such QOS")  # fmt: skip
        if p.qos and p.qos.lower() not in qos:
            message = f"no QOS {p.qos!r} in {accounting.source}{nearest(p.qos, qos)}"
            fail(Place(), f"PartitionName={p.name} QOS", message, "a QOS that is defined")
        for key, names, known in (
            ("AllowAccounts", p.allow_accounts, accounts), ("DenyAccounts", p.deny_accounts, accounts),
            ("AllowQos", p.allow_qos, qos), ("DenyQos", p.deny_qos, qos),
        ):  # fmt: skip
            for name in names:
                if name.lower() not in known and report is not None:
                    report.warning(Place(), f"PartitionName={p.name} {key}", name, "the accounting data do not know it")


def _read(path: Path, file: str, draft: Draft, cluster: str, files: Files) -> None:
    try:
        text = files.text(path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error.reason} at byte {error.start}", file=file, expected=FORMS) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=file, field="--accounting") from None
    if path.suffix.lower() == ".toml":
        read_toml(text, file, draft)
        return
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines:
        raise ConfigError("nothing in it", file=file, field="--accounting", expected=FORMS)
    number, first = lines[0]
    words = first.split()
    if words[0].rpartition("/")[2] == "sacctmgr":
        words = [word for word in words[1:] if not word.startswith("-")] or [""]
    if ENTITY.match(first):
        read_dump(text, file, draft)
    elif header_of(first):
        read_table(text, file, draft, cluster)
    elif words[0].lower() in VERBS or has_calls(text):
        read_commands(text, file, draft)
    else:
        fail(Place(file, number), "", f"{first[:40]!r} begins no accounting data", FORMS)
