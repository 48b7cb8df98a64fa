"""A job as a dump has it, from ``scontrol show job``: numbers are numbers, times are seconds since the epoch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from slurmsim.data_classes import dataclass, field
from slurmsim.duration import parse_duration
from slurmsim.errors import InputError, WorkloadError
from slurmsim.numerals import is_number, leading_number
from slurmsim.states import TRANSITIONS, JobState
from slurmsim.tres import parse_memory, parse_tres
from slurmsim.twin.moments import Moments
from slurmsim.twin.shown import Shown, records

FILE = "job.txt"
_PERSON = re.compile(r"(.*)\((\d{1,10})\)", re.ASCII)
_MOST_ID = 0x03FF0000
_STATES = frozenset(map(str, TRANSITIONS))
NO_LIMIT = -1
_UNSAID_16 = 0xFFFE


@dataclass(frozen=True, slots=True)
class Held:
    """What a running job has of one or several equal nodes: CPUs by number, MiB, and GRES as printed."""

    nodes: str
    cpus: str
    memory_mib: int
    gres: str


@dataclass(slots=True)
class SeenJob:
    """One record: a job, an array task, or all tasks of an array that have not been split off (`tasks`)."""

    id: int
    line: int
    file: str
    state: str
    user: str
    uid: int | None
    group: str
    gid: int | None
    name: str = ""
    array_id: int | None = None
    tasks: str = ""  # 3, or 4-9%2
    het: tuple[int, int] | None = None  # id of the leader, number of the component
    account: str = ""
    qos: str = ""
    reason: str = ""
    dependency: str = ""
    priority: int | None = None
    nice: int = 0
    requeue: bool = True
    restarts: int = 0
    batch: bool = True
    exit_code: str = "0:0"
    limit_min: int | None = None  # NO_LIMIT: none
    time_min_min: int = 0
    submit: int = 0
    eligible: int | None = None
    accrue: int | None = None
    start: int | None = None
    end: int | None = None
    deadline: int | None = None
    suspended_at: int | None = None
    ran_before_suspension_s: int = 0
    last_evaluated: int | None = None
    run_s: int | None = None
    scheduler: str = ""
    partition: str = ""
    wanted_nodes: str = ""
    unwanted_nodes: str = ""
    nodes: str = ""
    min_nodes: int = 1
    max_nodes: int | None = None  # where a range was asked for
    cpus: int = 1
    n_tasks: int | None = None
    cpus_per_task: int | None = None
    tasks_per_node: int = 0
    cpus_per_node: int = 0
    threads_per_core: int = 0
    switches: tuple[int, int] | None = None  # the most, and for how many seconds to wait for them
    kills_invalid: bool | None = None  # --kill-on-invalid-dep, where it was given
    mem_per_node_mib: int | None = None
    mem_per_cpu_mib: int | None = None
    tmp_disk_mib: int = 0
    asked_tres: dict[str, int] = field(default_factory=dict)
    given_tres: dict[str, int] = field(default_factory=dict)
    gres: dict[str, str] = field(default_factory=dict)  # tres_per_node, tres_per_job … as printed
    features: str = ""
    licenses: str = ""
    reservation: str = ""
    shared: str = ""  # exclusive, ok, user, or nothing special
    planned_nodes: str = ""
    sluid: str = ""
    contiguous: bool = False
    texts: dict[str, str] = field(default_factory=dict)  # what is only shown: command, work_dir, comment …
    held: tuple[Held, ...] = ()

    @property
    def shown_id(self) -> str:
        """The id as users name it."""
        if self.array_id is not None:
            return f"{self.array_id}_{self.tasks if is_number(self.tasks) else f'[{self.tasks}]'}"
        return str(self.id)

    @property
    def is_running(self) -> bool:
        """True if it has nodes now."""
        return self.state in (JobState.RUNNING, JobState.SUSPENDED)

    @property
    def is_over(self) -> bool:
        """True if it has ended."""
        return not self.is_running and self.state != JobState.PENDING


def read_jobs(text: str, file: str, moments: Moments) -> Iterator[SeenJob]:
    """Yield the jobs of ``scontrol show job``. Raises WorkloadError."""
    yield from jobs_of(records(text, "JobId", file, detail="Nodes"), file, moments)


def jobs_of(found: Iterable[Shown], file: str, moments: Moments) -> Iterator[SeenJob]:
    """Yield the jobs of records. Raises WorkloadError."""
    for shown in found:
        yield _Reader(shown, file, moments).job()


class _Reader:
    """Reads one record; knows what errors must name."""

    def __init__(self, shown: Shown, file: str, moments: Moments) -> None:
        self._shown, self._file, self._moments = shown, file, moments

    def job(self) -> SeenJob:
        get = self._shown.get
        user, uid = self._person("UserId")
        group, gid = self._person("GroupId")
        low, high = self._range("NumNodes")
        held = tuple(map(self._held, self._shown.details))
        job = SeenJob(
            id=self._id("JobId"), line=self._shown.line, file=self._file, state=self._state(), user=user, uid=uid,
            group=group, gid=gid, name=self._shown.fields.get("JobName", ""), account=get("Account"), qos=get("QOS"),
            reason=_with_blanks(self._shown.fields.get("Reason", "")), dependency=get("Dependency"),
            priority=self._number("Priority", None), nice=self._signed("Nice"),
            requeue=get("Requeue", "1") != "0", restarts=self._number("Restarts", 0) or 0,
            batch=get("BatchFlag", "1") != "0", exit_code=self._exit_code(), limit_min=self._minutes("TimeLimit"),
            time_min_min=max(0, self._minutes("TimeMin") or 0), submit=self._moment("SubmitTime") or 0,
            eligible=self._moment("EligibleTime"), accrue=self._moment("AccrueTime"), start=self._moment("StartTime"),
            end=self._moment("EndTime"), deadline=self._moment("Deadline"), suspended_at=self._moment("SuspendTime"),
            ran_before_suspension_s=self._number("SecsPreSuspend", 0) or 0,
            last_evaluated=self._moment("LastSchedEval"), run_s=self._seconds("RunTime"),
            scheduler=get("Scheduler"), partition=get("Partition"),
            wanted_nodes=get("ReqNodeList"), unwanted_nodes=get("ExcNodeList"), nodes=get("NodeList"), min_nodes=low,
            max_nodes=high, cpus=self._range("NumCPUs")[0], n_tasks=self._number("NumTasks", None),
            cpus_per_task=self._number("CPUs/Task", None),
            tasks_per_node=leading_number(get("NtasksPerN:B:S:C", "0")),
            threads_per_core=_count(get("ReqB:S:C:T").rpartition(":")[2]),
            switches=self._switches(),
            kills_invalid=_KILLS.get(get("KillOnInvalidDependent") or get("KillOInInvalidDependent")),
            cpus_per_node=self._number("MinCPUsNode", 0) or 0, mem_per_node_mib=self._memory("MinMemoryNode"),
            mem_per_cpu_mib=self._memory("MinMemoryCPU"), tmp_disk_mib=self._memory("MinTmpDiskNode") or 0,
            asked_tres=self._asked_tres(), given_tres=self._tres("AllocTRES", "TRES"),
            features=get("Features"), licenses=get("Licenses"), reservation=get("Reservation"),
            shared=self._shared(), contiguous=get("Contiguous") == "1", held=held,
            planned_nodes=get("SchedNodeList"), sluid=get("SLUID"),
        )  # fmt: skip
        self._rest(job)
        self._array(job)
        return job

    def _rest(self, job: SeenJob) -> None:
        get = self._shown.get
        job.gres = {ours: get(theirs) for ours, theirs in _GRES if get(theirs)}
        job.texts = {ours: get(theirs) for ours, theirs in _TEXTS if get(theirs)}
        offset = get("HetJobOffset")
        if is_number(offset) and is_number(get("HetJobId")) and int(get("HetJobId")):
            job.het = int(get("HetJobId")), int(offset)
        if not job.submit:
            raise self._wrong("SubmitTime", "is missing", "a time")
        if job.is_running and not (job.nodes and job.start):
            raise self._wrong("NodeList", f"a {job.state} job without nodes or start", "NodeList and StartTime")

    def _array(self, job: SeenJob) -> None:
        if not self._shown.get("ArrayJobId"):
            return
        job.array_id, job.tasks = self._id("ArrayJobId"), self._shown.get("ArrayTaskId")
        if not re.fullmatch(r"[\d,:%-]+(\.\.\.)?", job.tasks, re.ASCII):
            raise self._wrong("ArrayTaskId", f"{job.tasks!r} names no tasks", "numbers and ranges")
        limit = self._shown.get("ArrayTaskThrottle")
        if limit not in ("", "0") and "%" not in job.tasks and is_number(limit):
            job.texts["array_limit"] = limit

    # -- values -----------------------------------------------------------------------------------------------------

    def _wrong(self, key: str, message: str, expected: str) -> WorkloadError:
        return WorkloadError(message, file=self._file, line=self._shown.line, field=key, expected=expected)

    def _id(self, key: str) -> int:
        found = self._number(key, None)
        if found is None or not 0 < found <= _MOST_ID:
            raise self._wrong(key, f"{self._shown.fields.get(key, '')!r} is no job id", f"1 to {_MOST_ID}")
        return found

    def _number(self, key: str, default: int | None) -> int | None:
        text = self._shown.get(key)
        if not text or text == "*":
            return default
        if not is_number(text):
            raise self._wrong(key, f"{text!r} is no number", "a whole number")
        return int(text)

    def _signed(self, key: str) -> int:
        text = self._shown.get(key) or "0"
        if not is_number(text.removeprefix("-")):
            raise self._wrong(key, f"{text!r} is no number", "a whole number")
        return int(text)

    def _range(self, key: str) -> tuple[int, int | None]:
        """Return ``2``, or both ends of ``2-3``."""
        low, dash, high = (self._shown.get(key) or "1").partition("-")
        if not is_number(low) or (dash and not is_number(high)):
            raise self._wrong(key, f"{self._shown.get(key)!r} is no number", "a number, or two with a dash")
        return int(low), int(high) if dash else None

    def _person(self, key: str) -> tuple[str, int | None]:
        text = self._shown.get(key)
        found = _PERSON.fullmatch(text)
        if found is None:
            return text, None
        return found[1], int(found[2])

    def _state(self) -> str:
        word = self._shown.get("JobState").partition("+")[0]
        if word in ("COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT"):
            word = JobState.RUNNING  # it has its nodes
        if word not in _STATES:
            raise self._wrong("JobState", f"{word!r} is no state", "PENDING, RUNNING …")
        return str(word)

    def _shared(self) -> str:
        """Return what it asked of other jobs on its nodes; since 26.05 a key of its own says what it has alone."""
        own, word = self._shown.fields.get("Exclusive"), self._shown.get("OverSubscribe")
        if own is not None:
            return {"NODE": "exclusive", "USER": "user"}.get(own, "ok" if word == "YES" else "")
        return {"NO": "exclusive", "YES": "ok", "USER": "user"}.get(word, "")

    def _switches(self) -> tuple[int, int] | None:
        """Return both parts of ``1@00:05:00``; None where it asked for no number of switches."""
        most, _, wait = self._shown.get("Switches").partition("@")
        return (int(most), self._duration("Switches", wait) or 0) if is_number(most) else None

    def _exit_code(self) -> str:
        text = self._shown.get("ExitCode", "0:0")
        code, colon, signal = text.partition(":")
        if not colon or not is_number(code) or not is_number(signal):
            raise self._wrong("ExitCode", f"{text!r} is no exit code", "CODE:SIGNAL")
        return f"{int(code) & 0xFF}:{int(signal) & 0x7F}"

    def _minutes(self, key: str) -> int | None:
        text = self._shown.get(key)
        if not text or text == "Partition_Limit":
            return None
        if text == "UNLIMITED":
            return NO_LIMIT
        seconds = self._duration(key, text)
        return NO_LIMIT if seconds is None else -(-seconds // 60)

    def _seconds(self, key: str) -> int | None:
        return self._duration(key, self._shown.get(key))

    def _duration(self, key: str, text: str) -> int | None:
        try:
            return parse_duration(text) if text else None
        except InputError as error:
            raise self._wrong(key, error.message, error.expected or "a duration") from None

    def _moment(self, key: str) -> int | None:
        return self._moments.read(self._shown.get(key), self._file, self._shown.line, key)

    def _memory(self, key: str) -> int | None:
        return self._parsed(key, self._shown.get(key), parse_memory)

    def _parsed(self, key: str, text: str, parse: Callable[[str], int]) -> int | None:
        if not text:
            return None
        try:
            return parse(text)
        except InputError as error:
            raise self._wrong(key, error.message, error.expected or "a size") from None

    def _tres(self, *keys: str) -> dict[str, int]:
        key = next((key for key in keys if self._shown.get(key)), keys[0])
        try:
            return parse_tres(self._shown.get(key))
        except InputError as error:
            raise self._wrong(key, error.message, error.expected or "NAME=COUNT,…") from None

    def _asked_tres(self) -> dict[str, int]:
        """Return what it asked for; before 23.02 a job that has nodes tells what it was given alone."""
        waits = self._shown.get("JobState").startswith("PENDING")
        return self._tres("ReqTRES", "TRES") if waits or "ReqTRES" in self._shown.fields else {}

    def _held(self, detail: dict[str, str]) -> Held:
        memory = self._parsed("Mem", detail.get("Mem", "0"), parse_memory) or 0
        gres = detail.get("GRES", "")
        return Held(detail.get("Nodes", ""), detail.get("CPU_IDs", ""), memory, "" if gres == "(null)" else gres)


def _count(text: str) -> int:
    """Return the number of a thing that nodes have; 0 for ``*`` and for what is none in 16 bits."""
    return int(text) if is_number(text) and int(text) < _UNSAID_16 else 0


def _with_blanks(reason: str) -> str:
    """Return a reason with the blanks that ``show job`` prints as lines; names of nodes behind a colon keep theirs.

    >>> _with_blanks("ReqNodeNotAvail,_UnavailableNodes:n_1"), _with_blanks("Priority")
    ('ReqNodeNotAvail, UnavailableNodes:n_1', 'Priority')
    """
    text, colon, names = reason.partition(":")
    return text.replace("_", " ") + colon + names


_KILLS = {"Yes": True, "No": False}
_GRES = (
    ("tres_per_node", "TresPerNode"), ("tres_per_job", "TresPerJob"), ("tres_per_task", "TresPerTask"),
    ("tres_per_socket", "TresPerSocket"), ("cpus_per_tres", "CpusPerTres"), ("mem_per_tres", "MemPerTres"),
)  # fmt: skip
_TEXTS = (
    ("command", "Command"), ("work_dir", "WorkDir"), ("std_out", "StdOut"), ("std_err", "StdErr"), ("std_in", "StdIn"),
    ("comment", "Comment"), ("admin_comment", "AdminComment"), ("submit_line", "SubmitLine"), ("extra", "Extra"),
    ("mail_user", "MailUser"), ("wckey", "WCKey"), ("tres_given", "AllocTRES"),
)  # fmt: skip
