"""What the daemon tells of nodes and partitions: tables of the fields of node_info_t and partition_info_t."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap
from slurmsim.core.records.local_cores import special_cores
from slurmsim.core.records.node_columns import reserved_cpus
from slurmsim.core.records.partition import Partition
from slurmsim.model.node import NodeSpec
from slurmsim.model.power_saving import saves_power
from slurmsim.numerals import is_number
from slurmsim.records import Field
from slurmsim.records.node import NODE
from slurmsim.records.partition import PARTITION
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import task_ranges
from slurmsim.slurmctld.base.raw_configuration import SLURMD_PORT
from slurmsim.slurmctld.fields.gres_ids import gres_used, used_gres
from slurmsim.tres import format_tres, job_defaults_text

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

NOT_SET = -1
# what slurmctld reads of slurm.conf again while a node is off, or boots: its slurmd has told of nothing since
UNTOLD_OFF, UNTOLD_COMING = "off", "coming"
NodeGetter = Callable[[int, "LiveCluster"], Any]
PartitionGetter = Callable[[Partition, "LiveCluster"], Any]

COUNTED_WEIGHTS = "counted_weights"
"""A partition's TRESBillingWeights when its TRES were last counted, if it has others now."""


def _planned_nodes(cluster: LiveCluster) -> Bitmap:
    """Return the nodes that backfill's last cycle planned for pending jobs and that no job has taken since.

    Only idle nodes are marked; since 24.11 nodes with idle CPUs, too.
    """
    if cluster.planned is None:  # once a request, not once a node
        host, table = cluster.controller.host, cluster.controller.state.table
        if not hasattr(host.policy, "last_cycle"):  # a policy without cycles
            host.mark_planned()
        cluster.planned = host.planned & table.idle
        if since(cluster.release, "busy_nodes_planned"):
            cluster.planned |= host.planned_busy & (table.idle | table.mixed & table.with_free_cpus())
    return cluster.planned


def spec(i: int, cluster: LiveCluster) -> NodeSpec:
    return cluster.controller.state.table.specs[i]


def used_cpus(i: int, cluster: LiveCluster) -> int:
    """CPUs of node `i` that jobs have."""
    table = cluster.controller.state.table
    bit = 1 << i
    if table.idle & bit:
        return 0
    return int(table.cpus[i] - max(table.free_cpus[i], 0)) if table.mixed & bit else int(table.cpus[i])


POWERED_DOWN, SET_DOWN = "powered_down", "down"
"""What is kept of a cloud node that nothing can boot, and its value once an administrator has set the node down."""


def count_cpus(cluster: LiveCluster) -> None:
    """Take down the CPUs that jobs have of each node, for clients that ask for a single one."""
    cluster.told_cpus = [used_cpus(i, cluster) for i in range(cluster.controller.state.table.n)]


def used_memory(i: int, cluster: LiveCluster) -> int:
    """Memory of node `i` that jobs have, MiB."""
    table = cluster.controller.state.table
    bit = 1 << i
    if table.mixed & bit:
        return int(table.mem[i] - table.free_mem[i])
    if table.idle & bit:
        return 0
    for _, _, job in cluster.controller.state.running:
        if job.nodes & bit and job.alloc is not None:
            mem = job.alloc.mem
            return mem if isinstance(mem, int) else int(mem[job.alloc.indices().tolist().index(i)])
    return 0


def state(i: int, cluster: LiveCluster) -> str:
    """Return the base state: FUTURE, DOWN, IDLE, MIXED or ALLOCATED; MIXED is worked out as slurmctld's clients do."""
    controller = cluster.controller
    bit = 1 << i
    if is_future(cluster, i):
        return "FUTURE"
    down = controller.node_states.down & bit and kept(i, cluster, POWERED_DOWN) in (None, SET_DOWN)
    if down or controller.node_states.booting & bit:
        return "DOWN"
    used = used_cpus(i, cluster)
    if not used:
        kept_some = since(cluster.release, "memory_makes_mixed") and used_memory(i, cluster)
        return "MIXED" if kept_some else "IDLE"
    return "ALLOCATED" if used >= int(controller.state.table.cpus[i]) else "MIXED"


_BINDINGS = {"core": "cores", "thread": "threads", "socket": "sockets", "ldom": "ldoms", "off": None}
"""What is shown of a CpuBind that was asked for."""


