"""The changes that are tried: a bounded list of settings that sites have otherwise than their slurm.conf says.

Each is one change of the configuration as it was given. A change without an effect is left out: the value is there
already, or a weight has nothing to weigh. Some changes have their value from the log itself: the longest limit it has,
or the nodes that none of its jobs ever had.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from slurmsim import hostlist
from slurmsim.config.scheduler_options import SUB_OPTIONS
from slurmsim.data_classes import dataclass
from slurmsim.duration import format_duration
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.policy import parse_policy
from slurmsim.replaying.options import Pairs
from slurmsim.workload import Workload

MOST_PARTITIONS = 4  # limits are tried of so many partitions, those with the most jobs
WEIGHTS = ("Age", "JobSize", "Partition", "Fairshare", "QOS", "Assoc")
_OF_ACCOUNTS = ("Fairshare", "QOS", "Assoc")
BACKFILL = {
    "bf_interval": (10, 30, 60, 120, 300),
    "bf_max_job_test": (10, 50, 100, 500, 1000, 5000),
    "bf_window": (720, 1440, 2880, 10080),
    "bf_resolution": (60, 300, 600),
    "bf_max_job_user": (0, 10, 50),
    "bf_max_job_part": (0, 50),
    "default_queue_depth": (10, 100, 1000),
}
"""Values of SchedulerParameters that are tried."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One change."""

    family: str  # scheduler, backfill, priority, partitions, nodes or limits
    setting: str  # how a reader would write it; `now` is what the configuration says
    now: str
    set: Pairs  # the same as overrides of the configuration (``slurmsim run --set``)
    why: str = ""  # what in the log asks for it; empty for those that are always tried


@dataclass(frozen=True, slots=True)
class Site:
    """What candidates are made from."""

    cluster: ClusterSpec
    workload: Workload
    accounting: Accounting | None


def candidates(site: Site, families: Sequence[str] = ()) -> list[Candidate]:
    """All changes to try, or those of `families`."""
    return [one for name in families or FAMILIES for one in FAMILIES[name](site)]


def check_families(families: Sequence[str]) -> None:
    """Raise ConfigError for a family there is not."""
    for name in families:
        if name not in FAMILIES:
            raise ConfigError(f"no family {name!r}", field="--try", expected=", ".join(FAMILIES))


def _scheduler(site: Site) -> Iterator[Candidate]:
    now = parse_policy(site.cluster.option("SchedulerType"))[0]
    for name in ("backfill", "builtin"):
        if name != now:
            yield Candidate("scheduler", f"SchedulerType=sched/{name}", f"sched/{now}",
                            (("SchedulerType", f"sched/{name}"),))  # fmt: skip


def _backfill(site: Site) -> Iterator[Candidate]:
    builtin = parse_policy(site.cluster.option("SchedulerType"))[0] != "backfill"
    for name, values in BACKFILL.items():
        if builtin and name.startswith("bf_"):
            continue
        option = SUB_OPTIONS[name]
        now = int(site.cluster.scheduler_parameters.get(name, option.default))
        for value in values:
            if value != now:
                yield Candidate("backfill", f"{name}={value}", str(now), (("SchedulerParameters", f"{name}={value}"),))


