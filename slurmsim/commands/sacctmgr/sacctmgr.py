"""sacctmgr: accounts, users, associations and QOS.

Mirrors sacctmgr 22.05 (later rows from 24.11 and 26.05). `show` prints, `add`, `modify` and
`delete` change.
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.words import Session
from slurmsim.commands.text.dashed_table import ENDING, NO_ENDING, Style
from slurmsim.commands.text.database_away import database_away
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import DOCUMENTS, NO, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.protocol import Unreachable
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("help", NO, "h"), ("usage", NO, "h"), ("immediate", NO, "i"), ("noheader", NO, "n"),
    ("oneliner", NO, "o"), ("parsable", NO, "p"), ("parsable2", NO, "P"), ("quiet", NO, "Q"),
    ("readonly", NO, "r"), ("associations", NO, "s"), ("verbose", NO, "v"), ("version", NO, "V"),
)  # fmt: skip
_HELP = """\
sacctmgr [<OPTION>] [<COMMAND>]
    Valid <OPTION> values are:
    -h or --help        this text
    -i or --immediate   make changes without asking
    -n or --noheader    no heading
    -p or --parsable    columns end in '|'
    -P or --parsable2   columns are separated by '|'
    -Q or --quiet       say less
    -r or --readonly    change nothing
    -s or --associations with associations
    -v or --verbose     say more
    -V or --version     the release

    Valid <COMMAND> values are:
    dump CLUSTER [file=FILE], load [file=]FILE [clean]
    archive dump [<KIND>] [Directory=] [PurgeJobAfter=...], archive load File=
    add <ENTITY> <SPECS>, delete <ENTITY> <SPECS>, modify <ENTITY> <SPECS> set <SPECS>, show <ENTITY> [<SPECS>],
    list as show, associations, help, quiet, verbose, readonly, reconfigure, version, exit

    <ENTITY> may be account, association, cluster, coordinator, event, problem, qos, reservation, resource,
    runawayjobs, stats, transaction, tres, user, wckey

    <SPECS> are different for each command entity pair:
    add account      Names= Parent= Description= Organization= and the limits of associations
    add coordinator  Accounts= Names=
    add qos          Names= and the limits of QOS
    add user         Names= Accounts= DefaultAccount= AdminLevel= and the limits of associations
    delete account   Names= and what else it may be found by; so are delete coordinator, delete qos, delete user
    list associations  Accounts= Users= Partitions= Tree Format=
    list account, list qos, list user  Names= WithAssoc Format=
    modify account, modify cluster, modify job, modify qos, modify user  a condition, set, what is to change
"""
_NOT_HERE = ("rollup", "shutdown", "clear")


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sacctmgr call in the world `io`; the exit code."""
    session = Session(io, release_of(io), argv=list(argv))
    words = _options(session, argv)
    _check_database(session)
    if words:
        process(session, words)
    else:
        _interactive(session)
    return session.code


def _options(session: Session, argv: list[str]) -> list[str]:
    io = session.io
    parser = Parser(_OPTIONS + (DOCUMENTS if since(session.release, "data_parsers") else ()), permute=True)
    parsable, header, loud = 0, True, False
    for key, value in parser.parse_for("sacctmgr", argv, io):
        if key in ("h", "V"):
            io.out(_HELP if key == "h" else version_of(io))
            raise Stop(0)
        session.immediate |= key == "i"
        session.with_assoc |= key == "s"
        session.readonly |= key == "r"
        header &= key != "n"
        session.quiet |= key == "Q"
        loud |= key == "v"
        parsable = {"p": ENDING, "P": NO_ENDING}.get(key, parsable)
        if key in ("json", "yaml"):
            session.dump, session.parser = key, value
    if loud and session.quiet and since(session.release, "quiet_or_verbose"):
        io.error("conflicting 'quiet' and 'verbose' options")
        raise Stop(1)
    session.style = Style(parsable, "|", header)
    return parser.rest


def _check_database(session: Session) -> None:
    try:
        kind = session.io.client.call("config", names=["AccountingStorageType"])["values"]["AccountingStorageType"]
    except Unreachable as error:
        session.io.error(database_away("sacctmgr", error))
        raise Stop(1) from None
    if not str(kind or "").endswith("slurmdbd"):
        session.io.error("You are not running a supported accounting_storage plugin\n"
                         "Only 'accounting_storage/slurmdbd' is supported.")  # fmt: skip
        raise Stop(1)


