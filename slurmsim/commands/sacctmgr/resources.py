"""sacctmgr's resources: licenses on a server, of which each cluster is allowed a part.

Mirrors resource_functions.c of sacctmgr (26.05). 22.05 wants their type, and knows neither flags nor what is consumed;
it counts parts in per cent alone.
"""

from __future__ import annotations

from slurmsim.commands.sacctmgr.config import database_conf
from slurmsim.commands.sacctmgr.fields import matches
from slurmsim.commands.sacctmgr.requests import NOT_ALLOWED, commit, lines_of, plain, reply, tell_refusal
from slurmsim.commands.sacctmgr.table import columns, of, table
from slurmsim.commands.sacctmgr.where_and_set import is_ready, read
from slurmsim.commands.sacctmgr.words import Session, Word, names_in, word_of
from slurmsim.commands.text.values import leading_number
from slurmsim.fast_imports import dataclass, field
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_UNSET = 0xFFFFFFFE
_INFINITE = 0xFFFFFFFF
_ONLY_PER_CENT = 0xFFFE  # what 22.05 takes for a part that is not given
_SERVER = "slurmdb"  # of a resource that names none
_CONDITIONS = (
    ("Names:1", "names"), ("Clusters:1", "clusters"), ("Descriptions:1", "descriptions"), ("Format:1", "format"),
    ("Ids:1", "ids"), ("Allowed:1 PercentAllowed:1", "allowed"), ("ServerType:7", "server_types"),
    ("Server:2", "servers"),
)  # fmt: skip
_NUMBERS = (
    ("Count:3", "count", "count"), ("Allowed:1 PercentAllowed:1", "allowed", "Allowed"),
    ("LastConsumed:8", "last_consumed", "LastConsumed"),
)  # fmt: skip
_TEXTS = (("Server:1", "server"), ("ServerType:1", "server_type"))
_OVER = "You can not allocate more than 100% of a resource"
_NO_CHANGE = "Data has not changed since time specified"
_UNAFFECTED = "Request didn't affect anything"
_OF_ALL = 'Can\'t change "{}" on a cluster-based resource. Remove cluster selection.'
_OF_ONE = 'Can\'t change "{}" without specifying a cluster.'


@dataclass
class _Asked:
    """What the words of a command say."""

    cond: dict[str, Any] = field(default_factory=dict)
    format: list[str] = field(default_factory=list)
    with_clusters: bool = False
    names: list[str] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    new: dict[str, Any] = field(default_factory=dict)
    type: str = ""

    @property
    def has_conditions(self) -> bool:
        return any(self.cond.values())


def _known_flags(session: Session) -> tuple[str, ...]:
    if not since(session.release, "resources_consumed"):
        return ()
    return ("Absolute", "SharedPool") if since(session.release, "shared_pools") else ("Absolute",)


# -- words ----------------------------------------------------------------------------------------------------------


def _where(session: Session, asked: _Asked, word: Word) -> int:
    """Take a condition; return 1 for one that chooses."""
    if not word.equals and matches(word.text, "WithDeleted:5 WithClusters:5"):
        asked.with_clusters |= matches(word.text, "WithClusters:5")
        return 0
    key = "names" if not word.equals else next((key for names, key in _CONDITIONS if matches(word.name, names)), "")
    if key == "format":
        asked.format += names_in(word.value)
    elif key == "clusters":
        found = _clusters(session, word)
        asked.cond.setdefault("clusters", []).extend(found)
        return int(bool(found))
    elif key:
        asked.cond.setdefault(key, []).extend(names_in(word.value))
        return 1
    else:
        session.wrong(f" Unknown condition: {word.text}\n Use keyword 'set' to modify SLURM_PRINT_VALUE")
    return 0


def _clusters(session: Session, word: Word) -> list[str]:
    names = names_in(word.value)
    known = {str(record["cluster"]).lower(): str(record["cluster"]) for record in session.list("cluster")}
    strange = [name for name in names if name not in known]
    for name in strange:
        session.wrong(f" This cluster '{name}' doesn't exist.\n        Contact your admin to add it to accounting.")
    if strange:
        session.wrong(" Need a valid cluster name to add a cluster resource.")
    return [known[name] for name in names if name in known]


