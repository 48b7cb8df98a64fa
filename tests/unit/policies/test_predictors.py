"""Predictors: what each says, what policies make of it, and who may bring one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pandas as pd
import pytest
from policy_cases import LATE, Row, check
from world import World, simple

import slurmsim
from slurmsim.cli import main
from slurmsim.core.records.job import OVERRUN_S, Job
from slurmsim.errors import ConfigError, PolicyError
from slurmsim.policy import (
    PREDICTOR,
    PREDICTORS,
    Estimate,
    JobView,
    Policy,
    Predictor,
    Start,
    load_policy,
    load_predictor,
    policy_names,
    predictor_names,
)
from slurmsim.validate import validate_trace
from slurmsim_policies.cp.picture import picture_of
from slurmsim_policies.predictors.data_driven import DataDriven
from slurmsim_policies.predictors.last_two import LastTwo

HOUR = 3600
TAKES_ONE = {
    "bins", "titan", "eos", "easy", "conservative", "spf", "cp_eurora", "pcp19", "hcp19", "pcp20", "cp_classes", "list",
    "parm", "autonomy", "carbon",
}  # fmt: skip


class Asked:
    """What predictors read of a job."""

    class Place:
        def __init__(self, name: str) -> None:
            self.name = name

    def __init__(
        self, name: str = "", *, user: str = "u", part: str = "p", limit: int = HOUR, cpus: int = 1, mem: int = 10
    ) -> None:
        self.user, self.name, self.time_limit_s = user, name, limit
        self.partitions = [self.Place(part)]
        self.asked = (("node", 1), ("cpu", cpus), ("mem_per_node", mem))


# -- who says what ------------------------------------------------------------------------------------------------


def test_ours() -> None:
    assert predictor_names() == ["data_driven", "last_two", "learned", "real", "requested"]
    assert [name for name in predictor_names() if load_predictor(name).oracle] == ["real"]


def test_last_two() -> None:
    """Seconds are rounded up, users are kept apart, and nobody is known before a job of his has ended."""
    predictor = LastTwo()
    said = []
    for run_time in (100, 21, 40):
        said.append(predictor.predict(Asked(), 0))  # type: ignore[arg-type]
        predictor.ended(Asked(), 0, run_time)  # type: ignore[arg-type]
    assert [*said, predictor.predict(Asked(), 0)] == [None, 100, 61, 31]  # type: ignore[arg-type]
    assert predictor.predict(Asked(user="v"), 0) is None  # type: ignore[arg-type]
    predictor.ended(Asked(user=""), 0, 7)  # type: ignore[arg-type]
    assert predictor.predict(Asked(user=""), 0) is None  # type: ignore[arg-type]


RULES: dict[str, tuple[list[tuple[Asked, int]], Asked, int | None]] = {
    "1, the same profile": ([(Asked("cfd1"), 10), (Asked("cfd1", cpus=2), 20)], Asked("cfd1"), 10),
    "1, its last job": ([(Asked("cfd1"), 10), (Asked("cfd1"), 11)], Asked("cfd1"), 11),
    "2, the longest beginning": (
        [(Asked("cfd12"), 10), (Asked("cfd2"), 20), (Asked("cfd13", cpus=2), 30)], Asked("cfd11"), 10,
    ),
    "2, before the same name": ([(Asked("c"), 10), (Asked("cfd", cpus=2), 20)], Asked("cfd"), 10),
    "2, of equal ones the last": ([(Asked("cfd12"), 10), (Asked("cfd13"), 20), (Asked("x"), 5)], Asked("cfd11"), 20),
    "3, the most equal amounts": (
        [(Asked("cfd", cpus=2), 10), (Asked("cfd", cpus=2, mem=2), 20)], Asked("cfd"), 10,
    ),
    "3, before a beginning": ([(Asked("cfd", cpus=2), 10), (Asked("cfd1", cpus=2), 20)], Asked("cfd"), 10),
    "4, the longest beginning": (
        [(Asked("cfd1", cpus=2, mem=2), 10), (Asked("cf", cpus=2), 20)], Asked("cfd2"), 10,
    ),
    "4, then the most equal amounts": (
        [(Asked("cfd1", cpus=2), 10), (Asked("cfd3", cpus=2, mem=2), 20)], Asked("cfd2"), 10,
    ),
    "5, the last of the name": (
        [(Asked("cfd", limit=5), 10), (Asked("cfd", part="q"), 20), (Asked("cfd1", limit=5), 30)], Asked("cfd"), 20,
    ),
    "6, the longest beginning": ([(Asked("cfd1", limit=5), 10), (Asked("c", part="q"), 20)], Asked("cfd2"), 10),
    "else nothing": ([(Asked("x"), 10), (Asked("cfd", user="v"), 20), (Asked("", limit=5), 30)], Asked("cfd"), None),
    "nor without a name": ([(Asked("x"), 10)], Asked(""), None),
    "nor without a user": ([(Asked("x", user=""), 10)], Asked("x", user=""), None),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_data_driven(rule: str) -> None:
    ended, asked, expected = RULES[rule]
    predictor = DataDriven()
    for job, run_time in ended:
        predictor.ended(job, 0, run_time)  # type: ignore[arg-type]
    assert predictor.predict(asked, 0) == expected  # type: ignore[arg-type]


# -- what is planned with ------------------------------------------------------------------------------------------


class Always(Predictor):
    """Says the same of every job."""

    name = "always"
    said: Any = 10

    def predict(self, job: Any, now: int) -> Any:
        return self.said() if callable(self.said) else self.said


class Minimal(Policy):
    """As little as a policy with a predictor can be."""

    name = "minimal"
    OPTIONS: ClassVar = {"predictor": PREDICTOR}

    def schedule(self, view: Any, now: int) -> Any:
        for job in sorted(view.pending, key=lambda job: job.expected_s):
            yield Start(job)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """A stranger's predictor and a stranger's policy, as entry points of a package of his would bring them."""
    brought = {
        PREDICTORS: [EntryPoint("always", f"{__name__}:Always", PREDICTORS)],
        "slurmsim.policies": [EntryPoint("minimal", f"{__name__}:Minimal", "slurmsim.policies")],
    }
    monkeypatch.setattr(
        "slurmsim.policy.registry.entry_points", lambda group: [*entry_points(group=group), *brought[group]]
    )

    def say(said: Any) -> None:
        monkeypatch.setattr(Always, "said", staticmethod(said) if callable(said) else said)

    return say


def test_corrections(always: Callable[[Any], None]) -> None:
    """1, 5, 15, 30 minutes, 1, 2, 5, 10, 20, 50, 100 hours beyond the prediction, in the end the limit."""
    assert [s // 60 for s in OVERRUN_S] == [0, 1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000]
    always(10)
    w = World(simple(1), "conservative:predictor=always")
    limit = 500 * HOUR
    w.sbatch(f"-J a -N1 -t {limit // 60}", run=limit - 5)
    w.sbatch("-J b -N1 -t 10", run=5, at=1)
    ends = [10 + beyond for beyond in OVERRUN_S] + [limit]
    for before, end in pairwise([2, *ends]):  # while nobody would look: the controller wakes up by itself
        w.until(before)
        assert (w["a"].expected_s, w["a"].expected_end, w.planned("b")[0]) == (end, end, end)
        w.until(end - 1)
        assert (w["a"].expected_s, w.start("b")) == (end, None if end < limit else limit - 5)


def test_the_limit_stays_and_nothing_is_expected_to_exceed_it(always: Callable[[Any], None]) -> None:
    always(10 * HOUR)
    w = World(simple(1), "easy:predictor=always")
    w.sbatch("-J a -N1 -t 10", run=5000)
    w.until(1)
    assert (w["a"].time_limit_s, w["a"].expected_s, w["a"].expected_end) == (600, 600, 600)
    w.until(600)
    assert w.state("a") == "TIMEOUT" and w["a"].corrections == 0


def test_nothing_lasts_less_than_a_second(always: Callable[[Any], None]) -> None:
    always(0)
    w = World(simple(2), "pcp20:predictor=always")
    w.sbatch("-J a -N2 -t 10", run=500)
    w.sbatch("-J b -N1 -t 10", run=500, at=1)
    w.until(1)
    assert w["a"].expected_s == 60 and w["b"].expected_s == 1
    w.until(61)
    entries = picture_of(w.controller.view, 61, {}).plain["jobs"]  # type: ignore[arg-type]
    assert [(entry["id"], entry["duration"]) for entry in entries] == [("1", 300), ("2", 1)]


def test_a_shadow_of_predictions(always: Callable[[Any], None]) -> None:
    """`a` is expected to end at 100, so what ends by then may be backfilled, and what asks for more as well."""
    always(100)
    rows = [
        Row("a", 0, 3, 1000, 100, 0),
        Row("head", 1, 4, 1000, 10, 100),
        Row(
            "late", 2, 1, 90, 90, 110
        ),  # would end at 2 + 90, but nothing is expected to take less than 100 or its limit
    ]
    rows[2] = Row("short", 0, 1, 100, 100, 0)
    check("easy:predictor=always", rows)
    check("conservative:predictor=always", rows)
    always(lambda: None)  # knows nothing: limits count
    check("easy:predictor=always", [
        Row("a", 0, 3, 1000, 100, 0), Row("head", 1, 4, 1000, 10, 100), Row("short", 2, 1, 98, 98, 2),
    ])  # fmt: skip


@pytest.mark.parametrize("policy", ["easy", "conservative", "spf"])
def test_requested_is_as_without(policy: str) -> None:
    rows = [Row("a", 0, 3, 1000, 100, 0), Row("head", 1, 4, 1000, 10, 100)]
    for name in (policy, f"{policy}:predictor=requested"):
        assert check(name, rows).controller.predictions is None


def test_corrections_wake_the_policy(always: Callable[[Any], None]) -> None:
    """When `a` exceeds its prediction, `head` moves back, and what did not fit before it does now."""
    always(100)
    w = World(simple(4), "easy:predictor=always")
    w.sbatch("-J a -N3 -t 60", run=1000)
    w.sbatch("-J head -N4 -t 60", run=10, at=1)
    w.sbatch("-J c -N1 -t 2", run=110, at=2)  # 2 + 100 is after 100; from 100 on the shadow is 160, from 160 on 400
    w.until(LATE)
    assert w.start("c") == 160 and w.start("head") == 1000


def test_conservative_plans_anew(always: Callable[[Any], None]) -> None:
    always(100)
    w = World(simple(2), "conservative:predictor=always")
    w.sbatch("-J a -N2 -t 60", run=130)
    w.sbatch("-J b -N2 -t 60", run=10, at=1)
    w.sbatch("-J c -N2 -t 60", run=10, at=2)
    w.until(50)
    assert (w.planned("b")[0], w.planned("c")[0]) == (100, 200)
    w.until(100)
    assert (w.planned("b")[0], w.planned("c")[0]) == (160, 260)
    w.until(LATE)
    assert (w.start("b"), w.start("c")) == (130, 140)


MIXED = """ClusterName=c
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-4] CPUs=4 CoresPerSocket=4 RealMemory=4000
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
"""


def test_where_counting_is_not_enough(always: Callable[[Any], None]) -> None:
    """Plans pinned to nodes go by expected ends, too; and the shortest may be tried first there."""
    always(100)
    w = World(MIXED, "easy:predictor=always")
    for k in range(4):
        w.sbatch(f"-J a{k} -N1 -n3 --mem=3000 -t 60", run=100 + 20 * k)
    w.sbatch("-J head -N4 --exclusive --mem=0 -t 60", run=10, at=1)
    w.until(50)
    assert w.planned("head")[0] == 100
    w.until(110)
    assert w.planned("head")[0] == 160
    w.until(LATE)
    assert w.start("head") == 160


@pytest.mark.parametrize("conf", [simple(4), MIXED])
def test_shortest_first_behind_the_head(conf: str) -> None:
    for order, first in (("queue", "long"), ("shortest", "short")):
        w = World(conf, f"easy:order={order}")
        w.sbatch("-J a -N3 --exclusive --mem=0 -t 60" if conf is MIXED else "-J a -N3 -t 60", run=3600)
        w.sbatch("-J b -N1 --exclusive --mem=0 -t 1" if conf is MIXED else "-J b -N1 -t 1", run=60)
        wide = "--exclusive --mem=0" if conf is MIXED else ""
        w.sbatch(f"-J head -N4 {wide} -t 60", run=10, at=1)
        w.sbatch(f"-J long -N1 {wide} -t 50", run=60, at=2)
        w.sbatch(f"-J short -N1 {wide} -t 5", run=60, at=3)
        w.until(LATE)
        assert w.start(first) == 60, order


def test_spf() -> None:
    """The shortest request first; who does not fit blocks those behind; equals in the queue's order."""
    check("spf", [
        Row("a", 0, 3, 100, 100, 0),
        Row("wide", 1, 4, 50, 50, 100),
        Row("narrow", 2, 1, 60, 60, 160),  # would fit at 2
        Row("same", 3, 1, 60, 60, 160),
        Row("first", 101, 4, 10, 10, 150),  # came when `wide` ran
    ])  # fmt: skip
    check("spf", [Row("a", 0, 4, 100, 100, 0), Row("long", 1, 4, 60, 60, 120), Row("short", 2, 4, 20, 20, 100)])


