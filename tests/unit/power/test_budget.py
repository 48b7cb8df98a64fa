"""The budget is a limit like any other: whoever would overdraw is told no; when it falls, jobs give back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from power_runs import LEAN, Script, column, ends, jobs, run

from slurmsim.errors import PolicyError, SlurmSimError
from slurmsim.policy import Decisions, Policy, PowerView, Resize, Start
from slurmsim.trace.reader import Trace
from slurmsim.validate import validate_trace

W = 1000  # milliwatts
NODE = "n"  # of made-up clusters


def peak(trace: Trace) -> int:
    """The most that was ever charged, milliwatts."""
    return int(trace.usage_frame()["charged_mw"].max())


@pytest.mark.parametrize("policy", ["easy", "conservative", "easy:order=shortest"])
@pytest.mark.parametrize("memory", [{}, {"mem_per_node": 1}])
def test_nobody_delays_who_waits_for_watts(tmp_path: Path, policy: str, memory: dict[str, int]) -> None:
    """Nodes for twenty, watts for eight: the second waits for the first to end, not for whom it was passed by.

    Counted and pinned to nodes.
    """
    plain = {"min_nodes": -1, "max_nodes": -1, "malleable": 0, "app": "", **memory}
    frame = jobs(
        {**plain, "nodes": 4, "run_time": 1000, "time_limit": 1000},
        {**plain, "submit": 1, "nodes": 8, "run_time": 100, "time_limit": 100},
        {**plain, "submit": 2, "nodes": 4, "run_time": 2000, "time_limit": 2000},
        {**plain, "submit": 3, "nodes": 3, "run_time": 900, "time_limit": 900},
    )
    trace = run(tmp_path, frame, policy, nodes=20, power_budget=str(8 * 116))
    assert column(trace, "start") == {1: 0, 2: 1000, 3: 1100, 4: 3}
    falls = steps(tmp_path, (0, 928), (500, 480), (1500, 928))  # which is known beforehand
    trace = run(tmp_path, frame, policy, nodes=20, power_budget=falls)
    assert column(trace, "start")[4] >= 1000 and not (trace.events_frame()["event"] == "SUSPEND").any()


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "backfill", "builtin"])
def test_kept_under_every_policy(tmp_path: Path, policy: str) -> None:
    """Nodes for four, watts for two of them."""
    frame = jobs(*[{"submit": 10 * k, "run_time": 600 + k, "nodes": 8, "malleable": 0} for k in range(6)])
    trace = run(tmp_path, frame, policy, power_budget="2000W")
    assert set(column(trace, "state").values()) == {"COMPLETED"} and peak(trace) == 2 * 8 * 116 * W
    assert max(ends(trace).values()) >= 3 * 600


@pytest.mark.parametrize("policy", ["list:scheme=serial", "pcp20", "hcp19", "cp_classes", "cp_eurora:model=mks"])
def test_dispatchers_plan_watts(tmp_path: Path, policy: str) -> None:
    """2,400 W, of which 32 idle nodes draw 64: watts are an amount of the instance, and it is kept."""
    sizes = [12, 4, 8, 6, 20, 3, 24]
    frame = pd.DataFrame([{"job_id": k + 1, "submit": 10 * k, "run_time": 600 + 37 * k, "time_limit": 1200, "nodes": n}
                          for k, n in enumerate(sizes)])  # fmt: skip
    (tmp_path / "watts.csv").write_text("time,watts\n0,2400\n5000,2900\n")
    budget = {"power_budget": str(tmp_path / "watts.csv"), "idle_w": "2"}
    saved = {} if policy.startswith("list") else {"save_instances": str(tmp_path / "saved")}
    trace = run(tmp_path, frame, policy, **budget, **saved)
    assert set(column(trace, "state").values()) == {"COMPLETED"}
    assert column(trace, "start")[7] == 5000  # 24 nodes want more than there is before
    usage = trace.usage_frame()
    assert (usage["charged_mw"] + usage["idle_mw"]).where(usage["time"] < 5000).max() <= 2400 * W
    if saved:
        instance = json.loads(next(iter(sorted((tmp_path / "saved").iterdir()))).read_text("utf-8"))
        drawn = {job["id"]: job["power_w"] for job in instance["jobs"]}
        assert instance["power"] == 2400 - 64
        assert drawn == {str(k + 1): n * (116 - 2) for k, n in enumerate(sizes) if str(k + 1) in drawn}
    else:
        starts = column(trace, "start")
        assert starts[6] >= starts[5]  # three nodes are free long before, their watts are promised to the twenty


def test_idle_nodes_are_charged(tmp_path: Path) -> None:
    """32 nodes at 10 W; a job of eight replaces 80 W of them."""
    frame = jobs({"run_time": 100}, {"run_time": 100})
    trace = run(tmp_path, frame, power_budget=str(320 - 80 + 928), idle_w="10")
    assert ends(trace)[2] > ends(trace)[1] and peak(trace) == 1168 * W
    assert trace.usage_frame().query("partition == ''")["idle_mw"].tolist()[-1] == 320 * W
    with pytest.raises(SlurmSimError, match="319 W are less than 32 idle nodes draw"):
        run(tmp_path, frame, power_budget="319", idle_w="10")


def test_idle_nodes_that_are_powered_down_draw_nothing(tmp_path: Path) -> None:
    """SuspendTime is what shuts idle nodes down; whoever needs one waits until it has booted."""
    plain = {"min_nodes": -1, "max_nodes": -1, "malleable": 0, "app": ""}
    frame = jobs({**plain, "nodes": 2, "run_time": 2000}, {**plain, "submit": 1000, "nodes": 3, "run_time": 100})
    saving = {"SuspendTime": 60, "SuspendTimeout": 30, "ResumeTimeout": 300,
              "SuspendProgram": "/bin/true", "ResumeProgram": "/bin/true"}  # fmt: skip
    trace = run(tmp_path, frame, nodes=8, idle_w="10", set=saving, boot_time=60)
    used = trace.usage_frame().query("partition == ''")
    assert (used["idle_mw"] == 10 * W * (8 - used["alloc_nodes"] - used["off_nodes"])).all()
    since = dict(zip(used["time"], used["idle_mw"], strict=True))
    # idle for a minute, then half a minute to go down; looked at after 1, 11, 21 … s
    assert [since[at] for at in (0, 61, 101)] == [60 * W, 60 * W, 0]
    assert ends(trace) == {1: 2000, 2: 1000 + 60 + 100}


def test_sizes_and_caps_of_starts(tmp_path: Path) -> None:
    script = Script({1: (4, 30.0), 2: (16, None), 3: (None, 44.5)})
    trace = run(tmp_path, jobs({}, {}, {}), script, power_budget="10000")
    told = trace.phases_frame().set_index("job_id")
    assert told["nodes"].to_dict() == {1: 4, 2: 16, 3: 8}
    assert told["cap_mw"].to_dict() == {1: 30 * W, 2: 60 * W, 3: 44_500}
    assert column(trace, "nodes") == {1: 4, 2: 16, 3: 8} and column(trace, "req_nodes") == {1: 4, 2: 4, 3: 4}
    assert told.loc[1, "charged_mw"] == 4 * 86 * W and told.loc[2, "drawn_mw"] == 16 * (52 + 56) * W
    used = told["drawn_mw"] * (told["end"] - told["start"]) / 1e6
    assert column(trace, "energy_j") == {job: round(1000 * joules) for job, joules in used.items()}


def test_what_overdraws_is_told_no(tmp_path: Path) -> None:
    """A start, a cap, and a size; nothing changes, and what fits goes on."""
    changes = {100: {1: (None, 60.0)}, 200: {1: (9, None)}, 300: {1: (None, 44.0)}}
    script = Script({1: (None, 30.0)}, changes)
    trace = run(tmp_path, jobs({}, {"run_time": 60}), script, power_budget=str(8 * 100))
    assert script.outcomes == {100: False, 200: True, 300: False} and 2 in script.refused
    assert peak(trace) == 9 * 86 * W


def test_while_data_move_the_larger_watts_count(tmp_path: Path) -> None:
    """A job that shrinks gives its watts back when what it held has moved."""
    script = Script(changes={100: {1: (4, None)}})
    trace = run(tmp_path, jobs({}, {"submit": 100, "nodes": 4, "malleable": 0}), script, power_budget="928")
    first = trace.phases_frame().query("job_id == 1")
    assert first["nodes"].tolist() == [8, 4, 4]
    assert first["charged_mw"].tolist() == [928 * W, 928 * W, 464 * W]
    moved = int(first["end"].tolist()[1])
    assert moved == 100 + 4 and column(trace, "start")[2] == moved  # 2 * 3.04 s / 2... see test_progress for the cost


def test_nodes_given_back_are_charged_once(tmp_path: Path) -> None:
    """A job that shrinks where the budget is used up: its freed nodes count as idle ones, it for the rest."""
    script = Script(changes={100: {1: (4, None)}})
    trace = run(tmp_path, jobs({}), script, nodes=16, power_budget=str(8 * 116 + 8 * 10), idle_w="10")
    assert script.outcomes == {100: True}
    assert trace.phases_frame()["charged_mw"].tolist() == [928 * W, 888 * W, 464 * W]


def test_who_shrinks_makes_room_for_who_grows(tmp_path: Path) -> None:
    """Also where the one that shrinks draws more afterwards, and comes later."""
    script = Script({1: (None, 30.0), 2: (None, 30.0)}, {100: {1: (9, None), 2: (7, 60.0)}})
    trace = run(tmp_path, jobs({}, {}), script, nodes=16)
    assert script.outcomes == {100: True}
    assert trace.phases_frame().query("start >= 100").groupby("job_id")["nodes"].max().to_dict() == {1: 9, 2: 7}


def test_a_resize_of_a_job_without_an_application_costs_nothing(tmp_path: Path) -> None:
    plain = pd.DataFrame({"job_id": [1], "submit": [0], "run_time": [60], "nodes": [2]})
    trace = run(tmp_path, plain, Grower(), power_budget="10000")
    assert ends(trace) == {1: 60} and trace.phases_frame()["nodes"].tolist() == [5, 4][-1:]


def test_lowered_before_raised(tmp_path: Path) -> None:
    """One decision moves watts and nodes from one job to another; no instant has more than the budget."""
    script = Script({1: (None, 60.0), 2: (None, 30.0)}, {100: {2: (None, 60.0), 1: (None, 30.0)}})
    trace = run(tmp_path, jobs({}, {}), script, power_budget=str(8 * 116 + 8 * 86))
    assert script.outcomes == {100: True}
    kinds = trace.events_frame().query("event == 'CAP'")
    assert kinds["job_id"].tolist() == [1, 2] and peak(trace) == (8 * 116 + 8 * 86) * W


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3, None), "gave job 1 3 nodes (expected from 4 to 16)"),
        ((None, 29.9), "gave job 1 a cap of 29.9 W (expected at least 30, its p_low_w)"),
        ((None, 60.1), "gave job 1 a cap of 60.1 W (expected watts, at most 60)"),
        ((None, float("nan")), "gave job 1 a cap of nan W"),
        ((8.0, None), "gave job 1 8.0 nodes (expected a whole number)"),
    ],
)
def test_shapes_that_cannot_be(tmp_path: Path, shape: Any, message: str) -> None:
    for script in (Script({1: shape}), Script(changes={5: {1: shape}})):
        with pytest.raises(PolicyError) as wrong:
            run(tmp_path, jobs({}), script)
        assert message in str(wrong.value)


def test_who_may_not_be_shaped(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="gave job 1 9 nodes while it runs"):
        run(tmp_path, jobs({"malleable": 0}), Script(changes={5: {1: (9, None)}}))
    plain = pd.DataFrame({"job_id": [1], "submit": [0], "run_time": [60], "nodes": [2]})
    with pytest.raises(PolicyError, match="gave job 1 a start with nodes or a cap"):
        run(tmp_path, plain, Script({1: (2, None)}))


def steps(tmp_path: Path, *rows: tuple[int, float]) -> str:
    file = tmp_path / "budget.csv"
    file.write_text("time,watts\n" + "".join(f"{time},{watts:g}\n" for time, watts in rows), encoding="utf-8")
    return str(file)


def test_a_falling_budget(tmp_path: Path) -> None:
    """Caps go down, then sizes, then jobs are suspended, the youngest first; and it all comes back."""
    frame = jobs({}, {"submit": 1, "malleable": 0})
    budget = steps(tmp_path, (0, 2000), (100, 1700), (200, 1200), (300, 800), (400, 300), (500, 2000))
    trace = run(tmp_path, frame, power_budget=budget)
    phases = trace.phases_frame()
    at = {time: phases[(phases["start"] <= time) & (phases["end"] > time)].set_index("job_id") for time in
          (50, 150, 250, 350, 450, 550)}  # fmt: skip
    assert {time: rows["charged_mw"].sum() // W for time, rows in at.items()}[50] == 1856
    assert at[150]["cap_mw"].to_dict() == {1: 60 * W, 2: 60 * W - 156 * W // 8}
    assert at[250]["nodes"].to_dict() == {1: 5, 2: 8} and at[250]["cap_mw"].to_dict()[2] == 30 * W
    assert 1100 * W < at[250]["charged_mw"].sum() <= 1200 * W
    assert at[350].index.tolist() == [1] and at[450].index.tolist() == []
    assert at[550]["cap_mw"].to_dict() == {1: 60 * W, 2: 60 * W}
    kinds = trace.events_frame()
    assert kinds.query("event == 'BUDGET'")["value"].tolist() == [one * W for one in (1700, 1200, 800, 300, 2000)]
    assert kinds.query("event == 'SUSPEND'")["scheduler"].tolist() == ["Budget", "Budget"]
    assert set(column(trace, "state").values()) == {"COMPLETED"}


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_never_exceeded(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever jobs, changes, failures and budgets there are: the validator finds no instant that has more."""
    folder = tmp_path_factory.mktemp("b")
    rows, changes = [], dict[int, dict[int, tuple[int | None, float | None]]]()
    count = data.draw(st.integers(1, 6))
    for _ in range(count):
        least = data.draw(st.integers(1, 6))
        most = data.draw(st.integers(least, 12))
        run_time = data.draw(st.integers(1, 3000))
        rows.append({
            "submit": data.draw(st.integers(0, 500)), "run_time": run_time,
            "time_limit": data.draw(st.integers(60, 9000)),
            "nodes": data.draw(st.integers(least, most)), "min_nodes": least, "max_nodes": most,
        })  # fmt: skip
    rows[0]["submit"] = 0
    for time in data.draw(st.lists(st.integers(0, 3000), max_size=6)):
        job = data.draw(st.integers(1, count))
        row = rows[job - 1]
        nodes = data.draw(st.one_of(st.none(), st.integers(row["min_nodes"], row["max_nodes"])))
        changes.setdefault(time, {})[job] = nodes, data.draw(st.sampled_from([None, 30.0, 37.5, 60.0]))
    times = sorted(set(data.draw(st.lists(st.integers(1, 4000), max_size=4))))
    watts = [data.draw(st.sampled_from([250, 400, 800, 1500, 3000])) for _ in times]
    idle = data.draw(st.sampled_from(["0", "7.5"]))
    budget = steps(folder, (0, 12 * 116 + 240), *zip(times, watts, strict=True), (5000, 3000))
    script = Script(changes=changes)
    events = folder / "events.csv"
    failures = [f"{at},down,{NODE}{k:02d}\n{at + 200},resume,{NODE}{k:02d}\n" for at, k in data.draw(
        st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 24)), max_size=3))]  # fmt: skip
    events.write_text("time,action,nodes\n" + "".join(failures), encoding="utf-8")
    run(folder, jobs(*rows), script, nodes=24, power_budget=budget, idle_w=idle, node_events=str(events))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power_budget": "x"}, "--power-budget"),
        ({"power_budget": "0"}, "--power-budget: 0 (expected watts from 0.001"),
        ({"power_budget": "30.00001"}, "whole milliwatts"),
        ({"power_cap": "61"}, "--power-cap: 61 W (expected at most 60"),
        ({"power_cap": "-3"}, "--power-cap: -3"),
        ({"idle_w": "200"}, "--idle-w: 200 W (expected at most 116)"),
        ({"full_w": "29"}, "an application draws at least 30 W"),
        ({"limit": "move"}, "--limit: 'move' (expected scale or keep)"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SlurmSimError) as wrong:
        run(tmp_path, jobs({}), **options)
    assert message in str(wrong.value) and "\n" not in str(wrong.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time;watts\n", "budget.csv:1: columns are time;watts (expected time,watts)"),
        ("time,watts\n", "has no row"),
        ("time,watts\n0,10\n0,20\n", "budget.csv:3: time: 0 is not after 0"),
        ("time,watts\n0,ten\n", "budget.csv:2: watts: 'ten' (expected watts: 30 or 30.5W)"),
        ("time,watts\nsoon,10\n", "budget.csv:2: time"),
        (f"time,watts\n0,{'9' * 140_000}\n", "--power-budget: field larger than field limit"),
    ],
)
def test_budgets_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "budget.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SlurmSimError) as wrong:
        run(tmp_path, jobs({}), power_budget=str(file))
    assert message in str(wrong.value)


