"""A submit request (the fields of job_desc_msg_t) as the controller's submission."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slurmsim.core.job import ONE_YEAR_S
from slurmsim.errors import SubmitError
from slurmsim.hostlist import expand
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.model.submission import Submission

INFINITE = 0xFFFFFFFE  # this and more minutes: no limit
BAD_GRES = "Invalid generic resource (gres) specification"
BAD_NODES = "Invalid node name specified"
BAD_ARRAY = "Invalid job array specification"
_SCOPES = (("tres_per_node", "node"), ("tres_per_job", "job"), ("tres_per_task", "task"), ("tres_per_socket", "socket"))
_TASKS = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)
_COUNT = re.compile(r"(\d+)([kKmM]?)", re.ASCII)


def submission(job_id: int, asked: Mapping[str, Any], user: str, now: int, requeue: bool) -> Submission:
    """What the controller is told. Raises SubmitError with Slurm's text."""
    get = asked.get
    limit = get("time_limit")
    begin = get("begin_time") or 0
    names = tuple(filter(None, (get("partition") or "").split(",")))
    wanted = get("requeue")
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
    )


def resources(asked: Mapping[str, Any]) -> ResourceRequest:
    """The placement side of a request. Raises SubmitError."""
    get = asked.get
    memory = get("pn_min_memory")
    per_cpu = bool(get("mem_per_cpu"))
    shared = get("shared")
    nodes = get("min_nodes")
    gres = tuple(g for key, scope in _SCOPES for g in parse_tres_request(get(key) or "", scope))
    return ResourceRequest(
        min_nodes=max(int(nodes or 1), 1),
        max_nodes=int(get("max_nodes") or nodes or 0),
        n_tasks=int(get("num_tasks") or 0),
        cpus_per_task=int(get("cpus_per_task") or 1),
        tasks_per_node=int(get("ntasks_per_node") or 0),
        mem_per_node_mib=int(memory) if memory is not None and not per_cpu else None,
        mem_per_cpu_mib=int(memory) if memory is not None and per_cpu else None,
        gres=gres,
        exclusive=shared == "exclusive",
        oversubscribe=shared == "ok",
        constraint=get("features") or "",
        node_list=names_of(get("req_nodes")),
        exclude=names_of(get("exc_nodes")),
        contiguous=bool(get("contiguous")),
        exclusive_user=shared == "user",
        spread=bool(get("spread_job")),
        use_min_nodes=bool(get("use_min_nodes")),
        switches=int(get("req_switch") or 0),
        switch_wait_s=get("wait4switch"),
        mem_per_gpu_mib=get("mem_per_gpu"),
        sockets_per_node=int(get("sockets_per_node") or 1),
        overcommit=bool(get("overcommit")),
    )


def names_of(text: str | None) -> tuple[str, ...]:
    """Nodes of a hostlist. Raises SubmitError for one that cannot be read."""
    if not text:
        return ()
    try:
        return tuple(expand(text))
    except ValueError:
        raise SubmitError(BAD_NODES) from None


def parse_tres_request(text: str, scope: str) -> tuple[GresRequest, ...]:
    """``gres:gpu:a100:2,gres:nvme`` as requests of `scope`. Raises SubmitError."""
    found = []
    for item in filter(None, text.split(",")):
        parts = item.removeprefix("gres:").removeprefix("gres/").split(":")
        count = 1
        if len(parts) > 1 and (number := _COUNT.fullmatch(parts[-1])):
            count = int(number[1]) * {"": 1, "k": 1024, "m": 1024 * 1024}[number[2].lower()]
            parts.pop()
        if not 1 <= len(parts) <= 2 or not parts[0]:
            raise SubmitError(BAD_GRES)
        if count:
            found.append(GresRequest(parts[0], parts[1] if len(parts) == 2 else "", count, scope))
    return tuple(found)


def array_tasks(text: str, max_size: int) -> tuple[list[int], int | None]:
    """Indices and throttle of ``1,3-5,20-40:10%2``. Raises SubmitError."""
    body, _, throttle = text.partition("%")
    negative = throttle.startswith("-")  # no limit
    if throttle and not (throttle.isascii() and throttle.removeprefix("-").isdigit()):
        raise SubmitError(BAD_ARRAY)
    found: set[int] = set()
    for part in filter(None, body.strip("[]").split(",")):
        match = _TASKS.fullmatch(part)
        if match is None:
            raise SubmitError(BAD_ARRAY)
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        step = int(match[3]) if match[3] else 1
        if last < first or last >= max_size or not step:
            raise SubmitError(BAD_ARRAY)
        found.update(range(first, last + 1, step))
    return sorted(found), int(throttle) if throttle and int(throttle) and not negative else None
