"""``scontrol top``: jobs take the priorities of those before them, by their nice values (_set_top, 22.05)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmsim.core.records.messages import SetNice
from slurmsim.protocol import DENIED, INVALID_JOB, Refusal
from slurmsim.slurmctld.requests.jobs.change import HELD, NOT_PENDING
from slurmsim.slurmctld.requests.jobs.ids import Record, records_of
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

SEVERAL_PARTITIONS = "Requested partition configuration not available now"


def named_for_top(cluster: LiveCluster, text: str) -> list[Record]:
    """Return the records of ``N,N_T,...``, an array's own standing for it. Raises Refusal when one does not exist."""
    found = [records_of(cluster, word, split=True) for word in text.split(",") if word]
    if not found or any(not named.records for named in found):
        raise Refusal(INVALID_JOB, 2017)
    return [named.records[0] for named in found]


def to_the_top(cluster: LiveCluster, named: list[Record], owner: Person | None) -> list[SetNice]:
    """Return what makes `named` the first of their kind; only those of `owner`, when given. Raises Refusal."""
    first = _waiting(named, owner)
    chosen = {id(record.first) for record in first}
    others = [one for one in _all(cluster) if id(one.first) not in chosen and _alike(one, first[0])]
    places = sorted((one.first.core.priority for one in first + others), reverse=True)
    facts: list[SetNice] = []
    gained, last = 0, 0
    for record, place in zip(first, places, strict=False):
        last = last - 1 if place == last > 2 else place
        facts += _move(record, gain := last - record.first.core.priority)
        gained += gain
    for left, record in zip(range(len(others), 0, -1), others, strict=True):
        priority = record.first.core.priority
        loss = max(gained // left, priority - last + 1)
        facts += _move(record, -loss)
        gained -= loss
    return facts


def _waiting(named: list[Record], owner: Person | None) -> list[Record]:
    """Those that can go to the top, each once; why nothing can, if nothing can."""
    found: dict[int, Record] = {}
    text = ""
    for record in named:
        core = record.first.core
        if owner is not None and record.first.person.uid != owner.uid:
            raise Refusal(DENIED, 2002)
        if core.state != JobState.PENDING:
            text = NOT_PENDING
        elif len(core.partitions) > 1:
            raise Refusal(SEVERAL_PARTITIONS)
        elif not core.priority:
            text = HELD
        else:
            found.setdefault(id(record.first), record)
    if not found:
        raise Refusal(text)
    return list(found.values())


def _all(cluster: LiveCluster) -> list[Record]:
    """Every record there is, in order of creation."""
    records: dict[int, Record] = {}
    for live in sorted(cluster.jobs.values(), key=lambda live: live.order):
        key = live.id if live.own_id is not None else -live.id
        records.setdefault(key, Record([])).jobs.append(live)
    return list(records.values())


def _alike(one: Record, other: Record) -> bool:
    """Return True if one may have to make place for the other."""
    a, b = one.first.core, other.first.core
    kept = a.state == JobState.PENDING and a.priority > 1 and len(a.partitions) == 1
    same = a.partition is b.partition and a.branch is b.branch and a.qos_spec is b.qos_spec
    return kept and same and one.first.person.uid == other.first.person.uid


def _move(record: Record, gain: int) -> list[SetNice]:
    return [SetNice(live.core.id, live.core.sub.nice - gain) for live in record.jobs] if gain else []