def test_a_policy_of_a_stranger_with_a_predictor_of_a_stranger(always: Callable[[Any], None]) -> None:
    seen = iter([50, 20, 30])
    always(lambda: next(seen))
    w = World(simple(1), "minimal:predictor=always")
    for k in range(3):
        w.sbatch(f"-J j{k} -N1 -t 10", run=5)
    w.until(100)
    assert w.starts("j0 j1 j2") == {"j1": 0, "j2": 5, "j0": 10}
    assert "always" in predictor_names()


# -- learning ------------------------------------------------------------------------------------------------------


def test_what_is_learned_from() -> None:
    """Ends of all kinds, but neither jobs that never ran nor runs that their nodes cut short."""
    w = World(simple(4), "easy:predictor=last_two")

    def known(user: str) -> tuple[int, ...]:
        predictor: Any = w.controller.host.policy.predictor
        return tuple(predictor.known.get(user, ()))

    w.sbatch("-J done -N1 -t 10", run=100, user="a")
    w.sbatch("-J failed -N1 -t 10", run=70, user="b", state="FAILED")
    w.sbatch("-J over -N1 -t 1", run=500, user="c")
    w.sbatch("-J cut -N1 -t 10", run=500, user="d")
    w.scancel("cut", at=40)
    w.sbatch("-J never -N4 -t 10", run=500, user="e", at=1)
    w.scancel("never", at=2)
    w.until(200)
    assert [known(user) for user in "abcde"] == [(100,), (70,), (60,), (40,), ()]
    w.sbatch("-J again -N1 -t 10", run=50, user="a", at=200)
    w.until(201)
    assert w["again"].expected_s == 100


