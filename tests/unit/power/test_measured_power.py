"""Jobs whose watts a log has measured: each run draws them again, and every figure of energy goes by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slurmsim
from slurmsim.errors import ConfigError, SlurmSimError, WorkloadError
from slurmsim.model.measured import MeasuredPower, measured_text, read_measured
from slurmsim.policy import Policy, Requeue, Resume, Start, Suspend, WakeAt
from slurmsim.validate import validate_trace
from slurmsim_workloads import read_workload, write_workload

BASE_W = 100


def jobs(*rows: tuple[int, int, int, str]) -> pd.DataFrame:
    """Jobs (submit, run time, nodes, watts), with ids from 1."""
    frame = pd.DataFrame([dict(zip(("submit", "run_time", "nodes", "watts"), row, strict=True)) for row in rows])
    return frame.assign(job_id=range(1, len(rows) + 1), time_limit=7200, exclusive=1, user="ann")


LOG = jobs((0, 1000, 2, "300:900,900,1000.5"), (10, 500, 1, "70"), (10, 500, 2, ""))


def joules(trace: slurmsim.Trace) -> list[int]:
    return trace.jobs_frame(dates=False).sort_values("job_id")["energy_j"].tolist()


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "backfill"])
def test_a_job_draws_its_series_and_others_draw_by_the_model(policy: str, tmp_path: Path) -> None:
    trace = slurmsim.run(LOG, nodes=2, policy=policy, base_w=BASE_W, full_w=40, out=tmp_path / "out")
    first = 600 * 900 + 400 * 1000.5
    assert joules(trace) == [first, 500 * 70, 500 * 2 * (BASE_W + 40)]
    assert trace.summary["energy_j"] == sum(joules(trace))
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()


@pytest.mark.parametrize("policy", ["easy", "backfill"])
def test_nothing_but_watts_is_another(policy: str, tmp_path: Path) -> None:
    """Levels change between passes, and no pass comes of that."""
    log = LOG.assign(watts="7:" + ",".join(str(k % 90) for k in range(300)))
    with_series = slurmsim.run(log, nodes=2, policy=policy, out=tmp_path / "with")
    without = slurmsim.run(LOG.drop(columns="watts"), nodes=2, policy=policy, base_w=1, out=tmp_path / "without")
    assert with_series.summary["passes"] == without.summary["passes"]
    assert (with_series.jobs_frame()["start"] == without.jobs_frame()["start"]).all()


class Interrupts(Policy):
    """Suspends job 1 from 200 to 500, and requeues it at 900."""

    name = "interrupts"
    done = -1

    def schedule(self, view: Any, now: int) -> Any:
        for job in view.pending:
            yield Start(job)
        for when, what in ((200, Suspend), (500, Resume), (900, Requeue)):
            if now == when and self.done < when:
                self.done = when
                yield what(view.job(1))
            if now < when:
                yield WakeAt(when)
                break


def test_a_run_stands_still_while_it_is_suspended_and_begins_anew_when_requeued(tmp_path: Path) -> None:
    log = jobs((0, 1000, 2, "300:100,200,300"))
    trace = slurmsim.run(log, nodes=2, policy=Interrupts, out=tmp_path / "out")
    before = 200 * 100 + 100 * 100 + 300 * 200  # of 600 seconds
    assert joules(trace) == [before + 300 * 100 + 300 * 200 + 400 * 300]
    report = validate_trace(tmp_path / "out")
    assert report.valid, report.to_text()


def test_co2_is_that_of_the_hours_in_which_it_was_drawn(tmp_path: Path) -> None:
    (tmp_path / "grid.csv").write_text("time,g_per_kwh,price\n0,0,0\n3600,1000,0.5\n", "utf-8")
    log = jobs((0, 7200, 1, "3600:5000,1000"))
    trace = slurmsim.run(log, nodes=1, policy="fcfs", carbon=tmp_path / "grid.csv", out=tmp_path / "out")
    assert (trace.summary["co2_kg"], trace.summary["energy_cost"]) == (1.0, 0.5)


def test_a_table_of_measured_jobs_is_kept_by_parquet_and_csv(tmp_path: Path) -> None:
    LOG.to_parquet(tmp_path / "log.parquet")
    trace = slurmsim.run(tmp_path / "log.parquet", nodes=2, policy="easy", out=tmp_path / "one")
    write_workload(read_workload(tmp_path / "log.parquet"), tmp_path / "log.csv")
    again = slurmsim.run(tmp_path / "log.csv", nodes=2, policy="easy", out=tmp_path / "two")
    assert joules(trace) == joules(again)


def test_a_changed_phase_is_found(tmp_path: Path) -> None:
    trace = slurmsim.run(LOG, nodes=2, policy="easy", out=tmp_path / "out")
    file = trace.path / "phases.parquet"
    rows = pd.read_parquet(file)
    rows.loc[0, "drawn_mw"] += 1000
    rows.to_parquet(file)
    assert not validate_trace(tmp_path / "out").valid


WRONG: dict[str, tuple[dict[str, Any], pd.DataFrame, type[SlurmSimError], str]] = {
    "budget": ({"power_budget": 5000}, LOG, ConfigError, "beside measured watts"),
    "policy with a budget of its own": ({"policy": "parm"}, LOG, ConfigError, "policy parm beside measured watts"),
    "no number": ({}, jobs((0, 5, 1, "much")), WorkloadError, "job 1: 'much'"),
    "no step": ({}, jobs((0, 5, 1, "0:5,6")), WorkloadError, "job 1: '0:5,6'"),
    "no end": ({}, jobs((0, 5, 1, "inf")), WorkloadError, "job 1: 'inf'"),
    "below zero": ({}, jobs((0, 5, 1, "60:5,-6")), WorkloadError, "job 1"),
    "an application": ({}, jobs((0, 5, 1, "60:5,6")).assign(app="LeanMD:parallelism=24:sigma=0.2", tasks=-1),
                       WorkloadError, "beside an application"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_refused(wrong: str, tmp_path: Path) -> None:
    more, log, kind, text = WRONG[wrong]
    with pytest.raises(kind, match=text) as error:
        slurmsim.run(log, **{"nodes": 2, "policy": "easy", "out": tmp_path / "out", **more})
    assert "\n" not in str(error.value)


def test_texts_say_what_was_measured() -> None:
    assert measured_text([900.0] * 30, 20, 300) == "900"
    assert measured_text([1.0, 2.0, None, 6.0], 20, 40) == "40:1.5,6"
    assert measured_text([None, float("nan"), -1.0], 20, 40) == ""
    assert read_measured("40:1.5,6") == MeasuredPower(40, (1500, 6000))
    assert MeasuredPower(40, (1, 1, 2)).at(10) == (1, 70)
    assert MeasuredPower(40, (1, 1, 2)).at(80) == (2, None)
    assert MeasuredPower(40, (1, 1, 2)).at(1e9) == (2, None)


@pytest.mark.parametrize(
    ("watts", "said"),
    [
        ("300:900,900,1000", "job 1: draws 1000500 mW from 600 to 1000, by the workload 1000000 from there on"),
        ("200:900,1000.5", "job 1: draws 900000 mW from 0 to 600, by the workload 900000 from there on"),
        ("", None),
    ],
)
def test_the_judge_compares_what_was_drawn_with_the_workload(watts: str, said: str | None, tmp_path: Path) -> None:
    slurmsim.run(LOG, nodes=2, policy="easy", out=tmp_path / "out")
    table = pq.read_table(tmp_path / "out/inputs.parquet")
    cells = pa.array([watts, *table["watts"].to_pylist()[1:]], pa.string()).dictionary_encode()
    place = table.schema.get_field_index("watts")
    changed = table.set_column(place, table.schema.field("watts"), cells.cast(table.schema.field("watts").type))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), tmp_path / "out/inputs.parquet")
    check = validate_trace(tmp_path / "out").check("measured_watts")
    assert check.examples == ([] if said is None else [said])


def test_a_trace_from_before_the_column_is_not_judged_by_it(tmp_path: Path) -> None:
    slurmsim.run(LOG, nodes=2, policy="easy", out=tmp_path / "out")
    table = pq.read_table(tmp_path / "out/inputs.parquet")
    pq.write_table(table.drop_columns(["watts"]), tmp_path / "out/inputs.parquet")
    with pytest.raises(WorkloadError, match="watts"):  # the trace says that it has the column
        validate_trace(tmp_path / "out")
    manifest = tmp_path / "out/run.json"
    manifest.write_text(manifest.read_text().replace('"trace_schema": 8', '"trace_schema": 7'))
    report = validate_trace(tmp_path / "out")
    assert report.valid and "measured_watts" in report.to_text()
