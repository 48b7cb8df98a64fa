"""Output that cannot be written is lost without a word, and the exit code stays (recorded on real 22.05)."""

from __future__ import annotations

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