def flags(i: int, cluster: LiveCluster) -> list[str]:
    """State flags by Slurm's names."""
    controller, states, bit = cluster.controller, cluster.controller.node_states, 1 << i
    power = controller.power
    # the flags come with the look every few seconds, not with the reservation
    now = cluster.now
    begun = [r for r in controller.state.reserved.all if r.full and r.began and r.covers(now, now + 1)]
    reserved = functools.reduce(operator.or_, (r.nodes for r in begun), 0)
    maintained = functools.reduce(operator.or_, (r.nodes for r in begun if "MAINT" in r.flags), 0)
    not_heard_of = _registers(i, cluster) or _boots_untold(i, cluster)
    found: list[tuple[str, Bitmap]] = [
        ("CLOUD", bit if spec(i, cluster).state == "CLOUD" else 0),
        ("DYNAMIC_NORM", bit if spec(i, cluster).dynamic else 0),
        ("EXTERNAL", bit if spec(i, cluster).state == "EXTERNAL" else 0),
        ("DRAIN", states.drained), ("FAIL", states.failing),
        ("NOT_RESPONDING", states.silent | states.mute | (bit if not_heard_of else 0)),
        ("REBOOT_REQUESTED", states.to_reboot), ("REBOOT_ISSUED", states.booting),
        ("MAINTENANCE", maintained), ("RESERVED", reserved),
        ("BLOCKED", 0 if controller.state.exclusive_users is None else controller.state.exclusive_users.blocked()),
        ("PLANNED", _planned_nodes(cluster)), ("COMPLETING", controller.completing.nodes),
    ]  # fmt: skip
    if power is not None:
        found += [
            ("POWER_DOWN", power.nodes.asked),
            ("POWERED_DOWN", power.nodes.off),
            ("POWERING_DOWN", power.nodes.going),
            ("POWERING_UP", power.nodes.coming),
        ]
    elif kept(i, cluster, POWERED_DOWN):
        found.append(("POWERED_DOWN", bit))
    return [name for name, mask in found if mask & bit]


def _registers(i: int, cluster: LiveCluster) -> bool:
    """Whether slurmctld has just asked the node to register, and waits for it."""
    return bool(kept(i, cluster, "registers") == cluster.now)


def _has_told(i: int, cluster: LiveCluster) -> bool:
    """Return True if slurmd has told of its node since slurm.conf was read again; one that is off or boots has not."""
    power, untold = cluster.controller.state.power, kept(i, cluster, "untold")
    if kept(i, cluster, "unregistered"):
        return False
    return not (untold == UNTOLD_OFF and power.off >> i & 1) and not _boots_untold(i, cluster)


def _boots_untold(i: int, cluster: LiveCluster) -> bool:
    """Return True if the node boots, and slurmctld has not heard of it since it read slurm.conf again."""
    return kept(i, cluster, "untold") == UNTOLD_COMING and bool(cluster.controller.state.power.coming >> i & 1)


def _known(i: int, cluster: LiveCluster) -> bool:
    """Return True if slurmctld knows what slurmd tells of its node; 22.05 keeps most of that of its old records."""
    kept_anyway = not since(cluster.release, "reconfigure_begins_anew") and not kept(i, cluster, "unregistered")
    return _has_told(i, cluster) or kept_anyway


def _cap_watts(i: int, cluster: LiveCluster) -> int | None:
    """Return the cap its processor has from the job on it, to the nearest watt; None where it has none."""
    watts = cluster.controller.watts
    caps = [] if watts is None else [watts.shapes[job.id].cap_mw for job in _on_node(i, cluster)]
    return round(max(caps) / 1000) if caps else None


