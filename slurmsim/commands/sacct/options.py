"""sacct's command line and environment, read into the condition that the daemon is asked with.

Mirrors options.c of sacct (22.05): the order in which things are found wrong, and every message.
"""

from __future__ import annotations

import os
import time

from slurmsim import releases, sluid
from slurmsim.commands.io import FAILED_CALLS
from slurmsim.commands.sacct import completions
from slurmsim.commands.sacct.fields import BRIEF, DEFAULT, LONG, fields_of
from slurmsim.commands.sacct.flags import FLAGS, flags_in
from slurmsim.commands.sacct.words import ACCOUNTED, JOBCOMP, OPTIONS, STEPS, Asked, known_reason
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.dashed_table import ENDING, NO_ENDING, PADDED, Style
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.job_state_text import parse_state
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, OptionError, Parser
from slurmsim.commands.text.release import version_of
from slurmsim.commands.text.values import leading_number
from slurmsim.commands.text.widths import width_of
from slurmsim.duration import DurationError, parse_time_limit
from slurmsim.fast_imports import pattern
from slurmsim.numerals import is_number
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from slurmsim.commands.io import Io
    from slurmsim.commands.sacct.fields import Field
    from slurmsim.commands.sacct.words import Step


_PLUGIN = {"22.05": ("accounting_storage/slurmdbd: init: Accounting storage SLURMDBD plugin loaded",), "24.11": ()}


_RANGE = pattern(r"(?a)\s*(-?\d+)([kKmM]?)(?:-\s*(\d+)([kKmM]?)(?:-.*)?)?")


def _split(text: str) -> list[str]:
    return [word for word in text.strip("\"'").split(",") if word]


