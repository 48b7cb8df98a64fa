"""squeue's command line and environment, up to what is to be printed.

Mirrors the option parsing of squeue (22.05, later rows from 24.11 and 26.05): the command line wins over the
SQUEUE_* variables, and which of two wrong things is told first is as there.
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.squeue.rows import JobId
from slurmsim.commands.text.job_state_text import accepted, parse_state
from slurmsim.commands.text.messages import Stop, exclusive
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, Parser
from slurmsim.commands.text.print_fields import leading_number
from slurmsim.commands.text.release import version_of
from slurmsim.commands.text.shown_id import shown_id
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.text.option_reader import Rows


ROWS: Rows = (
    ("accounts", REQUIRED, "A", "", ""),
    ("all", NO, "a", "", ""),
    ("array", NO, "r", "", ""),
    ("array-unique", NO, "array-unique", "", "23.02"),
    ("expand-patterns", NO, "expand-patterns", "24.05", ""),
    ("Format", REQUIRED, "O", "", ""),
    ("format", REQUIRED, "o", "", ""),
    ("federation", NO, "federation", "", ""),
    ("help", NO, "help", "", ""),
    ("helpstate", NO, "helpstate", "24.05", ""),
    ("helpformat", NO, "helpformat", "24.05", ""),
    ("helpFormat", NO, "helpFormat", "24.05", ""),
    ("hide", NO, "hide", "", ""),
    ("iterate", REQUIRED, "i", "", ""),
    ("jobs", OPTIONAL, "j", "", ""),
    ("local", NO, "local", "", ""),
    ("long", NO, "l", "", ""),
    ("licenses", REQUIRED, "L", "", ""),
    ("cluster", REQUIRED, "M", "", ""),
    ("clusters", REQUIRED, "M", "", ""),
    ("me", NO, "me", "", ""),
    ("name", REQUIRED, "n", "", ""),
    ("noconvert", NO, "noconvert", "", ""),
    ("node", REQUIRED, "w", "", ""),
    ("nodes", REQUIRED, "w", "", ""),
    ("nodelist", REQUIRED, "w", "", ""),
    ("noheader", NO, "h", "", ""),
    ("notme", NO, "notme", "24.05", ""),
    ("only-job-state", NO, "only-job-state", "23.11", ""),
    ("partitions", REQUIRED, "p", "", ""),
    ("priority", NO, "P", "", ""),
    ("qos", REQUIRED, "q", "", ""),
    ("reservation", REQUIRED, "R", "", ""),
    ("sib", NO, "sibling", "", ""),
    ("sibling", NO, "sibling", "", ""),
    ("sort", REQUIRED, "S", "", ""),
    ("start", NO, "start", "", ""),
    ("steps", OPTIONAL, "s", "", ""),
    ("states", REQUIRED, "t", "", ""),
    ("usage", NO, "usage", "", ""),
    ("user", REQUIRED, "u", "", ""),
    ("users", REQUIRED, "u", "", ""),
    ("verbose", NO, "v", "", ""),
    ("version", NO, "V", "", ""),
    ("json", NO, "json", "", "23.11"),
    ("yaml", NO, "yaml", "", "23.11"),
    ("json", OPTIONAL, "json", "23.11", ""),
    ("yaml", OPTIONAL, "yaml", "23.11", ""),
)
_START_FORMAT = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
_DIGITS = 18  # that surely fit a long
_USAGE = """Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [--only-job-state] [-p partitions]
              [--qos qos] [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
              {}[-ahjlrsv]
"""
_PARSERS = "[--json=data_parser] [--yaml=data_parser]\n              "
_USAGES = {
    "22.05": """Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [-p partitions] [--qos qos]
              [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
\t      [-ahjlrsv]
""",
    "23.11": _USAGE.format(_PARSERS),
    "24.05": _USAGE.format(f"[--expand-patterns] {_PARSERS}"),
    "25.11": _USAGE.format(f"[--expand-patterns] {_PARSERS}[--running-over=time] [--running-under=time] "),
}


class Asked:
    """What a squeue call asks for; None where nothing was said."""

    def __init__(self, release: str, environ: Any) -> None:
        self.release = release
        self.all = "SQUEUE_ALL" in environ
        self.array = "SQUEUE_ARRAY" in environ
        self.whole_lists = False  # -r, unlike SQUEUE_ARRAY, also lifts the bound on task lists
        self.array_unique = "SQUEUE_ARRAY_UNIQUE" in environ
        self.priority = "SQUEUE_PRIORITY" in environ
        self.sort: str | None = environ.get("SQUEUE_SORT")
        self.clusters: str | None = environ.get("SLURM_CLUSTERS")
        self.format: str | None = None
        self.long_format: str | None = None
        self.long = self.no_header = self.start = self.only_state = self.not_me = self.me = self.expand = False
        self.jobs = self.steps = False
        self.convert = True
        self.ids: tuple[JobId, ...] | None = None
        self.step_ids: tuple[JobId, ...] | None = None
        self.states: frozenset[str] | None = None
        self.all_states = False
        self.accounts = self.licenses = self.names = self.partitions = self.qos = None  # type: list[str] | None
        self.users: list[str] | None = None
        self.reservation: str | None = None
        self.nodes: str | None = None
        self.iterate = self.verbose = 0
        self.dump = ""
        self.parser: str | None = None  # what follows --json=
        self.argv: list[str] = []
        self.help_format = ""
        self.given: dict[str, str] = {}  # some options' texts as they were given


def usage(release: str) -> str:
    return str(releases.row(_USAGES, release))


def read(argv: Sequence[str], io: Io, release: str) -> Asked:
    """Read the command line and the environment. Raises Stop when there is nothing more to do."""
    asked = Asked(release, io.environ)
    own_format = False
    parser = Parser(_options(release), permute=True)
    for key, value in parser.parse_for("squeue", argv, io):
        # an option that brings a format of its own keeps the environment's out (override_format_env)
        own_format |= key in "loOs" or key == "start"
        if key in "jstu" and value is not None:
            asked.given[key] = value
        _take(asked, io, key, value)
    if asked.help_format:
        _help_format(asked, io)
    if asked.long and asked.format is not None:
        raise exclusive("squeue", "-o(--format) and -l(--long)", io)
    if asked.only_state and asked.steps:
        raise exclusive("squeue", "--only-job-state and -s(--steps)", io)
    if not own_format:
        asked.format = io.environ.get("SQUEUE_FORMAT")
        if asked.format is None:
            asked.long_format = io.environ.get("SQUEUE_FORMAT2")
    _read_words(asked, io, parser.rest)
    _read_environment(asked, io)
    if asked.start and not asked.steps:
        if asked.format is None:
            asked.format = _START_FORMAT
        if asked.sort is None:
            asked.sort = "S"
        if asked.states is None and not asked.all_states:
            asked.states = frozenset({"PENDING"})
    return asked


def _options(release: str) -> list[LongOption]:
    rows = [LongOption(name, argument, key) for name, argument, key, first, gone in ROWS if has(release, first, gone)]
    return [*rows, LongOption(None, REQUIRED, "U")]  # -U: an old name of -A


def _take(asked: Asked, io: Io, key: str, value: str | None) -> None:
    text = value or ""
    if key in _FLAGS:
        name, setting = _FLAGS[key]
        setattr(asked, name, setting)
    elif key in _WITHOUT_EFFECT:
        asked.given[key] = ""
    elif key in _LISTS:
        setattr(asked, _LISTS[key], _list(text))
    elif key in _PLAIN:
        setattr(asked, _PLAIN[key], text)
    elif key == "j":
        asked.jobs = True
        if value is not None:
            asked.ids = _job_ids(text, io, asked.release)
    elif key == "s":
        asked.steps = True
        if value is not None:
            asked.step_ids = _step_ids(text, io)
    elif key in "oO":
        _take_format(asked, io, key, text)
    elif key == "t":
        _take_states(asked, io, text)
    elif key == "i":
        asked.iterate = int(leading_number(text)[0] or 0)
        if asked.iterate <= 0:
            io.error(f"squeue: error: --iterate={text}\n")
            raise Stop(1)
    elif key == "r":
        asked.array = asked.whole_lists = True
    elif key == "v":
        asked.verbose += 1
    elif key == "p":
        asked.partitions, asked.all = _list(text), True
    elif key in ("V", "usage", "help", "helpstate"):
        io.out(version_of(io) if key == "V" else _about(key, asked.release))
        raise Stop(0)
    elif key in ("json", "yaml"):
        asked.dump, asked.parser = key, text


def _about(key: str, release: str) -> str:
    """Return what the command tells of itself."""
    if key == "usage":
        return usage(release)
    if key == "helpstate":
        return "\n".join(accepted(release)) + "\n"
    from slurmsim.commands.squeue.help import long_help  # long, and rarely wanted

    return long_help(ROWS, release)


_FLAGS: dict[str, tuple[str, object]] = {
    "a": ("all", True), "array-unique": ("array_unique", True), "h": ("no_header", True),
    "hide": ("all", False), "l": ("long", True), "noconvert": ("convert", False), "notme": ("not_me", True),
    "only-job-state": ("only_state", True), "P": ("priority", True), "start": ("start", True),
    "expand-patterns": ("expand", True), "helpformat": ("help_format", "letters"),
    "helpFormat": ("help_format", "names"), "me": ("me", True),
}  # fmt: skip
_WITHOUT_EFFECT = ("federation", "local", "sibling")  # there is one cluster
_LISTS = {"A": "accounts", "U": "accounts", "L": "licenses", "n": "names", "q": "qos", "u": "users"}
_PLAIN = {"M": "clusters", "R": "reservation", "S": "sort", "w": "nodes"}


def _take_format(asked: Asked, io: Io, key: str, text: str) -> None:
    if key == "O":
        if asked.format is not None:
            io.error("squeue: error: -O (--Format) is incompatible with -o (--format)")
            raise Stop(1)
        asked.long_format = text
    else:
        if asked.long_format is not None:
            io.error("squeue: error: -o (--format) is incompatible with -O (--Format)")
            raise Stop(1)
        asked.format = text


def _take_states(asked: Asked, io: Io, text: str) -> None:
    asked.all_states, asked.states = text.lower() == "all", None
    if asked.all_states:
        return
    found = set()
    for word in _list(text):
        state = parse_state(word, asked.release)
        if state is None:
            io.error(f"squeue: error: Invalid job state specified: {word}")
            io.error(f"squeue: error: Valid job states include: {','.join(accepted(asked.release))}\n")
            raise Stop(1)
        found.add(state)
    asked.states = frozenset(found)


def _read_words(asked: Asked, io: Io, words: Sequence[str]) -> None:
    """Read the words after the options: the ids of a -j or -s without a value of its own."""
    rest = list(words)
    if rest and (asked.jobs or asked.steps):
        asked.given["j" if asked.jobs else "s"] = rest[0]
    if rest and asked.jobs:
        asked.ids = _job_ids(rest.pop(0), io, asked.release)
    elif rest and asked.steps:
        asked.step_ids = _step_ids(rest.pop(0), io)
    if rest:
        io.error(f"squeue: error: Unrecognized option: {rest[0]}")
        io.out(usage(asked.release))
        raise Stop(1)
    if asked.jobs and asked.steps and asked.ids is None:
        io.error("squeue: error: Incompatible options --jobs and --steps")
        raise Stop(1)


def _read_environment(asked: Asked, io: Io) -> None:
    """Variables for what the command line left open; SQUEUE_LICENSES counts only without partitions, as in Slurm."""
    environ = io.environ
    without_partitions = asked.partitions is None
    if asked.accounts is None and "SQUEUE_ACCOUNT" in environ:
        asked.accounts = _list(environ["SQUEUE_ACCOUNT"])
    if asked.names is None and "SQUEUE_NAMES" in environ:
        asked.names = _list(environ["SQUEUE_NAMES"])
    if without_partitions and "SQUEUE_LICENSES" in environ:
        asked.licenses = _list(environ["SQUEUE_LICENSES"])
    if without_partitions and "SQUEUE_PARTITION" in environ:
        asked.partitions, asked.all = _list(environ["SQUEUE_PARTITION"]), True
    if asked.qos is None and "SQUEUE_QOS" in environ:
        asked.qos = _list(environ["SQUEUE_QOS"])
    if asked.states is None and not asked.all_states and "SQUEUE_STATES" in environ:
        _take_states(asked, io, environ["SQUEUE_STATES"])
    if asked.users is None and not asked.me and "SQUEUE_USERS" in environ:
        asked.users = _list(environ["SQUEUE_USERS"])


def _help_format(asked: Asked, io: Io) -> None:
    from slurmsim.commands.squeue.help import format_letters, format_names

    listed = format_letters if asked.help_format == "letters" else format_names
    io.out(listed(steps=asked.steps, release=asked.release))
    raise Stop(0)


def _list(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _leading_number(text: str) -> tuple[int, str]:
    """Return the number a text begins with (0: none), and what follows, as C's strtol."""
    number, rest = leading_number(text)
    return (int(number or 0) if len(number) <= _DIGITS else -1), rest  # as an int holds LONG_MAX


def _job_ids(text: str, io: Io, release: str) -> tuple[JobId, ...]:
    found = []
    for word in _list(text):
        job, rest = _leading_number(shown_id(io, word))
        task = None
        if rest.startswith("_"):
            task, rest = _leading_number(rest[1:])
            if task & 0xFFFFFFFF == 0xFFFFFFFE:  # Slurm's number for none
                task = None
        if job <= 0 or (since(release, "job_id_ends_there") and rest and not rest.startswith(("+", "."))):
            io.error(f"squeue: error: Invalid job id: {word}")
            raise Stop(1)
        found.append(JobId(job, task))
    return tuple(found)


def _step_ids(text: str, io: Io) -> tuple[JobId, ...]:
    found = []
    for word in _list(text):
        name, dot, step_text = word.partition(".")
        job, rest = _leading_number(name)
        task = _leading_number(rest[1:])[0] if rest.startswith("_") else None
        step_text = step_text.partition(".")[0]
        if not dot or not step_text:
            io.error(f"squeue: error: Invalid job_step id: {name}.??")
            raise Stop(1)
        step = _leading_number(step_text)[0]
        if job <= 0 or step < 0:
            io.error(f"squeue: error: Invalid job_step id: {name}.{step_text}")
            raise Stop(1)
        found.append(JobId(job, task, step))
    return tuple(found)
