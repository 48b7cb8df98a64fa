"""sacctmgr show: what the database has, as tables.

Mirrors the list functions of sacctmgr (22.05; later rows from 24.11 and 26.05).
"""

from __future__ import annotations

import time

from slurmsim.commands.io import FAILED_CALLS
from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.resources import show_resource
from slurmsim.commands.sacctmgr.table import (
    ASSOCIATION,
    PAIRS,
    Asked,
    associations,
    by_tree,
    columns,
    of,
    qos_columns,
    selected,
    table,
    tres_text,
)
from slurmsim.commands.sacctmgr.words import Session
from slurmsim.commands.small.sshare import tree_name
from slurmsim.commands.text.clock_text import date_line, long_clock
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.messages import Stop
from slurmsim.fast_imports import pattern
from slurmsim.release_changes import since
from slurmsim.releases import PROTOCOLS, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from slurmsim.commands.sacctmgr.table import Getter


_T_OF_TIME = pattern(r"(?<=\d)t(?=\d)")
_WITHASSOC = (
    "You requested options that are only valid when querying with the withassoc option.\n"
    "Are you sure you want to continue?"
)
_LIMITS = "GrpJ,GrpN,GrpCPUs,GrpMEM,GrpS,GrpWall,GrpCPUMins,MaxJ,MaxN,MaxCPUs,MaxS,MaxW,MaxCPUMins,QOS,DefaultQOS"
_ASSOC = (
    "Share,Priority,GrpJ,GrpTRES,GrpS,GrpWall,GrpTRESMins,MaxJ,MaxTRES,MaxTRESPerN,MaxS,MaxW,MaxTRESMins,QOS,DefaultQOS,"
    "GrpTRESRunMins"
)
_QOS = {
    "22.05": "Name,Prio,GraceT,Preempt,PreemptE,PreemptM,Flags%40,UsageThres,UsageFactor,GrpTRES,GrpTRESMins,"
    "GrpTRESRunMins,GrpJ,GrpS,GrpW,MaxTRES,MaxTRESPerN,MaxTRESMins,MaxW,MaxTRESPerUser,MaxJobsPerUser,"
    "MaxSubmitJobsPerUser,MaxTRESPerAcct,MaxJobsPerAcct,MaxSubmitJobsPerAcct,MinTRES",
    "24.05": "Name,Prio,GraceT,Preempt,PreemptE,PreemptM,Flags%40,UsageThres,UsageFactor,GrpTRES,GrpTRESMins,"
    "GrpTRESRunMins,GrpJ,GrpS,GrpW,MaxTRES,MaxTRESPerN,MaxTRESMins,MaxW,MaxTRESPerUser,MaxJobsPerUser,"
    "MaxSubmitJobsPerUser,MaxTRESPerAcct,MaxTRESRunMinsPerAcct%22,MaxTRESRunMinsPerUser%22,MaxJobsPerAcct,"
    "MaxSubmitJobsPerAcct,MinTRES",
}
_NO_ENTITY = {
    "22.05": 'No valid entity in list command\nInput line must include "Account", "Association", "Cluster", '
    '"Configuration",\n"Event", "Federation", "Problem", "QOS", "Resource", "Reservation",\n"RunAwayJobs", "Stats", '
    '"Transaction", "TRES", "User", or "WCKey"',
    "24.11": 'No valid entity in list command\nInput line must include "Account", "Association", "Cluster", '
    '"Configuration",\n"Event", "Federation", "Problem", "QOS", "Resource", "Reservation",\n'
    '"RunAwayJobs", "Stats", "Transaction", "TRES", "User", or "WCKey"',
}


