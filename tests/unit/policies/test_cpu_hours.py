"""cpu_hours by hand: who is held back, what time alone brings, what is shown, whose limit counts."""

from __future__ import annotations

from typing import Any

import pytest
from world import World, simple

from slurmsim.core.accounting.limit_reasons import tres_reason
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting, Association, Limits, Qos
from slurmsim.policy import load_policy, parse_policy
from slurmsim_policies.cpu_budgets import Limit, NamedLimits
from slurmsim_policies.cpu_hours import BASES, HELD_BACK

Row = tuple[str, str, int, int, int, int, int]  # name, user, submit, nodes, limit, run, expected start


def hours(node_seconds: float) -> str:
    """A limit of so many seconds of a one-CPU node."""
    return repr(node_seconds / 3600)


def check(policy: str, rows: list[Row], nodes: int = 4, **more: Any) -> World:
    world = World(simple(nodes), policy, **more)
    for name, user, at, n, limit, run, _ in rows:
        world.sbatch(f"-J {name} -N{n} -t {limit}s", run, at=at, user=user)
    world.until(100_000)
    assert {row[0]: world.start(row[0]) for row in rows} == {row[0]: row[6] for row in rows}
    return world


BURST: list[Row] = [
    ("run", "ann", 0, 4, 100, 100, 0),
    ("ann1", "ann", 1, 2, 100, 100, 100),
    ("ann2", "ann", 2, 2, 100, 100, 100),
    ("ann3", "ann", 3, 2, 100, 100, 200),
    ("bob1", "bob", 4, 2, 100, 100, 200),
]


@pytest.mark.parametrize("base", ["easy", "conservative"])
def test_without_a_limit_a_burst_goes_first(base: str) -> None:
    check(f"cpu_hours:base={base},limit=inf", BURST)


@pytest.mark.parametrize("base", ["easy", "conservative"])
def test_with_a_limit_another_users_job_goes_before_the_rest_of_the_burst(base: str) -> None:
    """At 100 ann holds nothing: ann1 (200 node-seconds) starts. ann2 would make it 400 > 300: bob1 goes first."""
    late = {"ann2": 200, "ann3": 200, "bob1": 100}
    rows: list[Row] = [(*row[:6], late.get(row[0], row[6])) for row in BURST]
    check(f"cpu_hours:base={base},limit={hours(300)}", rows)


def test_exactly_the_limit_is_within_it() -> None:
    """ann1 and ann2 together hold 200 + 200."""
    check(f"cpu_hours:limit={hours(400)}", BURST)


def test_one_job_is_never_too_much() -> None:
    """Limit 0: ann1 starts because ann holds nothing; the others one by one after bob's."""
    check(
        f"cpu_hours:limit={hours(0)}",
        [(*r[:6], {"ann2": 200, "ann3": 200, "bob1": 100}.get(r[0], r[6])) for r in BURST],
    )


def test_round_two_leaves_no_node_idle() -> None:
    """Nobody else is there: the limit holds ann's jobs back, and round 2 starts them in the same second."""
    check(f"cpu_hours:limit={hours(1)}", [(f"ann{i}", "ann", 0, 1, 100, 100, 0) for i in range(4)])


def test_round_two_delays_no_planned_start_of_round_one() -> None:
    """One node is free until 100. ann comes first but holds 399 of 450 at 1, so bob's planned start goes before hers.

    ann1 would take the free node beyond 100, when bob needs it; ann2 ends in the very second. At 100 ann holds 300, so
    ann1 (200 more) is still over the limit. EASY alone would have started ann1 at 1 and bob at 201.
    """
    rows: list[Row] = [
        ("cid", "cid", 0, 2, 100, 100, 0),
        ("run", "ann", 0, 1, 400, 400, 0),
        ("ann1", "ann", 1, 1, 200, 200, 300),
        ("bob", "bob", 1, 3, 200, 200, 100),
        ("ann2", "ann", 3, 1, 97, 97, 3),
    ]
    check(f"cpu_hours:limit={hours(450)}", rows)
    check("easy", [(*r[:6], {"ann1": 1, "bob": 201, "ann2": 100}.get(r[0], r[6])) for r in rows])


