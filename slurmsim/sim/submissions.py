"""Workload rows as submissions, and what a job really does once it runs. Only the driver knows the latter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from slurmsim.core.placement.gres import agreed
from slurmsim.errors import SubmitError, WorkloadError
from slurmsim.gres_counts import read_item
from slurmsim.hostlist import expand
from slurmsim.model.power import PowerSpec
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.model.submission import Submission
from slurmsim.sim.applications import Applications
from slurmsim.sim.more_options import MoreOptions, parse_more_options
from slurmsim.sim.network import Behaviour
from slurmsim.workload import Workload

CHUNK: Final = 4096
UNLIMITED_S: Final = 365 * 86400
_REQUEST_INTS: Final = ("nodes", "nodes_max", "tasks", "cpus_per_task", "tasks_per_node", "mem_per_node", "mem_per_cpu",
                 "exclusive", "oversubscribe", "contiguous")  # fmt: skip
_REQUEST_TEXTS: Final = ("gres", "gpus", "constraint", "node_list", "exclude", "options")


class Submissions:
    """Turns rows of a workload into submissions, chunk by chunk, with equal requests shared.

    Raises
    ------
    WorkloadError
        A GRES, node list or count no request can have, naming the job and the field.
    """

    def __init__(self, workload: Workload, power: PowerSpec | None = None) -> None:
        self.workload = workload
        self._applications = Applications(workload, power)
        self.requests, self._request_of = _compile_requests(workload)
        self._more = {code: _more(workload, text) for code, text in enumerate(workload.texts["options"].values) if text}

    def rows(self) -> Iterator[tuple[int, Submission, Behaviour]]:
        """(row, submission, behaviour) for every row, in the workload's order."""
        ints, texts = self.workload.ints, self.workload.texts
        n = len(self.workload)
        names = {where: tuple(filter(None, where.split(","))) for where in texts["partition"].values}
        for begin in range(0, n, CHUNK):
            part = slice(begin, min(begin + CHUNK, n))

            def numbers(name: str, least: int = 0, part: slice = part) -> list[int | None]:
                """Return a column of integers; None for what is less than `least`."""
                column = ints[name][part]
                missing = (column < least).nonzero()[0]
                if len(missing) == len(column):
                    return [None] * len(column)
                values: list[int | None] = column.tolist()
                for k in missing.tolist():
                    values[k] = None
                return values

            def words(name: str, part: slice = part) -> list[str]:
                codes, values = texts[name].codes[part], texts[name].values
                if len(values) == 1:
                    return [values[0]] * len(codes)
                return [values[code] for code in codes.tolist()]

            limit = numbers("time_limit")
            for k in (ints["time_limit"][part] == -2).nonzero()[0].tolist():
                limit[k] = UNLIMITED_S
            ids, nices = ints["job_id"][part].tolist(), ints["nice"][part].tolist()
            requests = [self.requests[code] for code in self._request_of[part].tolist()]
            least, job_names, users, accounts = numbers("time_min"), words("name"), words("user"), words("account")
            qos, partitions = words("qos"), [names[where] for where in words("partition")]
            begins, priorities, dependencies = numbers("begin"), numbers("priority"), words("dependency")
            holds, requeues = (ints["hold"][part] != 0).tolist(), (ints["requeue"][part] != 0).tolist()
            arrays, tasks, limits = numbers("array_job_id"), numbers("array_task_id"), numbers("array_limit", 1)
            reservations, licenses, deadlines = words("reservation"), words("licenses"), numbers("deadline")
            failed = ((ints["exit_code"][part] != 0) | (ints["exit_signal"][part] != 0)).tolist()
            times, cancels = ints["run_time"][part].tolist(), ints["cancel_at"][part].tolist()
            ends = [
                end or ("FAILED" if bad else "COMPLETED") for end, bad in zip(words("outcome"), failed, strict=True)
            ]
            codes = list(map("{}:{}".format, ints["exit_code"][part].tolist(), ints["exit_signal"][part].tolist()))
            options = texts["options"].codes[part].tolist() if self._more else []
            for k in range(len(ids)):
                sub = Submission(
                    ids[k], requests[k], limit[k], least[k], job_names[k], users[k], accounts[k], qos[k], partitions[k],
                    begins[k], nices[k], priorities[k], holds[k], dependencies[k], requeues[k], arrays[k], tasks[k],
                    limits[k], reservations[k], licenses[k], deadlines[k],
                )  # fmt: skip
                if options and (more := self._more.get(options[k])) is not None:
                    sub.no_kill, sub.kill_invalid = more.no_kill, more.kill_invalid
                if self._applications.told:
                    self._applications.add(begin + k, sub)
                yield begin + k, sub, Behaviour(times[k], ends[k], codes[k], cancels[k])


