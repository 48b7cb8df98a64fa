"""bins by hand: who is in the queue and who before it, boosts, ties, reasons, and tables that make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from world import World, simple

from slurmsim.cli import main
from slurmsim.core.queue.buffers import OVER_LIMIT
from slurmsim.core.records.messages import Hold, Release
from slurmsim.errors import ConfigError
from slurmsim.policy import load_policy, parse_policy
from slurmsim_policies.bin_table import DAY_S, EOS, TITAN, Table, read_table

Row = tuple[str, str, int, int, int, int, int]  # name, user, submit, nodes, limit, run, expected start


def table(folder: Path, text: str) -> Path:
    file = folder / "bins.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def boosted(tmp_path: Path) -> Path:
    """Four nodes: jobs of three or four are 50 s older than they are."""
    return table(tmp_path, f"[[bin]]\nnodes = [3, 4]\nboost_days = {50 / DAY_S}\n[[bin]]\nnodes = [1, 2]\nhours = 1\n")


def check(policy: str, rows: list[Row], nodes: int = 4) -> World:
    world = World(simple(nodes), policy)
    for name, user, at, n, limit, run, _ in rows:
        world.sbatch(f"-J {name} -N{n} -t {limit}s", run, at=at, user=user)
    world.until(100_000)
    assert {row[0]: world.start(row[0]) for row in rows} == {row[0]: row[6] for row in rows}
    world.controller.check()
    return world


@pytest.mark.parametrize("base", ["fcfs", "easy", "conservative"])
def test_a_user_has_one_job_in_the_queue_and_the_next_enters_as_it_leaves(base: str) -> None:
    """a2 would be before b; it comes into the queue when a1 starts at 0, in the same second, a3 at 0 too and waits."""
    check(
        f"bins:base={base},limit=1",
        [
            ("a1", "ann", 0, 2, 100, 100, 0),
            ("a2", "ann", 0, 2, 100, 100, 0),
            ("a3", "ann", 0, 4, 100, 100, 100),
            ("a4", "ann", 1, 4, 100, 100, 300),
            ("b", "bob", 2, 4, 100, 100, 200),
        ],
    )


def test_buffered_jobs_do_not_age(boosted: Path) -> None:
    """`wide` came first of all but for ann's other job, which held it in the buffer until 100."""
    rows: list[Row] = [
        ("run", "bob", 0, 4, 100, 100, 0),
        ("first", "ann", 0, 4, 100, 100, 100),
        ("second", "ann", 1, 2, 100, 100, 300),
        ("b", "bob", 60, 4, 100, 100, 200),
    ]
    check(f"bins:file={boosted},base=fcfs,limit=1", rows)
    rows[2:] = [(*rows[2][:6], 200), (*rows[3][:6], 300)]  # in the queue at once it is before b: 1 against 60 - 50
    check(f"bins:file={boosted},base=fcfs,limit=none,boosts=off", rows)


@pytest.mark.parametrize(("late", "start"), [(54, 200), (55, 200), (56, 300)])
def test_a_boost_is_worth_its_seconds_and_ties_go_by_entry(boosted: Path, late: int, start: int) -> None:
    """`small` entered at 5; a wide one that enters at 54 is ahead of it, at 55 it ties and entered later."""
    other = {54: 300, 55: 200, 56: 200}[late]
    wide = {54: 200, 55: 300, 56: 300}[late]
    assert start in (wide, other)
    check(
        f"bins:file={boosted},base=fcfs",
        [
            ("run", "bob", 0, 4, 200, 200, 0),
            ("small", "ann", 5, 2, 100, 100, other),
            ("wide", "cid", late, 4, 100, 100, wide),
        ],
    )


def test_who_enters_ahead_of_others_takes_their_planned_start(boosted: Path) -> None:
    """Plain conservative backfill keeps small's planned start; here the plan is made anew in queue order."""
    rows: list[Row] = [
        ("run", "bob", 0, 2, 100, 100, 0),
        ("long", "bob", 0, 2, 150, 150, 0),
        ("two", "ann", 10, 2, 200, 200, 250),
        ("all", "cid", 11, 4, 100, 100, 150),
    ]
    check(f"bins:file={boosted}", rows)
    check("conservative", [*rows[:2], (*rows[2][:6], 100), (*rows[3][:6], 300)])