def show_account(session: Session, words: list[str]) -> None:
    """Accounts, with their associations if asked for."""
    flags = "WithAssoc:5 WithCoordinators:5 WithDeleted:5 WithRawQOSLevel:5 WOPLimits:4"
    extra = {"descriptions": "Descriptions:1", "organizations": "Organizations:1"}
    asked = Asked(session, words, "Names:1 Accounts:1 Acct:4", flags, extra, bare="accounts")
    if session.code:
        return
    with_assoc = session.with_assoc or "withassoc" in asked.flags
    text = asked.format or ["Acc", "Des", "O"]
    if not asked.format:
        text += ["Cl", "ParentN", "U", "Share", "Priority", *_LIMITS.split(",")] if with_assoc else []
        text += ["Coord"] if "withcoordinators" in asked.flags else []
    if not with_assoc and asked.of_associations and not session.ask(_WITHASSOC):
        session.io.out("Aborted\n")
        return
    fields = columns(session, text)
    records = selected(session.list("account"), asked.cond,
                       {"accounts": "account", "descriptions": "description",
                       "organizations": "organization"})  # fmt: skip
    if session.dump:
        return _dump(session, "accounts", records)
    getters = ASSOCIATION | {
        "account": of("account"), "description": of("description"), "org": of("organization"),
        "coords": lambda r: ",".join(_coordinators(r, session.release)),
    }  # fmt: skip
    if with_assoc:
        known = _in_database(session, asked)
        rows = [{**a, **record} for record in records for a in known if a["account"] == record["account"]]
    else:
        rows = [dict(record, shares=None) for record in records]
    table(session, fields, rows, getters)


def _in_database(session: Session, asked: Asked) -> list[dict[str, Any]]:
    """Return the associations asked for as the database has them: before 24.11 the last child comes first."""
    known = associations(session, {k: v for k, v in asked.cond.items() if k in PAIRS}, asked.flags)
    if since(session.release, "lineage_of_associations"):
        return known
    return sorted(known, key=lambda a: int(a["lft"]))


def show_association(session: Session, words: list[str]) -> None:
    """Associations, as a tree if asked for."""
    flags = "Tree:4 WithDeleted:5 WithRawQOSLevel:5 WithSubAccounts:5 WOPInfo:4 WOPLimits:4 OnlyDefaults:4"
    asked = Asked(session, words, "Ids:1 Associations:2", flags, {}, bare="ids", short=True)
    if session.code:
        return
    tree = "tree" in asked.flags
    text = asked.format or [
        "Cluster", "Account", "User", "Part", *([] if "wopinfo" in asked.flags else _ASSOC.split(","))
    ]  # fmt: skip
    fields = columns(session, text, tree=tree)
    rows = associations(session, asked.cond, asked.flags)
    if session.dump:
        return _dump(session, "associations", rows)
    if not since(session.release, "lineage_of_associations"):
        rows = by_tree(rows)
    getters = dict(ASSOCIATION)
    if tree:
        seen: list[tuple[str, str, str]] = []
        getters["account"] = lambda r: tree_name(
            f"|{r['account']}" if r["user"] else r["account"], r["account"],
            r["account"] if r["user"] else r["parent"], seen,
        )  # fmt: skip
    table(session, fields, rows, getters)


def show_user(session: Session, words: list[str]) -> None:
    """Users, with their associations if asked for."""
    flags = "WithAssoc:5 WithCoordinators:5 WithDeleted:5 WithRawQOSLevel:5 WOPLimits:4"
    extra = {"admin": "AdminLevel:2", "clusters": "Clusters:1", "default_accounts": "DefaultAccount:8",
             "default_wckeys": "DefaultWCKey:8"}  # fmt: skip
    asked = Asked(session, words, "Names:1 Users:1", flags, extra, bare="users")
    if session.code:
        return
    with_assoc = session.with_assoc or "withassoc" in asked.flags
    text = asked.format or _user_columns("withcoordinators" in asked.flags, with_assoc)
    if not with_assoc and asked.of_associations and not session.ask(_WITHASSOC):
        session.io.out("Aborted\n")
        return
    fields = columns(session, text)
    records = selected(session.list("user"), asked.cond, {"users": "user", "default_accounts": "default_account"})
    records = _chosen_users(session, asked, records)
    if session.dump:
        return _dump(session, "users", records)
    getters = ASSOCIATION | {
        "user": of("user"), "dacct": lambda r: r["default_account"] or "", "admin": of("admin_level"),
        "dwckey": lambda r: r["default_wckey"] or "",
        "coords": lambda r: ",".join(sorted([*r["coordinates"], *r["coordinates_below"]])),
    }  # fmt: skip
    if with_assoc:
        known = _in_database(session, asked)
        rows = [{**a, **record} for record in records for a in known if a["user"] == record["user"]]
    else:
        rows = [dict(record) for record in records]
    table(session, fields, rows, getters)


