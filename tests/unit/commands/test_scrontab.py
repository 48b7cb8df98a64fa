"""scrontab: what a table is read as, and what the controller makes of it; recordings are in conformance/asked."""

from __future__ import annotations

import io as streams
from pathlib import Path
from typing import Any

import pytest
from unit.commands.engine_client import PEOPLE, START, Cluster, _Client

from slurmsim.commands.io import Io
from slurmsim.commands.scrontab import scrontab
from slurmsim.commands.scrontab.table import BadTable, Entry, entries

CONF = """\
ClusterName=tux
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ScronParameters=enable{more}
NodeName=n[1-2] CPUs=4
PartitionName=batch Nodes=ALL Default=YES DefaultTime=10
"""
TABLE = "A=hello\n#SCRON -J greet\n* * * * * sleep 5; echo $A\n\n#SCRON -J nightly -t 5\n0 3 * * * true\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, CONF.format(more=""), release="24.11")


def ask(cluster: Cluster, words: str, text: str = "", user: str = "alice", tty: bool = False) -> tuple[int, str, str]:
    """One call with that standard input: exit code, output, errors."""
    out, error = streams.StringIO(), streams.StringIO()
    client: Any = _Client(cluster, PEOPLE[user])
    stdin = streams.StringIO(text)
    stdin.isatty = lambda: tty  # type: ignore[method-assign]
    world = Io(client, stdin=stdin, stdout=out, stderr=error, environ={"HOME": f"/home/{user}"}, cwd="/home")
    return scrontab.run(words.split(), world), out.getvalue(), error.getvalue()


def queue(cluster: Cluster, columns: str = "%i %j %t %r") -> list[str]:
    return cluster.text(f"squeue -h -t all -S i -o '{columns}'").splitlines()


def read(text: str, release: str = "24.11") -> tuple[list[Entry], list[list[str]]]:
    options: list[list[str]] = []
    return list(entries(text, release, options.append)), options


def test_a_table() -> None:
    found, options = read(TABLE)
    assert [(e.name, e.spec, e.command, e.first, e.last) for e in found] == [
        ("sleep", "* * * * *", "sleep 5; echo hello", 2, 3), ("true", "0 3 * * *", "true", 5, 6),
    ]  # fmt: skip
    assert options == [["-J", "greet"], ["-J", "nightly", "-t", "5"]]


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        ("A=1", "1 $A ${A}"),  # once
        ("B=$A\nA=2", "$A $A ${A}".replace("$A", "2", 1)),
        ("A='x y'", "x y $A ${A}"),
        ("A=1\nA= 2 ", "2  $A ${A}"),
    ],
)
def test_a_variable_goes_where_its_name_is_first(lines: str, command: str) -> None:
    (entry,), _ = read(f"{lines}\n* * * * * $A $A ${{A}}")
    assert entry.command == command


def test_directives_of_ours_go_with_the_next_entry() -> None:
    first, second = read("#SLURMSIM runtime=90 exit=3\n* * * * * work\n* * * * * more")[0]
    assert "#SLURMSIM runtime=90 exit=3\nwork\n" in first.script and "SLURMSIM" not in second.script


@pytest.mark.parametrize(
    ("text", "release", "lines", "at"),
    [
        ("# c\n61 * * * * x", "24.11", ("something is broken",), 2),
        ("* * * foo * x", "24.11", ("bad month specification", "something is broken"), 1),
        ("0 0 30 2 * x", "24.11", ("something is broken",), 1),
        ("A='x", "24.11", ("not match", "something is broken"), 1),
        ("A='x' y", "24.11", ("something is broken",), 1),
        ("A_B=1", "24.11", ("something is broken",), 1),
        ("A-B=1", "26.05", ("something is broken",), 1),
    ],
)
def test_what_is_no_table(text: str, release: str, lines: tuple[str, ...], at: int) -> None:
    with pytest.raises(BadTable) as wrong:
        read(text, release)
    assert (wrong.value.lines, wrong.value.at) == (lines, at)


def test_newer_names_have_underscores() -> None:
    assert read("A_B=1\n* * * * * $A_B", "26.05")[0][0].command == "1"


