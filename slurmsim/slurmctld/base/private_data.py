"""PrivateData: what a user may see of others. Operators and administrators see everything.

Jobs and their steps are seen by their owner and by coordinators of their account, or of an account above it. Nodes and
partitions are refused as a whole. Usage and associations are those of the user and of the accounts that the user
coordinates, records of users the user's own alone (22.05 to 26.05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.protocol import DENIED, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.account_tree import above, coordinates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmsim.config.accounting.draft import Key
    from slurmsim.slurmctld.base.association_database import Database
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.base.people import Person

ACCESS_DENIED = 2002  # ESLURM_ACCESS_DENIED


def _listed(cluster: LiveCluster, *, stored: bool = False) -> set[str]:
    """Return the words of PrivateData, in small letters; of what is `stored` slurmdbd.conf has its own."""
    spec = cluster.spec
    conf = spec.options if spec.database is None or not stored else spec.database
    return {word.strip().lower() for word in str(conf.get("PrivateData") or "").split(",")}


def hides(cluster: LiveCluster, word: str, person: Person, *, stored: bool = False) -> bool:
    """Return True if PrivateData has `word`, and `person` is no operator; `stored`: in the database."""
    listed = _listed(cluster, stored=stored)
    return (word in listed or (stored and "all" in listed)) and not cluster.database.is_operator(person)


def refuse(cluster: LiveCluster, word: str, person: Person, *, stored: bool = False) -> None:
    """Raise Refusal if `word` is hidden from `person`."""
    if hides(cluster, word, person, stored=stored):
        raise Refusal(DENIED, ACCESS_DENIED)


def looks_after(cluster: LiveCluster, person: Person, account: str | None) -> bool:
    """Return True if `person` coordinates `account`, or one above it, of the database."""
    return bool(account) and cluster.database.exists and coordinates(cluster.database, person.name, str(account))


def job_filter(cluster: LiveCluster, person: Person) -> Callable[[int, str | None], bool] | None:
    """Return a test of a job's user id and account that says if `person` sees it; None where all jobs are seen."""
    return own_or_coordinated(cluster, person) if hides(cluster, "jobs", person) else None


def own_or_coordinated(cluster: LiveCluster, person: Person) -> Callable[[int, str | None], bool]:
    """Return a test of a job's user id and account: whether it is the person's, or of an account he coordinates."""
    known: dict[str | None, bool] = {}

    def sees(uid: int, account: str | None) -> bool:
        if uid == person.uid:
            return True
        if account not in known:
            known[account] = looks_after(cluster, person, account)
        return known[account]

    return sees


def sees_job(cluster: LiveCluster, person: Person, live: LiveJob) -> bool:
    """Return True if `person` may know of one job."""
    sees = job_filter(cluster, person)
    return sees is None or sees(live.person.uid, live.core.account)


def may_measure(cluster: LiveCluster, person: Person, live: LiveJob) -> bool:
    """Return True if slurmd tells `person` what a job uses: where jobs are private its owner and SlurmUser alone."""
    return "jobs" not in _listed(cluster) or person.uid in (live.person.uid, 0, cluster.database.owner)


def association_filter(cluster: LiveCluster, person: Person) -> Callable[[str, str | None], bool]:
    """Return a test of an account and a user: whether the association is the person's, or of a coordinated account."""
    return lambda account, user: user == person.name or looks_after(cluster, person, account)


def visible_associations(cluster: LiveCluster, person: Person) -> set[Key]:
    """Return the associations of the person and of coordinated accounts; before 24.11 also accounts above those."""
    db, sees = cluster.database, association_filter(cluster, person)
    keys = {key for key in db.draft.associations if sees(key[0], key[1])}
    if not since(cluster.release, "accounts_above_hidden"):
        keys |= {up for key in keys for up in _way_up(db, key)}
    return keys


def _way_up(db: Database, key: Key) -> Iterator[Key]:
    """Yield the accounts above an association."""
    at = above(db, key)
    while at is not None:
        yield at
        at = above(db, at)
