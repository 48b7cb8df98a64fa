"""The configuration a cluster runs under, which its journal carries, and what happens when its files say another.

What was decided under a configuration stays decided under it. `carrying_over` says which changes a running cluster goes
on under.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from slurmsim.config.accounting.draft import Draft
from slurmsim.config.accounting.load import read_draft
from slurmsim.config.dynamic_nodes import GONE
from slurmsim.config.files import Carried, Files, Remembering
from slurmsim.config.load import load_cluster, make_cluster
from slurmsim.config.option import Status
from slurmsim.config.options import find_scalar
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.errors import ConfigError, OutputError
from slurmsim.lua import FILE, names_lua
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.power import is_watts
from slurmsim.policy import configured_policy
from slurmsim.slurmctld.base.raw_configuration import ConfFacts, read_facts
from slurmsim.slurmctld.history.header import BUDGET, CARBON
from slurmsim.slurmctld.history.state_folder import check_included
from slurmsim.toml_file import Texts, read_toml, texts_from

RUNNING = "conf.running"  # folder of the files a cluster runs under, written where those beside it say something else
_HOST = re.compile(r"^[ \t]*SlurmctldHost[ \t]*=[ \t]*([^\s(]+)(?:\(([^)\s]+)\))?", re.MULTILINE | re.IGNORECASE)


@dataclass(slots=True)
class Configuration:
    """What the files of a cluster say."""

    # cluster, accounting, facts, host: for the core; associations of the first instant; what commands print; the
    # controller's address
    cluster: ClusterSpec
    accounting: Draft | None
    facts: ConfFacts
    host: str
    texts: Mapping[str, str]  # the files, by name; those that options of its policy name are among them
    # options of its policy, as it understood them; empty for one without
    policy: Mapping[str, Any] = field(default_factory=dict)
    streams: Mapping[str, Any] = field(default_factory=dict)  # tables of the streams of jobs it has; empty for none


def read_configuration(header: Mapping[str, Any], folder: Path, texts: Mapping[str, str] | None) -> Configuration:
    """Return the configuration of carried `texts`, or (None) of the files as they are. Raises ConfigError."""
    files = Remembering(folder) if texts is None else Carried(folder, texts)
    release = str(header["release"])
    if not header["conf"]:
        spec = make_cluster(int(header["nodes"]), int(header["cpus"]), partitions=("debug", "batch"))
        return Configuration(replace(spec, release=release), None, ConfFacts(), "localhost", {})
    path = folder / str(header["conf"])
    storage = header.get("storage")
    changes = [("AccountingStorageType", f"accounting_storage/{storage}")] if storage else []
    cluster, _ = load_cluster(path, changes, release=release, files=files)
    scheduler = cluster.option("SchedulerType")
    policy = configured_policy(scheduler, texts_of(files, path)).options if ":" in scheduler else {}
    streams: Mapping[str, Any] = {}
    if header.get("streams"):
        with texts_from(texts_of(files, path)):
            streams = read_toml(str(header["streams"]), "streams of jobs in TOML")
    power = header.get("power") or {}
    series = [power.get("carbon"), power.get("power_budget")]
    for name in series:
        if name is not None and not is_watts(name):
            files.text(folder / str(name))
    if names_lua(cluster.options.get("JobSubmitPlugins")) and (texts is None or files.exists(path.parent / FILE)):
        _read_script(path.parent, cluster, files, loaded=texts is None)
    if texts is None:
        check_included(folder, files.texts)
    given = [folder / name for name in header["accounting"]]
    draft = read_draft(given, cluster=cluster.name, files=files) if given else None
    return Configuration(cluster, draft, read_facts(path, files), _host(files, path), files.texts, policy, streams)


def _read_script(folder: Path, cluster: ClusterSpec, files: Files, *, loaded: bool) -> None:
    """Read the site's job_submit.lua, and load it where it is new. Raises ConfigError."""
    file = folder / FILE
    try:
        text = files.text(file)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8"
        raise ConfigError(f"cannot be read: {why}", file=str(file), field="JobSubmitPlugins=lua",
                          expected="a script beside slurm.conf") from None  # fmt: skip
    if loaded:
        from slurmsim.lua.job_submit import JobSubmit  # only who has a script waits for Lua

        JobSubmit(text, cluster.release, cluster.name, lambda: 0, str(file))


