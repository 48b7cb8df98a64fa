"""The harness itself: the installation it makes, its namespaces, its daemons, and one module of the suite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upstream.installation import HERE, Installation
from tests.upstream.run import SUITE, modules_of, read_report

NAMESPACES = subprocess.run(
    ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "true"], capture_output=True
)
needs_namespaces = pytest.mark.skipif(NAMESPACES.returncode != 0, reason="namespaces of users are not allowed here")
_REPORT = """<testsuites><testsuite><testcase classname="tests.test_1_1" name="test_a" time="0.5"/>
<testcase classname="tests.test_1_1" name="test_b"><failure message="not so"/></testcase>
<testcase classname="tests.test_1_1" name="test_c"><skipped type="pytest.skip" message="no GPU"/></testcase>
<testcase classname="tests.test_1_1" name="test_d"><skipped type="pytest.xfail" message="known"/></testcase>
<testcase classname="tests.test_1_1" name="test_e"><error message="failed on setup"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """An installation with an empty suite."""
    found = Installation(tmp_path / "slurm", tmp_path / "src" / "testsuite")
    found.make()
    yield found


def inside(installation: Installation, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script as the suite's user."""
    return subprocess.run(
        [str(HERE / "standins" / "enter.sh"), str(installation.prefix), sys.executable, "bash", "-c", script],
        env={**installation.environment, "UPSTREAM_PATH": installation.path, "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True, text=True, timeout=120, cwd="/tmp",
    )  # fmt: skip


def test_modules_are_chosen_by_number_and_by_name(tmp_path: Path) -> None:
    tests = tmp_path / "python" / "tests"
    tests.mkdir(parents=True)
    for name in ("test_1_1", "test_1_2", "test_11_1"):
        (tests / f"{name}.py").touch()
    assert modules_of(tmp_path, []) == ["test_11_1", "test_1_1", "test_1_2"]
    assert modules_of(tmp_path, ["1"]) == ["test_1_1", "test_1_2"]
    assert modules_of(tmp_path, ["11_1"]) == ["test_11_1"]
    with pytest.raises(SystemExit, match="no module of test_2"):
        modules_of(tmp_path, ["2"])


def test_a_report_tells_outcome_and_reason_of_each_test(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(_REPORT)
    found = [(one["test"], one["outcome"], one["why"]) for one in read_report(tmp_path / "r.xml")]
    assert found == [
        ("test_1_1::test_a", "passed", ""),
        ("test_1_1::test_b", "failed", "not so"),
        ("test_1_1::test_c", "skipped", "no GPU"),
        ("test_1_1::test_d", "xfailed", "known"),
        ("test_1_1::test_e", "error", "failed on setup"),
    ]


@needs_namespaces
def test_users_are_of_the_namespace_and_daemons_start_and_stop(installation: Installation) -> None:
    ran = inside(installation, """
        id -un; sudo -u slurm bash -lc 'echo $SLURMSIM_USER $HOME'; sudo -ln; sudo -u nonesuch true; echo $?
        scontrol ping
        sudo -u slurm slurmctld -c -i; sudo -u root slurmd -N node0; pgrep -fc '[s]bin/slurmd -N node0'
        scontrol ping; sinfo -h -o %N; slurmctld -V; sinfo -V
        scontrol update nodename=node0 state=drain reason=me; sudo -u slurm scontrol update nodename=node0 weight=3
        scontrol show node node0 | grep -o Weight=3
        sudo -u slurm scontrol shutdown; scontrol ping; pgrep -fc '[s]bin/slurmd -N node0'
    """)  # fmt: skip
    prefix = installation.prefix
    lines = ran.stdout.splitlines()
    assert lines[:4] == ["atf", f"slurm {prefix}/home/slurm", "    (ALL : ALL) NOPASSWD: ALL", "1"]
    assert lines[4].endswith("is DOWN") and lines[5] == "1" and lines[6].endswith("is UP")
    assert lines[7:10] == ["node0", "slurm 26.05.5", "slurm 26.05.5"]
    assert lines[10] == "Weight=3" and "Invalid user id" in ran.stderr  # atf may not drain it, slurm may
    assert lines[11].endswith("is DOWN") and lines[12] == "0"
    assert not [line for line in Path("/etc/passwd").read_text().splitlines() if line.startswith("atf:")]


@needs_namespaces
@pytest.mark.skipif(not os.environ.get(SUITE), reason=f"{SUITE} names no folder `testsuite` of Slurm's sources")
def test_a_module_of_the_suite_passes(tmp_path: Path) -> None:
    results = tmp_path / "r.json"
    ran = subprocess.run(
        [sys.executable, "-m", "tests.upstream.run", "-o", str(results), "--prefix", str(tmp_path / "slurm"), "113_2"],
        cwd=HERE.parents[1], capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0 and "{'passed': 7}" in ran.stdout, ran.stdout + ran.stderr
