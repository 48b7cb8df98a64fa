"""States that sinfo filters by, and flags of reservations that contradict each other. Answers as real Slurm's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import slurmsim
from slurmsim.hostlist import expand
from slurmsim.live.cluster import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """n2 is drained, n3 down, n4 both."""
    with slurmsim.cluster(nodes=5, frozen=True, slurm_version="26.05") as found:
        for words in ("n2 state=drain", "n3 state=down", "n4 state=down", "n4 state=drain"):
            found.run(f"scontrol update reason=x nodename={words}", check=True)
        yield found


@pytest.mark.parametrize(
    "states, nodes",
    [
        ("idle+drain", "n2"), ("idle&drain", "n2"), ("down&~drain", "n3"), ("down&!drain", "n3"), ("down+drain", "n4"),
        ("down,drain", "n[2-4]"), ("~drain", "n[1,3,5]"), ("!idle", "n[3-4]"), ("idle&~drain,down", ""),
        ("idle+", "n[1-2,5]"), ("idle+~drain", "n[1,5]"), ("REBOOT_REQUESTED", ""),
        ("reboot_issued", ""), ("boot^", ""),
    ],
)  # fmt: skip
def test_states_are_joined_and_negated(cluster: Cluster, states: str, nodes: str) -> None:
    ran = cluster.run(["sinfo", "-h", "-p", "batch", "-o", "%N", f"--states={states}"])
    found = sorted(name for line in ran.stdout.split() for name in expand(line))
    assert (ran.returncode, found) == (0, expand(nodes) if nodes else []), ran.stderr


def test_negation_is_new_and_stands_once(cluster: Cluster) -> None:
    assert 'Bad state string: "~drain"' in cluster.run(["sinfo", "--states=~~drain"]).stderr
    with slurmsim.cluster(nodes=1, frozen=True, slurm_version="24.11") as older:
        for word in ("idle+drain", "~drain", "!idle", "reboot_requested"):
            assert f'Bad state string: "{word}"' in older.run(["sinfo", f"--states={word}"]).stderr


REPLACING = "REPLACE and REPLACE_DOWN flags cannot be used with STATIC_ALLOC or MAINT flags"
AGAIN = "multiple reoccurring flags. Please specify only one reoccurring flag"


def test_flags_that_contradict_each_other_are_refused(cluster: Cluster) -> None:
    def create(flags: str) -> str:
        words = f"reservationname=r user=root start=now duration=10 nodecnt=1 flags={flags}"
        said = cluster.run(f"scontrol create {words}").stderr
        return said.replace("scontrol: error: ", "")

    def update(flags: str) -> str:
        return cluster.run(f"scontrol update reservation=r flags={flags}").stderr.replace("scontrol: error: ", "")

    no = "Error creating the reservation: Requested operation not supported on this system\n"
    assert create("MAINT,REPLACE_DOWN") == f"{REPLACING}\n{no}"
    assert create("HOURLY,DAILY") == f"Reservation has {AGAIN}\n{no}"
    no = "slurm_update error: Requested operation not supported on this system\n"
    assert create("HOURLY") == ""
    assert update("WEEKDAY") == f"Cannot update reservation to have {AGAIN}\n{no}"
    assert update("MAINT") == "" and update("REPLACE_DOWN") == f"{REPLACING}\n{no}"
    assert update("HOURLY") == ""
    cluster.run("scontrol delete reservationname=r", check=True)
    with slurmsim.cluster(nodes=1, frozen=True, slurm_version="22.05") as older:
        words = "reservationname=r user=root start=now duration=10 nodecnt=1 flags=HOURLY,DAILY"
        assert older.run(f"scontrol create {words}").returncode == 0
