"""A submit request (the fields of job_desc_msg_t) as the controller's submission."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slurmsim.core.placement.gres import agreed
from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.errors import SubmitError
from slurmsim.gres_counts import BAD_GRES, UNITS, bare_items, read_item
from slurmsim.hostlist import expand
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.numerals import is_number

INFINITE = 0xFFFFFFFE  # this and more minutes: no limit
BAD_NODES = "Invalid node name specified"
BAD_ARRAY = "Invalid job array specification"
MOST_NAMES = 1 << 18
"""Names that a request may list, more than any cluster has: node names are looked up only after they are made."""
_SCOPES = (("tres_per_node", "node"), ("tres_per_job", "job"), ("tres_per_task", "task"), ("tres_per_socket", "socket"))
_NUMBER = r"(\s*[+-]?\d+)?\]?"
_TASKS = re.compile(rf"\[?{_NUMBER}(-{_NUMBER}(:{_NUMBER})?)?", re.ASCII)
_THROTTLE = re.compile(r"\s*[+-]?\d+", re.ASCII)
_LONGEST = 100  # digits and blanks of a number that is worth reading


def submission(job_id: int, asked: Mapping[str, Any], user: str, now: int, requeue: bool) -> Submission:
    """Return what the controller is told. Raises SubmitError with Slurm's text."""
    get = asked.get
    limit = get("time_limit")
    begin = get("begin_time") or 0
    names = tuple(filter(None, (get("partition") or "").split(",")))
    wanted = False if get("allocate") else get("requeue")  # what srun and salloc started has nothing to start again
    return Submission(
        job_id,
        resources(asked),
        None if limit is None else ONE_YEAR_S if int(limit) >= INFINITE else int(limit) * 60,
        int(get("time_min") or 0) * 60 or None,
        get("name") or "",
        user,
        get("account") or "",
        get("qos") or "",
        names,
        begin if begin > now else None,
        int(get("nice") or 0),
        get("priority"),
        bool(get("hold")),
        get("dependency") or "",
        requeue if wanted is None else bool(wanted),
        reservation=get("reservation") or "",
        licenses=get("licenses") or "",
        deadline=get("deadline") or None,
        no_kill=get("kill_on_node_fail") == 0,
        kill_invalid=get("kill_on_invalid_dep"),
        cron=get("crontab_spec") or "" if get("crontab_lines") else "",
    )


def resources(asked: Mapping[str, Any]) -> ResourceRequest:
    """Return the placement side of a request. Raises SubmitError."""
    get = asked.get
    memory = get("pn_min_memory")
    per_cpu = bool(get("mem_per_cpu"))
    shared = get("shared")
    nodes, most = get("min_nodes"), get("max_nodes")
    flags = (get("gres_flags") or "").split(",")
    gres = tuple(g for key, scope in _SCOPES for g in parse_tres_request(get(key) or "", scope))

    def text(name: str) -> str:
        return get(name) or ""

    request = agreed(ResourceRequest(
        min_nodes=max(int(nodes or 1), 1),
        max_nodes=int(most or 0),
        n_tasks=int(get("num_tasks") or 0),
        cpus_per_task=int(get("cpus_per_task") or 1),
        tasks_per_node=int(get("ntasks_per_node") or 0),
        mem_per_node_mib=int(memory) if memory is not None and not per_cpu else None,
        mem_per_cpu_mib=int(memory) if memory is not None and per_cpu else None,
        gres=gres,
        exclusive=shared == "exclusive",
        oversubscribe=shared == "ok",
        constraint=text("features"),
        prefer=text("prefer"),
        node_list=tuple(dict.fromkeys(names_of(get("req_nodes")))),
        exclude=names_of(get("exc_nodes")),
        contiguous=bool(get("contiguous")),
        exclusive_user=shared == "user",
        exclusive_topo=shared == "topo",
        unshared=shared == "none",
        min_cpus_per_node=int(get("pn_min_cpus") or 0),
        tasks_per_socket=int(get("ntasks_per_socket") or 0),
        tasks_per_core=int(get("ntasks_per_core") or 0),
        threads_per_core=int(get("threads_per_core") or 0),
        spread=bool(get("spread_job")),
        use_min_nodes=bool(get("use_min_nodes")),
        switches=int(get("req_switch") or 0),
        switch_wait_s=get("wait4switch"),
        mem_per_gpu_mib=get("mem_per_gpu"),
        sockets_per_node=int(get("sockets_per_node") or 1),
        overcommit=bool(get("overcommit")),
        cpus_per_gpu=int(get("cpus_per_gpu") or 0),
        cpus_given=get("cpus_per_task") is not None,
        tasks_per_gpu=int(get("ntasks_per_tres") or 0),
        segment=int(get("segment_size") or 0),
        consolidate_segments=bool(get("consolidate_segments")),
        spread_segments=bool(get("spread_segments")),
        enforce_binding="enforce-binding" in flags,
        disable_binding="disable-binding" in flags,
        one_task_per_sharing="one-task-per-sharing" in flags,
        tasks_share="multiple-tasks-per-sharing" in flags,
        block_cores=_block_cores(get("distribution") or ""),
        core_spec=get("core_spec"),
    ))  # fmt: skip
    return _with_cpus(asked, request)


