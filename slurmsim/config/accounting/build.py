"""From what was read to `Accounting`: everything that must hold of the whole is checked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields as dataclass_fields
from typing import Any

from slurmsim.config.accounting.draft import NO_QOS, ROOT, ROOT_USER, Draft, Item, Key, fail
from slurmsim.config.accounting.fields import QOS_FLAGS
from slurmsim.config.findings import Place
from slurmsim.errors import nearest
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.tres import MOST

_FLAGS = {flag.lower(): flag for flag in QOS_FLAGS}
_LIMITS = tuple(f.name for f in dataclass_fields(Limits))
# most that a job of a QOS may have, against the least (MinTRES)
_CEILINGS = (("limits.max_tres", "MaxTRESPerJob"), ("limits.grp_tres", "GrpTRES"), ("max_tres_pu", "MaxTRESPerUser"),
             ("max_tres_pa", "MaxTRESPerAccount"))  # fmt: skip


def build(draft: Draft, source: str) -> Accounting:
    """Return the validated data. Raises ConfigError: the first thing that is wrong, with file, line and field."""
    if draft.implicit_qos and "normal" not in draft.qos:
        draft.qos = {"normal": Item(Place()), **draft.qos}
    for name, item in draft.qos.items():
        _check_qos(name, item, draft)
    _check_preemption(draft)
    qos = tuple([_qos(name, item) for name, item in draft.qos.items()])
    root = draft.root(Place())
    draft.associations.setdefault(ROOT_USER, Item(root.place))  # slurmdbd makes it with the cluster
    draft.defaults.setdefault("root", ("root", root.place))
    if "qos" not in root.values and not draft.open_root:
        root.values["qos"] = ("normal",)
    order = _order(draft)
    allowed: dict[str, tuple[str, ...] | None] = {}
    defaults: dict[str, str] = {}
    found = [_association(key, draft, allowed, defaults) for key in order]
    members = {key[:2] for key in order}
    for user, (account, place) in draft.defaults.items():
        if (account, user) not in members:
            fail(place, "DefaultAccount", f"user {user} is not in account {account!r}", "an account of the user")
    return Accounting(tuple(found), qos, source)


# -- QOS ----------------------------------------------------------------------------------------------------------


def _check_qos(name: str, item: Item, draft: Draft) -> None:
    values = item.values
    for flag in values.get("flags") or ():
        if flag not in _FLAGS:
            fail(item.where("flags"), "Flags", f"unknown flag {flag!r}{nearest(flag, QOS_FLAGS)}", ", ".join(QOS_FLAGS))
    for other in values.get("preempt") or ():
        if other not in draft.qos:
            fail(item.where("preempt"), "Preempt", f"no QOS {other!r}{_near(other, draft)}", "a QOS that is defined")
    for tres, least in (values.get("min_tres") or {}).items():
        for target, shown in _CEILINGS:
            most = (values.get(target) or {}).get(tres)
            if most is not None and most < least:
                later = max(item.where("min_tres"), item.where(target), key=lambda p: p.line or 0)
                fail(later, shown, f"{shown}={tres}={most} and MinTRESPerJob={tres}={least} contradict each other: "
                     f"no job could run in QOS {name}")  # fmt: skip
    _never_reached(item, draft, "max_jobs_pu", "max_submit_pu", "MaxJobsPerUser", "MaxSubmitJobsPerUser")
    _never_reached(item, draft, "max_jobs_pa", "max_submit_pa", "MaxJobsPerAccount", "MaxSubmitJobsPerAccount")
    _never_reached(item, draft, "limits.grp_jobs", "limits.grp_submit_jobs", "GrpJobs", "GrpSubmitJobs")


def _never_reached(item: Item, draft: Draft, running: str, submitted: str, name: str, other: str) -> None:
    jobs, both = item.values.get(running), item.values.get(submitted)
    if jobs is not None and both is not None and jobs > both:
        draft.report.warning(item.where(running), name, str(jobs),
                             f"is never reached, as {other}={both} counts running jobs too")  # fmt: skip


def _check_preemption(draft: Draft) -> None:
    chain = preemption_loop(draft)
    if chain:
        fail(draft.qos[chain[-2]].where("preempt"), "Preempt",
             f"QOS could preempt themselves: {' > '.join(chain)}", "no circle")  # fmt: skip


def preemption_loop(draft: Draft) -> list[str]:
    """QOS of which each may preempt the next and the last is the first, also by way of others; none is fine."""
    done: set[str] = set()
    for start in draft.qos:
        path: list[str] = []
        stack = [(start, 0)]
        while stack:
            name, at = stack.pop()
            del path[len(stack) :]
            path.append(name)
            below = draft.qos[name].values.get("preempt") or ()
            if at < len(below):
                stack.append((name, at + 1))
                following = below[at]
                if following in path:
                    return [*path[path.index(following) :], following]
                if following not in done:
                    stack.append((following, 0))
            else:
                done.add(name)
    return []


def _qos(name: str, item: Item) -> Qos:
    values = {key: _held(value) for key, value in item.values.items() if value is not None and "." not in key}
    values["flags"] = frozenset(_FLAGS[flag] for flag in values.get("flags", ()))
    return Qos(name, limits=_limits(item.values), **values)


def _limits(values: Mapping[str, Any]) -> Limits:
    given = {name: values.get(f"limits.{name}") for name in _LIMITS}
    return Limits(**{name: _held(value) for name, value in given.items() if value is not None})


def _held(value: Any) -> Any:
    """Return a limit as the scheduler counts with it: one that no amounts can reach is the largest of them."""
    if not isinstance(value, dict):
        return value
    return {name: min(amount, MOST) for name, amount in value.items()}


# -- associations -------------------------------------------------------------------------------------------------


def _order(draft: Draft) -> list[Key]:
    """As they were created, parents before children, the root first."""
    order: dict[Key, None] = {ROOT: None, ROOT_USER: None}

    def visit(key: Key, below: tuple[str, ...]) -> None:
        if key in order:
            return
        item = draft.associations[key]
        account, user, _ = key
        if user:
            above, field = account, "Account"
        else:
            above, field = item.values.get("parent") or "root", "Parent"
            if above in (*below, account):
                circle = [draft.associations[name, "", ""].where("parent") for name in (*below, account)]
                last = max(circle, key=lambda place: place.line or 0)  # the one that closed it
                fail(last, field, f"account {account} is its own ancestor", "a tree of accounts")
        parent: Key = (above, "", "")
        if parent not in draft.associations:
            known = (k[0] for k in draft.associations if not k[1])
            what = f"user {user} is" if user else f"account {account} is"
            fail(item.where("parent"), field, f"{what} in account {above!r}, which is unknown{nearest(above, known)}",
                 "an account that is defined")  # fmt: skip
        visit(parent, (*below, account) if not user else ())
        order[key] = None

    for key in draft.associations:
        visit(key, ())
    return list(order)


def _association(
    key: Key, draft: Draft, allowed: dict[str, tuple[str, ...] | None], defaults: dict[str, str]
) -> Association:
    """One association. `allowed` and `defaults` have the QOS and the default QOS of the accounts so far."""
    account, user, partition = key
    item = draft.associations[key]
    values = item.values
    parent = "" if user or key == ROOT else str(values.get("parent") or "root")
    above = None if key == ROOT else allowed[account if user else parent]
    own, effective = _qos_list(item, above, draft)
    if not user:
        # `_order` puts accounts before their members, which ask for this
        allowed[account] = effective
    default = values.get("default_qos") or ""
    if default and default not in draft.qos:
        _unknown_qos(item, "default_qos", "DefaultQOS", default, draft)
    inherited = default or ("" if key == ROOT else defaults[account if user else parent])
    if not user:
        defaults[account] = inherited
    if user and inherited and effective is not None and inherited not in effective:
        place, whence = (item.where("default_qos"), "of") if default else (item.place, "inherited by")
        draft.report.warning(place, "DefaultQOS", inherited, f"{whence} user {user} of account {account}, who may not "
                             "use it: ignored, as slurmctld does")  # fmt: skip
    _never_reached(item, draft, "limits.max_jobs", "limits.max_submit_jobs", "MaxJobs", "MaxSubmitJobs")
    _never_reached(item, draft, "limits.grp_jobs", "limits.grp_submit_jobs", "GrpJobs", "GrpSubmitJobs")
    shares = values.get("shares")
    return Association(
        account, user, parent, partition,
        shares=1 if shares is None else shares, priority=values.get("priority"), limits=_limits(values),
        qos=own, default_qos=default, is_default=bool(user) and draft.defaults.get(user, ("",))[0] == account,
    )  # fmt: skip


def _qos_list(
    item: Item, above: tuple[str, ...] | None, draft: Draft
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the association's own list of QOS (None: the inherited one) and the one that counts."""
    tokens = item.values.get("qos") or ()
    if not tokens:
        return None, above
    if tokens == NO_QOS:
        return (), ()
    for token in tokens:
        if token.lstrip("+-") not in draft.qos:
            _unknown_qos(item, "qos", "QOS", token.lstrip("+-"), draft)
    if any(token[0] in "+-" for token in tokens):
        start: Iterable[str] = draft.qos if above is None else above
        names = dict.fromkeys(start)
        for token in tokens:
            if token[0] == "-":
                names.pop(token[1:], None)
            else:
                names[token.lstrip("+")] = None
    else:
        names = dict.fromkeys(tokens)
    return tuple(names), tuple(names)


def _unknown_qos(item: Item, target: str, field: str, name: str, draft: Draft) -> None:
    missing = draft.implicit_qos and set(draft.qos) == {"normal"}
    hint = "a QOS that is defined"
    if missing:
        hint += "; a dump holds no QOS: add the output of sacctmgr show qos -P"
    fail(item.where(target), field, f"no QOS {name!r}{_near(name, draft)}", hint)


def _near(name: str, draft: Draft) -> str:
    return nearest(name, draft.qos)
