"""What a loaded file changes: compared with the database line by line, shown, and asked of it as one change."""

from __future__ import annotations

from slurmsim.commands.sacctmgr.dump import LIMITS, QOS_LIMITS, TRES, USE_PARENT, Limit, tres_names, value_of
from slurmsim.commands.sacctmgr.load_lines import Line
from slurmsim.commands.sacctmgr.table import ASSOCIATION, columns, of, qos_columns, table
from slurmsim.commands.sacctmgr.words import Session
from slurmsim.duration import parse_time_limit
from slurmsim.records import accounting as records
from slurmsim.release_changes import since
from slurmsim.tres import parse_tres

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Record = dict[str, Any]
    Key = tuple[str, str, str]
_COLUMNS = ("Share", "GrpTRESMins", "GrpTRESRunMins", "GrpTRES", "GrpJobs", "GrpJobsAccrue", "GrpMem", "GrpNodes",
            "GrpSubmit", "GrpWall", "MaxTRESMins", "MaxTRES", "MaxTRESPerNode", "MaxJobs", "MaxSubmit", "MaxNodes",
            "MaxWall", "QOS", "DefaultQOS")  # fmt: skip
_MOST_NAMES = 10_000
_RULE = "-" * 51 + "\n\n"
_LONG_RULE = "-" * 62 + "\n\n"
_QOS_COLUMNS = ("Name%20", "Priority", "GraceTime", "Preempt", "PreemptExemptTime", "PreemptMode", "Flags%40",
                "UsageThres", "UsageFactor", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpSubmit",
                "GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MaxTRESPerUser", "MaxJobsPerUser",
                "MaxSubmitJobsPerUser", "MaxTRESPerAccount", "MaxTRESRunMinsPerAccount%22", "MaxTRESRunMinsPerUser%22",
                "MaxJobsPerAccount", "MaxSubmitJobsPerAccount", "MinTRES")  # fmt: skip


