"""Holding and releasing a job: ``scontrol hold``, ``release``, and updates of the priority to 0 or to infinity."""

from slurmsim.core.records.messages import Hold, RankAnew, Release
from slurmsim.protocol import DENIED, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_cluster import LiveCluster
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.fields.last_sched_eval import looks
from slurmsim.slurmctld.requests.jobs.change import BAD_USER
from slurmsim.slurmctld.requests.jobs.ids import Record
from slurmsim.slurmctld.requests.jobs.limits import reasons_go
from slurmsim.slurmctld.requests.jobs.recurring import check_changeable
from slurmsim.slurmctld.requests.jobs.rights import is_stranger
from slurmsim.states import Reason, is_held


def hold_record(cluster: LiveCluster, record: Record, kind: str, person: Person) -> None:
    """Hold or release one record by a priority of 0 or infinity (_update_job, 22.05). Raises Refusal."""
    live = record.first
    check_changeable(live)
    operator = cluster.database.is_operator(person)
    stranger = is_stranger(cluster, person, live)
    if stranger and since(cluster.release, "owner_asked_first"):
        raise Refusal(BAD_USER)
    if live.over:
        raise Refusal("Job has already finished")
    if stranger:
        raise Refusal(BAD_USER)
    core = live.core
    if kind == "release":
        user_held = core.reason in (Reason.HELD_USER,) or "was deleted" in str(core.reason)
        if is_held(core.reason) and not operator and not user_held:
            raise Refusal(DENIED, 2002)
        # a job that is not held has its priority set back by operators alone
        fact = Release if operator or is_held(core.reason) else RankAnew
        for one in record.jobs:
            if is_held(one.core.reason):
                one.entered_after = looks(cluster.controller)
        cluster.network.tell(cluster.now, [fact(one.core.id) for one in record.jobs])
        reasons_go(cluster, record.jobs)
        return
    # a user's hold of a job that is held already changes nothing, whichever hold that is
    if is_held(core.reason) and not core.priority and not operator:
        return
    admin = kind == "hold" and operator
    for one in record.jobs:
        planned = one.core.planned_start
        one.planned_before_hold = (planned, cluster.now) if planned else None
        one.held_with = Reason.HELD_ADMIN if admin else Reason.HELD_USER
    cluster.network.tell(cluster.now, [Hold(one.core.id, admin=admin) for one in record.jobs])