class Reader:
    """Reads one command line."""

    def __init__(self, io: Io, release: str) -> None:
        self.io, self.release = io, release
        self.asked = Asked(release)
        self.cond = self.asked.cond
        self.all_users = False
        self.brief = self.long = False
        self.field_text = ""
        self.users: list[str] = []
        self.groups: list[str] = []
        self.start: int | None = None
        self.end: int | None = None
        self.completion, self.log = False, ""
        self.clusters: list[str] | None = None
        self.whole: str | None = None
        self.components: dict[int, tuple[int, int]] = {}  # by their ids: leader and place
        self.verbose = 0
        self.parsable, self.delimiter, self.header = PADDED, "|", True
        self.me: dict[str, Any] = {"now": int(io.now()), "uid": -1, "cluster": ""}

    def error(self, text: str, code: int = 1) -> NoReturn:
        """Say it and end."""
        self.io.error(f"sacct: error: {text}")
        raise Stop(code)

    def fatal(self, text: str) -> NoReturn:
        """Say it and end with 1."""
        self.io.error(f"sacct: fatal: {text}")
        raise Stop(1)

    def read(self, argv: list[str]) -> Asked:
        """Read the command line. Raises Stop."""
        try:  # noqa: SIM105 (contextlib takes long to load)
            self.me |= self.io.client.call("hello")
        except FAILED_CALLS:
            pass
        self.asked.now = int(self.me["now"])
        kind = OPTIONAL if since(self.release, "data_parsers") else NO
        options = [option for option, first in OPTIONS if first <= self.release]
        options += [LongOption("json", kind, "json"), LongOption("yaml", kind, "yaml")]
        if not since(self.release, "reason_by_letter"):  # its letter was forgotten
            options = [o if o.name != "reason" else LongOption("reason", REQUIRED, "reason") for o in options]
        parser = Parser(options, permute=True)
        try:
            for key, value in parser.parse(argv):
                self.option(key, value)
        except OptionError as error:
            self.io.error(f"sacct: {error}")
            raise Stop(1) from None
        self.finish(parser.rest)
        return self.asked

    def option(self, key: str, value: str | None) -> None:
        if key in _LISTED:
            name, read = _LISTED[key]
            self.cond.setdefault(name, []).extend(read(self, word) for word in _split(value or ""))
        elif key in _SIMPLE:
            _SIMPLE[key](self)
        elif key in _WITH_TEXT:
            _WITH_TEXT[key](self, value or "")
        elif key in ("json", "yaml"):
            self.asked.dump, self.asked.parser = key, value
        elif key == "whole":
            self.take_whole(value)

    def take_users(self, text: str) -> None:
        """Take -u: users by name or id; -1 is everybody."""
        self.all_users = text == "-1"
        if not self.all_users:
            self.users += self.ids(_split(text))

    def take_steps(self, text: str) -> None:
        """Take -j: jobs, tasks and steps."""
        steps = self.asked.steps
        steps += [step for word in _split(text) if (step := self.step(word)) not in steps]

    def take_nodes(self, text: str) -> None:
        """Take -N, once."""
        if self.cond.get("nodes"):
            self.io.error(f"sacct: error: Already asked for nodes '{self.cond['nodes']}'")
        else:
            self.cond["nodes"] = text

    def take_unit(self, text: str) -> None:
        self.asked.unit = text[:1].upper()
        if self.asked.unit not in ("K", "M", "G", "T", "P") or not text:
            self.io.error(f"sacct: error: Invalid unit type '{text[:1]}'. Possible options are 'KMGTP'")
            self.fatal("Invalid unit type")

    def take_clusters(self, text: str) -> None:
        self.clusters = None if text.lower() in ("all", "-1") else [*(self.clusters or []), *_split(text)]

    def take_log(self, text: str) -> None:
        """Take -f: a file of completed jobs."""
        if not os.path.isfile(os.path.join(self.io.cwd, text)):
            self.io.error(f"{text} is not a valid file")
            raise Stop(1)
        self.log = os.path.join(self.io.cwd, text)

    def take_whole(self, value: str | None) -> None:
        """Take --whole-hetjob; without a value it is yes."""
        text = value or ""
        self.whole = "no" if text.lower() in ("no", "n") else "yes"
        if value is not None and text.lower() not in ("yes", "y", "no", "n"):
            self.error(f'Invalid --whole-hetjob value "{text}". Valid values: [yes|no].')

    def date(self, text: str) -> int:
        """Return a point in time."""
        try:
            return parse_date(text, self.asked.now, past=True)
        except BadDate as error:
            self.io.error(error.line)
            raise Stop(1) from None

    def ids(self, words: list[str]) -> list[Any]:
        try:
            found = self.io.client.call("users", names=words)["uids"]
        except FAILED_CALLS:
            found = [None] * len(words)
        for word, uid in zip(words, found, strict=True):
            if uid is None:
                self.error(f"Invalid user id: {word}")
        return list(found)

    def step(self, word: str) -> Step:
        """``12``, ``12_3``, ``12.batch``, ``12_3.0``."""
        name, dot, step_text = word.partition(".")
        known = sluid.number_of(name)
        if known is None and not is_number(word[:1]):
            self.fatal(f"Bad job/step specified: {word}{': SLUID is invalid' if word[:1] == 's' else ''}")
        step: int | None = None
        if dot:
            if step_text in STEPS:
                step = STEPS[step_text]
            elif is_number(step_text[:1]):
                step = leading_number(step_text)[0]
            else:
                self.fatal(f"Bad step specified: {name}")
        base, under, task_text = name.partition("_")
        task: int | None = None
        if known is not None:
            return known, task, step
        if under:
            if not is_number(task_text[:1]):
                self.fatal(f"Bad job array element specified: {base}")
            task = leading_number(task_text)[0]
        elif "+" in name:
            base, _, offset = name.partition("+")
            if not is_number(offset[:1]):
                self.fatal(f"Bad hetjob offset specified: {base}")
            leader, place = leading_number(base)[0], leading_number(offset)[0]
            self.components[leader + place] = (leader, place)
            return leader + place, task, step
        return leading_number(base)[0], task, step

    def state(self, word: str) -> str:
        """Return a job state that is accounted."""
        found = parse_state(word, self.release)
        if found is None:
            self.fatal(f"unrecognized job state value '{word}'")
        if found not in ACCOUNTED:
            self.fatal(f"job state {word} is not supported / accounted")
        return found

    def range(self, text: str, what: str) -> tuple[int, int | None]:
        """``2``, ``2-20``, ``1k``; everything for ``*``."""
        if not text or text[0] == "*":
            return 1, 0x7FFFFFFF
        match = _RANGE.fullmatch(text)
        if match is None or int(match[1]) < 0 or (match[3] is not None and int(match[3]) <= 0):
            self.error(f'Invalid numeric value "{text}" for {what}.')
        factor = {"": 1, "k": 1024, "m": 1024 * 1024}
        numbers = [int(match[1]) * factor[match[2].lower()]]
        if match[3] is not None:
            numbers.append(int(match[3]) * factor[match[4].lower()])
        for number in numbers:
            if number > 0x7FFFFFFF:
                self.error(f"Numeric argument ({number}) to big for {what}.")
        return numbers[0], numbers[1] if len(numbers) > 1 else None

    def minutes(self, text: str) -> int:
        """Return a time limit."""
        try:
            seconds = parse_time_limit(text)
        except DurationError:
            self.fatal("Invalid time limit specification")
        if seconds is None:
            return 0xFFFFFFFF
        if seconds <= 0:
            self.fatal("Invalid time limit specification")
        return -(-seconds // 60)

    def reason(self, word: str) -> str:
        if not known_reason(word):
            self.fatal(f"unrecognized job reason value '{word}'")
        return word

    def flags(self, text: str) -> list[str]:
        """Scheduling flags."""
        found = []
        for word in _split(text):
            spelt = zip(FLAGS, flags_in(self.release, FLAGS), strict=True)
            name = next((flag for flag, text in spelt if word.lower() in (text.lower(), "none") or
                         text.lower() in word.lower()), None)  # fmt: skip
            if name is None:
                self.error(f"str_2_job_flags: Invalid job flag {word}")
            found.append(name)
        return found

    # -- afterwards ---------------------------------------------------------------------------------------------------

    def finish(self, rest: list[str]) -> None:
        """Check what holds of the whole, in sacct's order."""
        asked, cond = self.asked, self.cond
        if not asked.steps and (asked.script or asked.env):
            what = "job environment" if asked.env else "job scripts"
            self.fatal(f"When requesting {what} you must also request specific jobs with the '-j' option.")
        if asked.script and asked.env:
            self.fatal("Options --batch-script and --env-vars are mutually exclusive")
        if self.long and self.field_text:
            self.fatal("Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.")
        self.window()
        if self.completion or self.log:
            # the completion log is read without the database, so what follows is not asked of it
            asked.log = self.log or self.completions()
            self.choose_fields()
            asked.style = Style(self.parsable, self.delimiter, self.header)
            return
        if asked.help:
            return  # no database is needed for it
        self.check_enabled()
        if self.verbose:
            self.tell_window()
        if cond.get("qos"):
            self.check_qos()
        self.owners()
        low, high = cond.pop("limit_min", None), cond.pop("limit_max", None)
        if low is not None:
            cond["time_limit"] = (low, high)
        if asked.steps:
            cond["jobs"] = [(job, task) for job, task, _ in asked.steps if job not in self.components]
            cond["components"] = list(self.components.values())
            if self.whole is not None:
                cond["whole_hetjob"] = self.whole
        self.choose_fields()
        asked.style = Style(self.parsable, self.delimiter, self.header)
        if rest:
            self.io.error("sacct: error: Unknown arguments:")
            for word in rest:
                self.io.error(f"sacct: error:  {word}")
            raise Stop(1)
        cond["no_steps"], cond["script"] = asked.no_steps, asked.script or asked.env

    def window(self) -> None:
        """Start and end (slurmdb_job_cond_def_start_end)."""
        now, start, end = self.asked.now, self.start, self.end
        if self.cond.get("states"):
            if not start and not self.asked.steps:
                start = now
            if start and not end:
                end = start
        elif not self.asked.steps and not start:
            start = parse_date("today", now)
        end = end or now
        if end in (start, now):
            end += 1
        if (start or 0) > end:
            dates = Dates(self.io.environ, now, unset="Unknown")
            self.error(f"Start time ({dates(start)}) requested is after end time ({dates(end)}).")
        self.cond["start"], self.cond["end"] = start or 0, end

    def check_enabled(self) -> None:
        """End the command if the cluster stores no accounting."""
        try:
            if self.io.client.call("accounting_enabled")["enabled"]:
                return
        except Refusal:
            self.error("Problem talking to the database: Connection refused")
        self.io.error("Slurm accounting storage is disabled")
        raise Stop(1)

    def completions(self) -> str:
        """``-c``: the log of ended jobs, which slurmctld's user alone may read."""
        told = self.io.client.call("config", names=["JobCompType", "JobCompLoc"])["values"]
        if str(told.get("JobCompType")).removeprefix("jobcomp/") != "filetxt":
            self.io.error(JOBCOMP)
        elif int(self.me["uid"]):
            self.fatal(f"open {told.get('JobCompLoc')}: Permission denied")
        else:
            return completions.path_of(self.io, str(told.get("JobCompLoc") or ""))
        raise Stop(1)

    def check_qos(self) -> None:
        """QOS by name or number."""
        try:
            known = {str(name): str(number) for name, number in self.io.client.call("qos_ids")["ids"]}
        except FAILED_CALLS:
            return
        found = []
        for word in self.cond["qos"]:
            name = next((n for n, number in known.items() if word.lower() in (n.lower(), number)), None)
            if name is None and known:
                self.io.error(f"sacct: error: You gave a bad qos '{word}'. Valid QOS's are {','.join(known)}")
                self.fatal("problem processing qos list")
            found.append(name or word)
        self.cond["qos"] = found

    def owners(self) -> None:
        """Choose the users: the caller alone, unless jobs, nodes or users are named, or root asks."""
        everybody = self.all_users or (not self.users and bool(self.asked.steps or self.cond.get("nodes")))
        if not self.users and int(self.me["uid"]) == 0:
            everybody = True
        if not everybody:
            self.cond["uids"] = self.users or [self.me["uid"]]
        if self.clusters is not None and str(self.me["cluster"]) not in self.clusters:
            self.cond["uids"] = []  # another cluster, of which nothing is known
        if self.groups:
            self.cond["gids"] = [int(word) for word in self.groups if is_number(word)] or self.group_ids()

    def tell_window(self) -> None:
        """Print what -v says of the time that is asked about, and of the plugin behind it."""
        first, last = int(self.cond["start"]), int(self.cond["end"])
        texts = [time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(at)) for at in (first, last)]
        texts[0] = texts[0] if first else "Epoch 0"
        states = ",".join(self.cond.get("states") or ()) or "Eligible"
        same = texts[0] == texts[1]
        when = f"at the time instant {texts[0]}" if same else f"in the time window from {texts[0]} to {texts[1]}"
        self.io.error(f"sacct: Jobs {states} {when}")
        for line in releases.row(_PLUGIN, self.release):
            self.io.error(f"sacct: {line}")

    def group_ids(self) -> list[int]:
        found: list[int | None] = self.io.client.call("groups", names=self.groups)["gids"]
        for word, gid in zip(self.groups, found, strict=True):
            if gid is None:
                self.error(f"Invalid group id: {word}")
        return [gid for gid in found if gid is not None]

    def choose_fields(self) -> None:
        text = self.field_text + (f"{BRIEF}," if self.brief else "") + (f"{LONG}," if self.long else "")
        if not text:
            usual = completions.DEFAULT if self.asked.log else DEFAULT
            text = (self.io.environ.get("SACCT_FORMAT") or usual) + ","
        known = fields_of(self.release)
        widths: dict[str, int] = {}
        chosen: list[Field] = []
        for word in text.split(",")[:-1]:
            word = word.lstrip()
            if not word:
                continue
            name, percent, size = word.partition("%")
            width = width_of(size) if percent else None
            if "all".startswith(name.lower()):
                found = list(known)
            else:
                match = next((f for f in known if f.name.lower().startswith(name.lower())), None)
                if match is None:
                    if name.lower() in ("allocgres", "reqgres"):
                        old = "AllocGRES" if name.lower() == "allocgres" else "ReqGRES"
                        self.fatal(f"{old} has been removed, please use {old.replace('GRES', 'TRES')}")
                    self.error(f'Invalid field requested: "{name}"')
                found = [match]
            for one in found:
                if width is not None:
                    # sacct keeps the width with the field: the last one holds for every column of that field
                    widths[one.name] = width
                chosen.append(one)
        self.asked.columns = [(one, widths.get(one.name, one.width)) for one in chosen]