def _compile_requests(workload: Workload) -> tuple[list[ResourceRequest], np.ndarray]:
    """Return the distinct requests and, per row, which one it makes; shape (n_jobs,)."""
    columns = [workload.ints[name] for name in _REQUEST_INTS]
    columns += [workload.texts[name].codes.astype(np.int64) for name in _REQUEST_TEXTS]
    varying = [c for c in columns if len(c) and (c != c[0]).any()]
    n = len(workload)
    if not n:
        return [], np.zeros(0, np.int64)
    if varying:  # as np.unique of the rows, which compares them one by one
        order = np.lexsort(varying[::-1])
        new = np.ones(n, bool)
        new[1:] = np.any([c[order[1:]] != c[order[:-1]] for c in varying], axis=0)
        first, inverse = order[new], np.empty(n, np.int64)
        inverse[order] = np.cumsum(new) - 1
    else:
        first, inverse = np.zeros(1, np.int64), np.zeros(n, np.int64)
    return [request_of(workload, int(row)) for row in first], inverse


def request_of(workload: Workload, row: int) -> ResourceRequest:
    """Return what the job in that row asks for. Raises WorkloadError."""
    v = {name: int(workload.ints[name][row]) for name in _REQUEST_INTS}
    t = {name: workload.texts[name][row] for name in _REQUEST_TEXTS}
    job = int(workload.ints["job_id"][row])
    given = v["nodes"] >= 0
    maximum = v["nodes_max"] if v["nodes_max"] > 0 else (v["nodes"] if given else 0)
    if given and (v["nodes"] < 1 or maximum < v["nodes"]):
        raise _bad(workload, job, "nodes", f"{v['nodes']}-{maximum} is no node count")
    if v["tasks"] == 0 or v["tasks"] < -1 or v["cpus_per_task"] < 1:
        raise _bad(workload, job, "tasks", f"{v['tasks']} tasks of {v['cpus_per_task']} CPUs")
    gres = _gres(workload, job, "gres", t["gres"], "node") + _gres(workload, job, "gpus", t["gpus"], "job")
    more = _more(workload, t["options"])
    request = ResourceRequest(
        min_nodes=v["nodes"] if given else 1,
        max_nodes=maximum,
        n_tasks=max(v["tasks"], 0),
        cpus_per_task=v["cpus_per_task"],
        tasks_per_node=max(v["tasks_per_node"], 0),
        mem_per_node_mib=v["mem_per_node"] if v["mem_per_node"] >= 0 else None,
        mem_per_cpu_mib=v["mem_per_cpu"] if v["mem_per_cpu"] >= 0 else None,
        gres=(*gres, *more.gres),
        exclusive=bool(v["exclusive"]),
        oversubscribe=bool(v["oversubscribe"]),
        constraint=t["constraint"],
        node_list=tuple(expand(t["node_list"])) if t["node_list"] else (),
        exclude=tuple(expand(t["exclude"])) if t["exclude"] else (),
        contiguous=bool(v["contiguous"]),
        exclusive_user=more.exclusive_user,
        exclusive_topo=more.exclusive_topo,
        spread=more.spread,
        use_min_nodes=more.use_min_nodes,
        switches=more.switches,
        switch_wait_s=more.switch_wait_s,
        mem_per_gpu_mib=more.mem_per_gpu_mib,
        sockets_per_node=more.sockets_per_node,
        cpus_per_gpu=more.cpus_per_gpu,
        threads_per_core=more.threads_per_core,
        tasks_per_core=more.tasks_per_core,
        tasks_per_socket=more.tasks_per_socket,
        min_cpus_per_node=more.min_cpus_per_node,
        tasks_per_gpu=more.tasks_per_gpu,
        segment=more.segment,
        consolidate_segments=more.consolidate_segments,
        spread_segments=more.spread_segments,
        enforce_binding=more.enforce_binding,
        disable_binding=more.disable_binding,
        one_task_per_sharing=more.one_task_per_sharing,
        tasks_share=more.tasks_share,
        cpus_given=v["cpus_per_task"] > 1,
        core_spec=more.core_spec,
    )
    try:
        return agreed(request)
    except SubmitError:
        return request  # refused when it is submitted


def _more(workload: Workload, text: str) -> MoreOptions:
    try:
        return parse_more_options(text)
    except ValueError as error:
        column = workload.texts["options"]
        row = int(np.flatnonzero(column.codes == column.values.index(text))[0])
        raise _bad(workload, int(workload.ints["job_id"][row]), "options", str(error)) from None


def _gres(workload: Workload, job: int, field: str, text: str, scope: str) -> tuple[GresRequest, ...]:
    """``gpu:a100:2,nvme:1`` (per node) or ``a100:4`` (--gpus, per job)."""
    found = []
    for item in filter(None, text.split(",")):
        bare = item.removeprefix("gres:")
        asked = read_item(f"gpu:{bare}" if scope == "job" else bare)
        if asked is None:
            raise _bad(workload, job, field, f"{item!r} is no GRES request")
        found.append(GresRequest(*asked, scope))
    return tuple(found)


def _bad(workload: Workload, job: int, field: str, message: str) -> WorkloadError:
    return WorkloadError(f"job {job}: {message}", file=workload.header.source or None, field=field)
