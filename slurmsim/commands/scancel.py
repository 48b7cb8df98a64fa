"""scancel: cancel or signal jobs and steps, by id and by filters.

Mirrors src/scancel of Slurm 22.05: ids alone are sent as they are; with a filter the jobs are loaded and chosen here.
A job that is unknown or over already is no error unless one asks to hear of it (-v).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from slurmsim import releases
from slurmsim.commands import array_text
from slurmsim.commands.cluster_facts import named_cluster
from slurmsim.commands.io import FAILED_CALLS, Io, run_command, text_of
from slurmsim.commands.option_reader import NO, REQUIRED, LongOption, OptionError, Parser
from slurmsim.commands.plugin_lines import plugin_lines
from slurmsim.commands.typed_hosts import typed_hosts
from slurmsim.hostlist import MAX_RANGE, HostlistError, expand
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.states import COMPACT

_NAME = "scancel"
_OPTIONS = tuple(
    LongOption(*row)
    for row in (
        ("account", REQUIRED, "A"), ("batch", NO, "b"), ("cron", NO, "cron"), ("ctld", NO, "ctld"), ("full", NO, "f"),
        ("help", NO, "help"), ("hurry", NO, "H"), ("interactive", NO, "i"), ("cluster", REQUIRED, "M"),
        ("clusters", REQUIRED, "M"), ("me", NO, "me"), ("jobname", REQUIRED, "n"), ("name", REQUIRED, "n"),
        ("nodelist", REQUIRED, "w"), ("partition", REQUIRED, "p"), ("qos", REQUIRED, "q"), ("quiet", NO, "Q"),
        ("reservation", REQUIRED, "R"), ("sibling", REQUIRED, "sibling"), ("signal", REQUIRED, "s"),
        ("state", REQUIRED, "t"), ("usage", NO, "usage"), ("user", REQUIRED, "u"), ("verbose", NO, "v"),
        ("version", NO, "V"), ("wckey", REQUIRED, "wckey"),
    )
)  # fmt: skip
_USAGE = """Usage: scancel [-A account] [--batch]{ctld} [--full] [--interactive] [-n job_name]
               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]
               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]
               [--hurry] [-V] [-v] [-w hosts...] [--wckey=wckey]
               [job_id[_array_id][.step_id]]
"""
_CTLD = {"22.05": "", "24.11": " [--ctld]"}
_NAMED = (
    ("A", "account"), ("n", "job_name"), ("w", "nodelist"), ("p", "partition"), ("q", "qos"), ("R", "reservation"),
    ("t", "state"), ("u", "user_name"), ("wckey", "wckey"),
)  # fmt: skip
_ID = re.compile(r"(\d+)(?:_(\d+|\*|\[[\d,:%-]+\]))?(?:\+\d+)?(?:\.(\d+))?", re.ASCII)
_SIGNALS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "ALRM": 14, "TERM": 15, "USR1": 10, "USR2": 12, "URG": 23,
    "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22,
}  # fmt: skip
_STATES = ("PENDING", "RUNNING", "SUSPENDED")
_FIELDS = ("job_id", "array_job_id", "array_task_id", "array_task_str", "user_name", "name", "account", "partition",
           "qos", "resv_name", "job_state", "nodes", "wckey")  # fmt: skip
_NO_JOB = "Invalid job id specified"
_QUIET_ERRORS = ("Invalid job id specified", "Job/step already completing or completed")
_FINAL = frozenset(COMPACT) - set(_STATES)


@dataclass
class Asked:
    """The command line."""

    filters: dict[str, str] = field(default_factory=dict)
    signal: int | None = None
    batch: bool = False
    full: bool = False
    hurry: bool = False
    interactive: bool = False
    verbose: int = 0
    me: bool = False
    ids: list[str] = field(default_factory=list)


class _Done(Exception):
    """Nothing is left to do; the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def main(argv: list[str] | None = None) -> int:
    """Run as a program; the exit code."""
    return run_command(_NAME, run, argv)


