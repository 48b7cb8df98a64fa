"""Answers of real Slurm that sessions of personas asked for and slurmsim gave differently, kind by kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_client import CONF, Cluster

ACCOUNTS = """\
add cluster tux
add account physics Fairshare=60
add user alice Account=physics Fairshare=10
"""
LIMITED = CONF.replace(
    "PartitionName=batch", "PartitionName=short Nodes=ALL MaxTime=30 MaxNodes=1\nPartitionName=batch"
)
LIMITED = LIMITED.replace("n[1-2] CPUs=4", "n[1-4] CPUs=8")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_new_association_has_no_factor_before_the_next_run(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, accounting=ACCOUNTS, release=release)
    ask = "sshare -a -A zoo -n -P -o account,user,normusage,effectvusage,fairshare,levelfs"
    old = "sshare -a -A physics -n -P -o account,user,normusage,effectvusage,fairshare,levelfs"
    cluster.now += 5
    before = cluster.text(old)
    cluster.text("sacctmgr -i add account zoo")
    cluster.text("sacctmgr -i add user alice account=zoo fairshare=3")
    assert cluster.text(ask) == "zoo|||0.000000||0.000000\n zoo|alice||0.000000|0.000000|0.000000\n"
    assert cluster.text(old) == before
    assert cluster.run("sbatch -H -A zoo --wrap hostname", "alice")[0] == 0
    cluster.text("sacctmgr -i modify user alice where account=zoo set fairshare=5")  # it is as new as before
    assert cluster.text(ask).splitlines()[1] == " zoo|alice||0.000000|0.000000|0.000000"
    cluster.now += 300
    cluster.engine.network.advance(cluster.now)
    assert cluster.text(ask).splitlines()[1] == " zoo|alice|0.000000|0.000000|1.000000|inf"


ASKED = {
    "-n1 -N1 -c2": {"22.05": "2 2", "24.11": "1 2"},
    "-n1 -N1 -c3": {"22.05": "2 3", "24.11": "1 3"},
    "-n9": {"22.05": "2 9"},
    "-n9 -c3": {"22.05": "5 27"},
    "-n8 -N2 --ntasks-per-node=1": {"22.05": "8 8"},
}
"""Nodes and CPUs of a job that is longer than its partition allows."""


@pytest.mark.parametrize(("options", "release"), [(asked, release) for asked in ASKED for release in ASKED[asked]])
def test_nobody_looks_for_nodes_of_a_job_over_a_limit_of_its_partition(
    tmp_path: Path, options: str, release: str
) -> None:
    cluster = Cluster(tmp_path, LIMITED, accounting=ACCOUNTS, release=release)
    assert cluster.run(f"sbatch -p short -t 60 {options} --wrap hostname", "alice")[0] == 0
    assert cluster.text("squeue -h -o '%D %C'") == f"{ASKED[options][release]}\n"


def test_sets_of_nodes_are_told_of_a_partition(tmp_path: Path) -> None:
    """Those of NodeSet lines in every release, ALL since 24.11; a list of nodes has none."""
    conf = CONF + "NodeSet=some Nodes=n1\nPartitionName=set Nodes=some\nPartitionName=named Nodes=n[1-2]\n"
    for release, told in (("22.05", ["NodeSets=some"]), ("26.05", ["NodeSets=ALL", "NodeSets=some"])):
        (tmp_path / release).mkdir()
        cluster = Cluster(tmp_path / release, conf, release=release)
        assert [line.strip() for line in _lines(cluster) if "NodeSets" in line] == told
        cluster.text("scontrol update PartitionName=batch Nodes=n1")
        cluster.text("scontrol update PartitionName=named Nodes=ALL")
        assert [line.strip() for line in _lines(cluster) if "NodeSets" in line] == told[::-1]


def _lines(cluster: Cluster) -> list[str]:
    return cluster.text("scontrol show partition").splitlines()


def test_words_for_days_are_read_in_conditions_of_sacctmgr(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, accounting=ACCOUNTS)
    cluster.text("scontrol update nodename=n1 state=drain reason=maint")
    for start in ("today", "now-1hour", "2026-01-05T00:00:00", "01/05"):
        rows = cluster.text(f"sacctmgr -n -P show event where nodes=n1 start={start} format=nodename,reason")
        assert rows == "n1|maint\n", start


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_the_partition_a_job_ran_in_comes_first_once_it_is_requeued(tmp_path: Path, release: str) -> None:
    conf = CONF + "PartitionName=second Nodes=n2\n"
    cluster = Cluster(tmp_path, conf.replace("batch Nodes=ALL", "batch Nodes=n1"), accounting=ACCOUNTS, release=release)
    cluster.run("sbatch -H -p batch,second --wrap 'sleep 500'", "alice")
    cluster.text("scontrol update nodename=n1 state=drain reason=x")
    cluster.text("scontrol release 1")
    cluster.now += 5
    assert cluster.text("squeue -h -o '%T %P'") == "RUNNING second\n"
    cluster.text("scontrol update nodename=n1 state=resume")
    cluster.text("scontrol requeue 1")
    assert cluster.text("squeue -h -o '%T %P'") == "COMPLETING second,batch\n"


def test_steps_have_no_memory_where_it_is_not_counted(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, accounting=ACCOUNTS)
    cluster.run("sbatch --mem=500 --wrap 'sleep 500'", "alice")
    cluster.now += 5
    told = cluster.text("sacct -a -P -n -o jobid,reqtres,alloctres")
    assert told == "1|billing=1,cpu=1,mem=500M,node=1|billing=1,cpu=1,node=1\n1.batch||cpu=1,mem=0,node=1\n"


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_reconfigure_works_usage_and_priorities_out_since_24_11(tmp_path: Path, release: str) -> None:
    """It is a restart then, and the next run of the priority plugin comes a period later."""
    accounts = ACCOUNTS + "add user bob Account=physics Fairshare=10\n"
    cluster = Cluster(tmp_path, accounting=accounts, release=release)
    cluster.submit(seconds=1000, time_limit=100)
    cluster.run("sbatch -b now+1hour --wrap hostname", "alice")
    asked = "squeue -h -t pd -o %Q"
    cluster.now += 10
    before = int(cluster.text(asked))
    cluster.text("scontrol reconfigure")
    used = cluster.text("sshare -U -n -P -o rawusage", "alice")
    assert (used == "0\n", int(cluster.text(asked)) < before) == (
        (True, False) if release == "22.05" else (False, True)
    )
    cluster.now += 291  # the run after slurmctld's start would be past
    assert (cluster.text("sshare -U -n -P -o rawusage", "alice") == used) is (release != "22.05")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_a_user_who_is_there_already_is_not_added(tmp_path: Path, release: str) -> None:
    cluster = Cluster(tmp_path, accounting=ACCOUNTS, release=release)
    last = "Make sure the accounts requested here have been added to the system/cluster. (sacctmgr add account...)\n"
    newer = f"Request didn't affect anything\nNothing added.\n{last}"
    told = cluster.run("sacctmgr -i add user alice account=physics")
    assert told[:2] == (1, " Nothing new added.\n" if release == "22.05" else newer)
    if release != "22.05":
        skipped = cluster.run("sacctmgr -i add user alice account=nosuch")
        assert skipped[:2] == (1, f"No account nosuch on cluster tux, skipping.\nNothing added.\n{last}")


def test_associations_have_numbers_in_the_order_they_were_made(tmp_path: Path) -> None:
    made = ACCOUNTS + "add account science Fairshare=7\nmodify account where name=physics set parent=science\n"
    cluster = Cluster(tmp_path, accounting=made, release="26.05")
    told = cluster.text("sacctmgr show assoc -n -P format=account,user,id").splitlines()
    assert sorted(told, key=lambda row: int(row.split("|")[2])) == [
        "root||1", "root|root|2", "physics||3", "physics|alice|4", "science||5",
    ]  # fmt: skip


@pytest.mark.parametrize(("release", "marked"), [("22.05", True), ("24.11", False), ("26.05", False)])
def test_a_reconfiguration_begins_the_cycles_of_backfill_anew(tmp_path: Path, release: str, marked: bool) -> None:
    conf = CONF.replace("associations,limits,qos", "none") + "SchedulerParameters=bf_interval=7\n"
    cluster = Cluster(tmp_path, conf, release=release)

    for options in ("-w n1 -n4", "-N2 --exclusive"):
        assert cluster.run(f"sbatch {options} -t 60 --wrap 'sleep 600'", "alice")[0] == 0
    cluster.now += 30
    cluster.engine.network.advance(cluster.now)
    assert "PLANNED" in cluster.text("scontrol show node n2")
    cluster.text("scontrol reconfigure")
    assert ("PLANNED" in cluster.text("scontrol show node n2")) == marked
    for seconds, there in ((6, marked), (1, True)):  # bf_interval after the new process came up
        cluster.now += seconds
        cluster.engine.network.advance(cluster.now)
        assert ("PLANNED" in cluster.text("scontrol show node n2")) == there


SAVES = "SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=20\nSuspendTimeout=5\nResumeTimeout=60\n"


def test_the_last_busy_time_of_a_node_that_is_powered_down_is_unknown(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, f"{CONF}{SAVES}")
    assert "LastBusyTime=20" in cluster.text("scontrol show node n1")
    cluster.now += 120
    cluster.engine.network.advance(cluster.now)
    shown = cluster.text("scontrol show node n1")
    assert "State=IDLE+POWERED_DOWN" in shown and "LastBusyTime=Unknown" in shown


UNEQUAL = CONF.replace("accounting_storage/slurmdbd", "accounting_storage/none").replace("multifactor", "basic")
UNEQUAL = "".join(f"{line}\n" for line in UNEQUAL.splitlines() if "Weight" not in line and "Enforce" not in line)
UNEQUAL = UNEQUAL.replace("PartitionName=batch Nodes=ALL", "PartitionName=low Nodes=n1\nPartitionName=batch Nodes=n3")
UNEQUAL = UNEQUAL.replace("PartitionName=low", "NodeName=n3 CPUs=8 RealMemory=9000\nPartitionName=low")


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_a_job_in_two_partitions_asks_for_the_memory_of_the_first(tmp_path: Path, release: str) -> None:
    """It shows so when it runs in the other one, too; and priority/basic keeps no priority of it by partition."""
    cluster = Cluster(tmp_path, UNEQUAL, release=release)
    assert cluster.run("sbatch -n4 --wrap 'sleep 100' -p low", "alice")[0] == 0
    assert cluster.run("sbatch -n4 --wrap 'sleep 100' -p low,batch", "alice")[0] == 0
    cluster.now += 10
    shown = cluster.text("scontrol show job 2")
    assert "Partition=batch" in shown and "ReqTRES=cpu=4,mem=4000M,node=1,billing=4" in shown
    job = json.loads(cluster.text("scontrol show job 2 --json"))["jobs"][0]
    assert (job["partition"], job["priority_by_partition"]) == ("batch", [])


def test_a_node_was_busy_until_the_job_on_it_was_requeued(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, accounting=ACCOUNTS)
    assert cluster.run("sbatch -N2 --exclusive --wrap 'sleep 100'", "alice")[0] == 0
    cluster.now += 10
    before = cluster.text("scontrol show node n2")
    cluster.text("scontrol requeue 1")
    cluster.now += 5
    after = cluster.text("scontrol show node n2")
    busy = [next(word for word in text.split() if word.startswith("LastBusyTime=")) for text in (before, after)]
    assert busy[0] < busy[1]


@pytest.mark.parametrize(("release", "told"), [("24.11", ["2", "3", "1"]), ("26.05", ["2"])])
def test_jobs_that_keep_an_association_are_told_by_their_records(tmp_path: Path, release: str, told: list[str]) -> None:
    """A requeued job has a new record; 26.05 tells of one job and of its QOS."""
    cluster = Cluster(tmp_path, accounting=ACCOUNTS, release=release)
    for _ in range(3):
        assert cluster.run("sbatch -n1 --wrap 'sleep 100'", "alice")[0] == 0
    cluster.now += 10
    cluster.text("scontrol requeue 1")
    cluster.now += 5
    code, out, error = cluster.run("sacctmgr -i delete user alice account=physics", "root")
    lines = [line.split() for line in (out + error).splitlines() if "JobID" in line]
    assert code == 1 and [words[2] for words in lines] == told
    assert all(("Q" in words) == (release == "26.05") for words in lines)


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_of_a_single_node_cpus_are_told_as_they_were_when_all_nodes_were_asked_for(
    tmp_path: Path, release: str
) -> None:
    cluster = Cluster(tmp_path, accounting=ACCOUNTS, release=release)
    one = "sinfo -h -n n1 -o '%T %C'"
    assert cluster.run("sbatch -n3 --wrap 'sleep 900'", "alice")[0] == 0
    cluster.now += 10
    assert cluster.text("sinfo -h -N -n n1,n2 -o '%n %T'") == "n1 mixed\nn2 idle\n"
    assert cluster.run("sbatch -n1 --wrap 'sleep 900'", "alice")[0] == 0
    cluster.now += 10
    assert cluster.text(one) == "mixed 3/1/0/4\n"
    assert cluster.text("sinfo -h -o '%T'") == "allocated\nidle\n"
    assert cluster.text(one) == "allocated 4/0/0/4\n"
    cluster.text("scancel 2", "alice")
    cluster.now += 60
    assert cluster.text(one) == "allocated 4/0/0/4\n"
    cluster.text("scontrol -d show job 1")  # 22.05 loads nodes for the threads of the job's cores
    assert cluster.text(one) == ("mixed 3/1/0/4\n" if release == "22.05" else "allocated 4/0/0/4\n")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_of_a_node_that_is_off_nothing_is_known_once_slurm_conf_is_read_again(tmp_path: Path, release: str) -> None:
    power = "SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=40\nSuspendTimeout=5\nResumeTimeout=60\n"
    conf = power + CONF
    cluster = Cluster(tmp_path, conf=conf, release=release)
    cluster.text("scontrol update nodename=n2 state=power_up")
    cluster.now += 100
    cluster.text("scontrol update nodename=n2 state=power_down_force")
    cluster.now += 30
    shown = "scontrol -o show node n2"
    assert f" Version={cluster.engine.version} " in cluster.text(shown)
    cluster.text("scontrol reconfigure")
    text = cluster.text(shown)
    assert "POWERED_DOWN" in text and "Version=" not in text and " FreeMem=N/A " in text
    assert ("Arch=" in text) == (" OS=" in text) == (release == "22.05")
    assert ("BootTime=None SlurmdStartTime=None" in text) == (release != "22.05")
    cluster.text("scontrol update nodename=n2 state=power_up")
    cluster.now += 100
    assert f" Version={cluster.engine.version} OS=" in cluster.text(shown).replace("  ", " ")
