"""PartitionName lines into `PartitionSpec`s, in the order of the file. Mirrors Slurm's read_config (22.05)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from slurmsim.config.attributes import Attributes, read_attributes
from slurmsim.config.findings import Place, Report
from slurmsim.config.line_options import NOT_FROM_DEFAULT, PARTITION_KEYS
from slurmsim.config.nodes import NodeSet, NodeTable, expand_names
from slurmsim.config.option import earlier, split_words
from slurmsim.config.scalars import preempt_words
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.errors import InputError
from slurmsim.hostlist import natural_key
from slurmsim.model.partition import PartitionSpec
from slurmsim.numerals import leading_number
from slurmsim.records.partition import PARTITION
from slurmsim.release_changes import since
from slurmsim.tres import parse_weights

_MOST_MINUTES = 65_534
_DEFAULT_SHARE = 4  # jobs a resource for YES and FORCE without a count


def read_partitions(
    lines: Iterable[ConfLine],
    overrides: Iterable[ConfLine],
    table: NodeTable,
    sets: Mapping[str, NodeSet],
    report: Report,
    modes: frozenset[str] = frozenset(),
) -> tuple[PartitionSpec, ...]:
    """PartitionName lines and what ``--set`` says on top; the last ``Default=YES`` wins.

    A name met again overrides what it gives anew; slurmctld refuses it. `modes` are the words of the cluster's
    PreemptMode.
    """
    found: dict[str, Attributes] = {}
    defaults = Attributes(PARTITION_KEYS, Place())
    default_partition = ""
    for line in lines:
        name = line.pairs[0].value
        attributes = read_attributes(line, PARTITION_KEYS, report)
        if name.upper() == "DEFAULT":
            _note_not_inherited(attributes, report)
            defaults = attributes.without(NOT_FROM_DEFAULT).over(defaults)
            continue
        if not name:
            report.error(line.place, "PartitionName", name, "no partition is named", "a name")
            continue
        if "," in name or "[" in name:
            report.warning(line.place, "PartitionName", name, "one partition, called so, as Slurm has it")
        if name in found:
            first = found[name].place
            report.fatal_in_strict(line.place, "PartitionName", name, f"defined twice (first at {first.file}:"
                                   f"{first.line}): slurmctld does not start; the later keys are used")  # fmt: skip
        else:
            attributes = attributes.over(defaults)
            attributes.note_unread(report)
        default_partition = _default_partition(name, attributes, default_partition)
        found[name] = attributes.settled().over(found[name].settled()) if name in found else attributes
    for line in overrides:
        name = line.pairs[0].value
        attributes = read_attributes(line, PARTITION_KEYS, report).settled()
        default_partition = _default_partition(name, attributes, default_partition)
        if name in found:
            found[name] = attributes.over(found[name].settled())
    for name, attributes in found.items():
        _check_preempt_mode(name, attributes, modes, report)
    specs = [_spec(name, attributes, table, sets, report) for name, attributes in found.items()]
    return tuple(replace(spec, default=spec.name == default_partition) for spec in specs)


def _default_partition(name: str, attributes: Attributes, before: str) -> str:
    """Name of the default partition after a line of `name`."""
    if attributes.given("default") and attributes.get("default"):
        return name
    return "" if attributes.given("default") and before == name else before


def _note_not_inherited(attributes: Attributes, report: Report) -> None:
    for key in NOT_FROM_DEFAULT:
        if attributes.given(key):
            report.warning(attributes.place_of(key), PARTITION_KEYS[key].name, attributes.text(key),
                           "on a DEFAULT line no partition gets it, as in Slurm")  # fmt: skip


def _spec(
    name: str,
    attributes: Attributes,
    table: NodeTable,
    sets: Mapping[str, NodeSet],
    report: Report,
) -> PartitionSpec:
    get = attributes.get
    _contradictions(name, attributes, report)
    share, share_max = _oversubscribe(attributes, report)
    exclusive = attributes.text("exclusive").upper()
    if exclusive and exclusive not in ("NO", "NODE", "USER", "TOPO"):
        report.error(attributes.place_of("exclusive"), "Exclusive", exclusive, "unknown word", "NO, NODE, USER or TOPO")
    if exclusive == "NODE" or _exclusive_topo(attributes):
        share, share_max = "EXCLUSIVE", 1
    def_memory = _memory_pair("DefMemPerCPU", "DefMemPerNode", attributes, report)
    max_memory = _memory_pair("MaxMemPerCPU", "MaxMemPerNode", attributes, report)
    max_time, default_time = get("maxtime"), get("defaulttime")
    if max_time is not None and default_time is not None and default_time > max_time:
        report.warning(attributes.place_of("defaulttime"), "DefaultTime", attributes.text("defaulttime"),
                       f"above MaxTime of partition {name}: MaxTime is used")  # fmt: skip
        default_time = max_time
    plain = {row.attribute: get(row.conf.lower()) for row in PARTITION if row.attribute and row.conf}
    listed = {row.attribute: _names(attributes, row.conf.lower()) for row in PARTITION if row.kind == "names"}
    plain |= listed | {
        "name": name,
        "nodes": _nodes(name, attributes, table, sets, report),
        "node_sets": named_sets(attributes.text("nodes"), sets, report.release),
        "default_time_s": default_time,
        "def_cpu_per_gpu": get("defcpupergpu"),
        "def_mem_per_gpu_mib": get("defmempergpu"),
        **dict(zip(("def_mem_per_cpu_mib", "def_mem_per_node_mib"), def_memory, strict=True)),
        **dict(zip(("max_mem_per_cpu_mib", "max_mem_per_node_mib"), max_memory, strict=True)),
        "oversubscribe": share,
        "oversubscribe_max": share_max,
        "over_time_limit_s": _over_time_limit(attributes, report),
        "exclusive_user": bool(get("exclusiveuser")) or attributes.text("exclusive").upper() == "USER",
        "exclusive_topo": _exclusive_topo(attributes),
        "qos": attributes.text("qos"),
        "topology": attributes.text("topology"),
        "grace_time_s": get("gracetime") or 0,
        "preempt_mode": ",".join(preempt_words(attributes.text("preemptmode"))),
        "tres_billing_weights": _weights(attributes, report),
    }
    for allow, deny in (("AllowAccounts", "deny_accounts"), ("AllowQos", "deny_qos")):
        if attributes.given(allow.lower()):
            plain[deny] = ()
    return PartitionSpec(**plain)


def _exclusive_topo(attributes: Attributes) -> bool:
    return bool(attributes.get("exclusivetopo")) or attributes.text("exclusive").upper() == "TOPO"


def _nodes(
    name: str, attributes: Attributes, table: NodeTable, sets: Mapping[str, NodeSet], report: Report
) -> tuple[str, ...]:
    """Names of the partition's nodes in table order; unknown names are an error, as slurmctld has it."""
    text, place = attributes.text("nodes"), attributes.place_of("nodes")
    if not text.strip():
        report.warning(attributes.place, "PartitionName", name, "has no nodes: its jobs never start")
        return ()
    if text.upper() == "ALL":
        members = set(table.nodes)
    else:
        members = set()
        for word in expand_names(",".join(text.split()), place, "Nodes", report):
            if word in sets:
                members |= sets[word].nodes
                sets[word].check_use(name, report)
            elif word in table.nodes:
                members.add(word)
            elif word not in table.future:
                report.error(place, "Nodes", "", f"invalid node name {word!r} in partition {name}",
                             "a NodeName or NodeSet of this configuration")  # fmt: skip
                break
    return tuple(sorted(members, key=natural_key))


