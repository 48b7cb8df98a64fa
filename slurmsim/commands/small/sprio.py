"""sprio: what the priorities of pending jobs are made of.

Mirrors sprio 22.05 (later columns from 24.11 and 26.05): formats, sorting, messages.
"""

from __future__ import annotations

from slurmsim import releases
from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text import short_helps
from slurmsim.commands.text.cluster_facts import reach
from slurmsim.commands.text.messages import Stop, exclusive, stoppable
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, Parser, options
from slurmsim.commands.text.print_fields import fit, parse_letters
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.commands.text.shown_id import shown_id
from slurmsim.fast_imports import NamedTuple
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("noheader", NO, "h"), ("jobs", OPTIONAL, "j"), ("long", NO, "l"), ("cluster", REQUIRED, "M"),
    ("clusters", REQUIRED, "M"), ("norm", NO, "n"), ("format", REQUIRED, "o"), ("sort", REQUIRED, "S"),
    ("partition", REQUIRED, "p"), ("user", REQUIRED, "u"), ("users", REQUIRED, "u"), ("verbose", NO, "v"),
    ("version", NO, "V"), ("weights", NO, "w"), ("federation", NO, "federation"), ("help", NO, "help"),
    ("local", NO, "local"), ("sib", NO, "sibling"), ("sibling", NO, "sibling"), ("usage", NO, "usage"),
)  # fmt: skip
_USAGE = (
    "Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
    "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]\n"
)
_LONG = {
    "22.05": "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T",
    "23.02": "%.15i %9r %.8u %.8o %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10n %.10Q %.11N %.20T",
}
_LONG_NORM = {
    "22.05": "%.15i %9r %.8u %10y %10a %10b %10f %10j %10p %10q %20t",
    "23.02": "%.15i %9r %.8u %.8o %10y %10a %10b %10f %10j %10p %10n %10q %20t",
}
if TYPE_CHECKING:
    Record = Mapping[str, Any]


def _listed(items: Sequence[object] | None) -> str | None:
    return ",".join(map(str, items)) if items else None


class Show(NamedTuple):
    """What is common to all cells."""

    weights: Mapping[str, int]
    tres_weights: str | None


class Column(NamedTuple):
    """Heading, what stands in the line of weights, and the text of a job."""

    header: str
    weight: Callable[[Show], str]
    job: Callable[[Show, Record], str]
    since: str = ""


def _priority(job: Record) -> float:
    if job["direct"]:
        return float(job["direct"])
    value = sum(job[key] for key in ("age", "assoc", "fairshare", "size", "partition", "qos", "site")) - job["nice"]
    return float(max(value + sum(job["tres"].values()), 1.0))


def _factor(key: str, header: str, normal: bool) -> Column:
    def job(show: Show, record: Record) -> str:
        if not normal:
            return f"{record[key]:.0f}"
        return f"{record[key] / show.weights[key] if show.weights[key] else 0.0:.7f}"

    return Column(header, lambda show: str(show.weights[key]), job)


def _blank(show: Show) -> str:
    return ""


def _tres(normal: bool) -> Column:
    def job(show: Show, record: Record) -> str:
        if not normal:
            return ",".join(f"{name}={value:.0f}" for name, value in record["tres"].items())
        weights = {
            item.partition("=")[0].strip().lower(): float(item.partition("=")[2] or 1)
            for item in (show.tres_weights or "").split(",")
            if "=" in item
        }
        return ",".join(f"{name}={value / weights.get(name, 1):.2f}" for name, value in record["tres"].items())

    return Column("TRES", _blank if normal else (lambda show: show.tres_weights or "(null)"), job)


def _text(header: str, key: str, since: str = "") -> Column:
    return Column(header, _blank, lambda show, record: str(record[key] if record[key] is not None else "(null)"), since)


