"""``scontrol update job`` of one record, in the order slurmctld looks at the fields (_update_job, 22.05).

What comes before the field that is refused stays changed, as there. Checks that need the scheduler are made by the
core on a copy of the job, before anything is said to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.core.queue.likely_nodes import FORGOTTEN
from slurmsim.core.records.job import ONE_YEAR_S
from slurmsim.core.records.messages import (
    RankAnew,
    ResizeJob,
    SetArrayLimit,
    SetDependency,
    SetNice,
    SetPriority,
    SetSiteFactor,
    SetTimeLimit,
)  # fmt: skip
from slurmsim.errors import SubmitError
from slurmsim.gpu_bindings import are_bindings, are_frequencies
from slurmsim.protocol import DENIED, Refusal
from slurmsim.records.job import CARRIED
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.account_tree import coordinates
from slurmsim.slurmctld.base.submit_request import INFINITE, names_of
from slurmsim.slurmctld.requests.jobs.change import (
    ALL_NODES,
    BAD_NODE_COUNT,
    BAD_NODES,
    BAD_TIME,
    BAD_TIME_MIN,
    BAD_USER,
    FINISHED,
    GRES,
    HELD,
    NEITHER,
    NOT_PERSISTENT,
    NOT_SUPPORTED,
    Done,
    Update,
)
from slurmsim.slurmctld.requests.jobs.holds import hold_record
from slurmsim.slurmctld.requests.jobs.ids import Record
from slurmsim.slurmctld.requests.jobs.limits import partition_takes, reasons_go
from slurmsim.slurmctld.requests.jobs.recurring import check_changeable
from slurmsim.slurmctld.requests.jobs.rights import is_stranger
from slurmsim.slurmctld.requests.jobs.sizes import counts, sizes, tasks_per_node
from slurmsim.slurmctld.requests.submit.normalising import plain_features
from slurmsim.slurmctld.requests.submit.refusals import check_gres, check_preference
from slurmsim.states import JobState, is_held

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person


def update(cluster: LiveCluster, record: Record, job: Mapping[str, Any], person: Person) -> None:
    """Carry an update out, after which the job's priority is worked out anew in any case. Raises Refusal."""
    check_changeable(record.first)
    work = Update(cluster, record, job, person)
    failed: Refusal | None = None
    try:
        for step in _STEPS:
            step(work)
    except Done:
        return
    except Refusal as refusal:
        failed = refusal
    except SubmitError as error:
        failed = Refusal(error.text)
    if failed is not None:
        if work.new.pop("tres_settled", None) is not None:
            work.new["tres_settled"] = work.tres_before  # of a refused update numbers stay, but not what they come to
    elif work.tres_changed:
        for live in record.jobs:
            live.core.likely_nodes = FORGOTTEN  # what was found was for what it asked before
    try:
        if failed is None or work.new or work.facts:
            work.apply()
    finally:
        if work.ranks:
            ended = [RankAnew(live.core.id, refused=failed is not None) for live in record.jobs]
            cluster.network.tell(cluster.now, ended)
    if failed is not None:
        raise failed
    reasons_go(cluster, record.jobs)


# -- the steps, in slurmctld's order ---------------------------------------------------------------------------------


def _owner(u: Update) -> None:
    """Check who asks; a coordinator gives a job to accounts of his own alone. Raises Refusal."""
    if is_stranger(u.cluster, u.person, u.live):
        raise Refusal(BAD_USER)
    account = u.get("account")
    mine = u.operator or u.person.uid == u.live.person.uid
    if account and not mine and not coordinates(u.cluster.database, u.person.name, str(account).lower()):
        raise Refusal(BAD_USER)


def _authority(u: Update) -> None:
    """Check who asks, and what is refused before that; these refusals end with a new rank for any user (fini)."""
    if since(u.cluster.release, "owner_asked_first"):
        _owner(u)
    u.ranks = True
    burst = u.get("burst_buffer")
    if burst is not None and not (u.live.over and u.operator and not burst):
        raise Refusal(NOT_SUPPORTED)
    array = u.live.array
    # the limit is the array's: it changes for the other tasks even where this one has ended
    if u.get("array_inx") is not None and array is not None and (u.live.own_id in (None, array.id)):
        limit = int(str(u.get("array_inx")) or 0)
        for live in array.tasks.values():
            live.core.array_limit = limit or None
        u.cluster.network.tell(u.cluster.now, [SetArrayLimit(array.id, limit or None)])
        if u.live.over:
            raise Done
    if u.live.over:
        raise Refusal(FINISHED)
    if u.get("admin_comment") is not None and not u.cluster.database.is_administrator(u.person):
        raise Refusal(DENIED, 2002)
    u.ranks = False
    _owner(u)
    u.ranks = True


