"""The table of rules: every rule has somebody who asks it, and of two that are broken the earlier one is named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from unit.core.world import World, simple

from slurmsim.core.records.barred_partitions import Bar
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.messages import CreateReservation
from slurmsim.core.scheduling import may_start
from slurmsim.core.scheduling.may_start import (
    AHEAD,
    BACKFILL,
    BAR,
    DEADLINE,
    ENOUGH,
    INSIDE,
    LICENSES,
    LIMITS,
    LOOK,
    MAIN,
    MAY,
    NAMED,
    PARTITION,
    POLICY,
    RESERVED,
    SHOWN,
    SUBMISSION,
    Asker,
)  # fmt: skip
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.model.reservation import ReservationSpec
from slurmsim.states import NODES_REQUIRED_TEXT

RULES = {value: name for name, value in vars(may_start).items() if name.isupper() and isinstance(value, int)}
ASKERS = {name: value for name, value in vars(may_start).items() if isinstance(value, Asker)}
CONF = simple(
    4, more="Licenses=a:1\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=limits"
)
PEOPLE = (
    Association("root"), Association("free", parent="root"),
    Association("none", parent="root", limits=Limits(grp_jobs=0)), Association("free", "alice", is_default=True),
    Association("none", "bob", is_default=True),
)  # fmt: skip
UNAVAILABLE = "ReqNodeNotAvail, UnavailableNodes:n1"
TEXTS = {
    PARTITION: "PartitionDown", BAR: "not here", AHEAD: "Priority", DEADLINE: "DeadLine", SHOWN: "AssocGrpJobsLimit",
    NAMED: UNAVAILABLE, ENOUGH: NODES_REQUIRED_TEXT, LICENSES: "Licenses", INSIDE: "Reservation",
    LIMITS: "AssocGrpJobsLimit", MAY: "",
}  # fmt: skip


def asked(by: Asker, broken: Sequence[int]) -> tuple[int, str]:
    """What `by` is told of a job that breaks these rules and no other."""
    w = World(CONF, "backfill", accounting=Accounting(PEOPLE, (Qos("normal"),)))
    w.tell(CreateReservation(ReservationSpec("r", 600, 1200, users=("bob",), nodes=("n4",))), 0)
    held_back = {SHOWN, LIMITS} & set(broken)
    w.sbatch("-J a -H -N1 -w n1 -L a:1 -t 5", 60, at=1, user="bob" if held_back else "alice")
    w.until(2)
    state, job = w.controller.state, w["a"]
    usable = state.table.up
    if PARTITION in broken:
        job.partition.state = "DOWN"
    if BAR in broken:
        job.bars = {job.partition.index: Bar("not here", "no", by_qos=False)}
    if DEADLINE in broken:
        job.deadline = w.now + 60
    if SHOWN in broken:
        job.reason = "AssocGrpJobsLimit"
    if NAMED in broken:
        job.reason, usable = UNAVAILABLE, usable & ~job.request.required
    if ENOUGH in broken:
        usable = 0
    if LICENSES in broken:
        w.controller.licenses.used["a"] = 1
    reservation = state.reserved.all[0] if INSIDE in broken else None
    record = Record(job, job.partition, job.request, 1, False, reservation)
    found = w.controller.start_test.refusal(record, by, usable, AHEAD in broken)
    assert (w.state("a") == "DEADLINE") == (found[0] == DEADLINE)
    return found


def named(by: Asker, broken: Sequence[int]) -> str:
    rule, text = asked(by, broken)
    assert text == TEXTS[rule]
    return RULES[rule]


def test_every_rule_is_asked_by_somebody_and_by_nobody_twice() -> None:
    rules = [rule for asker in ASKERS.values() for rule in set(asker.rules)]
    assert set(rules) | {MAY} == set(RULES) == set(TEXTS)
    assert len(rules) == sum(len(asker.rules) for asker in ASKERS.values())
    assert MAY not in rules


@pytest.mark.parametrize("name", ASKERS)
def test_a_rule_forbids_only_those_who_ask_it(name: str) -> None:
    by = ASKERS[name]
    assert named(by, ()) == "MAY"
    told = {RULES[rule]: named(by, [rule]) for rule in RULES if rule != MAY}
    others = {SHOWN: LIMITS}  # whose reason is a limit breaks LIMITS, too
    assert told == {
        RULES[rule]: RULES[rule if rule in by.rules else others.get(rule, MAY)]
        for rule in RULES if rule != MAY
    }  # fmt: skip


@pytest.mark.parametrize("name", ASKERS)
def test_of_two_broken_rules_the_earlier_one_is_named(name: str) -> None:
    by = ASKERS[name]
    for first, second in combinations(by.rules, 2):
        if (first, second) != (SHOWN, NAMED):  # a job shows one reason
            assert named(by, [first, second]) == RULES[first]


def test_the_orders() -> None:
    """A change of one changes decisions, and needs a recording."""
    assert MAIN.rules == (PARTITION, AHEAD, DEADLINE, SHOWN, NAMED, ENOUGH, LICENSES, BAR, LIMITS)
    assert BACKFILL.rules == (PARTITION, BAR, LICENSES, DEADLINE, LIMITS)
    assert LOOK.rules == (PARTITION, BAR, LIMITS, LICENSES)
    assert POLICY.rules == (PARTITION, BAR, DEADLINE, LIMITS)
    assert RESERVED.rules == (LICENSES, PARTITION, BAR, INSIDE, LIMITS)
    assert SUBMISSION.rules == (PARTITION, BAR, AHEAD, LIMITS, LICENSES)