def _chosen_users(session: Session, asked: Asked, records: list[Any]) -> list[Any]:
    """Choose users by their level and by their associations."""
    if asked.cond.get("admin"):
        records = [r for r in records if any(r["admin_level"].lower().startswith(a) for a in asked.cond["admin"])]
    if asked.of_associations or asked.cond.get("clusters"):
        mine = {a["user"] for a in associations(session, asked.cond, asked.flags)}
        records = [record for record in records if record["user"] in mine]
    return records


def _user_columns(coordinators: bool, associations: bool) -> list[str]:
    text = ["U", "DefaultA", "Ad"]
    text += ["Coord"] if coordinators else []
    text += ["Cl", "Acc", "Part", "Share", "Priority", "MaxJ", "MaxN", "MaxCPUs", "MaxS", "MaxW", "MaxCPUMins",
             "QOS", "DefaultQOS"] if associations else []  # fmt: skip
    return text


def show_qos(session: Session, words: list[str]) -> None:
    """QOS."""
    asked = Asked(session, words, "Names:1 QOSLevel:1", "WithDeleted:5",
                  {"descriptions": "Descriptions:1", "ids": "Ids:1", "modes": "PreemptMode:8"})  # fmt: skip
    pairs = {"names": "name", "descriptions": "description", "ids": "id"}
    _list(session, asked, "qos", row(_QOS, session.release), pairs, qos_columns(session.release), dumped=True)


def _list(
    session: Session, asked: Asked, kind: str, text: str, pairs: Mapping[str, str], getters: Mapping[str, Getter], *,
    dumped: bool = False,
) -> None:  # fmt: skip
    """Show the records of a kind that the condition selects, in the columns of `text` unless others are asked for."""
    if session.code:
        return
    fields = columns(session, asked.format or text)
    records = selected(session.list(kind), asked.cond, pairs)
    if session.dump and dumped:
        return _dump(session, kind, records)
    table(session, fields, records, getters)


def show_cluster(session: Session, words: list[str]) -> None:
    extra = {"classification": "Classification:3", "features": "Features:3", "federation": "Federation:3",
             "flags": "Flags:2", "plugin": "PluginIDSelect:1", "rpc": "RPCVersions:1"}  # fmt: skip
    asked = Asked(session, words, "Names:1 Clusters:3", "WithDeleted:5 WithFed:5 WOLimits:3", extra, bare="clusters")
    if session.code:
        return
    text = asked.format or ["Cl", "Controlh", "Controlp", "RPC"]
    if not asked.format:
        if "wolimits" not in asked.flags:
            text += ["Fa", "GrpJ", "GrpTRES", "GrpS", "MaxJ", "MaxTRES", "MaxS", "MaxW", "QOS", "DefaultQOS"]
        if "withfed" in asked.flags:
            text += ["Federation", "ID", "Features", "FedState"]
    fields = columns(session, text)
    records = selected(session.list("cluster"), asked.cond, {"clusters": "cluster"})
    records.sort(key=lambda record: str(record["cluster"]))
    if session.dump:
        return _dump(session, "clusters", records)
    rows = [{**record["association"], **record} for record in records]
    flags = None if since(session.release, "unset_cluster_flags") else ""
    getters = ASSOCIATION | {
        "cluster": of("cluster"), "chost": of("host"), "cport": of("port"),
        "rpc_version": lambda r: 0 if r["away"] else row(PROTOCOLS, session.release),
        "tres": lambda r: tres_text(r["tres"]),
        "nodecnt": lambda r: r["tres"].get("node", 0), "cluster_nodes": of("nodes"), "select": lambda r: 109,
        "class": lambda r: "", "flags": lambda r: "None" if r["away"] else flags, "federation": lambda r: "",
        "id": lambda r: 0, "features": lambda r: "", "fedstate": lambda r: "NA", "fedstateraw": lambda r: 0,
        "cpus": lambda r: "",  # the database knows TRES instead
    }  # fmt: skip
    table(session, fields, rows, getters)


