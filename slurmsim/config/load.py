"""Read a cluster: slurm.conf (a file or text) with overrides into a checked `ClusterSpec`, or make one up.

`load_cluster` and `parse_cluster` raise on the first error; `examine` collects everything for ``slurmsim check``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from slurmsim.config.block_conf import read_blocks
from slurmsim.config.daemon_rules import check_hosts, check_power_action, check_rules
from slurmsim.config.dynamic_nodes import FILE as DYNAMIC
from slurmsim.config.dynamic_nodes import add_dynamic, in_order, read_lines
from slurmsim.config.files import DISK, Files
from slurmsim.config.findings import Finding, Place, Report
from slurmsim.config.gres_conf import apply_gres_conf
from slurmsim.config.line_options import LINE_TABLES
from slurmsim.config.memory_limits import check_memory_limits
from slurmsim.config.nodes import (
    NodeTable,
    apply_down_nodes,
    override_nodes,
    read_node_sets,
    read_nodes,
    with_first_cores,
)
from slurmsim.config.option import LATEST, OLDEST, check_release, earlier, split_words
from slurmsim.config.options import SCALARS, find_scalar
from slurmsim.config.partitions import read_partitions
from slurmsim.config.power_saving import check_power_saving, power_actions
from slurmsim.config.resources_yaml import FILE as RESOURCES
from slurmsim.config.resources_yaml import FIRST as RESOURCES_SINCE
from slurmsim.config.resources_yaml import read_resources
from slurmsim.config.ring_conf import read_rings
from slurmsim.config.scalars import Setting, add_setting, check_weights, read_scalars
from slurmsim.config.scheduler_options import merge_parameters, read_parameters
from slurmsim.config.slurm_conf import ConfLine, Pair, parse_conf, read_conf
from slurmsim.config.slurmdbd_conf import FILE as SLURMDBD
from slurmsim.config.slurmdbd_conf import read_slurmdbd
from slurmsim.config.topology_conf import read_topology
from slurmsim.config.topology_yaml import FILE as TOPOLOGY_YAML
from slurmsim.config.topology_yaml import check_partitions, read_topologies
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import ConfigError, InputError, nearest
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.hierarchy import HierarchySpec
from slurmsim.model.node import NodeSpec
from slurmsim.model.switch import SwitchSpec
from slurmsim.model.topology import DEFAULT, TopologySpec
from slurmsim.tres import parse_weights

Override = tuple[str, str]
_UNLIMITED_JOBS = 2**31 - 1


def parse_override(text: str) -> Override:
    """Split a ``--set Key=Value``. Raises ConfigError when there is no key or no ``=``."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{text!r} sets nothing", field="--set", expected="Key=Value")
    return key.strip(), value.strip()


FAKES = "fake_gpus.conf"  # GPUs that a node is to take for its own, and their UUIDs
_UNREAD = (
    "acct_gather.conf", "burst_buffer.conf", "cgroup.conf", "gres.yaml", "helpers.conf", "job_container.conf",
    "mpi.conf", "namespace.yaml", "oci.conf", "plugstack.conf", "scrun.lua",
    "switch.yaml",
)  # fmt: skip
_DECIDES = ("burst_buffer.conf", "gres.yaml", "helpers.conf")


@dataclass(slots=True)
class Examination:
    """What reading a configuration gave: the cluster (None when there are errors) and everything worth saying."""

    cluster: ClusterSpec | None
    report: Report


def load_cluster(
    path: Path, overrides: Sequence[Override] = (), *, strict: bool = False, release: str = OLDEST, files: Files = DISK
) -> tuple[ClusterSpec, list[Finding]]:
    """Return the cluster a slurm.conf describes, with gres.conf and topology.conf beside it.

    Parameters
    ----------
    path
        The slurm.conf; Include is relative to its folder.
    overrides
        ``(key, value)`` pairs on top, in order: any scalar of slurm.conf, or ``("PartitionName", "debug:MaxTime=30")``
        and ``("NodeName", "n[1-4]:Weight=5")``. Names that are no nodes are added where it says their size, as
        ``("NodeName", "n[5-8]:CPUs=4")``. ``SchedulerParameters`` merges sub-option by sub-option.
    strict
        Refuse what the real daemons refuse (obsolete keys, no SlurmctldHost, …) instead of warning.
    release
        The Slurm release that sets the defaults: ``"22.05"`` to ``"26.05"``.
    files
        Where the texts come from.

    Raises
    ------
    ConfigError
        The first error, naming file, line and key.
    """
    return _finish(examine(path, overrides, strict=strict, release=release, files=files))


