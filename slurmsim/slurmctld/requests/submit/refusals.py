"""What slurmctld says when it refuses a submission, beyond the error's own text, and what it refuses by itself.

An error may be preceded by lines of its own (the log messages slurmctld sends the user); some refusals come after a job
id has been taken, which is then never used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import to_indices
from slurmsim.core.accounting.limits import REFUSED as OVER_LIMIT
from slurmsim.core.accounting.partition_access import NOT_AVAILABLE as PARTITION_CLOSED
from slurmsim.core.controller.admission import CLOSED
from slurmsim.core.placement.compiled_request import NO_SUCH_TOPOLOGY, NOT_AVAILABLE
from slurmsim.core.placement.constraints import parse_constraint
from slurmsim.core.placement.memory_limits import REFUSED_BY_DEFAULT
from slurmsim.errors import SubmitError
from slurmsim.gpu_bindings import are_bindings
from slurmsim.gres_counts import BAD_GRES, bare_items
from slurmsim.model.request import ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.release_changes import since
from slurmsim.releases import row
from slurmsim.slurmctld.base.submit_request import BAD_NODES, names_of, resources
from slurmsim.task_licenses import BAD_TRES, licenses_of_task

if TYPE_CHECKING:
    from slurmsim.core.records.partition import Partition
    from slurmsim.model.node import NodeSpec
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

BAD_PARTITION = "Invalid partition name specified"
BAD_NODE_COUNT = "Node count specification invalid"
BAD_TIME_LIMIT = "Requested time limit is invalid (missing or exceeds some limit)"
BAD_FEATURE = "Invalid feature specification"
NOT_SUPPORTED = "Requested operation not supported on this system"
PREEMPTION_REQUIRED = "Preemption is required but is disabled on this system"
BAD_PREFERENCE = "Invalid preferred feature specification"
BAD_NICE = "Invalid --nice value"
BAD_WCKEY = "Invalid wckey specification"
BAD_TASK_COUNT = "Task count specification invalid"
BAD_TIME_MIN = "Invalid time-min specification (exceeds job's time or other limits)"
DENIED = "Access/permission denied"
_LAYOUT = (
    ("sockets_per_node", "sockets"), ("cores_per_socket", "cores_per_socket"), ("threads_per_core", "threads_per_core"),
)  # fmt: skip
_DISK = ("pn_min_tmp_disk", "tmp_disk_mib")
TAKES_ID = frozenset(
    {
        NOT_AVAILABLE, NO_SUCH_TOPOLOGY, BAD_NODE_COUNT, "Job dependency problem", REFUSED_BY_DEFAULT, NOT_SUPPORTED,
        "Requested reservation is invalid", "Invalid time specified",
        "Access denied to requested reservation",
        "I/O error writing script/environment to file",
        "Environment is missing in job",
    }
)  # fmt: skip
"""Errors found after the job's record was made: its id is gone."""
_NO_PARTITION_TAKEN = {"22.05": False, "26.05": True}  # whether ``-p ''`` is the default partition
_BAD_FEATURE_ID = {"22.05": True, "24.11": False}
_NO_ENVIRONMENT = {
    "22.05": "I/O error writing script/environment to file", "26.05": "Environment is missing in job",
}  # fmt: skip
_PARTS_OF_GPUS = frozenset({"mps", "shard"})
_GRES_KEYS = ("tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket")


def check_nice(asked: Mapping[str, Any], *, operator: bool) -> None:
    """Refuse a priority raised by nice to everyone but operators. Raises SubmitError."""
    if int(asked.get("nice") or 0) < 0 and not operator:
        raise SubmitError(BAD_NICE)


def check(cluster: LiveCluster, asked: Mapping[str, Any], person: Person) -> None:
    """Refuse what the core never sees. Raises SubmitError with Slurm's text."""
    get = asked.get
    check_task_tres(asked, cluster.release)
    if not get("allocate"):
        check_gres(cluster, asked)  # sbatch looks at them before it asks
    _check_shared(asked)
    if "R" in str(get("warn_flags") or "") and not _preempts(cluster):
        raise SubmitError(PREEMPTION_REQUIRED)
    if not get("by_site"):  # else what the client asked for was looked at before the script changed it
        check_nice(asked, operator=cluster.database.is_operator(person))
    if get("reboot") and not cluster.database.is_administrator(person):
        raise SubmitError(DENIED)
    if str(get("wckey") or "").startswith("*") and since(cluster.release, "no_default_wckey_asked"):
        raise SubmitError(BAD_WCKEY)
    if get("expedited_requeue") and not _expedites(cluster):
        raise SubmitError(NOT_SUPPORTED)
    if _names_not_every_task(cluster, asked):
        raise SubmitError(BAD_TASK_COUNT)
    _check_features(cluster, asked, first=True)
    if _names_too_many(cluster, asked):
        raise SubmitError(BAD_NODE_COUNT)
    _check_partitions(cluster, asked)
    limit, least = get("time_limit"), get("time_min")
    if limit is not None and least is not None and 0 < int(limit) < int(least):
        raise SubmitError(BAD_TIME_MIN)
    _check_access(cluster, asked, person)
    _check_deadline(cluster, asked)
    check_gres(cluster, asked)
    if get("min_nodes") == 0:
        raise SubmitError(BAD_NODE_COUNT)
    _check_features(cluster, asked, first=False)
    if not set(_named(cluster, asked)).isdisjoint(names_of(get("exc_nodes"))):
        raise SubmitError(BAD_NODES)
    if get("script") and get("environment") == {} and not cluster.network.followed:  # older ones took it
        raise SubmitError(row(_NO_ENVIRONMENT, cluster.release))