def _set(name: str, value: Any = True) -> Any:
    return lambda reader: setattr(reader, name, value)


def _ask(**values: Any) -> Any:
    def do(reader: Reader) -> None:
        for name, value in values.items():
            setattr(reader.asked, name, value)

    return do


def _more(reader: Reader) -> None:
    reader.verbose += 1


def _version(reader: Reader) -> None:
    reader.io.out(version_of(reader.io))
    raise Stop(0)


def _duplicates(reader: Reader) -> None:
    reader.cond["duplicates"] = True


def _nothing(reader: Reader) -> None:
    """Of clusters there is only this one."""


_SIMPLE: dict[str, Any] = {
    "a": _set("all_users"), "b": _set("brief"), "B": _ask(script=True, no_steps=True), "c": _set("completion"),
    "D": _duplicates, "e": _ask(help="fields"), "env-vars": _ask(env=True, no_steps=True), "h": _ask(help="help"),
    "l": _set("long"), "L": _nothing, "federation": _nothing, "local": _nothing, "noconvert": _ask(convert=False),
    "n": _set("header", False), "p": _set("parsable", ENDING), "P": _set("parsable", NO_ENDING),
    "T": _ask(truncate=True), "use-local-uid": _nothing, "U": _ask(help="usage"), "v": _more, "V": _version,
    "t": _ask(no_steps=True), "X": _ask(no_steps=True), "array": _ask(array=True), "expand": _ask(expand=True),
    "helpstate": _ask(help="states"), "helpreason": _ask(help="reasons"),
}  # fmt: skip


