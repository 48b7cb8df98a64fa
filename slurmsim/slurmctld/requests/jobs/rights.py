"""Who may change, hold, requeue and cancel jobs of others (validate_operator, assoc_mgr_is_user_acct_coord)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.slurmctld.base.account_tree import coordinates

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.base.people import Person


def is_stranger(cluster: LiveCluster, person: Person, live: LiveJob) -> bool:
    """Return True if `person` is neither the owner of a job, nor an operator, nor coordinates the job's account."""
    if person.uid == live.person.uid or cluster.database.is_operator(person):
        return False
    return not coordinates(cluster.database, person.name, live.core.account.lower())
