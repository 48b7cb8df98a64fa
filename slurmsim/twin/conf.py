"""A slurm.conf made of ``scontrol show config``, ``show partition`` and ``show node``, for a dump without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from slurmsim.config.files import Carried
from slurmsim.config.load import examine
from slurmsim.config.options import find_scalar
from slurmsim.errors import WorkloadError
from slurmsim.hostlist import compress
from slurmsim.numerals import is_number
from slurmsim.tres import parse_gres
from slurmsim.twin.dump import Dump
from slurmsim.twin.findings import Findings, Weight
from slurmsim.twin.shown import Shown, records

CONF, GRES, TOPOLOGY = "slurm.conf", "gres.conf", "topology.conf"
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\[\d{1,4}\])?\s*= ?(.*)", re.ASCII)
_UNIT = re.compile(r" (?:sec|usec|min|MB|hours|days|nodes/min|percent)\Z")
_NOTHING = frozenset({"(null)", "N/A", "n/a", "", "none", "None", "(null type)"})
_UID = re.compile(r"\(\d+\)\Z", re.ASCII)
_LEFT_OUT = frozenset({"slurm_conf", "slurm_version", "boot_time", "hash_val", "next_job_id", "maxnodecount"})
_END = ("Cgroup Support Configuration", "Slurmctld(", "MPI Plugins Configuration", "Node Features Configuration")
_TRIES = 20  # lines of a made-up slurm.conf that may be dropped for being refused
_LOCAL = re.compile(r"\([^()]*\)")

# Keys of show partition that are no keys of a PartitionName line, or say there what they do not say here.
_NO_KEYS = frozenset({"TotalCPUs", "TotalNodes", "TRES", "SelectTypeParameters", "NodeSets", "Exclusive",
                      "JobDefaults", "ExclusiveTopo", "Topology"})  # fmt: skip
_UNSET = {"MaxNodes": "UNLIMITED", "MaxCPUsPerNode": "UNLIMITED", "MaxCPUsPerSocket": "UNLIMITED",
          "DefMemPerNode": "UNLIMITED",
          "MaxMemPerNode": "UNLIMITED", "OverTimeLimit": "NONE", "AllowGroups": "ALL", "AllowAccounts": "ALL",
          "AllowQos": "ALL", "AllocNodes": "ALL", "DefaultTime": "NONE", "MinNodes": "0",
          "ResumeTimeout": "GLOBAL", "SuspendTimeout": "GLOBAL", "SuspendTime": "GLOBAL"}  # fmt: skip
_NODE = (
    ("CPUTot", "CPUs"), ("Boards", "Boards"), ("Sockets", "Sockets"), ("CoresPerSocket", "CoresPerSocket"),
    ("ThreadsPerCore", "ThreadsPerCore"), ("RealMemory", "RealMemory"), ("TmpDisk", "TmpDisk"), ("Weight", "Weight"),
    ("AvailableFeatures", "Feature"), ("CoreSpecCount", "CoreSpecCount"), ("CPUSpecList", "CpuSpecList"),
    ("MemSpecLimit", "MemSpecLimit"), ("Port", "Port"),
)  # fmt: skip
_CLOUD = ("CLOUD", "FUTURE", "DYNAMIC_NORM", "DYNAMIC_FUTURE")


def configuration(dump: Dump, nodes: list[Shown], release: str, findings: Findings) -> dict[str, str]:
    """Return the files of the twin's configuration by name. Raises WorkloadError and ConfigError."""
    given = dump.text(CONF)
    topology = _topology(dump.text("topology.txt"))
    texts = {TOPOLOGY: topology} if topology else {}
    gres = dump.text(GRES) or ("" if given else _gres_lines(nodes))
    if gres:
        texts[GRES] = gres
    if given:
        return {**texts, CONF: given}
    if not dump.text("config.txt"):
        findings.add(Weight.HEAVY, "no config.txt and no slurm.conf: weights, backfill and limits are Slurm's defaults")
    licenses = [] if dump.text("config.txt") else _licenses(dump.text("license.txt"))
    lines = [
        *licenses,
        *_plugin(topology),
        *(line for line in _scalars(dump.text("config.txt")) if not (topology and line.startswith("TopologyPlugin="))),
        *_node_lines(nodes),
        *_partition_lines(dump, nodes, findings),
    ]
    return _accepted(lines, texts, release, findings)


