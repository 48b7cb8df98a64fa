"""``scontrol show assoc_mgr``: users, associations and QOS, each limit with what counts against it in brackets.

Mirrors info_assoc_mgr.c (scontrol, 22.05).
"""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol.session import Session
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Words = Sequence[str]
    Row = dict[str, Any]
_TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
_KINDS = ("users", "assoc", "qos")
_FILTERS = ("accounts", "flags", "qos", "users")
_TITLES = {"users": ("User", "users"), "assoc": ("Association", "associations"), "qos": ("QOS", "QOS")}


def show_assoc_mgr(session: Session, words: Words) -> None:
    """``show assoc_mgr [accounts=…] [flags=…] [qos=…] [users=…]``."""
    asked = _asked(session, words)
    if asked is None:
        return
    try:
        answer = session.io.client.call("assoc_mgr", **asked)
    except FAILED_CALLS as error:
        session.complain("slurm_load_assoc_mgr_info error", text_of(error))
        return
    one = session.one_line
    blank = "" if one else "\n"
    session.io.out("Current Association Manager state\n")
    kinds = asked.get("flags") or _KINDS
    for kind in _KINDS:
        title, what = _TITLES[kind]
        if answer[kind]:
            session.io.out(f"{blank}{title} Records\n{blank}")
        elif kind in kinds:
            session.io.out(f"{blank}No {what} currently cached in Slurm.\n{blank}")
        for row in answer[kind]:
            session.io.out(_line(kind, row, session.release, one) + "\n")


def _asked(session: Session, words: Words) -> Row | None:
    """Return what the words ask for; None when they were complained about."""
    asked: Row = {}
    for word in words:
        tag, _, value = word.partition("=")
        if not value:
            session.io.error(f"No value given for option {word}")
            return None
        name = next((name for name in _FILTERS if name.startswith(tag.lower() or "?")), None)
        if name is None:
            session.warn(f"invalid entity: {word} for keyword:show assoc_mgr")
            return None
        if name == "flags":
            found = [kind for kind in _KINDS if kind in value.lower()]
            asked["flags"] = [*asked.get("flags", ()), *found]
            if not asked["flags"]:
                session.io.error(f"invalid flag '{value}', valid options are 'Assoc, QOS, and/or Users'")
                return None
        else:
            asked[name] = [*asked.get(name, ()), *(one for one in value.split(",") if one)]
    return asked


def _line(kind: str, row: Row, release: str, one_line: bool) -> str:
    if kind == "users":
        return (
            f"UserName={row['user']}({row['uid']}) DefAccount={row['default_account'] or ''} "
            f"DefWckey={row['default_wckey'] or ''} AdminLevel={row['admin_level']}"
        )
    lines = _association(row, release) if kind == "assoc" else _qos(row, release, one_line)
    return (" " if one_line else "\n    ").join(lines)


def _association(row: Row, release: str) -> list[str]:
    use, used, share = row["usage"], row["used"], row["share"]
    none = dict.fromkeys(use["tres"], 0)
    user = f"{row['user']}({row['uid']})" if row["user"] else ""
    parent = f"{row['parent']}({row['parent_id']})" if row["parent"] else ""
    order = f"Lineage={row['lineage']}" if since(release, "lineage_of_associations") else f"Lft={row['lft']}"
    threshold = "" if row["min_prio_thresh"] is None else row["min_prio_thresh"]
    wall = "" if row["max_wall"] is None else row["max_wall"]
    most = " ".join(
        f"{name}={'' if limit is None else _against(limit, count)}" for name, limit, count in (
            ("MaxJobs", row["max_jobs"], use["jobs"]), ("MaxJobsAccrue", row["max_jobs_accrue"], use["accrue"]),
            ("MaxSubmitJobs", row["max_submit_jobs"], use["submit"]),
        )
    )  # fmt: skip
    norm = share.get("norm_usage")
    lines = [
        f"ClusterName={row['cluster']} Account={row['account']} UserName={user} Partition={row['partition'] or ''} "
        f"Priority={row['priority'] or 0} ID={row['id']}",
        f"SharesRaw/Norm/Level/Factor={row['raw']}/{share.get('norm_shares', 0.0):.2f}/{row['level']}/"
        f"{share.get('factor', 0.0):.2f}",
        f"UsageRaw/Norm/Efctv={used['raw']:.2f}/{1.0 if norm is None else norm:.2f}/{share.get('effective', 1.0):.2f}",
        f"ParentAccount={parent} {order} DefAssoc={'Yes' if row['is_default'] else 'No'}",
        f"GrpJobs={_against(row['grp_jobs'], use['jobs'])} "
        f"GrpJobsAccrue={_against(row['grp_jobs_accrue'], use['accrue'])}",
        f"GrpSubmitJobs={_against(row['grp_submit_jobs'], use['submit'])} "
        f"GrpWall={_against(row['grp_wall'], format(used['wall'], '.2f'))}",
        f"GrpTRES={_tres(row['grp_tres'], use['tres'])}",
        f"GrpTRESMins={_tres(row['grp_tres_mins'], {**none, **used['mins']})}",
        f"GrpTRESRunMins={_tres(row['grp_tres_run_mins'], use['run_mins'])}",
        f"{most} MaxWallPJ={wall}",
        f"MaxTRESPJ={_plain(row['max_tres'])}",
        f"MaxTRESPN={_plain(row['max_tres_per_node'])}",
        f"MaxTRESMinsPJ={_plain(row['max_tres_mins'])}",
        f"MinPrioThresh={threshold}",
    ]
    if since(release, "comment_of_associations"):
        lines.append(f"Comment={row['comment'] or '(null)'}")
    return lines


