"""gres.conf beside slurm.conf: how many devices the nodes really have, and their types.

Mirrors what a node reports at registration (22.05): fewer devices than slurm.conf says leave a real node drained, more
are ignored; types slurm.conf does not give come from here. Devices have numbers where a line names files or devices
are detected. Flags and AutoDetect say which variables have the numbers of a job's GPUs, Cores which cores they are
beside. Links change nothing.
"""

from collections.abc import Iterable

from slurmsim.config.attributes import Attributes, read_attributes
from slurmsim.config.findings import Place, Report
from slurmsim.config.line_options import GRES_KEYS
from slurmsim.config.nodes import NodeTable, expand_names, split_known
from slurmsim.config.slurm_conf import ConfLine, Pair
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import InputError
from slurmsim.hostlist import compress, expand
from slurmsim.model.node import GPU_VARIABLES, Gres, NodeSpec
from slurmsim.numerals import is_number
from slurmsim.tres import parse_count


@dataclass(frozen=True, slots=True)
class _Devices:
    """Devices one line describes, per node; `nodes` empty means all nodes."""

    nodes: frozenset[str]
    name: str
    type: str
    count: int
    place: Place
    files: bool
    variables: tuple[str, ...] | None
    """What its Flags say of the variables of GPUs; None if nothing."""
    explicit: bool
    paths: tuple[str, ...] = ()  # of devices with env_uuid, in order
    cores: int = 0  # beside the devices, as bits; 0 for all


MOST_CORES = 65_536  # that a line may number
_NVIDIA, _AMD, _INTEL, _OPENCL = ((name,) for name in GPU_VARIABLES)
_FLAGS = {"nvidia_gpu_env": _NVIDIA, "amd_gpu_env": _AMD, "intel_gpu_env": _INTEL, "opencl_env": _OPENCL}
_DETECTED = {"nvml": _NVIDIA, "nvidia": _NVIDIA, "rsmi": _AMD, "oneapi": _INTEL}


def apply_gres_conf(lines: Iterable[ConfLine], table: NodeTable, report: Report, fakes: str = "") -> None:
    """Compare gres.conf with the Gres of the nodes and fill in types; `fakes` is the text of fake_gpus.conf."""
    uuids = uuids_of(fakes)
    lines = list(lines)
    if not lines:
        return
    devices: list[_Devices] = []
    detected: dict[str, tuple[str, ...] | None] = {}  # by node; what is told of all nodes is read after the file
    of_all: dict[str, tuple[str, ...] | None] = {}
    for line in lines:
        # read_attributes skips the pair that opens a line; here no key has that role
        opened = ConfLine(line.place, (Pair("gres.conf", ""), *line.pairs))
        attributes = read_attributes(opened, GRES_KEYS, report)
        nodes = _nodes(attributes, table, report)
        if attributes.given("nodename") and not nodes:
            continue
        if detector := attributes.text("autodetect").lower():
            told_of = detected if attributes.given("nodename") else of_all
            told_of |= dict.fromkeys(nodes or table.nodes, _DETECTED.get(detector))
        if (found := _devices(attributes, nodes, report)) is not None:
            devices.append(found)
    detected = {**of_all, **detected}
    told: set[tuple[str, int, int]] = set()
    for name, spec in list(table.nodes.items()):
        if spec.gres:
            mine = [device for device in devices if not device.nodes or name in device.nodes]
            by_detection = detected.get(name)
            said = next((device.variables for device in mine if device.variables is not None), by_detection)
            gres = tuple(
                replace(one, counted=not _has_files(one, mine, by_detection is not None), explicit=_explicit(one, mine))
                for one in _merge(spec, mine, told, report, lines[-1].place, detects=bool(by_detection))
            )
            table.nodes[name] = replace(
                spec, gres=gres, gpu_variables=GPU_VARIABLES if said is None else said, gpu_uuids=_uuids(mine, uuids)
            )


def uuids_of(text: str) -> dict[str, str]:
    """Return the UUIDs that a fake_gpus.conf gives its device files.

    >>> uuids_of("(null)|2|0-1|(null)|/dev/tty0|GPU-1|nvidia_gpu_env")
    {'/dev/tty0': 'GPU-1'}
    """
    rows = [line.strip().split("|") for line in text.splitlines()]
    return {row[4]: row[5] for row in rows if len(row) > 5 and row[5] not in ("", "(null)")}


def _uuids(devices: list[_Devices], known: dict[str, str]) -> tuple[str, ...]:
    """Return UUIDs of the GPUs that Flags=env_uuid tells by them; none where one of them has none, as slurmd does."""
    paths = [path for device in devices if device.name == "gpu" for path in device.paths]
    found = tuple(known.get(path, "") for path in paths)
    return found if all(found) else ()


def _has_files(gres: Gres, devices: list[_Devices], detected: bool) -> bool:
    alike = (d for d in devices if d.name == gres.name and d.type in ("", gres.type))
    return (detected and gres.name == "gpu") or any(d.files for d in alike)


def _explicit(gres: Gres, devices: list[_Devices]) -> bool:
    return any(device.explicit for device in devices if device.name == gres.name)


