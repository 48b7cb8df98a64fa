"""Questions asked of a dump alone: why a job waits, all of one user's, and when it starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_dump as small

from slurmsim.cli import main
from slurmsim.twin.backtest import backtest
from slurmsim.twin.dump import read_dump
from slurmsim.twin.findings import Findings
from slurmsim.twin.past import read_past

HEAD = "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|End|Timelimit|ReqCPUS|" \
    "ReqMem|ReqTRES|AllocTRES|NNodes|NCPUS|NodeList|Reservation\n"  # fmt: skip


def past() -> str:
    """Return 120 ended jobs, one after the other on a1; each used half its limit, and every second one had to wait."""
    rows, at = [], small.NOW - 120 * 700
    for k in range(120):
        number, start = 1000 + k, at + 600 * k
        submit = start - (200 if k % 2 else 0)
        tres = "billing=4,cpu=4,mem=100M,node=1"
        rows.append(f"{number}|{number}|x|ann||main||COMPLETED|0:0|{submit}|{submit}|{start}|{start + 600}|00:20:00|4|"
                    f"100M|{tres}|{tres}|1|4|a1|")  # fmt: skip
    return HEAD + "\n".join(rows) + "\n"


@pytest.fixture
def dump(tmp_path: Path) -> str:
    return str(small.write(tmp_path / "dump", sacct=past()))


def test_why_a_job_of_a_dump_waits(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--from", dump, "3", "--no-offers"]) == 0
    said = capsys.readouterr().out
    assert "Priority: others are before it in its partition" in said
    assert "Before it: job 2." in said
    assert "job 1 by 2026-01-05 09:01:40 (1 node)" in said


def test_all_waiting_jobs_of_a_user_in_a_line_each(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--from", dump, "--user", "ann"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ann: 1 job running, 3 records waiting."
    assert [line.partition(" ")[0] for line in lines[1:]] == ["2", "3", "4"]
    assert lines[2].endswith("1 before it, first 2")
    assert main(["why", "--from", dump, "--user", "anne"]) == 2
    assert "did you mean ann?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["why", "--from", "{}"], "expected job ids, or --user NAME"),
        (["why", "--from", "{}", "99"], "no such job: '99'"),
        (["why", "--user", "ann", "1"], "expected --from DUMP beside it"),
        (["when", "--from", "{}", "1"], "no waiting job '1'"),
        (["when", "--from", "nowhere", "1"], "nowhere: cannot be read"),
    ],
)
def test_wrong_questions_are_refused_in_one_line(
    dump: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([dump if word == "{}" else word for word in words]) == 2
    assert said in capsys.readouterr().err


def test_when_a_job_starts_is_told_as_intervals_that_were_tried_on_the_past(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["when", "--from", dump, "2", "--json", "--no-advice", "--no-backtest"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    start = [told["start"][name] for name in ("low80", "low50", "median", "high50", "high80")]
    assert start == sorted(start)
    # the running job used 500 s of its hour; the site's jobs use half of theirs
    assert small.NOW + 1200 <= told["start"]["median"] <= small.NOW + 1800
    assert told["end"]["median"] > told["start"]["median"]


def test_the_same_is_asked_of_waits_of_the_past(dump: str, tmp_path: Path) -> None:
    files = read_dump(Path(dump))
    records = read_past(files, tmp_path, Findings())
    assert records is not None
    held = backtest(files, records, "24.11", most=4)
    assert held["n"] == 4
    assert 2 <= held["in50"] <= held["in80"] <= 4


def test_a_dump_without_a_past_gives_no_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["when", "--from", str(small.write(tmp_path / "dump")), "2"]) == 2
    assert "too few jobs have ended" in capsys.readouterr().err


def accounts(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    assert main(["whatif", *words, "--for", "01:30:00", "--json"]) == 0
    return {row["account"]: row for row in json.loads(capsys.readouterr().out)["accounts"]}


@pytest.mark.parametrize(
    "change",
    [["--drain", "a1"], ["--reserve", "a1+00:30:00+12:00:00"], ["--set", "PartitionName=main:MaxTime=00:10:00"]],
)
def test_a_change_that_takes_nodes_away_makes_jobs_wait_longer(
    dump: str, change: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = accounts(["--from", dump, *change], capsys)["all"]
    assert told["jobs"] > 3
    assert told["changed_wait_s"] > told["wait_s"] + 600
    assert told["longer_in"] == 8


def test_a_change_of_nothing_that_counts_changes_no_wait(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = accounts(["--from", dump, "--set", "KillWait=31"], capsys)["all"]
    assert told["changed_wait_s"] == told["wait_s"]
    assert told["longer_in"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "{}"], "nothing is changed"),
        (["--from", "{}", "--drain", "zz"], "Invalid node name specified"),
        (["--from", "{}", "--reserve", "a1"], "NODES+IN+LENGTH"),
        (["--from", "{}", "--set", "PartitionName=no:MaxTime=1"], "a partition of the cluster"),
        (["--from", "{}", "--set", "MaxArraySize=x"], "slurm.conf"),
        (["--from", "{}", "--drain", "a1", "--for", "900-0"], "up to 31 days"),
        (["--drain", "a1"], "--from DUMP"),
    ],
)
def test_wrong_changes_are_refused_in_one_line(
    dump: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", *(dump if word == "{}" else word for word in words)]) == 2
    assert said in capsys.readouterr().err
