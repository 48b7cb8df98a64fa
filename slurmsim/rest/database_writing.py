"""POST and DELETE below ``/slurmdb``: each object is one change of the database, carried out like sacctmgr's.

What is refused of the third object of a list leaves the first two made, as in Slurm. Which function an error comes
from, and how it is called, is what the releases say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.protocol import DENIED, Refusal
from slurmsim.release_changes import since
from slurmsim.rest import database_tables as tables
from slurmsim.rest.body import Body, Table, read_body
from slurmsim.rest.messages import BAD_QUERY, NOT_MODELLED, Found, Rejected

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

Record = dict[str, Any]
ACTIVE = (7001, "Job(s) active, cancel job(s) before remove")
DEFAULT = (7009, "You can not remove the default account of a user")
EMPTY = (2162, "Empty list")
MANY = (9210, "Request matched more than one object to modify. Modifications must only apply to a single object. Try "
              "adding more properties to make update match a unique object.")  # fmt: skip
UNNAMED = (9211, "Request matched more than one object to query. Request is limited to query of a single matching "
                 "object.")  # fmt: skip
_ONLY = "Only admins/operators/coordinators can add accounts"


def named(call: Call, function: str, *, parenthesis: bool = False) -> str:
    """How a function of slurmdb's library is called in messages: 24.11 adds an address, which is 0 here."""
    if since(call.release, "refusals_are_unprocessable"):
        return f"{function}()" if parenthesis else function
    return f"{function}(0x0)"


def failed(call: Call, function: str, error: tuple[int, str], source: str, **entries: Any) -> Rejected:
    """Return what is said where a function that adds or removes fails."""
    name = named(call, function, parenthesis=function.endswith("_add"))
    status = 500 if error[0] == -1 else None
    return Rejected(f"{name} failed", *error, source, status, entries)


def nothing(call: Call, function: str, source: str) -> dict[str, str]:
    """Return the warning where a function finds nothing."""
    return {"description": f"{named(call, function, parenthesis=True)} found nothing", "source": source}


def body_of(call: Call, table: Table, name: str) -> tuple[Body, Record]:
    """Return the body, read as the table says. Raises Rejected."""

    def qos() -> list[str]:
        return [pair[0] for pair in call.client.call("qos_ids")["ids"]]

    return read_body(call, table, name, qos)


def change(call: Call, action: str, **arguments: Any) -> Record:
    """One change, made for good once this returns. Raises Refusal."""
    kept = {key: value for key, value in arguments.items() if value is not None}
    found: Record = call.client.call("account_change", action=action, **kept)
    return found


def each(call: Call, function: str, source: str, objects: list[Record], make: Callable[[Record], Any]) -> None:
    """Make each object. Raises Rejected."""
    for one in objects:
        try:
            make(one)
        except Refusal as refusal:
            raise failed(call, function, call.error_of(refusal), source) from None


# -- accounts, users, associations ------------------------------------------------------------------------------------


def post_accounts(call: Call) -> Found:
    """POST accounts: made, or what is said of them changed."""
    body, found = body_of(call, tables.listed("accounts", tables.ACCOUNT, "ACCOUNT"), "OPENAPI_ACCOUNTS_RESP")
    accounts(call, found["accounts"])
    return Found({}, warnings=body.warnings)


def accounts(call: Call, records: list[Record]) -> None:
    function, source = "slurmdb_accounts_add", "_foreach_update_acct"

    def make(one: Record) -> None:
        if not one["name"] or not one["description"] or not one["organization"]:
            raise failed(call, function, (-1, "Unspecified error"), source)
        coordinators = [c["name"] for c in one.get("coordinators") or ()]
        change(call, "put_account", object=one["name"], description=one["description"],
               organization=one["organization"], coordinators=coordinators)  # fmt: skip

    each(call, function, source, records, make)