_COLUMNS: dict[str, Column] = {
    "a": _factor("age", "AGE", True), "A": _factor("age", "AGE", False),
    "b": _factor("assoc", "ASSOC", True), "B": _factor("assoc", "ASSOC", False),
    "c": Column("CLUSTER", lambda show: "(null)", lambda show, record: "(null)"),
    "f": _factor("fairshare", "FAIRSHARE", True), "F": _factor("fairshare", "FAIRSHARE", False),
    "i": Column("JOBID", lambda show: "Weights", lambda show, record: str(record["job_id"])),
    "j": _factor("size", "JOBSIZE", True), "J": _factor("size", "JOBSIZE", False),
    "n": _text("QOSNAME", "qos_name", "23.02"), "N": Column("NICE", _blank, lambda s, r: str(r["nice"])),
    "o": _text("ACCOUNT", "account", "23.02"),
    "p": _factor("partition", "PARTITION", True), "P": _factor("partition", "PARTITION", False),
    "q": _factor("qos", "QOS", True), "Q": _factor("qos", "QOS", False),
    "r": _text("PARTITION", "partition_name"), "s": _text("SLUID", "sluid", "26.05"),
    "S": Column("SITE", lambda show: "1", lambda show, record: str(record["site"])), "u": _text("USER", "user"),
    "y": Column("PRIORITY", _blank, lambda s,
    r: f"{_priority(r) if r['direct'] else _priority(r) / 0xFFFFFFFF:16.14f}"),
    "Y": Column("PRIORITY", _blank, lambda s, r: str(int(_priority(r)))),
    "t": _tres(True), "T": _tres(False),
}  # fmt: skip
_SORTS: dict[str, Callable[[Record], Any]] = {
    "c": lambda r: 0, "i": lambda r: r["job_id"], "N": lambda r: r["nice"], "r": lambda r: r["partition_name"],
    "u": lambda r: r["user"], "a": lambda r: r["age"], "f": lambda r: r["fairshare"], "j": lambda r: r["size"],
    "p": lambda r: r["partition"], "q": lambda r: r["qos"], "t": lambda r: sum(r["tres"].values()),
    "y": _priority,
}  # fmt: skip


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sprio call in the world `io`; the exit code."""
    return _Call(io).run(argv)


def _cell_of(show: Show, job: Record) -> Callable[[Column], str]:
    return lambda column: column.job(show, job)


class _Call:
    def __init__(self, io: Io) -> None:
        self.io, self.release = io, release_of(io)
        self.on: set[str] = set()
        self.verbose = 0
        self.jobs: list[int] | None = None
        self.users: list[int] | None = None
        self.partitions: list[str] | None = None
        self.format: str | None = None
        self.sort = "i"

    def error(self, text: str) -> None:
        self.io.error(f"sprio: error: {text}")

    def run(self, argv: list[str]) -> int:
        self.read(argv)
        if "v" in self.on:
            self.show_options()
        try:
            answer = self.io.client.call("priority_factors")
        except FAILED_CALLS as error:
            self.io.error(f"Couldn't get priority factors from controller: {text_of(error)}")
            return 255
        if answer["type"] == "priority/basic":
            self.io.error(f"You are not running a supported priority plugin\n({answer['type']}).\n"
                          "Only 'priority/multifactor' is supported.")  # fmt: skip
            return 1
        show = Show(answer["weights"], answer["tres_weights"])
        chosen = self.layout(show)
        jobs = [job for job in answer["jobs"] if self.wanted(job)]
        none = not answer["jobs"] if since(self.release, "table_without_jobs") else not jobs
        if none and self.jobs is not None:
            self.io.out("Unable to find jobs matching user/id(s) specified\n")
            return 0
        prefix, columns = chosen
        if "h" not in self.on:
            self.line(prefix, columns, lambda column: column.header)
        if "w" in self.on:
            self.line(prefix, columns, lambda column: column.weight(show))
            return 0
        for job in self.sorted(jobs):
            self.line(prefix, columns, _cell_of(show, job))
        return 0

    def show_options(self) -> None:
        """-v: what the command line comes to."""
        rows = (
            ("format", self.format), ("job_flag", int(self.jobs is not None)), ("jobs", _listed(self.jobs)),
            ("partition", _listed(self.partitions)), ("users", _listed(self.users)), ("verbose", self.verbose),
        )  # fmt: skip
        line = "-" * 29 + "\n"
        self.io.out(line + "".join(f"{name:<10} = {'(null)' if text is None else text}\n" for name, text in rows))
        self.io.out(line + "\n\n")

    def read(self, argv: list[str]) -> None:
        """Read the command line and SPRIO_FORMAT."""
        io = self.io
        more = options(("helpformat", NO, "helpformat")) if since(self.release, "helpformat_of_sprio") else ()
        parser = Parser(_OPTIONS + more, permute=True)
        for key, value in parser.parse_for("sprio", argv, io):
            self.option(key, value)
        if "l" in self.on and self.format is not None:
            raise exclusive("sprio", "-o(--format) and -l(--long)", io)
        if self.format is None and "l" not in self.on:
            self.format = io.environ.get("SPRIO_FORMAT")
        rest = parser.rest
        if rest and "j" in self.on:
            self.jobs = self.ids(rest.pop(0))
        if rest:
            self.error(f"Unrecognized option: {rest[0]}")
            io.out(_USAGE)
            raise Stop(1)

    def option(self, key: str, value: str | None) -> None:
        io = self.io
        self.verbose += key == "v"
        if key == "V":
            io.out(version_of(io))
            raise Stop(0)
        if key in ("help", "usage", "helpformat"):
            if key == "helpformat":
                letters = [f"{c:<1}" for c, column in _COLUMNS.items() if column.since <= self.release]
                io.out("".join(f"%{letter} {_COLUMNS[letter].header}\n" for letter in letters))
            else:
                io.out(_USAGE if key == "usage" else short_helps.text("sprio", _OPTIONS))
            raise Stop(0)
        if key == "M":
            reach("sprio", value or "", io)
        self.on.add(key)
        if key == "j" and value is not None:
            self.jobs = self.ids(value)
        elif key == "u":
            self.users = self.user_ids(value or "")
        elif key == "p":
            self.partitions = [word for word in (value or "").split(",") if word]
        elif key == "o":
            self.format = value
        elif key == "S":
            self.sort = value or ""

    def ids(self, text: str) -> list[int]:
        found: list[int] = []
        alone = since(self.release, "one_job_of_sprio") and not since(self.release, "many_jobs_of_sprio")
        for word in filter(None, text.split(",")):
            if alone and "," in text:
                self.error(f"Invalid job id: {word}")
                raise Stop(1)
            word = shown_id(self.io, word)
            base, _, task = word.partition("_")
            if not is_number(base) or not int(base) or (task and not is_number(task)):
                self.error(f"Invalid job id: {word}")
                raise Stop(1)
            found.append(int(base))
        return found

    def user_ids(self, text: str) -> list[int]:
        names = [word for word in text.split(",") if word]
        try:
            ids = self.io.client.call("users", names=names)["uids"]
        except FAILED_CALLS:
            ids = [None] * len(names)
        for name, uid in zip(names, ids, strict=True):
            if uid is None:
                self.error(f"Invalid user: {name}\n")
        return [uid for uid in ids if uid is not None]

    def wanted(self, job: dict[str, Any]) -> bool:
        return (
            (not self.jobs or job["job_id"] in self.jobs or job["array_job_id"] in self.jobs)
            and (self.users is None or job["user_id"] in self.users)
            and (not self.partitions or job["partition_name"] in self.partitions)
        )

    def layout(self, show: Show) -> tuple[str, list[Any]]:
        """Text before everything, and columns with width, justification and suffix."""
        text = self.format if self.format is not None else self.default(show)
        known = {letter: column for letter, column in _COLUMNS.items() if column.since <= self.release}
        layout = parse_letters(text, known)  # type: ignore[arg-type]
        for letter in layout.unknown:
            self.error(f"Invalid job format specification: {letter}")
        return layout.prefix, [spec for spec in layout.specs if spec.column is not None]

    def default(self, show: Show) -> str:
        normal = "n" in self.on
        if "l" in self.on:
            return str(releases.row(_LONG_NORM if normal else _LONG, self.release))
        parts = ["%.15i", "%9r"]
        if "sibling" in self.on and "local" not in self.on:
            parts.append("%.8c")
        if self.users is not None:
            parts.append("%.8u")
        parts += ["%10y"] if normal else ["%.10Y", "%.10S"]
        for key, letter in (("age", "a"), ("assoc", "b"), ("fairshare", "f"), ("size", "j"), ("partition", "p"),
                            ("qos", "q")):  # fmt: skip
            if show.weights[key]:
                parts.append(f"%10{letter}" if normal else f"%.10{letter.upper()}")
        if show.tres_weights:
            parts.append("%20t" if normal else "%.20T")
        return " ".join(parts)

    def line(self, prefix: str, columns: list[Any], text: Callable[[Column], str]) -> None:
        cells = (fit(text(column), width, right) + suffix for column, width, right, suffix in columns)
        self.io.out(prefix + "".join(cells) + "\n")

    def sorted(self, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for at in range(len(self.sort) - 1, -1, -1):
            letter = self.sort[at]
            if letter in ",-+":
                continue
            key = _SORTS.get(letter) or _SORTS.get(letter.lower() if letter in "AFJPQTY" else "?")
            if key is None:
                self.error(f"Invalid sort specification: {letter}")
                raise Stop(1)
            jobs.sort(key=key, reverse=self.sort[at - 1] == "-")
        return jobs
