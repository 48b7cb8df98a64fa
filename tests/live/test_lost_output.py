"""Output that cannot be written is lost without a word, and the exit code stays (recorded on real 22.05)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

import slurmsim


@pytest.fixture(scope="module")
def cluster() -> Iterator[slurmsim.Cluster]:
    with slurmsim.cluster(nodes=2, frozen=True) as found:
        yield found


@pytest.mark.parametrize(
    "command",
    [
        "squeue >/dev/full", "sinfo >/dev/full", "scontrol show node >/dev/full", "sbatch --wrap true >/dev/full",
        "squeue >&-", "scontrol show job >&-", "squeue <&-", "sinfo 2>&-",
    ],
)  # fmt: skip
def test_nothing_is_said_of_it(cluster: slurmsim.Cluster, command: str) -> None:
    done = cluster.run(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (">" not in command or "2>" in command)


def test_an_error_that_cannot_be_told_is_an_error(cluster: slurmsim.Cluster) -> None:
    done = cluster.run("squeue -j nonsense 2>/dev/full")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert cluster.run("squeue -j nonsense 2>&-").returncode == 1


def test_a_pipe_that_is_closed_ends_the_command(cluster: slurmsim.Cluster) -> None:
    done = cluster.run("bash -c 'set -o pipefail; scontrol show hostnames n[1-30000] | head -c1'")
    assert (done.returncode, done.stdout, done.stderr) == (0, "n", "")


def test_a_pipe_that_is_not_read_and_does_not_block_ends_the_command(cluster: slurmsim.Cluster) -> None:
    """What does not fit is lost; to wait for room would not end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    environ = {**os.environ, **cluster.environ}
    try:
        command = [str(cluster.folder / "bin" / "scontrol"), "show", "hostnames", "n[1-30000]"]
        done = subprocess.run(command, env=environ, stdout=writing, stderr=subprocess.PIPE, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert os.read(reading, 6) == b"n1\nn2\n"
    finally:
        os.close(reading)
        os.close(writing)