def _priority(site: Site) -> Iterator[Candidate]:
    option = site.cluster.option
    if option("PriorityType") == "priority/basic":
        pairs = (("PriorityType", "priority/multifactor"), ("PriorityWeightAge", "1000"))
        yield Candidate("priority", "PriorityType=priority/multifactor PriorityWeightAge=1000", "priority/basic", pairs)
        return
    yield Candidate("priority", "PriorityType=priority/basic", "priority/multifactor",
                    (("PriorityType", "priority/basic"),))  # fmt: skip
    weights = {name: int(option(f"PriorityWeight{name}")) for name in WEIGHTS}
    usual = max(weights.values()) or 1000
    for name, now in weights.items():
        if name in _OF_ACCOUNTS and site.accounting is None:
            continue
        key = f"PriorityWeight{name}"
        for value in (0, now // 10, now * 10, usual) if now else (usual, usual * 10):
            if value != now and value < 2**32:
                yield Candidate("priority", f"{key}={value}", str(now), ((key, str(value)),))
    favor = option("PriorityFavorSmall")
    if weights["JobSize"]:
        yield _flag("priority", "PriorityFavorSmall", bool(favor))
    if weights["Age"]:
        yield from _times(option, "PriorityMaxAge", (86_400, 7 * 86_400, 28 * 86_400))
    if weights["Fairshare"] and site.accounting is not None:
        yield from _times(option, "PriorityDecayHalfLife", (86_400, 7 * 86_400, 28 * 86_400))


def _flag(family: str, key: str, now: bool) -> Candidate:
    value = "NO" if now else "YES"
    return Candidate(family, f"{key}={value}", "YES" if now else "NO", ((key, value),))


def _times(option: Callable[[str], int], key: str, values: Sequence[int]) -> Iterator[Candidate]:
    for value in values:
        if value != option(key):
            text = format_duration(value)
            yield Candidate("priority", f"{key}={text}", format_duration(option(key)), ((key, text),))


def _partitions(site: Site) -> Iterator[Candidate]:
    tiers = {p.priority_tier for p in site.cluster.partitions}
    if len(tiers) > 1:
        equal = tuple(("PartitionName", f"{p.name}:PriorityTier=1") for p in site.cluster.partitions)
        yield Candidate("partitions", "PriorityTier=1 in all partitions", "different tiers", equal)
    for partition in _busiest(site):
        yield from _of_partition(site, partition)


def _of_partition(site: Site, p: PartitionSpec) -> Iterator[Candidate]:
    rows = _rows(site, p)
    limits = site.workload.ints["time_limit"][rows]

    def change(key: str, value: str, now: str, why: str = "") -> Candidate:
        return Candidate("partitions", f"{p.name}: {key}={value}", now, (("PartitionName", f"{p.name}:{key}={value}"),),
                         why)  # fmt: skip

    longest = int(limits.max(initial=-1))
    if p.max_time_s is not None and (longest > p.max_time_s or (limits == -2).any()):
        text = "UNLIMITED" if (limits == -2).any() else format_duration(longest)
        yield change("MaxTime", text, _time(p.max_time_s), "the longest limit in the log")
    silent = int((limits == -1).sum())
    if silent:
        now = p.default_time_s if p.default_time_s is not None else p.max_time_s
        for value in (3600, 4 * 3600, 86_400, 7 * 86_400):
            if value != now and (p.max_time_s is None or value <= p.max_time_s):
                yield change("DefaultTime", format_duration(value), _time(now), f"{silent:,} jobs name no limit")
    if p.max_nodes is not None:
        yield change("MaxNodes", "UNLIMITED", str(p.max_nodes))
    if p.oversubscribe != "EXCLUSIVE":
        yield change("OverSubscribe", "EXCLUSIVE", p.oversubscribe)
    else:
        yield change("OverSubscribe", "NO", "EXCLUSIVE")
    if p.state != "UP":
        yield change("State", "UP", p.state, f"{len(rows):,} jobs name it")


def _busiest(site: Site) -> list[PartitionSpec]:
    counted = [(len(_rows(site, p)), p) for p in site.cluster.partitions]
    counted = sorted((one for one in counted if one[0]), key=lambda one: -one[0])
    return [p for _, p in counted[:MOST_PARTITIONS]]


def _rows(site: Site, partition: PartitionSpec) -> np.ndarray:
    """Rows of the jobs that name a partition, or that go to it because they name none."""
    column = site.workload.texts["partition"]
    default = next((p.name for p in site.cluster.partitions if p.default), "")
    named = [partition.name in (text or default).split(",") for text in column.values]
    return np.flatnonzero(np.array(named)[column.codes])


def _nodes(site: Site) -> Iterator[Candidate]:
    names = [node.name for node in site.cluster.nodes if node.state == "UNKNOWN"]
    seen = used_nodes(site.workload)
    idle = [name for name in names if name not in seen]
    if seen and idle and len(idle) < len(names):
        yield _down(idle, f"{len(idle)} of {len(names)} nodes", "no job of the log had one of them")
    for share in (0.05, 0.10, 0.25):
        n = round(share * len(names))
        if 0 < n < len(names):  # spread over the table, so that every kind of node has its part
            some = [names[int((i + 0.5) * len(names) / n)] for i in range(n)]
            yield _down(some, f"{share:.0%} of the nodes")


def _down(names: Sequence[str], what: str, why: str = "") -> Candidate:
    listed = hostlist.compress(names)
    return Candidate("nodes", f"{what} down ({listed if len(listed) < 60 else listed[:59] + '…'})", "up",
                     (("NodeName", f"{listed}:State=DOWN"),), why)  # fmt: skip


def used_nodes(workload: Workload) -> set[str]:
    """Names of the nodes the log's jobs had."""
    column = workload.texts["log_nodes"]
    texts = (column.values[code] for code in np.unique(column.codes).tolist() if column.values[code])
    return {name for text in texts for name in hostlist.expand(text)}


def _limits(site: Site) -> Iterator[Candidate]:
    words = site.cluster.option("AccountingStorageEnforce")
    if site.accounting is None:
        return
    key = "AccountingStorageEnforce"
    now = ",".join(words) or "none"
    for value in ("none", "associations,limits,qos", "associations,limits,qos,safe"):
        if value != now:
            yield Candidate("limits", f"{key}={value}", now, ((key, value),))


def _time(seconds: int | None) -> str:
    return "UNLIMITED" if seconds is None else format_duration(seconds)


FAMILIES: dict[str, Callable[[Site], Iterator[Candidate]]] = {
    "scheduler": _scheduler, "backfill": _backfill, "priority": _priority, "partitions": _partitions, "nodes": _nodes,
    "limits": _limits,
}  # fmt: skip