def _fact(session: Session, asked: _Asked, word: Word, *, adding: bool) -> int:
    """Take a new value; return 1 for one that changes something."""
    if not word.equals or matches(word.name, "Names:1 Resources:1"):
        asked.names += names_in(word.value, fold=not _keeps_case(session)) if adding else []
        return 0
    if matches(word.name, "Clusters:1"):
        if adding:
            asked.clusters += _clusters(session, word)
        else:
            session.wrong(" Can't modify the cluster of an resource")
        return 0
    if matches(word.name, "Count:3") or not matches(word.name, "Description:1 Flags:2"):
        return _number_or_text(session, asked, word)
    if matches(word.name, "Description:1"):
        asked.new.setdefault("description", word.value.strip("\"'").lower())
        return 1
    return _flags(session, asked, word)


def _keeps_case(session: Session) -> bool:
    """Return True if slurmdbd.conf lets names of resources be as they are written (26.05)."""
    words = str(database_conf(session).get("Parameters") or "").lower()
    keeps = "preservecaseresource" in words or "preservecaseall" in words
    return keeps and since(session.release, "case_of_resources")


def _flags(session: Session, asked: _Asked, word: Word) -> int:
    known = _known_flags(session)
    found = [next((flag for flag in known if flag.lower() == name), "") for name in names_in(word.value)]
    if not found or not all(found):
        session.code = 1
        session.io.out(f" Unknown Server Resource flag used in:\n  '{word.value}'\n Valid Server Resource flags are\n"
                       f" '{','.join(known) or '(null)'}'\n")  # fmt: skip
        return 0
    asked.new |= {"flags": found, "operator": word.operator}
    return 1


def _number_or_text(session: Session, asked: _Asked, word: Word) -> int:
    newer = since(session.release, "resources_consumed")
    numbers = _NUMBERS if newer else (_NUMBERS[0], ("PercentAllowed:1", "allowed", "PercentAllowed"))
    for names, key, shown in numbers:
        if matches(word.name, names):
            value, rest = leading_number(word.value)
            if rest or not word.value:
                session.note(f"sacctmgr: error: Invalid value for {shown} ({word.value})")
                return 0
            asked.new[key] = _INFINITE if value < 0 else min(value, _UNSET)
            return 1
    for names, key in _TEXTS:
        if matches(word.name, names):
            asked.new.setdefault(key, word.value.strip("\"'").lower())
            return 1
    if not matches(word.name, "Type:1"):
        session.code = 1
        session.io.out(f" Unknown option: {word.text}\n Use keyword 'where' to modify condition\n")
    elif not "license".startswith(word.value.strip("\"'").lower()):
        session.wrong(f" Unknown resource type: '{word.value}'  Valid resources is License.")
    else:
        asked.type = "License"
    return 0


# -- add ------------------------------------------------------------------------------------------------------------


def add_resource(session: Session, words: list[str]) -> None:
    """``add resource name=NAME count=N …``."""
    asked = _Asked()
    for word in plain(words):
        _fact(session, asked, word, adding=True)
    if session.code:
        return
    if not asked.names:
        session.wrong(" Need name of resource to add.")
        return
    server = asked.new.get("server") or _SERVER
    known = {(r["name"], r["server"]): r for r in _listed(session, {})}
    chosen = [(name, known.get((name, server))) for name in asked.names]
    if any(_lacks(session, asked, name) for name, found in chosen if found is None):
        return
    chosen = [(name, found) for name, found in chosen if found is None or _fresh(asked, found)]
    if not chosen:
        session.code = 1
        session.io.out(" Nothing new added.\n")
        return
    _add(session, asked, server, chosen)


