"""scancel: cancel or signal jobs and steps, by id and by filters.

Mirrors src/scancel of Slurm 22.05: ids alone are sent as they are; a job that is unknown or over already is no error
then unless one asks to hear of it (-v). With a filter, a signal, -b, -i or a step the jobs are loaded and chosen here,
and an id that means none of them is an error.
"""

from __future__ import annotations

from slurmsim import releases, sluid
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text import array_text, short_helps
from slurmsim.commands.text.cluster_facts import named_cluster
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, Parser, options
from slurmsim.commands.text.plugin_lines import plugin_lines
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.commands.text.typed_hosts import typed_hosts
from slurmsim.fast_imports import dataclass, field, pattern
from slurmsim.hostlist import MAX_RANGE, HostlistError, expand
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since
from slurmsim.states import COMPACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from slurmsim.commands.io import Io


_NAME = "scancel"
_OPTIONS = options(
    ("account", REQUIRED, "A"), ("batch", NO, "b"), ("cron", NO, "c"), ("ctld", NO, "ctld"), ("full", NO, "f"),
    ("help", NO, "help"), ("hurry", NO, "H"), ("interactive", NO, "i"), ("cluster", REQUIRED, "M"),
    ("clusters", REQUIRED, "M"), ("me", NO, "me"), ("jobname", REQUIRED, "n"), ("name", REQUIRED, "n"),
    ("nodelist", REQUIRED, "w"), ("partition", REQUIRED, "p"), ("qos", REQUIRED, "q"), ("quiet", NO, "Q"),
    ("reservation", REQUIRED, "R"), ("sibling", REQUIRED, "sibling"), ("signal", REQUIRED, "s"),
    ("state", REQUIRED, "t"), ("usage", NO, "usage"), ("user", REQUIRED, "u"), ("verbose", NO, "v"),
    ("version", NO, "V"), ("wckey", REQUIRED, "wckey"),
)  # fmt: skip
_COMMENT = options(("admin-comment", REQUIRED, "admin_comment"))
_USAGE = """Usage: scancel [-A account] [--batch]{ctld} [--full] [--interactive] [-n job_name]
               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]
               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]
               [--hurry] [-V] [-v] [-w hosts...] [--wckey=wckey]
               [job_id[_array_id][.step_id]]
"""
_CTLD = {"22.05": "", "23.11": " [--ctld]"}
_NAMED = (
    ("A", "account"), ("n", "job_name"), ("w", "nodelist"), ("p", "partition"), ("q", "qos"), ("R", "reservation"),
    ("t", "state"), ("u", "user_name"), ("wckey", "wckey"),
)  # fmt: skip
_ID = pattern(r"(?a)(\d+)(?:_(\d+|\*|\[[\d,:%-]+\]))?(?:\+\d+)?(?:\.(\d+))?")
_NO_STEP = 0xFFFFFFFE  # SLURM_NO_VAL, which the step of a SLUID without one is
_SIGNALS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "ALRM": 14, "TERM": 15, "USR1": 10, "USR2": 12, "URG": 23,
    "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22,
}  # fmt: skip
_STATES = ("PENDING", "RUNNING", "SUSPENDED")
_FIELDS = ("job_id", "sluid", "array_job_id", "array_task_id", "array_task_str", "user_name", "name", "account",
           "partition", "qos", "resv_name", "resv_used", "job_state", "nodes", "wckey")  # fmt: skip
_NO_JOB = "Invalid job id specified"
_NOT_NOW = "Job can not be altered now, try again later"
_NOT_NOW_NUMBER = 2020
_TRIES, _PAUSE_S = 10, 5  # of scancel, where that is said; each pause is a second longer than the one before
_OVER = "Job/step already completing or completed"
_FINAL = frozenset(COMPACT) - set(_STATES)


