"""No change leaves an association a default QOS that it may not use: each answer as real slurmdbd gave it."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_client import Cluster

ACCOUNTS = """\
add cluster tux
add qos std,prem,two,unused
add account acc
add account top qos=normal,std,two defaultqos=std
add account low parent=top
add user alice,bob Account=acc
modify user where name=alice,bob set qos=normal,std,prem,two DefaultQOS=normal
"""
NOTE = (
    " These associations don't have access to their default qos.\n"
    " Please give them access before they the default can be set to this.\n"
)
REFUSED = (
    " Error with request: This request would make it so some associations would not have access to their default qos.\n"
)
GINA, INA = f"C = tux        A = {'top':<20} U = gina     ", f"C = tux        A = {'top':<20} U = ina      "
TOP, LOW = f"C = tux        A = {'top':<20}", f"C = tux        A = {'low':<20}"
BOB = f"C = tux        A = {'acc':<20} U = bob      "
BARRED = {
    "user bob set qos=std": [("normal", BOB)],
    "user bob set qos-=normal": [("normal", BOB)],
    "user bob set defaultqos=unused": [("unused", BOB)],
    "user gina set qos=two": [("std", GINA)],  # it inherits its default QOS
    "account low set qos=two": [("std", LOW)],
    "account top set qos=two": [("std", TOP), ("std", GINA)],  # accounts below it are not asked
    "account top set qos-=std": [("std", TOP), ("std", GINA)],
    "account top set defaultqos=prem": [("prem", TOP), ("prem", GINA)],
}
"""What each change would leave: (default QOS, association)."""
NEW_FOR_ALL = {"account top set defaultqos=prem": [("prem", TOP), ("two", INA), ("prem", GINA)]}
"""22.05 asks whether each user of the account may use its new default QOS."""


def made(folder: Path, release: str) -> Cluster:
    cluster = Cluster(folder, accounting=ACCOUNTS, release=release)
    cluster.run("sacctmgr -i add user gina account=top")
    cluster.run("sacctmgr -i add user ina account=top qos=two defaultqos=two")
    return cluster


def table(cluster: Cluster) -> str:
    return cluster.text("sacctmgr -n -P show assoc format=account,user,qos,defaultqos")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_who_would_lose_its_default_qos_is_named(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    before = table(cluster)
    for change, barred in (BARRED | (NEW_FOR_ALL if release == "22.05" else {})).items():
        space = " " if release == "22.05" else ""
        lines = "".join(f"  DefQOS = {qos:<10} {one}{'' if 'U =' in one else space}\n" for qos, one in barred)
        title = f" Modified {change.split()[0]} associations...\n" if release == "26.05" else ""
        told = {"22.05": (0, "", NOTE + lines)}.get(release, (1, title, f"sacctmgr: error: \n{NOTE}{lines}\n{REFUSED}"))
        assert cluster.run(f"sacctmgr -i modify {change}") == told, change
    assert table(cluster) == before


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_what_leaves_everyone_a_default_qos_is_done(tmp_path: Path, release: str) -> None:
    cluster = made(tmp_path, release)
    for change in ("user bob set qos=std defaultqos=std", "account acc set qos=std", "user gina set maxjobs=5"):
        assert cluster.run(f"sacctmgr -i modify {change}")[::2] == (0, "")
    assert (
        cluster.run("sacctmgr -i add account sub parent=acc qos=two defaultqos=prem")[0] == 0
    )  # accounts are not asked
    rows = table(cluster).splitlines()
    assert "acc|bob|std|std" in rows
    assert "sub||two|prem" in rows


def test_22_05_takes_a_default_qos_that_may_not_be_used_and_runs_jobs_without_it(tmp_path: Path) -> None:
    cluster = made(tmp_path, "22.05")
    assert cluster.run("sacctmgr -i add user alice account=top defaultqos=unused")[0] == 0
    assert "top|alice|normal,std,two|unused" in table(cluster)
    assert cluster.run("sbatch -A top --wrap hostname", "alice")[0] == 0
    assert cluster.text("squeue -h -o '%i %q'") == "1 normal\n"
