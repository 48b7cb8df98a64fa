"""What newer releases answer otherwise, command by command; each row failed before its rule was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_client import Cluster

from slurmsim.commands.submit.options import layout_values
from slurmsim.commands.text.plugin_lines import plugin_lines
from slurmsim.commands.text.values import BadValue, Context
from slurmsim.releases import RECORDED_RELEASES

CONF = """\
ClusterName=tux
NodeName=n[1-4] CPUs=4 RealMemory=8000
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=60
PartitionName=big Nodes=n[1-4] MinNodes=2
"""


def cluster_of(release: str, folder: Path) -> Cluster:
    made = Cluster(folder, CONF, release=release)
    made.submit("alice", num_tasks=1)
    made.now += 10
    return made


def answers(command: str, folder: Path, user: str = "root", before: str = "") -> list[str]:
    """What each release prints, output before errors; `before` is one command, or several with `&&` between them."""
    found = []
    for release in RECORDED_RELEASES:
        place = folder / release
        place.mkdir()
        cluster = cluster_of(release, place)
        for one in before.split(" && ") if before else ():
            assert cluster.run(one)[0] == 0
        _, out, error = cluster.run(command, user)
        found.append(out + error)
    return found


_RESERVE = "scontrol create reservation reservationname=r starttime=now+60 duration=10 users=bob nodes=n[2-3]"
_NOTE = "Note, unless nodes are directly requested"
_SIGNS = "scontrol: error: The +=/-= notation is not supported when updating nodes.  No reservation update.\n"
_DENIED = "Invalid user id for job 1\n"


def test_only_a_reservation_without_nodes_is_told_of_partitions(tmp_path: Path) -> None:
    found = answers(_RESERVE.replace("now+60", "now").replace("n[2-3]", "n[1-4]"), tmp_path)
    assert [_NOTE in text for text in found] == [True, False, False]
    assert all("Error creating the reservation: Requested nodes are busy" in text for text in found)


def test_a_refused_update_of_a_reservation_is_told_once(tmp_path: Path) -> None:
    found = answers("scontrol update reservationname=none duration=5", tmp_path)
    last = "slurm_update error: Requested reservation is invalid\n"
    assert found == ["Error updating the reservation: Requested reservation is invalid\n" + last, last, last]


@pytest.mark.parametrize(("change", "left"), [("+=n4", "n[2-4]"), ("-=n3", "n2"), ("-=n[2-3],n4", "")])
def test_nodes_are_added_to_reservations_and_taken_away(change: str, left: str, tmp_path: Path) -> None:
    command = f"scontrol update reservationname=r nodes{change}"
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        cluster = cluster_of(release, place)
        assert cluster.run(_RESERVE)[0] == 0
        _, _, error = cluster.run(command)
        if release == RECORDED_RELEASES[0]:
            assert _SIGNS in error
        elif left:
            assert f"Nodes={left} " in cluster.text("scontrol show reservation r")


def test_who_asks_is_looked_at_before_the_job(tmp_path: Path) -> None:
    found = answers("scontrol update jobid=1 comment=x", tmp_path, user="bob", before="scancel 1")
    assert found == ["Job has already finished for job 1\n", _DENIED, _DENIED]


def test_memory_of_a_running_job_needs_an_extern_step(tmp_path: Path) -> None:
    found = answers("scontrol update jobid=1 minmemorynode=50", tmp_path)
    waits = "Job is no longer pending execution for job 1\n"
    assert found == [waits, waits, "Requested operation requires extern step for job 1\n"]


def test_one_more_line_of_verbose_squeue(tmp_path: Path) -> None:
    found = answers("squeue -v", tmp_path)
    assert ["nodes       = \nonly_job_state = false\npartitions" in text for text in found] == [False, True, True]


def test_one_more_line_of_verbose_sinfo(tmp_path: Path) -> None:
    found = answers("sinfo -v", tmp_path)
    assert ["\nresv_name_flag   = false\nroot_flag" in text for text in found] == [False, True, True]


_FEW = "sbatch: error: Batch job submission failed: Task count specification invalid\n"


@pytest.mark.parametrize(
    ("options", "refused"), [("-p big -n 1", True), ("-p big", False), ("-p big -n 2", False), ("-n 1", False)]
)
def test_tasks_must_do_for_the_nodes_of_a_partition(options: str, refused: bool, tmp_path: Path) -> None:
    found = answers(f"sbatch {options} --wrap true", tmp_path, "alice")
    taken = "Submitted batch job 2\n"
    assert found == [taken, taken, _FEW if refused else taken]


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ("-H", ("1", "1-1", "1-1")), ("-H -n 6", ("2", "2-2", "2-6")), ("-H -n 1", ("1", "1-1", "1-1")),
        ("-H -N 2", ("2-2", "2-2", "2-2")), ("-H -c 2", ("1", "1", "1")), ("-b now+60", ("1", "1", "1")),
        ("-b now+60 -n 6", ("2", "2", "2-6")), ("-b now+60 --ntasks-per-node=2", ("1", "1", "1-1")),
    ],
)  # fmt: skip
def test_most_nodes_of_waiting_jobs(options: str, counts: tuple[str, ...], tmp_path: Path) -> None:
    before = f"sbatch {options} --wrap true"
    found = answers("scontrol show job 2", tmp_path, before=before)
    assert tuple(text.partition("NumNodes=")[2].split()[0] for text in found) == counts


@pytest.mark.parametrize("options", ["", "-a 1-3", "-b now+60", "-d afterok:1"])
def test_nodes_by_name_that_are_reserved_for_others(options: str, tmp_path: Path) -> None:
    before = f"{_RESERVE} && sbatch -w n[3-4] {options} --wrap true"
    found = answers("scontrol show job 2", tmp_path, before=before)[1:]  # 22.05 keeps only cores from others
    assert all("Reason=ReqNodeNotAvail,_May_be_reserved_for_other_job " in text for text in found)
    assert [text.partition("NumNodes=")[2].split()[0] for text in found] == ["2-2", "2-2"]


@pytest.mark.parametrize(("options", "before"), [("-d afterok:1", "Dependency"), ("-b now+60", "BeginTime")])
def test_reserved_nodes_are_said_until_a_pass_looks(options: str, before: str, tmp_path: Path) -> None:
    cluster = cluster_of("26.05", tmp_path)
    cluster.run(_RESERVE)
    cluster.run("sbatch -N 4 --wrap true")
    cluster.run(f"sbatch -N 3 {options} --wrap true")
    told = cluster.text("squeue -h -j 3 -o %r")
    cluster.now += 5
    lacking = "ReqNodeNotAvail, May be reserved for other job\n"
    assert (told, cluster.text("squeue -h -j 3 -o %r")) == (lacking, f"{before}\n")


def test_of_several_partitions_each_is_looked_at_for_its_own_time(tmp_path: Path) -> None:
    """Where nodes are reserved before it would end the look ends; the partitions after it are not asked."""
    reserve = _RESERVE.replace("now+60", "now+4000").replace("n[2-3]", "n[1-4]")
    lacking = "ReqNodeNotAvail, May be reserved for other job\n"
    for names, reason in (("big,main", lacking), ("main,big", "None\n")):
        (place := tmp_path / names).mkdir()
        found = answers("squeue -h -j 2 -o %r", place, before=f"{reserve} && sbatch -p {names} -N 2 --wrap true")
        assert found == [reason] * 3


def test_nodes_follow_from_the_tasks_of_a_node(tmp_path: Path) -> None:
    before = "sbatch -H -n 7 --ntasks-per-node=3 --wrap true"
    found = answers("scontrol show job 2", tmp_path, before=before)
    assert ["".join(re.findall(r",node=(\d+)", text)) for text in found] == ["1", "3", "3"]


def test_most_nodes_after_an_update(tmp_path: Path) -> None:
    before = "sbatch --wrap true && scontrol update jobid=2 numcpus=2"
    found = answers("scontrol show job 2", tmp_path, before=before)
    assert [text.partition("NumNodes=")[2].split()[0] for text in found] == ["1", "1-1", "1-1"]


def test_one_cpu_a_task_is_told_where_asked_for(tmp_path: Path) -> None:
    found = answers("scontrol show job 2", tmp_path, before="sbatch -c 1 -H --wrap true")
    assert ["TresPerTask=cpu=1" in text for text in found] == [False, True, True]


def test_squeue_tells_cpus_of_a_task_as_tres(tmp_path: Path) -> None:
    found = answers("squeue -h -j 2 -O tres-per-task", tmp_path, before="sbatch -c 2 -H --wrap true")
    assert [text.strip() for text in found] == ["N/A", "cpu=2", "cpu=2"]


def test_a_priority_is_set_by_operators(tmp_path: Path) -> None:
    cluster = cluster_of(RECORDED_RELEASES[0], tmp_path)
    for user, heard in (("alice", False), ("root", True)):
        cluster.text("sbatch -N 4 --exclusive --priority=77 --wrap true", user)
        assert (cluster.text(f"squeue -h -u {user} -t pd -o %Q").strip() == "77") == heard


def test_nodes_get_an_address_each(tmp_path: Path) -> None:
    cluster = cluster_of(RECORDED_RELEASES[0], tmp_path)
    for field in ("nodeaddr", "nodehostname"):
        for value, code in (("localhost", 1), ("h[1-2]", 0)):
            assert cluster.run(f"scontrol update nodename=n[2-3] {field}={value}")[0] == code


def test_plugins_sinfo_loads() -> None:
    assert [len(plugin_lines(None, release, nodes=True)) for release in RECORDED_RELEASES] == [4, 2, 0]
    assert [len(plugin_lines(None, release)) for release in RECORDED_RELEASES] == [4, 0, 0]


@pytest.mark.parametrize(
    ("text", "governor"),
    [("high", "UserSpace"), ("high:userspace", "UserSpace"), ("performance", "Performance"), ("low-high", None)],
)
def test_one_frequency_is_for_userspace(text: str, governor: str | None) -> None:
    asked = Context("sbatch", "24.11")
    if governor is None:
        with pytest.raises(BadValue):
            layout_values.frequency(text, "--cpu-freq", asked)
    else:
        assert layout_values.frequency(text, "--cpu-freq", asked)["cpu_freq_gov"] == governor


def test_nodes_in_use_are_planned_too(tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        cluster = Cluster(place, CONF + "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n", release=release)
        cluster.submit("alice", seconds=600, num_tasks=1)
        cluster.text("sbatch -N 4 --exclusive --wrap true", "alice")
        cluster.now += 120
        found.append(cluster.text("sinfo -h -N -S N,P -p main -o '%N %T'").splitlines()[:2])
    assert found == [["n1 mixed", "n2 planned"], ["n1 mixed-", "n2 planned"], ["n1 mixed-", "n2 planned"]]


@pytest.mark.parametrize("command", ["hold", "uhold", "release"])
def test_who_holds_is_looked_at_before_the_job(command: str, tmp_path: Path) -> None:
    found = [text.splitlines()[0] for text in answers(f"scontrol {command} 1", tmp_path, "bob", before="scancel 1")]
    assert found == ["Job has already finished for job 1", _DENIED.strip(), _DENIED.strip()]


def test_tasks_that_could_be_updated_are_not_named(tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        cluster = cluster_of(release, place)
        cluster.text("sbatch -a 1-6 -N 1 --wrap 'sleep 500'", "alice")
        cluster.now += 10
        found.append(cluster.run("scontrol update jobid=2 starttime=now+60")[2].splitlines())
    assert [len(lines) for lines in found] == [2, 1, 1] and found[0][1] == "2_4-6: No error"


@pytest.mark.parametrize("job", ["1", "2_3"])
def test_throttles_are_of_whole_arrays(job: str, tmp_path: Path) -> None:
    before = "sbatch -a 1-6 --wrap 'sleep 500'"
    found = answers(f"scontrol update jobid={job} arraytaskthrottle=1", tmp_path, before=before)
    note, error = (
        "Update of ArrayTaskThrottle is only allowed on ArrayJobId",
        "Requested operation not supported on this system",
    )
    if job == "1":
        assert found == ["", *[f"scontrol: error: {note}\n{error} for job 1\n"] * 2]
    else:
        assert found == ["", f"2_3: {error} ({note})\n", f"2_[3]: {error} ({note})\n"]


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ("--ntasks-per-node=2", ("2", "2", "2")), ("--ntasks-per-node=2 -N 2", ("4", "4", "4")),
        ("--ntasks-per-node=2 -n 1", ("1", "1", "1")),
    ],
)  # fmt: skip
def test_cpus_for_the_tasks_of_a_node(options: str, counts: tuple[str, ...], tmp_path: Path) -> None:
    found = answers("scontrol show job 2", tmp_path, before=f"sbatch -H {options} --wrap true")
    assert tuple(text.partition("NumCPUs=")[2].split()[0] for text in found) == counts


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("-t 8 --deadline=now+5minutes", True), ("-t 8 --deadline=now+8minutes", False),
        ("-t 8 --time-min=2 --deadline=now+5minutes", False), ("-p short --deadline=now+5minutes", True),
        ("--deadline=now+5minutes", False), ("-t 3 --begin=now+4minutes --deadline=now+5minutes", True),
    ],
)  # fmt: skip
def test_a_deadline_leaves_time_for_the_limit(options: str, refused: bool, tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        conf = CONF + "PartitionName=short Nodes=n[1-4] DefaultTime=10 MaxTime=20\n"
        found.append(Cluster(place, conf, release=release).run(f"sbatch {options} --wrap true", "alice")[0])
    assert found == [0, int(refused), int(refused)]


_TO_SUSPEND = "scontrol suspend 1"


def test_owners_suspend_their_jobs(tmp_path: Path) -> None:
    denied = "Access/permission denied for job 1\n"
    assert answers(_TO_SUSPEND, tmp_path, "alice") == [denied, denied, ""]


@pytest.mark.parametrize("job", ["1", "2", "2_3"])
def test_others_are_denied_whatever_the_state(job: str, tmp_path: Path) -> None:
    found = answers(f"scontrol resume {job}", tmp_path, "bob", before="sbatch -a 1-2 -b now+60 --wrap true")
    assert found[2] == f"Access/permission denied for job {job}\n"


def test_no_heading_without_processes(tmp_path: Path) -> None:
    found = answers("scontrol listpids 99", tmp_path)
    assert ["LOCALID" in text for text in found] == [True, False, False]


def test_a_word_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    found = answers("scontrol update reservationname=r flags+=nosuch", tmp_path)
    assert ["slurm_update error: No error" in text for text in found] == [True, False, False]


def test_power_without_programs(tmp_path: Path) -> None:
    found = answers("scontrol update nodename=n3 state=power_up", tmp_path)
    node = "slurm_update error: Invalid node state specified\n"
    assert found == [node, node, "slurm_update error: Invalid power action\n"]


@pytest.mark.parametrize(("options", "names"), [("", ("main,main", "main", "main")), ("-H ", ("main,main",) * 3)])
def test_partitions_are_named_once(options: str, names: tuple[str, ...], tmp_path: Path) -> None:
    found = answers("squeue -h -j 2 -O partition", tmp_path, before=f"sbatch {options}-N 4 -p main,main --wrap true")
    assert tuple(text.strip() for text in found) == names


def test_idle_clears_flags_but_not_the_reason(tmp_path: Path) -> None:
    cluster = cluster_of(RECORDED_RELEASES[0], tmp_path)
    cluster.text("scontrol update nodename=n4 state=fail reason=broken")
    cluster.text("scontrol update nodename=n4 state=idle")
    assert cluster.text("sinfo -h -N -n n4 -p main -o '%T %E'") == "idle broken\n"


def test_partitions_that_take_no_jobs_are_left_out_of_lists(tmp_path: Path) -> None:
    cluster = cluster_of(RECORDED_RELEASES[0], tmp_path)
    cluster.text("scontrol update partitionname=main state=drain")
    assert cluster.text("sbatch -H -p main,big --wrap true", "alice") == "Submitted batch job 2\n"
    assert cluster.text("squeue -h -j 2 -O partition").strip() == "big"
    cluster.text("scontrol update partitionname=big state=inactive")
    assert "inactive or drain" in cluster.run("sbatch -p main,big --wrap true", "alice")[2]


def test_without_accounting_the_qos_asked_for_is_told(tmp_path: Path) -> None:
    found = answers("squeue -h -j 2 -O qos", tmp_path, before="sbatch -H -q high --wrap true")
    assert [text.strip() for text in found] == ["(null)", "high", "high"]


@pytest.mark.parametrize("options", ["", "-a 1-3 "])
def test_a_partition_that_is_down_is_told_at_once(options: str, tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        cluster = cluster_of(release, place)
        cluster.text("scontrol update partitionname=main state=down")
        cluster.text(f"sbatch {options}--wrap true", "alice")
        found.append(cluster.text("squeue -h -j 2 -o %r").strip())
    assert found == ["PartitionDown"] * 3


@pytest.mark.parametrize(
    ("options", "nodes"),
    [
        ("", "n[1,8,11]"), ("-n 1", "n1"), ("-n 4", "n[1-4,8,11]"), ("-n 2 -c 2", "n[1-2,8,11]"), ("-N 1", "n1"),
        ("-N 2", "n[1-2,8,11]"), ("-N 1-4", "n[1-4,8,11]"), ("-n 4 -N 2-3", "n[1-3,8,11]"), ("-n 12", "n[1-12]"),
    ],
)  # fmt: skip
def test_spread_jobs_take_nodes_of_every_weight(options: str, nodes: str, tmp_path: Path) -> None:
    """As a real slurmctld did, of nodes of three weights."""
    conf = """ClusterName=tux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-7] CPUs=8