class Changes:
    """Everything one file changes, in the order of its lines."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.told = False
        self._numbers = {"/".join(filter(None, (r["type"], r["name"]))): int(r["id"]) for r in session.list("tres")}
        self._asked: list[Record] = []
        self._of_users: list[Record] = []
        self._later: list[str] = []
        self._new_accounts: list[Record] = []
        self._new_users: dict[str, Record] = {}
        self._rows: dict[str, list[Record]] = {"account": [], "user": []}
        self._new_qos: list[Record] = []
        self._users = {r["user"]: r for r in session.list("user")}
        self.forget()

    def forget(self) -> None:
        """Look at the database again: users are those there were before."""
        session = self.session
        records = session.list("association", own=True)
        self._there: dict[Key, Record] = {(r["account"], r["user"] or "", r["partition"] or ""): r for r in records}
        self._accounts = {r["account"]: r for r in session.list("account")}
        self._qos = {r["name"]: r for r in session.list("qos")}

    def accounts_there(self) -> set[str]:
        """Accounts with an association, there or to come."""
        return {key[0] for key in self._there if not key[1]} | {row["account"] for row in self._rows["account"]}

    def shows_anything(self) -> bool:
        return bool(self._rows["account"] or self._rows["user"] or self._new_accounts or self._new_users)

    def requests(self) -> list[Record]:
        """Return what the database is asked, defaults last: accounts they are in have to be there."""
        return together(self._asked) + self._of_users

    # -- lines --------------------------------------------------------------------------------------------------------

    def cluster(self, line: Line, *, fresh: bool) -> None:
        """Load the cluster's own limits; `fresh`: its table is shown, as of one that was made now."""
        record = self._there["root", "", ""]
        settings = self._changed(line, "Cluster", str(record["cluster"]), record, quiet=fresh)
        if settings:
            self._asked.append({"action": "modify_associations", "kind": "cluster", "cond": {}, "settings": settings})
        if fresh:
            row = {"account": "root", "parent": "", **self._row(line)}
            self._table([row], "Account", "ParentName")
            self.session.io.out(_LONG_RULE)

    def account(self, line: Line, parent: str, said: Record) -> None:
        """Load an account below `parent`."""
        name = line.name.lower()
        facts, record = self._accounts.get(name), self._there.get((name, "", ""))
        description, organization = said.get("description") or name, said.get("organization") or name
        if facts is None and not any(one["account"] == name for one in self._new_accounts):
            self._new_accounts.append({"account": name, "description": description, "organization": organization})
        elif facts is not None:
            self._facts(name, facts, said)
        if record is None:
            self._rows["account"].append({"account": name, "parent": parent, **self._row(line)})
            self._asked.append({"action": "add_account", "names": [name], "parent": parent, "description": description,
                                "organization": organization, "settings": line.settings.found})  # fmt: skip
            return
        settings = self._changed(line, "Account", name, record)
        if (record["parent"] or "root") != parent and name != "root":
            self._tell("Changed Parent", "Account", name, f"{record['parent'] or 'root':>8} -> {parent}")
            settings = [*settings, ["Parent", "", parent]]
        if settings:
            self._asked.append({"action": "modify_associations", "kind": "account", "cond": {"accounts": [name]},
                                "settings": settings})  # fmt: skip

    def _facts(self, name: str, facts: Record, said: Record) -> None:
        changed = {key: said[key] for key in ("description", "organization") if said.get(key, facts[key]) != facts[key]}
        for key, value in changed.items():
            self._tell(f"Changed {key}", "Account", name, f"{facts[key]:>8} -> {value}")
        if changed:
            self._asked.append({"action": "put_account", "object": name, "description": facts["description"],
                                "organization": facts["organization"], **changed})  # fmt: skip

    def user(self, line: Line, account: str, partition: str, default: str, level: str, coordinates: list[str]) -> None:
        name = line.name
        self._person(name, account, default, level, coordinates)
        record = self._there.get((account, name, partition))
        if record is None:
            self._rows["user"].append({"account": account, "user": name, **self._row(line)})
            self._asked.append({"action": "add_user", "names": [name], "accounts": [account],
                                "partitions": [partition], "settings": line.settings.found})  # fmt: skip
            return
        settings = self._changed(line, "User", name, record)
        if settings:
            cond = {"accounts": [account], "users": [name], "partitions": [partition]}
            self._asked.append({"action": "modify_associations", "kind": "user", "cond": cond, "settings": settings})

    def _person(self, name: str, account: str, default: str, level: str, coordinates: list[str]) -> None:
        facts = self._users.get(name)
        known = self._new_users.get(name)
        if facts is None and known is None:
            self._new_users[name] = {
                "user": name, "default_account": default or account, "admin_level": level or "Not Set",
                "coordinates": ",".join(coordinates),
            }  # fmt: skip
        old = None if facts is None else facts["default_account"]
        if facts is not None and default and default != old:
            self._tell("Changed Default Account", "User", name, f"{old or '(null)':>8} -> {default}")
            facts["default_account"] = default
        first = facts is None and known is None  # a new user: its first account is the default one
        if default and not (first and default == account):
            self._of_users.append({"action": "default_if_there", "object": name, "account": default})
        if level and level != ("None" if facts is None else facts["admin_level"]):
            if facts is not None:
                self._tell("Changed Admin Level", "User", name, f"{facts['admin_level']:>8} -> {level}")
                facts["admin_level"] = level
            self._of_users.append({"action": "put_user", "object": name, "admin_level": level})
        missing = [one for one in coordinates if facts is None or one not in facts["coordinates"]]
        if missing:
            self._of_users.append({"action": "add_coordinator", "users": [name], "accounts": missing})

    def qos(self, line: Line) -> None:
        """Load a QOS (26.05)."""
        name = line.name.lower()
        description = line.qos_options(self.session)
        record = self._qos.get(name)
        settings = [list(one) for one in line.settings.found]
        if record is None:
            self._new_qos.append({"name": name, "line": line, "description": description or name})
        elif description and description != record["description"]:
            self._tell("Changed Description", "QOS", name, f"{record['description']:>8} -> {description}")
        changed = [one for one in settings if record is None or self._differs(name, record, one)]
        if record is None or changed or (description and description != record["description"]):
            self._asked.append({"action": "put_qos", "object": name, "settings": changed,
                                **({"description": description} if description else {})})  # fmt: skip

    def _differs(self, name: str, record: Record, setting: list[str]) -> bool:
        """Return True if a setting of a QOS is another than it has; tells so."""
        field, _, text = setting
        old = _qos_value(field, record)
        if old == text:
            return False
        self._tell(f"Changed {field}", "QOS", name, f"{old or '(null)':>8} -> {text}")
        return True

    # -- comparing ----------------------------------------------------------------------------------------------------

    def _tell(self, what: str, kind: str, name: str, change: str, *, quiet: bool = False) -> None:
        text = f" {what:<29} for {kind:<7} {name:<10} {change}\n"
        if kind == "QOS":  # behind the table of new ones
            self._later.append(text)
            return
        self.told = True
        if not quiet:
            self.session.io.out(text)

    def _changed(self, line: Line, kind: str, name: str, record: Record, *, quiet: bool = False) -> list[list[str]]:
        """Return the settings of a line that are other than the record's, each told in sacctmgr's order."""
        row, given = self._row(line), {field for field, _, _ in line.settings.found}
        found: list[list[str]] = []
        shares = row["shares"]
        old = USE_PARENT if record["shares"] == "parent" else record["shares"]
        new = USE_PARENT if shares == "parent" else shares
        if new is not None and new != old:
            self._tell("Changed fairshare", kind, name, f"{old:>8} -> {new}", quiet=quiet)
            found += [list(one) for one in line.settings.found if one[0] == "Fairshare"]
        for limit in LIMITS:
            before, after = (_told(limit, one, self._numbers) for one in (record, row))
            if row.get(limit.key) in (None, {}) or before == after:
                continue
            self._tell(f"Changed {limit.label}", kind, name, f"{before:>8} -> {after}", quiet=quiet)
            found += [list(one) for one in line.settings.found if one[0] in _fields_of(limit)]
        default = row["def_qos"]
        if default and default != record["def_qos"] and "DefaultQOS" in given:
            if since(self.session.release, "dumps_hold_qos"):
                self._tell("Set DefaultQOS", kind, name, f"{default:>8}", quiet=quiet)
            found.append(["DefaultQOS", "", default])
        added = sorted(set(row["qos"]) - set(record["qos_raw"]))
        if added:
            self._tell("Added QOS", kind, name, f"{','.join(added):>8}", quiet=quiet)
            # names that the record has are not sent; a list without signs loses them so (_mod_assoc)
            found.append(["QOS", "", ",".join(added)])
        return found

    def _row(self, line: Line) -> Record:
        """Return the settings of a line as a record of the table; what is not there is None."""
        row: Record = {"shares": None, "qos": [], "def_qos": ""}
        for field, _, text in line.settings.found:
            if field == "Fairshare":
                row["shares"] = "parent" if text == "parent" else int(text)
            elif field == "QOS":
                row["qos"] = sorted(text.split(",")) if text else []
            elif field == "DefaultQOS":
                row["def_qos"] = text
            else:
                limit = next((one for one in LIMITS if field in _fields_of(one)), None)
                if limit is not None:
                    row[limit.key] = _read(limit, text)
        return row

    # -- showing ------------------------------------------------------------------------------------------------------

    def show_new(self) -> None:
        out = self.session.io.out
        if self._new_accounts:
            out("Accounts\n")
            fields = columns(self.session, ["Name", "Description", "Organization", "QOS"])
            table(self.session, fields, self._new_accounts, {
                "name": of("account"), "description": of("description"), "org": of("organization"), "qos": lambda r: "",
            })  # fmt: skip
            out(_RULE)
        if self._rows["account"]:
            out("Account Associations\n")
            self._table(self._rows["account"], "Account", "ParentName")
            out(_LONG_RULE)
        if self._new_users:
            out("Users\n")
            fields = columns(self.session, ["Name", "DefaultAccount", "DefaultWCKey", "QOS", "AdminLevel",
                                            "Coordinators"])  # fmt: skip
            table(self.session, fields, self._new_users.values(), {
                "name": lambda r: r["user"], "dacct": lambda r: r["default_account"], "dwckey": lambda r: "",
                "qos": lambda r: "", "admin": lambda r: r["admin_level"], "coords": lambda r: r["coordinates"],
            })  # fmt: skip
            out(_RULE)
        if self._rows["user"]:
            out("User Associations\n")
            self._table(self._rows["user"], "User", "Account")
            out(_LONG_RULE)

    def show_qos(self) -> None:
        """Show the table of new QOS, and what changes of others."""
        out = self.session.io.out
        if self._new_qos:
            out("QOS\n")
            rows = [_qos_row(one) for one in self._new_qos]
            table(self.session, columns(self.session, list(_QOS_COLUMNS)), rows,
                  qos_columns(self.session.release))  # fmt: skip
            out(_LONG_RULE)
        out("".join(self._later))

    def _table(self, rows: list[Record], *first: str) -> None:
        table(self.session, columns(self.session, [*first, *_COLUMNS]), rows, ASSOCIATION)