@pytest.mark.parametrize(
    "policy", ["bins:base=easy,limit=1", "bins:base=backfill,limit=1", "bins:base=cpu_hours,limit=1"]
)
def test_who_is_held_back_says_why(policy: str) -> None:
    world = World(simple(4), policy)
    for name in ("a", "b", "c", "d"):
        world.sbatch(f"-J {name} -N4 -t 1000s", 500, user="ann")
    world.until(10)
    assert world["a"].start_time is not None
    assert [world[name].queued for name in "bcd"] == [True, False, False]
    assert world["b"].reason != OVER_LIMIT
    assert [world[name].reason for name in "cd"] == [OVER_LIMIT, OVER_LIMIT]
    world.controller.check()


def test_the_buffer_after_cancels_holds_and_edits() -> None:
    """A place is given on when its job is held or cancelled, and kept through an edit; who is released queues anew."""
    world = World(simple(1), "bins:base=fcfs,limit=1")
    for name in ("run", "a", "b", "c"):
        world.sbatch(f"-J {name} -N1 -t 100s", 100, user="ann")
    world.until(1)
    assert [world[name].queued for name in "abc"] == [True, False, False]
    place = world["a"].turn
    world.controller.waiting.enqueue(world["a"], world.controller.waiting.set_aside(world["a"]))
    assert world["a"].turn == place and world["a"].queued
    world.scancel("b")
    world.until(2)
    assert [world[name].queued for name in "ac"] == [True, False]
    world.tell(Hold(world.id("a")))
    world.until(3)
    assert [world[name].queued for name in "ac"] == [False, True]
    world.tell(Release(world.id("a")))
    world.until(4)
    assert world["a"].reason == OVER_LIMIT
    world.until(1000)
    assert (world.start("c"), world.start("a")) == (100, 200)
    assert not world.controller.buffers.places and not world.controller.buffers.held  # type: ignore[union-attr]


def test_too_long_or_too_large(boosted: Path) -> None:
    """A job that no bin takes waits for ever and says so; with longest=run only its size counts."""
    world = World(simple(8), f"bins:file={boosted}")
    world.sbatch("-J long -N1 -t 3601s", 10)
    world.sbatch("-J large -N5 -t 10s", 10)
    world.sbatch("-J fine -N1 -t 3600s", 10)
    world.until(100)
    assert (world["long"].reason, world["large"].reason) == ("PartitionTimeLimit", "PartitionNodeLimit")
    assert world.start("fine") == 0
    check(f"bins:file={boosted},longest=run", [("long", "ann", 0, 1, 3601, 10, 0)])


def test_titan_and_eos() -> None:
    """Five and three bins that leave no gap; OLCF's limits of four and two."""
    assert [(b.low, b.high, (b.longest_s or 0) // 3600, b.boost_s // DAY_S) for b in TITAN.bins] == [
        (11_250, 18_688, 24, 15), (3_750, 11_249, 24, 5), (313, 3_749, 12, 0), (126, 312, 6, 0), (1, 125, 2, 0),
    ]  # fmt: skip
    for known, limit in ((TITAN, 4), (EOS, 2)):
        assert known.limit == limit
        highs = [one.high for one in known.bins]
        assert [one.low - 1 for one in known.bins[:-1]] == highs[1:] and known.bins[-1].low == 1
    policy: Any = load_policy("titan")({"limit": "none", "boosts": "off", "base": "fcfs"})
    assert policy.discipline.limit is None and policy.base.name == "fcfs" and not policy.discipline.boosts
    assert load_policy("eos")({}).discipline.limit == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"bins.toml: bin: has no bins \(expected \[\[bin\]\]"),
        ("[[bin]]\nnode = [1, 2]", r"bin 1.node: unknown key \(expected nodes, hours, boost_days\)"),
        ("limits = 3\n[[bin]]\nnodes = [1, 2]", r"limits: unknown key \(expected limit, bin\)"),
        ("[[bin]]\nnodes = [5, 4]", r"bin 1.nodes: \[5, 4\]: no job fits it"),
        ("[[bin]]\nnodes = [1, 2]\nhours = 0", "bin 1.hours: 0 hours: no job fits it"),
        ("[[bin]]\nnodes = [1, 2]\nhours = -1", "bin 1.hours: -1 "),
        ("[[bin]]\nnodes = [1, 2]\nboost_days = true", "bin 1.boost_days: True"),
        ("[[bin]]\nnodes = '1-2'", r"bin 1.nodes: '1-2' is no range"),
        ("[[bin]]\nhours = 2", "bin 1.nodes: missing"),
        ("[[bin]]\nnodes = [3, 5]\n[[bin]]\nnodes = [1, 3]", r"bins 2 \(1-3 nodes\) and 1 \(3-5 nodes\) overlap"),
        ("limit = 0\n[[bin]]\nnodes = [1, 2]", "limit: 0 "),
        ("[[bin", "is no TOML: "),
    ],
)
def test_tables_that_make_no_sense(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        read_table(str(table(tmp_path, text)))


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("titan:base=none", "no base scheduler is called 'none'"),
        ("titan:base=bins", "no base scheduler is called 'bins'"),
        ("titan:file=x", "unknown option 'file' of policy titan"),
        ("titan:order=shortest", r"unknown option 'order' of policy titan \(expected one of: base, boosts, early"),
        ("titan:limit=0", r"bad value '0' for option limit of policy titan \(expected a user's jobs in the queue, or"),
        ("bins:file=/nowhere.toml", "/nowhere.toml: cannot be read"),
    ],
)
def test_options_that_make_no_sense(policy: str, said: str) -> None:
    name, options = parse_policy(policy)
    with pytest.raises(ConfigError, match=said):
        load_policy(name)(options)
    assert load_policy("titan")({"base": "easy", "order": "shortest"}).options["order"] == "shortest"