def parse_cluster(
    lines: Sequence[str] | str,
    name_for_errors: str = "slurm.conf",
    overrides: Sequence[Override] = (),
    *,
    gres_lines: Sequence[str] | str = (),
    topology_lines: Sequence[str] | str = (),
    topology_yaml: str = "",
    resources_yaml: str = "",
    strict: bool = False,
    release: str = OLDEST,
) -> tuple[ClusterSpec, list[Finding]]:
    """As `load_cluster`, for a configuration given as text or lines; `name_for_errors` stands for the file."""
    report = Report(strict, release)
    check_release(release)
    conf = parse_conf(lines, name_for_errors)
    gres = parse_conf(gres_lines, "gres.conf") if gres_lines else []
    topology = parse_conf(topology_lines, "topology.conf") if topology_lines else None
    beside = _Beside(topology, topology_yaml, TOPOLOGY_YAML, resources_yaml, RESOURCES)
    return _finish(Examination(_build(conf, gres, beside, overrides, report, name_for_errors), report))


def examine(
    path: Path, overrides: Sequence[Override] = (), *, strict: bool = False, release: str = OLDEST, files: Files = DISK
) -> Examination:
    """As `load_cluster`, but errors of content end in the report. Raises ConfigError for lines that cannot be read."""
    check_release(release)
    report = Report(strict, release)
    conf = read_conf(path, files)
    gres, topology = (
        read_conf(beside, files) if files.exists(beside := path.parent / name) else None
        for name in ("gres.conf", "topology.conf")
    )
    for name in _UNREAD:
        if files.exists(path.parent / name):
            say = report.warning if name in _DECIDES else report.note
            may = "which may decide otherwise" if name in _DECIDES else "which decides no schedule"
            say(Place(str(path.parent / name)), name, "", f"slurmsim does not read this file of Slurm's, {may}")
    fakes = files.text(path.parent / FAKES, "utf-8", "replace") if files.exists(path.parent / FAKES) else ""
    by_name, shared = path.parent / TOPOLOGY_YAML, path.parent / RESOURCES
    topologies, resources = (
        files.text(one, "utf-8", "replace") if files.exists(one) else "" for one in (by_name, shared)
    )
    networks = _Beside(topology, topologies, str(by_name), resources, str(shared))
    later = files.text(path.parent / DYNAMIC) if files.exists(path.parent / DYNAMIC) else ""
    cluster = _build(conf, gres or (), networks, overrides, report, str(path), fakes, later)
    database = _database(path.parent / SLURMDBD, files, report)
    return Examination(None if cluster is None or report.errors else replace(cluster, database=database), report)


def _database(path: Path, files: Files, report: Report) -> dict[str, Any] | None:
    """Return what slurmdbd.conf says; None without one, or where it is not for this user to read."""
    if not files.exists(path):
        return None
    try:
        files.text(path, "utf-8-sig", "replace")
    except PermissionError:
        report.note(Place(str(path)), SLURMDBD, "", "this file is not for you to read: the database has its defaults")
        return None
    except OSError:
        pass  # said below
    return read_slurmdbd(read_conf(path, files), report)