def _word(_: Reader, word: str) -> str:
    return word


# Conditions that are lists: their names, and how one word is read.
_LISTED: dict[str, tuple[str, Callable[[Reader, str], Any]]] = {
    "A": ("accounts", _word), "C": ("constraints", _word), "name": ("names", _word), "r": ("partitions", _word),
    "W": ("wckeys", _word), "s": ("states", Reader.state), "R": ("reasons", Reader.reason),
    "reason": ("reasons", Reader.reason),
    # the database compares them with numbers: what is none is 0
    "x": ("associations", lambda _, word: leading_number(word)[0]),
}  # fmt: skip


def _condition(name: str, read: Callable[[Reader, str], Any]) -> Callable[[Reader, str], None]:
    """Make a reader of an option that is one condition."""

    def take(reader: Reader, text: str) -> None:
        reader.cond[name] = read(reader, text)

    return take


def _attribute(name: str, read: Callable[[Reader, str], Any]) -> Callable[[Reader, str], None]:
    """Make a reader of an option that is one attribute."""

    def take(reader: Reader, text: str) -> None:
        setattr(reader, name, read(reader, text))

    return take


_WITH_TEXT: dict[str, Callable[[Reader, str], None]] = {
    "S": _attribute("start", Reader.date), "E": _attribute("end", Reader.date), "u": Reader.take_users,
    "g": _attribute("groups", lambda reader, text: reader.groups + _split(text)), "j": Reader.take_steps,
    "i": _condition("n_nodes", lambda reader, text: reader.range(text, "requested node range")),
    "I": _condition("cpus", lambda reader, text: reader.range(text, "requested cpu range")),
    "k": _condition("limit_min", Reader.minutes), "K": _condition("limit_max", Reader.minutes),
    "N": Reader.take_nodes, "o": _attribute("field_text", lambda reader, text: f"{reader.field_text}{text},"),
    "q": _condition("qos", lambda _, text: _split(text)), "F": _condition("flags", Reader.flags),
    "units": Reader.take_unit, "delimiter": _attribute("delimiter", _word), "M": Reader.take_clusters,
    "f": Reader.take_log,
}  # fmt: skip


def read(argv: list[str], io: Io, release: str) -> Asked:
    """Read the command line. Raises Stop when the command ends there."""
    return Reader(io, release).read(argv)