@dataclass
class Asked:
    """The command line."""

    filters: dict[str, str] = field(default_factory=dict)
    signal: int | None = None
    batch: bool = False
    full: bool = False
    cron: bool = False
    admin_comment: str | None = None
    ctld: bool = False
    hurry: bool = False
    interactive: bool = False
    verbose: int = 0
    me: bool = False
    quiet: bool = False
    ids: list[str] = field(default_factory=list)

    @property
    def plain(self) -> bool:
        """True if slurmctld is to look for the jobs (has_default_opt, has_job_steps)."""
        chosen = self.filters or self.batch or self.interactive or self.signal is not None
        return not chosen and not any("." in word for word in self.ids)


if TYPE_CHECKING:
    Row = dict[str, Any]


@stoppable
def run(argv: list[str], io: Io) -> int:
    """Cancel what the words say; the exit code."""
    try:
        asked = _read(argv, io)
        return _send_ids(asked, asked.ids, io) if asked.plain else _send_chosen(asked, io)
    except Unreachable as error:
        io.error(f"slurm_load_jobs error: {text_of(error)}")  # what real scancel asks for first
        return 1


def _read(argv: Sequence[str], io: Io) -> Asked:
    asked = Asked()
    comment = _COMMENT if since(release_of(io), "admin_comment_of_cancels") else ()
    parser = Parser(_OPTIONS + comment, permute=True)
    for key, value in parser.parse_for("scancel", argv, io):
        _apply(asked, key, value or "", io)
    asked.ids = [word for words in parser.rest for word in _split(words)]
    for word in asked.ids:
        if word.startswith("s"):
            if sluid.number_of(word.partition(".")[0]) is None:
                io.error(f"scancel: error: Invalid SLUID {word}")
                raise Stop(1)
            continue
        match = _ID.fullmatch(word)
        if match is None or not int(match[1]) or not _may_be_tasks(match[2] or "", io):
            io.error(f"scancel: error: Invalid job id {word}")
            raise Stop(1)
    if not asked.ids and not asked.filters:
        io.error("scancel: error: No job identification provided")
        raise Stop(1)
    return asked


def _split(words: str) -> list[str]:
    """Ids are separated by commas, but not inside brackets."""
    parts, end, closed = list[str](), len(words), False
    for k in range(len(words) - 1, -1, -1):
        if words[k] in "[]":
            closed = words[k] == "]"
        elif words[k] == "," and not closed:
            parts.append(words[k + 1 : end])
            end = k
    return [part for part in (words[:end], *reversed(parts)) if part]


def _may_be_tasks(text: str, io: Io) -> bool:
    """Return True if a list of tasks is one, and not of more than Slurm's host lists take."""
    if not text.startswith("["):
        return True
    try:
        return bool(
            typed_hosts(text.partition("%")[0].rstrip("]") + "]", lambda why: io.error(f"scancel: error: {why}"))
        )
    except HostlistError:
        return False


def _apply(asked: Asked, key: str, value: str, io: Io) -> None:
    match key:
        case "A" | "n" | "p" | "q" | "R" | "w" | "wckey":
            asked.filters[key] = value.lower() if key in ("A", "q") else value
        case "t":
            asked.filters[key] = _state(value, io)
        case "u":
            known = io.client.call("users", names=[value])["uids"][0]
            if known is None:
                io.error(f"scancel: error: Invalid user name: {value}")
                raise Stop(1)
            asked.filters[key] = value
        case "me":
            asked.filters["u"] = str(io.client.call("hello")["user"])
            asked.me = True
        case "s":
            asked.signal = _signal(value, io)
        case "b" | "f" | "H" | "i" | "Q":
            names = {"b": "batch", "f": "full", "H": "hurry", "i": "interactive", "Q": "quiet"}
            setattr(asked, names[key], True)
        case "v":
            asked.verbose += 1
        case "V":
            io.out(version_of(io))
            raise Stop(0)
        case "usage" | "help":
            usage = _USAGE.format(ctld=releases.row(_CTLD, release_of(io)))
            io.out(usage if key == "usage" else short_helps.text("scancel", _OPTIONS))
            raise Stop(0)
        case "M":
            named_cluster(io, _NAME, value)
        case "c":
            asked.cron = True
        case "admin_comment":
            asked.admin_comment, asked.ctld = value, True
        case "ctld":
            asked.ctld = True
        case "sibling":
            io.error("scancel: error: --sibling is not modelled")
            raise Stop(1)


