"""``check --strict`` against what slurmctld 22.05.8, 24.11.5 and 26.05.5 said of 736 made-up configurations.

Each row of strict_verdicts.csv was started with the three daemons. *refused* means that slurmctld ended by itself,
*taken* that it answered, an empty cell that it was not asked. ``lines`` is slurm.conf with ``\\n`` between its lines.
@HEAD, @REST and @NODES stand for the lines below; ``@FILE NAME`` begins a file beside it. Where slurmsim differs on
purpose, the verdict has an asterisk and ``why_different`` says why.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from slurmsim.config.load import examine
from slurmsim.errors import ConfigError

NODES = "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
REST = "AuthType=auth/munge\nCredType=cred/munge\nProctrackType=proctrack/linuxproc\nMpiDefault=none\n"
HEAD = f"ClusterName=c\nSlurmctldHost=head(127.0.0.1)\n{REST}"
RELEASES = ("22.05", "24.11", "26.05")

with (Path(__file__).parent / "strict_verdicts.csv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table))


def write(row: dict[str, str], folder: Path) -> Path:
    """The files of one row; returns its slurm.conf."""
    text = row["lines"].encode("ascii").decode("unicode_escape").replace("@DIR@", str(folder))
    conf, *others = text.split("@FILE ")
    for mark, lines in (("@HEAD\n", HEAD), ("@REST\n", REST), ("@NODES\n", NODES)):
        conf = conf.replace(mark, lines)
    for other in others:
        name, _, content = other.partition("\n")
        (folder / name).write_bytes(content.encode())
    path = folder / "slurm.conf"
    path.write_bytes(conf.encode())
    return path


def verdict(conf: Path, release: str) -> str:
    """What ``slurmsim check --strict`` makes of a configuration."""
    try:
        return "refused" if examine(conf, strict=True, release=release).report.errors else "taken"
    except ConfigError:
        return "refused"


@pytest.mark.parametrize("release", RELEASES)
def test_strict_refuses_what_the_daemon_of_that_release_refuses_and_nothing_else(release: str, tmp_path: Path) -> None:
    wrong = []
    for number, row in enumerate(ROWS):
        folder = tmp_path / str(number)
        folder.mkdir()
        said, different = row[release].removesuffix("*"), row[release].endswith("*")
        if said and (verdict(write(row, folder), release) != said) != different:
            wrong.append((row["name"], row[release]))
    assert wrong == []


def test_each_difference_says_why() -> None:
    different = {row["name"] for row in ROWS if any(row[release].endswith("*") for release in RELEASES)}
    assert different == {row["name"] for row in ROWS if row["why_different"]}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("PrologFlags=Contian", "it has no word 'Contian'; did you mean Contain? (expected one of Alloc, Contain, "),
        ("JobSubmitPlugins=lua,mine", "it has no plug-in 'mine' (expected one of job_submit/all_partitions, "),
        ("MaxDBDMsgs=10", "10 is out of range (expected at least 10000)"),
        ("FirstJobId=100\nMaxJobId=50", "FirstJobId=100: slurmctld does not start: it is above MaxJobId"),
    ],
)
def test_the_error_names_line_and_key_and_what_was_expected(line: str, says: str, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"{HEAD}{line}\n{NODES}")
    (error,) = examine(conf, strict=True).report.errors
    assert f"slurm.conf:7: error: {line.partition('=')[0]}" in str(error)
    assert says in str(error)
    relaxed = examine(conf).report
    assert relaxed.errors == []
    assert "warning" in {one.severity for one in relaxed.findings if one.key == error.key}


def test_a_word_of_another_release_is_refused_in_strict_mode_alone(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"{HEAD}DebugFlags=TLS\n{NODES}")
    (error,) = examine(conf, strict=True).report.errors
    assert "slurmctld 22.05 does not start with it: it has no word 'TLS'" in str(error)
    assert examine(conf, strict=True, release="26.05").report.errors == []
    assert [one for one in examine(conf).report.findings if one.key == "DebugFlags"] == []


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("SchedulerTimeSlice=1", 30),
        ("ReturnToService=5", 0),
        ("JobRequeue=7", 1),
        ("MaxArraySize=5000000", 4_000_001),
        ("KillWait=UNLIMITED", 65_535),
        ("RequeueExit=300", frozenset()),
        ("PriorityFlags=foo,MAX_TRES", ("MAX_TRES",)),
        ("SuspendTime=60s", 60),
    ],
)
def test_what_the_daemon_takes_otherwise_is_a_warning_that_says_how(line: str, used: object, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"{HEAD}{line}\n{NODES}")
    examined = examine(conf, strict=True)
    assert examined.cluster is not None
    key, _, value = line.partition("=")
    assert examined.cluster.options[key] == used
    assert value == "UNLIMITED" or {one.severity for one in examined.report.findings if one.key == key} >= {"warning"}


def test_plug_ins_of_a_folder_of_the_site_are_not_refused(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"{HEAD}PluginDir=/opt/plugins\nJobSubmitPlugins=mine\n{NODES}")
    assert examine(conf, strict=True).report.errors == []