@pytest.mark.parametrize("base", ["easy", "conservative"])
def test_time_alone_brings_a_job_within_the_limit(base: str) -> None:
    """Nothing happens at 50, but then ann's running job holds only 50: 50 + 200 is the limit.

    ann1 then is first in the queue again, fits, and starts; bob's wide job is put back from 100 to 150.
    """
    check(f"cpu_hours:base={base},limit={hours(250)}", [
        ("run", "ann", 0, 1, 100, 100, 0),
        ("ann1", "ann", 1, 2, 100, 100, 50),
        ("bob", "bob", 1, 4, 100, 100, 150),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "start"),
    [
        pytest.param(320, 20, id="120 left: 180 - 3 x 20"),
        pytest.param(318, 21, id="118 left: 180 - 3 x 20.67, in whole seconds"),
        pytest.param(245, 55, id="45 left: after the pair is through at 40, 60 - 15"),
    ],
)
def test_time_alone_with_several_running_jobs(limit: int, start: int) -> None:
    """ann holds 2 x 40 + 100 = 180 at 0, and 3 less every second; ann1 is 200 more."""
    check(f"cpu_hours:limit={hours(limit)}", [
        ("pair", "ann", 0, 2, 40, 40, 0),
        ("one", "ann", 0, 1, 100, 100, 0),
        ("ann1", "ann", 1, 1, 200, 200, start),
        ("bob", "bob", 1, 4, 100, 100, start + 200),
    ])  # fmt: skip


def test_time_alone_brings_a_job_within_the_limit_of_slurms_backfill() -> None:
    """As above in minutes: at 3000 ann1 is within the limit, and the next cycle, 30 s apart, starts it."""
    world = World(simple(4), f"cpu_hours:base=backfill,limit={hours(250 * 60)}")
    world.sbatch("-J run -N1 -t 100", 6000, at=0, user="ann")
    world.sbatch("-J ann1 -N2 -t 100", 6000, at=1, user="ann")
    world.sbatch("-J bob -N4 -t 100", 6000, at=1, user="bob")
    world.until(100)
    assert world.reason("ann1") == HELD_BACK and world["ann1"].start_time is None
    world.until(20_000)
    started = world.start("ann1")
    assert started is not None and 3000 <= started < 3000 + 30 + world.start("run")


def test_who_gets_a_planned_start_counts_at_once() -> None:
    """bob1 cannot start and is planned for 50: bob holds its 400, so bob2 (30 more) is held back behind ann1.

    One node is free until 50, and both would end by then.
    """
    rows: list[Row] = [
        ("run", "cid", 0, 3, 50, 50, 0),
        ("bob1", "bob", 1, 4, 100, 100, 50),
        ("bob2", "bob", 2, 1, 30, 30, 11),
        ("ann1", "ann", 2, 1, 9, 9, 2),
    ]
    check(f"cpu_hours:limit={hours(420)}", rows)
    check(f"cpu_hours:limit={hours(430)}", [(*r[:6], {"bob2": 2, "ann1": 32}.get(r[0], r[6])) for r in rows])


def test_an_even_share_is_what_the_machine_gives_over_the_users_in_the_queue() -> None:
    """4 CPUs x 0.1 h / 2 users = 720 CPU-seconds; when bob has left the queue it is 1440."""
    rows: list[Row] = [
        ("run", "ann", 0, 4, 100, 100, 0),
        ("ann1", "ann", 1, 3, 200, 200, 100),  # holds nothing
        ("bob1", "bob", 3, 1, 200, 200, 100),  # 600 + 200 > 720 keeps ann2 back
        ("ann2", "ann", 2, 1, 200, 200, 300),
    ]
    check("cpu_hours:hours=0.1,limit=1x", rows)
    rows[2:] = [("bob1", "bob", 3, 1, 200, 200, 300), ("ann2", "ann", 2, 1, 200, 200, 100)]
    check("cpu_hours:hours=0.1,limit=2x", rows)


LATE = {"ann2": 200, "ann3": 200, "bob1": 100}


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ("limit=inf,user=ann=0", True),
        ("limit=0,user=ann=inf", False),
        ("limit=inf,account=proj=0", True),
        ("limit=0,account=proj=inf", False),
        ("limit=inf,user=ann=0+bob=5,account=proj=inf", True),  # the user's own limit goes before the account's
        ("limit=0,user=bob=0,account=other=0+proj=inf", False),
        ("limit=inf,user=ann=0.001x", True),
    ],
)
def test_limits_of_users_and_accounts(options: str, held: bool) -> None:
    world = World(simple(4), f"cpu_hours:{options}")
    for name, user, at, n, limit, run, _ in BURST:
        world.sbatch(f"-J {name} -N{n} -t {limit}s -A proj", run, at=at, user=user)
    world.until(1000)
    expected = {row[0]: LATE.get(row[0], row[6]) if held else row[6] for row in BURST}
    assert {name: world.start(name) for name in expected} == expected


def test_whole_nodes_count_with_all_their_cpus() -> None:
    """One task on a node of four CPUs it has to itself holds four: 4 x 100 + 4 x 100 > 700."""
    world = World(simple(2, cpus=4), f"cpu_hours:limit={hours(700)}")
    world.sbatch("-J run -N2 --exclusive -t 50s", 50, at=0, user="cid")
    for name, user, at in (("ann1", "ann", 1), ("ann2", "ann", 2), ("bob1", "bob", 3)):
        world.sbatch(f"-J {name} -N1 -n1 --exclusive -t 100s", 100, at=at, user=user)
    world.until(1000)
    assert [world.start(name) for name in ("ann1", "ann2", "bob1")] == [50, 150, 50]


