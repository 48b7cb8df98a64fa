"""The option tables themselves, their page in docs/, and ``slurmsim check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conf_texts import ACCOUNTING, SMALL

from slurmsim.cli import build_parser
from slurmsim.config.document import rewrite
from slurmsim.config.line_options import GRES_KEYS, LINE_TABLES
from slurmsim.config.option import KINDS, Option, Status
from slurmsim.config.options import FLAG_NOTES, SCALARS
from slurmsim.config.scheduler_options import SUB_OPTIONS
from slurmsim.releases import RELEASES

ROOT = Path(__file__).parents[3]
TABLES = {"scalars": SCALARS, "SchedulerParameters": SUB_OPTIONS, "gres.conf": GRES_KEYS, **LINE_TABLES}
ROWS = [pytest.param(row, id=f"{name}-{row.name}") for name, table in TABLES.items() for row in table.values()]

# What `scontrol show config` of 22.05.8 prints of keys a file can set and that decide schedules.
MUST_KNOW = [
    "CompleteWait",
    "DefMemPerNode",
    "DependencyParameters",
    "EnforcePartLimits",
    "FirstJobId",
    "GresTypes",
    "JobRequeue",
    "KillWait",
    "Licenses",
    "MaxArraySize",
    "MaxJobCount",
    "MaxMemPerNode",
    "MinJobAge",
    "OverTimeLimit",
    "PreemptMode",
    "PreemptType",
    "PreemptExemptTime",
    "PriorityType",
    "SchedulerParameters",
    "SchedulerTimeSlice",
    "SchedulerType",
    "SelectType",
    "SelectTypeParameters",
    "SuspendTime",
    "TopologyPlugin",
]


@pytest.mark.parametrize("row", ROWS)
def test_rows_are_sound(row: Option) -> None:
    assert row.kind in KINDS or row.kind == "set"
    assert row.status is Status.HONOURED or row.why, "what is not honoured says why"
    assert all(release in RELEASES for release in (row.since, row.gone) if release)
    assert not row.refuse or row.status is Status.NOT_MODELLED
    assert not (row.since and row.gone)
    for release in RELEASES:
        row.default_for(release)


def test_no_key_is_in_the_table_twice() -> None:
    from slurmsim.config import options, scheduler_options

    for rows, table in ((options._ROWS, SCALARS), (scheduler_options._ROWS, SUB_OPTIONS)):
        assert len(rows) == len(table)


def test_the_keys_that_decide_are_known() -> None:
    assert [key for key in MUST_KNOW if key.lower() not in SCALARS] == []
    assert len(SCALARS) > 250


def test_notes_on_words_name_words_of_the_table() -> None:
    for key, word in FLAG_NOTES:
        choices = SCALARS[key.lower()].choices
        assert not choices or word in choices


def test_the_page_lists_the_tables() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert rewrite(page) == page, "run: python -m slurmsim.config.document docs/configuration.md"


# -- slurmsim check


def run_check(*arguments: str) -> int:
    parser = build_parser("check")
    args = parser.parse_args(["check", *arguments])
    return args.func(args)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    return tmp_path / "slurm.conf"


def test_check_of_a_good_file(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text(ACCOUNTING)
    assert run_check(str(conf)) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert f"{conf}:7: warning: AccountingStorageEnforce=associations,limits,qos: has no effect without" in out
    assert "honoured  15    Licenses" in out
    assert "honoured  10    PriorityCalcPeriod" in out
    assert (
        f"{conf}:24: warning: AllowGroups=root: has no effect without --groups: jobs of all users are accepted" in out
    )
    assert lines[-1] == f"{conf}: 0 errors, 3 warnings; keys: 33 honoured, 0 harmless, 0 not modelled"


def test_check_with_groups(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text(ACCOUNTING)
    groups = conf.parent / "group"
    groups.write_text("wheel:x:10:alice,bob\n")
    assert run_check(str(conf), "--groups", str(groups)) == 0
    out = capsys.readouterr().out
    assert "warning: PartitionName=closed AllowGroups=root: no user is in this group" in out
    groups.write_text("wheel\n")
    assert run_check(str(conf), "--groups", str(groups)) == 2
    assert capsys.readouterr().out.startswith(f"{groups}:1: error: groups: 'wheel' is no group and no user (expected ")


def test_check_puts_errors_first(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text("KillWait=1\nKillWait=soon\nFoo=1\n" + SMALL)
    assert run_check(str(conf)) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.removeprefix(f"{conf}:") for line in lines[:3]] == [
        "3: error: Foo=1: unrecognized key",
        "2: error: KillWait=soon: 'soon' is not a valid number (expected a whole number)",
        "2: warning: KillWait=soon: set more than once, the last value is used",
    ]
    assert lines[-1].startswith(f"{conf}: 2 errors, 1 warning;")


def test_check_of_a_file_that_cannot_be_read(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check(str(conf)) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{conf}: error: slurm.conf: cannot read the file: no such file or directory",
        f"{conf}: 1 error, 0 warnings; keys: 0 honoured, 0 harmless, 0 not modelled",
    ]


def test_check_as_json(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text(SMALL + "BurstBufferType=lua\nSchedulerParameters=bf_interval=5\n")
    assert run_check(str(conf), "--json", "--set", "KillWait=7") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["errors"], found["warnings"], found["conf"]) == (0, 1, str(conf))
    assert found["findings"][0] | {"message": ""} == {
        "severity": "warning", "file": str(conf), "line": 5, "key": "BurstBufferType", "value": "lua", "message": "",
        "expected": "", "log": []}  # fmt: skip
    assert found["keys"][0] == {
        "status": "not modelled", "file": str(conf), "line": 5, "key": "BurstBufferType", "value": "lua",
        "why": "jobs do not wait for stage-in or stage-out"}  # fmt: skip
    assert "SchedulerParameters.bf_interval" in [row["key"] for row in found["keys"]]


def test_check_strict(conf: Path) -> None:
    conf.write_text(SMALL + "FastSchedule=2\n")
    assert run_check(str(conf)) == 0
    assert run_check(str(conf), "--strict") == 2


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("sched/wiki", "no policy is called 'wiki' (expected autonomy, backfill, bins, builtin, "),
        ("sched/pcp20:speed=1", "unknown option 'speed' of policy pcp20 (expected one of: "),
        ("sched/pcp20:limit=0", "bad value '0' for option limit of policy pcp20 (expected "),
        ("sched/pcp20:limit", "'limit' is not an option (expected NAME:key=value,key=value)"),
    ],
)
def test_check_knows_the_policies(conf: Path, capsys: pytest.CaptureFixture[str], value: str, said: str) -> None:
    conf.write_text(SMALL + f"SchedulerType={value}\n")
    assert run_check(str(conf)) == 2
    assert capsys.readouterr().out.splitlines()[0].startswith(f"{conf}:5: error: SchedulerType={value}: {said}")
    assert run_check(str(conf), "--set", "SchedulerType=sched/easy") == 0
    assert run_check(str(conf), "--set", "SchedulerType=sched/pcp20:limit=0.2") == 0