def make_cluster(
    n_nodes: int,
    cpus_per_node: int,
    *,
    partitions: Sequence[str] = ("batch",),
    memory_mib: int = 0,
    overrides: Sequence[Override] = (),
    prefix: str = "n",
    findings: list[Finding] | None = None,
) -> ClusterSpec:
    """Return a made-up cluster of equal nodes, for logs that come without a slurm.conf.

    Nodes are called `prefix` and a zero-padded number and belong to every partition, the first of which is the
    default; limits are wide open. Cores are handed out (CR_Core), memory too when `memory_mib` is given. Everything
    else has the defaults of the latest release; decisions are those of the oldest. Warnings about `overrides` that are
    not in `findings` yet are put there.

    Raises
    ------
    ConfigError
        No node, no CPU, more CPUs a node than Slurm counts, or an override that is wrong.
    """
    for field, value in (("--nodes", n_nodes), ("--cpus-per-node", cpus_per_node)):
        if value < 1:
            raise ConfigError(f"{value} is too few", field=field, expected="at least 1")
    width = len(str(n_nodes))
    names = f"{prefix}[{1:0{width}d}-{n_nodes}]"
    consumed = "CR_Core_Memory" if memory_mib else "CR_Core"
    lines = [
        "ClusterName=cluster",
        "SlurmctldHost=localhost",
        "SelectType=select/cons_tres",
        f"SelectTypeParameters={consumed}",
        "MaxArraySize=4000001",
        f"MaxJobCount={_UNLIMITED_JOBS}",
        f"NodeName={names} Sockets=1 CoresPerSocket={cpus_per_node} RealMemory={memory_mib or 1}",
    ]
    lines += [
        f"PartitionName={name} Nodes=ALL MaxTime=UNLIMITED Default={'NO' if i else 'YES'}"
        for i, name in enumerate(partitions)
    ]
    cluster, found = parse_cluster(lines, "made-up cluster", overrides, release=LATEST)
    if findings is not None:
        findings += [one for one in found if one.severity == "warning" and one not in findings]
    return replace(cluster, release=OLDEST)


def _finish(examination: Examination) -> tuple[ClusterSpec, list[Finding]]:
    examination.report.raise_first_error()
    assert examination.cluster is not None
    return examination.cluster, examination.report.findings


def _build(
    conf: Sequence[ConfLine], gres: Sequence[ConfLine], networks: _Beside,
    overrides: Sequence[Override], report: Report, shown: str, fakes: str = "", later: str = "",
) -> ClusterSpec | None:  # fmt: skip
    """Return the cluster of parsed lines; None when the report has errors."""
    settings, objects = _sort_lines(conf, report)
    extra = _apply_overrides(settings, overrides, report)
    options = read_scalars(settings, report)
    table = read_nodes(objects["nodename"], report)
    for line in extra["nodename"]:
        override_nodes(table, line, report)
    apply_down_nodes(table, objects["downnodes"], report)
    dynamic = read_lines(later)
    gone = add_dynamic(dynamic, table, report)
    apply_gres_conf(gres, table, report, fakes)
    sets = read_node_sets(objects["nodeset"], table, report)
    _check_gres_types(table, options["GresTypes"], report)
    named = {line.pairs[0].value for line in objects["partitionname"]} - {"DEFAULT"}
    for line in extra["partitionname"]:
        if (name := line.pairs[0].value) not in named:
            report.error(Place(), "--set PartitionName", "", f"no partition is called {name!r}{nearest(name, named)}")
    modes = frozenset(options["PreemptMode"])
    if options["SelectType"] == "select/linear":
        modes -= {"GANG"}  # no jobs take turns
    partitions = read_partitions(objects["partitionname"], extra["partitionname"], table, sets, report, modes)
    _check_billing(options, report)
    check_rules(settings, options, len(table.nodes), report)
    check_memory_limits(options, partitions, table.nodes, report)
    scheduler = settings.get("SchedulerParameters")
    parameters = read_parameters(scheduler.text, scheduler.place, report) if scheduler else {}
    _check_whole(settings, objects, bool(table.nodes), bool(partitions), report, Place(shown))
    check_power_saving(options, settings, table, partitions, report)
    _check_threads(settings.get("SelectTypeParameters"), table.nodes.values(), report)
    network, topologies = networks.read(options["TopologyPlugin"], table, report, shown)
    check_partitions(partitions, [one.name for one in topologies], report, shown)
    hierarchies = networks.hierarchies(options["Licenses"], topologies, table, report)
    if report.errors:
        return None
    nodes = in_order(table, dynamic, gone) if dynamic else table.in_order()
    return ClusterSpec(
        options["ClusterName"],
        with_first_cores(nodes) if "spec_cores_first" in parameters else nodes,
        partitions,
        options,
        parameters,
        network.switches,
        network.blocks,
        release=report.release,
        rings=network.rings,
        topologies=topologies,
        hierarchies=hierarchies,
        power_actions=power_actions(conf),
    )


