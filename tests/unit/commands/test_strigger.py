"""strigger: what real Slurm said to triggers of users and root, and which programs run when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_client import CONF, Cluster

HEADER = "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM\n"
NODES = CONF.replace("n[1-2] CPUs=4", "n[1-4] CPUs=8")
USERS = """\
add cluster tux
add account physics
add user alice Account=physics
"""
OPEN = NODES + "SlurmctldParameters=allow_user_triggers\n"
SET = "strigger --set -p /bin/true"
RELEASES = pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])


class Ran:
    """Takes the place of the processes of jobs: it notes which programs run, and when."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.programs = cluster, list[tuple[int, list[str]]]()
        cluster.engine.real = self  # type: ignore[assignment]

    def run_program(self, words: list[str]) -> None:
        self.programs.append((int(self.cluster.engine.now), words[1:]))


def opened(folder: Path, release: str, conf: str = OPEN) -> Cluster:
    cluster = Cluster(folder, conf=conf, accounting=USERS, release=release)
    cluster.now += 20  # slurmctld has looked once
    return cluster


@RELEASES
def test_triggers_are_set_listed_and_cleared(tmp_path: Path, release: str) -> None:
    cluster = opened(tmp_path, release)
    ask: Any = cluster.run
    assert ask("strigger --get") == (0, "", "")
    assert ask(f"{SET} --node=n1 --down") == (0, "", "")
    assert ask(f"{SET} --node=n1 --down") == (1, "", "slurm_set_trigger: Duplicate event trigger\n")
    assert ask(f"{SET} --node=nope --down") == (1, "", "slurm_set_trigger: Invalid node name specified\n")
    assert ask(f"{SET} --jobid=99 --fini") == (1, "", "slurm_set_trigger: Invalid job id specified\n")
    assert ask("strigger --set -p '/bin/true a b' --node=n[1-2] --down --up --offset=3 -v", "alice") == (
        0, "", "strigger: trigger set\n",
    )  # fmt: skip
    assert ask(f"{SET} --drained --flags=perm", "alice")[0] == 0
    assert ask("strigger --set --up -p /etc/passwd", "alice") == (
        1, "", "slurm_set_trigger: Access/permission denied\n",
    )  # fmt: skip
    assert ask(f"{SET} --primary_database_failure", "alice")[0] == ask(f"{SET} --burst_buffer", "alice")[0] == 0
    assert ask(f"{SET} --up -o 40000", "alice")[2] == (
        "strigger: error: The --offset parameter must be between +/-32000\n"
    )
    assert ask("sbatch -t 1 --wrap 'sleep 15'", "alice")[0] == 0
    assert ask(f"{SET} -j 1 --time --offset=-30", "alice")[0] == 0
    lines = {
        1: "      1 node           n1 down                                     0 root           /bin/true\n",
        2: "      2 node       n[1-2] unknown                                  3 alice          /bin/true a b\n",
        3: "      3 node            * drained                                  0 alice    PERM  /bin/true\n",
        5: "      5 database        * primary_database_failure                 0 alice          /bin/true\n",
        6: "      6 other      (null) burst_buffer                             0 alice          /bin/true\n",
        7: "      7 job             1 time                                   -30 alice          /bin/true\n",
    }
    assert ask("strigger --get", "bob")[1] == HEADER + "".join(lines.values())
    assert ask("strigger --get -n", "bob")[1] == HEADER + lines[1] + lines[2] + lines[3]
    assert ask("strigger --get -N -j 1", "bob")[1] == lines[7]
    assert ask("strigger --get --user=root", "bob")[1] == HEADER + lines[1]
    assert ask("strigger --get --drained", "bob")[1] == HEADER + lines[3]
    assert ask("strigger --clear --id=2", "bob") == (1, "", "slurm_clear_trigger: Access/permission denied\n")
    assert ask("strigger --clear --id=77", "bob") == (1, "", "slurm_clear_trigger: No such process\n")
    assert ask("strigger --clear --id=77 -Q", "bob") == (0, "", "")
    assert ask("strigger --clear --user=alice -v", "alice") == (0, "", "strigger: triggers for user 2001 cleared\n")
    assert ask("strigger --get", "bob")[1] == HEADER + lines[1]


def test_users_may_set_triggers_where_slurmctld_lets_them(tmp_path: Path) -> None:
    for at, (conf, said) in enumerate(
        ((NODES, "Access/permission denied"), (OPEN + "SlurmUser=bob\n", "Access/permission denied"),
         (NODES + "SlurmctldParameters=disable_triggers\n", "Requested operation is presently disabled"))
    ):  # fmt: skip
        folder = tmp_path / str(at)
        folder.mkdir()
        cluster = opened(folder, "26.05", conf)
        assert cluster.run(f"{SET} --up", "alice") == (1, "", f"slurm_set_trigger: {said}\n")
        assert cluster.run(f"{SET} --up", "bob")[0] == (0 if "SlurmUser=bob" in conf else 1)


@RELEASES
def test_programs_run_at_the_next_look_with_what_happened(tmp_path: Path, release: str) -> None:
    cluster = opened(tmp_path, release)
    ran, start = Ran(cluster), cluster.engine.network.start_time
    for words in ("-nn1 --down", "--drained --flags=perm", "--up -o 3", "-nn4 --idle -o 10", "--reconfig"):
        cluster.text(f"strigger --set -p '/bin/true x' {words}")
    cluster.text("sbatch -w n3 -t 1 --wrap 'sleep 900'", "alice")
    cluster.now += 5  # it starts
    cluster.text("strigger --set -p '/bin/true x' -j 1 --fini")
    cluster.text("strigger --set -p '/bin/true x' -j 1 --time -o -30")
    cluster.text("scontrol update node=n1 state=down reason=x")
    cluster.text("scontrol update node=n[2-3] state=drain reason=x")
    cluster.now += 8
    cluster.text("sinfo")
    assert ran.programs == [(start + 32, ["x", "n1"]), (start + 32, ["x", "n2"]), (start + 32, ["x", "n4"])]
    ran.programs.clear()
    cluster.text("scontrol update node=n1 state=resume")
    cluster.now += 20
    cluster.text("sinfo")
    assert ran.programs == []  # that of `up` waits for its three seconds, until the look after them
    cluster.now += 100
    cluster.text("sinfo")
    up, time = (start + 64, ["x", "n1"]), (start + 64, ["x", "1"])
    assert ran.programs[:2] == [up, time]
    assert [words for _, words in ran.programs[2:]] == [["x", "n3"], ["x", "1"]]  # drained and over with its job
    assert [line.split()[0] for line in cluster.text("strigger -N --get").splitlines()] == ["2", "5"]
    cluster.text("scontrol reconfigure")
    cluster.now += 20
    cluster.text("sinfo")
    assert ran.programs[-1][1] == ["x", "reconfig"]


def test_other_users_programs_do_not_run(tmp_path: Path) -> None:
    cluster = opened(tmp_path, "26.05")
    ran = Ran(cluster)
    assert cluster.run(f"{SET} -nn1 --down", "alice")[0] == 0
    cluster.text("scontrol update node=n1 state=down reason=x")
    cluster.now += 20
    assert cluster.text("strigger --get") == "" and ran.programs == []