def _current_watts(i: int, cluster: LiveCluster) -> int:
    """Return what it draws by the model, to the nearest watt; 0 where nothing is known of watts."""
    watts = cluster.controller.watts
    if watts is None:
        return 0
    shapes = [watts.shapes[job.id] for job in _on_node(i, cluster)]
    off = cluster.controller.state.power.off >> i & 1
    idle = 0 if shapes or off else watts.spec.idle_mw
    return round((sum(shape.drawn_mw // shape.nodes for shape in shapes) + idle) / 1000)


def _on_node(i: int, cluster: LiveCluster) -> Iterator[Job]:
    """Jobs that run there."""
    return (job for _, _, job in cluster.controller.state.running if job.nodes >> i & 1)


def _capacity(i: int, cluster: LiveCluster) -> str:
    state = cluster.controller.state
    return format_tres(state.billing.of_node(i, state.partitions))


def _given(i: int, cluster: LiveCluster) -> str:
    given = {"cpu": used_cpus(i, cluster), "mem": used_memory(i, cluster)}  # a suspended job keeps its memory alone
    table, counts = cluster.controller.state.table, cluster.controller.state.billing
    for kind, (name, of_type) in enumerate(table.gres_kinds):
        counts.add_gres(given, name, of_type, used_gres(kind, i, cluster))
    return format_tres({name: count for name, count in given.items() if count})


def _gres(i: int, cluster: LiveCluster) -> str | None:
    return (
        ",".join(f"{g.name}:{g.type}:{g.count}" if g.type else f"{g.name}:{g.count}" for g in spec(i, cluster).gres)
        or None
    )


def kept(i: int, cluster: LiveCluster, field: str) -> Any:
    """Return what scontrol gave the node."""
    return cluster.node_texts.get(i, {}).get(field)


def is_future(cluster: LiveCluster, i: int) -> bool:
    """Return True if ``state=future`` has put the node away, or it was deleted: it is down, and not shown."""
    return bool(kept(i, cluster, "future")) or is_gone(cluster, i)


def is_gone(cluster: LiveCluster, i: int) -> bool:
    """Return True if the node was deleted."""
    return bool(cluster.controller.state.table.gone >> i & 1)


def is_hidden_cloud(cluster: LiveCluster, i: int) -> bool:
    """Return True for a CLOUD node that is off, in releases that show it only with PrivateData=cloud."""
    off = cluster.controller.state.power.off >> i & 1
    if not off or spec(i, cluster).state != "CLOUD" or since(cluster.release, "cloud_nodes_shown"):
        return False
    return "cloud" not in str(cluster.spec.options.get("PrivateData", "")).lower().split(",")


def _last_busy(i: int, cluster: LiveCluster) -> int:
    """Return since when the node is idle; 0, which is unknown, once it is powered down."""
    if cluster.controller.state.power.off >> i & 1 or _boots_untold(i, cluster):
        return 0
    return int(kept(i, cluster, "last_busy") or cluster.network.start_time)


def _conf(i: int, cluster: LiveCluster, key: str, default: str) -> str:
    return cluster.conf.node(spec(i, cluster).name, key) or default


def _default_port(cluster: LiveCluster) -> int:
    text = cluster.conf.scalar("SlurmdPort", str(SLURMD_PORT))
    return int(text) if is_number(text) else SLURMD_PORT


def _spec_cpus(i: int, cluster: LiveCluster) -> str | None:
    """Return the CPUs of the cores that a node keeps from jobs."""
    s = spec(i, cluster)
    if not s.core_spec_count:
        return _conf(i, cluster, "CpuSpecList", "") or None
    cores, each = special_cores(s), s.threads_per_core
    return task_ranges([cpu for cpu in range(cores.bit_length() * each) if cores >> cpu // each & 1])


def _resume_after(i: int, cluster: LiveCluster) -> int | None:
    seconds = kept(i, cluster, "resume_after")
    since = cluster.node_reasons.of(i)[1]
    return since + int(seconds) if seconds and seconds < 0xFFFFFFF0 else None


def _suspend_time(i: int, cluster: LiveCluster) -> int | None:
    """Return its own, the longest of its partitions, or the cluster's; None for never."""
    own = spec(i, cluster).suspend_time_s
    if own is None:
        partitions = [p.spec.suspend_time_s for p in cluster.controller.state.partitions if p.mask >> i & 1]
        own = max((time for time in partitions if time is not None), default=None)
    if own is None:
        text = cluster.conf.scalar("SuspendTime")
        return int(text) if is_number(text) else None
    return own if own >= 0 else None


def _reservation_of(i: int, cluster: LiveCluster) -> str | None:
    now = cluster.now
    found = (r.name for r in cluster.controller.state.reserved.all if r.covers(now, now + 1) and r.nodes >> i & 1)
    return next(found, None)


def _owner(i: int, c: LiveCluster) -> str | None:
    """Who has the node to himself (--exclusive=user, ExclusiveUser), as ``alice(2001)``."""
    users = c.controller.state.exclusive_users
    name = users.owner(i) if users is not None else ""
    return f"{name}({c.people.by_name(name).uid})" if name else None


def _in_spec_or_beside(field: Field) -> NodeGetter:
    """Return the getter of an attribute, or of what scontrol gave."""
    if not field.attribute:
        return lambda i, c: kept(i, c, field.name) or None
    value: Callable[[Any], Any] = attrgetter(field.attribute)
    if field.kind == "words":
        return lambda i, c: ",".join(value(spec(i, c))) or None
    return lambda i, c: value(spec(i, c))


NODE_FIELDS: dict[str, NodeGetter] = {
    **{row.name: _in_spec_or_beside(row) for row in NODE if row.attribute or (row.update and not row.ruled)},
    "name": lambda i, c: c.controller.state.table.names[i],
    "node_hostname": lambda i, c: kept(i, c, "node_hostname") or _conf(i, c, "NodeHostName", spec(i, c).name),
    "node_addr": lambda i, c: (
        kept(i, c, "node_addr") or _conf(i, c, "NodeAddr", _conf(i, c, "NodeHostName", spec(i, c).name))
    ),
    "port": lambda i, c: int(_conf(i, c, "Port", str(_default_port(c)))),
    "default_port": lambda i, c: _default_port(c),
    "cpu_bind": lambda i, c: _BINDINGS.get(kept(i, c, "cpu_bind"), kept(i, c, "cpu_bind")),
    "cpu_spec_list": _spec_cpus,
    "next_state": lambda i, c: kept(i, c, "next_state"),
    "resume_after": _resume_after,
    "suspend_time": _suspend_time,
    "resv_name": _reservation_of,
    "state": state,
    "state_flags": flags,
    "cpus_efctv": lambda i, c: spec(i, c).cpus - reserved_cpus(spec(i, c)),
    "alloc_cpus": used_cpus,
    "weighted_cpus": lambda i, c: 0 if since(c.release, "no_weighted_tres") else used_cpus(i, c),
    "boards": lambda i, c: 1,
    "alloc_memory": used_memory,
    "free_mem": lambda i, c: max(spec(i, c).real_memory_mib - used_memory(i, c), 0) if _has_told(i, c) else None,
    "cpu_load": lambda i, c: used_cpus(i, c) * 100,
    "features_act": lambda i, c: kept(i, c, "features_act") or ",".join(spec(i, c).features) or None,
    "gres": _gres,
    "gres_used": gres_used,
    "reason": lambda i, c: c.node_reasons.of(i)[0],
    "reason_time": lambda i, c: c.node_reasons.of(i)[1],
    "reason_uid": lambda i, c: c.node_reasons.of(i)[2],
    "reason_user": lambda i, c: None if (uid := c.node_reasons.user(i)) is None else c.people.by_uid(uid).name,
    "owner": _owner,
    "mcs_label": lambda i, c: None,
    "partitions": lambda i, cluster: ",".join(p.name for p in cluster.controller.state.partitions if p.mask >> i & 1),
    "boot_time": lambda i, c: (
        0 if _registers(i, c) or not _known(i, c) else kept(i, c, "boot_time") or c.network.start_time - 3600
    ),
    "slurmd_start_time": lambda i, c: kept(i, c, "slurmd_start_time") or c.network.start_time if _known(i, c) else 0,
    "last_busy": _last_busy,
    "version": lambda i, c: c.version if _has_told(i, c) else None,
    "arch": lambda i, c: "x86_64" if _known(i, c) else None,
    "os": lambda i, c: kept(i, c, "os") or "Linux KERNEL #1 SMP" if _known(i, c) else None,
    "tres_fmt_str": _capacity,
    "alloc_tres_fmt_str": _given,
    "cap_watts": _cap_watts,
    "current_watts": _current_watts,
}
"""Field -> its value for the node with that index."""


def _minutes(seconds: int | None) -> int | None:
    return None if seconds is None else seconds // 60


def _partition_tres(p: Partition, cluster: LiveCluster) -> str | None:
    """As last counted: weights that came since without nodes do not show yet (_calc_part_tres)."""
    if not p.total_nodes and not p.spec.nodes:
        return None
    counted = cluster.partition_texts.get(p.name, {}).get(COUNTED_WEIGHTS)
    found = cluster.controller.state.billing.capacity(p, counted)
    return format_tres({name: count for name, count in found.items() if count or "/" not in name})


def _told(p: Partition, cluster: LiveCluster, field: Field) -> Any:
    """Return what scontrol gave the partition, or slurm.conf."""
    texts = cluster.partition_texts.get(p.name, {})
    if field.name in texts:
        return texts[field.name] if texts[field.name] != "" else None
    text = cluster.conf.partition(p.name, field.conf)
    return None if not text or text.upper() == "ALL" else text


def _kept_beside(field: Field) -> PartitionGetter:
    """Return the getter of a field that the core has no use for."""
    if field.kind != "flag":
        return lambda p, c: _told(p, c, field)

    def flag(p: Partition, cluster: LiveCluster) -> bool:
        found = _told(p, cluster, field)
        return found if isinstance(found, bool) else str(found).upper() == "YES"

    return flag


def _kept_in_spec(field: Field) -> PartitionGetter:
    value: Callable[[Any], Any] = attrgetter(field.attribute)
    shown = _SHOWN.get(field.kind)
    return (lambda p, c: value(p.spec)) if shown is None else lambda p, c: shown(value(p.spec))


_SHOWN: dict[str, Callable[[Any], Any]] = {
    "text": lambda text: text or None,
    "names": lambda words: ",".join(words) or None,
    "minutes": _minutes,
    "minutes over": _minutes,
}
"""Kind -> what is told of an attribute; of other kinds it is the attribute itself."""


def _job_defaults(p: Partition, cluster: LiveCluster) -> str | None:
    """Return what scontrol said, in its order, or slurm.conf."""
    texts = cluster.partition_texts.get(p.name, {})
    if "job_defaults" in texts:
        return texts["job_defaults"] or None
    return job_defaults_text(p.spec.def_cpu_per_gpu, p.spec.def_mem_per_gpu_mib)


def _weights(p: Partition, cluster: LiveCluster) -> str | None:
    told = cluster.partition_texts.get(p.name, {}).get("billing_weights")
    return (cluster.conf.partition(p.name, "TRESBillingWeights") if told is None else told) or None


_WORKED_OUT: dict[str, PartitionGetter] = {
    "state_up": lambda p, c: p.state,
    "nodes": lambda p, c: c.controller.state.cluster.compress(p.spec.nodes) if p.spec.nodes else None,
    "node_names": lambda p, c: list(p.spec.nodes),
    "total_nodes": lambda p, c: p.total_nodes,
    "total_cpus": lambda p, c: p.total_cpus,
    "default_time": lambda p, c: NOT_SET if p.spec.default_time_s is None else p.spec.default_time_s // 60,
    "max_mem_per_cpu": lambda p, c: p.spec.max_mem_per_cpu_mib or None,
    "max_mem_per_node": lambda p, c: p.spec.max_mem_per_node_mib or None,
    "priority_tier": lambda p, c: p.tier,
    "disable_root_jobs": lambda p, c: c.controller.access.keeps_root_out(p.spec),
    "job_defaults": _job_defaults,
    "billing_weights": _weights,
    "power_save": lambda p, c: saves_power(c.spec),
    "preempt_mode": lambda p, c: (p.spec.preempt_mode or ",".join(c.spec.option("PreemptMode")) or "OFF").upper(),
    "preempt_mode_given": lambda p, c: bool(p.spec.preempt_mode),
    "cluster": lambda p, c: c.spec.name,
    "tres_fmt_str": _partition_tres,
}
"""Fields that need the cluster, or that are not shown as the kind of their attribute is."""


def partition_getters(rows: Iterable[Field] = PARTITION) -> dict[str, PartitionGetter]:
    """Field -> its value for a partition."""
    in_spec = {row.name: _kept_in_spec(row) for row in rows if row.attribute}
    beside = {row.name: _kept_beside(row) for row in rows if row.conf and not row.attribute}
    return {**in_spec, **beside, **_WORKED_OUT}


PARTITION_FIELDS = partition_getters()