def show_tres(session: Session, words: list[str]) -> None:
    """TRES."""
    asked = Asked(session, words, "Names:1", "WithDeleted:5", {"types": "Types:1", "ids": "Ids:1"}, bare="types")
    pairs = {"types": "type", "ids": "id", "names": "name"}
    _list(session, asked, "tres", "Type,Name%15,ID", pairs, {key: of(key) for key in ("type", "name", "id")},
          dumped=True)  # fmt: skip


def show_event(session: Session, words: list[str]) -> None:
    """Nodes that are down or drained, and the cluster's own events."""
    extra = {"nodes": "Nodes:1", "reasons": "Reason:1", "states": "States:4", "start": "Start:5", "end": "End:1",
             "max_cpus": "MaxCpus:2", "min_cpus": "MinCpus:2", "users": "Users:1", "event": "Event:2"}  # fmt: skip
    asked = Asked(session, words, "Clusters:1 Names:1", "All_Clusters:5 All_Time:5 CondFlags:3", extra, bare="clusters")
    if session.code:
        return
    only = "".join(asked.cond.get("event") or ())
    text = "Cluster,TRES,Start,End,ClusterNodes" if only.startswith("c") else \
        "Cluster,NodeName,Start,End,State,Reason,User"  # fmt: skip
    fields = columns(session, asked.format or text)
    records = selected(session.list("event"), asked.cond, {"clusters": "cluster", "states": "state"})
    now = session.now
    records = _in_period(session, records, asked, now)
    if asked.cond.get("nodes"):
        from slurmsim.hostlist import expand

        wanted = {name for part in asked.cond["nodes"] for name in expand(part)}
        records = [r for r in records if r["node"] in wanted]
    if only.startswith("n"):
        records = [r for r in records if r["node"]]
    elif only.startswith("c"):
        records = [r for r in records if not r["node"]]
    getters: dict[str, Getter] = {
        "cluster": of("cluster"), "nodename": lambda r: r["node"] or "", "timestart": of("start"),
        "timeend": of("end"),
        "state": lambda r: r["state"] or "", "reason": lambda r: r["reason"] or "",
        "user": lambda r: f"{r['user']}({r['uid']})" if r["uid"] is not None else "",
        "tres": lambda r: tres_text(r["tres"]), "cluster_nodes": of("nodes"),
        "event": lambda r: "Node" if r["node"] else "Cluster", "eventraw": lambda r: 2 if r["node"] else 1,
        "duration": lambda r: long_clock(max(0, (r["end"] or now) - r["start"])),
    }  # fmt: skip
    table(session, fields, records, getters)


def _in_period(session: Session, records: list[Any], asked: Asked, now: int) -> list[Any]:
    """Choose what lasted into the period asked for; by default into yesterday and later."""
    start, end = (_date(session, asked.cond.get(key), now) for key in ("start", "end"))
    if not start and "all_time" not in asked.flags:
        day = time.localtime(now)
        start = int(time.mktime((day[0], day[1], day[2] - 1, 0, 0, 0, 0, 0, -1)))
    return [r for r in records if (not end or r["start"] < end) and (not r["end"] or r["end"] >= start)]


def _date(session: Session, words: Any, now: int) -> int:
    """Return the instant that was asked for; what is no date is said, and counts as none."""
    if not words:
        return 0
    try:
        text = _T_OF_TIME.sub("T", ",".join(words))  # conditions are read in lower case
        return parse_date(text, now, past=True)
    except BadDate as error:
        session.io.error(error.line)
        return 0