def _accepted(lines: list[str], texts: dict[str, str], release: str, findings: Findings) -> dict[str, str]:
    """Return the files without the lines that our reader refuses, which are findings. Raises ConfigError."""
    for _ in range(_TRIES):
        found = {**texts, CONF: "\n".join(lines) + "\n"}
        report = examine(Path(CONF), release=release, files=Carried(Path(), found)).report
        refused = {one.line: one for one in report.errors if one.line and _is_scalar(lines, one.line, one.file)}
        if not refused:
            report.raise_first_error()
            for one in report.findings:
                if one.severity == "warning":
                    findings.add(Weight.MIDDLE, f"{one.key} {one.value}: {one.message}")
            return found
        for number, one in refused.items():
            findings.add(Weight.MIDDLE, f"{one.key} is not taken over: {one.message}")
            lines[number - 1] = f"# {lines[number - 1]}"
    report.raise_first_error()
    return found


def _is_scalar(lines: list[str], number: int, file: str | None) -> bool:
    return file == CONF and number <= len(lines) and not lines[number - 1].startswith(("NodeName", "PartitionName"))


def _scalars(text: str) -> Iterator[str]:
    """Yield the options of ``show config`` that slurm.conf has, once each; hosts as often as there are."""
    seen: set[str] = set()
    for line in text.splitlines():
        if line.startswith(_END):
            return
        found = _LINE.fullmatch(line.strip())
        if found is None:
            continue
        key, value = found[1], _UNIT.sub("", found[2].strip())
        lower = key.lower()
        option = find_scalar(key)
        if option is None or value in _NOTHING or lower in _LEFT_OUT or (lower in seen and lower != "slurmctldhost"):
            continue
        seen.add(lower)
        if lower in ("slurmuser", "slurmduser"):
            value = _UID.sub("", value)
        if "#" not in value and '"' not in value:
            yield f'{option.name}="{value}"' if " " in value else f"{option.name}={value}"


# -- nodes ------------------------------------------------------------------------------------------------------------


def read_nodes(dump: Dump) -> list[Shown]:
    """Return the nodes, each name once. Raises WorkloadError."""
    file = dump.path("node.txt")
    found: dict[str, Shown] = {}
    for one in records(dump.text("node.txt"), "NodeName", file):
        name = one.get("NodeName")
        if name in found:
            raise WorkloadError(f"{name!r} comes twice", file=file, line=one.line, field="NodeName")
        found[name] = one
    return list(found.values())


def _node_lines(nodes: list[Shown]) -> Iterator[str]:
    """Yield NodeName lines, one for all nodes that follow each other and are alike."""
    alike: list[str] = []
    last = ""
    for one in nodes:
        text = _of_node(one)
        if text != last and alike:
            yield f"NodeName={compress(alike)}{last}"
            alike = []
        last = text
        alike.append(one.get("NodeName"))
    if alike:
        yield f"NodeName={compress(alike)}{last}"


def _of_node(one: Shown) -> str:
    name, words = one.get("NodeName"), []
    for theirs, ours in _NODE:
        value = one.get(theirs)
        if value and value != "0" and not (ours == "Port" and value == "6818"):
            words.append(f" {ours}={value}")
    for theirs, ours in (("NodeAddr", "NodeAddr"), ("NodeHostName", "NodeHostname")):
        if one.get(theirs, name) != name:
            words.append(f" {ours}={one.get(theirs)}")
    gres = _LOCAL.sub("", one.get("Gres"))
    if gres:
        words.append(f" Gres={gres}")
    state = set(one.get("State").split("+"))
    words.append(f" State={next((word for word in _CLOUD if word in state), 'UNKNOWN')}")
    return "".join(words)


