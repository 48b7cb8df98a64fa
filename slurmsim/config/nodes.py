"""NodeName, DownNodes and NodeSet lines into `NodeSpec`s in table order.

Mirrors the node part of Slurm's read_config (22.05): how missing Sockets and CPUs are inferred, what is reset to 1,
when CPUs are reset to the full product, and the natural name order of the node table.
"""

import re
from collections.abc import Iterable, Sequence

from slurmsim.config.attributes import Attributes, read_attributes
from slurmsim.config.findings import Place, Report
from slurmsim.config.line_options import DOWN_KEYS, NODE_KEYS, NODESET_KEYS
from slurmsim.config.option import OLDEST, earlier
from slurmsim.config.slurm_conf import ConfLine
from slurmsim.data_classes import dataclass, field, replace
from slurmsim.errors import InputError
from slurmsim.hostlist import compress, expand, natural_key
from slurmsim.model.node import Gres, NodeSpec
from slurmsim.tres import parse_gres

_FEATURES = ("feature", "features")  # a line that gives either takes neither from DEFAULT
_SIZES = ("cpus", "sockets", "socketsperboard", "corespersocket")
_NOT_IN_DEFAULT = ("nodeaddr", "nodehostname", "bcastaddr")
# What slurm.conf may say a node's state is, and what that is in a simulation.
_STATES = {"UNKNOWN": "UNKNOWN", "IDLE": "UNKNOWN", "ALLOCATED": "UNKNOWN", "MIXED": "UNKNOWN", "CLOUD": "CLOUD",
           "DOWN": "DOWN", "DRAIN": "DRAIN", "DRAINED": "DRAIN", "FAIL": "DRAIN", "FAILING": "DRAIN",
           "FUTURE": "FUTURE"}  # fmt: skip


_BEYOND = ("EXTERNAL",)  # since 26.05


@dataclass(slots=True)
class NodeTable:
    """Nodes by name as the lines define them, with the attributes they came from; `future` ones are left out."""

    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    attributes: dict[str, Attributes] = field(default_factory=dict)
    future: set[str] = field(default_factory=set)

    def in_order(self) -> tuple[NodeSpec, ...]:
        """Return all nodes that exist, in table order."""
        return tuple(self.nodes[name] for name in sorted(self.nodes, key=natural_key))


def read_nodes(lines: Iterable[ConfLine], report: Report) -> NodeTable:
    """NodeName lines; each DEFAULT line changes the defaults of the lines below it."""
    table = NodeTable()
    defaults = Attributes(NODE_KEYS, Place())
    specs: dict[str, tuple[Gres, ...]] = {}
    for number, line in enumerate(lines):
        name_list = line.pairs[0].value
        attributes = read_attributes(line, NODE_KEYS, report)
        if name_list.upper() == "DEFAULT":
            for key in _NOT_IN_DEFAULT:
                if attributes.given(key):
                    report.error(line.place, NODE_KEYS[key].name, attributes.text(key), "not allowed on a DEFAULT line")
            defaults = attributes.over(defaults)
            continue
        if name_list.upper() == "ALL":
            report.error(line.place, "NodeName", name_list, "no node can be called so", "another name")
            continue
        names = expand_names(name_list, line.place, "NodeName", report)
        if not names:
            continue
        attributes = attributes.over(defaults.without(_FEATURES) if attributes.given("features") else defaults)
        attributes.note_unread(report)
        template = _template(name_list, attributes, specs, report)
        for name in names:
            if name in table.places:
                first = table.places[name]
                report.error(line.place, "NodeName", name_list,
                             f"node {name} is defined twice (first at {first.file}:{first.line})")  # fmt: skip
                break
            table.places[name] = line.place
            table.attributes[name] = attributes
            if template.state == "FUTURE":
                table.future.add(name)
            else:
                table.nodes[name] = replace(template, name=name, line=number)
        if template.state == "FUTURE":
            report.note(line.place, "State", "FUTURE", f"{name_list} is left out: future nodes take no jobs")
    return table