def test_jobs_of_a_table_come_again_and_go_with_it(cluster: Cluster) -> None:
    assert ask(cluster, "", TABLE) == (0, "", "")
    assert queue(cluster, "%i %j %t %S") == ["1 greet PD 2026-01-05T08:01:00", "2 nightly PD 2026-01-06T03:00:00"]
    for minute in (1, 2, 3):
        cluster.now = START + 60 * minute + 3
        assert queue(cluster)[0] == "1 greet R None"
        cluster.now += 10
        assert queue(cluster, "%i %j %t %S")[0] == f"1 greet PD 2026-01-05T08:0{minute + 1}:00"
    assert cluster.engine.jobs[1].core.restarts == 3
    assert ask(cluster, "", "0 4 * * * false\n") == (0, "", "")
    assert queue(cluster) == ["1 greet CA BeginTime", "2 nightly CA BeginTime", "3 false PD BeginTime"]
    assert [cluster.engine.jobs[k].core.exit_code for k in (1, 2)] == ["0:1", "0:1"]
    assert ask(cluster, "-r") == (0, "", "") and ask(cluster, "-l") == (1, "no crontab for alice\n", "")
    assert queue(cluster)[2] == "3 false CA BeginTime"
    again = cluster.again()
    assert {k: (j.core.state, j.core.restarts) for k, j in again.jobs.items()} == {
        k: (j.core.state, j.core.restarts) for k, j in cluster.engine.jobs.items()
    }


def test_what_runs_when_its_table_goes_ends_for_good(cluster: Cluster) -> None:
    ask(cluster, "", "* * * * * sleep 30\n")
    cluster.now += 70
    ask(cluster, "", "0 4 * * * false\n")
    assert queue(cluster)[0] == "1 sleep R None"
    cluster.now += 60
    assert queue(cluster)[0] == "1 sleep CD None"
    assert 'CrontabSpec="* * * * *"' in cluster.text("scontrol show job 1")
    assert "CronJob" not in cluster.text("scontrol show job 1")


@pytest.mark.parametrize(
    ("script", "seconds", "code"),
    [("exit 3", 10, "3:0"), ("sleep 1000", 95, "0:15")],  # its time limit, in a scan
)
def test_a_failure_or_a_limit_does_not_stop_it(cluster: Cluster, script: str, seconds: int, code: str) -> None:
    ask(cluster, "", f"#SCRON -t 1\n* * * * * {script}\n")
    cluster.now += 60 + seconds
    assert queue(cluster)[0].startswith("1 ") and " PD BeginTime" in queue(cluster)[0]
    core = cluster.engine.jobs[1].core
    assert (core.restarts, core.exit_code, core.begin % 60) == (1, code, 0) and core.begin > cluster.now - 60


def test_scancel_puts_lines_out_of_use(cluster: Cluster) -> None:
    ask(cluster, "", TABLE)
    cluster.text("scancel 2")
    text = TABLE.replace("#SCRON -J nightly", "#DISABLED: #SCRON -J nightly").replace("0 3", "#DISABLED: 0 3")
    assert ask(cluster, "-l") == (0, text, "")
    cluster.now += 63
    cluster.run("scancel -s USR1 1")  # any signal does
    assert "#DISABLED: * * * * * sleep" in ask(cluster, "-l")[1]
    cluster.now += 20
    assert queue(cluster) == ["1 greet CD None", "2 nightly CA BeginTime"]


def test_scancel_may_have_to_be_explicit(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF.format(more=",explicit_scancel"), release="24.11")
    ask(cluster, "", TABLE)
    said = "scancel: error: Kill job error on job id 1: Cannot cancel scrontab jobs without --cron flag.\n"
    assert cluster.run("scancel 1") == (50, "", said)
    assert cluster.run("scancel -c 1") == (0, "", "")
    assert queue(cluster)[0] == "1 greet CA BeginTime"


@pytest.mark.parametrize("command", ["hold 1", "release 1", "update jobid=1 timelimit=3"])
def test_scontrol_does_not_change_them(cluster: Cluster, command: str) -> None:
    ask(cluster, "", TABLE)
    code, _, error = cluster.run(f"scontrol {command}", "alice")
    assert code == 1 and error.startswith("Cannot modify scrontab jobs through scontrol for job 1\n")


