"""What ``scontrol show assoc_mgr`` tells: users, associations and QOS, with what counts against their limits.

Mirrors assoc_mgr_info_get_pack_msg (assoc_mgr.c) and the counters of acct_policy.c (22.05), which count nothing unless
limits are enforced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.bitmap import Bitmap
from slurmsim.core.accounting.fairshare import ShareTree
from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.base.private_data import association_filter, hides
from slurmsim.slurmctld.database import association_records as records
from slurmsim.slurmctld.database.association_lists import counted_gres
from slurmsim.slurmctld.fields.job_fields import billed
from slurmsim.slurmctld.requests.show.priority_info import folded, share_of
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.core.records.associations import Ledger
    from slurmsim.model.accounting import Qos
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Answer = dict[str, Any]
Key = tuple[str, ...] | tuple[str, int]
_RAN = (JobState.RUNNING, JobState.SUSPENDED)
_PARENT = 0x7FFFFFFF  # how Fairshare=parent is written as a number


class _Use:
    """Jobs running, accruing and submitted, their TRES (of nodes the distinct ones), and TRES-seconds still owed."""

    __slots__ = ("accrue", "jobs", "nodes", "owed_s", "submit", "tres")

    def __init__(self, gres: Iterable[str]) -> None:
        self.jobs = self.accrue = self.submit = 0
        self.nodes: Bitmap = 0
        self.tres: dict[str, int] = dict.fromkeys(gres, 0)
        self.owed_s: dict[str, int] = dict.fromkeys(gres, 0)

    def add(self, live: LiveJob, counts: Mapping[str, int], left_s: int) -> None:
        core = live.core
        self.submit += 1
        self.accrue += core.state == JobState.PENDING and bool(core.accrue_time) and bool(core.priority)
        if core.alloc is None or not counts:
            return
        self.jobs += 1
        self.nodes |= core.alloc.mask
        for name, count in counts.items():
            self.tres[name] = self.tres.get(name, 0) + count
            self.owed_s[name] = self.owed_s.get(name, 0) + count * left_s
        self.tres["node"] = self.nodes.bit_count()

    def answer(self) -> Answer:
        return {
            "jobs": self.jobs, "accrue": self.accrue, "submit": self.submit, "tres": self.tres,
            "run_mins": {name: seconds // 60 for name, seconds in self.owed_s.items()},
        }  # fmt: skip


class _Counts:
    """What every association and QOS has in use, and accounts and users within a QOS."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._uses: dict[Key, _Use] = {}
        self._gres = counted_gres(cluster)
        controller = cluster.controller
        self.limits = controller.accounting.limits
        if controller.accounting.limits is None:
            return
        last = controller.accounting.book.last if controller.accounting.book is not None else cluster.now
        for live in cluster.jobs.values():
            core = live.core
            if live.over or core.branch is None:
                continue
            counts: Mapping[str, int] = {}
            left = 0
            if core.state in _RAN and core.alloc is not None:
                counts = {name: int(count) for name, count in controller.state.billing.amounts(core)[1].items()}
                counts["billing"] = int(billed(live, cluster))
                left = max(0, core.time_limit_s - max(0, last - (core.start_time or last)))
            for key in _keys(live):
                self._uses.setdefault(key, _Use(self._gres)).add(live, counts, left)

    def __getitem__(self, key: Key) -> Answer:
        return self._uses.get(key, _Use(self._gres)).answer()


def _keys(live: LiveJob) -> Iterator[Key]:
    core = live.core
    assert core.branch is not None
    for branch in core.branch.path:
        yield "assoc", branch.row
    names = dict.fromkeys(
        [core.qos, *(p.qos.name for p in core.partitions if p.qos is not None)] if core.qos else []
    )  # fmt: skip
    for name in names:
        yield "qos", name
        yield "user", name, core.branch.spec.user
        yield "account", name, core.branch.spec.account


def assoc_mgr(cluster: LiveCluster, arguments: Mapping[str, Any], person: Person) -> Answer:
    """Return the records of the kinds asked for; of some users, accounts and QOS."""
    db = cluster.database
    flags = set(arguments.get("flags") or ("users", "assoc", "qos"))
    users, accounts = (folded(arguments.get(key)) for key in ("users", "accounts"))
    answer: Answer = {"users": [], "assoc": [], "qos": []}
    if not db.exists:
        return answer
    sees = association_filter(cluster, person) if hides(cluster, "usage", person) else None
    private = hides(cluster, "users", person)
    if "users" in flags:
        answer["users"] = [
            {**records.user(db, name), "uid": cluster.people.by_name(name).uid} for name in sorted(db.users)
            if (users is None or name.lower() in users) and (not private or name == person.name)
        ]  # fmt: skip
    counts = _Counts(cluster)
    if "assoc" in flags:
        answer["assoc"] = [
            row for row in _associations(cluster, counts)
            if (users is None or not row["user"] or row["user"].lower() in users)
            and (accounts is None or row["account"].lower() in accounts)
            and (sees is None or sees(row["account"], row["user"]))
        ]  # fmt: skip
    if "qos" in flags:
        answer["qos"] = _qos_records(cluster, counts, arguments.get("qos"))
    return answer


