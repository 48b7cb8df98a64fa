"""What a new cluster is to be like, and the folder that holds it."""

import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError, OutputError
from slurmsim.input_file import read_bytes, read_text
from slurmsim.model.power import OPTIONS, is_watts
from slurmsim.release_changes import since
from slurmsim.releases import FLAVOURS, RELEASES, of_new
from slurmsim.slurmctld.history.header import BUDGET, CARBON, CONF, JOURNAL, STREAMS, new_header

MODES = ("real", "running", "frozen", "fast")
MOST_NODES, MOST_CPUS = 65_533, 65_533
MOST_BOOT_S = 7 * 86_400
MIB_PER_CPU = 2048
NEW_DATABASE = ""  # stands for a path of accounting data: there are none, and yet a database
# read along with a slurm.conf
_DATABASE = "slurmdbd.conf"
_BESIDE = (
    "gres.conf",
    "topology.conf",
    "topology.yaml",
    "resources.yaml",
    "fake_gpus.conf",
    "job_submit.lua",
    "cli_filter.lua",
    _DATABASE,
)
CONF_FILES = (CONF, *_BESIDE)
_PROGRAMS = {
    name.lower(): name
    for name in (
        *("Prolog", "Epilog", "TaskProlog", "TaskEpilog"),
        *("ResumeProgram", "SuspendProgram", "ResumeFailProgram", "RebootProgram"),
    )
}
_NAMED = re.compile(rf"^[ \t]*({'|'.join(_PROGRAMS)})[ \t]*=[ \t]*/", re.IGNORECASE | re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*include[ \t]+\"?([^\s\"]+)", re.IGNORECASE | re.MULTILINE)
_OF_POLICY = re.compile(
    r"^[ \t]*SchedulerType[ \t]*=[ \t]*\S*?[:,](?:file|model)=([^,\s#]+)", re.IGNORECASE | re.MULTILINE
)
_SCHEDULER = re.compile(r"^[ \t]*SchedulerType[ \t]*=.*\n?", re.IGNORECASE | re.MULTILINE)
_PASSWORD = re.compile(rb"^[ \t]*StoragePass[ \t]*=[^\r\n]*\r?\n?", re.IGNORECASE | re.MULTILINE)
_STORAGE = re.compile(r"^[ \t]*AccountingStorageType[ \t]*=", re.IGNORECASE | re.MULTILINE)
_MAX_DEPTH = 10
_MODE = 0o644  # whatever the umask: a folder others may write to is not used again
_STEP = re.compile(r"(?=.)(?:\d+(?:\.\d+)?[smhd])*(?:\d+(?:\.\d+)?)?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)", re.ASCII)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A new cluster, as the options of ``slurmsim up`` name it.

    Parameters
    ----------
    nodes, cpus_per_node, gpus_per_node
        A made-up cluster of equal nodes ``n1`` …, in the partitions ``batch`` (the default) and ``debug`` (30 minutes).
    conf
        Path of a slurm.conf instead.
    accounting
        Paths of associations and QOS; `NEW_DATABASE` for a database as slurmdbd sets it up.
    storage
        Whether jobs are stored, so that sacct has something to tell; a made-up cluster has a database then, too.
    mode
        The clock: ``real``, ``running`` (at `rate`), ``frozen`` or ``fast``. A real one that is given a `start` runs.
    rate
        Cluster seconds a real second, of a running clock.
    start
        First instant: seconds since the epoch or ``YYYY-MM-DDThh:mm:ss``; None: now.
    jobs
        ``run`` or ``simulate`` scripts; None: run them, unless time does not pass by itself.
    users
        Simulated users: name -> ``uid`` or ``uid:group:gid:home``.
    operators
        Users who may cancel, hold, requeue and update the jobs of all users, and make reservations.
    allow_code
        Whether programs that slurm.conf names run: Prolog, Epilog, TaskProlog, TaskEpilog.
    boot_time
        Seconds a node takes to boot, after a reboot or from being powered down.
    streams
        Path of streams of jobs in TOML: simulated users who submit by themselves.
    power
        Options of power by name, as `slurmsim run` has them: ``power_budget``, ``power_cap``, ``base_w``, ``carbon`` …
    policy
        ``NAME[:key=value,…]`` of an installed policy, or the name of one that this process offers, in place of the
        SchedulerType of `conf`; empty for that.
    release
        The Slurm release to be like.
    flavour
        The build of it: ``upstream``, a site's own, or ``debian``, which has another name in ``--version``.

    Raises
    ------
    ConfigError
        A value is none of those.
    """

    nodes: int = 4
    cpus_per_node: int = 8
    gpus_per_node: int = 0
    conf: str | None = None
    accounting: tuple[str, ...] = ()
    mode: str = "real"
    rate: float = 1.0
    start: int | str | None = None
    jobs: str | None = None
    users: Mapping[str, str] = field(default_factory=dict)
    release: str = field(default_factory=lambda: of_new(os.environ))
    flavour: str = "upstream"
    storage: bool = True
    operators: tuple[str, ...] = ()
    streams: str | None = None
    power: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    allow_code: bool = False
    boot_time: int = 60

    def __post_init__(self) -> None:
        _within("--nodes", self.nodes, 1, MOST_NODES)
        _within("--cpus-per-node", self.cpus_per_node, 1, MOST_CPUS)
        _within("--gpus-per-node", self.gpus_per_node, 0, 1024)
        _within("--boot-time", self.boot_time, 0, MOST_BOOT_S)
        if self.mode not in MODES:
            raise ConfigError(f"{self.mode!r} is no clock", field="mode", expected=", ".join(MODES))
        if not 0 < self.rate < 1e9:
            raise ConfigError(f"{self.rate:g} is no rate", field="--rate", expected="a number above 0")
        for name in self.power:
            if name not in OPTIONS:
                raise ConfigError(f"{name!r}", field="power", expected=", ".join(OPTIONS))
        if self.jobs not in (None, "run", "simulate"):
            raise ConfigError(f"{self.jobs!r}", field="--jobs", expected="run or simulate")
        if self.release not in RELEASES:
            raise ConfigError(f"no release {self.release!r}", field="--release", expected=", ".join(RELEASES))
        if self.flavour not in FLAVOURS:
            raise ConfigError(f"no flavour {self.flavour!r}", field="--flavour", expected=", ".join(FLAVOURS))
        for name, text in self.users.items():
            if not name or not re.fullmatch(r"\d+(:[^:]*(:\d*(:[^:]*)?)?)?", text, re.ASCII):
                raise ConfigError(f"{name}={text}", field="--user", expected="NAME=UID[:GROUP:GID:HOME]")
        named: dict[int, str] = {}
        for name, text in self.users.items():
            other = named.setdefault(int(text.partition(":")[0]), name)
            if other != name:
                raise ConfigError(f"{other} and {name} have one uid", field="--user", expected="a uid for each")
        for name in self.operators:
            if not re.fullmatch(r"[\w.][\w.@$-]*", name):
                raise ConfigError(f"{name!r} is no user", field="--operator", expected="a user's name")
        if self.start is not None:
            instant(self.start)


def _within(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ConfigError(f"{value}", field=option, expected=f"{least} to {most}")


def instant(text: int | str) -> int:
    """Seconds since the epoch of ``YYYY-MM-DDThh:mm:ss`` (local time, UTC when it ends with Z). Raises ConfigError."""
    if isinstance(text, int):
        return text
    try:
        found = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise ConfigError(f"bad time {text!r}", field="--start", expected="YYYY-MM-DDThh:mm:ss") from None
    return int((found.replace(tzinfo=UTC) if text.endswith("Z") else found).timestamp())


def seconds_of(amount: int | float | str) -> int:
    """Seconds of a step: a number, or ``90``, ``10m``, ``1d12h``. Raises ConfigError.

    >>> seconds_of(90), seconds_of("1h"), seconds_of("1d12h30m"), seconds_of("0.5h")
    (90, 3600, 131400, 1800)
    """
    text = str(amount)
    if not _STEP.fullmatch(text):
        raise ConfigError(f"bad step {text!r}", field="step", expected="seconds, or 10m, 2h, 1d12h")
    return round(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))


def exists(folder: Path) -> bool:
    """Return True if a cluster lives in `folder`, running or not."""
    return (folder / JOURNAL).is_file()


def make_folder(folder: Path, settings: Settings) -> dict[str, Any]:
    """Fill the folder of a new cluster with copies of all it is made of; the header of its journal.

    Raises
    ------
    ConfigError
        A file that is named does not exist, or is no regular file.
    OutputError
        The folder cannot be written.
    """
    try:
        if settings.conf is not None:
            copy_conf(Path(settings.conf), folder)
        else:
            _write(folder / CONF, made_up_conf(settings))
            if settings.gpus_per_node:
                _write(folder / "gres.conf", f"Name=gpu File=/dev/nvidia[0-{settings.gpus_per_node - 1}]\n")
        if settings.policy:
            _let_have_policy(folder / CONF, settings.policy)
        if settings.accounting:
            _let_have_database(folder)
        accounting = [_accounting(path, folder, f"accounting-{k}") for k, path in enumerate(settings.accounting)]
        if settings.streams is not None:
            _copy_file(Path(settings.streams), folder / STREAMS, "streams of jobs in TOML")
        power = dict(settings.power)
        if "power_budget" in power and not is_watts(power["power_budget"]):
            _copy_file(Path(power["power_budget"]), folder / BUDGET, "watts, or a CSV file time,watts")
            power["power_budget"] = BUDGET
        if "carbon" in power:
            _copy_file(Path(power["carbon"]), folder / CARBON, "a CSV file time,g_per_kwh")
            power["carbon"] = CARBON
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from None
    start = int(time.time()) if settings.start is None else instant(settings.start)
    # real time starts now: with another start only the pace can be real
    mode = "running" if settings.mode == "real" and settings.start is not None else settings.mode
    jobs = settings.jobs or ("run" if mode in ("real", "running") else "simulate")
    return new_header(
        start=start, mode=mode, rate=settings.rate, conf=CONF, users=settings.users,
        release=settings.release, jobs=jobs, accounting=accounting, storage="" if settings.storage else "none",
        operators=settings.operators, streams=STREAMS if settings.streams is not None else "",
        power=power, flavour=settings.flavour, programs=settings.allow_code, boot_s=settings.boot_time,
    )  # fmt: skip


def _let_have_policy(conf: Path, policy: str) -> None:
    """Say in the copied slurm.conf which policy there is, in place of what it says."""
    text = _SCHEDULER.sub("", read_text(conf, "utf-8", "surrogateescape"))
    conf.write_text(f"{text.rstrip()}\nSchedulerType=sched/{policy}\n", "utf-8", "surrogateescape")


def _let_have_database(folder: Path) -> None:
    """Say in the copied slurm.conf that there is a database, where neither it nor what it includes says anything."""
    texts = [read_text(path, "utf-8", "replace") for path in folder.rglob("*") if path.is_file()]
    if not any(map(_STORAGE.search, texts)):
        line = b"\n# --accounting\nAccountingStorageType=accounting_storage/slurmdbd\n"
        (folder / CONF).write_bytes(read_bytes(folder / CONF) + line)


def _accounting(path: str, folder: Path, name: str) -> str:
    """Put accounting data into the folder, or the first words of an empty database; their file's name there."""
    if path != NEW_DATABASE:
        return _copy(Path(path), folder, name)
    _write(folder / name, "add qos normal\n")
    return name