def _check_access(cluster: LiveCluster, asked: Mapping[str, Any], person: Person) -> None:
    """Who is not let in by a partition learns of that before anything else that is wrong (_valid_job_part)."""
    get = asked.get
    request = ResourceRequest(max_nodes=int(get("max_nodes") or get("min_nodes") or 0))
    account, qos, reservation = (get(key) or "" for key in ("account", "qos", "reservation"))
    sub = Submission(0, request, user=person.name, account=account, qos=qos, partitions=_partition_names(asked),
                     reservation=reservation)  # fmt: skip
    cluster.controller.admission.check_access(sub)


def _check_partitions(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Of the partitions one must take jobs, before most is asked about the job itself (_get_job_parts)."""
    try:
        if asked.get("partition") == "" and not row(_NO_PARTITION_TAKEN, cluster.release):
            raise SubmitError(BAD_PARTITION)
        found = cluster.controller.state.cluster.resolve(_partition_names(asked))
    except SubmitError:
        _check_first(cluster, asked)
        raise
    if not all(one.state in CLOSED for one in found):
        return
    _check_first(cluster, asked)
    raise SubmitError(PARTITION_CLOSED)


def _check_first(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Refuse unknown nodes, before a partition is tested."""
    known = cluster.controller.state.table.index
    if any(name not in known for key in ("req_nodes", "exc_nodes") for name in names_of(asked.get(key))):
        raise SubmitError(BAD_NODES)


def _check_deadline(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Refuse a job that cannot end in time; before 24.11 its limit was not looked at (_valid_job_part)."""
    deadline = int(asked.get("deadline") or 0)
    if not deadline:
        return
    if deadline <= cluster.now:
        raise SubmitError(BAD_TIME_LIMIT)
    if not since(cluster.release, "deadline_after_limit"):
        return
    first, state = (asked.get("partition") or "").split(",")[0], cluster.controller.state.cluster
    partition = state.by_name.get(first, state.default)
    default_s = partition.spec.default_time_s if partition is not None else None
    least, limit = asked.get("time_min"), asked.get("time_limit")
    limit_s = (default_s or 0) if limit is None else int(limit) * 60
    start = max(cluster.now, int(asked.get("begin_time") or 0))
    if deadline < start or (not least and deadline < start + limit_s):
        raise SubmitError(BAD_TIME_LIMIT)
    if least and deadline < start + int(least) * 60:
        raise SubmitError(BAD_TIME_MIN)


def check_gres(cluster: LiveCluster, asked: Mapping[str, Any]) -> None:
    """Every GRES asked for must be one of GresTypes. Raises SubmitError."""
    known = {word.lower() for word in cluster.spec.option("GresTypes")}
    if asked.get("cpus_per_gpu") and "gpu" not in known:
        raise SubmitError(BAD_GRES)
    for key in _GRES_KEYS:
        for item in bare_items(asked.get(key) or "", "task" if key == "tres_per_task" else ""):
            if item.partition(":")[0].lower() not in known:
                raise SubmitError(BAD_GRES)


def _check_features(cluster: LiveCluster, asked: Mapping[str, Any], *, first: bool) -> None:
    """Refuse counts of several features outside of brackets, and unknown features that are preferred.

    `first`: before partitions are looked at, where all features are tested.
    """
    if cluster.network.followed or since(cluster.release, "features_before_partitions") != first:
        return  # journals of older ones have such jobs
    text, preferred = str(asked.get("features") or ""), str(asked.get("prefer") or "")
    if first and text:
        parse_constraint(text, cluster.controller.state.table.known_features())
    counted = "*" in text and "[" not in text and not {"&", "|", ","}.isdisjoint(text)
    if counted and since(cluster.release, "counts_in_brackets"):
        raise SubmitError(BAD_FEATURE)
    check_preference(cluster, preferred)


def check_preference(cluster: LiveCluster, preferred: str) -> None:
    """Refuse unknown features that a job prefers. Raises SubmitError."""
    if not preferred:
        return
    try:
        parse_constraint(preferred, cluster.controller.state.table.known_features())
    except SubmitError:
        raise SubmitError(BAD_PREFERENCE) from None


def _check_shared(asked: Mapping[str, Any]) -> None:
    """Refuse GPUs beside parts of GPUs, and a frequency of a GPU that jobs share. Raises SubmitError."""
    names = {
        item.partition(":")[0].lower()
        for key in _GRES_KEYS for item in bare_items(asked.get(key) or "", "task" if key == "tres_per_task" else "")
    }  # fmt: skip
    if names & _PARTS_OF_GPUS and ("gpu" in names or asked.get("gpu_freq")):
        raise SubmitError(BAD_GRES)


def check_task_tres(asked: Mapping[str, Any], release: str) -> None:
    """Refuse TRES of tasks and bindings to them that cannot be read. Raises SubmitError."""
    try:
        licenses_of_task(str(asked.get("tres_per_task") or ""))
    except ValueError:
        raise SubmitError(BAD_TRES) from None
    if not are_bindings(str(asked.get("tres_bind") or ""), release):
        raise SubmitError(BAD_TRES)


def lines(cluster: LiveCluster, error: SubmitError, asked: Mapping[str, Any], *, tested: bool = False) -> list[str]:
    """Return what is said of a refusal: the error's text, last, and lines before it.

    What a job that is only `tested` lacks is not told: it comes of the search for nodes at submission (select_nodes).
    """
    if tested and error.text == NOT_AVAILABLE:
        return [error.text]
    limit, colon, rest = error.text.partition(": ")
    text = rest if colon and rest == OVER_LIMIT else error.text
    return [*_before(cluster, text, limit, asked), text]


def _named(cluster: LiveCluster, asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the nodes that the request names; with --contiguous up to 23.11 all nodes between them, too."""
    state, names = cluster.controller.state, names_of(asked.get("req_nodes"))
    places = [state.table.index[name] for name in names if name in state.table.index]
    if not asked.get("contiguous") or state.rules.list_may_be_longer or not places:
        return names
    return tuple(state.table.names[min(places) : max(places) + 1])


def _names_not_every_task(cluster: LiveCluster, asked: Mapping[str, Any]) -> bool:
    """Return True if -m arbitrary names another number of nodes than there are tasks."""
    if not str(asked.get("distribution") or "").startswith("arbitrary") or not asked.get("req_nodes"):
        return False
    every = since(cluster.release, "arbitrary_names_every_task")
    return every and len(names_of(asked["req_nodes"])) != int(asked.get("num_tasks") or 0)


def _names_too_many(cluster: LiveCluster, asked: Mapping[str, Any]) -> bool:
    """Return True if --contiguous makes the nodes that are named more than the job may have (_job_create)."""
    if not asked.get("contiguous") or cluster.controller.state.rules.list_may_be_longer:
        return False
    return 0 < int(asked.get("max_nodes") or 0) < len(_named(cluster, asked))


def _preempts(cluster: LiveCluster) -> bool:
    """Return True if jobs may be preempted, or nothing is said of a job that its reservation would end."""
    if cluster.network.followed:  # older ones took it
        return True
    return not since(cluster.release, "reservations_preempt") or {*cluster.spec.option("PreemptMode")} != {"OFF"}


def _expedites(cluster: LiveCluster) -> bool:
    """Return True if the configuration has expedited requeues."""
    return "enable_expedited_requeue" in str(cluster.spec.options.get("SlurmctldParameters") or "").lower()


def takes_id(cluster: LiveCluster, error: SubmitError, asked: Mapping[str, Any]) -> bool:
    """Return True if the job had its id already when it was refused, which is gone then."""
    early = error.text == BAD_NODE_COUNT and (
        cluster.spec.option("EnforcePartLimits") != "NO" or _names_too_many(cluster, asked)
    )
    if error.text == NOT_SUPPORTED and asked.get("expedited_requeue"):
        return False
    if error.text == BAD_FEATURE:
        return bool(row(_BAD_FEATURE_ID, cluster.release))
    return error.text in TAKES_ID and not early


def _before(cluster: LiveCluster, text: str, limit: str, asked: Mapping[str, Any]) -> list[str]:
    if text == BAD_PARTITION:
        names = (asked.get("partition") or "").split(",")
        bad = next((name for name in names if name not in cluster.controller.state.cluster.by_name), "")
        return [f"invalid partition specified: {bad or '(null)'}"]
    if text == DENIED and asked.get("reboot"):
        return ["rebooting of nodes is only allowed for admins"]
    if text == OVER_LIMIT:
        return [limit]
    if text != NOT_AVAILABLE:
        return []  # a limit's reason has been told apart by who asks
    if _names_others(cluster, asked) or _is_of_others(cluster, asked):
        return ["Problem using reservation"]
    cpus, memory = _needs(cluster, asked)
    featured = sorted(_featured(cluster, asked), key=lambda spec: spec.weight)
    said = [_lacks(spec, asked, cpus, memory) for spec in featured]
    return said[-1] if said and all(said) else []  # where one node has enough, it is something else


def _names_others(cluster: LiveCluster, asked: Mapping[str, Any]) -> bool:
    """Return True if the job asks for nodes outside of its reservation that its partitions have."""
    state, wanted = cluster.controller.state, set(names_of(asked.get("req_nodes")))
    own = state.reserved.find(str(asked.get("reservation") or ""))
    if own is None or not wanted:
        return False
    inside = {state.table.names[node] for node in to_indices(own.nodes)}
    return not wanted <= inside and wanted <= {spec.name for spec in _members(cluster, asked)}


def _is_of_others(cluster: LiveCluster, asked: Mapping[str, Any]) -> bool:
    """Return True if the job's reservation is for jobs of other QOS or partitions."""
    own = cluster.controller.state.reserved.find(str(asked.get("reservation") or ""))
    qos = str(asked.get("qos") or "")
    return own is not None and not any(own.lets_start(qos, p.name) for p in _partitions(cluster, asked))


def _featured(cluster: LiveCluster, asked: Mapping[str, Any]) -> list[NodeSpec]:
    """Nodes of the asked partitions that have the features asked for; counts and brackets keep none out."""
    members = _members(cluster, asked)
    if not asked.get("features"):
        return members
    constraint = parse_constraint(str(asked["features"]), cluster.controller.state.table.known_features())
    if constraint.kinds or constraint.counts:
        return members
    return [spec for spec in members if constraint.test(frozenset(spec.features))]


def _lacks(spec: NodeSpec, asked: Mapping[str, Any], cpus: int, memory: int) -> list[str]:
    """Return what a node has too little of; of several that have, the heaviest is told of (_set_err_msg)."""
    if cpus > spec.cpus:
        return ["CPU count per node can not be satisfied"]
    if memory > spec.real_memory_mib:
        return ["Memory specification can not be satisfied"]
    if int(asked.get("pn_min_tmp_disk") or 0) > spec.tmp_disk_mib:
        return ["Temporary disk specification can not be satisfied"]
    if any(int(asked.get(field) or 0) > int(getattr(spec, name)) for field, name in _LAYOUT):
        return ["Socket, core and/or thread specification can not be satisfied"]
    return []


def serving(cluster: LiveCluster, request: ResourceRequest, asked: Mapping[str, Any]) -> ResourceRequest:
    """Return `request` without nodes that have too small a layout or temporary disk; the core does not know these."""
    wanted = [(name, int(asked[field])) for field, name in (*_LAYOUT, _DISK) if asked.get(field)]
    if not wanted:
        return request
    small = (s.name for s in cluster.controller.state.table.specs if any(getattr(s, name) < n for name, n in wanted))
    return replace(request, exclude=tuple(dict.fromkeys((*request.exclude, *small))))


def _needs(cluster: LiveCluster, asked: Mapping[str, Any]) -> tuple[int, int]:
    """CPUs every node has to have, and the memory asked of a node, or of a CPU, or given by default.

    Both as the limits on memory leave them: more memory a CPU than allowed becomes more CPUs.
    """
    state, partition = cluster.controller.state.cluster, _partitions(cluster, asked)[0]
    fitted = state.fitted(resources(asked), partition)
    # of one task slurmctld does not count how many a node could have to have
    tasks = 1 if asked.get("num_tasks") == 1 else int(asked.get("ntasks_per_node") or 1)
    cpus = max(int(asked.get("pn_min_cpus") or 0), fitted.least_cpus, fitted.cpus_per_task * tasks)
    request, default = fitted.request, state.memory_default(partition)
    if request.mem_per_node_mib is not None:
        return cpus, request.mem_per_node_mib
    if request.mem_per_cpu_mib is not None:
        return cpus, request.mem_per_cpu_mib
    return cpus, default.per_cpu or default.per_node or 0


def _members(cluster: LiveCluster, asked: Mapping[str, Any]) -> list[NodeSpec]:
    table = cluster.controller.state.table
    return [table.specs[table.index[node]] for p in _partitions(cluster, asked) for node in p.spec.nodes]


def _partition_names(asked: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(filter(None, (asked.get("partition") or "").split(",")))


def _partitions(cluster: LiveCluster, asked: Mapping[str, Any]) -> list[Partition]:
    state = cluster.controller.state.cluster
    names = [name for name in _partition_names(asked) if name in state.by_name]
    return [state.by_name[name] for name in names] or ([state.default] if state.default is not None else [])
