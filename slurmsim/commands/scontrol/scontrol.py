"""``scontrol``: the administrator's command, one request on the command line or a session read from standard input.

Mirrors scontrol (22.05, 24.11 and 26.05): options, keywords and how far they may be shortened, texts and exit codes.
What the requests do is in the modules beside this one: `show`, `jobs`, `update` and others.
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.scontrol.session import Session
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, Parser
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.numerals import is_number
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slurmsim.commands.io import Io


_OPTIONS: tuple[tuple[str, str, str, str, str], ...] = (
    ("all", NO, "a", "", ""),
    ("autocomplete", REQUIRED, "autocomplete", "23.02", ""), ("cluster", REQUIRED, "M", "", ""),
    ("clusters", REQUIRED, "M", "", ""), ("details", NO, "d", "", ""), ("federation", NO, "federation", "", ""),
    ("future", NO, "F", "", ""), ("help", NO, "h", "", ""), ("hide", NO, "hide", "", ""),
    ("json", OPTIONAL, "json", "23.11", ""), ("local", NO, "local", "", ""), ("oneliner", NO, "o", "", ""),
    ("quiet", NO, "Q", "", ""), ("sibling", NO, "sibling", "", ""), ("uid", REQUIRED, "u", "", ""),
    ("usage", NO, "h", "", ""), ("verbose", NO, "v", "", ""), ("version", NO, "V", "", ""),
    ("yaml", OPTIONAL, "yaml", "23.11", ""),
)  # fmt: skip
"""Long name, argument, key, first release and the first one without it."""
DUMPED = frozenset({"show", "ping", "quit", "exit", "quiet", "verbose", "version", "help"})
"""Keywords that may follow --json: those that make documents, and those that print none."""
MOST_WORDS = 128  # of one line of a session

if TYPE_CHECKING:
    Words = Sequence[str]
    Handler = Callable[[Session, Words], None]


@stoppable
def run(argv: list[str], io: Io) -> int:
    """Carry out the words, or a session; the exit code."""
    session = Session(io, release_of(io), usage)
    session.argv = ["scontrol", *argv]
    rest = _options(session, list(argv))
    if rest:
        process(session, rest)
    else:
        _converse(session)
    return session.code


def _options(session: Session, words: list[str]) -> list[str]:
    """Read the options; what follows them, or stands among them."""
    io, release = session.io, session.release
    if io.environ.get("SCONTROL_ALL") is not None:
        session.all = True
    if io.environ.get("SCONTROL_FUTURE") is not None:
        session.future = True
    flags: list[str] = []
    at = next((k for k, word in enumerate(words) if word.lower()[:8] == "setdebug" and "flags" in word.lower()), None)
    if at is not None and all(word.startswith("-") for word in words[:at]):  # -NAME after it is no option
        words, flags = words[:at], words[at:]
    rows = [LongOption(n, argument, key) for n, argument, key, since, _ in _OPTIONS if since <= release]
    parser = Parser(rows, permute=True)
    clusters = io.environ.get("SLURM_CLUSTERS")
    for key, value in parser.parse_for("scontrol", words, io):
        if key == "M":
            clusters = value
        else:
            _apply(session, key, value or "")
    if clusters is not None:
        session.use_cluster(clusters)
    return parser.rest + flags


def _apply(session: Session, key: str, value: str) -> None:
    match key:
        case "a":
            session.all = True
        case "d":
            session.details = True
        case "F":
            session.future = True
        case "o":
            session.one_line = True
        case "Q":
            session.quiet = 1
        case "v":
            session.quiet = -1
        case "hide":
            session.all = session.details = False
        case "h":
            usage(session)
            raise Stop(session.code)
        case "V":
            version(session)
            raise Stop(session.code)
        case "u":
            uid = session.uid_of(value)
            if uid is None:
                session.error(f'--uid="{value}" invalid')
                raise Stop(session.code)
            session.acting_uid = uid
        case "json" | "yaml":
            session.dump, session.parser = key, value
        case "autocomplete":
            session.error(f"--{key} is not modelled")
            raise Stop(1)


# -- sessions --------------------------------------------------------------------------------------------------------


def _converse(session: Session) -> None:
    """Read a line, carry it out, and again until the end. As GNU readline does, echo what does not come typed."""
    io = session.io
    last = ""
    while True:
        io.out("scontrol: ")
        io.stdout.flush()
        line = io.stdin.readline()
        if not line:
            io.out("\n")
            return
        line = line.rstrip("\n")
        if not io.stdin.isatty():
            io.out(line + "\n")
        if line == "!!":
            line = last
        last = line
        words = split_line(line)
        if len(words) >= MOST_WORDS:
            session.code = 1
            io.error(f"scontrol: can not process over {MOST_WORDS - 1} words")
            return
        process(session, words)
        if session.leave:
            return


def split_line(line: str) -> list[str]:
    """Words of a typed line; quotes keep blanks together, and stay where they are.

    >>> split_line('update node=n1 reason="bad disk"')
    ['update', 'node=n1', 'reason="bad disk"']
    """
    words: list[str] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        begin = at
        double = single = False
        at += 1
        while at < len(line):
            if line[at] == '"':
                double = not double
            elif line[at] == "'":
                single = not single
            elif line[at].isspace() and not (double or single):
                break
            at += 1
        words.append(line[begin:at])
    return words


# -- keywords --------------------------------------------------------------------------------------------------------


def process(session: Session, words: Words) -> None:
    """Carry out one request."""
    if not words:
        session.code = 1
        if session.quiet == -1:
            session.io.stderr.write("no input")
        return
    tag = words[0]
    for name, least, since, until, handler in KEYWORDS:
        if has(session.release, since, until) and matches(tag, name, least):
            if session.dump and name not in DUMPED:
                session.fail(f"--{session.dump} is not modelled for {name}")
                return
            handler(session, words)
            return
    session.fail(f"invalid keyword: {tag}")


def matches(tag: str, name: str, least: int) -> bool:
    """Return True if `tag` is `name`, or as much of it as must be there; a negative `least`: it begins so."""
    if least < 0:
        return tag[:-least].lower() == name[:-least].lower()
    size = max(len(tag), least)
    return tag.lower()[:size] == name.lower()[:size]


def _plain(action: Callable[[Session], None], most: int = 1, form: str = "keyword:{}") -> Handler:
    """Return a keyword that does `action` whatever follows it, after complaining about more than `most` words."""

    def handler(session: Session, words: Words) -> None:
        if len(words) > most:
            session.fail(f"too many arguments for {form.format(words[0])}")
        action(session)

    return handler


def version(session: Session) -> None:
    """Print the release; with -v its number."""
    session.io.out(version_of(session.io))
    if session.quiet == -1:
        major, minor, micro = map(int, releases.VERSIONS[session.release].split("."))
        number = (major << 16) + (minor << 8) + micro
        session.io.out(f"slurm_api_version: {number}, {major}.{minor}.{micro}\n")


def usage(session: Session) -> None:
    """Print what may be asked."""
    from slurmsim.commands.scontrol.help import text
    from slurmsim.commands.scontrol.show import ENTITIES

    session.io.out(text(session.release, _OPTIONS, KEYWORDS, ENTITIES))


def _set(**values: object) -> Callable[[Session], None]:
    def act(session: Session) -> None:
        for name, value in values.items():
            setattr(session, name, value)

    return act


def _exact(action: Callable[[Session], None], form: str = "keyword:{}") -> Handler:
    """Return a keyword that stands alone, or nothing is done."""

    def handler(session: Session, words: Words) -> None:
        if len(words) > 1:
            session.fail(f"too many arguments for {form.format(words[0])}")
        else:
            action(session)

    return handler


def _module(module: str, function: str, least: int = 1, most: int = 1 << 30) -> Handler:
    """Return the handler of a keyword that another module carries out, loaded when it is needed.

    It is asked for `least` to `most` words, the keyword included.
    """

    def handler(session: Session, words: Words) -> None:
        from importlib import import_module

        if len(words) > most:
            session.fail(f"too many arguments for keyword:{words[0]}")
        elif len(words) < least:
            session.fail(f"missing argument for keyword:{words[0]}")
        else:
            getattr(import_module(f"slurmsim.commands.scontrol.{module}"), function)(session, words)

    return handler


def _cluster(session: Session, words: Words) -> None:
    if len(words) > 1:
        session.use_cluster(words[1])


def _shutdown(session: Session, words: Words) -> None:
    if len(words) == 2 and words[1] not in ("slurmctld", "controller"):
        session.fail(f"invalid shutdown argument:{words[1]}")
        return
    if len(words) > 2:
        session.fail(f"too many arguments for keyword:{words[0]}")
        return
    _call(session, "shutdown")


def _call(session: Session, what: str) -> None:
    if error := session.request(what):
        session.complain(f"slurm_{what} error", error)


def _takeover(session: Session, words: Words) -> None:
    if len(words) > 2:
        session.fail(f"{words[0]}: too many arguments")
    elif len(words) == 2:
        index = int(words[1]) if is_number(words[1].lstrip("-")) else 0
        session.fail(f"{words[0]}: invalid backup controller index ({index})")
    else:
        session.complain("slurm_takeover error", "Invalid user id" if not session.privileged else "Unspecified error")


KEYWORDS: tuple[tuple[str, int, str, str, Handler], ...] = (
    ("abort", 5, "", "23.11", _plain(lambda session: _call(session, "shutdown"), 2)),
    ("all", 2, "", "", _plain(_set(all=True), 1 << 30)),
    ("cancel_reboot", 3, "", "", _module("nodes", "cancel_reboot", 2, 2)),
    ("completing", 2, "", "", _module("show", "completing", most=1)),
    ("cluster", 2, "", "", _cluster),
    ("create", 2, "", "", _module("update", "create")),
    ("details", 1, "", "", _exact(_set(details=True))),
    ("errnumstr", 2, "", "", _module("local", "error_number")),
    ("errnostr", 2, "", "", _module("local", "error_number")),
    ("exit", 2, "", "", _plain(_set(leave=True))),
    ("getaddrs", 8, "23.11", "", _module("local", "addresses")),
    ("gethost", 7, "", "", _module("local", "get_host")),
    ("hash_file", 15, "", "", _module("local", "hash_file", 2, 3)),
    ("hash", 9, "", "", _module("local", "hash_text", 2, 3)),
    ("help", 2, "", "", _plain(usage)),
    ("hide", 2, "", "", _plain(_set(all=False, details=False), 1 << 30)),
    ("oneliner", 1, "", "", _plain(_set(one_line=True))),
    ("pidinfo", 3, "", "", _module("local", "pid_info", 2, 2)),
    ("ping", 3, "", "", _module("show", "ping", most=1)),
    ("power", 2, "24.05", "", _module("nodes", "power")),
    ("\\q", -2, "", "", _plain(_set(quiet=1))),
    ("quiet", 4, "", "", _plain(_set(quiet=1))),
    ("quit", 4, "", "", _plain(_set(leave=True))),
    ("reboot_nodes", 3, "", "", _module("nodes", "reboot")),
    ("reconfigure", 3, "", "", _plain(lambda session: _call(session, "reconfigure"), 2)),
    ("requeue", 3, "", "", _module("jobs", "requeue")),
    ("requeuehold", 11, "", "", _module("jobs", "requeue_hold")),
    ("hold", -4, "", "", _module("jobs", "hold")),
    ("holdu", -5, "", "", _module("jobs", "hold")),
    ("uhold", -5, "", "", _module("jobs", "hold")),
    ("release", 3, "", "", _module("jobs", "hold")),
    ("suspend", 2, "", "", _module("jobs", "suspend")),
    ("resume", 3, "", "", _module("jobs", "suspend")),
    ("top", 3, "", "", _module("jobs", "top")),
    ("token", 3, "", "", _module("local", "token")),
    ("wait_job", 2, "", "", _module("jobs", "wait_job")),
    ("setdebugflags", 9, "", "", _module("local", "set_debug_flags")),
    ("fsdampeningfactor", 3, "", "", _module("local", "dampening_factor")),
    ("fairsharedampeningfactor", 3, "", "", _module("local", "dampening_factor")),
    ("setdebug", 2, "", "", _module("local", "set_debug")),
    ("schedloglevel", 3, "", "", _module("local", "sched_log_level")),
    ("show", 3, "", "", _module("show", "show")),
    ("write", 5, "", "", _module("local", "write")),
    ("takeover", 8, "", "", _takeover),
    ("shutdown", 8, "", "", _shutdown),
    ("update", 1, "", "", _module("update", "update")),
    ("delete", 1, "", "", _module("update", "delete")),
    ("verbose", 4, "", "", _plain(_set(quiet=-1), form="{} keyword")),
    ("version", 4, "", "", _plain(version, form="{} keyword")),
    ("listpids", 1, "", "", _module("local", "list_pids", most=3)),
    ("listjobs", 1, "24.11", "", _module("local", "list_jobs", most=2)),
    ("liststeps", 1, "24.11", "", _module("local", "list_steps", most=2)),
    ("getent", 6, "", "", _module("local", "get_entries")),
    ("notify", 1, "", "", _module("jobs", "notify")),
    ("callerid", 3, "", "", _module("local", "caller_id")),
)
"""Keyword, how much must be there, first release, first one without it, what it does; the first match counts."""
