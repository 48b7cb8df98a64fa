"""``scontrol show assoc_mgr flags=qos``: limits of each QOS with what counts against them in brackets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.scontrol_session import Session

Words = Sequence[str]
Row = dict[str, Any]
_TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")


def show_assoc_mgr(session: Session, words: Words) -> None:
    """``show assoc_mgr [flags=...] [qos=...]``: QOS alone are modelled."""
    flags, names = "", None
    for word in words:
        tag, _, value = word.partition("=")
        if tag.lower().startswith("flag"):
            flags = value.lower()
        elif tag.lower().startswith("qos"):
            names = value.split(",")
    if flags != "qos":
        session.code = 1
        session.error("show assoc_mgr: only flags=qos is modelled")
        return
    try:
        rows = session.io.client.call("assoc_mgr")["qos"]
    except FAILED_CALLS as error:
        session.complain("slurm_load_assoc_mgr_info error", text_of(error))
        return
    session.io.out("Current Association Manager state\n")
    if not rows:
        session.io.out("\nNo QOS currently cached in Slurm.\n\n")
        return
    session.io.out("\nQOS Records\n\n")
    for row in rows:
        if names is None or row["name"] in names:
            session.io.out("\n".join(_qos(row, session.release)) + "\n")


def _against(limit: int | None, used: int | str) -> str:
    return f"{'N' if limit is None else limit}({used})"


def _tres(limits: Row, used: Row) -> str:
    extra = sorted(name for name in {**limits, **used} if name not in _TRES)
    return ",".join(f"{name}={_against(limits.get(name), used.get(name, 0))}" for name in (*_TRES, *extra))


def _plain(limits: Row) -> str:
    return ",".join(f"{name}={count}" for name, count in limits.items())


def _jobs(prefix: str, suffix: str, limits: Sequence[int | None], use: Row) -> str:
    names = (f"{prefix}Jobs{suffix}", f"{prefix}JobsAccrue{suffix}", f"{prefix}SubmitJobs{suffix}")
    used = (use["jobs"], use["accrue"], use["submit"])
    return " ".join(f"{name}={_against(most, count)}" for name, most, count in zip(names, limits, used, strict=True))


def _qos(row: Row, release: str) -> list[str]:
    use = row["usage"]
    threshold = "" if row["min_prio_thresh"] is None else row["min_prio_thresh"]
    wall = "" if row["max_wall"] is None else row["max_wall"]
    return [
        f"QOS={row['name']}({row['id']})",
        "    UsageRaw=0.000000",
        f"    {_jobs('Grp', '', row['grp'], use)} GrpWall={_against(row['grp_wall'], '0.00')}",
        f"    GrpTRES={_tres(row['grp_tres'], use['tres'])}",
        f"    GrpTRESMins={_tres(row['grp_tres_mins'], {})}",
        f"    GrpTRESRunMins={_tres(row['grp_tres_run_mins'], use['run_mins'])}",
        f"    MaxWallPJ={wall}",
        f"    MaxTRESPJ={_plain(row['max_tres'])}",
        f"    MaxTRESPN={_plain(row['max_tres_per_node'])}",
        f"    MaxTRESMinsPJ={_plain(row['max_tres_mins'])}",
        f"    MinPrioThresh={threshold} ",
        f"    MinTRESPJ={_plain(row['min_tres'])}",
        f"    PreemptMode={row['preempt_mode'].upper()}",
        f"    Priority={row['priority']}",
        "    Account Limits",
        *_each(row, "accounts", "PA", "per_account", release),
        "    User Limits",
        *_each(row, "users", "PU", "per_user", release),
    ]


def _each(row: Row, kind: str, suffix: str, limits: str, release: str) -> list[str]:
    if not row[kind]:
        return [f"        No {kind.title()}"]
    lines = []
    for one in row[kind]:
        name, use = one[0], one[-1]
        if kind == "users":
            name = f"{name}({one[1]})" if release >= "24.11" else one[1]
        low = suffix.lower()
        lines += [
            f"      {name}",
            f"        {_jobs('Max', suffix, row[limits], use)}",
            f"        MaxTRES{suffix}={_tres(row[f'max_tres_{low}'], use['tres'])}",
        ]
        if release >= "24.11":
            lines.append(f"        MaxTRESRunMins{suffix}={_tres(row[f'max_tres_run_mins_{low}'], use['run_mins'])}")
    return lines
