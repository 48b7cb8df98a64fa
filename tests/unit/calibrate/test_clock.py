"""The clock of a log: changes of clocks, zones, times that run backwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slurmsim.calibrate.clock import clock_remarks
from slurmsim.calibrate.data import data_remarks, log_not_modelled
from slurmsim.config.load import parse_cluster
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads import read_workload
from slurmsim_workloads.sacct.clock import dump_clock
from slurmsim_workloads.sacct.needs import NEEDS

HEAD = "JobIDRaw|JobID|Submit|Start|End|ElapsedRaw|State|Timelimit|ReqTRES|SubmitLine\n"
CLUSTER, _ = parse_cluster(
    "ClusterName=c\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4\n"
    "PartitionName=p Nodes=ALL Default=YES\n"
)


def said(tmp_path: Path, *rows: str, options: dict[str, str] | None = None, timed: tuple[int, ...] = ()) -> str:
    file = tmp_path / "jobs.sacct"
    file.write_text(HEAD + "".join(row + "\n" for row in rows))
    workload = read_workload(file, "sacct", options or {})
    return "\n".join(map(str, clock_remarks(workload, dump_clock(file, options or {}), timed)))


def row(job: int, submit: str, start: str, end: str, ran: int) -> str:
    return f"{job}|{job}|{submit}|{start}|{end}|{ran}|COMPLETED|1:00:00|cpu=1,node=1|"


SPRING = row(1, "2024-03-31T00:30:00", "2024-03-31T01:30:00", "2024-03-31T03:30:00", 3600)  # 02:00 became 03:00
AUTUMN = row(2, "2024-10-27T00:30:00", "2024-10-27T01:30:00", "2024-10-27T03:30:00", 10_800)


def test_clocks_that_were_changed_show_in_jobs_that_ran(tmp_path: Path) -> None:
    text = said(tmp_path, SPRING, AUTUMN)
    assert "1 jobs ran 1 h less than from their start to their end: clocks were put forward" in text
    assert "1 jobs ran 1 h more than from their start to their end: clocks were put back" in text
    assert "between 2024-03-31 01:30 and 2024-03-31 03:30" in text
    assert "timezone" in text


def test_the_right_zone_explains_them(tmp_path: Path) -> None:
    text = said(tmp_path, SPRING, AUTUMN, options={"timezone": "Europe/Paris"})
    assert "clocks were put" not in text


def test_a_time_that_never_was(tmp_path: Path) -> None:
    text = said(
        tmp_path,
        row(1, "2024-03-31T02:30:00", "2024-03-31T02:40:00", "2024-03-31T04:00:00", 4800),
        options={"timezone": "Europe/Paris"},
    )
    assert "2 times never were in the zone given" in text


def test_an_hour_that_came_twice(tmp_path: Path) -> None:
    text = said(
        tmp_path,
        row(1, "2024-10-27T02:30:00", "2024-10-27T04:00:00", "2024-10-27T05:00:00", 3600),
        options={"timezone": "Europe/Paris"},
    )
    assert "1 times lie in an hour that came twice" in text


def test_dates_and_unix_seconds_in_one_dump(tmp_path: Path) -> None:
    text = said(tmp_path, SPRING, row(2, "1711900000", "1711900100", "1711900200", 100))
    assert "3 times are dates without a zone and 3 are Unix seconds" in text


def test_records_that_contradict_themselves(tmp_path: Path) -> None:
    text = said(tmp_path, row(7, "1711900000", "1711890000", "1711890100", 100), row(8, "1", "5", "55", 40))
    assert "1 jobs started before they were submitted (the first: job 7)" in text
    assert "1 jobs ran another time than from their start to their end" in text


def jobs(submit: list[int]) -> Workload:
    n = len(submit)
    return Workload({"job_id": np.arange(1, n + 1), "submit": np.array(submit, np.int64)}, {})


def test_submissions_that_run_backwards() -> None:
    there = [100 * i for i in range(50)]
    back = [*there, *(t - 3600 + 5000 for t in there)]
    text = "\n".join(map(str, clock_remarks(jobs(back), None)))
    assert "submissions run backwards 1 times as job numbers rise, by up to 5" in text  # 58 min: around job 51
    requeued = there.copy()
    requeued[20] += 3000  # one job, submitted again: no clock
    assert not clock_remarks(jobs(requeued), None)


@pytest.mark.parametrize(("night", "odd"), [(2, False), (14, True)])
def test_nights_tell_the_zone(night: int, odd: bool) -> None:
    rng = np.random.default_rng(3)
    hours = (night + 6 + rng.integers(0, 18, 2000)) % 24
    submit = np.sort(rng.integers(0, 20, 2000) * 86_400 + hours * 3600)
    text = "\n".join(map(str, clock_remarks(jobs(submit.tolist()), None)))
    assert ("fewest jobs are submitted from 14 to 20 o'clock" in text) is odd


def test_events_of_another_time(tmp_path: Path) -> None:
    text = said(tmp_path, row(1, "1711900000", "1711900100", "1711900200", 100), timed=(5, 1_711_900_000))
    assert "1 of 2 events and reservations lie outside the log's time" in text


def test_what_a_log_lacks(tmp_path: Path) -> None:
    file = tmp_path / "jobs.sacct"
    file.write_text(HEAD + SPRING + "sbatch --prefer=a x\n" + SPRING.replace("1|1", "3|3", 1) + "\n")
    workload = read_workload(file, "sacct", {})
    text = "\n".join(map(str, data_remarks(workload, CLUSTER, None, dump_clock(file, {}))))
    assert "no Eligible: jobs compete from their submit time on" in text
    assert "no User or UID" in text
    assert "no Timelimit" not in text
    assert "no job says how much it asked for" in text
    assert [(one.count, "prefer" in one.text) for one in log_not_modelled(workload)] == [(1, True)]


def test_nodes_the_configuration_does_not_have() -> None:
    workload = jobs([1, 2])
    workload.texts["log_nodes"] = TextColumn.from_list(["n1", "old[1-3]"])
    text = "\n".join(map(str, data_remarks(workload, CLUSTER, None, None)))
    assert "jobs had nodes that slurm.conf does not define (such as old1)" in text
    assert "nodes of slurm.conf no job of the log had (such as n2)" in text


def test_each_need_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sacct.md").read_text()
    for names, _ in NEEDS:
        assert any(f"`{name}`" in page for name in names), names
