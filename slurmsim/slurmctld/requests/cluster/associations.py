"""sacctmgr's requests: what the database has, and changes of it, which the scheduler obeys at once.

A change is worked out on a copy, so that one that cannot be made leaves everything as it was; asked for without
``commit`` it only tells what it would do. Mirrors as_mysql_assoc.c, as_mysql_user.c, as_mysql_acct.c, as_mysql_qos.c
(22.05) as far as clients see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.database import resources
from slurmsim.slurmctld.database.association_deletions import AnyChange
from slurmsim.slurmctld.database.association_lists import listed
from slurmsim.slurmctld.database.resources import ResourceChange

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Answer = dict[str, Any]
CHANGES = frozenset({"account_change", "resource_change"})


def calls(cluster: LiveCluster) -> dict[str, Callable[[dict[str, Any], Person], Answer]]:
    """Return the requests about associations."""

    def change(arguments: dict[str, Any], person: Person) -> Answer:
        return AnyChange(cluster, person, commit=True).run(arguments)

    def check(arguments: dict[str, Any], person: Person) -> Answer:
        return AnyChange(cluster, person, commit=False).run(arguments)

    def qos_ids(arguments: dict[str, Any], person: Person) -> Answer:
        return {"ids": sorted(cluster.database.qos_ids.items(), key=lambda pair: pair[1])}

    def user_names(arguments: dict[str, Any], person: Person) -> Answer:
        found = [cluster.people.by_uid(int(uid)) for uid in arguments["ids"]]
        return {"names": [None if one.name == str(one.uid) else one.name for one in found]}

    return {
        "account_change": change, "account_check": check, "qos_ids": qos_ids, "user_names": user_names,
        "account_list": lambda arguments, person: listed(cluster, arguments, person),
        "resource_change": lambda arguments, person: ResourceChange(cluster, person, commit=True).run(arguments),
        "resource_check": lambda arguments, person: ResourceChange(cluster, person, commit=False).run(arguments),
        "resources": lambda arguments, person: resources.listed(cluster, arguments, person),
    }  # fmt: skip
