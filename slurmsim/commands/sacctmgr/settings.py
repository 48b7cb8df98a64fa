"""What ``set`` may change of an association or a QOS: names, how values are read, how they are shown before a commit.

Mirrors sacctmgr_set_assoc_rec, _set_rec of qos_functions.c and the print of limits (22.05).
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.table import tres_text
from slurmsim.commands.sacctmgr.words import Session, Word, known_qos
from slurmsim.commands.text.clock_text import long_clock
from slurmsim.duration import DurationError, parse_time_limit
from slurmsim.fast_imports import NamedTuple, pattern
from slurmsim.numerals import is_number
from slurmsim.release_changes import since
from slurmsim.tres import TresError, parse_tres

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


COUNT, TIME, TRES, SHARES, QOS, QOS_ONE, NAME, FLAGS, MODE, SECONDS, FACTOR, EXEMPT = (
    "count", "time", "tres", "shares", "qos", "qos_one", "name", "flags", "mode", "seconds", "factor", "exempt",
)  # fmt: skip
Setting = tuple[str, str, str]


class S(NamedTuple):
    """One setting: how it may be called, what the database calls it, its kind, and its line before a commit."""

    names: str
    field: str
    kind: str
    label: str
    one: str = ""  # the TRES it is about


ASSOCIATION: tuple[S, ...] = (
    S("DefaultQOS:8", "DefaultQOS", QOS_ONE, "DefQOS        "), S("FairShare:1 Shares:1", "Fairshare", SHARES,
    "Fairshare     "),
    S("GrpCPUMins:7", "GrpCPUMins", COUNT, "GrpTRESMins   ", "cpu"),
    S("GrpCPURunMins:7", "GrpCPURunMins", COUNT, "GrpTRESRunMins", "cpu"),
    S("GrpCpus:7", "GrpCPUs", COUNT, "GrpTRES       ", "cpu"), S("GrpJobs:4", "GrpJobs", COUNT, "GrpJobs       "),
    S("GrpJobsAccrue:8", "GrpJobsAccrue", COUNT, "GrpJobsAccrue            "),
    S("GrpMemory:4", "GrpMemory", COUNT, "GrpTRES       ", "mem"), S("GrpNodes:4", "GrpNodes", COUNT,
    "GrpTRES       ", "node"),
    S("GrpSubmitJobs:4", "GrpSubmitJobs", COUNT, "GrpSubmitJobs "), S("GrpTRES:7", "GrpTRES", TRES, "GrpTRES       "),
    S("GrpTRESMins:8", "GrpTRESMins", TRES, "GrpTRESMins   "), S("GrpTRESRunMins:8", "GrpTRESRunMins", TRES,
    "GrpTRESRunMins"),
    S("GrpWall:4", "GrpWall", TIME, "GrpWall       "),
    S("MaxCPUMinsPerJob:7", "MaxCPUMinsPerJob", COUNT, "MaxTRESMins   ", "cpu"),
    S("MaxCPURunMins:7", "MaxCPURunMins", COUNT, "MaxTRESRUNMins", "cpu"),
    S("MaxCpusPerJob:7", "MaxCPUsPerJob", COUNT, "MaxTRES       ", "cpu"), S("MaxJobs:4", "MaxJobs", COUNT,
    "MaxJobs       "),
    S("MaxJobsAccrue:8", "MaxJobsAccrue", COUNT, "MaxJobsPrioAcc"),
    S("MaxNodesPerJob:4", "MaxNodesPerJob", COUNT, "MaxTRES       ", "node"),
    S("MinPrioThresh:4", "MinPrioThreshold", COUNT, "MinPrioThresh "),
    S("MaxSubmitJobs:4", "MaxSubmitJobs", COUNT, "MaxSubmitJobs "),
    S("MaxTRESPerJob:7 MaxTRESPJ:9", "MaxTRESPerJob", TRES, "MaxTRES       "),
    S("MaxTRESPerNode:11 MaxTRESPN:9", "MaxTRESPerNode", TRES, "MaxTRESPerNode"),
    S("MaxTRESMinsPerJob:8 MaxTRESMinsPJ:13", "MaxTRESMinsPerJob", TRES, "MaxTRESMins   "),
    S("MaxTRESRunMins:8", "MaxTRESRunMins", TRES, "MaxTRESRUNMins"),
    S("MaxWallDurationPerJob:4", "MaxWallDurationPerJob", TIME, "MaxWall       "),
    S("Parent:2", "Parent", NAME, "Parent        "), S("Priority:2", "Priority", COUNT, "Priority      "),
    S("QosLevel:1", "QOS", QOS, "QOS           "), S("Comment:3", "Comment", NAME, ""),
)  # fmt: skip
_ORDER = ("Fairshare", "GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins",
          "GrpWall", "MaxJobs", "MaxJobsPrioAcc", "MaxSubmitJobs", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins",
          "MaxTRESRUNMins", "MaxWall", "MinPrioThresh", "Parent", "Priority", "QOS", "DefQOS")  # fmt: skip
QOS_SETTINGS: tuple[S, ...] = (
    S("Flags:2", "Flags", FLAGS, "Flags"), S("GraceTime:3", "GraceTime", SECONDS, "GraceTime"),
    S("GrpCPUMins:7", "GrpCPUMins", COUNT, "GrpTRESMins", "cpu"),
    S("GrpCPURunMins:7", "GrpCPURunMins", COUNT, "GrpTRESRunMins", "cpu"),
    S("GrpCPUs:7", "GrpCPUs", COUNT, "GrpTRES", "cpu"), S("GrpJobs:4", "GrpJobs", COUNT, "GrpJobs"),
    S("GrpJobsAccrue:8", "GrpJobsAccrue", COUNT, "GrpJobsAccrue"), S("GrpMemory:4", "GrpMemory", COUNT, "GrpTRES",
    "mem"),
    S("GrpNodes:4", "GrpNodes", COUNT, "GrpTRES", "node"), S("GrpSubmitJobs:4", "GrpSubmitJobs", COUNT,
    "GrpSubmitJobs"),
    S("GrpTRES:7", "GrpTRES", TRES, "GrpTRES"), S("GrpTRESMins:8", "GrpTRESMins", TRES, "GrpTRESMins"),
    S("GrpTRESRunMins:8", "GrpTRESRunMins", TRES, "GrpTRESRunMins"), S("GrpWall:4", "GrpWall", TIME, "GrpWall"),
    S("LimitFactor:6", "LimitFactor", FACTOR, "LimitFactor"),
    S("MaxCPUMinsPerJob:7", "MaxCPUMinsPerJob", COUNT, "MaxTRESMins", "cpu"),
    S("MaxCPURunMinsPerUser:7 MaxCPURunMinsPU:7", "MaxTRESRunMinsPerUser", COUNT, "MaxTRESRUNMinsPerUser", "cpu"),
    S("MaxCPUsPerJob:7", "MaxCPUsPerJob", COUNT, "MaxTRESPerJob", "cpu"),
    S("MaxCPUsPerUser:11 MaxCPUsPU:9", "MaxCPUsPerUser", COUNT, "MaxTRESPerUser", "cpu"),
    S("MaxJobsPerAccount:11 MaxJobsPerAcct:11 MaxJobsPA:9", "MaxJobsPerAccount", COUNT, "MaxJobsPerAccount"),
    S("MaxJobsAccruePerAccount:17 MaxJobsAccruePerAcct:17 MaxJobsAccruePA:15", "MaxJobsAccruePerAccount", COUNT,
      "MaxJobsAccruePerAccount"),
    S("MaxJobsAccruePerUser:17 MaxJobsAccruePU:15", "MaxJobsAccruePerUser", COUNT, "MaxJobsAccruePerUser"),
    S("MaxJobsPerUser:8 MaxJobsPU:8", "MaxJobsPerUser", COUNT, "MaxJobsPerUser"),
    S("MaxNodesPerJob:8", "MaxNodesPerJob", COUNT, "MaxTRESPerJob", "node"),
    S("MaxNodesPerUser:8 MaxNodesPU:8", "MaxNodesPerUser", COUNT, "MaxTRESPerUser", "node"),
    S("MinPrioThreshold:4", "MinPrioThreshold", COUNT, "MinPrioThresh"),
    S("MaxSubmitJobsPerAccount:17 MaxSubmitJobsPerAcct:17 MaxSubmitJobsPA:15",
      "MaxSubmitJobsPerAccount", COUNT, "MaxSubmitJobsPerAccount"),
    S("MaxSubmitJobsPerUser:4 MaxSubmitJobsPU:4", "MaxSubmitJobsPerUser", COUNT, "MaxSubmitJobsPerUser"),
    S("MaxTRESPerAccount:11 MaxTRESPerAcct:11 MaxTRESPA:9", "MaxTRESPerAccount", TRES, "MaxTRESPerAccount"),
    S("MaxTRESPerJob:7 MaxTRESPJ:9", "MaxTRESPerJob", TRES, "MaxTRESPerJob"),
    S("MaxTRESPerNode:11 MaxTRESPN:9", "MaxTRESPerNode", TRES, "MaxTRESPerNode"),
    S("MaxTRESPerUser:11 MaxTRESPU:9", "MaxTRESPerUser", TRES, "MaxTRESPerUser"),
    S("MaxTRESMinsPerJob:8 MaxTRESMinsPJ:13", "MaxTRESMinsPerJob", TRES, "MaxTRESMins"),
    S("MaxTRESRunMinsPerAccount:18 MaxTRESRunMinsPerAcct:18 MaxTRESRunMinsPA:15", "MaxTRESRunMinsPerAccount", TRES,
      "MaxTRESRUNMinsPerAccount"),
    S("MaxTRESRunMinsPerUser:8 MaxTRESRunMinsPU:8", "MaxTRESRunMinsPerUser", TRES, "MaxTRESRUNMinsPerUser"),
    S("MaxWallDurationPerJob:4", "MaxWallDurationPerJob", TIME, "MaxWall"),
    S("MinCPUsPerJob:7", "MinCPUsPerJob", COUNT, "MinTRESPerJob", "cpu"), S("MinTRESPerJob:7", "MinTRESPerJob", TRES,
    "MinTRESPerJob"),
    S("PreemptMode:8", "PreemptMode", MODE, "PreemptMode"), S("Preempt:7", "Preempt", QOS, "Preempt"),
    S("PreemptExemptTime:8", "PreemptExemptTime", EXEMPT, "PreemptExemptTime"),
    S("Priority:3", "Priority", COUNT, "Priority"), S("UsageFactor:6", "UsageFactor", FACTOR, "UsageFactor"),
    S("UsageThreshold:6", "UsageThreshold", FACTOR, "UsageThreshold"),
)  # fmt: skip
_QOS_ORDER = ("Flags", "GraceTime", "GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpTRES", "GrpTRESMins",
              "GrpTRESRunMins", "GrpWall", "MaxJobsAccruePerAccount", "MaxJobsAccruePerUser", "MaxJobsPerAccount",
              "MaxJobsPerUser", "MaxSubmitJobsPerAccount", "MaxSubmitJobsPerUser", "MaxTRESPerAccount", "MaxTRESPerJob",
              "MaxTRESPerNode", "MaxTRESPerUser", "MinPrioThresh", "MinTRESPerJob", "MaxTRESMins",
              "MaxTRESRUNMinsPerAccount", "MaxTRESRUNMinsPerUser", "MaxWall", "Preempt", "PreemptMode",
              "PreemptExemptTime", "Priority", "UsageFactor", "UsageThreshold", "LimitFactor")  # fmt: skip
_FLAGS = ("DenyOnLimit", "EnforceUsageThreshold", "NoReserve", "PartitionMaxNodes", "PartitionMinNodes", "OverPartQOS",
          "PartitionTimeLimit", "RequiresReservation", "NoDecay", "UsageFactorSafe")  # fmt: skip


class Settings:
    """What was set, checked; `lines` are shown before a commit."""

    def __init__(self, table: tuple[S, ...]) -> None:
        self.table = table
        self.found: list[Setting] = []
        self.shown: dict[str, str] = {}

    def take(self, session: Session, word: Word) -> bool:
        """Take a word that is a setting; return False for any other word, and for an unreadable one of an association.

        The caller reports that one as an unknown word, too. An unreadable setting of a QOS is passed over. A default
        QOS that cannot be read counts as given.
        """
        row = next((s for s in self.table if matches(word.name, _names(s, session))), None)
        if row is None or not word.equals:
            return False
        return self._add(session, row, word) or self.table is not ASSOCIATION or row.kind == QOS_ONE

    def _add(self, session: Session, s: S, word: Word) -> bool:
        value = word.value.strip("\"'")
        reader = _READERS[s.kind]
        read = reader(session, s, word, value)
        if read is None:
            return False
        text, shown = read
        self.found.append((s.field, word.operator if s.kind in (QOS, FLAGS) else "", text))
        if s.label:
            self.shown[s.label.strip()] = f"{s.one}={shown}" if s.one and shown != "NONE" else shown
        return True

    def lines(self) -> list[str]:
        """``  Fairshare     = 10`` …, in sacctmgr's order."""
        association = self.table is ASSOCIATION
        order = _ORDER if association else _QOS_ORDER
        found = []
        for label in order:
            if label in self.shown:
                width = 25 if label == "GrpJobsAccrue" or not association else 14
                if label == "MaxJobsPerUser" and not association:
                    width = len(label) + 1
                blank = "" if (association and label == "GrpTRESRunMins") or len(label) == width else " "
                name = f"{label:<{width}}".rstrip() if blank == "" else f"{label:<{width}}"
                found.append(f"  {name}= {self.shown[label]}")
        return found