def test_jobs_no_budget_is_enough_for(tmp_path: Path) -> None:
    """Named, or left out and counted; of an application the least size at the lowest cap counts."""
    plain = {"nodes": 8, "min_nodes": -1, "max_nodes": -1, "malleable": 0, "app": ""}
    frame = jobs({"nodes": 7}, plain, {**plain, "nodes": 2})
    said = "job 2 draws 928 W at least, the power budget is never more than 900 W"
    with pytest.raises(SlurmSimError, match=said):
        run(tmp_path, frame, power_budget="900")
    with pytest.raises(SlurmSimError, match="job 1 draws 344 W at least"):
        run(tmp_path, frame, power_budget="300")
    with pytest.raises(SlurmSimError, match=r"job 2 draws 952 W at least, the power budget is never more than 940 W"):
        run(tmp_path, frame, power_budget=steps(tmp_path, (0, 940), (60, 500)), idle_w="1")
    trace = run(tmp_path, frame, power_budget=steps(tmp_path, (0, 900), (60, 500)), impossible_jobs="drop")
    assert sorted(ends(trace)) == [1, 3]


def test_options_that_would_change_nothing(tmp_path: Path) -> None:
    plain = pd.DataFrame({"job_id": [1], "submit": [0], "run_time": [60], "nodes": [2]})
    with pytest.raises(SlurmSimError, match="--limit: changes nothing: no job has an application"):
        run(tmp_path, plain, limit="keep")
    with pytest.raises(SlurmSimError, match="job 1 has no application, which --power-cap needs"):
        run(tmp_path, plain, power_cap="30")