def texts_of(files: Files, conf: Path) -> Texts:
    """Texts of files that a policy's options name relative to the slurm.conf they stand in."""
    return lambda name: files.text(conf.parent / name)


def _host(files: Files, path: Path) -> str:
    """Return the controller's address in a slurm.conf: ``SlurmctldHost=name(address)``."""
    found = _HOST.search(files.text(path, "utf-8", "replace"))
    return (found[2] or found[1]) if found else "localhost"


def differences(old: Configuration, new: Configuration) -> list[str]:
    """Return what an engine is made of and has changed, each with file and line where it is one; empty for nothing."""
    a, b = old.cluster, new.cluster
    found = _changed_options(old, new)
    for kind, before, after in (("node", a.nodes, b.nodes), ("partition", a.partitions, b.partitions)):
        found += _of_kind(kind, _there(before), _there(after))
    if [p.name for p in a.partitions] != [p.name for p in b.partitions] and not found:
        found.append("the order of partitions")
    if a.networks != b.networks:
        found.append("topology.conf")
    if a.hierarchies != b.hierarchies:
        found.append("resources.yaml")
    for name in sorted({*old.texts, *new.texts}):
        if name.startswith("accounting-") and old.texts.get(name) != new.texts.get(name):
            found.append(f"{name} (associations change by sacctmgr)")
    if old.texts.get(BUDGET) != new.texts.get(BUDGET):
        found.append(f"the power budget ({BUDGET})")
    if old.texts.get(CARBON) != new.texts.get(CARBON):
        found.append(f"the carbon intensity ({CARBON})")
    if old.streams != new.streams:
        found.append("streams of jobs")
    if a.name != b.name:
        found.append("ClusterName")
    # another policy has other options, so only the policy itself is named
    if not any(one.startswith("SchedulerType") for one in found):
        found += [f"{key} of the policy in SchedulerType ({text})" for key, text in _policy_changes(old, new)]
    return found


def _there(records: Iterable[Any]) -> dict[str, Any]:
    """Return nodes or partitions by name, without nodes that were deleted."""
    return {one.name: one for one in records if getattr(one, "dynamic", "") != GONE}


def _changed_options(old: Configuration, new: Configuration) -> list[str]:
    """List options that differ and matter, SchedulerParameters as one."""
    a, b = old.cluster, new.cluster
    keys = sorted({*a.options, *b.options})
    found = [_placed(key, old, new) for key in keys if a.options.get(key) != b.options.get(key) and _matters(key)]
    parameters = {*a.scheduler_parameters, *b.scheduler_parameters}
    changed = any(a.scheduler_parameters.get(key) != b.scheduler_parameters.get(key) for key in parameters)
    if changed and not any(name.startswith("SchedulerParameters") for name in found):
        found.append(_placed("SchedulerParameters", old, new))
    return found


def _policy_changes(old: Configuration, new: Configuration) -> Iterable[tuple[str, str]]:
    """Options of the policy that say the same and mean something else, as their files have changed."""
    for key in sorted({*old.policy, *new.policy}):
        if old.policy.get(key) != new.policy.get(key):
            yield key, str(new.policy.get(key))


def _matters(key: str) -> bool:
    """Return True if anything is decided by that key of slurm.conf."""
    option = find_scalar(key)
    return option is None or option.status is Status.HONOURED


def _of_kind(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[str]:
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield f"{kind} {name} is gone"
        elif name not in before:
            yield f"{kind} {name} is new"
        elif before[name] != after[name]:
            yield f"{kind} {name}"


def _placed(key: str, old: Configuration, new: Configuration) -> str:
    """``KillWait (slurm.conf:7)``: a changed key, and the line that says it now, or said it."""
    pattern = re.compile(rf"(?:^|\s){re.escape(key)}\s*=", re.IGNORECASE)
    for texts in (new.texts, old.texts):
        for name, text in texts.items():
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line.partition("#")[0]):
                    return f"{key} ({name}:{number})"
    return key


def write_running(folder: Path, texts: Mapping[str, str]) -> None:
    """Put the files a cluster runs under where its user can compare them. Raises OutputError."""
    try:
        for name, text in texts.items():
            if Path(name).is_absolute() or ".." in Path(name).parts:
                continue  # a file outside the folder
            target = folder / RUNNING / name
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            target.write_text(text, "utf-8")
    except OSError as error:
        raise OutputError(f"{folder / RUNNING}: {error.strerror}") from None
