"""An anonymised copy of a site's three files that others can replay, and that replays to the same grade.

One set of pseudonyms goes through all three. The copy is replayed before it is handed on: where its grade is not that
of the original, nothing is written.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slurmsim.calibrate.pseudonyms import chosen_names
from slurmsim.config.accounting.write import association_table, qos_table
from slurmsim.config.files import DISK
from slurmsim.config.renaming import Renaming, renamed_conf, renamed_gres, renamed_topology
from slurmsim.config.slurm_conf import read_conf
from slurmsim.data_classes import asdict, dataclass, replace
from slurmsim.errors import ConfigError, SlurmSimError
from slurmsim.fidelity.grade import Fit
from slurmsim.fidelity.log import assess_log
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import Prepared, prepare
from slurmsim.report.build import write_file
from slurmsim.trace.jsonfile import to_json
from slurmsim.workload import QualityReport
from slurmsim_workloads import write_workload
from slurmsim_workloads.transforms.anonymize import anonymize

LOG, CONF, QOS, ASSOCIATIONS = "log.parquet", "slurm.conf", "qos.txt", "associations.txt"
_NOT_IN = ("set", "reservations", "node_events", "groups")  # options of a run that a bundle does not hold


@dataclass(frozen=True, slots=True)
class Copy:
    """The anonymised files by name, and the keys of the configuration that were kept and left out."""

    files: Mapping[str, bytes]
    kept: Sequence[str]
    left_out: Sequence[str]


def check_bundle(options: RunOptions, file: Path) -> None:
    """Refuse what a bundle does not hold, before anything is replayed. Raises ConfigError."""
    for name in _NOT_IN:
        if getattr(options, name):
            raise ConfigError(
                f"does not go with --{name.replace('_', '-')}", field="--bundle", expected="the three files alone"
            )
    if not file.name.endswith((".tar.gz", ".tgz")):
        raise ConfigError(f"{file.name!r} is no .tar.gz", field="--bundle", expected="FILE.tar.gz")


def write_bundle(options: RunOptions, fit: Fit, file: Path) -> str:
    """Write the bundle of `options`, their replay having the grade `fit`; return what was kept, as a text.

    Raises
    ------
    SlurmSimError
        Its replay is another than that of the original, or the file cannot be written.
    """
    check_bundle(options, file)
    with tempfile.TemporaryDirectory(prefix="slurmsim-") as name:
        folder = Path(name)
        copy = make_copy(prepare(replace(options, out=name + "/run")), options.seed, folder)
        again = assess_log(bundle_options(folder)).fit
        if again != fit:
            raise SlurmSimError(f"{file}: the copy replays otherwise ({again.sentence} The original: {fit.sentence}): "
                                "not written")  # fmt: skip
        about = _about(copy, fit)
        facts = {"grade": asdict(fit), "kept": list(copy.kept), "left_out": list(copy.left_out)}
        packed = _packed({**copy.files, "README.txt": about.encode(), "bundle.json": to_json(facts).encode()})
    write_file(file, packed)
    return f"{file}: {about}"


def bundle_options(folder: Path) -> RunOptions:
    accounting = [folder / name for name in (QOS, ASSOCIATIONS) if (folder / name).exists()]
    return RunOptions.of(folder / LOG, "", conf=folder / CONF, accounting=accounting)


def make_copy(prepared: Prepared, seed: int, folder: Path) -> Copy:
    """Write the files of a bundle to `folder`."""
    assert prepared.options.conf is not None
    conf = Path(prepared.options.conf)
    beside = {name: read_conf(path) for name in ("gres.conf", "topology.conf")
              if DISK.exists(path := conf.parent / name)}  # fmt: skip
    lines = read_conf(conf)
    names = chosen_names(lines, beside, prepared.accounting, seed)
    renaming = Renaming(names)
    texts = {CONF: renamed_conf(lines, renaming)}
    change = {"gres.conf": renamed_gres, "topology.conf": renamed_topology}
    texts |= {name: change[name](found, renaming) for name, found in beside.items()}
    if prepared.accounting is not None:
        accounting = renamed_accounting(prepared.accounting, renaming)
        texts |= {QOS: qos_table(accounting), ASSOCIATIONS: association_table(accounting)}
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    workload = anonymize(prepared.workload, seed, everything=True, names=names)
    workload.quality = QualityReport(len(workload), len(workload))  # what was repaired may have names in it
    write_workload(workload, folder / LOG)
    files = {name: (folder / name).read_bytes() for name in (*texts, LOG)}
    return Copy(files, list(renaming.kept), list(renaming.left_out))


def renamed_accounting(accounting: Accounting, names: Renaming) -> Accounting:
    """Return the same accounts, users, QOS and limits under other names."""

    def qos_of(found: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.name("qos", one) for one in found)

    def association(one: Association) -> Association:
        return replace(
            one, account=names.name("account", one.account), user=one.user and names.name("user", one.user),
            parent=one.parent and names.name("account", one.parent),
            partition=one.partition and names.name("partition", one.partition),
            qos=None if one.qos is None else qos_of(one.qos),
            default_qos=one.default_qos and names.name("qos", one.default_qos), limits=_limits(one.limits, names),
        )  # fmt: skip

    def qos(one: Qos) -> Qos:
        return replace(one, **{**_tres(one, names), "name": names.name("qos", one.name), "preempt": qos_of(one.preempt),
                               "limits": _limits(one.limits, names)})  # fmt: skip

    return Accounting(tuple(map(association, accounting.associations)), tuple(map(qos, accounting.qos)), "")


def _limits(limits: Limits, names: Renaming) -> Limits:
    return replace(limits, **_tres(limits, names))


def _tres(item: Limits | Qos, names: Renaming) -> dict[str, Any]:
    values = {name: getattr(item, name) for name in item.__dataclass_fields__}
    return {
        name: {names.tres(key): amount for key, amount in value.items()}
        for name, value in values.items() if isinstance(value, Mapping)
    }  # fmt: skip


def _about(copy: Copy, fit: Fit) -> str:
    accounting = "".join(f" --accounting {name}" for name in (QOS, ASSOCIATIONS) if name in copy.files)
    return f"""an anonymised slurm.conf, accounting data and job log, made by slurmsim calibrate --bundle.

To replay:  slurmsim calibrate --conf {CONF}{accounting} --log {LOG}
Its grade is that of the original: {fit.sentence.replace("baseline", "replay")}

Kept of the log: job numbers, arrays, dependencies, times, sizes, limits, states, exit codes, and names as pseudonyms.
Kept of the configuration: {", ".join(copy.kept)}.
Left out of the configuration: {", ".join(copy.left_out) or "nothing"}.
Kept of the accounting data: the tree of accounts, shares, limits and QOS, names as pseudonyms.

Users, accounts, QOS, partitions, nodes, features, types of GRES, licenses, reservations and switches have pseudonyms,
the same in all files; names of GRES (gpu), the QOS normal and root stay. No path, host, address, comment, reason,
submit line or job name is in it. A reader who knows when a job of an unusual size was submitted can still find it.
"""


def _packed(files: Mapping[str, bytes]) -> bytes:
    """Return a tar.gz in which nothing tells who made it, or when."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(held.getvalue(), mtime=0)
