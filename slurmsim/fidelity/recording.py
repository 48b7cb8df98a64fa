"""A recording of the oracle kit: what was asked, what a real slurmctld did with it, and on what clock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from slurmsim.config.accounting.load import load_accounting
from slurmsim.config.load import parse_cluster
from slurmsim.config.option import OLDEST
from slurmsim.core.records.messages import CreateReservation, Fact
from slurmsim.data_classes import dataclass, replace
from slurmsim.errors import WorkloadError
from slurmsim.hostlist import expand
from slurmsim.input_file import read_text
from slurmsim.json_text import loads
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.model.reservation import ReservationSpec
from slurmsim.policy import parse_policy
from slurmsim.sim.reservation_file import parse_reservations
from slurmsim.states import JobState
from slurmsim.workload import INT_COLUMNS, TextColumn, Workload, WorkloadHeader

LEAD_S = 20  # slurmctld had been up about that long before the first submission, where the recording does not say
TAIL_S = 3  # from the last job's end to the sdiag the kit records: half a poll of 5 s and two commands
_KNOWN = frozenset({
    "id", "submit", "time_limit", "runtime", "user", "nodes", "ntasks", "cpus_per_task", "mem", "mem_per_cpu",
    "exclusive", "partition", "qos", "account", "nice", "constraint", "begin", "array", "dependency", "exit_code",
    "gres", "gpus", "licenses", "reservation", "nodelist", "exclude", "switches", "ntasks_per_node", "time_min",
})  # fmt: skip
_INTS = (
    ("ntasks", "tasks"), ("cpus_per_task", "cpus_per_task"), ("nice", "nice"),
    ("mem", "mem_per_node"), ("mem_per_cpu", "mem_per_cpu"), ("exit_code", "exit_code"),
    ("ntasks_per_node", "tasks_per_node"),
)  # fmt: skip
_TEXTS = {
    "user": "user", "partition": "partition", "qos": "qos", "account": "account", "constraint": "constraint",
    "gres": "gres", "gpus": "gpus", "licenses": "licenses", "reservation": "reservation", "nodelist": "node_list",
    "exclude": "exclude",
}  # fmt: skip
"""Fields of a job in a workload file, and the columns they are."""


@dataclass(frozen=True, slots=True)
class RecordedJob:
    """One job as slurmctld saw it. Times in seconds since the recording began.

    `runtime` is how long its script works according to the workload; without it, what was recorded.
    """

    id: int
    label: str
    submit: int
    start: int
    end: int
    nodes: str
    scheduler: str  # "Main" or "Backfill"
    state: str
    runtime: int
    eligible: int = -1
    reasons: tuple[tuple[int, str], ...] = ()  # (when, reason) as seen while it was pending

    @property
    def elapsed(self) -> int:
        """Recorded end less recorded start."""
        return self.end - self.start

    @property
    def ended_by_itself(self) -> bool:
        """Its script came to its end, at whatever exit code."""
        return self.state in (JobState.COMPLETED, JobState.FAILED)


@dataclass(frozen=True, slots=True)
class Recording:
    """All jobs that started, and what to replay them with.

    `jobs` count seconds from the beginning of the recording, `workload` on slurmctld's clock: `epoch` is when the
    recording began on it (backfill rounds to whole minutes of that clock). `up_since` is when slurmctld began, which
    sets the phase of its minute passes. `accounting` are its associations and QOS, if it had any. `reservations` were
    made before the first job came.
    """

    name: str
    slurm: str
    cluster: ClusterSpec
    jobs: tuple[RecordedJob, ...]
    workload: Workload
    epoch: int
    up_since: int
    accounting: Accounting | None = None
    reservations: tuple[ReservationSpec, ...] = ()

    @property
    def facts(self) -> list[Fact]:
        """What a controller is told before any job comes."""
        return [CreateReservation(spec, restored=True) for spec in self.reservations]

    @property
    def scheduler(self) -> str:
        """Name of the scheduler plugin."""
        return parse_policy(self.cluster.option("SchedulerType"))[0]

    def shifted(self, seconds: int) -> Recording:
        """Return the same recording, begun that much later on slurmctld's clock."""
        if not seconds:
            return self
        ints = dict(self.workload.ints)
        ints["submit"] = ints["submit"] + seconds
        ints["begin"] = np.where(ints["begin"] >= 0, ints["begin"] + seconds, ints["begin"])
        workload = Workload(ints, self.workload.texts, self.workload.header)
        return replace(self, workload=workload, epoch=self.epoch + seconds)

    def lasting(self, seconds: Mapping[int, int]) -> Recording:
        """Return the same recording, its jobs (by id) lasting so long when replayed."""
        ints = dict(self.workload.ints)
        ints["run_time"] = np.array([seconds[job_id] for job_id in ints["job_id"].tolist()], np.int64)
        return replace(self, workload=Workload(ints, self.workload.texts, self.workload.header))