@dataclass(frozen=True, slots=True)
class _Beside:
    """Texts beside slurm.conf: topology.conf (None where there is none), topology.yaml and resources.yaml; names."""

    lines: Sequence[ConfLine] | None
    yaml: str
    yaml_shown: str
    resources: str
    resources_shown: str

    def read(
        self, plugin: str, table: NodeTable, report: Report, shown: str
    ) -> tuple[TopologySpec, tuple[TopologySpec, ...]]:
        """Return the topology of partitions that name none, and all by name; topology.yaml alone counts if it is there.

        Releases before 25.05 do not read it.
        """
        if self.yaml and not earlier(report.release, "25.05"):
            found = read_topologies(self.yaml, table, report, self.yaml_shown)
            return (found[0] if found else TopologySpec(DEFAULT)), found
        if self.yaml:
            report.note(Place(self.yaml_shown), TOPOLOGY_YAML, "", f"Slurm {report.release} does not read this file")
        switches = _switches(self.lines, table, report, shown) if plugin == "topology/tree" else ()
        blocks = read_blocks(self.lines or (), table, report, shown) if plugin == "topology/block" else None
        rings = read_rings(self.lines or (), table, report, shown) if plugin == "topology/ring" else ()
        return TopologySpec(DEFAULT, plugin, switches, blocks, rings), ()

    def hierarchies(
        self, licenses: Sequence[tuple[str, int]], topologies: Sequence[TopologySpec], table: NodeTable, report: Report
    ) -> tuple[HierarchySpec, ...]:
        """Return the resources of resources.yaml, which releases before 25.05 do not read."""
        if not self.resources:
            return ()
        if earlier(report.release, RESOURCES_SINCE):
            report.note(Place(self.resources_shown), RESOURCES, "", f"Slurm {report.release} does not read this file")
            return ()
        found = read_resources(self.resources, [name for name, _ in licenses], table, report, self.resources_shown)
        known = [one.name for one in topologies] or [DEFAULT]
        for one in found:
            if one.topology and one.topology not in known:
                report.error(Place(self.resources_shown), "topology", one.topology, f"no topology of {one.name}",
                             ", ".join(known))  # fmt: skip
        return found


def _switches(
    topology: Sequence[ConfLine] | None, table: NodeTable, report: Report, shown: str
) -> tuple[SwitchSpec, ...]:
    """Return the switches of topology.conf; 22.05 to 24.11 take one without lines and have none."""
    if topology is None or not (topology or earlier(report.release, "25.05")):
        report.error(Place(shown), "TopologyPlugin", "", "topology/tree needs a topology.conf beside slurm.conf")
    elif not topology:
        report.warning(Place(shown), "TopologyPlugin", "", "topology.conf has no switches: nodes are chosen without")
    return read_topology(topology or (), table, report)


def _check_billing(options: Mapping[str, Any], report: Report) -> None:
    """TRES weights of partitions, each where it stands; what is no list of weights has been refused already."""
    for seen in report.seen:
        if seen.key == "TRESBillingWeights":
            with suppress(InputError):
                check_weights(parse_weights(seen.value), options, seen.place, seen.key, report)


def _sort_lines(conf: Sequence[ConfLine], report: Report) -> tuple[dict[str, Setting], dict[str, list[ConfLine]]]:
    """Scalars by name, object lines by type."""
    settings: dict[str, Setting] = {}
    objects: dict[str, list[ConfLine]] = {kind: [] for kind in LINE_TABLES}
    for line in conf:
        kind = line.pairs[0].key.lower()
        if kind in LINE_TABLES:
            objects[kind].append(line)
            continue
        first = find_scalar(kind)
        if len(line.pairs) > 1 and first is not None and not (first.refuse or first.name == "PowerAction"):
            second = line.pairs[1]
            report.fatal_in_strict(line.place, second.key, second.value, "a second key on a line: slurmctld does not "
                                   "start")  # fmt: skip
        for pair in line.pairs:
            option = find_scalar(pair.key)
            if option is not None:
                if option.name == "PowerAction":
                    check_power_action(line, report)
                add_setting(settings, option, pair, line.place, report)
                if option.refuse or option.name == "PowerAction":
                    break  # the rest of the line describes the object
            elif pair.key.lower() in LINE_TABLES:
                report.error(line.place, pair.key, pair.value, "must open its line")
                break
            else:
                report.error(line.place, pair.key, pair.value, f"unrecognized key{_hint(pair.key)}")
    return settings, objects