def _fields_of(limit: Limit) -> tuple[str, ...]:
    """Return the database's names of a limit, and of its parts: GrpCPUs is one of GrpTRES."""
    return tuple(row.conf for row in records.ASSOCIATION if row.name == limit.key and row.conf)


def _read(limit: Limit, text: str) -> Any:
    if limit.kind == TRES:
        return {name: count for name, count in parse_tres(text).items() if count is not None} if text else {}
    if limit.key.endswith("_s"):
        return None if text == "-1" else parse_time_limit(text)
    return int(text) if int(text) >= 0 else None


def _told(limit: Limit, record: Record, numbers: dict[str, int]) -> str:
    """Return a limit in a line that tells a change: TRES by number, -1 for none."""
    if limit.kind == TRES:
        counts = record.get(limit.key) or {}
        text = tres_names(counts, numbers)
        for name, number in numbers.items():
            text = ",".join(f"{number}={part.partition('=')[2]}" if part.partition("=")[0] == name else part
                            for part in text.split(","))  # fmt: skip
        return text or "(null)"
    return value_of(limit, record, numbers) or "-1"


def _qos_value(field: str, record: Record) -> str:
    """Return what a QOS has of a setting, as it is told."""
    names = {"MaxJobsPerUser": "MaxJobsPU", "MaxJobsPerAccount": "MaxJobsPA", "MaxSubmitJobsPerUser": "MaxSubmitJobsPU",
             "MaxSubmitJobsPerAccount": "MaxSubmitJobsPA"}  # fmt: skip
    if field == "Priority":
        return str(record["priority"])
    limit = next((one for one in QOS_LIMITS if one.option == names.get(field, field)), None)
    return "" if limit is None else value_of(limit, record, {}) or ""