def _lacks(session: Session, asked: _Asked, name: str) -> bool:
    """Return True, and say so, if something is not given that a new resource needs."""
    lacking = "" if "count" in asked.new else "count"
    if not asked.type and not since(session.release, "resources_consumed"):
        lacking = "type"
    if lacking:
        session.wrong(f" Need to designate a resource {lacking} to initially add '{name}'.")
    return bool(lacking)


def _fresh(asked: _Asked, found: Mapping[str, Any]) -> list[str]:
    return [name for name in asked.clusters if name not in dict(found["clusters"])]


def _add(session: Session, asked: _Asked, server: str, chosen: Sequence[tuple[str, Mapping[str, Any] | None]]) -> None:
    out, new = session.io.out, asked.new
    newer = since(session.release, "resources_consumed")
    part = new.get("allowed")
    shown = f"{_UNSET if part is None else part}" if newer else f"{_ONLY_PER_CENT if part is None else part}%"
    text = ""
    for name, found in chosen:
        fresh = asked.clusters if found is None else _fresh(asked, found)
        if not newer and (message := _too_much(found, len(fresh), part, name, server)):
            session.wrong(message)
            return
        text += f"  {name}@{server}\n" + "".join(f"   Cluster - {cluster}\t{shown}\n" for cluster in fresh)
    out(f" Adding Resource(s)\n{text} Settings\n{_settings(asked, server, chosen[-1], newer=newer)}")
    arguments = {
        "action": "add", "names": [name for name, _ in chosen], "server": server, "clusters": asked.clusters,
        "count": new.get("count", 0),
        **{key: value for key, value in new.items() if key not in ("server", "operator", "count")},
    }  # fmt: skip
    answer = reply(session, "resource_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding system resource: {answer}")
        return
    commit(session, arguments, "resource_change")


def _too_much(found: Mapping[str, Any] | None, count: int, part: int | None, name: str, server: str) -> str:
    """Return what 22.05 itself says of parts that are more than all."""
    each, used = _ONLY_PER_CENT if part is None else part, found["allocated"] if found is not None else 0
    if not count or used + each * count <= 100:
        return ""
    label = f"{'(null)' if found is not None else name}@{server}"
    return (
        f" Adding this {count} clusters to resource {label} at {each}% each , with {used}% already used,  would go "
        "over 100%.  Please redo your math and resubmit."
    )


def _settings(asked: _Asked, server: str, last: tuple[str, Mapping[str, Any] | None], *, newer: bool) -> str:
    """Return the facts of the last one: what is given of a new one, what is known of another."""
    name, found = last
    rows: list[tuple[str, Any]] = [("Name", name if found is None or newer else None), ("Server", server)]
    if found is None:
        new = asked.new
        rows += [("Description", new.get("description") or name), ("ServerType", new.get("server_type")),
                 ("Count", new.get("count")), ("LastConsumed", new.get("last_consumed")),
                 ("Flags", ",".join(new["flags"]) if "flags" in new else None),
                 ("Type", asked.type or "Unknown")]  # fmt: skip
    elif newer:
        rows += [("Count", found["count"]), ("LastConsumed", found["last_consumed"]),
                 ("Flags", ",".join(found["flags"]) or "(null)"), ("Type", "License")]  # fmt: skip
    else:
        rows += [("Type", "License")]
    return "".join(f"  {title:<14} = {value}\n" for title, value in rows if value is not None)


# -- show -----------------------------------------------------------------------------------------------------------


def _listed(session: Session, cond: Mapping[str, Any]) -> list[dict[str, Any]]:
    session.list("cluster")  # which says so where there is no database
    answer = reply(session, "resources", {"cond": cond})
    return [] if isinstance(answer, str) else list(answer["resources"])