NodeName=n[8-10] CPUs=8 Weight=10
NodeName=n[11-12] CPUs=8 Weight=20
PartitionName=main Nodes=n[1-12] Default=YES MaxTime=60
"""
    cluster = Cluster(tmp_path, conf, release="26.05")
    cluster.text(f"sbatch --spread-job {options} --wrap 'sleep 50'", "alice")
    cluster.now += 10
    assert cluster.text("squeue -h -j 1 -o %N").strip() == nodes


def test_a_partitions_qos_is_asked_for_without_accounting(tmp_path: Path) -> None:
    found = answers("scontrol update partitionname=main qos=high", tmp_path)
    assert found == ["", "", "slurm_update error: Invalid qos specification\n"]


def test_whom_a_reservation_may_be_for(tmp_path: Path) -> None:
    found = answers("scontrol create reservation reservationname=r starttime=now duration=10 nodes=n1", tmp_path)
    old = "scontrol: error: Either Users/Groups and/or Accounts must be specified.  No reservation created.\n"
    assert found == [old, old, old.replace("Groups", "Groups, AllowedPartitions, QOS")]


def test_a_partition_named_twice_is_told_once_where_nodes_were_looked_for(tmp_path: Path) -> None:
    before = "sbatch -p main,main -b now+60 --wrap true"
    assert answers("squeue -h -o %P -j 2", tmp_path, before=before) == ["main,main\n", "main\n", "main\n"]


def test_partitions_of_waiting_jobs_stay_in_order(tmp_path: Path) -> None:
    before = "sbatch -p main,big -t 90 -N 2 --wrap true"
    found = answers("scontrol -o show job 2", tmp_path, before=before)
    names = [text.partition(" Partition=")[2].split()[0] for text in found]
    assert names == ["main,big", "main,big", "main,big"]


def test_sprio_tells_sluids(tmp_path: Path) -> None:
    cluster = cluster_of("26.05", tmp_path)
    cluster.submit("alice", num_tasks=16)
    cluster.submit("alice", num_tasks=16)
    cluster.now += 10
    found = cluster.text("sprio -h -o %s").split()
    told = dict(line.split() for line in cluster.text("squeue -h -O jobid,sluid").splitlines())
    assert found and all(one in told.values() for one in found)


def test_of_a_partition_that_takes_no_jobs_unknown_features_are_told_first(tmp_path: Path) -> None:
    found = answers("sbatch -C nosuch --wrap true", tmp_path, before="scontrol update partitionname=main state=drain")
    closed, unknown = "Required partition not available (inactive or drain)\n", "Invalid feature specification\n"
    assert [text.rpartition("failed: ")[2] for text in found] == [closed, unknown, unknown]


def test_why_reserved_cores_stay(tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        cluster = Cluster(place, "SelectType=select/cons_tres\n" + CONF, release=release)
        assert cluster.run(f"{_RESERVE.partition(' nodes')[0]} corecnt=2 partition=main")[0] == 0
        found.append(cluster.run("scontrol update reservationname=r nodes=n2")[2])
    why = "scontrol: error: Updating core/node TRES not supported for core-based reservations\n"
    assert [text.startswith(why) for text in found] == [False, True, True]
    assert all(text.endswith("slurm_update error: Core-based reservation can not be updated\n") for text in found)


def test_reserved_cores_of_a_node_with_sockets(tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        conf = CONF.replace("CPUs=4", "Sockets=2 CoresPerSocket=4")
        cluster = Cluster(place, "SelectType=select/cons_tres\n" + conf, release=release)
        cluster.submit("alice", num_tasks=1, time_limit=2)  # has core 0 of n1, and is gone by then
        cluster.now += 10
        for node in ("n1", "n2"):
            made = f"{_RESERVE.replace('reservationname=r', f'reservationname={node}').replace('now+60', 'now+600')}"
            assert cluster.run(f"{made.partition(' nodes')[0]} nodes={node} corecnt=3")[0] == 0
        cluster.now += 90
        shown = [cluster.text(f"scontrol show reservation {node}") for node in ("n1", "n2")]
        found.append([text.partition("CoreIDs=")[2].split()[0] for text in shown])
    assert found == [["0-2", "0-2"], ["1-2,4", "0-1,4"], ["0-1,4", "0-1,4"]]


def test_slurmctld_does_not_tell_who_may_cancel_what_is_over(tmp_path: Path) -> None:
    assert answers("scancel --ctld 1", tmp_path, "bob", before="scancel 1")[1:] == ["", ""]


def test_the_limit_of_a_task_named_by_its_own_id(tmp_path: Path) -> None:
    found = []
    for release in RECORDED_RELEASES:
        place = tmp_path / release
        place.mkdir()
        cluster = cluster_of(release, place)
        cluster.submit("alice", array_inx="0-1", num_tasks=1, time_limit=10)
        cluster.now += 10
        cluster.run("scontrol update jobid=3 timelimit=+5")
        found.append(cluster.text("scontrol show job 3").partition("TimeLimit=")[2].split()[0])
    assert found == ["00:10:00", "00:15:00", "00:15:00"]


def test_where_the_last_job_of_a_name_fails_in_nothing_no_text_is_told(tmp_path: Path) -> None:
    before = "scancel 1 && sbatch -J j --wrap true"
    found = answers("scontrol hold jobname=j", tmp_path, before=before)
    assert [text.splitlines()[-1] for text in found] == ["slurm_suspend error: No error"] * 2 + ["slurm_suspend error"]


def test_a_range_of_nodes_that_runs_backwards(tmp_path: Path) -> None:
    found = answers("scontrol update jobid=2 numnodes=4-2", tmp_path, before="sbatch -H --wrap true")
    told = "scontrol: error: Maximum node count 2 is less than minimum node count 4\n"
    assert found[1:] == [told, told] and told not in found[0]
