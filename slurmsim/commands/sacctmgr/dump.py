"""sacctmgr dump: accounts, users and limits of the cluster as a text that ``load`` reads.

Mirrors dump_cluster of file_functions.c (22.05; from 26.05 with the QOS): a line an entity, options after colons, those
below a ``Parent`` line belong to it. Each line goes to standard error, too.
"""

from __future__ import annotations

import os

from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.table import flag_names
from slurmsim.commands.sacctmgr.words import Session, word_of
from slurmsim.fast_imports import NamedTuple
from slurmsim.records.accounting import ASSOCIATION, QOS
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from slurmsim.records import Field

    Record = Mapping[str, Any]
USE_PARENT = 0x7FFFFFFF
TRES, MINUTES, SECONDS, FACTOR = "tres", "minutes", "seconds", "factor"
_HEAD = """\
# Accounts, users and limits of one cluster, as "sacctmgr load FILE" reads them.
# One entity a line:
#   Cluster - 'NAME':OPTIONS      the cluster, before everything else
#   Parent - 'ACCOUNT'            what follows is in this account; root is there already
#   Account - 'NAME':OPTIONS      an account
#   User - 'NAME':OPTIONS         a user's association with the account
# OPTIONS are NAME=VALUE, with a colon between two of them; a value with a colon or
# a comma in it stands in quotes. Options of accounts are Description and
# Organization, of users DefaultAccount, AdminLevel, Coordinator and Partition,
# and of all of them Fairshare, limits (GrpTRES, MaxJobs, MaxWallDurationPerJob
# and so on), QOS and DefaultQOS.
# Whatever comes after a "#" is not read.
"""


class Limit(NamedTuple):
    """One limit: its option, what changes of it are called, its field of the record, and its kind."""

    option: str
    label: str
    key: str
    kind: str


def _limits_of(rows: Iterable[Field], options: str) -> tuple[Limit, ...]:
    known = {word.partition(":")[0]: row for row in rows for word in (row.conf, *row.update.split())}
    labels = {"GrpWall": "GrpWallDuration"} if rows is ASSOCIATION else {}
    return tuple(Limit(one, labels.get(one, one), known[one].name, known[one].kind) for one in options.split())


LIMITS = _limits_of(
    ASSOCIATION,
    "GrpTRESMins GrpTRESRunMins GrpTRES GrpJobs GrpJobsAccrue GrpSubmitJobs GrpWall MaxTRESMinsPerJob MaxTRESPerJob "
    "MaxTRESPerNode MaxJobs MaxJobsAccrue MaxSubmitJobs MaxWallDurationPerJob MinPrioThreshold Priority",
)
QOS_LIMITS = _limits_of(
    QOS,
    "GraceTime GrpJobsAccrue GrpJobs GrpSubmitJobs GrpTRES GrpTRESMins GrpTRESRunMins GrpWall LimitFactor "
    "MaxJobsAccruePA MaxJobsAccruePU MaxJobsPA MaxJobsPU MaxSubmitJobsPA MaxSubmitJobsPU MaxTRESMinsPerJob "
    "MaxTRESPerAccount MaxTRESPerJob MaxTRESPerNode MaxTRESPerUser MaxTRESRunMinsPA MaxTRESRunMinsPU "
    "MaxWallDurationPerJob MinPrioThreshold MinTRESPerJob",
)