def _merge(
    spec: NodeSpec,
    devices: list[_Devices],
    told: set[tuple[str, int, int]],
    report: Report,
    end: Place,
    *,
    detects: bool,
) -> tuple[Gres, ...]:
    """Return the node's GRES with the types gres.conf adds; each kind of mismatch is told once.

    A node has none of a GRES that no line up to the `end` names, unless it `detects` GPUs.
    """
    merged: list[Gres] = []
    for gres in spec.gres:
        mine = [d for d in devices if d.name == gres.name and (not gres.type or d.type in ("", gres.type))]
        have = sum(device.count for device in mine)
        found_by_itself = detects and gres.name == "gpu" and not mine
        if have != gres.count and not found_by_itself and (gres.name, gres.count, have) not in told:
            told.add((gres.name, gres.count, have))
            value = f"{gres.name}:{gres.count}"
            if have < gres.count:
                report.warning(mine[0].place if mine else end, "Count", value,
                               f"gres.conf gives node {spec.name} {have} {gres.name}, slurm.conf {gres.count}, "
                               "which counts here; a real node would be drained")  # fmt: skip
            else:
                report.note(mine[0].place, "Count", value,
                            f"gres.conf gives node {spec.name} {have} {gres.name}, slurm.conf {gres.count}: "
                            "the rest is ignored, as in real Slurm")  # fmt: skip
        # types must not change the count, which is slurm.conf's: only where both add up are they taken over
        if not gres.type and have == gres.count and mine and all(device.type for device in mine):
            merged.extend(replace(gres, type=one.type, count=one.count, near=_near(one.count, [one])) for one in mine)
        else:
            merged.append(replace(gres, near=_near(gres.count, mine)))
    return tuple(merged)


def _near(count: int, devices: list[_Devices]) -> tuple[tuple[int, int], ...]:
    """Return the groups of `count` devices with the cores beside each; none if all are beside all cores."""
    if not any(device.cores for device in devices):
        return ()
    groups = []
    for device in devices:
        here = min(device.count, count)
        count -= here
        groups.append((here, device.cores))
    return (*groups, (count, 0)) if count else tuple(groups)


def _cores(attributes: Attributes, report: Report) -> int:
    """Return the cores a line names as bits, 0 for none: ``0-3,8`` (CPUs is the older name of the key)."""
    key = "cores" if attributes.given("cores") else "cpus"
    text = attributes.text(key)
    found = 0
    for part in filter(None, text.strip("[]").split(",")):
        first, dash, last = part.partition("-")
        if not is_number(first) or (dash and not is_number(last)) or not int(first) <= int(last or first) < MOST_CORES:
            report.error(attributes.place_of(key), "Cores", text, f"bad range {part!r}", "0-3,8")
            return 0
        found |= (1 << int(last or first) + 1) - (1 << int(first))
    return found


def _devices(attributes: Attributes, nodes: tuple[str, ...], report: Report) -> _Devices | None:
    """Return what one line describes; None for a line that names no GRES (``AutoDetect=off``) or is wrong."""
    place, name = attributes.place, attributes.text("name")
    if not name:
        loose = [key for key in attributes.values if key not in ("autodetect", "nodename")]
        if loose:
            report.error(place, GRES_KEYS[loose[0]].name, attributes.text(loose[0]),
                         "the line names no GRES", "Name=gpu")  # fmt: skip
        return None
    count = _count(attributes, report)
    if count is None:
        return None
    files = attributes.given("file") or attributes.given("multiplefiles")
    flags = attributes.text("flags").lower()
    variables, explicit = _variables(flags), "explicit" in flags
    paths = tuple(expand(attributes.text("file"))) if "env_uuid" in flags and name == "gpu" else ()
    return _Devices(
        frozenset(nodes), name, attributes.text("type"), count, place, files, variables, explicit, paths,
        _cores(attributes, report),
    )  # fmt: skip


def _variables(flags: str) -> tuple[str, ...] | None:
    """Return which variables Flags name; None if they name none and do not forbid them."""
    named = tuple(name for word, names in _FLAGS.items() if word in flags for name in names)
    return named if named or "no_gpu_env" in flags else None


def _nodes(attributes: Attributes, table: NodeTable, report: Report) -> tuple[str, ...]:
    """Return nodes of a line; a file that clusters share may name others."""
    text, place = attributes.text("nodename"), attributes.place_of("nodename")
    if not text or text.upper() == "ALL":
        return tuple(table.nodes) if text else ()
    names, unknown = split_known(expand_names(text, place, "NodeName", report), table)
    if unknown:
        report.warning(place, "NodeName", compress(unknown), "no nodes of slurm.conf: left out, as Slurm does")
    return names


def _count(attributes: Attributes, report: Report) -> int | None:
    """Devices of a line: Count, else how many files File names, else one."""
    try:
        files = len(expand(attributes.text("file")))
        count = parse_count(attributes.text("count")) if attributes.given("count") else files or 1
    except InputError as error:
        report.error(attributes.place, "Count" if attributes.given("count") else "File", "", error.message,
                     error.expected or "")  # fmt: skip
        return None
    if files > 1 and attributes.given("count") and count != files:
        report.warning(attributes.place_of("count"), "Count", attributes.text("count"),
                       f"File names {files} devices, which is used")  # fmt: skip
        count = files
    return count
