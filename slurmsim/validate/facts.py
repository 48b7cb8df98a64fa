"""What the manifest says of the cluster, read strictly: the ground the validator judges on."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import WorkloadError
from slurmsim.hostlist import HostlistError, expand
from slurmsim.validate.columns import BoolArray, IntArray

TAKES = ("allow_accounts", "deny_accounts", "allow_qos", "deny_qos")


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition."""

    nodes: BoolArray  # Membership, (n_nodes,) bool
    max_time_s: int | None  # MaxTime in seconds, None for no limit
    jobs_per_cpu: int  # how many of its jobs may have one CPU (OverSubscribe=YES:n or FORCE:n), else 1
    shares_cpus: bool  # its jobs may have CPUs that jobs of other such partitions have
    exclusive: bool  # a job has its nodes to itself (OverSubscribe=EXCLUSIVE)
    # how many CPUs of a node its jobs may have together (MaxCPUsPerNode), None for all
    cpus_per_node: int | None = None
    # lists of accounts and QOS by `TAKES`, those that count
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


REQUEUE_S: Final = 121  # what Slurm takes unless slurm.conf says otherwise


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The cluster. Arrays are of shape (n_nodes,), in the order of the manifest's node table."""

    names: list[str]
    cpus: IntArray
    threads: IntArray  # CPUs of a core
    memory_mib: IntArray
    gres: dict[str, IntArray]  # count of each GRES by name (all types together) and by name:type
    partitions: dict[str, PartitionFacts]
    whole_nodes: bool  # no two jobs may share a node (select/linear, or OverSubscribe=EXCLUSIVE throughout)
    memory_tracked: bool  # memory is a resource the scheduler hands out; otherwise it may be over-booked
    licenses: dict[str, int]  # how many there are of each
    used_up_ends: bool  # running jobs are ended when their association or QOS has used up its minutes
    over_max_time: tuple[str, ...] = ()  # QOS that let jobs exceed MaxTime of a partition (Flags=PartitionTimeLimit)
    requeue_s: int = REQUEUE_S  # a job that was requeued may not begin sooner
    gpus_trusted: bool = False  # a job of one node may start with all its GPUs, fewer than it asked for (26.05)

    @property
    def n(self) -> int:
        """How many nodes."""
        return len(self.names)


def cluster_facts(cluster: Any, file: str | None = None) -> ClusterFacts:
    """Read the manifest's ``cluster`` object (keys: see ``docs/validation.md``).

    Raises
    ------
    WorkloadError
        Something is missing, of a wrong type, or contradicts itself; the message names the key.
    """
    return _Reader(file).cluster(cluster)