def made_up_conf(settings: Settings) -> str:
    """Return the slurm.conf of a cluster that was given none."""
    count = settings.nodes
    names = f"n[{1:0{len(str(count))}d}-{count}]" if count > 1 else "n1"
    gpus = f" Gres=gpu:{settings.gpus_per_node}" if settings.gpus_per_node else ""
    lines = [
        "ClusterName=cluster",
        "SlurmctldHost=localhost",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        *(["GresTypes=gpu"] if gpus else []),
        "MaxJobCount=1000000",
        "MaxArraySize=100001",
        *(["AccountingStorageType=accounting_storage/slurmdbd"] if settings.storage else []),
        *(["ScronParameters=enable"] if since(settings.release, "recurring_jobs") else []),
        f"NodeName={names} CPUs={settings.cpus_per_node} CoresPerSocket={settings.cpus_per_node} "
        f"RealMemory={settings.cpus_per_node * MIB_PER_CPU}{gpus} State=UNKNOWN",
        "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        "PartitionName=debug Nodes=ALL MaxTime=30 State=UP",
    ]
    return "\n".join(lines) + "\n"


def programs_named(conf: str) -> list[str]:
    """Return the keys of a slurm.conf with programs that would run beside jobs.

    >>> programs_named("Prolog=/a\\nprolog = /b\\n#Epilog=/c\\nTaskEpilog=(null)")
    ['Prolog']
    """
    return sorted({_PROGRAMS[found[1].lower()] for found in _NAMED.finditer(conf)})