def test_knowledge_of_the_second_in_which_a_job_comes_counts_and_later_one_does_not() -> None:
    w = World(simple(4), "easy:predictor=last_two")
    w.sbatch("-J a -N1 -t 60", run=100)
    w.sbatch("-J b -N4 -t 60", run=5, at=99)
    w.sbatch("-J c -N1 -t 60", run=5, at=100)
    w.until(LATE)
    assert (w["b"].expected_s, w["c"].expected_s) == (3600, 100)


def test_a_requeued_job_is_predicted_once_and_not_corrected_before_it_runs_again(always: Callable[[Any], None]) -> None:
    always(10)
    w = World(simple(1), "easy:predictor=always")
    w.sbatch("-J a -N1 -t 60", run=500)
    w.until(100)
    assert w["a"].corrections == 0  # nobody waits who would care
    w.sbatch("-J b -N1 -t 60", run=500)
    w.until(101)
    assert w["a"].corrections == 2
    always(20)
    w.controller.life_cycle.requeue(w["a"])
    assert (w["a"].corrections, w["a"].expected_s, w["a"].expected_end) == (0, 10, None)


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({n for n in policy_names() if n != "minimal"}))
def test_every_policy_takes_a_predictor_or_says_that_it_does_not(name: str) -> None:
    if name in TAKES_ONE:
        policy = load_policy(name)({"predictor": "last_two"})
        assert isinstance(policy.predictor, LastTwo) and str(policy.options["predictor"]) == "last_two"
        assert load_policy(name)({}).predictor is None
    else:
        with pytest.raises(ConfigError, match=f"policy {name} takes no predictor: it goes by time limits alone"):
            load_policy(name)({"predictor": "last_two"})


