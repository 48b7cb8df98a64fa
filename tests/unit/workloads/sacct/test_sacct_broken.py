"""Broken sacct dumps: one clear line each, naming file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_sacct import HEADER, NEVER, dump, record

from slurmsim.errors import ConfigError, WorkloadError
from slurmsim_workloads import read_workload

GOOD = dump(record())
CASES = [
    (
        dump(record(), header="JobID|State|User"),
        ": needed fields are missing: Submit, ElapsedRaw (or Start and End), ReqTRES (or ReqCPUS or NCPUS)"
        " (expected the fields of the sacct command in docs/sacct.md)",
    ),
    (
        GOOD + "13|13|1000\n",
        ":3: 3 fields for 14 names: a line break in JobName does this; --option bad_lines=drop leaves such lines out",
    ),
    (
        dump(record(Constraints="intel|amd"), header=HEADER.replace("NodeList", "Constraints|NodeList")),
        ":2: 16 fields for 15 names: a '|' in Constraints or JobName does this; --option bad_lines=drop leaves such"
        " lines out",
    ),
    (
        dump(record(), record(User="ann|bob"), header=HEADER.removesuffix("|JobName")),
        ":3: 14 fields for 13 names; --option bad_lines=drop leaves such lines out",
    ),
    (
        dump(record(State="DONE")),
        ":2: State: 'DONE' is not understood (expected a job state such as COMPLETED, CANCELLED by 1000 or PENDING)",
    ),
    (
        dump(record(), record(JobIDRaw="13", Submit="yesterday")),
        ":3: Submit: 'yesterday' is not a time"
        " (expected YYYY-MM-DDTHH:MM:SS, Unix seconds (SLURM_TIME_FORMAT=%s) or Unknown)",
    ),
    (
        dump(record(), record(JobIDRaw="13", End="2024-13-01T00:00:00")),
        ":3: End: '2024-13-01T00:00:00' is not a time"
        " (expected YYYY-MM-DDTHH:MM:SS, Unix seconds (SLURM_TIME_FORMAT=%s) or Unknown)",
    ),
    (
        dump(record(Timelimit="two days")),
        ":2: Timelimit: 'two days' is not understood (expected [D-]HH:MM:SS, UNLIMITED or Partition_Limit)",
    ),
    (dump(record(ExitCode="one")), ":2: ExitCode: 'one' is not understood (expected CODE:SIGNAL such as 1:0)"),
    (
        dump(record(ReqTRES="cpu")),
        ":2: ReqTRES: 'cpu' is not understood (expected a list such as cpu=4,mem=8G,node=1,gres/gpu=2)",
    ),
    (
        dump(record(JobID="abc")),
        ":2: JobID: 'abc' is not a job id (expected 12, 12_3, 12_[1-5%2] or 12.batch)",
    ),
    (dump(record(JobIDRaw="x", JobID="12")), ":2: JobIDRaw: 'x' is not understood (expected a whole number)"),
    (
        dump(record(JobID="12_[5-1]", State="PENDING", **NEVER)),
        ":2: JobID: '[5-1]' is not an array of tasks (expected an array such as 12_[1-5,9%2])",
    ),
    (
        dump(record(), record(User="bob")),
        ":3: JobIDRaw: job 12 is another user's on line 2 (expected one cluster and one range of job ids in a dump)",
    ),
    (
        dump(record(JobIDRaw="1", Dependency="afterok:2"), record(JobIDRaw="2", Dependency="afterok:1"),
             header=HEADER + "|Dependency"),
        ": Dependency: job 1 waits for itself through its dependencies (expected no circular dependencies)",
    ),
    (
        dump(record(ReqTRES="", AllocTRES="")),
        ": no job is left of 1 records (no CPU count: 1)",
    ),
    (
        "JobID JobIDRaw Submit State\n----- ----- -----\n",
        ":1: columns padded with blanks (expected output of sacct -P)",
    ),
    (
        GOOD.partition("\n")[2],
        ":1: no sacct field names in '12|12|1000|1000|1010|1070|00:10:00|COMPL'"
        " (expected the header line of sacct -P; leave out -n (--noheader))",
    ),
    ("", ": is empty (expected the header line of sacct -P; leave out -n (--noheader))"),
    (dump(header="JobID|JobID|Submit"), ":1: JobID: the field is there twice"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), CASES, ids=range(len(CASES)))
def test_broken_dumps(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path, format="sacct")
    assert str(caught.value) == f"{path}{message}"


def test_wrong_options(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(GOOD)
    with pytest.raises(
        ConfigError, match=r"^timezone: no time zone 'Mars/North' \(expected a name such as Europe/Paris\)$"
    ):
        read_workload(path, options={"timezone": "Mars/North"})
    with pytest.raises(ConfigError, match=r"^the sacct format has no option 'cancelled'"):
        read_workload(path, options={"cancelled": "keep"})