def named_sets(text: str, sets: Iterable[str], release: str) -> str:
    """Return which of `sets` a list of nodes names, in their order, or ALL (nodespec_to_hostlist)."""
    if text.upper() == "ALL":
        return "ALL" if since(release, "all_is_a_node_set") else ""
    words = set(",".join(text.split()).split(","))
    return ",".join(name for name in sets if name in words)


def _oversubscribe(attributes: Attributes, report: Report) -> tuple[str, int]:
    """Return the OverSubscribe word and how many jobs may share a resource."""
    text, place = attributes.text("oversubscribe") or "NO", attributes.place_of("oversubscribe")
    word, colon, count = text.upper().partition(":")
    if word not in ("NO", "EXCLUSIVE", "YES", "FORCE"):
        report.error(place, "OverSubscribe", text, f"bad value {text!r}", "NO, EXCLUSIVE, YES[:n] or FORCE[:n]")
        return "NO", 1
    if word in ("NO", "EXCLUSIVE"):
        return word, 1
    share = leading_number(count) if colon else _DEFAULT_SHARE
    if share < (2 if word == "YES" else 1):
        report.warning(place, "OverSubscribe", text, f"bad count {count!r}: NO is used, as in Slurm")
        return "NO", 1
    return word, share


def _over_time_limit(attributes: Attributes, report: Report) -> int | None:
    """Seconds; None when the cluster's holds. UNLIMITED is one year, as in slurmctld."""
    text = attributes.text("overtimelimit")
    if not text:
        return None
    if text.upper() in ("UNLIMITED", "INFINITE") or (minutes := leading_number(text)) > _MOST_MINUTES:
        return 365 * 86_400
    if minutes < 0:
        report.warning(attributes.place_of("overtimelimit"), "OverTimeLimit", text, "ignored, as Slurm does")
        return None
    return minutes * 60