def _signal(text: str, io: Io) -> int:
    name = text.upper().removeprefix("SIG")
    if is_number(text):
        return int(text)
    if name not in _SIGNALS:
        io.error(f"Unknown job signal: {text}")
        raise Stop(1)
    return _SIGNALS[name]


def _state(text: str, io: Io) -> str:
    for state in _STATES:
        if text.upper() in (state, COMPACT[state]):
            return state
    io.error(f"Invalid job state specified: {text}\nValid job states are PENDING, RUNNING, and SUSPENDED")
    raise Stop(1)


def _send_ids(asked: Asked, ids: Sequence[str], io: Io) -> int:
    code = 0
    for one in _send_all(asked, ((word, None) for word in ids), io):
        code = one or code
    return code


def _send_all(asked: Asked, chosen: Iterable[tuple[str, int | None]], io: Io) -> list[int]:
    """Cancel all jobs or steps of `chosen`; return their exit codes.

    A job that has to be tried again later does not delay the others, as with the threads of scancel.c. An error that is
    not worth a message gives 0.
    """
    codes: list[int] = []
    later: list[tuple[int, str, int | None]] = []
    for word, job_id in chosen:
        if asked.verbose:
            what = "Terminating" if asked.signal in (None, 9) else f"Signal {asked.signal} to"
            io.error(f"scancel: {what} {_called(word, job_id)}")
        wrong = _ask(asked, word, io)
        if _not_now(asked, wrong, io):
            later.append((len(codes), word, job_id))
            wrong = None
        codes.append(_said(asked, word, job_id, wrong, io))
    for attempt in range(_TRIES):
        if not later:
            break
        _pause(io, _PAUSE_S + attempt)
        waiting, later = later, []
        for at, word, job_id in waiting:
            wrong = _ask(asked, word, io) if attempt + 1 < _TRIES else Refusal(_NOT_NOW, _NOT_NOW_NUMBER)
            if attempt + 1 < _TRIES and _not_now(asked, wrong, io):
                later.append((at, word, job_id))
            else:
                codes[at] = _said(asked, word, job_id, wrong, io)
    return codes


def _called(word: str, job_id: int | None) -> str:
    base, _, step = word.partition(".")
    number = base if job_id is None or base[0] == "s" else job_id
    return f"step {number}.{step}" if step else f"job {base}"


def _pause(io: Io, seconds: int) -> None:
    patient = io.client.patient()
    patient.call("wait_until", until=int(io.client.call("hello")["now"]) + seconds)
    patient.close()


def _ask(asked: Asked, word: str, io: Io) -> Refusal | Unreachable | None:
    """Ask for one job or step; what went wrong."""
    base, _, step = word.partition(".")
    try:
        io.client.call(
            "kill",
            job_id=base,
            step=int(step) if step else None,
            signal=asked.signal,
            batch=asked.batch,
            full=asked.full,
            **({"cron": True} if asked.cron else {}),
            **({"ctld": True} if asked.ctld else {}),
            **({} if asked.admin_comment is None else {"admin_comment": asked.admin_comment}),
        )
    except (Refusal, Unreachable) as wrong:
        return wrong
    return None


def _not_now(asked: Asked, wrong: Refusal | Unreachable | None, io: Io) -> bool:
    """Return True if the job is said to be on its way to another state."""
    if wrong is None or wrong.text != _NOT_NOW:
        return False
    if asked.verbose:
        io.error("scancel: Job is in transitional state, retrying")
    return True