def read_recording(path: Path, workload: Path | None = None, accounting: Path | None = None) -> Recording:
    """Read a recording, its workload, and the accounting data of its cluster.

    Parameters
    ----------
    accounting
        Accounting data in any form `load_accounting` reads; default: the sacctmgr commands the kit ran, if
        they are where it keeps them (``oracle/conf/replay-KIND/sacctmgr.txt`` for ``golden/replay/NAME.KIND.json``) or
        beside the recording (``NAME.KIND.sacctmgr.txt``).

    Raises
    ------
    WorkloadError
        A file is missing or no recording, or a job asks for what the replay does not model.
    ConfigError
        The recorded slurm.conf or the accounting data cannot be used.
    """
    recorded = _load(path)
    for key in ("jobs", "slurm_conf", "workload"):
        if key not in recorded:
            raise WorkloadError("is no recording", file=str(path), field=key, expected="a recording of the oracle")
    if workload is None:
        workload = path.with_name(Path(str(recorded["workload"])).name)
    asked = {job["id"]: job for job in _load(workload).get("jobs", [])}
    cluster, _ = parse_cluster(
        recorded["slurm_conf"], f"{path}: slurm_conf", gres_lines=recorded.get("gres_conf", ()),
        topology_lines=recorded.get("topology_conf", ()), resources_yaml=recorded.get("resources_yaml", ""),
        release=str(recorded["slurm"])[:5] if recorded.get("resources_yaml") else OLDEST,
    )  # fmt: skip
    cluster = replace(cluster, release=str(recorded.get("slurm") or cluster.release)[:5])
    started = [j for j in recorded["jobs"] if j.get("start") is not None and j.get("end") is not None]
    missing = [j["id"] for j in started if j["id"] not in asked]
    if missing:
        raise WorkloadError(f"has no job {missing[0]!r}", file=str(workload), field="jobs",
                            expected="the workload of the recording")  # fmt: skip
    if not started:
        raise WorkloadError("no job started", file=str(path), field="jobs", expected="at least one start")
    jobs = tuple(
        RecordedJob(int(j["job_id"]), j["id"], int(j["submit"]), int(j["start"]), int(j["end"]), j["nodes"],
                    j.get("scheduler") or "Main", str(j["state"]),
                    int(asked[j["id"]].get("runtime", int(j["end"]) - int(j["start"]))),
                    -1 if j.get("eligible") is None else int(j["eligible"]), _reasons(j, asked[j["id"]]))
        for j in started
    )  # fmt: skip
    epoch, up_since = _clock(recorded.get("sdiag", ()), jobs, recorded.get("epoch"))
    columns = _workload(jobs, asked, str(workload), epoch)
    return Recording(
        path.name,
        str(recorded.get("slurm", "")),
        cluster,
        jobs,
        columns,
        epoch,
        up_since,
        _accounting(path, cluster) if accounting is None else load_accounting([accounting]),
        _reservations("\n".join(recorded.get("reservations", ())), path, cluster, columns),
    )


def _reservations(shown: str, path: Path, cluster: ClusterSpec, workload: Workload) -> tuple[ReservationSpec, ...]:
    """Return the reservations of a recording, as scontrol showed them before the first job came."""
    if not shown:
        return ()
    facts = [timed.fact for timed in parse_reservations(shown, path, cluster, workload)]
    return tuple(fact.spec for fact in facts if isinstance(fact, CreateReservation))


def _accounting(path: Path, cluster: ClusterSpec) -> Accounting | None:
    """Return what the kit told sacctmgr before it began to record, None when it kept no accounts."""
    if cluster.option("AccountingStorageType") != "accounting_storage/slurmdbd":
        return None
    kind = path.name.removesuffix(".json").rpartition(".")[2]
    places = (path.with_suffix(".sacctmgr.txt"), path.parents[2] / "oracle" / "conf" / f"replay-{kind}" / "sacctmgr.txt"
              if len(path.parents) > 2 else path)  # fmt: skip
    found = next((place for place in places if place.is_file() and place != path), None)
    if found is None:
        raise WorkloadError("its accounting data are not there", file=str(path), field="--accounting",
                            expected="the sacctmgr commands of the recorded cluster")  # fmt: skip
    return load_accounting([found])


def _clock(sdiag: Any, jobs: tuple[RecordedJob, ...], logged: dict[str, Any] | None = None) -> tuple[int, int]:
    """(epoch, up_since) from the sdiag at the end of the recording, to about 3 s; exact where slurmctld's log told it.

    A slurmctld that waited for its database was started long before it was up.
    """
    at = {key: int(m[1]) for key in ("sdiag output at", "Data since")
          for line in sdiag if line.startswith(key) and (m := re.search(r"\((\d+)\)", line))}  # fmt: skip
    first = min(j.submit for j in jobs)
    if len(at) < 2:
        return (int(logged["start"]), int(logged["slurmctld_since"])) if logged else (-first + LEAD_S, 0)
    epoch = int(logged["start"]) if logged else at["sdiag output at"] - max(j.end for j in jobs) - TAIL_S
    return epoch, min(at["Data since"] - 1, epoch + first)