def copy_conf(source: Path, folder: Path) -> None:
    """Copy a slurm.conf, what is read beside it, and what they include from their own folder."""
    _copy_file(source, folder / CONF, "a slurm.conf")
    _copy_included(source, source.parent, folder)
    for name in _BESIDE:
        if (source.parent / name).exists():
            if name == _DATABASE and not os.access(source.parent / name, os.R_OK):
                continue  # it is slurmdbd's alone
            _copy_file(source.parent / name, folder / name)
            _copy_included(source.parent / name, source.parent, folder)


def _copy_included(source: Path, top: Path, folder: Path, depth: int = 0) -> None:
    """Files that `source` includes, or its policy reads, by names relative to `top`; the others stay where they are."""
    text = read_text(source, "utf-8", "replace")
    for name in [*_INCLUDE.findall(text), *_OF_POLICY.findall(text)]:
        part, target = top / name, folder / name
        if Path(name).is_absolute() or not part.exists() or depth > _MAX_DEPTH or ".." in Path(name).parts:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(part, target)
        _copy_included(part, top, folder, depth + 1)


def _copy(source: Path, folder: Path, name: str) -> str:
    _copy_file(source, folder / (name + source.suffix), "accounting data")
    return name + source.suffix


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(_MODE)


def _copy_file(source: Path, target: Path, what: str | None = None) -> None:
    """Copy a regular file; `what` it is expected to be."""
    try:
        content = read_bytes(source)
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise ConfigError(str(why), file=str(source), expected=what) from None
    if target.name == _DATABASE:
        content = _PASSWORD.sub(b"", content)
    target.write_bytes(content)
    target.chmod(_MODE)