def _qos_row(new: Record) -> Record:
    """Return a new QOS as the table of QOS has it."""
    row: Record = {limit.key: None for limit in QOS_LIMITS}
    row |= {"name": new["name"], "priority": None, "flags": [], "preempt": [], "preempt_mode": "",
            "preempt_exempt_time_s": None, "usage_factor": None, "usage_threshold": None}  # fmt: skip
    for field, _, text in new["line"].settings.found:
        if field == "Priority":
            row["priority"] = int(text)
        elif field == "Flags":
            row["flags"] = text.split(",")
        elif field == "Preempt":
            row["preempt"] = text.split(",")
        for limit in QOS_LIMITS:
            if field in (limit.option, limit.option.replace("PU", "PerUser").replace("PA", "PerAccount")):
                row[limit.key] = _read(limit, text) if limit.kind != "factor" else float(text)
    return row


def together(asked: Sequence[Record]) -> list[Record]:
    """Join new users that follow each other and differ only in their name into one request.

    >>> [one["names"] for one in together([{"action": "add_user", "names": [name], "settings": []} for name in "abc"])]
    [['a', 'b', 'c']]
    """
    found: list[Record] = []
    for one in asked:
        last = found[-1] if found else {}
        alike = one["action"] == "add_user" and {**one, "names": None} == {**last, "names": None}
        if alike and len(last["names"]) < _MOST_NAMES:
            last["names"].extend(one["names"])
        else:
            found.append({**one, "names": list(one["names"])} if one["action"] == "add_user" else one)
    return found