def _memory_pair(per_cpu: str, per_node: str, attributes: Attributes, report: Report) -> tuple[int | None, int | None]:
    """Memory a CPU and memory a node: of two the one for nodes counts, as in Slurm."""
    cpu, node = attributes.get(per_cpu.lower()), attributes.get(per_node.lower())
    if cpu is not None and node is not None:
        place = attributes.place_of(per_cpu.lower())
        report.warning(place, per_cpu, attributes.text(per_cpu.lower()), f"ignored, as {per_node} is set too")
        cpu = None
    return cpu, node


def _contradictions(name: str, attributes: Attributes, report: Report) -> None:
    for allow, deny in (("AllowAccounts", "DenyAccounts"), ("AllowQos", "DenyQos")):
        if attributes.given(allow.lower()) and attributes.given(deny.lower()):
            report.warning(attributes.place_of(deny.lower()), deny, attributes.text(deny.lower()),
                           f"ignored, as {allow} is set too")  # fmt: skip
    least, most = attributes.get("minnodes"), attributes.get("maxnodes")
    if most is not None and least > most:
        report.warning(attributes.place_of("minnodes"), "MinNodes", str(least),
                       f"above MaxNodes={most} of partition {name}: its jobs never start")  # fmt: skip


def _check_preempt_mode(name: str, attributes: Attributes, modes: frozenset[str], report: Report) -> None:
    """Check that the cluster can carry out a partition's own PreemptMode."""
    text, place = attributes.text("preemptmode"), attributes.place_of("preemptmode")
    words = set(preempt_words(text))
    for word in sorted(words - {"OFF", "CANCEL", "GANG", "REQUEUE", "SUSPEND", "WITHIN", "PRIORITY"}):
        report.error(place, "PreemptMode", text, f"unknown mode {word!r} in partition {name}",
                     "OFF, CANCEL, REQUEUE or SUSPEND")  # fmt: skip
    actions = words & {"OFF", "CANCEL", "REQUEUE", "SUSPEND"}
    if earlier(report.release, "24.11") and (len(actions) > 1 or "PRIORITY" in words):
        report.fatal_in_strict(place, "PreemptMode", text, f"slurmctld {report.release} does not start: one mode, or "
                               "WITHIN with it")  # fmt: skip
    if "SUSPEND" in words and not modes & {"CANCEL", "REQUEUE", "SUSPEND"}:
        report.warning(place, "PreemptMode", text, "without effect: the cluster preempts no jobs")
    elif "SUSPEND" in words and "GANG" not in modes:
        report.error(place, "PreemptMode", text, f"SUSPEND in partition {name} needs GANG in the cluster's PreemptMode",
                     "PreemptMode=SUSPEND,GANG")  # fmt: skip


def _names(attributes: Attributes, key: str) -> tuple[str, ...]:
    text = attributes.text(key)
    return () if text.upper() == "ALL" else split_words(text)


def _weights(attributes: Attributes, report: Report) -> tuple[tuple[str, float], ...]:
    text = attributes.text("tresbillingweights")
    try:
        return parse_weights(text)
    except InputError as error:
        report.error(attributes.place_of("tresbillingweights"), "TRESBillingWeights", "", error.message,
                     error.expected or "")  # fmt: skip
        return ()
