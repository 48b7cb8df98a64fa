"""Limits that sacctmgr changes while jobs run and wait, as recorded with slurmctld 22.05.8 (limits-changed)."""

from __future__ import annotations

from copy import deepcopy

from golden.asked import Asked, load, replayed
from unit.core.world import World

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.commands import do_command, read_commands
from slurmsim.config.accounting.draft import Draft
from slurmsim.config.findings import Place, Report
from slurmsim.core.records.messages import ReplaceAccounting


def world(asked: Asked) -> World:
    """Told of every sacctmgr command in the second it was recorded."""
    draft = Draft(Report())
    read_commands("\n".join(asked.commands), "sacctmgr.txt", draft)
    w = replayed(asked, accounting=build(deepcopy(draft), "recording"))
    for second, command in asked.others:
        if command.startswith("sacctmgr"):
            assert do_command(command, Place("recording"), draft)
            w.tell(ReplaceAccounting(build(deepcopy(draft), "recording")), second + 2)
    return w


def test_every_look_shows_the_recorded_states_and_reasons() -> None:
    """a3 waits for MaxJobs=1 of alice until one of two that ran before has ended; c2 is refused; d1 and d2 wait for
    their account's 2, then 3 CPUs; b2 starts when its QOS gets a third CPU; b3 when what ran in it has ended."""
    asked = load("limits-changed")
    w = world(asked)
    checked = 0
    for second, rows in zip(asked.squeue_times, asked.squeues, strict=True):
        w.until(second)
        shown = {row["NAME"]: (row["STATE"].replace("COMPLETING", "COMPLETED"), row["REASON"]) for row in rows}
        ours = {name: (w.state(name), w.reason(name)) for name in shown}
        waiting = {name for name in shown if "PENDING" in (shown[name][0], ours[name][0])}
        assert {name: ours[name] for name in waiting} == {name: shown[name] for name in waiting}, second
        checked += len(waiting)
    assert checked == 5
    last = {row["NAME"]: row for row in asked.squeues[-1]}
    assert {name: w.nodes(name) for name in last} == {name: row["NODELIST"] for name, row in last.items()}
    assert {name: text.partition(": ")[2] or text for name, text in w.refused.items()} == asked.refused
    assert w.refused["c2"].startswith("AssocMaxSubmitJobLimit")


def test_limits_that_shrink_end_nobody() -> None:
    """alice runs two jobs when she may run one from then on; both go on."""
    w = world(load("limits-changed"))
    w.until(30)
    assert [w.state(name) for name in ("a1", "a2")] == ["RUNNING", "RUNNING"]
    w.until(200)
    assert [w.state(name) for name in ("a1", "a2")] == ["COMPLETED", "COMPLETED"]