def post_users(call: Call) -> Found:
    """POST users: made, or their level and defaults changed."""
    body, found = body_of(call, tables.listed("users", tables.USER, "USER"), "OPENAPI_USERS_RESP")
    source = "_foreach_update_user"

    def make(one: Record) -> None:
        for kind, end in (("associations", "associations"), ("coordinators", "coordinators or accounts")):
            if one.get(kind):
                body.warn(f"User {one['name']} {kind} list ignored. They must be set via the {end} end point.", source)
        if not one["name"]:
            raise failed(call, "slurmdb_users_add", (-1, "Unspecified error"), source)
        default = one.get("default") or {}
        change(call, "put_user", object=one["name"], admin_level=next(iter(one.get("administrator_level") or ()), None),
               default_account=default.get("account"), default_wckey=default.get("wckey"))  # fmt: skip
        for wckey in one.get("wckeys") or ():
            change(call, "put_wckey", object=wckey["name"], user=one["name"])

    each(call, "slurmdb_users_add", source, found["users"], make)
    return Found({}, warnings=body.warnings)


def post_associations(call: Call) -> Found:
    """POST associations: made, or their limits changed; an empty user stands for the account's own."""
    table = tables.listed("associations", tables.ASSOCIATION, "ASSOC")
    body, found = body_of(call, table, "OPENAPI_ASSOCS_RESP")
    cluster = _cluster(call)

    def make(one: Record) -> None:
        if not one.get("account") or one.get("cluster", "").lower() != cluster.lower():
            return  # nothing, and nothing is said
        change(call, "put_association", account=one["account"], user=one["user"], partition=one.get("partition"),
               settings=list(tables.settings(one)), is_default=one.get("is_default"))  # fmt: skip

    each(call, "slurmdb_associations_add", "_foreach_update_assoc", found["associations"], make)
    return Found({}, warnings=body.warnings)


def _cluster(call: Call) -> str:
    return str(call.client.call("hello")["cluster"])


def _known(call: Call, kind: str) -> list[Record]:
    found: list[Record] = call.client.call("account_list", kind=kind)["records"]
    return found


def post_users_association(call: Call) -> Found:
    """POST users_association: users and what they may use, in one."""
    source = "_add_users_association"
    body, found = body_of(call, tables.condition(("users",), needed=True), "OPENAPI_USERS_ADD_COND_RESP")
    cond, said = found["association_condition"], found["user"]
    if not cond.get("accounts") and not cond.get("wckeys"):
        raise Rejected("Need name of account(s) or wckey(s) to add", *UNNAMED, source, 500, {"added_users": ""})
    level = next(iter(said.get("adminlevel") or ()), "")
    settings = list(tables.settings(cond.get("association") or {}))
    asked: Record = {
        "names": cond["users"], "accounts": cond.get("accounts") or [], "partitions": cond.get("partitions") or [""],
        "default_account": said.get("defaultaccount") or "", "admin_level": level, "settings": settings,
    }  # fmt: skip
    text, new = _new_users(call, asked, said, cond.get("wckeys") or [])
    try:
        # without accounts no right would be checked: for WCKeys alone that of the root is
        call.client.call("account_check", action="add_user", **{**asked, "accounts": asked["accounts"] or ["root"]})
        if not new:
            return Found({}, status=304)
        change(call, "add_user", **asked)
        for user in cond["users"]:
            for wckey in cond.get("wckeys") or ():
                change(call, "put_wckey", object=wckey, user=user)
            if said.get("defaultwckey"):
                change(call, "put_user", object=user, default_wckey=said["defaultwckey"])
    except Refusal as refusal:
        told = _ONLY if refusal.text == DENIED else refusal.text
        raise Rejected(told, call.number_of(refusal), refusal.text, "slurmdb_users_add_cond",
                       entries={"added_users": told}) from None  # fmt: skip
    return Found({"added_users": text}, warnings=body.warnings)


def _new_users(call: Call, asked: Record, said: Record, wckeys: list[str]) -> tuple[str, bool]:
    """Return what slurmdbd says it adds, and whether that is anything."""
    cluster = _cluster(call)
    known = {one["user"] for one in _known(call, "user")}
    names = [name for name in asked["names"] if name not in known]
    lines, after = _new_lines(call, asked, cluster)
    text = "".join([" Adding User(s)\n", *(f"  {name}\n" for name in names), " Settings\n"]) if names else ""
    settings = (("Default Account", said.get("defaultaccount")), ("Default WCKey  ", said.get("defaultwckey")),
                ("Admin Level    ", asked["admin_level"]))  # fmt: skip
    text += "".join(f"  {title} = {value}\n" for title, value in settings if names and value)
    text += "".join([" Associations =\n", *lines]) if lines else ""
    if wckeys:
        text += " Wckey(s)\n" + "".join(
            f"  C = {cluster:<10.10} W = {key:<10.10} U = {user:<9.9}\n" for key in wckeys for user in asked["names"]
        )
    return text + "".join(after), bool(lines or wckeys)


