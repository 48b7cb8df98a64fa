"""sreport: options, the words that name a report, and the session that reads them line by line.

Mirrors sreport 22.05; later words from 24.11 and 26.05. There is one cluster, and no federation.
"""

from __future__ import annotations

from slurmsim.commands.sreport import clusters, jobs, reservations
from slurmsim.commands.sreport.report import Report
from slurmsim.commands.text.dashed_table import ENDING, NO_ENDING, PADDED
from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.protocol import Refusal, Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmsim.commands.io import Io

    Reports = tuple[tuple[str, int, str, Callable[[Report, list[str]], None]], ...]

_OPTIONS = options(
    ("all_clusters", NO, "a"), ("cluster", REQUIRED, "M"), ("federation", NO, "federation"), ("help", NO, "h"),
    ("immediate", NO, "i"), ("local", NO, "local"), ("noheader", NO, "n"), ("parsable", NO, "p"),
    ("parsable2", NO, "P"), ("quiet", NO, "Q"), ("tres", REQUIRED, "T"), ("usage", NO, "h"), ("verbose", NO, "v"),
    ("version", NO, "V"), (None, REQUIRED, "s"), (None, REQUIRED, "t"),
)  # fmt: skip
_HELP = """\
sreport [OPTIONS] [REPORT [CONDITION=VALUE...]]
  -a, -M NAME, --local  accepted; there is one cluster
  -n, -p, -P            without heading; cells separated by |
  -t FORMAT             Seconds, Minutes, Hours, Percent, SecPer, MinPer or HourPer
  -s ORDER              of users: Time or Name
  -T TRES,...           which TRES, cpu by default; ALL
Reports: cluster AccountUtilizationByUser | AccountUtilizationByQOS (24.11) | UserUtilizationByAccount |
  UserUtilizationByWckey | WCKeyUtilizationByUser | Utilization, job SizesByAccount | SizesByWckey |
  SizesByAccountAndWckey, reservation Utilization, user TopUsage
Conditions: Start, End, Format, Clusters; Accounts, Users, Wckeys; Tree; of jobs Gid, Jobs, Nodes, Partitions,
  Grouping, AcctAsParent, FlatView, PrintJobCount; of reservations Names, Ids, Nodes; of users TopCount, Group
Without a report they are read from standard input, a line each, beside: help, time FORMAT, sort ORDER, parsable,
  parsable2, nonparsable, quiet, verbose, version, quit
"""
# names, the least length, the first release, what prints it; the first that fits counts
_CLUSTER: Reports = (
    ("AccountUtilizationByUser", 1, "", clusters.account_by_user),
    ("AccountUtilizationByQOS", 21, "24.11", clusters.account_by_qos), ("AQ", 2, "24.11", clusters.account_by_qos),
    ("UserUtilizationByAccount", 18, "", clusters.user_by_account), ("UA", 2, "", clusters.user_by_account),
    ("UserUtilizationByWckey", 18, "", clusters.user_by_wckey), ("UW", 2, "", clusters.user_by_wckey),
    ("Utilization", 2, "", clusters.utilization), ("WCKeyUtilizationByUser", 1, "", clusters.wckey_by_user),
)  # fmt: skip
_RESERVATION: Reports = (("Utilization", 1, "", reservations.utilization),)
_USER: Reports = (("Top", 1, "", clusters.top_usage),)
_JOBS = (("SizesByAccount", 1, jobs.sizes_by_account), ("SizesByWcKey", 8, jobs.sizes_by_wckey),
         ("SizesByAccountAndWcKey", 15, jobs.sizes_by_account_and_wckey))  # fmt: skip


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sreport call in the world `io`; the exit code."""
    report = Report(io, release_of(io), tres_text=io.environ.get("SREPORT_TRES"))
    words = _read(argv, report)
    try:
        names = _begin(report)
        report.read_tres(names)
        if words:
            _process(report, words)
        else:
            _session(report)
    except Unreachable as error:
        io.error(database_away("sreport", error, "fatal: Problem connecting to the database: {}"))
        return 1
    except Refusal as error:
        text = error.text
        io.error(f"sreport: error: {text}" if "disabled" not in text else
                 "You are not running a supported accounting_storage plugin\n"
                 "Only 'accounting_storage/slurmdbd' is supported.")  # fmt: skip
        return 1
    return report.code


def _begin(report: Report) -> list[str]:
    """Return the names of all TRES, having learnt what time it is. Raises Refusal, Unreachable."""
    client = report.io.client
    report.now = int(client.call("ping")["now"])
    return list(client.call("usage", start=report.now, end=report.now, kind="cluster")["tres"])


def _read(argv: list[str], report: Report) -> list[str]:
    parser = Parser(_OPTIONS, permute=True)
    chosen = set()
    for key, value in parser.parse_for("sreport", argv, report.io):
        if key == "h":
            report.io.out(_HELP)
            raise Stop(report.code)
        if key == "V":
            _version(report)
            raise Stop(report.code)
        if key in ("a", "local"):
            chosen.add(key)
        elif key == "M":
            chosen.add(key)
            report.clusters = [word.lower() for word in (value or "").split(",") if word]
        elif key == "n":
            report.style = report.style._replace(header=False)
        elif key in ("p", "P"):
            report.style = report.style._replace(parsable=ENDING if key == "p" else NO_ENDING)
        elif key in ("Q", "v"):
            report.quiet = 1 if key == "Q" else -1
        elif key == "s":
            report.set_sort(value or "")
        elif key == "t":
            report.set_time(value or "")
        elif key == "T":
            report.tres_text = value or ""
    if len(chosen) > 1:
        report.io.error("Only one cluster option can be used (--all_clusters OR --cluster OR --local)")
        raise Stop(1)
    return parser.rest


def _version(report: Report) -> None:
    report.io.out(version_of(report.io))


def _session(report: Report) -> None:
    """Read commands from standard input until it ends or says so; what is typed is echoed, as readline does it."""
    io = report.io
    while True:
        text = io.stdin.readline()
        if not text:
            io.out("sreport: \n")
            return
        io.out(f"sreport: {text.rstrip(chr(10))}\n")
        words = [] if text.startswith("#") else text.split()
        if _process(report, words):
            return


def _fits(word: str, names: str) -> bool:
    """Return True if a word is the beginning of one of `names`, each with the least length of the beginning."""
    for entry in names.split():
        name, _, least = entry.partition(":")
        if len(word) >= int(least) and name.startswith(word.lower()):
            return True
    return False


def _process(report: Report, words: list[str]) -> bool:
    """Carry out one command; return True if it is the last."""
    if not words:
        report.code = 1
        if report.quiet == -1:
            report.io.stderr.write("no input")
        return False
    verb, rest = words[0], words[1:]
    for names, do in _KINDS:
        if _fits(verb, names):
            if rest:
                do(report, rest)
            else:
                report.code = 1
                if report.quiet != 1 or verb.lower()[0] in "st":
                    report.io.error(f"too few arguments for keyword:{verb}")
            return False
    for names, do_alone in _ALONE:
        if _fits(verb, names):
            if rest:
                late = _fits(verb, "verbose:4 version:4")
                report.wrong(f"too many arguments for {verb} keyword" if late else
                             f"too many arguments for keyword:{verb}")  # fmt: skip
            do_alone(report)
            return names.startswith("exit")
    report.wrong(f"invalid keyword: {verb}")
    return False


def _cluster(report: Report, words: list[str]) -> None:
    asked = words[0].lower()
    for name, least, first, make in _CLUSTER:
        # what follows the least length is not looked at, as Slurm compares that many letters alone
        if name == "AccountUtilizationByUser" and since(report.release, "usage_by_qos"):
            least = 21
        if first <= report.release and len(asked) >= least and asked[:least] == name[:least].lower():
            make(report, words[1:])
            return
    qos = '"AccountUtilizationByQOS", ' if since(report.release, "usage_by_qos") else ""
    report.wrong(f"Not valid report {words[0]}\nValid cluster reports are, \"AccountUtilizationByUser\", {qos}"
                 '"UserUtilizationByAccount", "UserUtilizationByWckey", "Utilization", '
                 'and "WCKeyUtilizationByUser"')  # fmt: skip


def _job(report: Report, words: list[str]) -> None:
    for name, least, make in _JOBS:
        if _fits(words[0], f"{name.lower()}:{least}"):
            make(report, words[1:])
            return
    report.wrong(f"Not valid report {words[0]}\nValid job reports are, "
                 '"SizesByAccount, SizesByAccountAndWcKey, and  SizesByWckey"')  # fmt: skip


def _of_one_letter(kind: str, listed: Reports) -> Callable[[Report, list[str]], None]:
    def do(report: Report, words: list[str]) -> None:
        name, _, _, make = listed[0]
        if words[0][:1].lower() == name[0].lower():
            make(report, words[1:])
        else:
            report.wrong(f'Not valid report {words[0]}\nValid {kind} reports are, "{name}"')

    return do


def _set_style(parsable: int) -> Callable[[Report], None]:
    def do(report: Report) -> None:
        report.style = report.style._replace(parsable=parsable)

    return do


def _set_quiet(quiet: int) -> Callable[[Report], None]:
    def do(report: Report) -> None:
        report.quiet = quiet

    return do


_KINDS: tuple[tuple[str, Callable[[Report, list[str]], None]], ...] = (
    ("cluster:2", _cluster), ("job:1", _job),
    ("reservation:2 resv:2", _of_one_letter("reservation", _RESERVATION)),
    ("sort:1", lambda report, words: report.set_sort(words[0])),
    ("time:1", lambda report, words: report.set_time(words[0])), ("user:1", _of_one_letter("user", _USER)),
)  # fmt: skip
_ALONE: tuple[tuple[str, Callable[[Report], None]], ...] = (
    ("help:2", lambda report: report.io.out(_HELP)), ("quiet:4", _set_quiet(1)),
    ("exit:1 \\q:2 quit:4", lambda report: None), ("local:3", lambda report: None),
    ("nonparsable:4", _set_style(PADDED)), ("parsable:8", _set_style(ENDING)), ("parsable2:9", _set_style(NO_ENDING)),
    ("verbose:4", _set_quiet(-1)), ("version:4", _version),
)  # fmt: skip