def test_an_unknown_predictor() -> None:
    with pytest.raises(
        ConfigError, match=r"no predictor is called 'best' \(expected data_driven, last_two, learned, real"
    ):
        load_policy("easy")({"predictor": "best"})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (1.5, r"policy easy: predictor always: predicts 1.5 for job 1 \(expected whole seconds, or None\)"),
        (-1, "predictor always: predicts -1"),
        (lambda: 1 // 0, "predictor always: ZeroDivisionError"),
        (lambda: sys.exit(0), "predictor always: SystemExit"),
    ],
)
def test_what_a_predictor_must_not_say(always: Callable[[Any], None], said: Any, expected: str) -> None:
    always(said)
    w = World(simple(1), "easy:predictor=always")
    w.sbatch("-J a -N1 -t 10", run=5)
    with pytest.raises(PolicyError, match=expected):
        w.until(1)


def test_an_oracle_needs_a_simulation() -> None:
    w = World(simple(1), "easy:predictor=real")
    w.sbatch("-J a -N1 -t 10", run=5)
    with pytest.raises(PolicyError, match="predictor real: knows real run times, which only a simulation can tell it"):
        w.until(1)
    w = World(simple(1), "easy:predictor=real")
    assert w.controller.predictions is not None
    w.controller.predictions.run_time_of = lambda job_id: 5
    w.sbatch("-J a -N1 -t 10", run=5)
    w.until(1)
    assert w["a"].expected_s == 5