def run(argv: Sequence[str], io: Io) -> int:
    """Cancel what the words say; the exit code."""
    try:
        asked = _read(argv, io)
        if not asked.filters and not asked.interactive:
            return _send_ids(asked, asked.ids, io)
        return _send_chosen(asked, io)
    except _Done as done:
        return done.code
    except Unreachable as error:
        io.error(f"scancel: error: {text_of(error)}")
        return 1


def _read(argv: Sequence[str], io: Io) -> Asked:
    asked = Asked()
    parser = Parser(_OPTIONS, permute=True)
    try:
        for key, value in parser.parse(argv):
            _apply(asked, key, value or "", io)
    except OptionError as error:
        io.error(f'scancel: {error}\nTry "scancel --help" for more information')
        raise _Done(1) from None
    asked.ids = [word for words in parser.rest for word in _split(words)]
    for word in asked.ids:
        match = _ID.fullmatch(word)
        if match is None or not int(match[1]) or not _may_be_tasks(match[2] or "", io):
            io.error(f"scancel: error: Invalid job id {word}")
            raise _Done(1)
    if not asked.ids and not asked.filters:
        io.error("scancel: error: No job identification provided")
        raise _Done(1)
    return asked


def _split(words: str) -> list[str]:
    """Ids are separated by commas, but not inside brackets."""
    return [part for part in re.split(r",(?![^\[]*\])", words) if part]


def _may_be_tasks(text: str, io: Io) -> bool:
    """Whether a list of tasks is one, and not of more than Slurm's host lists take."""
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
            asked.filters[key] = value
        case "t":
            asked.filters[key] = _state(value, io)
        case "u":
            known = io.client.call("users", names=[value])["uids"][0]
            if known is None:
                io.error(f"scancel: error: Invalid user name: {value}")
                raise _Done(1)
            asked.filters[key] = value
        case "me":
            asked.filters["u"] = str(io.client.call("hello")["user"])
            asked.me = True
        case "s":
            asked.signal = _signal(value, io)
        case "b" | "f" | "H" | "i":
            setattr(asked, {"b": "batch", "f": "full", "H": "hurry", "i": "interactive"}[key], True)
        case "v":
            asked.verbose += 1
        case "V":
            io.out(releases.version_line(releases.release_of(io)) + "\n")
            raise _Done(0)
        case "usage" | "help":
            io.out(_USAGE.format(ctld=releases.row(_CTLD, releases.release_of(io))))
            raise _Done(0)
        case "M":
            if named_cluster(io, _NAME, value) is None:
                raise _Done(1)
        case "cron" | "sibling":
            io.error(f"scancel: error: --{key} is not modelled")
            raise _Done(1)


def _signal(text: str, io: Io) -> int:
    name = text.upper().removeprefix("SIG")
    if is_number(text):
        return int(text)
    if name not in _SIGNALS:
        io.error(f"Unknown job signal: {text}")
        raise _Done(1)
    return _SIGNALS[name]


def _state(text: str, io: Io) -> str:
    for state in _STATES:
        if text.upper() in (state, COMPACT[state]):
            return state
    io.error(f"Invalid job state specified: {text}\nValid job states are PENDING, RUNNING, and SUSPENDED")
    raise _Done(1)


def _send_ids(asked: Asked, ids: Sequence[str], io: Io) -> int:
    code = 0
    for word in ids:
        code = _send(asked, word, io) or code
    return code


def _send(asked: Asked, word: str, io: Io) -> int:
    """Ask for one job or step; the exit code, 0 for what nobody needs to hear of."""
    match = _ID.fullmatch(word)
    assert match is not None
    step = match[3]
    if asked.verbose:
        what = "Terminating" if asked.signal in (None, 9) else f"Signal {asked.signal} to"
        io.error(f"scancel: {what} {'step' if step else 'job'} {word}")
    try:
        io.client.call("kill", job_id=word.partition(".")[0], step=None if step is None else int(step),
                       signal=asked.signal, batch=asked.batch, full=asked.full)  # fmt: skip
    except Refusal as refusal:
        quiet = refusal.text in _QUIET_ERRORS and step is None
        if not quiet or asked.verbose:
            kind = "job step id" if step else "job id"
            told = word if step and refusal.text == _NO_JOB else word.partition(".")[0]
            io.error(f"scancel: error: Kill job error on {kind} {told}: {refusal.text}")
        return 0 if quiet else refusal.number & 0xFF or 1
    return 0