def show_resource(session: Session, words: list[str]) -> None:
    """``show resource [NAME…] [withclusters]``: all, or those that belong to clusters, a line a cluster."""
    asked = _Asked()
    for word in plain(words):
        _where(session, asked, word)
    if session.code:
        return
    newer = since(session.release, "resources_consumed")
    text = "Name,Server,Type,Count,LastConsumed,Allocated,ServerType" if newer else (
        "Name,Server,Type,Count,Allocated,ServerType"
    )  # fmt: skip
    text += ",Cluster,Allowed" if asked.with_clusters else ""
    fields = columns(session, asked.format or (text + (",Flags" if newer else "")))
    rows = []
    for record in _listed(session, asked.cond):
        shown = {**record, "flags": ",".join(record["flags"])}
        shown["count"] = None if record["count"] >= _UNSET else record["count"]
        parts = record["clusters"] if asked.with_clusters else [("", 0)]
        rows += [
            {**shown, "cluster": cluster, "allowed": part} for cluster, part in parts
            if not asked.with_clusters or _is_asked(asked, cluster, part)
        ]  # fmt: skip
    keys = ("id", "name", "server", "type", "count", "last_consumed", "allocated", "description", "flags", "cluster",
            "allowed")  # fmt: skip
    table(session, fields, rows, {key: of(key) for key in keys} | {"servertype": of("server_type")})


def _is_asked(asked: _Asked, cluster: str, part: int) -> bool:
    clusters, parts = asked.cond.get("clusters"), asked.cond.get("allowed")
    return (not clusters or cluster in clusters) and (not parts or str(part) in parts)


# -- modify and delete ----------------------------------------------------------------------------------------------


def modify_resource(session: Session, words: list[str]) -> None:
    """``modify resource CONDITION set …``."""
    asked = _Asked()
    found = read(
        session, words, lambda word: _where(session, asked, word),
        lambda word: _fact(session, asked, word, adding=False),
    )  # fmt: skip
    if not is_ready(session, *found):
        return
    refused = _contradiction(session, asked)
    if refused:
        session.note(refused)
        session.code = 1
        return
    new = {key: value for key, value in asked.new.items() if key != "server"}
    if new:
        _modify(session, asked, {"action": "modify", "cond": _condition(asked), "new": new})
    else:
        _nothing_changes(session)


def _contradiction(session: Session, asked: _Asked) -> str:
    """Return why values and clusters do not go together, if they do not."""
    newer = since(session.release, "resources_consumed")
    if asked.cond.get("clusters"):
        wrong = next((key for key in ("count", "last_consumed") if key in asked.new), "")
        return _OF_ALL.format(wrong.replace("_", "")) if wrong else ""
    if "allowed" in asked.new:
        return _OF_ONE.format("allowed" if newer else "percentallowed")
    return ""


def _condition(asked: _Asked) -> dict[str, Any]:
    return {key: values for key, values in asked.cond.items() if values}


def _nothing_changes(session: Session) -> None:
    """Say that the database has nothing to change, as each release does."""
    if not since(session.release, "resources_consumed"):
        session.note(f"sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_res: {_UNAFFECTED} or your user "
                     "doesn't have privilege to perform this action")  # fmt: skip
        _nothing(session, "modified")
        return
    if not since(session.release, "nothing_deleted_deeper"):
        session.note(f"sacctmgr: error: {_UNAFFECTED}")
    session.wrong(f" Error with request: {_NO_CHANGE}")


def _nothing(session: Session, done: str) -> None:
    indent = "  " if since(session.release, "nothing_deleted_deeper") else " "
    session.io.out(f"{indent}Nothing {done}\n")
    session.code = 1


def _modify(session: Session, asked: _Asked, arguments: Mapping[str, Any]) -> None:
    answer = reply(session, "resource_check", arguments)
    if isinstance(answer, str):
        if answer == _NO_CHANGE:
            _nothing_changes(session)
        elif answer == NOT_ALLOWED:
            tell_refusal(session, answer)
        else:
            session.wrong(f"sacctmgr: error: {answer}")
            _show_over(session, asked, whole=answer == _OVER)
        return
    if not answer["objects"]:
        _nothing(session, "modified")
        return
    session.io.out(f" Modified server resource ...\n{lines_of(list(answer['objects']))}")
    commit(session, arguments, "resource_change")