def _mcs_label(u: Update) -> None:
    """Only a waiting job takes a label. Without MCSPlugin it has none all the same, and the refusal ranks nothing."""
    if u.get("mcs_label") is not None:
        u.ranks = u.pending
        u.need_pending()


def _partition(u: Update) -> None:
    wanted = u.get("partition")
    if wanted is not None:
        wanted = u.asked["partition"] = ",".join(dict.fromkeys(wanted.split(",")))  # each counts once (get_part_list)
    if wanted is not None and wanted != ",".join(p.name for p in u.core.partitions):
        u.need_pending()
        u.set("partition")
        try:
            u.submission_of(u.core)
            u.cluster.controller.state.cluster.compiled(u.submission_of(u.core))
        except SubmitError as error:
            u.new.pop("partition")
            raise Refusal(error.text) from None
        first = u.cluster.controller.state.cluster.by_name[wanted.split(",")[0]]
        if first.state in ("DRAIN", "INACTIVE"):
            u.new.pop("partition")
            raise Refusal("Required partition not available (inactive or drain)")
        _tested(u, "partition")
        u.core.foremost = None  # the list is made anew, without a look for free nodes (get_part_list)
    if u.get("account") is not None:
        u.need_pending()
        if u.cluster.controller.accounting.accounts is None:
            u.new["account"] = None  # there are none: not even the one it came with is kept
        else:
            u.set("account")
        _tested(u, "account")


def _tested(u: Update, *names: str) -> None:
    """Look at what was just noted; it is dropped if it cannot be."""
    try:
        u.test()
    except Refusal:
        for name in names:
            u.new.pop(name, None)
        raise


def _qos(u: Update) -> None:
    wanted = u.get("qos")
    if wanted is None or wanted == u.core.qos or u.cluster.controller.accounting.accounts is None:
        return
    u.new["qos"] = wanted
    try:
        u.test()
        u.need_pending()
    except Refusal:
        u.new.pop("qos")
        raise


def _accrual(u: Update) -> None:
    if u.get("reset_accrue_time"):
        u.need_pending()
        if u.core.accrue_time:
            u.core.accrue_time = u.cluster.now


def _nodes_asked(u: Update) -> None:
    wanted = u.get("req_nodes")
    if wanted is None:
        return
    names = names_of(wanted) if wanted else ()
    index = u.cluster.controller.state.table.index
    if any(name not in index for name in names):
        raise Refusal(BAD_NODES)
    if u.runs:
        mask = u.cluster.controller.state.nodes_named(names)
        first = u.core.nodes & -u.core.nodes
        if not names or mask & ~u.core.nodes or (u.present("script") and not mask & first):
            raise Refusal(BAD_NODES)
        u.facts.append(lambda core_id: ResizeJob(core_id, len(set(names)), names))
        u.live.resized_at = u.cluster.now
        return
    u.need_pending()
    u.new["req_nodes"] = wanted
    _tested(u, "req_nodes")


def _reservation(u: Update) -> None:
    wanted = u.get("reservation")
    if wanted is None or wanted == (u.core.sub.reservation or ""):
        return
    if u.core.state not in (JobState.PENDING, JobState.RUNNING):
        raise Refusal(NEITHER)
    u.new["reservation"] = wanted
    _tested(u, "reservation")
    if not u.pending:
        u.new.pop("reservation")


def _gres(u: Update) -> None:
    if any(u.get(name) is not None for name in GRES):
        u.need_pending()
        try:
            check_gres(u.cluster, u.asked)
        except SubmitError as error:
            raise Refusal(error.text) from None
        u.set(*GRES)
        _tested(u, *GRES)


def _licenses(u: Update) -> None:
    wanted = u.get("licenses")
    if wanted is None:
        return
    try:
        licenses = u.cluster.controller.licenses
        licenses.wanted(licenses.spelled(wanted))
    except SubmitError as error:
        raise Refusal(error.text) from None


def _licenses_at_last(u: Update) -> None:
    wanted = u.get("licenses")
    if wanted is not None:
        wanted = u.cluster.controller.licenses.spelled(wanted)
    if wanted is None or wanted == (u.present("licenses") or ""):
        return
    if u.core.state not in (JobState.PENDING, JobState.RUNNING):
        raise Refusal(NEITHER)
    if not u.pending and wanted:
        u.need_operator()
    u.new["licenses"] = wanted


