"""Random accounts and QOS with limits, and a judge who knows their definitions and nothing of the core's rules.

At each start the judge works out from the running jobs which limits apply to the job and whether it breaks one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from slurmsim.core.records.job import Job
from slurmsim.model.accounting import Accounting, Association, Limits, Qos

USERS = {"u1": "a", "u2": "a", "u3": "b"}
KINDS = ("grp_cpu", "grp_node", "grp_run", "grp_jobs", "max_cpu", "max_node", "max_mins", "max_jobs", "max_wall")
OWN = ("pu_cpu", "pa_cpu", "pu_node", "jobs_pu", "jobs_pa", "min_cpu")  # what only QOS have


def limits(kinds: dict[str, int]) -> Limits:
    """Limits from (kind, value 1 to 9) pairs."""
    tres: dict[str, dict[str, int]] = {"grp": {}, "max": {}}
    for kind, value in kinds.items():
        family, _, name = kind.partition("_")
        if name in ("cpu", "node") and family in tres:
            tres[family][name] = value if name == "cpu" else min(value, 4)
    run, mins, wall = kinds.get("grp_run"), kinds.get("max_mins"), kinds.get("max_wall")
    return Limits(
        grp_tres=tres["grp"], max_tres=tres["max"], grp_tres_run_mins={} if run is None else {"cpu": 8 * run},
        grp_jobs=kinds.get("grp_jobs"), max_tres_mins={} if mins is None else {"cpu": 8 * mins},
        max_jobs=kinds.get("max_jobs"), max_wall_s=None if wall is None else 120 * wall,
    )  # fmt: skip


def quality(name: str, flags: frozenset[str], kinds: dict[str, int], **more: Any) -> Qos:
    found = {kind: value for kind, value in kinds.items() if kind != "max_jobs"}
    per_user = {k: kinds[f"pu_{k}"] for k in ("cpu", "node") if f"pu_{k}" in kinds}
    return Qos(
        name, flags=flags, limits=limits(found), max_tres_pu=per_user,
        max_tres_pa={"cpu": kinds["pa_cpu"]} if "pa_cpu" in kinds else {}, max_jobs_pu=kinds.get("jobs_pu"),
        max_jobs_pa=kinds.get("jobs_pa"), min_tres={"cpu": 2} if "min_cpu" in kinds else {},
        **more,
    )  # fmt: skip


def some(kinds: tuple[str, ...], most: int) -> Any:
    return st.dictionaries(st.sampled_from(kinds), st.integers(1, 9), max_size=most)


PREEMPTS: dict[str, tuple[str, ...]] = {"normal": (), "q1": ("normal",), "q2": ("normal", "q1")}
MODES = ("", "CANCEL", "REQUEUE", "REQUEUE,WITHIN")


def _preempting(draw: Any, name: str) -> dict[str, Any]:
    """What a QOS says about preemption."""
    return {
        "preempt": PREEMPTS[name], "priority": 10 * len(PREEMPTS[name]), "preempt_mode": draw(st.sampled_from(MODES)),
        "grace_time_s": draw(st.sampled_from((0, 0, 20))),
        "preempt_exempt_time_s": draw(st.sampled_from((None, None, 60))),
    }  # fmt: skip


@st.composite
def accountings(draw: Any, *, preempt: bool = False) -> Accounting:
    """A small tree and two QOS with a few limits each, so that most jobs can start and many have to wait.

    With `preempt` jobs of some QOS may preempt those of others.
    """
    group = tuple(kind for kind in KINDS if kind.startswith("grp"))
    found = [Association("root", limits=limits(draw(some(group, 1))))]
    found += [Association(name, parent="root", limits=limits(draw(some(KINDS, 2)))) for name in ("a", "b")]
    found += [
        Association(account, user=user, limits=limits(draw(some(KINDS, 1))), is_default=True)
        for user, account in USERS.items()
    ]
    flags = st.sets(st.sampled_from(("OverPartQOS", "DenyOnLimit")), max_size=2).map(frozenset)
    more = {name: _preempting(draw, name) if preempt else {} for name in PREEMPTS}
    qos = [quality(name, draw(flags), draw(some(KINDS + OWN, 3)), **more[name]) for name in ("q1", "q2")]
    return Accounting(tuple(found), (Qos("normal", **more["normal"]), *qos))


def tres(job: Job) -> dict[str, int]:
    assert job.alloc is not None
    return {"cpu": job.alloc.n_cpus, "node": job.alloc.n_nodes}


class Judge:
    """Who may start, from the definitions.

    `decays`: with priority/multifactor what running jobs owe becomes less every PriorityCalcPeriod; here it is what
    they have left, which is never more.
    """

    def __init__(self, accounting: Accounting, *, decays: bool = False) -> None:
        self.decays = decays
        self.accounting = accounting
        self.users = {a.user: a for a in accounting.associations if a.user}
        self.accounts = {a.account: a for a in accounting.associations if not a.user}

    def path(self, job: Job) -> list[Association]:
        own = self.users[job.user]
        return [own, self.accounts[own.account], self.accounts["root"]]

    def qos(self, job: Job) -> list[Qos]:
        named = {qos.name: qos for qos in self.accounting.qos}
        own, part = named[job.qos], named.get(job.partition.spec.qos or "")
        if part is None or part is own:
            return [own]
        return [own, part] if "OverPartQOS" in own.flags else [part, own]

    def inherited(self, job: Job, read: Callable[[Limits], Any]) -> Any:
        return next((v for a in self.path(job) if (v := read(a.limits)) not in (None, {})), None)

    def below(self, job: Job, holder: Association | Qos, running: list[Job]) -> list[Job]:
        """Running jobs that count where `holder`'s group limits count."""
        if isinstance(holder, Qos):
            return [other for other in running if holder in self.qos(other)]
        return [other for other in running if holder in self.path(other)]

    def broken(self, job: Job, running: list[Job]) -> list[str]:
        """Limits `job`, already among `running`, breaks."""
        found: list[str] = []
        qos, path = self.qos(job), self.path(job)
        minutes = job.time_limit_s // 60

        def group(name: str, read: Callable[[Limits], Any], used: Callable[[list[Job]], int]) -> None:
            first = next((q for q in qos if read(q.limits) is not None), None)
            holders: list[Association | Qos] = [first] if first is not None else list(path)
            for holder in holders:
                limit = read(holder.limits)
                if limit is not None and used(self.below(job, holder, running)) > limit:
                    found.append(f"{name} of {holder}")

        group("GrpJobs", lambda x: x.grp_jobs, len)
        group("GrpTRES=cpu", lambda x: x.grp_tres.get("cpu"), lambda js: sum(tres(j)["cpu"] for j in js))
        group("GrpTRES=node", lambda x: x.grp_tres.get("node"), lambda js: _nodes_with(job, js))
        group("GrpTRESRunMins", lambda x: x.grp_tres_run_mins.get("cpu"),
              lambda js: sum(tres(j)["cpu"] * self._owes(j, job) for j in js) // 60)  # fmt: skip

        def single(name: str, own: Callable[[Qos], Any], read: Callable[[Limits], Any] | None, value: int) -> None:
            limit = next((v for q in qos if (v := own(q)) is not None), None)
            if limit is None and read is not None:
                limit = self.inherited(job, read)
            if limit is not None and value > limit:
                found.append(name)

        single("MaxWall", lambda q: _m(q.limits.max_wall_s), lambda x: _m(x.max_wall_s), minutes)
        single("MaxTRESMins", lambda q: q.limits.max_tres_mins.get("cpu"), lambda x: x.max_tres_mins.get("cpu"),
               minutes * tres(job)["cpu"])  # fmt: skip
        for kind in ("cpu", "node"):
            single(f"MaxTRES={kind}", lambda q, k=kind: q.limits.max_tres.get(k),  # type: ignore[misc]
                   lambda x, k=kind: x.max_tres.get(k), tres(job)[kind])  # type: ignore[misc]  # fmt: skip
            for first, whose in (("PerUser", lambda o: o.user == job.user), ("PerAccount", self._account(job))):
                limits = [(q, (q.max_tres_pu if first == "PerUser" else q.max_tres_pa).get(kind)) for q in qos]
                holder = next(((q, v) for q, v in limits if v is not None), None)
                if holder is not None:
                    mine = [o for o in self.below(job, holder[0], running) if whose(o)]
                    used = _nodes_with(job, mine) if kind == "node" else sum(tres(o)[kind] for o in mine)
                    if used > holder[1]:
                        found.append(f"MaxTRES{first}={kind}")
        any_per = [q for q in qos if q.max_jobs_pu is not None or q.max_jobs_pa is not None]
        for name, own, whose in (
            ("MaxJobsPU", lambda q: q.max_jobs_pu, lambda o: o.user == job.user),
            ("MaxJobsPA", lambda q: q.max_jobs_pa, self._account(job)),
        ):
            first_qos = next((q for q in qos if own(q) is not None), None)
            if first_qos is not None:
                mine = [o for o in self.below(job, first_qos, running) if whose(o)]
                if len(mine) > own(first_qos):
                    found.append(name)
        limit = self.inherited(job, lambda x: x.max_jobs)
        if not any_per and limit is not None and len(self.below(job, path[0], running)) > limit:
            found.append("MaxJobs")
        least = next((q.min_tres["cpu"] for q in qos if "cpu" in q.min_tres), None)
        if least is not None and tres(job)["cpu"] < least:
            found.append("MinTRES")
        return found

    def _owes(self, other: Job, starting: Job) -> int:
        """Seconds `other` counts for when `starting` starts."""
        if other is starting or not self.decays:
            return other.time_limit_s
        assert other.end_limit is not None and starting.start_time is not None
        return max(other.end_limit - starting.start_time, 0)

    def _account(self, job: Job) -> Callable[[Job], bool]:
        return lambda other: USERS[other.user] == USERS[job.user]


def _nodes_with(job: Job, running: list[Job]) -> int:
    """The nodes of all of them, `job` among them; 0 if it has none for itself, as then no node limit holds it up.

    (Others may have exceeded the limit: a QOS with one of its own is not judged by its account's.)
    """
    others = 0
    for other in running:
        others |= other.nodes if other is not job else 0
    return (others | job.nodes).bit_count() if job.nodes & ~others else 0


def _m(seconds: int | None) -> int | None:
    return None if seconds is None else seconds // 60