def dump(session: Session, words: list[str]) -> None:
    """``dump CLUSTER [file=FILE]``."""
    io = session.io
    cluster = path = ""
    for word in map(word_of, words):
        if not word.equals or matches(word.name, "Cluster:1 Name:1"):
            cluster = word.value.strip("\"'").lower()
        elif matches(word.name, "File:1"):
            path = word.value.strip("\"'")
        else:
            session.wrong(f" Unknown option: {word.text}")
    if not cluster:
        session.wrong(" We need a cluster to dump.")
        return
    known = str(session.list("cluster")[0]["cluster"])
    if cluster != known.lower():
        session.wrong(f" Cluster {cluster} doesn't exist.")
        return
    if not path:
        path = f"./{known}.cfg"
        io.out(f" No filename given, using {path}.\n")
    if not session.io.client.call("hello").get("administrator"):
        session.wrong(" Your user does not have sufficient privileges to dump clusters.")
        return
    messages = [*lines(session, known)]
    try:
        with open(os.path.join(io.cwd, path), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(_HEAD + "".join(f"{text}\n" for text in messages))
    except OSError as error:
        session.note(f"Can't open file {path}, {error.strerror}")
        session.code |= since(session.release, "dumps_hold_qos")
        return
    if not (session.quiet and since(session.release, "dumps_hold_qos")):
        for text in messages:
            session.note(f"sacctmgr: {text}")


def lines(session: Session, cluster: str) -> Iterator[str]:
    """Yield what is dumped, message by message: the first may have several lines."""
    numbers = {"/".join(filter(None, (one["type"], one["name"]))): int(one["id"]) for one in session.list("tres")}
    records = session.list("association", own=True)
    root = next(one for one in records if one["account"] == "root" and not one["user"])
    head = [f"Cluster - '{cluster}'{_options(root, numbers)}"]
    if since(session.release, "dumps_hold_qos"):
        head = [*(_qos_line(one, numbers, session.release) for one in session.list("qos")), *head]
    yield "\n".join(head)
    users: dict[str, Record] = {one["user"]: one for one in session.list("user")}
    accounts: dict[str, Record] = {one["account"]: one for one in session.list("account")}
    children: dict[str, list[Record]] = {}
    for record in records:
        if record["user"] or record["account"] != "root":
            children.setdefault(str(record["account"] if record["user"] else record["parent"]), []).append(record)
    waiting = ["root"]
    while waiting:
        account = waiting.pop()
        below = sorted(children.get(account, ()), key=lambda r: (not r["user"], r["user"] or r["account"]))
        if not below:
            continue
        yield f"Parent - '{account}'"
        for one in below:
            if one["user"]:
                yield _user(one, users.get(one["user"], {}), numbers)
            else:
                yield _account(one, accounts[one["account"]], numbers)
        waiting += [one["account"] for one in reversed(below) if not one["user"]]


def _account(record: Record, facts: Record, numbers: Mapping[str, int]) -> str:
    said = f":Description='{facts['description']}':Organization='{facts['organization']}'"
    return f"Account - '{record['account']}'{said}{_options(record, numbers)}"


def _user(record: Record, facts: Record, numbers: Mapping[str, int]) -> str:
    text = f"User - '{record['user']}'"
    if record["partition"]:
        text += f":Partition='{record['partition']}'"
    if facts.get("default_account"):
        text += f":DefaultAccount='{facts['default_account']}'"
    if facts.get("default_wckey"):
        text += f":DefaultWCKey='{facts['default_wckey']}'"
    if facts.get("admin_level") not in (None, "None", "Not Set"):
        text += f":AdminLevel='{facts['admin_level']}'"
    if facts.get("coordinates"):
        text += f":Coordinator='{','.join(facts['coordinates'])}'"
    return text + _options(record, numbers)


def _options(record: Record, numbers: Mapping[str, int]) -> str:
    """Fair share and limits of an association, its default QOS before and its own QOS behind."""
    shares = record["shares"]
    text = f":DefaultQOS='{record['def_qos']}'" if record["def_qos"] else ""
    text += f":Fairshare={USE_PARENT if shares == 'parent' else shares}" + _limits(LIMITS, record, numbers)
    return text + (f":QOS='{','.join(sorted(record['qos_raw']))}'" if record["qos_raw"] else "")


def _limits(table: Iterable[Limit], record: Record, numbers: Mapping[str, int]) -> str:
    return "".join(
        f":{limit.option}={value}" for limit in table
        if (value := value_of(limit, record, numbers, units=True)) is not None
    )  # fmt: skip


def value_of(limit: Limit, record: Record, numbers: Mapping[str, int], *, units: bool = False) -> str | None:
    """Return a limit as a dump has it; None where there is none. `units`: memory is told in the unit that fits."""
    value = record.get(limit.key)
    if limit.kind == TRES:
        return tres_names(value or {}, numbers, units=units) or None
    if value is None or (limit.kind == SECONDS and not value):
        return None
    if limit.kind == FACTOR:
        return f"{value:.6f}"
    return str(int(value) // 60 if limit.kind == MINUTES else value)


def tres_names(counts: Mapping[str, int], numbers: Mapping[str, int], *, units: bool = False) -> str:
    """``cpu=100,mem=4096,node=5``, by the number of each; with `units` ``mem=4G``."""
    names = sorted(counts, key=lambda name: numbers.get(name, 1 << 30))
    return ",".join(f"{name}={_exactly(counts[name]) if units and name == 'mem' else counts[name]}" for name in names)


def _exactly(mebibytes: int) -> str:
    """Return memory in the largest unit that divides it.

    >>> _exactly(4096), _exactly(2000000), _exactly(2560), _exactly(1 << 20), _exactly(0)
    ('4G', '2000000M', '2560M', '1T', '0')
    """
    at = 0
    while mebibytes and mebibytes % 1024 == 0:
        mebibytes, at = mebibytes // 1024, at + 1
    return f"{mebibytes}{'MGTPE'[at]}" if mebibytes else "0"


def _qos_line(record: Record, numbers: Mapping[str, int], release: str) -> str:
    text = f"QOS - '{record['name']}':Description='{record['description']}'"
    text += f":Flags='{','.join(flag_names(record['flags'], release))}'" if record["flags"] else ""
    text += _limits(QOS_LIMITS, record, numbers)
    if record["preempt"]:
        text += f":Preempt='{','.join(sorted(record['preempt']))}'"
    if record["preempt_exempt_time_s"] is not None:
        text += f":PreemptExemptTime={record['preempt_exempt_time_s']}"
    if record["preempt_mode"]:
        text += f":PreemptMode={record['preempt_mode'].upper()}"
    text += f":Priority={record['priority']}" if record["priority"] else ""
    text += f":UsageFactor={record['usage_factor']:.6f}" if record["usage_factor"] != 1 else ""
    return text + (f":UsageThreshold={record['usage_threshold']:.6f}" if record["usage_threshold"] is not None else "")
