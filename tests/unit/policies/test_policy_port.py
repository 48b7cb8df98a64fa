"""The port itself: what a policy may yield, what becomes of its mistakes, what the view says."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest
from policy_cases import LATE
from world import HEAD, World, simple

import slurmsim.policy
from slurmsim.cli import main
from slurmsim.errors import ConfigError, InvariantError, PolicyError
from slurmsim.policy import (
    Plan,
    Policy,
    PolicyOption,
    Reject,
    Start,
    WakeAt,
    installed_policies,
    load_policy,
    parse_policy,
    policy_names,
)

Schedule = Callable[[Any, int], Any]


class Scripted(Policy):
    """Does what the test says."""

    summary = "scripted"
    script: Schedule

    def schedule(self, view: Any, now: int) -> Any:
        return type(self).script(view, now)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Schedule], World]:
    """A world under a policy called "scripted", made of a function of view and time."""

    def make(script: Schedule, conf: str = "") -> World:
        offer(monkeypatch, EntryPoint("scripted", f"{__name__}:Scripted", slurmsim.policy.GROUP))
        monkeypatch.setattr(Scripted, "script", staticmethod(script), raising=False)
        return World(conf or simple(4), "scripted")

    return make


def offer(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: list(points))


# -- decisions ----------------------------------------------------------------------------------------------------


def test_the_view_is_up_to_date_after_every_decision(scripted: Any) -> None:
    seen = []

    def script(view: Any, now: int) -> Any:
        for job in view.pending:
            before = view.free_nodes, view.free_cpus, len(view.pending), len(view.running)
            started = yield Start(job)
            after = view.free_nodes, view.free_cpus, len(view.pending), len(view.running)
            seen.append((before, started, after))

    world = scripted(script)
    for line in ("-J a -N3 -t 10", "-J b -N2 -t 10"):
        world.sbatch(line, 60)
    world.until(0)
    assert seen == [((4, 4, 2, 0), True, (1, 1, 1, 1)), ((1, 1, 1, 1), False, (1, 1, 1, 1))]


def test_a_list_of_decisions_is_as_good_as_a_generator(scripted: Any) -> None:
    world = scripted(lambda view, now: [Start(job) for job in view.pending])
    world.sbatch("-J a -N3 -t 10", 60)
    world.until(LATE)
    assert world.start("a") == 0


def test_start_tries_the_partitions_of_a_job_in_order(scripted: Any) -> None:
    conf = f"{HEAD}NodeName=n[1-4]\nPartitionName=left Nodes=n[1-2] Default=YES\nPartitionName=right Nodes=n[3-4]\n"
    world = scripted(lambda view, now: [Start(job) for job in view.pending], conf)
    for line in ("-J a -p left,right -N2 -t 10", "-J b -p left,right -N2 -t 10"):
        world.sbatch(line, 60)
    world.until(0)
    assert (world.nodes("a"), world.nodes("b")) == ("n[1-2]", "n[3-4]")


def test_plans_and_reasons_show_and_wake_ups_come(scripted: Any) -> None:
    calls = []

    def script(view: Any, now: int) -> Any:
        calls.append(now)
        for job in view.pending:
            if now >= 500:
                yield Start(job)
            else:
                yield Plan(job, 500)
                yield Reject(job, "Nothing personal")
                yield WakeAt(700)
                yield WakeAt(500)

    world = scripted(script)
    world.sbatch("-J a -N1 -t 10", 60)
    world.until(100)
    assert (world.planned("a")[0], world.reason("a")) == (500, "Nothing personal")
    world.until(LATE)
    assert (world.start("a"), calls) == (500, [0, 500, 560])


# -- mistakes -----------------------------------------------------------------------------------------------------


def twice(view: Any, now: int) -> Any:
    (job,) = view.pending
    yield Start(job)
    yield Start(job)


def crash(view: Any, now: int) -> Any:
    yield Start(view.pending[0])
    raise KeyError("oops")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (twice, "started job 1, which is not waiting in the queue"),
        (crash, "KeyError: 'oops' (test_policy_port.py:"),
        (lambda view, now: [Start(view.pending[0].id)], "started 1, which is no job of the view"),
        (lambda view, now: [Start(None)], "started None, which is no job of the view"),
        (lambda view, now: ["start"], "yielded 'start', which is no decision"),
        (lambda view, now: [WakeAt(now)], "yielded WakeAt for 0 (expected whole seconds, at least 1)"),
        (lambda view, now: [WakeAt(1.5)], "yielded WakeAt for 1.5 (expected whole seconds, at least 1)"),
        (lambda view, now: [Plan(view.pending[0], -1)], "yielded Plan for -1 (expected whole seconds, at least 0)"),
        (lambda view, now: [Plan(view.pending[0], "x")], "yielded Plan for 'x' (expected whole seconds, at least 0)"),
        (lambda view, now: None, "returned None (expected decisions that are yielded, or a list of them)"),
        (lambda view, now: view.nothing, "AttributeError: 'View' object has no attribute 'nothing'"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_policy(scripted: Any, script: Schedule, message: str) -> None:
    world = scripted(script)
    world.sbatch("-J a -N1 -t 10", 60)
    with pytest.raises(PolicyError) as caught:
        world.until(10)
    assert str(caught.value).startswith(f"policy scripted: {message}")
    assert "\n" not in str(caught.value)


def test_what_is_not_the_policys_fault_is_not_put_down_to_it(scripted: Any) -> None:
    def script(view: Any, now: int) -> Any:
        raise InvariantError("found in the core")

    world = scripted(script)
    world.sbatch("-J a -N1 -t 10", 60)
    with pytest.raises(InvariantError):
        world.until(10)


# -- the view -----------------------------------------------------------------------------------------------------


def test_earliest_start_and_fits(scripted: Any) -> None:
    said: dict[int, list[tuple[str, bool, int | None]]] = {}

    def script(view: Any, now: int) -> Any:
        said[now] = [(job.name, view.fits(job), view.earliest_start(job)) for job in view.pending]
        for job in view.pending:
            if job.name == "a" or now >= 700:
                yield Start(job)

    world = scripted(script)
    for line in ("-J a -N3 -t 10", "-J b -N2 -t 1", "-J c -N1 -t 1"):
        world.sbatch(line, 500)
    world.until(0)
    assert said[0] == [("a", True, 0), ("b", True, 0), ("c", True, 0)]
    world.sbatch("-J d -N4 -t 1", 60, at=20)
    world.until(20)
    assert said[20] == [("b", False, 600), ("c", True, 20), ("d", False, 600)]


def test_pools_remember_what_came_and_went_only_for_who_clears_it(scripted: Any) -> None:
    seen = []

    def script(view: Any, now: int) -> Any:
        (pool,) = view.pools
        seen.append((now, [r.job.name for r in pool.new], [job.name for job, _ in pool.gone]))
        for job in view.pending:
            yield Start(job)
        if now < 100:
            pool.seen()

    world = scripted(script)
    for at, name in ((0, "a"), (10, "b"), (200, "c"), (300, "d")):
        world.sbatch(f"-J {name} -N4 -t 1", 60, at=at)
    world.until(301)
    assert seen == [
        (0, [], []), (10, ["b"], []), (60, [], ["a"]), (120, [], ["b"]), (200, ["c"], ["b"]), (260, ["c"], ["b", "c"]),
        (300, ["c", "d"], ["b", "c"]),
    ]  # fmt: skip


# -- finding policies ---------------------------------------------------------------------------------------------


def test_what_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(
        monkeypatch,
        EntryPoint("absent", "no_such_module:Mine", slurmsim.policy.GROUP),
        EntryPoint("other", "builtins:dict", slurmsim.policy.GROUP),
        EntryPoint("double", f"{__name__}:Scripted", slurmsim.policy.GROUP),
        EntryPoint("double", "builtins:dict", slurmsim.policy.GROUP),
    )
    assert policy_names() == ["absent", "double", "other"]
    with pytest.raises(PolicyError, match="policy absent: no_such_module:Mine cannot be loaded: ModuleNotFoundError"):
        load_policy("absent")
    with pytest.raises(PolicyError, match=r"policy other: builtins:dict is not a slurmsim.policy.Policy"):
        load_policy("other")
    with pytest.raises(ConfigError, match=r"several packages offer a policy 'double': builtins:dict, .*:Scripted"):
        load_policy("double")
    with pytest.raises(ConfigError, match=r"no policy is called 'easier' \(expected absent, double, other\)"):
        load_policy("easier")


BROKEN = {
    "syntax": ("def (:", "SyntaxError: invalid syntax"),
    "quits": ("raise SystemExit('go\\naway')", "SystemExit: go away"),
    "needs": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "options": ("from slurmsim.policy import Policy\nclass P(Policy):\n    OPTIONS = {'a': 1}", "OPTIONS that are no"),
}


def test_broken_policies_are_listed_with_file_and_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command lists good and broken ones alike; a broken one that is asked for is an error."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, (text, _) in BROKEN.items():
        (tmp_path / f"broken_{name}.py").write_text(text)
    offer(
        monkeypatch,
        EntryPoint("good", f"{__name__}:Scripted", slurmsim.policy.GROUP),
        EntryPoint("absent", "no_such_package.inner:P", slurmsim.policy.GROUP),
        *(EntryPoint(name, f"broken_{name}:P", slurmsim.policy.GROUP) for name in BROKEN),
    )
    found = {one.name: one for one in installed_policies()}
    assert list(found) == sorted([*BROKEN, "absent", "good"])
    assert found["good"].policy is Scripted and found["good"].file == __file__ and not found["good"].problem
    assert found["absent"].policy is None and found["absent"].file == "no_such_package.inner:P"
    for name, (_, reason) in BROKEN.items():
        one = found[name]
        assert one.policy is None and one.file == str(tmp_path / f"broken_{name}.py")
        assert reason in one.problem and "\n" not in one.problem

    assert main(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(found)
    (line,) = (line for line in lines if line.startswith("needs"))
    assert line.split(maxsplit=2)[1] == "broken" and str(tmp_path / "broken_needs.py") in line
    assert main(["policies", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["good"]["broken"] is None and BROKEN["needs"][1] in rows["needs"]["broken"]

    assert main(["policies", "good"]) == 0
    assert "needs" not in capsys.readouterr().out
    assert main(["policies", "good", "needs"]) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("slurmsim: error: policy needs: broken: ")
    assert main(["policies", "best"]) == 2
    assert "no policy is called 'best'" in capsys.readouterr().err


class Chameleon(Scripted):
    """A policy whose instances say when they are called."""

    def __init__(self, options: dict[str, str] | None = None) -> None:
        super().__init__(options)
        self.event_driven = False


def test_when_a_policy_is_called_is_asked_of_an_instance(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class may not know (and a compiled one has something else there)."""
    assert main(["policies", "--json"]) == 0
    called = {row["name"]: row["event_driven"] for row in json.loads(capsys.readouterr().out)}
    assert called | {"backfill": False, "builtin": False, "easy": True, "fcfs": True, "cpu_hours": True} == called
    assert main(["policies", "backfill"]) == 0
    assert "backfill  as slurmctld does" in capsys.readouterr().out
    offer(monkeypatch, EntryPoint("good", f"{__name__}:Chameleon", slurmsim.policy.GROUP))
    assert main(["policies", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["event_driven"] is False


def test_options_are_read_and_refused() -> None:
    class Optional(Policy):
        name = "optional"
        OPTIONS: ClassVar = {"depth": PolicyOption(int, 3, "a whole number")}

    assert Optional().options == {"depth": 3}
    assert Optional({"depth": "5"}).options == {"depth": 5}
    with pytest.raises(ConfigError, match=r"unknown option 'deep' of policy optional \(expected one of: depth\)"):
        Optional({"deep": "5"})
    with pytest.raises(ConfigError, match=r"bad value 'five' for option depth of policy optional \(expected a whole"):
        Optional({"depth": "five"})
    assert parse_policy("sched/mine:a=1,b=x=y") == ("mine", {"a": "1", "b": "x=y"})
    with pytest.raises(ConfigError, match="'a' is not an option"):
        parse_policy("mine:a")
    with pytest.raises(ConfigError, match=r"option 'a' is given twice \(expected each option once\)"):
        parse_policy("mine:a=1,a=2")
