"""What ``set`` may change of an association or a QOS: names, how values are read, how they are shown before a commit.

Mirrors sacctmgr_set_assoc_rec, _set_rec of qos_functions.c and the print of limits (22.05).
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.table import qos_flags, tres_text
from slurmsim.commands.sacctmgr.words import Session, Word, known_qos
from slurmsim.commands.text.clock_text import long_clock
from slurmsim.duration import DurationError, parse_time_limit
from slurmsim.fast_imports import pattern
from slurmsim.numerals import is_number
from slurmsim.records import accounting
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.records import Field


Setting = tuple[str, str, str]
ASSOCIATION, QOS = (tuple(row for row in rows if row.update) for rows in (accounting.ASSOCIATION, accounting.QOS))
_ORDER = ("Fairshare", "GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins",
          "GrpWall", "MaxJobs", "MaxJobsPrioAcc", "MaxSubmitJobs", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins",
          "MaxTRESRUNMins", "MaxWall", "MinPrioThresh", "Parent", "Priority", "QOS", "DefQOS")  # fmt: skip
_QOS_ORDER = ("Flags", "GraceTime", "GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpTRES", "GrpTRESMins",
              "GrpTRESRunMins", "GrpWall", "MaxJobsAccruePerAccount", "MaxJobsAccruePerUser", "MaxJobsPerAccount",
              "MaxJobsPerUser", "MaxSubmitJobsPerAccount", "MaxSubmitJobsPerUser", "MaxTRESPerAccount", "MaxTRESPerJob",
              "MaxTRESPerNode", "MaxTRESPerUser", "MinPrioThresh", "MinTRESPerJob", "MaxTRESMins",
              "MaxTRESRUNMinsPerAccount", "MaxTRESRUNMinsPerUser", "MaxWall", "Preempt", "PreemptMode",
              "PreemptExemptTime", "Priority", "UsageFactor", "UsageThreshold", "LimitFactor")  # fmt: skip


class Settings:
    """What was set, checked; `lines` are shown before a commit."""

    def __init__(self, table: tuple[Field, ...]) -> None:
        self.table = table
        self.found: list[Setting] = []
        self.shown: dict[str, str] = {}

    def take(self, session: Session, word: Word) -> bool:
        """Take a word that is a setting; return False for any other word, and for an unreadable one of an association.

        The caller reports that one as an unknown word, too. An unreadable setting of a QOS is passed over. A default
        QOS that cannot be read counts as given.
        """
        row = next((one for one in self.table if matches(word.name, _names(one, session))), None)
        if row is None or not word.equals:
            return False
        return self._add(session, row, word) or self.table is not ASSOCIATION or row.kind == "name"

    def _add(self, session: Session, row: Field, word: Word) -> bool:
        value = word.value.strip("\"'")
        kind, _, one = row.kind.partition(":")
        read = (_count if one else _READERS[kind])(session, row, word, value)
        if read is None:
            return False
        text, shown = read
        edits = kind in ("names", "flags") and text[:1] not in ("+", "-")  # else the names say it
        self.found.append((row.conf, word.operator if edits else "", text))
        label = row.line.label if row.line else row.conf
        if label:
            self.shown[label] = f"{one}={shown}" if one and shown != "NONE" else shown
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


def _names(row: Field, session: Session) -> str:
    """How the setting may be called.

    Before 24.11 limits of an association have no short names, and those of a QOS none by job and node.
    """
    if row.kind != "tres" or since(session.release, "short_names_of_limits"):
        return row.update
    if row in ASSOCIATION:
        return row.update.partition(" ")[0]
    return " ".join(name for name in row.update.split(" ") if name.partition(":")[0][-2:] not in ("PJ", "PN"))


Read = tuple[str, str] | None


_NUMBER = pattern(r"\s*([+-]?\d+)")
_SHORT = {"PerUser": "PU", "PerAccount": "PA", "PrioThreshold": "PrioThresh"}


def _invalid(session: Session, row: Field, value: str) -> None:
    """Say that a number cannot be read; some have a short name there."""
    name = row.update.partition(":")[0]
    for long, short in _SHORT.items():
        name = name.removesuffix(long) + short if name.endswith(long) else name
    session.note(f"sacctmgr: error: Invalid value for {name} ({value})")


def _count(session: Session, row: Field, word: Word, value: str) -> Read:
    match = _NUMBER.match(value)
    rest = value[match.end() :] if match else value
    if rest and (since(session.release, "numbers_to_their_end") or match is None or not int(match[1])):
        _invalid(session, row, value)
        return None
    number = int(match[1]) if match else 0
    if ":" in row.kind:
        return str(number), str(number)
    return (str(number), str(number)) if number >= 0 else ("-1", "NONE")


def _shares(session: Session, row: Field, word: Word, value: str) -> Read:
    if value.lower().startswith("parent"):
        return "parent", "parent"
    return _count(session, row, word, value)


def _time(session: Session, row: Field, word: Word, value: str) -> Read:
    if value.lower() in ("-1", "infinite", "unlimited"):
        return "-1", "NONE"
    try:
        seconds = parse_time_limit(value)
    except DurationError:
        name = {"MaxWallDurationPerJob": "MaxWall"}.get(row.conf, row.conf)
        session.wrong(f" Bad {name} time format: {word.text}")
        return None
    return value, "NONE" if seconds is None else long_clock(-(-seconds // 60) * 60)


def _tres(session: Session, row: Field | None, word: Word, value: str) -> Read:
    from slurmsim.tres import TresError, parse_limit  # takes long to load

    found, shown, gone = list[str](), list[str](), list[str]()
    signs = ("+", "-") if since(session.release, "relative_tres") else ()
    known = {"/".join(filter(None, (r["type"], r["name"]))) for r in session.list("tres")}
    for item in filter(None, value.split(",")):
        name, equals, amount = item.partition("=")
        if not equals:
            text = "no value given as TRES type/id." if name[:1].isdigit() else f"no TRES id found for {name}"
            session.wrong(f"sacctmgr: error: slurmdb_format_tres_str: {text}")
            return None
        sign = name[-1:] if name[-1:] in signs else ""
        name = name.removesuffix(sign)
        if name.lower() not in known:
            session.wrong(f"sacctmgr: error: slurmdb_format_tres_str: no TRES known by type {name}")
            return None
        if amount.strip() == "-1":
            found.append(f"{name.lower()}=-1")
            gone.append(f"{name.lower()}=NONE")
            continue
        try:
            key = name if name.lower().startswith(("gres/", "license/")) else name.lower()
            part = {key: parse_limit(key, _amount(session, amount))}
        except TresError:
            session.wrong(f"sacctmgr: error: slurmdb_format_tres_str: no TRES known by type {name}")
            return None
        found += [f"{word}{sign}={count}" for word, count in part.items()]
        shown.append(tres_text(part).replace("=", f"{sign}=", 1))
    return ",".join(found), ",".join([*sorted(shown), *gone])


_AMOUNT = pattern(r"\s*(\d*)(.?)")


def _amount(session: Session, text: str) -> str:
    """Return an amount without what no unit is, which is said; none at all is 0."""
    match = _AMOUNT.match(text)
    if match is None or text.lstrip().startswith("-"):
        return text
    number, unit = match[1] or "0", match[2]
    if unit and unit.upper() not in "KMGTP":
        session.note(f"sacctmgr: error: Invalid unit type '{unit}'. Possible options are 'KMGTP'")
        return number
    return number + unit


def tres_counts(session: Session, word: Word) -> dict[str, int] | None:
    """Return amounts of TRES by name; None if they cannot be read, which is said."""
    read = _tres(session, None, word, word.value.strip("\"'"))
    if read is None:
        return None
    counts = dict(item.rsplit("=", 1) for item in read[0].split(",") if item)
    return {name.rstrip("+-"): int(count) for name, count in counts.items()}


def _qos(session: Session, row: Field, word: Word, value: str) -> Read:
    if value in ("", "-1"):
        return "", ""
    names = known_qos(session, value)
    if not names:
        return None
    signed = [name if name[0] in "+-" else word.operator + name for name in names]
    if len({name[0] in "+-" for name in signed}) > 1:
        session.note("sacctmgr: error: You can't set qos equal to something and then add or subtract from it in the "
                     "same line")  # fmt: skip
        return None
    own = any(name[0] in "+-" for name in names)  # a name's own sign counts, whatever the operator is
    return ",".join(signed if own else names), ",".join(sorted(signed))


def _qos_one(session: Session, row: Field, word: Word, value: str) -> Read:
    if value == "-1":
        return "", "NONE"
    known = {record["name"] for record in session.list("qos")}
    if value.lower() not in known:
        session.wrong(f"You gave a bad default qos '{value}'.  Use 'list qos' to get complete list.")
        return None
    return value.lower(), value.lower()


def _name(session: Session, row: Field, word: Word, value: str) -> Read:
    return value.lower(), value.lower()


def _flags(session: Session, row: Field, word: Word, value: str) -> Read:
    if value == "-1":
        return "-1", ""
    known = qos_flags(session.release)
    prefixes = since(session.release, "flags_of_qos_by_prefix")
    found, unknown = list[str](), not value
    for item in filter(None, value.lower().split(",")):
        those = [f for f in known if (f.lower().startswith(item) if prefixes else f.lower() in item)]
        found += those[:1] if prefixes else those
        unknown = unknown or (prefixes and not those)
    if unknown or not found:
        session.wrong(f" Unknown QOS flag used in:\n  '{value}'\n Valid QOS flags are\n  '{','.join(known)}'")
        return None
    return ",".join(found), ",".join(f for f in known if f in found)


def _mode(session: Session, row: Field, word: Word, value: str) -> Read:
    known = ("off", "gang", "suspend", "requeue", "cancel", "cluster", "within", "checkpoint")
    for item in value.lower().split(","):
        if item not in known:
            session.wrong(f" Bad Preempt Mode given: {word.text}")
            return None
    return value, "" if value.lower() == "cluster" else value.upper()


def _exempt(session: Session, row: Field, word: Word, value: str) -> Read:
    if value == "-1":
        return "-1", "NONE"
    from slurmsim.duration import parse_duration

    try:
        seconds = int(value) if is_number(value) else parse_duration(value)
    except DurationError:
        session.wrong(f" Bad Preempt Exempt Time: {value}")
        return None
    return value, long_clock(seconds)


_REAL = pattern(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def _factor(session: Session, row: Field, word: Word, value: str) -> Read:
    match = _REAL.match(value.lower())
    number = float(match[0]) if match else 0.0
    rest = value[match.end() :] if match else value
    if rest and since(session.release, "factors_to_their_end"):
        session.note(f"sacctmgr: error: {row.update.partition(':')[0]} value ({value}) is not a valid number")
        return None
    if rest and not number:
        _invalid(session, row, value)
        return None
    return ("-1", "NONE") if number < 0 else (str(number), f"{number:.4f}")


_READERS = {
    **dict.fromkeys(("limit", "priority"), _count), "shares": _shares, "minutes": _time, "tres": _tres, "names": _qos,
    "name": _qos_one, "text": _name, "flags": _flags, "modes": _mode, "seconds": _count, "exempt": _exempt,
    "factor": _factor,
}  # fmt: skip
"""Kind -> the reader of its values; what a limit of one TRES is, is a count."""
__all__ = ["ASSOCIATION", "QOS", "Settings"]