def _used(ledger: Ledger) -> Answer:
    return {
        "raw": ledger.used_s, "wall": ledger.used_wall_s / 60,
        "mins": {name: int(seconds) // 60 for name, seconds in ledger.used_tres_s.items()},
    }  # fmt: skip


def _associations(cluster: LiveCluster, counts: _Counts) -> Iterator[Answer]:
    """Down the tree, users of an account first."""
    db, tree = cluster.database, cluster.controller.state.tree
    if tree is None:
        return
    spans, shares = records.spans(db), ShareTree(tree)
    branches = {(b.spec.account, b.spec.user, b.spec.partition): b for b in tree.branches}
    for key in records.in_order(db):
        branch = branches.get(key)
        if branch is None:
            continue
        row = records.association(db, key, spans[key])
        raw = shares.shares[branch.row]
        row |= {"share": share_of(cluster, branch), "raw": _PARENT if raw < 0 else raw,
                "level": shares.level_shares[branch.row] if branch.parent is not None else 1,
                "uid": cluster.people.by_name(branch.spec.user).uid if branch.spec.user else None,
                "used": _used(branch.ledger), "usage": counts["assoc", branch.row]}  # fmt: skip
        for name in ("grp_wall", "max_wall"):
            row[name] = _minutes(row[f"{name}_s"])
        yield row


def _qos_records(cluster: LiveCluster, counts: _Counts, names: Any) -> list[Answer]:
    """One record a QOS, by id, or those of `names` in their order."""
    ids = cluster.database.qos_ids
    specs = {qos.name: qos for qos in cluster.database.accounting().qos}
    wanted = [str(n).lower() for n in names] if names else sorted(ids, key=lambda name: ids[name])
    return [_record(cluster, specs[name], ids[name], counts) for name in wanted if name in specs and name in ids]


def _record(cluster: LiveCluster, spec: Qos, number: int, counts: _Counts) -> Answer:
    name, tree = spec.name, cluster.controller.state.tree
    if tree is not None and name in cluster.controller.state.relative_qos:
        spec = tree.qos.get(name, spec)  # numbers, not percentages
    limits = spec.limits
    ledger = tree.qos_ledgers.get(name) if tree is not None else None
    parts = {kind: counts.limits.counters.met(name, kind) if counts.limits is not None else []
             for kind in ("account", "user")}  # fmt: skip
    return {
        "name": name, "id": number, "priority": spec.priority, "usage": counts["qos", name],
        "used": _used(ledger) if ledger is not None else {"raw": 0.0, "wall": 0.0, "mins": {}},
        "preempt_mode": spec.preempt_mode or "OFF", "max_wall": _minutes(limits.max_wall_s),
        "grp_wall": _minutes(limits.grp_wall_s), "min_prio_thresh": limits.min_prio_thresh,
        "grp": [limits.grp_jobs, limits.grp_jobs_accrue, limits.grp_submit_jobs],
        "grp_tres": limits.grp_tres, "grp_tres_mins": limits.grp_tres_mins,
        "grp_tres_run_mins": limits.grp_tres_run_mins, "max_tres": limits.max_tres,
        "max_tres_per_node": limits.max_tres_per_node, "max_tres_mins": limits.max_tres_mins,
        "min_tres": spec.min_tres,
        "per_account": [spec.max_jobs_pa, spec.max_jobs_accrue_pa, spec.max_submit_pa],
        "max_tres_pa": spec.max_tres_pa, "max_tres_run_mins_pa": spec.max_tres_run_mins_pa,
        "per_user": [spec.max_jobs_pu, spec.max_jobs_accrue_pu, spec.max_submit_pu],
        "max_tres_pu": spec.max_tres_pu, "max_tres_run_mins_pu": spec.max_tres_run_mins_pu,
        "accounts": [[account, counts["account", name, account]] for account in parts["account"]],
        "users": [[user, cluster.people.by_name(user).uid, counts["user", name, user]] for user in parts["user"]],
    }  # fmt: skip


def _minutes(seconds: int | None) -> int | None:
    return None if seconds is None else seconds // 60
