"""The policy parm: decisions of the integer program carried out in runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from power_runs import LEAN, WAVE, column, ends, jobs, run

from slurmsim.cli import main
from slurmsim.energy import TABLE
from slurmsim.errors import SlurmSimError
from slurmsim.trace.reader import Trace
from slurmsim_policies.parm.picture import Rules

W = 1000


def shapes(trace: Trace, time: int) -> dict[int, tuple[int, float]]:
    """Nodes and cap of each running job at an instant."""
    phases = trace.phases_frame()
    rows = phases[(phases["start"] <= time) & (phases["end"] > time)]
    cells = zip(rows["job_id"], rows["nodes"], rows["cap_mw"], strict=True)
    return {int(job): (int(nodes), cap / W) for job, nodes, cap in cells}


def test_all_the_machine_for_one_job(tmp_path: Path) -> None:
    """Alone a job has its most nodes, and the cap beyond which it is no faster."""
    trace = run(tmp_path, jobs({}), "parm:levels=30/44/52/60,budget_w=3000")
    assert shapes(trace, 0) == {1: (16, 52.0)} and ends(trace) == {1: 3600}
    assert column(trace, "scheduler") == {1: "parm"}


def test_versions(tmp_path: Path) -> None:
    """nomm: fewest nodes; nose: a size at the start; wse: more as others end, with two jobs that fill the machine."""
    frame = jobs({"run_time": 600}, {"run_time": 7200})
    options = "levels=30/60,budget_w=1900,alpha=0,predictor=real"
    first = {version: run(tmp_path / version, frame, f"parm:version={version},{options}", nodes=20)
             for version in ("nomm", "nose", "wse")}  # fmt: skip
    assert {nodes for nodes, _ in shapes(first["nomm"], 10).values()} == {4}
    begun = {version: shapes(trace, 10) for version, trace in first.items()}
    assert begun["nose"] == begun["wse"] and sum(nodes for nodes, _ in begun["nose"].values()) > 8
    late = {version: max(ends(trace).values()) - 300 for version, trace in first.items()}
    assert shapes(first["nose"], late["nose"])[2][0] == begun["nose"][2][0]
    assert shapes(first["wse"], late["wse"])[2][0] == 16 > begun["wse"][2][0]
    assert max(ends(first["wse"]).values()) < max(ends(first["nose"]).values()) < max(ends(first["nomm"]).values())


def test_no_change_of_size_soon_after_another(tmp_path: Path) -> None:
    """f_se: a job that shrank for the second one does not grow when that ends, nor shrink again for the third."""
    frame = jobs({"run_time": 9000}, {"run_time": 600, "submit": 1}, {"run_time": 600, "submit": 3600})
    options = "parm:levels=60,alpha=0,predictor=real,f_se="
    free, bound = (run(tmp_path / str(f_se), frame, f"{options}{f_se}", nodes=16) for f_se in (0, 100_000))
    assert free.requeued.num_rows > bound.requeued.num_rows == 1


def test_selection_alone(tmp_path: Path) -> None:
    """Full power and the most nodes: what is left to choose is who starts. Narrow jobs win."""
    frame = jobs({"nodes": 16}, *[{"nodes": 8, "max_nodes": 8} for _ in range(2)])
    trace = run(tmp_path, frame, "parm:sizes=max,levels=60,alpha=0", nodes=16)
    assert column(trace, "start")[2] == column(trace, "start")[3] == 0 < column(trace, "start")[1]
    assert set(column(trace, "nodes").values()) == {16, 8}


def test_jobs_without_an_application_are_rigid(tmp_path: Path) -> None:
    plain = pd.DataFrame({"job_id": [1, 2], "submit": [0, 0], "run_time": [60, 90], "nodes": [6, 6]})
    trace = run(tmp_path, plain, "parm:budget_w=700", nodes=8)
    assert sorted(ends(trace).values()) in ([60, 150], [90, 150])
    assert trace.phases_frame()["charged_mw"].tolist() == [6 * 116 * W] * 2


def test_a_budget_that_falls_and_rises(tmp_path: Path) -> None:
    """The core takes, the policy decides anew with what there is."""
    budget = tmp_path / "budget.csv"
    budget.write_text("time,watts\n0,1856\n1000,900\n2000,1856\n", encoding="utf-8")
    trace = run(tmp_path, jobs({}, {}), "parm:levels=30/44/60", power_budget=str(budget))
    usage = trace.usage_frame().query("partition == ''")
    low = usage[(usage["time"] >= 1000) & (usage["time"] < 2000)]
    assert 0 < low["charged_mw"].max() <= 900 * W
    later = usage[(usage["time"] >= 2000) & (usage["time"] < min(ends(trace).values()))]
    assert later["charged_mw"].max() > 1500 * W
    assert set(column(trace, "state").values()) == {"COMPLETED"}


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_the_same_again_within_the_budget(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("d")
    rows = []
    for _ in range(data.draw(st.integers(1, 7))):
        least = data.draw(st.integers(1, 6))
        row = data.draw(st.sampled_from(list(TABLE)))
        sigma, wide = data.draw(st.sampled_from([0.0, 0.4, 1.0])), data.draw(st.integers(2, 40))
        rows.append({
            "submit": data.draw(st.integers(0, 2000)), "run_time": data.draw(st.integers(1, 4000)), "min_nodes": least,
            "nodes": 3 * least, "max_nodes": 3 * least, "malleable": data.draw(st.integers(0, 1)),
            "app": f"{row}:parallelism={wide}:sigma={sigma}",
        })  # fmt: skip
    version = data.draw(st.sampled_from(["nomm", "nose", "wse"]))
    policy = f"parm:version={version},levels=32/39/55,alpha={data.draw(st.sampled_from(['0', '0.9']))},f_se=300"
    idle = data.draw(st.sampled_from(["0", "20"]))
    options: dict[str, Any] = {"nodes": 24, "power_budget": "1700", "idle_w": idle}
    one, two = (run(folder / name, jobs(*rows), policy, **options) for name in ("one", "two"))
    assert set(column(one, "state").values()) <= {"COMPLETED", "PENDING", "TIMEOUT"}
    for table in ("jobs", "events", "phases", "usage"):
        assert getattr(one, table).equals(getattr(two, table))


def test_sizes_and_levels() -> None:
    from slurmsim.energy.profile import read_profile

    rules = Rules("wse", 0.0, (30.0, 33.0, 60.0), 8, 500)
    assert rules.sizes_of(read_profile(LEAN, 4, 32, True)) == [4, 8, 12, 16, 20, 24, 28, 32]
    assert rules.sizes_of(read_profile(LEAN, 4, 6, True)) == [4, 5, 6]
    assert rules.levels_of(read_profile(WAVE, 4, 6, True)) == [33.0, 60.0]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("parm:version=all", "bad value 'all' for option version"),
        ("parm:levels=30/x", "bad value '30/x' for option levels"),
        ("parm:alpha=-1", "bad value '-1' for option alpha"),
        ("parm:alpha=nan", "bad value 'nan' for option alpha"),
        ("parm:sizes=1", "bad value '1' for option sizes"),
        ("parm:budget_w=0", "bad value '0' for option budget_w"),
        ("parm:f_se=-1", "bad value '-1' for option f_se"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, policy: str, message: str) -> None:
    with pytest.raises(SlurmSimError) as wrong:
        run(tmp_path, jobs({}), policy)
    assert message in str(wrong.value)


def test_what_parm_refuses(tmp_path: Path) -> None:
    with pytest.raises(SlurmSimError, match="policy parm: has no level for job 1"):
        run(tmp_path, jobs({"app": WAVE}), "parm:levels=30")
    with pytest.raises(SlurmSimError, match="policy parm: has a level of 70 W"):
        run(tmp_path, jobs({}), "parm:levels=30/70")
    with pytest.raises(SlurmSimError, match="beside the policy's budget_w"):
        run(tmp_path, jobs({}), "parm:budget_w=100", power_budget="100")
    with pytest.raises(SlurmSimError, match="policy parm chooses caps itself"):
        run(tmp_path, jobs({}), "parm", power_cap="40")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the decisions it asked for are files of ``slurmsim parm``."""
    from slurmsim_workloads import write_workload
    from slurmsim_workloads.parquet import from_frame

    log = tmp_path / "jobs.parquet"
    write_workload(from_frame(jobs({}, {"submit": 60})), log)
    saved = tmp_path / "saved"
    assert main(["run", "--workload", str(log), "--nodes", "20", "--policy", "parm:budget_w=1500", "--out",
                 str(tmp_path / "out"), "--quiet", "--save-instances", str(saved)]) == 0  # fmt: skip
    first = sorted(saved.iterdir())[0]
    assert main(["parm", str(first)]) == 0
    assert capsys.readouterr().out.startswith("optimal: objective")