def node_template(name_list: str, attributes: Attributes, report: Report) -> NodeSpec:
    """Return the node that attributes describe, without its name."""
    return _template(name_list, attributes, {}, report)


def override_nodes(table: NodeTable, line: ConfLine, report: Report) -> None:
    """Apply the attributes of one ``--set NodeName=LIST:…`` to nodes that exist, or add nodes if it has sizes."""
    attributes = read_attributes(line, NODE_KEYS, report)
    cache: dict[str, tuple[Gres, ...]] = {}
    text = line.pairs[0].value
    if any(attributes.given(key) for key in _SIZES) and text.upper() != "ALL":
        names = expand_names(text, Place(), "--set NodeName", report)
        if not any(name in table.places for name in names):
            _add_nodes(names, attributes, table, report)
            return
    for name in known_nodes(text, table, Place(), "--set NodeName", report):
        changed = attributes.settled().over(table.attributes[name].settled())
        table.attributes[name] = changed
        template = _template(name, changed, cache, report)
        table.nodes[name] = replace(template, name=name, line=table.nodes[name].line)


def _add_nodes(names: Iterable[str], attributes: Attributes, table: NodeTable, report: Report) -> None:
    """Add new nodes behind the others; partitions with Nodes=ALL have them too."""
    template = _template("the new nodes", attributes, {}, report)
    number = 1 + max((spec.line for spec in table.nodes.values()), default=-1)
    for name in names:
        table.places[name], table.attributes[name] = attributes.place, attributes
        table.nodes[name] = replace(template, name=name, line=number)


def apply_down_nodes(table: NodeTable, lines: Iterable[ConfLine], report: Report) -> None:
    """DownNodes lines: nodes that start in another state; as in Slurm, ALL and DEFAULT are names like any other."""
    for line in lines:
        attributes = read_attributes(line, DOWN_KEYS, report)
        text, place = line.pairs[0].value, line.place
        names, unknown = split_known(expand_names(text, place, "DownNodes", report), table)
        if unknown:
            report.warning(place, "DownNodes", compress(unknown), "no nodes of slurm.conf: left out, as Slurm does")
        state = _STATES.get(attributes.get("state").upper())
        if state is None:
            report.warning(attributes.place_of("state"), "State", attributes.text("state"),
                           "no node state: the line is left out, as Slurm does")  # fmt: skip
            continue
        for name in names:
            table.nodes[name] = replace(table.nodes[name], state=state, reason=attributes.get("reason"))


@dataclass(frozen=True, slots=True)
class NodeSet:
    """What a NodeSet line names: `nodes` that exist, and `unknown` names, which count where a partition uses it."""

    nodes: frozenset[str]
    unknown: tuple[str, ...]
    place: Place

    def check_use(self, partition: str, report: Report) -> None:
        """Say what is wrong with the set as nodes of `partition`."""
        if self.unknown == ("ALL",):
            report.fatal_in_strict(self.place, "NodeSet", "ALL", f"slurmctld {report.release} takes ALL for a node's "
                                   "name here and does not start; all nodes are meant")  # fmt: skip
        elif self.unknown:
            report.error(self.place, "NodeSet", "", f"unknown node {self.unknown[0]!r} in partition {partition}",
                         "a NodeName of this configuration")  # fmt: skip


def read_node_sets(lines: Iterable[ConfLine], table: NodeTable, report: Report) -> dict[str, NodeSet]:
    """NodeSet lines: set name to the nodes it lists and those that have its feature."""
    sets: dict[str, NodeSet] = {}
    for line in lines:
        attributes = read_attributes(line, NODESET_KEYS, report)
        name = line.pairs[0].value
        if name in sets:
            report.warning(line.place, "NodeSet", name, "defined before: this line is left out, as Slurm does")
            continue
        if name in table.places:
            say = report.warning if earlier(report.release, "24.11") else report.error
            say(line.place, "NodeSet", name, "a node has this name too: as a partition's node it means the set")
        members, unknown = _set_nodes(attributes.text("nodes"), table, line.place, report)
        if feature := attributes.text("feature"):
            members.update(spec.name for spec in table.nodes.values() if feature in spec.features)
        if not members:
            report.warning(line.place, "NodeSet", name, "no node belongs to it")
        sets[name] = NodeSet(frozenset(members), unknown, line.place)
    return sets