def test_a_run_without_power_has_no_trace_of_it(tmp_path: Path) -> None:
    """Jobs without applications are charged full power where there is a budget."""
    plain = pd.DataFrame({"job_id": [1, 2], "submit": [0, 0], "run_time": [60, 60], "nodes": [2, 2]})
    trace = run(tmp_path, plain)
    folder = Path(trace.path)
    assert not (folder / "phases.parquet").exists() and "power" not in trace.manifest
    assert "energy_j" not in trace.jobs.column_names and "charged_mw" not in trace.usage.column_names
    trace = run(tmp_path, plain, power_budget="300")
    assert ends(trace) == {1: 60, 2: 120} and peak(trace) == 232 * W
    assert column(trace, "energy_j") == {1: 232 * 60, 2: 232 * 60}


class Grower(Policy):
    """Starts what fits, and gives job 1 more nodes by a plain Resize, out of the upper half of the cluster."""

    name = "grower"

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[bool | None] = []

    def schedule(self, view: PowerView, now: int) -> Decisions:
        for job in view.pending:
            yield Start(job)
        if now == 0 and not self.outcomes:
            for job in view.running:
                for nodes in (5, 4):
                    self.outcomes.append((yield Resize(job, nodes, within=0xFFFF0000)))


@pytest.mark.parametrize("more", [{}, {"app": LEAN, "min_nodes": 1, "max_nodes": 9, "malleable": 1}])
def test_a_plain_resize_asks_the_budget(tmp_path: Path, more: dict[str, Any]) -> None:
    """With and without an application; and it takes the nodes it was given to choose from."""
    plain = pd.DataFrame({"job_id": [1], "submit": [0], "run_time": [60], "nodes": [2]}).assign(**more)
    grower = Grower()
    trace = run(tmp_path, plain, grower, power_budget=str(4 * 116))
    assert grower.outcomes == [False, True] and peak(trace) == 4 * 116 * W
    assert trace.jobs_frame()["node_list"].tolist() == ["n[01-02,17-18]"]