def _new_lines(call: Call, asked: Record, cluster: str) -> tuple[list[str], list[str]]:
    """Return a line for each new association, and a line for each unknown account."""
    associations = _known(call, "association")
    accounts = {one["account"] for one in associations if not one["user"]}
    there = {(one["account"], one["user"] or "", one["partition"] or "") for one in associations}
    lines, missing = [], []
    for account in asked["accounts"]:
        if account not in accounts:
            missing.append(f"No account {account} on cluster {cluster}, skipping.\n")
            continue
        for user in asked["names"]:
            for partition in asked["partitions"]:
                if (account, user, partition) not in there:
                    tail = f" P = {partition}" if partition else ""
                    lines.append(f"  C = {cluster:<10.10} A = {account:<20.20} U = {user:<9.9}{tail}\n")
    return lines, missing


def post_accounts_association(call: Call) -> Found:
    """POST accounts_association: accounts and their own associations, in one."""
    function, source = "slurmdb_accounts_add_cond", "_add_accounts_association"
    body, found = body_of(call, tables.condition((), needed=call.version >= 44), "OPENAPI_ACCOUNTS_ADD_COND_RESP")
    cond, said = found.get("association_condition") or {}, found.get("account") or {}
    cluster, names = _cluster(call), cond.get("accounts") or []

    def refused(told: str, error: tuple[int, str]) -> Rejected:
        return Rejected(f"{function}() failed", *error, source, entries={"added_accounts": told})

    if "association_condition" not in found and since(call.release, "refusals_are_unprocessable"):
        rejected = refused("Missing needed association condition to add accounts", (22, "Invalid argument"))
        rejected.status = 500
        raise rejected
    if not names:
        raise refused(EMPTY[1], EMPTY)
    there = {one["account"] for one in _known(call, "association")}
    limits = dict(cond.get("association") or {})
    parent = limits.pop("parent", "") or "root"
    new = [name for name in dict.fromkeys(names) if name not in there]
    if new and parent not in there:
        raise refused(f"No parent account '{parent}' on cluster '{cluster}'",
                      (2046, "Invalid parent account specified"))  # fmt: skip
    known = {one["account"] for one in _known(call, "account")}
    asked = {"names": new, "parent": parent, "settings": list(tables.settings(limits)),
             **{key: said[key] for key in ("description", "organization") if said.get(key)}}  # fmt: skip
    try:
        call.client.call("account_check", action="add_account", **asked)
        if not new:
            return Found({}, status=304)
        change(call, "add_account", **asked)
    except Refusal as refusal:
        error = (call.number_of(refusal), refusal.text)
        raise refused(_ONLY if refusal.text == DENIED else refusal.text, error) from None
    text = _new_accounts([name for name in new if name not in known], said)
    text += " Associations =\n" + "".join(f"  C = {cluster:<10.10} A = {name:<20.20}\n" for name in new)
    return Found({"added_accounts": text}, warnings=body.warnings)


def _new_accounts(names: list[str], said: Record) -> str:
    """Return what slurmdbd says of accounts that it adds."""
    if not names:
        return ""
    text = "".join([" Adding Account(s)\n", *(f"  {name}\n" for name in names), " Settings\n"])
    text += f"  Description     = {said.get('description') or 'Account Name'}\n"
    return text + f"  Organization    = {said.get('organization') or 'Parent/Account Name'}\n"


# -- QOS, clusters, TRES, WCKeys, all at once -------------------------------------------------------------------------


def post_qos(call: Call) -> Found:
    """POST qos: made, or changed."""
    body, found = body_of(call, tables.listed("qos", tables.QOS, "QOS"), "OPENAPI_SLURMDBD_QOS_RESP")
    source = "_foreach_update_qos"

    def make(one: Record) -> None:
        if not one.get("name"):
            raise Rejected("Cannot create a QOS without a name", *BAD_QUERY, source, 422)
        change(call, "put_qos", object=one["name"], description=one.get("description"),
               settings=list(tables.settings(one)))  # fmt: skip

    each(call, "slurmdb_qos_add", source, found["qos"], make)
    return Found({}, warnings=body.warnings)