def test_a_refused_table_leaves_nothing_but_used_ids(cluster: Cluster) -> None:
    ask(cluster, "", TABLE)
    said = (
        "There was an issue with the job submission on lines 2-3\n"
        "The error code return was: Requested node configuration is not available\nThe error message was: (null)\n"
    )
    assert ask(cluster, "", "* * * * * true\n#SCRON -N 99\n* * * * * true\n") == (1, said, "")
    assert ask(cluster, "-l") == (0, TABLE, "")
    assert queue(cluster) == ["1 greet PD BeginTime", "2 nightly PD BeginTime"]
    ask(cluster, "", "* * * * * true\n")
    assert queue(cluster)[-1] == "5 true PD BeginTime"
    assert sorted(cluster.again().jobs) == [1, 2, 5]


def test_only_the_owner_of_the_cluster_sees_to_others(cluster: Cluster) -> None:
    ask(cluster, "", TABLE)
    assert ask(cluster, "-u alice -l", user="bob")[2].endswith("slurm_request_crontab failed: Invalid user id\n")
    assert ask(cluster, "-u alice -r", user="bob")[2].endswith("slurm_remove_crontab failed: Invalid user id\n")
    assert ask(cluster, "-u alice", TABLE, user="bob")[:2] == (1, (
        "There was an issue with the job submission on lines (null)\n"
        "The error code return was: Invalid user id\nThe error message was: (null)\n"
    ))  # fmt: skip
    assert ask(cluster, "-u alice -l", user="root") == (0, TABLE, "")
    assert ask(cluster, "-u alice", "@daily x\n", user="root") == (0, "", "")
    assert queue(cluster, "%u %j %Z")[-1] == "alice x /home/alice"


def test_editing(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"

    def edit(script: str, answers: str = "") -> tuple[int, str, str]:
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
        out, error = streams.StringIO(), streams.StringIO()
        client: Any = _Client(cluster, PEOPLE["alice"])
        stdin = streams.StringIO(answers)
        stdin.isatty = lambda: True  # type: ignore[method-assign]
        environ = {"HOME": "/home/alice", "EDITOR": str(editor)}
        return (
            scrontab.run([], Io(client, stdin=stdin, stdout=out, stderr=error, environ=environ)),
            out.getvalue(),
            error.getvalue(),
        )

    assert ask(cluster, "-e")[2] == "scrontab: fatal: Standard input is not a TTY\n"
    assert edit("echo '0 1 * * * a' > $1") == (0, "", "")
    assert ask(cluster, "-l")[1] == "0 1 * * * a\n"
    assert edit("true") == (0, "", "scrontab: No modification made\n")
    assert edit("false") == (1, "", "scrontab: fatal: editor returned non-zero exit code\n")
    asks = (
        "There are errors in your crontab.\nThe failed line(s) is commented out with #BAD:\n"
        "Do you want to retry the edit? (y/n) "
    )
    broken = "scrontab: error: something is broken\n"
    assert edit("sed -i s/0/61/ $1", "n\n") == (0, asks, broken)
    assert edit("sed -i s/0/61/ $1", "?\ny\n") == (0, 2 * asks, f"{broken}scrontab: No modification made\n")
    keep = f"cat $1 > {tmp_path}/seen; grep -q BAD $1 && echo '0 2 * * * b' > $1 || sed -i s/0/61/ $1"
    assert edit(keep, "y\n") == (0, asks, broken)
    assert (tmp_path / "seen").read_text() == "#BAD: 61 1 * * * a\n"
    assert ask(cluster, "-l")[1] == "0 2 * * * b\n"


def test_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    older = Cluster(tmp_path / "a", CONF.format(more=""))
    assert ask(older, "-l")[::2] == (
        1, "scrontab: fatal: there is none in release 22.05: --slurm-version 24.11 or later has it\n",
    )  # fmt: skip
    (tmp_path / "b").mkdir()
    disabled = Cluster(tmp_path / "b", CONF.format(more="").replace("ScronParameters=enable\n", ""), release="24.11")
    assert ask(disabled, "-l")[::2] == (1, "scrontab: fatal: scrontab is disabled on this cluster\n")