def _gres_lines(nodes: list[Shown]) -> str:
    """Return a gres.conf in which each GPU has a file, so that it has a number; "" where there are none."""
    by_gres: dict[str, list[str]] = {}
    for one in nodes:
        by_gres.setdefault(_LOCAL.sub("", one.get("Gres")), []).append(one.get("NodeName"))
    lines = []
    for text, names in by_gres.items():
        at = 0
        for item in parse_gres(text) if text else ():
            if item.name != "gpu" or not 0 < item.count <= 1024:
                continue
            kind = f" Type={item.type}" if item.type else ""
            numbers = f"[{at}-{at + item.count - 1}]" if item.count > 1 else str(at)
            lines.append(f"NodeName={compress(names)} Name=gpu{kind} File=/dev/nvidia{numbers}")
            at += item.count
    return "\n".join(lines) + "\n" if lines else ""


# -- partitions -------------------------------------------------------------------------------------------------------


def _partition_lines(dump: Dump, nodes: list[Shown], findings: Findings) -> Iterator[str]:
    """Yield PartitionName lines; where none is told, one of the partitions that nodes name."""
    found = list(records(dump.text("partition.txt"), "PartitionName", dump.path("partition.txt")))
    for one in found:
        yield _of_partition(one)
        if one.get("Topology"):
            what = f"its topology {one.get('Topology')} is not taken over: only the cluster's own is told"
            findings.add(Weight.MIDDLE, what, one.get("PartitionName"))
    if not found:
        findings.add(Weight.HEAVY, "no partition.txt: partitions are made of what nodes say, without limits")
        members: dict[str, list[str]] = {}
        for node in nodes:
            for name in filter(None, node.get("Partitions").split(",")):
                members.setdefault(name, []).append(node.get("NodeName"))
        for number, (name, names) in enumerate(members.items()):
            yield f"PartitionName={name} Nodes={compress(names)} Default={'NO' if number else 'YES'}"


def _of_partition(one: Shown) -> str:
    words = [f"PartitionName={one.get('PartitionName')}"]
    for key, value in one.fields.items():
        if key == "PartitionName" or key in _NO_KEYS or value in _NOTHING or _UNSET.get(key) == value:
            continue
        every = key == "Nodes" and one.get("NodeSets") == "ALL"
        words.append(f"{'QOS' if key == 'QoS' else key}={'ALL' if every else value}")
    words += one.get("JobDefaults").split(",")
    own = one.get("Exclusive")
    if own == "NODE":
        words = [word for word in words if not word.startswith("OverSubscribe=")] + ["OverSubscribe=EXCLUSIVE"]
    elif own == "USER":
        words.append("ExclusiveUser=YES")
    return " ".join(filter(None, words))


def _licenses(text: str) -> list[str]:
    """Return the line of licenses that ``show licenses`` tells; none where it tells none."""
    found = re.findall(r"^LicenseName=(\S{1,64})\s{1,20}Total=(\d{1,9})", text, re.ASCII | re.MULTILINE)
    return [f"Licenses={','.join(f'{name}:{total}' for name, total in found)}"] if found else []


# -- topology ---------------------------------------------------------------------------------------------------------


def _topology(text: str) -> str:
    """Return a topology.conf of ``show topology``: without what only it prints; "" where there is none.

    A switch of switches is shown with the nodes below it, and blocks with each size that there is.
    """
    lines, sizes = [], set()
    for line in map(str.strip, text.splitlines()):
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        sizes.add(words.get("BlockSize", ""))
        if line.startswith("SwitchName="):
            below = "Switches" if words.get("Switches") else "Nodes"
            speed = f" LinkSpeed={words['LinkSpeed']}" if words.get("LinkSpeed", "0") != "0" else ""
            lines.append(f"SwitchName={words['SwitchName']}{speed} {below}={words.get(below, '')}")
        elif line.startswith("BlockName="):
            lines.append(f"BlockName={words['BlockName']} Nodes={words.get('Nodes', '')}")
    if lines and lines[-1].startswith("BlockName="):
        lines.append(f"BlockSizes={','.join(sorted(filter(is_number, sizes), key=int))}")
    return "\n".join([*lines, ""]) if lines else ""


def _plugin(topology: str) -> list[str]:
    """Return the line of the plug-in: where topology.yaml is the site's, slurm.conf names none."""
    return [f"TopologyPlugin=topology/{'block' if topology.startswith('Block') else 'tree'}"] if topology else []