def show_transaction(session: Session, words: list[str]) -> None:
    """Show the changes made."""
    extra = {"actions": "Action:4", "actors": "Actors:4", "start": "Start:1", "end": "End:1", "clusters": "Clusters:3",
             "accounts": "Accounts:3 Acct:4", "users": "Users:1"}  # fmt: skip
    asked = Asked(session, words, "Ids:1", "WithAssocInfo:5", extra, bare="ids")
    getters = {"ts": of("time"), **{key: of(key) for key in ("action", "actor", "where", "info", "id")}}
    pairs = {"actors": "actor", "ids": "id"}
    _list(session, asked, "transaction", "Time,Action,Actor,Where,Info", pairs, getters)


def show_problem(session: Session, words: list[str]) -> None:
    """Accounts without users, users without a uid."""
    asked = Asked(session, words, "Names:1", "Tree:4", {})
    if session.code:
        return
    fields = columns(session, asked.format or "Cl,Acct,User,Problem")
    records = session.list("problem")
    users = {r["account"] for r in records if r["user"]}
    below = not since(session.release, "problems_of_own_users")
    parents = {r["parent"] for r in records if not r["user"]} if below else set()
    rows: list[dict[str, Any]] = [
        {**r, "problem": "Account has no users"}
        for r in selected(records, asked.cond, {"accounts": "account"})
        if not r["user"] and r["account"] not in users and r["account"] not in parents and r["account"] != "root"
    ]
    names = sorted({r["user"] for r in records if r["user"]})
    ids = session.io.client.call("users", names=names)["uids"] if names else []
    missing = {name for name, uid in zip(names, ids, strict=True) if uid is None}
    of_none = {"cluster": None, "account": None, "problem": "User does not have a uid"}
    rows += [{**one, **of_none} for one in {r["user"]: r for r in records if r["user"] in missing}.values()]
    table(session, fields, rows, ASSOCIATION | {"problem": of("problem")})


def show_reservation(session: Session, words: list[str]) -> None:
    asked = Asked(session, words, "Names:1", "", {"clusters": "Clusters:1", "ids": "Ids:1", "nodes": "Nodes:1",
                                                 "start": "Start:5", "end": "End:1"})  # fmt: skip
    pairs = {"names": "name", "clusters": "cluster", "ids": "id"}
    _list(session, asked, "reservation", "Cluster,Name%15,TRES%30,TimeStart,TimeEnd,Unused", pairs, {
        "cluster": of("cluster"), "name": of("name"), "tres": lambda r: tres_text(r["tres"]),
        "timestart": of("start"), "timeend": of("end"), "id": of("id"), "unused": lambda r: 0.0,
    })  # fmt: skip


def show_runaway(session: Session, words: list[str]) -> None:
    """Jobs the database takes for running although they are not: there are none."""
    if not session.io.client.call("ping")["operator"]:
        session.io.error("sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs")
        raise Stop(1)
    cluster = session.list("cluster")[0]["cluster"]
    session.io.out(f"Runaway Jobs: No runaway jobs found on cluster {cluster}\n")


def show_wckey(session: Session, words: list[str]) -> None:
    """WCKeys and their users. A document is printed even where they may not be seen."""
    extra = {"users": "Users:1", "clusters": "Clusters:3"}
    asked = Asked(session, words, "Names:1 WCKeys:1", "WithDeleted:5 WithUsage:5 WOPInfo:4", extra, bare="names")
    if session.code:
        return
    fields = columns(session, [_column_of_wckeys(word) for word in asked.format] or "WCKey,Cluster,User")
    try:
        records = selected(
            session.list("wckey"), asked.cond, {"names": "wckey", "users": "user", "clusters": "cluster"}
        )
    except Stop:
        if not session.dump:
            raise
        records = []
    if session.dump:
        return _dump(session, "wckeys", records)
    table(session, fields, records, {key: of(key) for key in ("wckey", "cluster", "id", "user")})


def _column_of_wckeys(word: str) -> str:
    """Return a column of the list of WCKeys by the name that all lists have for it."""
    name, percent, size = word.partition("%")
    names = (("WCKeys:1 Names:1", "WCKey"), ("Clusters:2", "Cluster"), ("IDs:1", "ID"), ("Users:1", "User"))
    return next((column for known, column in names if matches(name, known)), name) + percent + size