def _workload(jobs: tuple[RecordedJob, ...], asked: dict[str, dict[str, Any]], source: str, epoch: int) -> Workload:
    """Return the recorded jobs as a workload: asked for as in the workload file, submitted and lasting as recorded."""
    ids: dict[str, list[int]] = {}
    for job in sorted(jobs, key=lambda job: job.id):
        ids.setdefault(job.label, []).append(job.id)
    n = len(jobs)
    ints: dict[str, dict[int, int]] = {}
    texts: dict[str, list[str]] = {}
    for row, job in enumerate(jobs):
        ask = asked[job.label]
        unknown = sorted(set(ask) - _KNOWN)
        if unknown:
            raise WorkloadError(f"job {job.label} has {unknown[0]!r}", file=source, field=unknown[0],
                                expected="a field the replay models")  # fmt: skip
        values = {"job_id": job.id, "submit": epoch + job.submit, "run_time": job.elapsed,
                  "time_limit": int(ask["time_limit"]) * 60}  # fmt: skip
        values |= {column: _number(ask[field], field, job, source) for field, column in _INTS if field in ask}
        values |= _nodes(ask.get("nodes"), job, source)
        if ask.get("exclusive"):
            values["exclusive"] = 1
        if "begin" in ask:
            values["begin"] = epoch + _begin(job, int(str(ask["begin"]).removeprefix("now+")))
        if "array" in ask:
            values |= _array(str(ask["array"]), ids[job.label], job.id)
        for name, value in values.items():
            ints.setdefault(name, {})[row] = value
        if "time_min" in ask:
            values["time_min"] = int(ask["time_min"]) * 60
        for field, column in _TEXTS.items():
            texts.setdefault(column, [""] * n)[row] = str(ask.get(field, ""))
        texts.setdefault("options", [""] * n)[row] = f"--switches={ask['switches']}" if "switches" in ask else ""
        texts.setdefault("dependency", [""] * n)[row] = _dependency(str(ask.get("dependency", "")), ids)
        texts.setdefault("outcome", [""] * n)[row] = job.state if job.state != "CANCELLED" else "FAILED"
    columns = {}
    for name, rows in ints.items():
        filled = np.full(n, INT_COLUMNS[name][1], np.int64)
        filled[list(rows)] = list(rows.values())
        columns[name] = filled
    coded = {name: TextColumn.from_list(values) for name, values in texts.items()}
    workload = Workload(columns, coded, WorkloadHeader(source=source, format="recording"))
    task, array = workload.ints["array_task_id"], workload.ints["array_job_id"]
    first = np.where(task < 0, workload.ints["job_id"], array)  # the tasks of an array in index order, not by their ids
    return workload.take(np.lexsort((task, first, workload.ints["submit"])))


def _reasons(recorded: dict[str, Any], ask: dict[str, Any]) -> tuple[tuple[int, str], ...]:
    """Return the reasons a job showed; none for tasks of an array, since they share a name and cannot be told apart."""
    seen = () if "array" in ask else recorded.get("reasons") or ()
    return tuple((int(when), str(reason)) for when, reason in seen)


def _number(value: Any, field: str, job: RecordedJob, source: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise WorkloadError(f"job {job.label} has {field} {value!r}", file=source, field=field,
                            expected="a whole number") from None  # fmt: skip


def _nodes(value: Any, job: RecordedJob, source: str) -> dict[str, int]:
    """``4``, or a range ``2-6``."""
    if value is None:
        return {}
    least, dash, most = str(value).partition("-")
    found = {"nodes": _number(least, "nodes", job, source)}
    return found | {"nodes_max": _number(most, "nodes", job, source)} if dash else found


def _begin(job: RecordedJob, after: int) -> int:
    """When it may start: sbatch counts from its own second, which may be one before the submission's."""
    asked = job.submit + after
    return job.eligible if asked - 3 <= job.eligible <= asked else asked


def _array(text: str, ids: list[int], job_id: int) -> dict[str, int]:
    """Return the array and task of a job. The record of the array has the first id and is its last task to start."""
    indexes, _, limit = text.partition("%")
    tasks = [*ids[1:], ids[0]]
    found = {"array_job_id": ids[0], "array_task_id": int(expand(f"t[{indexes}]")[tasks.index(job_id)][1:])}
    return found | ({"array_limit": int(limit)} if limit else {})


def _dependency(text: str, ids: dict[str, list[int]]) -> str:
    """Return a dependency with job ids for the workload's own (``afterok:j003``), for an array all of its ids.

    Ids that never started are left unknown.
    """
    parts = []
    for part in filter(None, text.split(",")):
        kind, *names = part.split(":")
        parts.append(":".join([kind, *(str(one) for name in names for one in ids.get(name, [10**9]))]))
    return ",".join(parts)


def _load(path: Path) -> dict[str, Any]:
    try:
        found = loads(read_text(path))
    except OSError as error:
        raise WorkloadError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except ValueError as error:
        raise WorkloadError(f"is not JSON: {error}", file=str(path)) from None
    if not isinstance(found, dict):
        raise WorkloadError("is no recording", file=str(path), expected="a JSON object")
    return found