def post_clusters(call: Call) -> Found:
    """POST clusters: the one there is, and others that share its resources."""
    body, found = body_of(call, tables.listed("clusters", tables.CLUSTER, "CLUSTER_REC"), "OPENAPI_CLUSTERS_RESP")
    _clusters(call, found["clusters"])
    return Found({}, warnings=body.warnings)


def _clusters(call: Call, records: list[Record]) -> None:
    function, source = "slurmdb_clusters_add", "update_clusters"
    if not call.client.call("hello")["operator"]:
        raise failed(call, function, (2002, DENIED), source)
    if not records:
        raise failed(call, function, EMPTY, source)
    own = _cluster(call)
    others = [one["name"].lower() for one in records if one["name"].lower() != own.lower()]
    if others:
        _change_clusters(call, "add_clusters", others, function, source)


def _change_clusters(call: Call, action: str, names: list[str], function: str, source: str) -> list[str]:
    try:
        return list(call.client.call("resource_change", action=action, names=names)["objects"])
    except Refusal as refusal:
        raise failed(call, function, (call.number_of(refusal), refusal.text), source) from None


def delete_cluster(call: Call) -> Found:
    """DELETE cluster/{name}: one that shares resources, not the one that runs."""
    name, source = call.parts["name"], "_delete_cluster"
    if not call.client.call("hello")["operator"]:
        raise failed(call, "slurmdb_clusters_remove", (2002, DENIED), source)
    if name.lower() != _cluster(call).lower():
        gone = _change_clusters(call, "delete_clusters", [name.lower()], "slurmdb_clusters_remove", source)
        return Found({"deleted_clusters": gone}) if gone else Found({}, status=304)
    answer = call.client.call("account_check", action="delete", kind="account", cond={}, keep=True)
    if answer.get("error") == ACTIVE[1]:
        raise failed(call, "slurmdb_clusters_remove", ACTIVE, source)
    raise Rejected(f"cluster {name}: slurmsim has one cluster", *NOT_MODELLED, source, 501)


def post_tres(call: Call) -> Found:
    """POST tres: Slurm does not take it either."""
    raise Rejected("Updating TRES is not currently supported", *NOT_MODELLED, "op_handler_tres")


def post_wckeys(call: Call) -> Found:
    """POST wckeys."""
    body, found = body_of(call, tables.listed("wckeys", tables.WCKEY, "WCKEY"), "OPENAPI_WCKEY_RESP")

    def make(one: Record) -> None:
        change(call, "put_wckey", object=one["name"], user=one["user"])

    each(call, "slurmdb_wckeys_add", "update_wckeys", found["wckeys"], make)
    return Found({}, warnings=body.warnings)


def delete_wckey(call: Call) -> Found:
    """DELETE wckey/{id}: by its name, as in Slurm; nothing is found by a number."""
    function, source = "slurmdb_wckeys_remove", "_delete_wckey"
    try:
        gone = change(call, "delete_wckey", object=call.parts["id"])["objects"]
    except Refusal as refusal:
        raise failed(call, function, (call.number_of(refusal), refusal.text), source, deleted_wckeys=[]) from None
    warnings = [] if gone else [nothing(call, function, source)]
    return Found({"deleted_wckeys": gone}, warnings=warnings)


def post_config(call: Call) -> Found:
    """POST config: all of it is read, and Slurm carries out the clusters and nothing behind them."""
    lists = (("clusters", tables.CLUSTER, "CLUSTER_REC"), ("accounts", tables.ACCOUNT, "ACCOUNT"),
             ("users", tables.USER, "USER"), ("qos", tables.QOS, "QOS"), ("wckeys", tables.WCKEY, "WCKEY"),
             ("associations", tables.ASSOCIATION, "ASSOC"))  # fmt: skip
    table: dict[str, Any] = {}
    for key, rows, name in lists:
        table |= tables.listed(key, rows, name, required=False)
    body, found = body_of(call, table, "OPENAPI_SLURMDBD_CONFIG_RESP")
    _clusters(call, found.get("clusters") or [])
    return Found({}, warnings=body.warnings)


