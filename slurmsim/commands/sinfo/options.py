"""sinfo's command line and environment, up to what is to be printed.

Mirrors the option parsing of sinfo (22.05, later rows from 24.11 and 26.05).
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.text.messages import Stop, exclusive
from slurmsim.commands.text.node_state_text import accepted, parse_filter
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, Parser
from slurmsim.commands.text.print_fields import leading_number
from slurmsim.commands.text.release import version_of
from slurmsim.release_changes import since
from slurmsim.releases import has

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmsim.commands.io import Io
    from slurmsim.commands.text.option_reader import Rows


ROWS: Rows = (
    ("all", NO, "a", "", ""),
    ("dead", NO, "d", "", ""),
    ("exact", NO, "e", "", ""),
    ("federation", NO, "federation", "", ""),
    ("future", NO, "F", "23.02", ""),
    ("help", NO, "help", "", ""),
    ("helpformat", NO, "helpformat", "24.05", ""),
    ("helpFormat", NO, "helpFormat", "24.05", ""),
    ("helpstate", NO, "helpstate", "24.05", ""),
    ("hide", NO, "hide", "", ""),
    ("iterate", REQUIRED, "i", "", ""),
    ("local", NO, "local", "", ""),
    ("long", NO, "l", "", ""),
    ("cluster", REQUIRED, "M", "", ""),
    ("clusters", REQUIRED, "M", "", ""),
    ("nodes", REQUIRED, "n", "", ""),
    ("noconvert", NO, "noconvert", "", ""),
    ("noheader", NO, "h", "", ""),
    ("Node", NO, "N", "", ""),
    ("format", REQUIRED, "o", "", ""),
    ("Format", REQUIRED, "O", "", ""),
    ("partition", REQUIRED, "p", "", ""),
    ("responding", NO, "r", "", ""),
    ("list-reasons", NO, "R", "", ""),
    ("summarize", NO, "s", "", ""),
    ("sort", REQUIRED, "S", "", ""),
    ("states", REQUIRED, "t", "", ""),
    ("reservation", NO, "T", "", ""),
    ("usage", NO, "usage", "", ""),
    ("verbose", NO, "v", "", ""),
    ("version", NO, "V", "", ""),
    ("json", NO, "json", "", "23.11"),
    ("yaml", NO, "yaml", "", "23.11"),
    ("json", OPTIONAL, "json", "23.11", ""),
    ("yaml", OPTIONAL, "yaml", "23.11", ""),
)
_USAGE = """Usage: sinfo [-abdelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]
             [-S fields] [-o format] [-O Format] [--federation] [--local]
