"""A job's wait explained, on a small run where every number can be told by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.errors import WorkloadError
from slurmsim.states import Reason
from slurmsim.trace.reader import Trace, read_trace
from slurmsim.why import explain
from slurmsim.why.rules import rule
from slurmsim.why.text import as_text

CONF = """ClusterName=four
SchedulerType=sched/backfill
SelectType=select/linear
NodeName=n[1-4] CPUs=2
PartitionName=p Nodes=n[1-4] Default=YES MaxTime=INFINITE
"""
# job, submit, run, processors, requested: slurmctld starts with the first submission
LOG = [
    (1, 0, 1000, 6, 1200),  # three nodes
    (2, 1, 500, 8, 600),  # all four: first in line until 1 ends
    (3, 20, 100, 2, 3600),  # one node, too long to go before 2
    (4, 31, 60, 2, 60),  # one node for a minute: passes both
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("why")
    lines = ["; MaxNodes: 4", "; MaxProcs: 8"]
    for job, submit, run, procs, asked in LOG:
        lines.append(f"{job} {submit} -1 {run} {procs} -1 -1 {procs} {asked} -1 1 {job} 1 -1 1 1 -1 -1")
    (folder / "log.swf").write_text("\n".join(lines) + "\n")
    (folder / "slurm.conf").write_text(CONF)
    conf, log, out = (str(folder / name) for name in ("slurm.conf", "log.swf", "out"))
    assert main(["run", "--conf", conf, "--workload", log, "--out", out, "--quiet"]) == 0
    return read_trace(folder / "out")


def test_spans_cover_the_wait_without_gaps(trace: Trace) -> None:
    for job in (1, 2, 3, 4):
        found = explain(trace, job)
        assert found.spans[0].begin == found.job["submit"] and found.spans[-1].end == found.job["start"]
        assert all(a.end == b.begin for a, b in zip(found.spans, found.spans[1:], strict=False))
        assert found.waited_s == found.job["start"] - found.job["submit"]


def test_first_in_line_waits_for_the_nodes_of_a_running_job(trace: Trace) -> None:
    found = explain(trace, 2)
    assert [span.reason for span in found.spans] == [Reason.PRIORITY, Reason.RESOURCES]
    assert [other.job_id for other in found.freed_by] == [1]
    assert found.freed_by[0].end <= found.job["start"]
    assert found.passed_over == 0
    planned = {start for _, start in found.plans}
    assert explain(trace, 1).job["start"] + 1200 in planned  # the end of job 1 by its limit


def test_the_one_behind_is_told_who_was_first(trace: Trace) -> None:
    found = explain(trace, 3)
    (priority,) = [span for span in found.spans if span.reason == Reason.PRIORITY]
    (other,) = priority.first_in_line
    two = explain(trace, 2)
    assert other.job_id == 2
    assert (other.begin, other.end) == (priority.begin, two.job["start"])
    assert sum(n for n, _ in found.started_before.values()) == 2  # jobs 2 and 4
    assert found.started_before["Backfill"] == (1, 60 * 2)


def test_the_one_that_passed(trace: Trace) -> None:
    found = explain(trace, 4)
    assert found.job["scheduler"] == "Backfill" and found.passed_over == 2
    text = as_text(found)
    assert "passing 2 waiting jobs" in text
    assert "first in line" in text.lower()


def test_an_unknown_job_is_named(trace: Trace) -> None:
    with pytest.raises(WorkloadError, match="no job 77 in the trace"):
        explain(trace, 77)
    with pytest.raises(WorkloadError, match="no job 1_x in the trace"):
        explain(trace, "1_x")


def test_command(trace: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", str(trace.path), "2", "3"]) == 0
    shown = capsys.readouterr().out
    assert "Job 2 of" in shown and "Job 3 of" in shown and rule(Reason.RESOURCES) in shown
    assert main(["why", str(trace.path), "3", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["job"]["job_id"] == 3 and found["waited_s"] == found["job"]["start"] - found["job"]["submit"]
    assert main(["why", str(trace.path), "99"]) == 2
    assert "no job 99" in capsys.readouterr().err


def test_array_task_and_dependency_and_never_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dump.txt").write_text(
        "JobIDRaw|JobID|User|Account|Partition|Submit|Eligible|Start|End|Timelimit|State|ExitCode|NNodes|NCPUS|ReqTRES|"
        "AllocTRES|Dependency\n"
        "11|10_1|ann|x|p|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T08:00:03|2026-01-05T08:10:03|00:20:00|"
        "COMPLETED|0:0|4|8|cpu=8,node=4|cpu=8,node=4|\n"
        "10|10_2|ann|x|p|2026-01-05T08:00:00|2026-01-05T08:00:00|Unknown|2026-01-05T08:05:00|00:20:00|"
        "CANCELLED by 0|0:0|4|0|cpu=8,node=4||\n"
        "12|12|bob|x|p|2026-01-05T08:01:00|Unknown|2026-01-05T08:10:06|2026-01-05T08:11:00|00:20:00|COMPLETED|0:0|1|2|"
        "cpu=2,node=1|cpu=2,node=1|afterok:11\n"
    )
    (tmp_path / "slurm.conf").write_text(CONF)
    out = str(tmp_path / "out")
    arguments = ["--conf", str(tmp_path / "slurm.conf"), "--workload", str(tmp_path / "dump.txt"), "--out", out]
    assert main(["run", *arguments, "--quiet"]) == 0
    capsys.readouterr()
    task = explain(read_trace(out), "10_2")
    assert task.job["job_id"] == 10 and task.job["start"] is None and task.freed_by == ()
    assert "never started in 5 min (CANCELLED)" in as_text(task)
    assert as_text(task).startswith("Job 10_2 of ann/x: ")
    waiting = explain(read_trace(out), 12)
    assert waiting.spans[0].reason == Reason.DEPENDENCY
    assert "2026-01-05 08:01:00" in as_text(waiting, epoch=int(read_trace(out).manifest["workload"]["epoch"]))


def test_every_family_of_reasons_has_its_rule() -> None:
    families = {
        "AssocGrpCpuLimit": "association",
        "QOSMaxJobsPerUserLimit": "QOS",
        "MaxSubmitJobsPerAccount": "QOS",
        "ReqNodeNotAvail, UnavailableNodes:n[1-2]": "down, drained",
        "ReqNodeNotAvail, May be reserved for other job": "reserved before it would end",
        "ReqNodeNotAvail, Reserved for maintenance": "maintenance",
        "Reservation ra was deleted": "gone",
    }
    for reason, word in families.items():
        assert word in rule(reason)
    known = [value for name, value in vars(Reason).items() if name.isupper()]
    ended = {Reason.NON_ZERO_EXIT, Reason.TIME_LIMIT, Reason.NODE_DOWN, Reason.DEADLINE, Reason.OUT_OF_MEMORY,
             Reason.LAUNCH_FAILURE}  # fmt: skip
    assert [reason for reason in known if not rule(reason) and reason not in ended] == []
