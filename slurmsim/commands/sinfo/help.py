"""The long help of sinfo, in our own words, and the lists of what its formats may ask for."""

from slurmsim.commands.sinfo import columns
from slurmsim.commands.text import help_text
from slurmsim.commands.text.option_reader import Rows
from slurmsim.commands.text.print_fields import by_name

_WORDS = {
    "a": "hidden partitions too", "d": "nodes that do not answer", "e": "only equal nodes on one line",
    "federation": "accepted; there is one cluster", "F": "nodes of the future too", "help": "this text",
    "helpformat": "letters that -o takes", "helpFormat": "names that -O takes", "helpstate": "states that -t takes",
    "hide": "no hidden partitions", "i": "again every SECONDS", "local": "accepted; there is one cluster",
    "l": "more columns", "M": "the cluster by its name", "n": "these nodes", "noconvert": "sizes as they were given",
    "h": "no heading", "N": "a line for each node", "o": "columns by letter, %[.][WIDTH]LETTER[TEXT]...",
    "O": "columns by name, NAME[:[.]WIDTH[TEXT]],...", "p": "these partitions", "r": "nodes that answer",
    "R": "why nodes are down or drained", "s": "a line for each partition", "S": "order, letters of -o",
    "t": "nodes in these states: , for any, & for all", "T": "reservations", "usage": "a shorter text",
    "v": "say more", "V": "the release", "json": "everything as JSON", "yaml": "everything as YAML",
}  # fmt: skip

# names that -O takes, in the order of the releases that have a list (24.11, 26.05)
_NAMES = """
AllocMem AllocNodes Available Cluster Comment Cores CPUs CPUsLoad CPUsState DefaultTime Disk Extra Features
features_act FreeMem Gres GresUsed Groups MaxCPUsPerNode Memory NodeAddr NodeAI NodeAIOT NodeHost NodeList Nodes
OverSubscribe Partition PartitionName Port PreemptMode PriorityJobFactor PriorityTier Reason Reservation Root Size
Sockets SocketCoreThread StateCompact StateComplete StateLong Threads Time TimeStamp User UserLong Version Weight
"""


def long_help(rows: Rows, release: str) -> str:
    """Return what ``--help`` prints: the options the command is read with, so that none is forgotten."""
    return help_text.option_help("sinfo", rows, _WORDS, release)


def format_names(release: str) -> str:
    """Return what ``--helpFormat`` prints."""
    return help_text.name_table(help_text.names(_NAMES, release))


def format_letters(release: str) -> str:
    """Return what ``--helpformat`` prints: the letters, in the order of the names."""
    known, listed = by_name(columns.COLUMNS, release), help_text.names(_NAMES, release)
    letters = [known[name.lower()].letter for name in listed]
    letters[listed.index("GresUsed")] = "G"  # that of Gres in this list, though not in formats
    return help_text.letter_table(letters)