def _interactive(session: Session) -> None:
    """Commands from standard input, until it ends or says so."""
    import shlex  # it takes long to load

    io = session.io
    failed = 0
    while not session.over:
        io.out("sacctmgr: ")
        io.stdout.flush()
        text = io.stdin.readline()
        if not text:
            io.out("\n")
            break
        if text.startswith("#"):
            continue
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        if words:
            process(session, words)
        failed, session.code = failed | session.code, 0
    session.code = failed


def process(session: Session, words: list[str]) -> None:
    verb, rest = words[0], words[1:]
    if matches(verb, "associations:3"):
        session.with_assoc = True
    elif matches(verb, "help:2"):
        _no_more(session, words)
        session.io.out(_HELP)
    elif matches(verb, "quiet:4"):
        _no_more(session, words)
        session.quiet = 1
    elif matches(verb, "exit:4 \\q:2 quit:4"):
        _no_more(session, words)
        session.over = True
    elif matches(verb, "add:3 create:3"):
        _change(session, "add", rest)
    elif matches(verb, "show:3 list:3"):
        from slurmsim.commands.sacctmgr.show import show

        show(session, rest)
    elif matches(verb, "modify:1 update:1"):
        _change(session, "modify", rest)
    elif matches(verb, "delete:3 remove:3"):
        _change(session, "delete", rest)
    elif matches(verb, "dump:1"):
        from slurmsim.commands.sacctmgr.dump import dump

        dump(session, rest)
    elif matches(verb, "load:2"):
        _change(session, "load", rest)
    elif matches(verb, "verbose:4"):
        _no_more(session, words, "too many arguments for {} keyword")
        session.quiet = -1
    elif matches(verb, "readonly:4"):
        _no_more(session, words, "too many arguments for {} keyword")
        session.readonly = True
    elif matches(verb, "reconfigure:4"):
        _no_more(session, words, "too many arguments for {} keyword")
    elif matches(verb, "oneliner:1"):
        _no_more(session, words)
    elif matches(verb, "version:4"):
        _no_more(session, words, "too many arguments for {} keyword")
        session.io.out(version_of(session.io))
    elif matches(verb, "clear:3") and rest and matches(rest[0], "stats:1"):
        from slurmsim.commands.sacctmgr.show import clear_stats

        clear_stats(session)
    elif matches(verb, "archive:2"):
        from slurmsim.commands.sacctmgr.archive import archive

        archive(session, rest)
    else:
        _rare(session, words)


def _rare(session: Session, words: list[str]) -> None:
    """Carry out a command that not every release has, or say that it is none."""
    verb = words[0]
    if matches(verb, "ping:4") and since(session.release, "sacctmgr_ping"):
        _ping(session, words)
    elif any(matches(verb, f"{name}:2") for name in _NOT_HERE):
        session.wrong(f"sacctmgr: error: {verb}: slurmsim does not have this command")
    else:
        session.wrong(f"invalid keyword: {verb}")


def _ping(session: Session, words: list[str]) -> None:
    """Tell that the database is there: without it no command of sacctmgr gets this far."""
    _no_more(session, words, "too many arguments for {} keyword")
    if session.dump:
        session.wrong(f"sacctmgr: error: ping with --{session.dump} is not modelled")
        return
    host = session.io.client.call("config", names=["AccountingStorageHost"])["values"].get("AccountingStorageHost")
    session.io.out(f"slurmdbd(primary) at {host or 'localhost'} is UP\n")
    session.code = 0  # as the last database that answers has it


def _change(session: Session, verb: str, words: list[str]) -> None:
    from slurmsim.commands.sacctmgr import add as sacctmgr_add
    from slurmsim.commands.sacctmgr import delete as sacctmgr_delete
    from slurmsim.commands.sacctmgr import modify as sacctmgr_modify

    if session.readonly:
        session.wrong("Can't run this command in readonly mode.")
        return
    if verb == "load":
        from slurmsim.commands.sacctmgr.load import load

        load(session, words)
        return
    verbs = {"add": sacctmgr_add.add, "modify": sacctmgr_modify.modify, "delete": sacctmgr_delete.delete}
    verbs[verb](session, words)


def _no_more(session: Session, words: list[str], text: str = "too many arguments for keyword:{}") -> None:
    if len(words) > 1:
        session.wrong(text.format(words[0]))