def _block_cores(distribution: str) -> bool:
    """Return True if ``--distribution`` fills one socket of a node after the other."""
    levels = distribution.split(":")
    return levels[0] == "plane" or levels[1:2] == ["block"]


def _with_cpus(asked: Mapping[str, Any], request: ResourceRequest) -> ResourceRequest:
    """Return the request with the CPUs it says, where tasks and nodes say others."""
    cpus = cpus_of(asked, len(request.node_list))
    # GRES may have made tasks just now
    made = request.n_tasks != int(asked.get("num_tasks") or 0)
    known = made and any(g.count for g in request.gres) and not (asked.get("cpus_settled") or request.tasks_per_gpu)
    return request if known or cpus in (None, request.min_cpus) else replace(request, cpus=cpus)


def cpus_of(asked: Mapping[str, Any], named: int) -> int | None:
    """CPUs the job wants at least, `named` of its nodes being given by name; None where the request does not say.

    What the command sends, and at least a CPU for each node named and for each task (validate_job_create_req). A list
    of more nodes than the job needs only says which of them it may have.
    """
    get = asked.get
    if named > int(get("min_nodes") or named):
        named = 0
    least = get("min_cpus")
    if least is None or get("cpus_settled"):
        return None if least is None else int(least)
    tasks = int(get("num_tasks") or int(get("ntasks_per_node") or 0) * int(get("min_nodes") or 1))
    if tasks > max(int(least), named) and not get("overcommit"):
        return tasks * int(get("cpus_per_task") or 1)
    return max(int(least), named)


def names_of(text: str | None) -> tuple[str, ...]:
    """Nodes of a hostlist. Raises SubmitError for one that cannot be read or that stands for too many."""
    if not text:
        return ()
    try:
        return tuple(expand(text, MOST_NAMES))
    except ValueError:
        raise SubmitError(BAD_NODES) from None


def parse_tres_request(text: str, scope: str) -> tuple[GresRequest, ...]:
    """``gres:gpu:a100:2,gres:nvme`` as requests of `scope`. Raises SubmitError."""
    found = []
    for item in bare_items(text, scope):
        one = read_item(item, UNITS)
        if one is None:
            raise SubmitError(BAD_GRES)
        if one[2]:
            found.append(GresRequest(*one, scope))
    return tuple(found)


def array_tasks(text: str, max_size: int) -> tuple[list[int], int | None]:
    """Return indices and throttle of ``1,3-5,20-40:10%2``, each below `max_size`; none for a text without any element.

    Read as _parse_array_tok (job_mgr.c, 22.05) does: an element may stand in a bracket of its own, a number that is
    missing is 0, and what follows a ``%`` counts for nothing but the throttle, which is the first there is.
    No range is expanded that could leave the bounds. Raises SubmitError.

    >>> array_tasks("[1-3],8%2", 1001), array_tasks("%3", 1001), array_tasks(",", 1001)
    (([1, 2, 3, 8], 2), ([0], 3), ([], None))
    """
    found: set[int] = set()
    for part in dict.fromkeys(text.split(",")):
        if not part:
            continue
        match = _TASKS.fullmatch(part.partition("%")[0])
        if match is None:
            raise SubmitError(BAD_ARRAY)
        first = _number(match[1])
        last = first if match[2] is None else _number(match[3])
        step = 1 if match[4] is None else _number(match[5])
        if not 0 <= first <= last < max_size or not 0 < step < max(max_size, 2):
            raise SubmitError(BAD_ARRAY)
        found.update(range(first, last + 1, step))
    throttle = _THROTTLE.match(text.partition("%")[2])
    limit = _number(throttle[0]) & 0xFFFFFFFF if throttle else 0
    return sorted(found), limit if 0 < limit < 1 << 31 else None  # more than that is a negative number: no limit


def job_number(text: str) -> int:
    """Return a job id that is written in digits; 0, which no job has, for anything else."""
    return int(text) if is_number(text) and len(text) <= _LONGEST else 0


def _number(text: str | None) -> int:
    """Return a number as strtol reads it: 0 where there is none, the last one there is for one that is too long."""
    if not text:
        return 0
    most = (1 << 63) - 1
    if len(text) > _LONGEST:
        return -most if text.lstrip()[0] == "-" else most
    return max(-most, min(int(text), most))
