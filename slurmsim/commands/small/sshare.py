"""sshare: shares and usage of the associations.

Mirrors sshare 22.05 (later rows from 24.11 and 26.05).
"""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text.cluster_facts import named_cluster
from slurmsim.commands.text.dashed_table import (
    ENDING,
    NO_ENDING,
    NUMBER,
    PADDED,
    Head,
    Style,
    double,
    heading,
    line,
)
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import DOCUMENTS, NO, REQUIRED, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.commands.text.values import leading_number
from slurmsim.commands.text.widths import width_of
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("accounts", REQUIRED, "A"), ("all", NO, "a"), ("helpformat", NO, "e"), ("long", NO, "l"),
    ("partition", NO, "m"), ("cluster", REQUIRED, "M"), ("clusters", REQUIRED, "M"), ("noheader", NO, "n"),
    ("format", REQUIRED, "o"), ("parsable", NO, "p"), ("parsable2", NO, "P"), ("users", REQUIRED, "u"),
    ("Users", NO, "U"), ("verbose", NO, "v"), ("version", NO, "V"), ("help", NO, "help"),
    ("usage", NO, "help"), (None, NO, "h"), (None, NO, "q"), (None, REQUIRED, "t"),
)  # fmt: skip
_FIELDS = (
    Head("Account", -20), Head("Cluster", 10), Head("EffectvUsage", 13, NUMBER), Head("FairShare", 10, NUMBER),
    Head("GrpTRESMins", 30), Head("GrpTRESRaw", 30), Head("ID", 6, NUMBER), Head("LevelFS", 10, NUMBER),
    Head("NormShares", 11, NUMBER), Head("NormUsage", 11, NUMBER), Head("Partition", 12), Head("RawShares", 10, NUMBER),
    Head("RawUsage", 11, NUMBER), Head("TRESRunMins", 30), Head("User", 10),
)  # fmt: skip
_SHORT = "A,User,RawShares,NormShares,RawUsage,Eff,Fairshare"
_LONG = "A,User,RawShares,NormShares,RawUsage,NormUsage,Eff,Fairshare,LevelFS,GrpTRESMins,TRESRunMins"
_HELP = """\
Usage:  sshare [OPTION]
  -a, --all              every user
  -A, --accounts=LIST    these accounts only
  -e, --helpformat       the fields of --format
  -l, --long             more columns
  -m, --partition        the partition of associations that have one
  -M, --cluster=NAME     the cluster by its name
  -n, --noheader         no heading
  -o, --format=FIELDS    these columns
  -p, --parsable         columns end in '|'
  -P, --parsable2        columns are separated by '|'
  -u, --users=LIST       these users only
  -U, --Users            users only
  -v, --verbose          say more
  -V, --version          the release
"""
if TYPE_CHECKING:
    Row = Mapping[str, Any]


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sshare call in the world `io`; the exit code."""
    return _Call(io).run(argv)


class _Call:
    def __init__(self, io: Io) -> None:
        self.io, self.release = io, release_of(io)
        self.on: set[str] = set()
        self.users: list[str] = []
        self.accounts: list[str] = []
        self.format = ""
        self.parsable = PADDED
        self.dump = self.parser = ""

    def run(self, argv: list[str]) -> int:
        self.read(argv)
        arguments: dict[str, Any] = {"accounts": self.accounts}
        if "a" not in self.on:
            arguments["users"] = self.users or [self.me()]
        if "v" in self.on:
            for what, asked in (("Users", arguments.get("users")), ("Accounts", self.accounts)):
                names = "".join(f"\n\t: {name}" for name in asked or ["all"])
                self.io.error(f"{what} requested:{names}")
        try:
            answer = self.io.client.call("shares", **arguments)
        except FAILED_CALLS as error:
            self.io.error(f"Couldn't get shares from controller: {text_of(error)}")
            return 255
        if self.dump:
            from slurmsim.commands.json.shares import dump_shares

            return dump_shares(answer, self.dump, self.io, self.release, argv, self.parser)
        if "M" in self.on and answer.get("cluster"):
            self.io.out(f"CLUSTER: {answer['cluster']}\n")
        self.print(answer)
        return 0

    def me(self) -> str:
        try:
            return str(self.io.client.call("hello")["user"])
        except FAILED_CALLS:
            return ""

    def read(self, argv: list[str]) -> None:
        parser = Parser(_OPTIONS + (DOCUMENTS if since(self.release, "data_parsers") else ()), permute=True)
        for key, value in parser.parse_for("sshare", argv, self.io):
            self.option(key, value or "")

    def option(self, key: str, text: str) -> None:
        self.on.add(key)
        if key == "M":
            named_cluster(self.io, "sshare", text)
        words = [word for word in text.split(",") if word]
        if key == "A":
            self.accounts += words
        elif key == "u":
            self.on.discard("a")
            if text == "-1":
                self.on.add("a")
            else:
                self.users += [self.name(word) for word in words]
        elif key == "o":
            self.format += f"{text},"
        elif key in ("p", "P"):
            self.parsable = ENDING if key == "p" else NO_ENDING
        elif key in ("json", "yaml"):
            self.dump, self.parser = key, text
        elif key == "V":
            self.io.out(version_of(self.io))
            raise Stop(0)
        elif key == "e":
            names = [f"{head.name:<17}" for head in _FIELDS]
            self.io.out("\n".join(" ".join(names[at : at + 4]) for at in range(0, len(names), 4)) + "\n")
            raise Stop(0)
        elif key == "help":
            self.io.out(_HELP)
            raise Stop(0)

    def name(self, word: str) -> str:
        """Return a user by number."""
        if not is_number(word[:1]):
            return word
        try:
            found = self.io.client.call("user_names", ids=[leading_number(word)[0]])["names"][0]
        except FAILED_CALLS:
            found = None
        if found is None:
            self.io.error(f"Invalid user id: {leading_number(word)[0]}")
            raise Stop(1)
        return str(found)

    def print(self, answer: Mapping[str, Any]) -> None:
        heads = self.columns(answer["fair_tree"])
        style = Style(self.parsable, "|", not self.on & {"h", "n"})
        self.io.out(heading(heads, style))
        tree: list[tuple[str, str, str]] = []  # what has been printed so far: name, parent, blanks before it
        lines = []
        for row in answer["rows"]:
            if "U" in self.on and not row["user"]:
                continue
            cells = [_cell(head, row, answer, style, tree) for head in heads]
            lines.append(line(heads, cells, style))
        self.io.out("".join(lines))

    def columns(self, fair_tree: bool) -> list[Head]:
        text = self.format
        if not text:
            text = _LONG if "l" in self.on else _SHORT
            if not fair_tree:
                text = text.replace("LevelFS,", "")
            if "m" in self.on:
                text = text.replace("A,User,", "A,User,P,")
        heads = []
        for word in dict.fromkeys(filter(None, text.lower().split(","))):
            name, percent, size = word.partition("%")
            head = next((h for h in _FIELDS if h.name.lower().startswith(name)), None)
            if head is None:
                self.io.error(f'sshare: error: Invalid field requested: "{name}"')
                raise Stop(1)
            width = width_of(size) if percent else 0
            heads.append(head._replace(width=width) if width else head)
        return heads


def _cell(head: Head, row: Row, answer: Row, style: Style, tree: list[tuple[str, str, str]]) -> str | None:
    name = head.name
    if name in _NUMBERS:
        value = row[_NUMBERS[name]]
        return None if value is None else str(value)
    if name in ("EffectvUsage", "NormShares", "NormUsage", "LevelFS", "FairShare"):
        value = _number(name, row, answer)
        return None if value is None else double(value, head.width, style)
    if name == "Account":
        return tree_name((row["user"] and f"|{row['user']}") or row["account"], row["account"], row["parent"], tree)
    if name == "Cluster":
        return str(answer["cluster"])
    if name == "User":
        return row["user"] or None
    if name == "Partition":
        return row["partition"] or None
    if name == "GrpTRESMins":
        return _tres({k: v for k, v in row["group_minutes"].items() if v is not None})
    key = "run_seconds" if name == "TRESRunMins" else "used_seconds"
    return _tres({k: int(v) // 60 for k, v in row[key].items()})


_NUMBERS = {"RawShares": "shares", "RawUsage": "usage", "ID": "id"}


def _number(name: str, row: Row, answer: Row) -> float | None:
    if name == "FairShare":
        if answer["fair_tree"]:
            return float(row["factor"]) if row["user"] else None
        norm = row["norm_shares"]
        return float(2.0 ** -(row["effective"] / norm / answer["damping"])) if norm > 0 else 0.0
    value = row[{"EffectvUsage": "effective", "NormShares": "norm_shares", "NormUsage": "norm_usage",
                 "LevelFS": "level_fs"}[name]]  # fmt: skip
    return None if value is None else float(value)


def _tres(counts: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={count}" for name, count in counts.items())


def tree_name(name: str, account: str, parent: str | None, tree: list[tuple[str, str, str]]) -> str:
    """Return an account indented below the one it is part of, if that was printed (slurmdb_tree_name_get).

    A user's name begins with ``|``; the account is shown then, one deeper than itself.
    """
    above = next((blanks for known, _, blanks in tree if known == (parent or "")), None)
    blanks = "" if above is None else above + " "
    if name.startswith("|"):
        return blanks + account
    if all(known != name for known, _, _ in tree):
        tree.append((name, parent or "", blanks))
    return blanks + name