def _said(asked: Asked, word: str, job_id: int | None, wrong: Refusal | Unreachable | None, io: Io) -> int:
    """Print what went wrong, if it is worth a message; return the exit code."""
    if wrong is None:
        return 0
    base, _, step = word.partition(".")
    kind, told = ("job step id" if step else "job id"), (base if job_id is None or not step else job_id)
    over = isinstance(wrong, Refusal) and (wrong.text == _OVER or (wrong.text == _NO_JOB and not step))
    if not over or asked.verbose:
        io.error(f"scancel: error: Kill job error on {kind} {told}: {wrong.text}")
    if isinstance(wrong, Unreachable):
        return wrong.number & 0xFF
    return 0 if over and asked.signal in (None, 9) else wrong.number & 0xFF or 1


def _send_chosen(asked: Asked, io: Io) -> int:
    """Load the jobs, choose, ask for each."""
    if asked.verbose:
        told = io.client.call("config", names=["SelectTypeParameters"])["values"].get("SelectTypeParameters")
        for line in plugin_lines(told, release_of(io)):
            io.error(f"scancel: {line}")
    try:
        answer = io.client.call("jobs", fields=list(_FIELDS), show_all=True)
    except FAILED_CALLS as error:
        io.error(f"slurm_load_jobs error: {text_of(error)}")
        return 1
    columns = answer["columns"]
    rows = [{name: columns[name][k] for name in _FIELDS} for k in range(answer["n"])]
    rows = [row for row in rows if row["job_state"] not in _FINAL]
    known, code = _known(asked, rows, io)
    twice = _asked_twice(known, rows)
    rows = [row for row in rows if _wanted(row, asked)]
    if not rows and asked.verbose:
        _tell_none_matches(asked, io)
    listed = [(True, *each[1:]) for each in _of_ids(twice, rows)] + [*_of_ids(known, rows)]
    chosen = listed if asked.ids else [*_of_rows(rows)]
    for waits in (True, False):  # pending jobs first: they could start while running ones are cancelled
        those = [(word, row) for first, row, word in chosen if first is waits]
        code = max([code, *_send_in_turn(asked, those, io)])
    return code


def _tell_none_matches(asked: Asked, io: Io) -> None:
    """Name the filters that no active job passes."""
    filters = dict(asked.filters)
    if asked.me:
        filters["u"] = str(io.client.call("hello")["uid"])
    told = "".join(f"{name}={filters[key]} " for key, name in _NAMED if key in filters)
    if told:
        io.error(f"scancel: error: No active jobs match ALL job filters, including: {told}")


def _send_in_turn(asked: Asked, those: Sequence[tuple[str, Row]], io: Io) -> Iterator[int]:
    """Ask for these jobs, one by one if each has to be confirmed; yield the exit codes."""
    for some in [[one] for one in those] if asked.interactive else [those]:
        wanted = [(word, row["job_id"]) for word, row in some if not asked.interactive or _confirmed(row, word, io)]
        yield from _send_all(asked, wanted, io)


def _known(asked: Asked, rows: Sequence[Row], io: Io) -> tuple[list[str], int]:
    """Which ids name jobs that are not over, whatever the filters say; the others are told of, and the exit code."""
    known, code = [], 0
    for word in asked.ids:
        if any(_names(word, row) for row in rows):
            known.append(word)
            continue
        code = 1
        if not asked.quiet:
            named = f"{word}.{_NO_STEP}" if word[0] == "s" and "." not in word else word
            kind = "job step id" if "." in named else "job id"
            io.error(f"scancel: error: Kill job error on {kind} {named}: {_NO_JOB}")
    return known, code