def _names(s: S, session: Session) -> str:
    """How the setting may be called.

    Before 24.11 limits of an association have no short names, and those of a QOS none by job and node.
    """
    if s.kind != TRES or since(session.release, "short_names_of_limits"):
        return s.names
    if s in ASSOCIATION:
        return s.names.partition(" ")[0]
    return " ".join(name for name in s.names.split(" ") if name.partition(":")[0][-2:] not in ("PJ", "PN"))


Read = tuple[str, str] | None


_NUMBER = pattern(r"\s*([+-]?\d+)")


def _count(session: Session, s: S, word: Word, value: str) -> Read:
    match = _NUMBER.match(value)
    if match is None and value:
        session.note(f"sacctmgr: error: Invalid value for {s.names.partition(':')[0]} ({value})")
        return None
    number = int(match[1]) if match else 0
    if s.one and s.kind == COUNT:
        return str(number), str(number)
    return (str(number), str(number)) if number >= 0 else ("-1", "NONE")


def _shares(session: Session, s: S, word: Word, value: str) -> Read:
    if value.lower().startswith("parent"):
        return "parent", "parent"
    return _count(session, s, word, value)


def _time(session: Session, s: S, word: Word, value: str) -> Read:
    if value.lower() in ("-1", "infinite", "unlimited"):
        return "-1", "NONE"
    try:
        seconds = parse_time_limit(value)
    except DurationError:
        name = {"MaxWallDurationPerJob": "MaxWall"}.get(s.field, s.field)
        session.wrong(f" Bad {name} time format: {word.text}")
        return None
    return value, "NONE" if seconds is None else long_clock(-(-seconds // 60) * 60)


def _tres(session: Session, s: S, word: Word, value: str) -> Read:
    parts: dict[str, int] = {}
    gone = []
    known = {"/".join(filter(None, (r["type"], r["name"]))) for r in session.list("tres")}
    for item in filter(None, value.split(",")):
        name, equals, amount = item.partition("=")
        if not equals:
            session.wrong("sacctmgr: error: slurmdb_format_tres_str: no value given as TRES type/id.")
            return None
        if name.lower() not in known:
            session.wrong(f"sacctmgr: error: slurmdb_format_tres_str: no TRES known by type {name}")
            return None
        if amount.strip() == "-1":
            gone.append(name.lower())
            continue
        try:
            parts |= parse_tres(item)
        except TresError:
            session.wrong(f"sacctmgr: error: slurmdb_format_tres_str: no TRES known by type {name}")
            return None
    text = ",".join([*(f"{name}={count}" for name, count in parts.items()), *(f"{name}=-1" for name in gone)])
    shown = ",".join(filter(None, [tres_text(parts), *(f"{name}=NONE" for name in gone)]))
    return text, shown


def _qos(session: Session, s: S, word: Word, value: str) -> Read:
    if value in ("", "-1"):
        return "", ""
    names = known_qos(session, value)
    if not names:
        return None
    return ",".join(names), ",".join(sorted(word.operator + name for name in names))


def _qos_one(session: Session, s: S, word: Word, value: str) -> Read:
    if value == "-1":
        return "", "NONE"
    known = {record["name"] for record in session.list("qos")}
    if value.lower() not in known:
        session.wrong(f"You gave a bad default qos '{value}'.  Use 'list qos' to get complete list.")
        return None
    return value.lower(), value.lower()


def _name(session: Session, s: S, word: Word, value: str) -> Read:
    return value.lower(), value.lower()


def _flags(session: Session, s: S, word: Word, value: str) -> Read:
    if value == "-1":
        return "-1", ""
    found = []
    for item in filter(None, value.split(",")):
        flag = next((f for f in _FLAGS if f.lower() in item.lower()), None)
        if flag is None:
            session.wrong(f'sacctmgr: error: The "flags" field is invalid: {item}')
            return None
        found.append(flag)
    return ",".join(found), ",".join(f for f in _FLAGS if f in found)


def _mode(session: Session, s: S, word: Word, value: str) -> Read:
    known = ("off", "gang", "suspend", "requeue", "cancel", "cluster", "within", "checkpoint")
    for item in value.lower().split(","):
        if item not in known:
            session.wrong(f"Bad Preempt Mode given: {value}")
            return None
    return value, "" if value.lower() == "cluster" else value.upper()


def _seconds(session: Session, s: S, word: Word, value: str) -> Read:
    return _count(session, s, word, value)


def _exempt(session: Session, s: S, word: Word, value: str) -> Read:
    if value == "-1":
        return "-1", "NONE"
    from slurmsim.duration import parse_duration

    try:
        seconds = int(value) if is_number(value) else parse_duration(value)
    except DurationError:
        session.wrong(f" Bad Preempt Exempt Time: {value}")
        return None
    return value, long_clock(seconds)


def _factor(session: Session, s: S, word: Word, value: str) -> Read:
    try:
        number = float(value)
    except ValueError:
        session.note(f"sacctmgr: error: Invalid value for {s.names.partition(':')[0]} ({value})")
        return None
    return ("-1", "NONE") if number < 0 else (value, f"{number:.4f}")


_READERS = {COUNT: _count, SHARES: _shares, TIME: _time, TRES: _tres, QOS: _qos, QOS_ONE: _qos_one, NAME: _name,
            FLAGS: _flags, MODE: _mode, SECONDS: _seconds, EXEMPT: _exempt, FACTOR: _factor}  # fmt: skip
__all__ = ["ASSOCIATION", "QOS_SETTINGS", "Settings"]