def _send_chosen(asked: Asked, io: Io) -> int:
    """Load the jobs, choose, ask for each."""
    if asked.verbose:
        told = io.client.call("config", names=["SelectTypeParameters"])["values"].get("SelectTypeParameters")
        for line in plugin_lines(told, releases.release_of(io)):
            io.error(f"scancel: {line}")
    try:
        answer = io.client.call("jobs", fields=list(_FIELDS), show_all=True)
    except FAILED_CALLS as error:
        io.error(f"slurm_load_jobs error: {text_of(error)}")
        return 1
    columns = answer["columns"]
    rows = [{name: columns[name][k] for name in _FIELDS} for k in range(answer["n"])]
    code = 0
    rows = [row for row in rows if row["job_state"] not in _FINAL and _wanted(row, asked)]
    if not rows and asked.verbose:
        filters = dict(asked.filters)
        if asked.me:
            filters["u"] = str(io.client.call("hello")["uid"])
        told = "".join(f"{name}={filters[key]} " for key, name in _NAMED if key in filters)
        if told:
            io.error(f"scancel: error: No active jobs match ALL job filters, including: {told}")
    pending = [row for row in rows if row["job_state"] == "PENDING"]  # they first, lest they start meanwhile
    for row in pending + [row for row in rows if row["job_state"] != "PENDING"]:
        for word in _words(row, asked):
            if asked.interactive and not _confirmed(row, word, io):
                continue
            code = _send(asked, word, io) or code
    return code


def _wanted(row: dict[str, Any], asked: Asked) -> bool:
    filters = asked.filters
    for key, name in (("A", "account"), ("n", "name"), ("q", "qos"), ("R", "resv_name"), ("u", "user_name"),
                      ("wckey", "wckey")):  # fmt: skip
        if key in filters and (row[name] or "") != filters[key]:
            return False
    if "p" in filters and filters["p"] not in row["partition"].split(","):
        return False
    if "t" in filters and row["job_state"] != filters["t"]:
        return False
    if "w" in filters and not set(_hosts(filters["w"])) & set(_hosts(row["nodes"] or "")):
        return False
    return not asked.ids or bool(_words(row, asked))


def _hosts(text: str) -> list[str]:
    try:
        return expand(text, widest=MAX_RANGE) if text else []
    except ValueError:
        return []


def _words(row: dict[str, Any], asked: Asked) -> list[str]:
    """The ids to send for a row: the record's own, and its steps that were named; none where nothing names it."""
    array, task, text = row["array_job_id"], row["array_task_id"], row["array_task_str"]
    own = f"{array}_[{text}]" if text else f"{array}_{task}" if array and task is not None else str(row["job_id"])
    if not asked.ids:
        return [own]
    found = []
    for word in asked.ids:
        base, _, step = word.partition(".")
        number, _, tasks = base.partition("_")
        if step and row["job_state"] == "PENDING":
            continue
        if not tasks:
            named = int(number) == row["job_id"] or (int(number) == array and not step)
        else:
            named = int(number) == array and (tasks == "*" or not _tasks_of(tasks).isdisjoint(_tasks_of(text or task)))
        if named:
            found.append(f"{own}.{step}" if step else own)
    return list(dict.fromkeys(found))


def _tasks_of(text: str | int | None) -> set[int]:
    return set() if text is None else set(array_text.tasks_of(str(text).strip("[]").partition("%")[0]))


def _confirmed(row: dict[str, Any], word: str, io: Io) -> bool:
    """Ask; the end of the input is a no."""
    while True:
        io.out(f"Cancel job_id={word} name={row['name']} partition={row['partition']} [y/n]? ")
        answer = io.stdin.readline()
        if not answer:
            return False
        if answer[:1] in "yYnN":
            return answer[:1] in "yY"