def _against(limit: int | None, used: int | str) -> str:
    return f"{'N' if limit is None else limit}({used})"


def _tres(limits: Row, used: Row) -> str:
    extra = [name for name in {**used, **limits} if name not in _TRES]
    return ",".join(f"{name}={_against(limits.get(name), used.get(name, 0))}" for name in (*_TRES, *extra))


def _plain(limits: Row) -> str:
    return ",".join(f"{name}={count}" for name, count in limits.items())


def _jobs(prefix: str, suffix: str, limits: Sequence[int | None], use: Row) -> str:
    names = (f"{prefix}Jobs{suffix}", f"{prefix}JobsAccrue{suffix}", f"{prefix}SubmitJobs{suffix}")
    used = (use["jobs"], use["accrue"], use["submit"])
    return " ".join(f"{name}={_against(most, count)}" for name, most, count in zip(names, limits, used, strict=True))


def _qos(row: Row, release: str, one_line: bool) -> list[str]:
    use, used = row["usage"], row["used"]
    none = dict.fromkeys(use["tres"], 0)
    threshold = "" if row["min_prio_thresh"] is None else row["min_prio_thresh"]
    wall = "" if row["max_wall"] is None else row["max_wall"]
    return [
        f"QOS={row['name']}({row['id']})",
        f"UsageRaw={used['raw']:.6f}",
        f"{_jobs('Grp', '', row['grp'], use)} GrpWall={_against(row['grp_wall'], format(used['wall'], '.2f'))}",
        f"GrpTRES={_tres(row['grp_tres'], use['tres'])}",
        f"GrpTRESMins={_tres(row['grp_tres_mins'], {**none, **used['mins']})}",
        f"GrpTRESRunMins={_tres(row['grp_tres_run_mins'], use['run_mins'])}",
        f"MaxWallPJ={wall}",
        f"MaxTRESPJ={_plain(row['max_tres'])}",
        f"MaxTRESPN={_plain(row['max_tres_per_node'])}",
        f"MaxTRESMinsPJ={_plain(row['max_tres_mins'])}",
        f"MinPrioThresh={threshold} ",
        f"MinTRESPJ={_plain(row['min_tres'])}",
        f"PreemptMode={row['preempt_mode'].upper()}",
        f"Priority={row['priority']}",
        "Account Limits" + _each(row, "accounts", "PA", "per_account", release, one_line),
        "User Limits" + _each(row, "users", "PU", "per_user", release, one_line),
    ]


def _each(row: Row, kind: str, suffix: str, limits: str, release: str, one_line: bool) -> str:
    """Return what each account or user uses of a QOS."""
    text = "=" if one_line else ""
    if not row[kind]:
        return text + ("" if one_line else "\n        ") + f"No {kind.title()}"
    for one in row[kind]:
        name, use = one[0], one[-1]
        if kind == "users":
            name = f"{name}({one[1]})" if since(release, "limited_users_by_name") else one[1]
        low = suffix.lower()
        parts = [
            _jobs("Max", suffix, row[limits], use),
            f"MaxTRES{suffix}={_tres(row[f'max_tres_{low}'], use['tres'])}",
        ]
        if since(release, "run_minutes_in_qos"):
            parts.append(f"MaxTRESRunMins{suffix}={_tres(row[f'max_tres_run_mins_{low}'], use['run_mins'])}")
        if one_line:
            text += f" {name}={{{' '.join(parts)}}}"
        else:
            text += "".join(
                f"\n{indent}{part}" for indent, part in zip((6 * " ", *[8 * " "] * 3), [name, *parts], strict=False)
            )
    return text