def _excluded(u: Update) -> None:
    wanted = u.get("exc_nodes")
    if wanted is None:
        return
    u.need_pending()
    if not all(map(u.cluster.controller.state.table.has, names_of(wanted))):
        raise Refusal(BAD_NODES)
    u.set("exc_nodes")


def _small_things(u: Update) -> None:
    if u.get("min_nodes") == ALL_NODES:
        u.asked.pop("min_nodes")
    if u.runs and (u.get("min_nodes") or 0) > u.core.n_nodes:
        raise Refusal(NOT_SUPPORTED)
    wait = u.get("wait4switch")
    if wait is not None:
        u.new["wait4switch"] = min(int(wait), u.cluster.controller.state.cluster.max_switch_wait_s)
    u.set("req_switch", *(row.name for row in CARRIED if row.update and not row.ruled))
    text = u.get("admin_comment")
    if text is not None:
        more = text[2:] if text.startswith("+=") else None
        old = u.present("admin_comment")
        u.new["admin_comment"] = text if more is None else f"{old},{more}" if old else more


def _time_limit(u: Update) -> None:
    minutes = u.get("time_limit")
    if minutes is not None:
        # a job in its grace time counts as finished here (_update_job)
        if u.core.preempt_time:
            raise Refusal(FINISHED)
        seconds = ONE_YEAR_S if minutes >= INFINITE else minutes * 60
        present = u.core.time_limit_s
        most = u.core.partition.spec.max_time_s
        if u.operator or seconds < present:
            least = u.get("time_min")
            if seconds < (least * 60 if least is not None else u.core.time_min_s or 0):
                raise Refusal(BAD_TIME_MIN)
        # users may raise the limit of a waiting job up to MaxTime, and of no other
        elif seconds > present and not (u.pending and (most is None or seconds <= most)):
            raise Refusal(DENIED, 2002)
        u.new["time_limit"] = minutes
        u.facts.append(lambda core_id: SetTimeLimit(core_id, seconds))
    least = u.get("time_min")
    if least is not None and u.pending:
        limit = u.new.get("time_limit", u.core.time_limit_s // 60)
        if least > limit:
            raise Refusal(BAD_TIME_MIN)
        u.new["time_min"] = least


def _ends(u: Update) -> None:
    end, deadline, now = u.get("end_time"), u.get("deadline"), u.cluster.now
    if end:
        if u.core.state != JobState.RUNNING or u.core.preempt_time:
            raise Refusal("Job is not running")
        if end < now:
            raise Refusal(BAD_TIME)
        if not u.operator and end >= (u.core.end_limit or 0):
            raise Refusal(DENIED, 2002)
        start = u.core.start_time or 0
        u.new["time_limit"] = (end - start + 30) // 60
        u.facts.append(lambda core_id: SetTimeLimit(core_id, end - start))
    if deadline and u.core.state != JobState.RUNNING:
        if deadline < now:
            raise Refusal(BAD_TIME)
        u.need_operator()
        u.set("deadline")
    u.set("delay_boot", "requeue")


def _priority(u: Update) -> None:
    wanted = u.get("priority")
    if wanted is not None and not (u.core.priority == wanted and wanted):
        if wanted in (0, 0xFFFFFFFF, INFINITE):
            hold_record(u.cluster, u.record, "hold" if wanted == 0 else "release", u.person)
        elif not u.core.priority:
            raise Refusal(HELD)
        elif u.operator:
            u.facts.append(lambda core_id: SetPriority(core_id, wanted))
        elif wanted > u.core.priority:
            raise Refusal(DENIED, 2002)
        else:
            u.facts.append(lambda core_id: SetPriority(core_id, wanted, lasts=False))
            raise Refusal(NOT_PERSISTENT)
    nice = u.get("nice")
    if nice is not None and nice != u.core.sub.nice:
        if not u.operator and nice < 0:
            raise Refusal(DENIED, 2002)
        u.facts.append(lambda core_id: SetNice(core_id, nice))


def _resources(u: Update) -> None:
    for name, restricted in (
        ("pn_min_memory", False), ("pn_min_tmp_disk", False), ("sockets_per_node", False), ("cores_per_socket", False),
        ("threads_per_core", False), ("shared", True), ("contiguous", True), ("core_spec", True),
    ):  # fmt: skip
        value = u.get(name)
        if value is None:
            continue
        if name == "pn_min_memory" and u.runs and since(u.cluster.release, "memory_of_running_jobs"):
            raise Refusal("Requested operation requires extern step")  # none is, without PrologFlags=Contain
        u.need_pending()
        if restricted and not (name == "contiguous" and (u.present(name) or 0) > value):
            u.need_operator()
        if name == "shared":
            u.new[name] = "ok" if value else "exclusive" if u.present(name) == "exclusive" else "none"
        elif name == "core_spec":
            if not u.cluster.spec.option("AllowSpecResourcesUsage"):
                raise Refusal(DENIED, 2002)
            u.new[name] = None if value == "none" else value
            if value != "none":
                u.new["shared"] = "exclusive"
        else:
            u.new[name] = value
        if name == "pn_min_memory":
            u.new["mem_per_cpu"] = bool(u.get("mem_per_cpu"))
    _features(u)
    if u.get("cluster_features") is not None or u.get("clusters") is not None:  # there is no federation
        raise Refusal("Unspecified error")


def _features(u: Update) -> None:
    for name in ("features", "prefer"):
        if u.get(name):
            u.asked[name] = plain_features(str(u.get(name)))
        value = u.get(name)
        if value is not None and value != (u.present(name) or ""):
            u.need_pending()
            if name == "prefer":
                _known(u, str(value))
            u.new[name] = value or None
            if name == "features":
                _tested(u, name)


def _known(u: Update, preferred: str) -> None:
    try:
        check_preference(u.cluster, preferred)
    except SubmitError as error:
        raise Refusal(error.text) from None


def _texts(u: Update) -> None:
    u.set("name")
    for name in ("work_dir", "std_out", "std_err", "std_in"):
        if u.get(name) is not None:
            u.need_pending()
            u.set(name)
    if u.get("wckey") is not None:
        u.need_pending()
        u.set("wckey")


def _shrink(u: Update) -> None:
    wanted = u.get("min_nodes")
    if wanted is not None and u.runs:
        if wanted == 0 or wanted > u.core.n_nodes:
            raise Refusal(BAD_NODE_COUNT)
        if wanted < u.core.n_nodes:
            u.facts.append(lambda core_id: ResizeJob(core_id, wanted))
            u.live.resized_at = u.cluster.now
    if u.get("ntasks_per_node") is not None:
        u.need_pending()
        u.need_operator()
        tasks_per_node(u)


def _dependency(u: Update) -> None:
    wanted = u.get("dependency")
    if wanted is not None:
        u.need_pending()
        text = "" if wanted in ("", "0") else u.cluster.job_table.core_ids(wanted)
        u.facts.append(lambda core_id: SetDependency(core_id, text))
    begin = u.get("begin_time")
    if begin:
        u.need_pending()
        u.new["begin_time"] = max(int(begin), u.cluster.now)
    _licenses_at_last(u)


def _partition_takes(u: Update) -> None:
    """Whatever was changed is changed."""
    partition_takes(u.cluster, u.live, u.new.get("min_cpus"))


def _the_rest(u: Update) -> None:
    if u.get("reboot") is not None:
        if not u.cluster.database.is_administrator(u.person):
            raise Refusal(DENIED, 2002)
        u.need_pending()
        u.set("reboot")
    for name, fits in (("tres_bind", are_bindings(u.get("tres_bind") or "", u.cluster.release)),
                       ("tres_freq", are_frequencies(u.get("tres_freq") or ""))):  # fmt: skip
        if not fits:
            raise Refusal("Invalid Trackable RESource (TRES) specification")
        u.set(name)
    u.set("mail_type", "mail_user")
    factor = u.get("site_factor")
    if factor is not None:
        u.need_operator()
        u.facts.append(lambda core_id: SetSiteFactor(core_id, factor))


def _together(u: Update) -> None:
    """Check that what was noted is possible as a whole."""
    if u.pending and not is_held(u.core.reason):
        u.test()
    elif u.pending:
        u.submission_of(u.core)


_STEPS: tuple[Callable[[Update], None], ...] = (
    _authority, _mcs_label, _partition, _qos, _accrual, _nodes_asked, _reservation, _gres, counts, _licenses, _excluded,
    _small_things, sizes, _time_limit, _ends, _priority, _resources, _texts, _shrink, _dependency, _together,
    _partition_takes, _the_rest,
)  # fmt: skip