def test_the_list(always: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predictors"]) == 0
    assert "always" in (told := capsys.readouterr().out) and "ORACLE" in told
    assert main(["predictors", "--json"]) == 0
    assert '"oracle": true' in capsys.readouterr().out


def test_jobs_are_told_what_they_ask_for() -> None:
    w = World(
        MIXED.replace("RealMemory", "Gres=gpu:tesla:2 RealMemory").replace("SelectType=", "GresTypes=gpu\nSelectType=")
    )
    w.sbatch("-J a -N2 -n6 --mem=300 --gres=gpu:tesla:1 -t 10", run=5)
    w.until(1)
    job: Job = w["a"]
    assert dict(job.asked) == {"node": 2, "cpu": 6, "mem_per_node": 300, "gres/gpu:tesla": 1}


# -- results -------------------------------------------------------------------------------------------------------

SWF = """; MaxProcs: 4
1  0 -1  300 4 -1 -1 4 3600 -1 1 {user} 1 {app} 1 1 -1 -1
2 10 -1  300 4 -1 -1 4 3600 -1 1 {user} 1 {app} 1 1 -1 -1
"""


@pytest.mark.parametrize(("predictor", "named"), [("real", "real (oracle)"), ("last_two", "last_two"), (None, None)])
def test_results_name_the_predictor(tmp_path: Path, predictor: str | None, named: str | None) -> None:
    log = tmp_path / "log.swf"
    log.write_text(SWF.format(user=1, app=1), "utf-8")
    policy = f"easy:predictor={predictor}" if predictor else "easy"
    trace = slurmsim.run(log, policy=policy, out=tmp_path / "run")
    assert trace.summary.get("predictor") == named and trace.manifest.get("predictor") == named
    assert trace.manifest["policy_options"]["predictor"] == (predictor or "requested")
    page = (tmp_path / "run/report.html").read_text("utf-8")
    assert (f"under easy with predictor {named}" in page) == (named is not None)
    assert validate_trace(tmp_path / "run").valid


@pytest.mark.parametrize(("predictor", "user", "app"), [("last_two", -1, 1), ("data_driven", 1, -1)])
def test_a_log_has_what_the_predictor_goes_by(tmp_path: Path, predictor: str, user: int, app: int) -> None:
    log = tmp_path / "log.swf"
    log.write_text(SWF.format(user=user, app=app), "utf-8")
    with pytest.raises(
        ConfigError, match=f"predictor {predictor} goes by the (user|name) of a job, and no job has one"
    ):
        slurmsim.run(log, policy=f"easy:predictor={predictor}", out=tmp_path / "run")


def test_a_configuration_gives_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.swf").write_text(SWF.format(user=1, app=1), "utf-8")
    conf = tmp_path / "slurm.conf"
    conf.write_text(simple(4, more="SchedulerType=sched/conservative:predictor=last_two"), "utf-8")
    trace = slurmsim.run(tmp_path / "log.swf", conf=conf, out=tmp_path / "run", report=False)
    assert (trace.summary["policy"], trace.summary["predictor"]) == ("conservative", "last_two")
    trace = slurmsim.run(tmp_path / "log.swf", conf=conf, policy="easy", out=tmp_path / "other", report=False)
    assert trace.summary["policy"] == "easy" and "predictor" not in trace.summary
    assert main(["check", str(conf)]) == 0
    assert "no policy has this name" not in capsys.readouterr().out


class Wide(Predictor):
    """From half to twice the last run time; what it says can be set."""

    name = "wide"

    def __init__(self) -> None:
        self.last: int | None = None
        self.says: Any = None

    def estimate(self, job: JobView, now: int) -> Any:
        return self.says or (None if self.last is None else Estimate(self.last // 2, self.last, 2 * self.last))

    def ended(self, job: JobView, now: int, run_time_s: int) -> None:
        self.last = run_time_s


def test_a_policy_asks_for_intervals() -> None:
    """Without knowledge from 0 to the limit; else as the predictor says, within the limit."""
    asked: list[tuple[int, Estimate]] = []
    wide = Wide()

    class Asks(Policy):
        name = "asks"
        predictor = wide

        def schedule(self, view: Any, now: int) -> Iterator[Start]:
            for job in view.pending:
                asked.append((job.id, view.estimate(job)))
                yield Start(job)

    frame = pd.DataFrame({"job_id": [1, 2], "submit": [0, 200], "run_time": [60, 5], "time_limit": [600, 100],
                          "nodes": [1, 1], "user": ["u", "u"]})  # fmt: skip
    slurmsim.run(frame, nodes=2, policy=Asks())
    assert asked == [(1, Estimate(0, 600, 600)), (2, Estimate(30, 60, 100))]
    for says in (Estimate(5, 4, 9), Estimate(-1, 4, 9), (1, 2, 3), Estimate(1, 2, 3.0)):  # type: ignore[arg-type]
        wide.says = says
        # as compiled code says it of what is no whole number
        with pytest.raises(PolicyError, match=r"predictor wide: estimates|TypeError: int object expected"):
            slurmsim.run(frame, nodes=2, policy=Asks())


def test_the_range_of_the_last_two() -> None:
    last = LastTwo()
    job: Any = SimpleNamespace(user="u")
    assert last.estimate(job, 0) is None
    for run_time in (10, 40, 21):
        last.ended(job, 0, run_time)
    assert last.estimate(job, 0) == Estimate(21, 31, 40)