# -- the validator finds what is wrong --------------------------------------------------------------------------------


def altered(trace: Trace, table: str, name: str, row: int, value: int) -> list[str]:
    """Checks that fail when one cell of a trace is another."""
    file = Path(trace.path) / f"{table}.parquet"
    found = pq.read_table(file)
    kept = file.read_bytes()
    cells = found.column(name).to_numpy(zero_copy_only=False).copy()
    cells = np.nan_to_num(cells.astype(float)).astype(np.int64)
    cells[row] = value
    field = found.schema.field(name)
    changed = found.set_column(found.column_names.index(name), field, pa.array(cells))
    pq.write_table(changed.cast(found.schema), file)
    failed = validate_trace(trace.path).failed
    file.write_bytes(kept)
    return failed


def test_the_validator_fires(tmp_path: Path) -> None:
    script = Script(changes={100: {1: (4, 40.0)}})
    trace = run(tmp_path, jobs({}, {"app": LEAN, "nodes": 4}), script, power_budget="1500")
    assert "budget_kept" in altered(trace, "phases", "charged_mw", 0, 1501 * W)
    assert "phases_tell_runs" in altered(trace, "phases", "nodes", 0, 7)
    assert "phases_tell_runs" in altered(trace, "phases", "start", 0, 5)
    assert "phase_watts" in altered(trace, "phases", "cap_mw", 0, 61 * W)
    assert "phase_watts" in altered(trace, "phases", "charged_mw", 0, 900 * W)
    assert altered(trace, "jobs", "energy_j", 0, 17) == ["joules"]
    first = trace.usage.column("charged_mw").to_pylist().index(None)
    assert first > 0 and altered(trace, "usage", "drawn_mw", 0, 17) == ["usage_watts"]