"""

_SUMMARY = "partition:9 ,available:.5 ,time:.10 ,nodeaiot:.16 ,nodelist:0"
_NODES = "nodelist:0 ,nodes:.6 ,partition:.9 ,statecompact:6"
_NODES_LONG = (
    "nodelist:0 ,nodes:.6 ,partition:.9 ,statelong:.11 ,cpus:4 ,socketcorethread:.8 ,memory:.6 ,disk:.8 ,weight:.6 ,"
    "features:.8 ,reason:20"
)
_REASONS = "reason:20 ,user:9 ,timestamp:19 ,nodelist:0"
_REASONS_LONG = "reason:20 ,userlong:12 ,timestamp:19 ,statecompact:6 ,nodelist:0"
_DEFAULT = "partition:9 ,available:.5 ,time:.10 ,nodes:.6 ,statecompact:.6 ,nodelist:0"
_LONG: dict[str, str] = {
    "22.05": (
        "partition:9 ,available:.5 ,time:.10 ,size:.10 ,root:.4 ,oversubscribe:.8 ,groups:.10 ,nodes:.6 ,"
        "statelong:.11 ,nodelist:0"
    ),
    "23.02": (
        "partition:9 ,available:.5 ,time:.10 ,size:.10 ,root:.4 ,oversubscribe:.8 ,groups:.10 ,nodes:.6 ,"
        "statelong:.11 ,reservation:.11 ,nodelist:0"
    ),
}


class Asked:
    """What a sinfo call asks for; None where nothing was said."""

    def __init__(self, release: str, environ: Mapping[str, str]) -> None:
        self.release = release
        self.all = "SINFO_ALL" in environ
        self.partitions: list[str] | None = None
        self.sort: str | None = environ.get("SINFO_SORT")
        self.clusters: str | None = environ.get("SLURM_CLUSTERS")
        self.nodes: list[str] | None = None
        self.states: list[str] | None = None
        self.every_state = False
        self.states_given: str | None = None
        self.dead = self.responding = self.exact = self.no_header = self.long = self.by_node = self.reasons = False
        self.summary = self.reservations = self.future = False
        self.convert = True
        self.iterate = self.verbose = 0
        self.format: str | None = None
        self.long_names = False
        self.fit_partition = self.fit_nodes = False
        self.dump = self.parser = ""  # --json or --yaml, and what follows it
        self.argv: list[str] = []
        self.all_given = self.partition_given = False

    @property
    def filtering(self) -> bool:
        """True if nodes are left out."""
        return self.dead or self.responding or any(f is not None for f in (self.nodes, self.partitions, self.states))


def read(argv: Sequence[str], io: Io, release: str) -> Asked:
    """Read the command line and the environment. Raises Stop when there is nothing more to do."""
    asked = Asked(release, io.environ)
    if "SINFO_PARTITION" in io.environ:
        if asked.all:
            _conflict(io, "SINFO_ALL and SINFO_PARTITION")
        asked.partitions, asked.all = _list(io.environ["SINFO_PARTITION"]), True
    options = [
        LongOption(name, argument, key) for name, argument, key, first, gone in ROWS if has(release, first, gone)
    ]
    for key, value in Parser(options, permute=True).parse_for("sinfo", argv, io):
        _take(asked, io, key, value or "")
    if asked.long and asked.format is not None:
        raise exclusive("sinfo", "-o(--format) and -l(--long)", io)
    if asked.all_given and asked.partition_given:
        _conflict(io, "-a and -p")
    if asked.format is None:
        _default_format(asked, io.environ)
    if asked.reasons and asked.states is None:
        # their list has been cut up at its commas by the time it is shown
        asked.states, asked.states_given = ["base DOWN", "flag FAIL", "flag DRAIN"], "down"
    return asked


def _conflict(io: Io, options: str) -> None:
    io.error(f"sinfo: error: Conflicting options, {options}, specified. Please choose one or the other.")
    raise Stop(1)


_FLAGS: dict[str, tuple[str, object]] = {
    "d": ("dead", True), "e": ("exact", True), "h": ("no_header", True), "l": ("long", True), "N": ("by_node", True),
    "r": ("responding", True), "R": ("reasons", True), "s": ("summary", True), "T": ("reservations", True),
    "F": ("future", True), "noconvert": ("convert", False), "hide": ("all", False),
}  # fmt: skip
_WITHOUT_EFFECT = ("federation", "local")  # there is one cluster


def _take(asked: Asked, io: Io, key: str, text: str) -> None:
    if key in _FLAGS:
        name, setting = _FLAGS[key]
        setattr(asked, name, setting)
    elif key in _WITHOUT_EFFECT:
        return
    elif key == "a":
        asked.all = asked.all_given = True
        asked.partitions = None
    elif key == "p":
        asked.all = asked.partition_given = True
        asked.partitions = _list(text)
    elif key in "oO":
        asked.format = text
        asked.long_names |= key == "O"
    elif key == "S":
        asked.sort = text
    elif key == "M":
        asked.clusters = text
    elif key == "n":
        asked.nodes = _node_names(text, io, asked.release)
    elif key == "t":
        _take_states(asked, io, text)
    elif key == "i":
        asked.iterate = int(leading_number(text)[0] or 0)
        if asked.iterate <= 0:
            io.error(f"sinfo: error: Error: invalid entry for --iterate={text}")
            raise Stop(1)
    elif key == "v":
        asked.verbose += 1
    elif key in ("json", "yaml"):
        asked.dump, asked.parser = key, text
    else:
        io.out(version_of(io) if key == "V" else _told(key, asked.release))
        raise Stop(0)


def _told(key: str, release: str) -> str:
    """Return the text of an option that only prints one."""
    if key == "usage":
        return _USAGE
    if key == "helpstate":
        return "\n".join(accepted(release)) + "\n"
    from slurmsim.commands.sinfo import help as help_text  # long, and rarely wanted

    if key == "help":
        return help_text.long_help(ROWS, release)
    return (help_text.format_letters if key == "helpformat" else help_text.format_names)(release)


def _node_names(text: str, io: Io, release: str) -> list[str]:
    """Return the names in a node list; a text with a missing bracket is one name that no node has. Raises Stop."""
    from slurmsim.commands.text.typed_hosts import TextAfterBrackets, typed_hosts
    from slurmsim.hostlist import BadRange, HostlistError

    try:
        return typed_hosts(text, lambda complaint: io.error(f"sinfo: error: {complaint}"), release)
    except (BadRange, TextAfterBrackets):
        io.error(f"sinfo: error: '{text}' invalid entry for --nodes")
        raise Stop(1) from None
    except HostlistError:
        return [text]


def _take_states(asked: Asked, io: Io, text: str) -> None:
    asked.states_given = text
    if text.lower() == "all":
        asked.states = None
        return
    newer = since(asked.release, "negated_states")
    asked.every_state = "&" in text or (newer and "+" in text)
    found = []
    for word in text.replace("&", ",").replace("+", "," if newer else "+").split(","):
        if not word:
            continue
        no = newer and word[0] in "~!"
        word = word[1:] if no else word
        meaning = parse_filter(word, asked.release)
        if meaning is None:
            io.error(f'sinfo: error: Bad state string: "{word}"')
            io.error(f"sinfo: error: valid states: {','.join(accepted(asked.release))}")
            raise Stop(1)
        found.append(f"not {meaning}" if no else meaning)
    asked.states = found


def _default_format(asked: Asked, environ: Mapping[str, str]) -> None:
    """Choose the format when none was asked for, and the columns that are fitted to their texts."""
    if asked.summary:
        asked.format, asked.fit_partition = _SUMMARY, True
    elif asked.by_node:
        asked.format = _NODES_LONG if asked.long else _NODES
        asked.fit_nodes = asked.fit_partition = True
    elif asked.reasons:
        asked.format = _REASONS_LONG if asked.long else _REASONS
    elif "SINFO_FORMAT" in environ:
        asked.format = environ["SINFO_FORMAT"]
        return
    else:
        asked.format = str(releases.row(_LONG, asked.release)) if asked.long else _DEFAULT
        asked.fit_partition = True
    asked.long_names = True


def _list(text: str) -> list[str]:
    return [word for word in text.split(",") if word]