# -- deletions --------------------------------------------------------------------------------------------------------


def _deleted(call: Call, function: str, source: str, kind: str, name: str, key: str) -> Found:
    """Delete an account or a user, with associations or without."""
    try:
        answer = change(call, "delete", kind=kind, cond={f"{kind}s": [name]}, whole=True)
        _check(call, answer, function, source)
        found = answer["objects"] or change(call, f"delete_{kind}", object=name)["objects"]
    except Refusal as refusal:
        raise failed(call, function, (call.number_of(refusal), refusal.text), source) from None
    return Found({key: found}) if found else Found({}, status=304)


def _check(call: Call, answer: Record, function: str, source: str) -> None:
    """Raise Rejected for what jobs or defaults keep."""
    for error in (ACTIVE, DEFAULT):
        if answer.get("error") == error[1]:
            raise failed(call, function, error, source)


def delete_account(call: Call) -> Found:
    """DELETE account/{name}."""
    name = call.parts["name"]
    return _deleted(call, "slurmdb_accounts_remove", "_delete_account", "account", name, "removed_accounts")


def delete_user(call: Call) -> Found:
    """DELETE user/{name}."""
    return _deleted(call, "slurmdb_users_remove", "_delete_user", "user", call.parts["name"], "removed_users")


def delete_qos(call: Call) -> Found:
    """DELETE qos/{name}."""
    function, source, name = "slurmdb_qos_remove", "_op_handler_qos", call.parts["name"]
    try:
        answer = change(call, "delete_qos", cond={"names": [name]}, force=True)
    except Refusal as refusal:
        raise failed(call, function, (call.number_of(refusal), refusal.text), source, removed_qos=[]) from None
    if answer.get("error"):
        raise failed(call, function, ACTIVE, source, removed_qos=[])
    if not answer["objects"] and since(call.release, "refusals_are_unprocessable"):
        return Found({}, status=304)
    warnings = [] if answer["objects"] else [nothing(call, function, source)]
    return Found({"removed_qos": answer["objects"]}, warnings=warnings)


_CONDITIONS = {"account": "accounts", "user": "users", "partition": "partitions", "cluster": "clusters"}


def _condition(call: Call) -> Record:
    return {
        ours: [word for word in call.query[theirs].split(",") if word]
        for theirs, ours in _CONDITIONS.items() if call.query.get(theirs)
    }  # fmt: skip


def delete_associations(call: Call) -> Found:
    """DELETE associations: all that the query chooses, with what is below; their accounts and users stay."""
    return _delete_associations(call, only_one=False)


def delete_association(call: Call) -> Found:
    """DELETE association: the one that the query chooses."""
    return _delete_associations(call, only_one=True)


def _delete_associations(call: Call, *, only_one: bool) -> Found:
    function, source = "slurmdb_associations_remove", "_delete_assoc"
    cond = _condition(call)
    kind = "user" if cond.get("users") or cond.get("partitions") else "account"
    try:
        tried = call.client.call("account_check", action="delete", kind=kind, cond=cond, keep=True)
        _check(call, tried, function, source)
        if only_one and len(tried["objects"]) > 1:
            raise Rejected("ambiguous request: More than 1 association would have been deleted.", *MANY, source, 500)
        found = change(call, "delete", kind=kind, cond=cond, keep=True)["objects"] if tried["objects"] else []
    except Refusal as refusal:
        rejected = failed(call, function, (call.number_of(refusal), refusal.text), source)
        rejected.more.append({**rejected.error, "description": "remove associations failed"})
        raise rejected from None
    except Rejected as rejected:
        if rejected.error["error_number"] != MANY[0]:
            rejected.more.append({**rejected.error, "description": "remove associations failed"})
        raise
    return Found({"removed_associations": [_short(one) for one in found]}) if found else Found({}, status=304)


def _short(text: str) -> str:
    """Return an association as slurmdbd tells of one that is gone: its account takes ten places, not twenty."""
    head, mark, rest = text.partition(" A = ")
    account, other, tail = rest.partition(" U = ")
    return f"{head}{mark}{account.rstrip():<10}{other}{tail}"