def _asked_twice(ids: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return steps with a pending job behind them in the list: they are asked for with the pending ones, too."""
    waits = [row["job_state"] == "PENDING" for row in rows]
    found = []
    for word in ids:
        base, _, step = word.partition(".")
        if step and base.isdigit() and any(_names(word, row) and True in waits[at:] for at, row in enumerate(rows)):
            found.append(word)
    return found


def _of_rows(rows: Sequence[Row]) -> Iterator[tuple[bool, Row, str]]:
    """All rows under their own ids, and whether they wait."""
    for row in rows:
        yield row["job_state"] == "PENDING", row, _own(row)


def _of_ids(ids: Sequence[str], rows: Sequence[Row]) -> Iterator[tuple[bool, Row, str]]:
    """Yield what the ids name: a row once, each of its steps, and if a job of the id is pending; such ids first."""
    waiting = {word for word in ids if any(row["job_state"] == "PENDING" and _names(word, row) for row in rows)}
    sent: set[int] = set()
    for word in sorted(ids, key=lambda word: word not in waiting):
        step = word.partition(".")[2]
        for row in rows:
            if row["job_id"] in sent or not _names(word, row) or (step and row["job_state"] == "PENDING"):
                continue
            own = word.partition(".")[0] if word[0] == "s" else _own(row)
            if not step:
                sent.add(row["job_id"])
            yield word in waiting, row, f"{own}.{step}" if step else own


def _wanted(row: Row, asked: Asked) -> bool:
    filters = asked.filters
    for key, name in (("A", "account"), ("n", "name"), ("q", "qos"), ("u", "user_name"), ("wckey", "wckey")):
        if key in filters and (row[name] or "") != filters[key]:
            return False
    if "R" in filters and filters["R"] not in _reservations(row, asked):
        return False
    if "p" in filters and filters["p"] not in row["partition"].split(","):
        return False
    if "t" in filters and row["job_state"] != filters["t"]:
        return False
    return "w" not in filters or not set(_hosts(filters["w"])).isdisjoint(_hosts(row["nodes"] or ""))


def _reservations(row: Row, asked: Asked) -> list[str]:
    """Return what a filter of reservations is compared with.

    slurmctld (``--ctld``) compares with that of a running job, and with each that a waiting job may use.
    """
    named = str(row["resv_name"] or "")
    if not asked.ctld:
        return [named]
    return named.split(",") if row["job_state"] == "PENDING" else [str(row["resv_used"] or "")]


def _hosts(text: str) -> list[str]:
    try:
        return expand(text, widest=MAX_RANGE) if text else []
    except ValueError:
        return []


def _own(row: Row) -> str:
    """Return the id of a record: of a job, of a task, or of the tasks that are still one record."""
    array, task, text = row["array_job_id"], row["array_task_id"], row["array_task_str"]
    return f"{array}_[{text}]" if text else f"{array}_{task}" if array and task is not None else str(row["job_id"])


def _names(word: str, row: Row) -> bool:
    """Return True if an id means the row: an array's own means all its tasks, with a step the record that has it."""
    base, _, step = word.partition(".")
    if base.startswith("s"):
        return sluid.number_of(base) == sluid.number_of(row["sluid"] or "")
    number, _, tasks = base.partition("_")
    if not tasks:
        return int(number) == row["job_id"] or (int(number) == row["array_job_id"] and not step)
    mine = _tasks_of(row["array_task_str"] or row["array_task_id"])
    return int(number) == row["array_job_id"] and (tasks == "*" or not _tasks_of(tasks).isdisjoint(mine))


def _tasks_of(text: str | int | None) -> set[int]:
    return set() if text is None else set(array_text.tasks_of(str(text).strip("[]").partition("%")[0]))


def _confirmed(row: Row, word: str, io: Io) -> bool:
    """Ask; the end of the input is a no."""
    while True:
        io.out(f"Cancel job_id={word} name={row['name']} partition={row['partition']} [y/n]? ")
        answer = io.stdin.readline()
        if not answer:
            return False
        if answer[:1] in "yYnN":
            return answer[:1] in "yY"