def test_the_reason_is_slurms_own() -> None:
    assert tres_reason("AssocGrpRunMinutes", "cpu") == HELD_BACK
    world = World(simple(4), f"cpu_hours:limit={hours(300)}")
    for name, user, at, n, limit, run, _ in BURST:
        world.sbatch(f"-J {name} -N{n} -t {limit}s", run, at=at, user=user)
    shown = []
    for time in (99, 100, 150, 200):
        world.until(time)
        shown.append(world.reason("ann2"))
    assert shown == [HELD_BACK, HELD_BACK, HELD_BACK, "None"]  # at 200 it runs


def beside_slurms_own(*, wide: bool) -> tuple[World, World]:
    """ann over 250 CPU-minutes, by GrpTRESRunMins of real Slurm and by cpu_hours; `wide`: bob's job needs all nodes."""
    limit = Limits(grp_tres_run_mins={"cpu": 250})
    each = (("ann", limit), ("bob", Limits()))
    users = [Association("acc", user=name, limits=of, is_default=True) for name, of in each]
    accounting = Accounting((Association("root"), Association("acc", parent="root"), *users), (Qos("normal"),))
    enforced = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,limits"
    slurm = World(simple(4, more=enforced), "backfill", accounting=accounting)
    ours = World(simple(4), f"cpu_hours:base=backfill,limit={hours(250 * 60)}")
    for world in (slurm, ours):
        world.sbatch("-J run -N2 -t 100", 6000, at=0, user="ann")
        world.sbatch("-J ann1 -N1 -t 100", 6000, at=10, user="ann")
        if wide:
            world.sbatch("-J bob -N4 -t 100", 6000, at=10, user="bob")
        world.until(300)
    return slurm, ours


def test_beside_slurms_grptresrunmins_the_same_job_is_held_for_the_same_reason() -> None:
    """200 - t held, and 100 more: over 250 until 25 min. bob's job is planned for the end of ann's."""
    slurm, ours = beside_slurms_own(wide=True)
    assert slurm.reasons("ann1 bob") == ours.reasons("ann1 bob") == {"ann1": HELD_BACK, "bob": "Resources"}


def test_slurms_limit_leaves_nodes_idle_and_ours_does_not() -> None:
    """Nobody else is there. Under Slurm's limit ann1 waits until enough of it has run off, beside two idle nodes."""
    slurm, ours = beside_slurms_own(wide=False)
    assert slurm.reason("ann1") == HELD_BACK and ours.state("ann1") == "RUNNING"
    slurm.until(20_000)
    assert slurm.start("ann1") >= 25 * 60


def test_the_reason_goes_when_the_limit_holds_it_back_no_more() -> None:
    """At 50 ann's running job holds 50; ann1 is within the limit, but there is no room for it."""
    world = World(simple(4), f"cpu_hours:limit={hours(250)}")
    world.sbatch("-J run -N1 -t 100s", 100, at=0, user="ann")
    world.sbatch("-J ann1 -N4 -t 50s", 50, at=1, user="ann")
    shown = []
    for time in (49, 50):
        world.until(time)
        shown.append(world.reason("ann1"))
    assert shown == [HELD_BACK, "None"]


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "1y", "1e", "-0.5x"])
def test_limits_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        Limit.parse(text)


def test_limits_read_back() -> None:
    assert str(NamedLimits.parse("ann=5+bob=infx+cid=0.5x")) == "ann=5+bob=inf+cid=0.5x"
    assert str(NamedLimits()) == "none"
    assert [str(Limit.parse(text)) for text in ("500", "0.5x", "inf", "infx")] == ["500", "0.5x", "inf", "inf"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("base=fcfs", "base"),
        ("limit=lots", "limit"),
        ("hours=0", "hours"),
        ("hours=inf", "hours"),
        ("user=ann", "user"),
        ("user=ann=1+ann=2", "user"),
        ("account==5", "account"),
        ("quota=5", "unknown option 'quota'"),
    ],
)
def test_bad_options_are_named(options: str, said: str) -> None:
    name, given = parse_policy(f"cpu_hours:{options}")
    with pytest.raises(ConfigError, match=said):
        load_policy(name)(given)


@pytest.mark.parametrize("base", BASES)
def test_it_takes_on_the_nature_of_its_base(base: str) -> None:
    own, plain = load_policy("cpu_hours")({"base": base}), load_policy(base)()
    assert own.event_driven == plain.event_driven
    assert (own.label or own.name) == (plain.label or plain.name)