def _show_over(session: Session, asked: _Asked, *, whole: bool) -> None:
    """Show what the parts would come to."""
    part, new = asked.new.get("allowed"), asked.new
    removed = new.get("operator") == "-" and "SharedPool" in new.get("flags", ())
    if not whole or (part is None and not removed):
        return
    lines = [" If change was accepted it would look like this..."]
    for record in _listed(session, {key: value for key, value in _condition(asked).items() if key != "clusters"}):
        sign, total = "" if "Absolute" in record["flags"] else "%", 0
        lines.append(f"  {record['name']}@{record['server']}")
        for cluster, known in record["clusters"]:
            meant = part is not None and (not asked.cond.get("clusters") or cluster in asked.cond["clusters"])
            allowed = int(part) if meant and part is not None else known
            total += allowed
            lines.append(f"   Cluster - {cluster}\t {allowed}{sign}")
        lines.append(f"   total\t\t{total}{sign}")
    session.note("\n".join(lines))


def delete_resource(session: Session, words: list[str]) -> None:
    """``delete resource CONDITION``: of some clusters, or all of it."""
    asked = _Asked()
    for word in plain(words):
        _where(session, asked, word)
    if not asked.has_conditions:
        session.wrong(" No conditions given to remove, not executing.")
        return
    arguments = {"action": "delete", "cond": _condition(asked)}
    answer = reply(session, "resource_check", arguments)
    if isinstance(answer, str):
        tell_refusal(session, answer)
    elif not answer["objects"]:
        _nothing(session, "deleted")
    else:
        session.io.out(f" Deleting resource(s)...\n{lines_of(list(answer['objects']))}")
        commit(session, arguments, "resource_change")


# -- other clusters ---------------------------------------------------------------------------------------------------


def _cluster_names(session: Session, words: list[str], wrong: str) -> list[str]:
    """Return the clusters that are named; `wrong` is said of any other word."""
    names: list[str] = []
    for word in map(word_of, words):
        if not word.equals or matches(word.name, "Names:1 Clusters:3"):
            names += names_in(word.value)
        else:
            session.wrong(wrong.format(word.text))
    return names


def add_cluster(session: Session, words: list[str]) -> None:
    """``add cluster NAME…``: clusters that share resources; slurmsim keeps no accounts and limits of them."""
    known = {str(record["cluster"]).lower() for record in session.list("cluster")}
    names = _cluster_names(
        session, words, "sacctmgr: error: slurmsim keeps no accounts and limits of other clusters: {}"
    )
    if session.code:
        return
    if not names:
        session.wrong(" Need name of cluster to add.")
        return
    for name in (name for name in names if name in known):
        session.io.out(f" This cluster {name} already exists.  Not adding.\n")
    fresh = [name for name in names if name not in known]
    if not fresh:
        session.code = 1
        return
    session.io.out(" Adding Cluster(s)\n" + "".join(f"  Name           = {name}\n" for name in fresh))
    arguments = {"action": "add_clusters", "names": fresh}
    answer = reply(session, "resource_check", arguments)
    if isinstance(answer, str):
        session.wrong(f" Problem adding clusters: {answer}")
        return
    commit(session, arguments, "resource_change")


def delete_cluster(session: Session, words: list[str]) -> None:
    """``delete cluster NAME…``; the cluster itself stays."""
    own, *others = [str(record["cluster"]) for record in session.list("cluster")]
    names = _cluster_names(session, words, " Unknown condition: {}\n Use keyword 'set' to modify value")
    if session.code:
        return
    if not names:
        session.wrong(" No conditions given to remove, not executing.")
        return
    if own.lower() in names:
        session.wrong(f"sacctmgr: error: slurmsim keeps the cluster it runs: {own}")
        return
    arguments = {"action": "delete_clusters", "names": [name for name in others if name in names]}
    answer = reply(session, "resource_check", arguments)
    if isinstance(answer, str):
        tell_refusal(session, answer)
    elif not answer["objects"]:
        session.io.out(" Nothing deleted\n")
        session.code = 1
    else:
        session.io.out(f" Deleting clusters...\n{lines_of(list(answer['objects']))}")
        commit(session, arguments, "resource_change")