def _set_nodes(text: str, table: NodeTable, place: Place, report: Report) -> tuple[set[str], tuple[str, ...]]:
    """Return nodes that a NodeSet lists, and its names that are no nodes; 22.05 has ALL for such a name."""
    if text.upper() == "ALL":
        return set(table.nodes), ("ALL",) if report.release == OLDEST else ()
    names, unknown = split_known(expand_names(text, place, "NodeSet", report) if text.strip() else (), table)
    return set(names), unknown


def expand_names(text: str, place: Place, key: str, report: Report) -> list[str]:
    """Names of a hostlist; an error in `report` and no names when it is broken or empty."""
    try:
        names = expand(text)
    except InputError as error:
        report.error(place, key, "", error.message, error.expected or "")
        return []
    if not names:
        report.error(place, key, text, "no node named", "a hostlist")
    return names


def known_nodes(text: str, table: NodeTable, place: Place, key: str, report: Report) -> Sequence[str]:
    """Existing nodes of a hostlist (ALL: every one); unknown names are an error, future ones vanish."""
    if not text.strip():
        return ()
    if text.upper() == "ALL":
        return tuple(table.nodes)
    names, unknown = split_known(expand_names(text, place, key, report), table)
    if unknown:
        report.error(place, key, "", f"unknown node {unknown[0]!r} in {text!r}", "a NodeName of this configuration")
    return names