class _Reader:
    """Reads one manifest; `file` is for messages."""

    def __init__(self, file: str | None) -> None:
        self.file = file

    def cluster(self, cluster: Any) -> ClusterFacts:
        """Return the whole object."""
        if not isinstance(cluster, Mapping):
            found = "missing" if cluster is None else f"{cluster!r}"
            raise self.wrong("", found, "an object with nodes and partitions")
        runs = cluster.get("nodes")
        if not isinstance(runs, (list, tuple)) or not runs:
            raise self.wrong("nodes", f"{runs!r}", "a list of [hostlist, cpus, memory_mib, gres, threads]")
        read = [self.run(run, f"nodes[{i}]") for i, run in enumerate(runs)]
        names = [name for hosts, *_ in read for name in hosts]
        index = {name: i for i, name in enumerate(names)}
        if len(index) < len(names):
            raise self.wrong("nodes", "a node is listed twice", "each node once")
        partitions = self.get(cluster, "partitions", "partitions", Mapping, {})
        sizes = [len(hosts) for hosts, *_ in read]
        return ClusterFacts(
            names,
            np.repeat(np.array([cpus for _, cpus, *_ in read], np.int64), sizes),
            np.repeat(np.array([threads for *_, threads in read], np.int64), sizes),
            np.repeat(np.array([memory for _, _, memory, *_ in read], np.int64), sizes),
            _gres_columns([gres for *_, gres, _ in read], sizes),
            {name: self.partition(spec, f"partitions.{name}", index) for name, spec in partitions.items()},
            self.get(cluster, "whole_nodes", "whole_nodes", bool, False),
            self.get(cluster, "memory_tracked", "memory_tracked", bool, True),
            self.licenses(cluster),
            self.get(cluster, "used_up_ends", "used_up_ends", bool, False),
            self.names(cluster.get("over_max_time", ()), "over_max_time"),
            self.get(cluster, "requeue_s", "requeue_s", int, REQUEUE_S),
            self.get(cluster, "gpus_trusted", "gpus_trusted", bool, False),
        )

    def licenses(self, cluster: Mapping[str, Any]) -> dict[str, int]:
        """Return the counts of licenses by name."""
        found = self.get(cluster, "licenses", "licenses", Mapping, {})
        return {name: self.get(found, name, f"licenses.{name}", int, 0) for name in found}

    def run(self, run: Any, field: str) -> tuple[list[str], int, int, Mapping[str, int], int]:
        """Names, CPUs, memory, GRES and threads of a core of a run of equal nodes."""
        try:
            hosts, cpus, memory, *rest = run
            names = expand(hosts)
        except HostlistError as error:
            raise self.wrong(field, str(error), "a hostlist") from None
        except (TypeError, ValueError, AttributeError):
            raise self.wrong(field, f"{run!r}", "[hostlist, cpus, memory_mib, gres, threads]") from None
        gres, threads = rest[0] if rest else {}, rest[1] if len(rest) > 1 else 1
        numbers = [
            cpus,
            memory,
            threads - 1 if isinstance(threads, int) else None,
            *(gres.values() if isinstance(gres, Mapping) else [None]),
        ]
        if not all(isinstance(x, int) and x >= 0 for x in numbers):
            raise self.wrong(field, f"{run!r}", "whole numbers of CPUs, MiB and each GRES")
        return names, cpus, memory, gres, threads

    def partition(self, spec: Any, field: str, index: Mapping[str, int]) -> PartitionFacts:
        """One partition; `index` has the place of each node."""
        if not isinstance(spec, Mapping) or not isinstance(spec.get("nodes"), str):
            raise self.wrong(field, f"{spec!r}", "an object with nodes, a hostlist")
        member = np.zeros(len(index), bool)
        try:
            member[[index[node] for node in expand(spec["nodes"])]] = True
        except HostlistError as error:
            raise self.wrong(f"{field}.nodes", str(error), "a hostlist") from None
        except KeyError as error:
            raise self.wrong(f"{field}.nodes", f"unknown node {error.args[0]}", "nodes of cluster.nodes") from None
        jobs_per_cpu = max(1, self.get(spec, "jobs_per_cpu", f"{field}.jobs_per_cpu", int, 1))
        return PartitionFacts(
            member,
            self.limit(spec, "max_time_s", field),
            jobs_per_cpu,
            self.get(spec, "shares_cpus", f"{field}.shares_cpus", bool, jobs_per_cpu > 1),
            self.get(spec, "exclusive", f"{field}.exclusive", bool, False),
            self.limit(spec, "cpus_per_node", field),
            {key: self.names(spec[key], f"{field}.{key}") for key in TAKES if key in spec},
        )

    def limit(self, spec: Mapping[str, Any], key: str, field: str) -> int | None:
        """Return a whole number, None for no limit."""
        return None if spec.get(key) is None else int(self.get(spec, key, f"{field}.{key}", int, 0))

    def names(self, value: Any, field: str) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
            raise self.wrong(field, f"{value!r}", "a list of names")
        return tuple(value)

    def get(self, where: Mapping[str, Any], key: str, field: str, kind: type, default: Any) -> Any:
        """``where[key]``, which must be of type `kind`."""
        value = where.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            expected = {int: "a whole number", bool: "true or false"}.get(kind, "an object")
            raise self.wrong(field, f"{value!r}", expected)
        return value

    def wrong(self, field: str, message: str, expected: str) -> WorkloadError:
        """Return the error for a bad key of ``cluster``."""
        name = f"cluster.{field}" if field else "cluster"
        return WorkloadError(message, file=self.file, field=name, expected=expected)


def _gres_columns(gres_of: list[Mapping[str, int]], sizes: list[int]) -> dict[str, IntArray]:
    """Per name and per name:type, how many each node has. A name that is not given itself is the sum of its types."""
    counts: dict[str, list[int]] = {}
    for i, gres in enumerate(gres_of):
        for key, count in gres.items():
            name = key.split(":", 1)[0]
            for target in (key,) if key == name or name in gres else (key, name):
                counts.setdefault(target, [0] * len(sizes))[i] += count
    return {name: np.repeat(np.array(count, np.int64), sizes) for name, count in sorted(counts.items())}