def _empty(text: str, kind: str = "cluster") -> Callable[[Session, list[str]], None]:
    def show(session: Session, words: list[str]) -> None:
        asked = Asked(session, words, "Names:1", "Tree:4 WithDeleted:5 WithClusters:5", {})
        if session.code:
            return
        session.list(kind)
        table(session, columns(session, asked.format or text), [], {})

    return show


def show_stats(session: Session, words: list[str]) -> None:
    """Print the statistics of slurmdbd, for administrators only. No slurmdbd runs here, so all counters are 0."""
    if not _has_privilege(session):
        session.io.error(
            "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_get_stats: RC:2002 Your user doesn't have privilege "
            "to perform this action"
        )
        raise Stop(1)
    began, now = int(session.list("cluster")[0]["created"]), session.now
    line = "*" * 67 + "\n"
    session.io.out(
        f"{line}sacctmgr show stats output at {date_line(now)} ({now})\n"
        f"Data since                    {date_line(began)} ({began})\n"
        f"All statistics are in microseconds\n{line}\n"
        "Remote Procedure Call statistics by message type\n\nRemote Procedure Call statistics by user\n"
    )


def clear_stats(session: Session) -> None:
    """Forget those statistics: there are none. Who may not is told by the exit code alone (_clear_it)."""
    session.list("cluster")
    if not _has_privilege(session):
        session.code = 1


def _has_privilege(session: Session) -> bool:
    """Return True if slurmdbd takes the user for an administrator; operators are none."""
    return bool(session.io.client.call("hello").get("administrator"))


def show_config(session: Session, words: list[str]) -> None:
    """Show the configuration of slurm.conf and slurmdbd."""
    from slurmsim.commands.sacctmgr import config

    if session.dump and since(session.release, "configuration_as_document"):
        _dump(session, "slurmdbd_conf", [dict(config.database_rows(session))])
    else:
        session.io.out(config.text(session))


_ENTITIES: tuple[tuple[str, Callable[[Session, list[str]], None], str], ...] = (
    ("Accounts:2 Acct:4", show_account, ""), ("Associations:2", show_association, ""),
    ("Clusters:2", show_cluster, ""), ("Configuration:2", show_config, ""), ("Events:1", show_event, ""),
    ("Federation:1", _empty("Federation,Cluster,ID%2,Features,FedState"), ""),
    ("Instances:1", _empty("Cluster,NodeName,Start,End,InstanceId,InstanceType,Extra"), "23.11"),
    ("Problems:1", show_problem, ""), ("RunawayJobs:2 OrphanJobs:1 LostJobs:1", show_runaway, ""),
    ("QOS:1", show_qos, ""), ("Resource:4", show_resource, ""),
    ("Reservations:4 Resv:4", show_reservation, ""), ("Stats:1", show_stats, ""),
    ("Transactions:1 Txn:1", show_transaction, ""), ("Users:1", show_user, ""),
    ("WCKeys:1", show_wckey, ""), ("tres:2", show_tres, ""),
)  # fmt: skip


def show(session: Session, words: list[str]) -> None:
    """``show ENTITY …``."""
    if words:
        for names, do, first in _ENTITIES:
            if first <= session.release and matches(words[0], names):
                do(session, words[1:])
                return
    session.wrong(row(_NO_ENTITY, session.release))


def _dump(session: Session, key: str, records: list[dict[str, Any]]) -> None:
    from slurmsim.commands.json.accounts import dump

    try:
        dump(session, key, records, session.argv)
    except FAILED_CALLS as error:
        session.wrong(f"sacctmgr: error: {error}")


def _coordinators(record: Mapping[str, Any], release: str) -> list[str]:
    """Who looks after an account, itself or one it is in; in older releases who does both is there twice."""
    both = [*record["coordinators"], *record["coordinators_above"]]
    return sorted(set(both) if since(release, "coordinators_once") else both)