def split_known(names: Iterable[str], table: NodeTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the existing nodes among `names`, each once, and the unknown names; future nodes are in neither."""
    once = tuple(dict.fromkeys(names))
    return tuple(n for n in once if n in table.nodes), tuple(n for n in once if n not in table.places)


def _template(names: str, attributes: Attributes, cache: dict[str, tuple[Gres, ...]], report: Report) -> NodeSpec:
    """Return the NodeSpec of one line, its name left out."""
    sockets, cores, threads, cpus = _sizes(names, attributes, report)
    place = attributes.place
    core_spec = attributes.get("corespeccount")
    if core_spec >= sockets * cores:
        report.warning(
            place, "CoreSpecCount", str(core_spec), "as many cores as the node has: reset to 1, as Slurm does"
        )
        core_spec = 1 if sockets * cores > 1 else 0
    threads_used = threads if cpus > sockets * cores else 1
    if named := tuple(sorted({cpu // threads_used for cpu in _cpu_list(attributes, cpus, report)})):
        if core_spec:
            report.warning(place, "CoreSpecCount", str(core_spec), "not used beside CPUSpecList, as in Slurm")
        core_spec = len(named)
    memory = attributes.get("realmemory") or 1
    reserved = attributes.get("memspeclimit") or 0
    if reserved >= memory and reserved:
        report.warning(place, "MemSpecLimit", attributes.text("memspeclimit"),
                       f"not below RealMemory ({memory} MiB): reset to 0, as Slurm does")  # fmt: skip
        reserved = 0
    return NodeSpec(
        name="", cpus=cpus, sockets=sockets, cores_per_socket=cores, threads_per_core=threads, real_memory_mib=memory,
        tmp_disk_mib=attributes.get("tmpdisk"), weight=attributes.get("weight"),
        suspend_time_s=attributes.get("suspendtime"), features=attributes.get("features"),
        gres=_gres(attributes, cache, report), state=_state(attributes, report), reason=attributes.get("reason"),
        core_spec_count=core_spec, spec_cores=named, mem_spec_limit_mib=reserved,
    )  # fmt: skip


def with_first_cores(nodes: Iterable[NodeSpec]) -> tuple[NodeSpec, ...]:
    """Return `nodes` where CoreSpecCount means the first cores of each socket in turn (spec_cores_first)."""
    return tuple([
        replace(node, spec_cores=tuple(sorted(
            [k % node.sockets * node.cores_per_socket + k // node.sockets for k in range(node.core_spec_count)]
        ))) if node.core_spec_count and not node.spec_cores else node
        for node in nodes
    ])  # fmt: skip


def _sizes(names: str, attributes: Attributes, report: Report) -> tuple[int, int, int, int]:
    """Sockets, cores a socket, threads a core, CPUs; what is missing is inferred as slurmctld does."""
    sizes: dict[str, int | None] = {}
    for key in ("boards", "sockets", "socketsperboard", "corespersocket", "threadspercore", "cpus"):
        value = attributes.get(key)
        if value == 0:
            report.warning(attributes.place_of(key), NODE_KEYS[key].name, "0", "reset to 1, as Slurm does")
            value = 1
        sizes[key] = value
    boards, cores, threads = sizes["boards"] or 1, sizes["corespersocket"] or 1, sizes["threadspercore"] or 1
    cpus, sockets = sizes["cpus"], sizes["sockets"]
    if (per_board := sizes["socketsperboard"]) is not None:
        if sockets is not None:
            report.warning(attributes.place_of("sockets"), "Sockets", attributes.text("sockets"),
                           "given beside SocketsPerBoard, which is used")  # fmt: skip
        sockets = boards * per_board
    elif sockets is None:
        # CPUs alone (or with cores and threads) say how many sockets there are
        sockets = cpus // (cores * threads) if cpus and cpus % (cores * threads) == 0 else boards
    product = sockets * cores * threads
    if cpus is None:
        cpus = product
    elif cpus not in (sockets, sockets * cores, product):
        report.warning(attributes.place_of("cpus"), "CPUs", str(cpus),
                       f"{names} has {sockets} sockets * {cores} cores * {threads} threads: CPUs reset to {product}, "
                       "as Slurm does")  # fmt: skip
        cpus = product
    return sockets, cores, threads, cpus


def _cpu_list(attributes: Attributes, cpus: int, report: Report) -> set[int]:
    """Return which of `cpus` CPUs a CPUSpecList like ``0-1,4`` names."""
    text = attributes.text("cpuspeclist")
    found: set[int] = set()
    for part in text.split(",") if text else ():
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part.strip())
        if match is None or not int(match[1]) <= int(match[2] or match[1]) < cpus:
            report.warning(attributes.place_of("cpuspeclist"), "CPUSpecList", text, f"bad range {part!r}: list ignored")
            return set()
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return found


def _gres(attributes: Attributes, cache: dict[str, tuple[Gres, ...]], report: Report) -> tuple[Gres, ...]:
    text = attributes.text("gres")
    if text not in cache:
        counts: dict[tuple[str, str], int] = {}
        try:
            for item in parse_gres(text):
                counts[item.name, item.type] = counts.get((item.name, item.type), 0) + item.count
        except InputError as error:
            report.error(attributes.place_of("gres"), "Gres", "", error.message, error.expected or "")
        # without gres.conf GPUs have devices, as where they are detected; anything else is counted
        shared = {item.split(":")[0] for item in text.split(",") if ":no_consume" in item.lower()}
        cache[text] = tuple(
            Gres(name, type_, n, name != "gpu", name not in shared) for (name, type_), n in counts.items()
        )
    return cache[text]


def _state(attributes: Attributes, report: Report) -> str:
    text = attributes.get("state").upper()
    state = _STATES.get(text)
    if state is None:
        what = "not modelled" if text in _BEYOND else "no node state"
        report.error(attributes.place_of("state"), "State", attributes.text("state"), f"{text!r} is {what}",
                     "UNKNOWN, CLOUD, DOWN, DRAIN, FAIL or FUTURE")  # fmt: skip
        return "UNKNOWN"
    return state