SWF = """; MaxProcs: 4
1 0 -1 10 4 -1 -1 4 10 -1 1 1 1 1 1 1 -1 -1
2 0 -1 10 1 -1 -1 1 9000 -1 1 1 1 1 1 1 -1 -1
"""


def test_on_a_log(boosted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job no bin takes, and a bin nobody fits, are one line each; what is left runs."""
    log = tmp_path / "log.swf"
    log.write_text(SWF, encoding="utf-8")
    run = ["run", "--workload", str(log), "--quiet", "--out", str(tmp_path / "out"), "--policy"]
    assert main([*run, f"bins:file={boosted}"]) == 2
    assert capsys.readouterr().err.startswith(
        f"slurmsim: error: {log}: nodes: job 2 asks for 1 nodes and 9000 s, which the policy never lets in (PartitionT"
    )
    assert main([*run, f"bins:file={boosted}", "--impossible-jobs", "drop"]) == 0
    assert main([*run, "titan"]) == 0
    large = table(tmp_path, "[[bin]]\nnodes = [5, 9]\n[[bin]]\nnodes = [1, 4]\n")
    capsys.readouterr()
    assert main([*run, f"bins:file={large}"]) == 2
    assert "bin 1 takes 5-9 nodes, and the cluster has 4: no job fits it" in capsys.readouterr().err


def test_without_a_table_there_is_one_bin() -> None:
    assert str(Table()) == "none"
    check("bins:base=fcfs", [("a", "ann", 0, 4, 10, 10, 0), ("b", "ann", 0, 4, 10, 10, 10)])


def test_in_a_conf_the_table_is_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever one is; `run` and `check` name the table and its field where it makes no sense."""
    (tmp_path / "site").mkdir()
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    conf = tmp_path / "site" / "slurm.conf"
    conf.write_text(
        "ClusterName=c\nSlurmctldHost=h\nSchedulerType=sched/bins:file=bins.toml,base=fcfs\nSelectType=select/linear\n"
        "NodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n",
        encoding="utf-8",
    )
    log = tmp_path / "log.swf"
    log.write_text("".join(f"{k} 0 -1 50 1 -1 -1 1 50 -1 1 1 1 1 1 1 -1 -1\n" for k in (1, 2, 3)), encoding="utf-8")
    command = ["run", "--conf", str(conf), "--workload", str(log), "--out", str(tmp_path / "out"), "--quiet"]
    table(tmp_path / "site", "limit = 1\n[[bin]]\nnodes = [1, 4]\n")
    assert main(command) == 0 and main(["check", str(conf)]) == 0
    capsys.readouterr()
    table(tmp_path / "site", "[[bin]]\nnodes = [3, 2]\n")
    for words in (command, ["check", str(conf)]):
        assert main(words) != 0
        said = capsys.readouterr()
        text = said.out + said.err
        assert "bins.toml" in text and "bin 1.nodes" in text and "[3, 2]: no job fits it" in text