def _hint(key: str) -> str:
    tables = LINE_TABLES.values()
    names = [row.name for row in SCALARS.values()] + [next(iter(table.values())).name for table in tables]
    hint = nearest(key, names)
    owners = [next(iter(table.values())).name for table in tables if key.lower() in table]
    return hint or (f"; it belongs on a {owners[0]} line" if owners else "")


def _apply_overrides(
    settings: dict[str, Setting], overrides: Sequence[Override], report: Report
) -> dict[str, list[ConfLine]]:
    """Put ``--set`` values over the file's; returns the lines for partitions and nodes."""
    extra: dict[str, list[ConfLine]] = {"nodename": [], "partitionname": []}
    for key, value in overrides:
        shown = f"--set {key}"
        if key.lower() in extra:
            extra[key.lower()].append(_override_line(key, value, shown))
            continue
        option = find_scalar(key)
        if option is None:
            raise ConfigError(f"unknown key {key!r}{_hint(key)}", field=shown, expected="a key of slurm.conf")
        if option.name == "SchedulerParameters" and option.name in settings:
            value = merge_parameters(settings[option.name].text, value)
        settings[option.name] = Setting(option, value, Place(), f"--set {option.name}")
    return extra


def _override_line(key: str, value: str, shown: str) -> ConfLine:
    """``debug:MaxTime=30 State=DOWN`` as the line it stands for."""
    name, colon, rest = value.partition(":")
    if not colon or not name or not rest.strip():
        raise ConfigError(f"{value!r} is no override", field=shown, expected="NAME:Key=value, more after blanks")
    try:
        parsed = parse_conf([rest], shown)
    except ConfigError as error:
        raise ConfigError(error.message, field=shown, expected="NAME:Key=value, more after blanks") from None
    pairs = tuple(pair for line in parsed for pair in line.pairs)
    return ConfLine(Place(shown), (Pair(key, name), *pairs))


def _check_threads(setting: Setting | None, nodes: Iterable[NodeSpec], report: Report) -> None:
    """Warn of CPUs or sockets as shares of nodes with threads, which are not as real Slurm has them."""
    words = () if setting is None else split_words(setting.text)
    shares = [word for word in words if word.upper().startswith(("CR_CPU", "CR_SOCKET"))]
    several = next((node for node in nodes if node.cpus > node.sockets * node.cores_per_socket), None)
    if setting is not None and shares and several is not None:
        text = (
            "real Slurm gives whole cores"
            if shares[0].upper().startswith("CR_CPU")
            else "--threads-per-core has no effect"
        )
        report.warning(setting.place, setting.shown, shares[0], f"on nodes with threads as {several.name} {text}")


def _check_gres_types(table: NodeTable, types: Sequence[str], report: Report) -> None:
    """Check that GresTypes names each GRES, as slurmctld does."""
    told: set[str] = set()
    for name, spec in table.nodes.items():
        for gres in spec.gres:
            if gres.name not in types and gres.name not in told:
                told.add(gres.name)
                report.warning(table.places[name], "Gres", gres.name, "GresTypes does not name it, so slurmctld leaves "
                               "it out; here it is scheduled all the same")  # fmt: skip


def _check_whole(
    settings: dict[str, Setting], objects: dict[str, list[ConfLine]], nodes: bool, partitions: bool, report: Report,
    file: Place,
) -> None:  # fmt: skip
    """Check what a configuration as a whole must have."""
    check_hosts(objects["slurmctldhost"], report)
    if "ClusterName" not in settings:
        report.fatal_in_strict(file, "ClusterName", "", 'missing; "cluster" is used')
    if not objects["slurmctldhost"] and "ControlMachine" not in settings and report.strict:
        report.error(file, "SlurmctldHost", "", "missing")
    for what, present in (("NodeName", nodes), ("PartitionName", partitions)):
        if not present and not report.errors:
            report.error(file, what, "", "the configuration defines none", f"at least one {what} line")
