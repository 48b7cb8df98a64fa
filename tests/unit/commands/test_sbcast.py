"""sbcast copies a file for a running job, with the messages and exit codes that were recorded on real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

RELEASES = ["22.05", "24.11", "26.05"]


def _cluster(folder: Path, release: str = "22.05") -> Cluster:
    cluster = Cluster(folder, release=release)
    for words in ("account physics", "user alice account=physics"):
        cluster.run(f"sacctmgr -i add {words}")
    assert cluster.run("sbatch --wrap 'sleep 60'", "alice")[0] == 0
    cluster.now += 5
    (folder / "in.txt").write_text("hello world\n", "utf-8")
    (folder / "in.txt").chmod(0o755)
    return cluster


def _failed(why: str) -> str:
    return f"sbcast: error: REQUEST_FILE_BCAST(n1): {why}\n"


@pytest.mark.parametrize("release", RELEASES)
def test_a_file_is_copied_once_and_again_by_force(release: str, tmp_path: Path) -> None:
    cluster, target = _cluster(tmp_path, release), tmp_path / "out"
    command = f"sbcast -j 1 {tmp_path}/in.txt {target}"
    assert cluster.run(command, "alice") == (0, "", "")
    assert (target.read_text("utf-8"), target.stat().st_mode & 0o777) == ("hello world\n", 0o755)
    assert cluster.run(command, "alice") == (17, "", _failed("File exists"))
    (tmp_path / "in.txt").write_text("more\n", "utf-8")
    assert cluster.run(f"{command} -f", "alice") == (0, "", "")
    assert target.read_text("utf-8") == "more\n"


@pytest.mark.parametrize(
    ("source", "target", "code", "text"),
    [
        ("in.txt", "no/out", 2, _failed("No such file or directory")),
        ("in.txt", "out/", 1, "sbcast: error: Target filename cannot be a directory.\n"),
        ("in.txt", ".", 17, _failed("File exists")),
        (".", "out", 255, "sbcast: error: Can't mmap file `{}/.`, No such device.\n"),
    ],
)
def test_what_cannot_be_copied_is_told(source: str, target: str, code: int, text: str, tmp_path: Path) -> None:
    found = _cluster(tmp_path).run(f"sbcast -j 1 {tmp_path}/{source} {tmp_path}/{target}", "alice")
    assert found == (code, "", text.format(tmp_path))


@pytest.mark.parametrize(
    ("release", "code", "text"),
    [
        ("22.05", 0, "sbcast: error: Warning: file `{}` is empty.\n"),
        ("24.11", 0, "sbcast: warning: file `{}` is empty.\n"),
        ("26.05", 255, "sbcast: warning: file `{}` is empty.\n" + _failed("Unspecified error")),
    ],
)
def test_an_empty_file_is_told(release: str, code: int, text: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    found = _cluster(tmp_path, release).run(f"sbcast -j 1 {tmp_path}/empty {tmp_path}/out", "alice")
    assert found == (code, "", text.format(f"{tmp_path}/empty"))
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("job", "user", "why"),
    [
        ("1", "bob", "Invalid user id"),
        ("2", "alice", "Job/step already completing or completed"),
        ("3", "alice", "Job is pending execution"),
    ],
)
def test_only_running_jobs_of_ones_own_are_served(job: str, user: str, why: str, tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    for words in ("sbatch --wrap true", "scancel 2", "sbatch -H --wrap true"):
        cluster.run(words, "alice")
    found = cluster.run(f"sbcast -j {job} {tmp_path}/in.txt {tmp_path}/out", user)
    assert found == (255, "", f"sbcast: error: Slurm job {job} lookup error: {why}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("release", "width"), [("22.05", "fanout     = 0"), ("26.05", "treewidth     = 0")])
def test_verbose_tells_options_file_and_credential(release: str, width: str, tmp_path: Path) -> None:
    _, _, said = _cluster(tmp_path, release).run(f"sbcast -v -j 1 {tmp_path}/in.txt {tmp_path}/out", "alice")
    lines = [line.removeprefix("sbcast: ") for line in said.splitlines()]
    assert lines[0] == lines[12] == 29 * "-"
    assert lines[5] == width and lines[9] == "verbose    = 1"
    assert "size     = 12" in lines and "node_list  = n1" in lines
    assert ("Sbcast_cred: HetJobId 0" in lines) == (release == "26.05")
    assert lines[-1] == "Sbcast_cred: Expire  Mon Jan 05 08:10:05 2026"


def test_a_device_without_an_end_is_an_empty_file(tmp_path: Path) -> None:
    found = _cluster(tmp_path).run(f"sbcast -j 1 /dev/zero {tmp_path}/out", "alice")
    assert found == (0, "", "sbcast: error: Warning: file `/dev/zero` is empty.\n")
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize("job", ["²", "9" * 5000, "x"])
def test_what_is_no_number_is_no_job(job: str, tmp_path: Path) -> None:
    code, _, said = _cluster(tmp_path).run(f"sbcast -j {job} {tmp_path}/in.txt {tmp_path}/out", "alice")
    assert code == 255 and said == f"sbcast: error: Slurm job {job} lookup error: Invalid job id specified\n"
