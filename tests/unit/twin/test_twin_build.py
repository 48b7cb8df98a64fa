"""Twins of a small dump: what they are, what of a dump may be missing, and how wrong ones are refused."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest
import small_dump as small

from slurmsim.cli import main
from slurmsim.core.records.job import UNSPLIT
from slurmsim.errors import SlurmSimError, WorkloadError
from slurmsim.live.cluster import Cluster
from slurmsim.live.settings import Settings
from slurmsim.states import JobState
from slurmsim.twin.build import build
from slurmsim.twin.collect import QUESTIONS, script
from slurmsim.twin.dump import read_dump
from slurmsim.twin.folder import write
from slurmsim.twin.twin import Twin


def twin_of(folder: Path, **changed: str | None) -> Twin:
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    return build(read_dump(small.write(folder / "dump", **changed)), scratch)


def found(twin: Twin) -> list[str]:
    return [one.text for one in twin.findings.all()]


def states(twin: Twin) -> dict[int, tuple[str, str, int]]:
    return {live.id: (live.core.state, live.core.reason, live.core.priority) for live in twin.engine.jobs.values()}


def test_the_small_dump_is_taken_whole(tmp_path: Path) -> None:
    twin = twin_of(tmp_path)
    assert states(twin) == {
        1: (JobState.RUNNING, "None", 999), 2: (JobState.PENDING, "Resources", 998),
        3: (JobState.PENDING, "Priority", 997), 4: (JobState.PENDING, "JobHeldUser", 0),
    }  # fmt: skip
    assert twin.engine.release == "24.11"
    assert twin.now == twin.engine.now == small.NOW
    assert found(twin) == ["no accounting data: no fair share, no limits of accounts, users and QOS"]


def test_a_node_is_drained_as_it_was_and_says_why(tmp_path: Path) -> None:
    twin = twin_of(tmp_path)
    assert twin.engine.node_reasons.of(1)[0] == "bad disk"
    assert not twin.engine.controller.state.table.up >> 1 & 1


def test_the_first_waiting_job_starts_when_the_running_one_ends_by_its_limit(tmp_path: Path) -> None:
    twin = twin_of(tmp_path)
    ends = small.NOW + 52 * 60 - 20 + 1
    twin.engine.network.advance(ends - 60)
    assert states(twin)[2][0] == JobState.PENDING
    twin.engine.network.advance(ends + 120)
    assert states(twin)[2][0] == JobState.RUNNING
    assert states(twin)[4][0] == JobState.PENDING


def test_its_folder_is_that_of_an_ordinary_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "state"
    assert main(["twin", "load", str(small.write(tmp_path / "dump")), "--state", str(folder)]) == 0
    assert "2 nodes, 1 running job, 3 waiting records" in capsys.readouterr().out
    with Cluster(Settings(), folder) as cluster:
        queue = cluster.run("squeue -h -o '%i %T %r %N'").stdout.splitlines()
        assert sorted(queue) == ["1 RUNNING None a1", "2 PENDING Resources ", "3 PENDING Priority ",
                                 "4 PENDING JobHeldUser "]  # fmt: skip
        with cluster.fork() as copy:
            copy.step("80m")
            assert copy.job(2).state == "RUNNING"
        assert cluster.job(2).state == "PENDING"
    assert main(["twin", "load", str(tmp_path / "dump"), "--state", str(folder)]) == 2


def test_a_tar_is_a_dump_too(tmp_path: Path) -> None:
    folder = small.write(tmp_path / "dump")
    with tarfile.open(tmp_path / "dump.tar.gz", "w:gz") as tar:
        tar.add(folder, "somewhere/dump")
    assert read_dump(tmp_path / "dump.tar.gz").texts == read_dump(folder).texts


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"about": None}, "no version is told"),
        ({"config": None}, "no config.txt and no slurm.conf"),
        ({"partition": None}, "no partition.txt"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, changed: dict[str, None], said: str) -> None:
    changed = {**changed, **({"node": small.NODES.replace(" Version=24.11.5", "")} if "about" in changed else {})}
    twin = twin_of(tmp_path, **changed)
    assert any(text.startswith(said) for text in found(twin)), found(twin)
    assert len(twin.engine.jobs) == 4


def test_two_jobs_on_the_same_cores_are_told(tmp_path: Path) -> None:
    twice = small.RUNNING.replace("JobId=1 ", "JobId=9 ")
    twin = twin_of(tmp_path, job=small.JOBS + twice)
    assert "runs on nodes that other jobs of the dump have: 9" in found(twin)


def test_a_job_that_our_rules_refuse_is_told(tmp_path: Path) -> None:
    twin = twin_of(tmp_path, job=small.JOBS + small.job(9, Partition="nowhere"))
    assert "left out, our rules refuse it (Invalid partition name specified): 9" in found(twin)


WRONG = [
    ("job", "JobId=2 ", "JobId=two ", "job.txt:35: JobId: 'two' is no number (expected a whole number)"),
    ("job", "JobId=2 ", "JobId=99999999 ", "job.txt:35: JobId: '99999999' is no job id (expected 1 to 67043328)"),
    ("job", "Priority=998", "Priority=" + "9" * 5000, "job.txt:35: Priority: '9999"),
    ("job", "TimeLimit=01:00:00", "TimeLimit=soon", "job.txt:1: TimeLimit: 'soon' is not a time"),
    ("job", "SubmitTime=2026-01-05T08:05:00", "SubmitTime=then", "job.txt:35: SubmitTime: 'then' is no time"),
    ("job", "JobState=RUNNING", "JobState=LAZY", "job.txt:1: JobState: 'LAZY' is no state"),
    ("job", "NodeList=a1", "NodeList=(null)", "job.txt:1: NodeList: a RUNNING job without nodes or start"),
    ("job", "JobId=1 ", "JbId=1 ", "job.txt:1: 'JbId=1 JobName=j1' begins no record (expected JobId=)"),
    ("node", "NodeName=a2", "NodeName=a1", "node.txt:11: NodeName: 'a1' comes twice"),
    ("node", "NodeName=a1", "NodeName=a[1-99999999]", "a[1-99999999]"),
    ("partition", "MaxTime=1-00:00:00", "MaxTime=never", "MaxTime"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), WRONG)
def test_a_wrong_dump_is_refused_in_one_line(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    text = small.FILES[f"{file}.txt"]
    assert old in text
    with pytest.raises(SlurmSimError) as caught:
        twin_of(tmp_path, **{file: text.replace(old, new)})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dump_without_jobs_or_nodes_is_none(tmp_path: Path) -> None:
    with pytest.raises(SlurmSimError, match="has no jobs"):
        twin_of(tmp_path / "a", job="")
    with pytest.raises(SlurmSimError, match="has no nodes"):
        twin_of(tmp_path / "b", node="")
    (tmp_path / "file").write_bytes(b"\x00" * 100)
    with pytest.raises(SlurmSimError, match="is no dump"):
        read_dump(tmp_path / "file")


def test_run_times_that_are_known_hold(tmp_path: Path) -> None:
    times = tmp_path / "times.csv"
    times.write_text("job,seconds,exit\n1,600\n2,30,3\n", "utf-8")
    folder = tmp_path / "state"
    dump = small.write(tmp_path / "dump")
    assert main(["twin", "load", str(dump), "--state", str(folder), "--run-times", str(times)]) == 0
    with Cluster(Settings(), folder) as cluster:
        cluster.step("10m")
        assert (cluster.job(1).state, cluster.job(2).state) == ("COMPLETED", "FAILED")
    times.write_text("1,soon\n2,x\n", "utf-8")
    assert main(["twin", "load", str(dump), "--state", str(tmp_path / "b"), "--run-times", str(times)]) == 2


def test_the_script_asks_only_what_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["twin", "collect", "--print", "--days", "7"]) == 0
    printed = capsys.readouterr().out
    assert printed == script(7)
    assert "-S now-7days" in printed
    for question in QUESTIONS:
        words = question.command.split()
        assert words[0] in ("scontrol", "sacctmgr", "sacct", "sshare", "sprio", "squeue", "sdiag")
        assert "show" in words or words[0] not in ("scontrol", "sacctmgr")


JOB = {
    "job_id": 7, "job_state": ["PENDING"], "name": "x", "user_name": "ann", "user_id": 3001, "group_name": "ann",
    "group_id": 3001, "partition": "main", "submit_time": {"set": True, "infinite": False, "number": small.NOW - 60},
    "time_limit": {"set": True, "infinite": True, "number": 0}, "cpus": {"set": True, "infinite": False, "number": 2},
    "state_reason": "Priority", "priority": {"set": True, "infinite": False, "number": 5},
}  # fmt: skip


def test_a_document_takes_the_place_of_the_text(tmp_path: Path) -> None:
    folder = small.write(tmp_path / "dump", job=None)
    (folder / "job.json").write_text(json.dumps({"jobs": [JOB]}), "utf-8")
    (tmp_path / "scratch").mkdir()
    twin = build(read_dump(folder), tmp_path / "scratch")
    assert states(twin) == {7: (JobState.PENDING, "Priority", 5)}
    assert twin.jobs[0].limit_min == -1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("[" * 100_000, "job.json: is no JSON: nested too deeply"),
        ("{}", "job.json: jobs: has no list of jobs (expected the output of squeue --json)"),
        ('{"jobs": [1]}', "job.json:1: jobs: is no job (expected an object a job)"),
        (json.dumps({"jobs": [JOB | {"job_id": -4}]}), "job.json:1: JobId: '-4' is no number"),
        (json.dumps({"jobs": [JOB | {"job_state": ["LAZY"]}]}), "job.json:1: JobState: 'LAZY' is no state"),
        (json.dumps({"jobs": [JOB | {"submit_time": "9" * 5000}]}), "job.json:1: SubmitTime: is missing"),
        (json.dumps({"jobs": [JOB | {"submit_time": 10**30}]}), "job.json:1: SubmitTime: "),
    ],
)
def test_a_wrong_document_is_refused_in_one_line(tmp_path: Path, document: str, said: str) -> None:
    folder = small.write(tmp_path / "dump", job=None)
    (folder / "job.json").write_text(document, "utf-8")
    with pytest.raises(SlurmSimError) as caught:
        build(read_dump(folder), tmp_path)
    assert said in str(caught.value)


def test_plugins_of_the_site_and_heterogeneous_jobs_are_told(tmp_path: Path) -> None:
    config = small.CONFIG + "JobSubmitPlugins        = lua\n"
    job = small.job(9, ArrayJobId="HetJobId=9 HetJobOffset=0")
    twin = twin_of(tmp_path, config=config, job=small.JOBS + job)
    assert "JobSubmitPlugins=lua: what it does to jobs that come later cannot be known" in found(twin)
    assert "a component of a heterogeneous job is a job of its own here: 9" in found(twin)


def test_shares_stand_in_for_associations(tmp_path: Path) -> None:
    folder = small.write(tmp_path / "dump", job=small.JOBS.replace("Account=(null)", "Account=lab"))
    (folder / "sshare.txt").write_text(
        "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare\nroot|||0|500||1|\n"
        " lab||10|1|500|1|1|\n  lab|ann|7|1|500|1|1|0.5\n", "utf-8",
    )  # fmt: skip
    (tmp_path / "scratch").mkdir()
    twin = build(read_dump(folder), tmp_path / "scratch")
    assert "no assoc.txt: accounts and shares are those of sshare, without any limit" in found(twin)
    assert all(live.core.account == "lab" for live in twin.engine.jobs.values())


def test_the_clock_of_the_controller_counts(tmp_path: Path) -> None:
    later = small.NOW + 86_400
    sdiag = f"sdiag output at Tue Jan 06 08:10:00 2026 ({later})\n"
    twin = twin_of(tmp_path, sdiag=sdiag)
    assert twin.now == later
    sdiag = sdiag.replace(str(later), "9" * 17)
    with pytest.raises(SlurmSimError, match="is no time of our days"):
        twin_of(tmp_path / "other", sdiag=sdiag)


def test_what_a_tar_holds_besides_is_not_unpacked(tmp_path: Path) -> None:
    """A member that nothing reads would have to be unpacked to be passed over."""
    entry = tarfile.TarInfo("dump/other")
    entry.size = 1 << 40
    (tmp_path / "dump.tar").write_bytes(entry.tobuf())
    with pytest.raises(WorkloadError, match="more than"):
        read_dump(tmp_path / "dump.tar")


def test_tasks_share_the_record_of_their_array_where_they_do_in_the_dump(tmp_path: Path) -> None:
    array = small.job(5, ArrayJobId="ArrayJobId=5 ArrayTaskId=1-4%2", Nice="-5", Priority="2000")
    twin = twin_of(tmp_path, job=small.RUNNING + array)
    tasks = [live.core for live in twin.engine.jobs.values() if live.array is not None]
    assert sorted(core.rank - UNSPLIT for core in tasks) == [1, 2, 3, 4]
    twin.engine.network.advance(twin.now + 7200)
    assert sorted(core.sub.array_task_id for core in tasks if core.start_time is not None)[:2] == [1, 2]


ASKED = {
    "threads": {"ReqB:S:C:T": "0:0:*:1"},
    "kills": {"KillOnInvalidDependent": "Yes", "Dependency": "afterok:1(unfulfilled)", "Reason": "Dependency"},
    "cpus of a task": {"NumTasks": "1", "NumCPUs": "1", "CPUs/Task": "1", "TresPerTask": "cpu=1"},
    "cancelled": {
        "JobState": "CANCELLED", "Reason": "Dependency", "Dependency": "afterok:1(unfulfilled)",
        "EndTime": "2026-01-05T08:06:00", "StartTime": "2026-01-05T08:06:00",
    },
    "interactive": {"BatchFlag": "0"},
    "requeued": {"Restarts": "1", "AllocTRES": "cpu=2,node=1,billing=2"},
}  # fmt: skip


@pytest.mark.parametrize("fields", ASKED.values(), ids=ASKED)
def test_what_a_job_asked_for_is_shown_again(fields: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    write(twin_of(tmp_path, job=small.RUNNING + small.job(2, **fields)), folder)
    with Cluster(Settings(), folder) as cluster:
        text = cluster.run("scontrol show job 2").stdout
    misspelt = "KillOInInvalidDependent"  # so do releases before 26.05 write it
    text = text.replace(misspelt, "KillOnInvalidDependent")
    missing = [f"{key}={value}" for key, value in fields.items() if f"{key}={value}" not in text]
    assert not missing, text


def test_each_task_of_an_array_writes_its_own_file(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    tasks = [
        small.job(number, ArrayJobId="ArrayJobId=2", ArrayTaskId=str(task), StdOut=f"/home/ann/run_2_{task}.out",
                  StdErr=f"/home/ann/run_2_{task}.out")
        for number, task in ((2, 7), (3, 5))
    ]  # fmt: skip
    write(twin_of(tmp_path, job="".join(tasks)), folder)
    with Cluster(Settings(), folder) as cluster:
        shown = cluster.run("scontrol show job 2").stdout
    assert sorted(set(re.findall(r"Std(?:Out|Err)=(\S+)", shown))) == [
        "/home/ann/run_2_5.out", "/home/ann/run_2_7.out"
    ]  # fmt: skip


def test_defaults_of_a_partition_are_taken_over(tmp_path: Path) -> None:
    lines = small.PARTITIONS.replace("   State=UP", "   JobDefaults=DefCpuPerGPU=2,DefMemPerGPU=100\n   State=UP")
    spec = twin_of(tmp_path, partition=lines).engine.spec.partitions[0]
    assert (spec.def_cpu_per_gpu, spec.def_mem_per_gpu_mib) == (2, 100)


SWITCHES = """SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=a1
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=a2
SwitchName=spine Level=1 LinkSpeed=1 Nodes=a[1-2] Switches=leaf[1-2]
"""
BLOCKS = """BlockName=b1 BlockIndex=0 Nodes=a1 BlockSize=1
BlockName=b2 BlockIndex=1 Nodes=a2 BlockSize=1
AggregatedBlock=b[1-2] BlockIndex=2 Nodes=a[1-2] BlockSize=2
"""


@pytest.mark.parametrize(("shown", "told"), [(SWITCHES, "tree"), (BLOCKS, "block")])
def test_a_topology_is_taken_over_as_scontrol_shows_it(shown: str, told: str, tmp_path: Path) -> None:
    waiting = small.job(2, Switches="1@00:05:00") if told == "tree" else ""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    write(twin_of(tmp_path, topology=shown, job=small.RUNNING + waiting), folder)
    with Cluster(Settings(), folder) as cluster:
        assert cluster.run("scontrol show topology").stdout == shown
        assert f"topology/{told}" in cluster.run("scontrol show config").stdout
        assert not waiting or "Switches=1@00:05:00" in cluster.run("scontrol show job 2").stdout


def test_a_topology_of_one_partition_is_told_as_missing(tmp_path: Path) -> None:
    lines = small.PARTITIONS.replace("   State=UP", "   Topology=racks\n   State=UP")
    assert "its topology racks is not taken over: only the cluster's own is told: main" in found(
        twin_of(tmp_path, partition=lines)
    )


SLEEPY = small.CONFIG.replace("TaskPlugin", """ResumeProgram           = /bin/true
ResumeTimeout           = 120 sec
SuspendProgram          = /bin/true
SuspendTime             = 600 sec
SuspendTimeout          = 30 sec
TaskPlugin""")  # fmt: skip
GLOBAL = "   ResumeTimeout=GLOBAL SuspendTimeout=GLOBAL SuspendTime=GLOBAL\n   State=UP"


@pytest.mark.parametrize(
    ("word", "at_once", "later"),
    [
        ("POWERED_DOWN", "IDLE+POWERED_DOWN", "IDLE+POWERED_DOWN"),
        ("POWERING_DOWN", "IDLE+POWERING_DOWN", "IDLE+POWERED_DOWN"),
        ("POWERING_UP", "IDLE+POWERING_UP", "IDLE"),
    ],
)
def test_nodes_are_off_as_in_the_dump(word: str, at_once: str, later: str, tmp_path: Path) -> None:
    nodes = small.NODES.replace("IDLE+DRAIN", f"IDLE+{word}").replace(
        "   Reason=bad disk [ann@2026-01-05T07:00:00]\n", ""
    )
    partitions = small.PARTITIONS.replace("   State=UP", GLOBAL)
    twin = twin_of(tmp_path, config=SLEEPY, node=nodes, partition=partitions, job=small.RUNNING)
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    write(twin, folder)
    with Cluster(Settings(), folder) as cluster:
        assert f"State={at_once} " in cluster.run("scontrol show node a2").stdout
        cluster.step(100)
        assert f"State={later} " in cluster.run("scontrol show node a2").stdout


def test_a_job_whose_node_boots_is_not_lost(tmp_path: Path) -> None:
    nodes = small.NODES.replace("State=ALLOCATED", "State=ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")
    partitions = small.PARTITIONS.replace("   State=UP", GLOBAL)
    jobs = small.RUNNING.replace("JobState=RUNNING", "JobState=CONFIGURING")
    (live,) = twin_of(tmp_path, config=SLEEPY, node=nodes, partition=partitions, job=jobs).engine.jobs.values()
    assert (live.core.state, live.core.start_time) == (JobState.RUNNING, small.NOW - 500)


def test_a_job_that_runs_has_its_nodes_without_a_boot(tmp_path: Path) -> None:
    nodes = small.NODES.replace("State=ALLOCATED", "State=ALLOCATED+CLOUD")
    partitions = small.PARTITIONS.replace("   State=UP", GLOBAL)
    twin = twin_of(tmp_path, config=SLEEPY, node=nodes, partition=partitions, job=small.RUNNING)
    (live,) = twin.engine.jobs.values()
    assert (live.core.state, live.core.start_time) == (JobState.RUNNING, small.NOW - 500)


@pytest.mark.parametrize("threads", ["-4", "65534", "9" * 18, "*"])
def test_threads_that_no_core_has_are_none(threads: str, tmp_path: Path) -> None:
    twin = twin_of(tmp_path, job=small.RUNNING + small.job(2, **{"ReqB:S:C:T": f"0:0:*:{threads}"}))
    assert [job.threads_per_core for job in twin.jobs] == [0, 0]


def test_a_document_without_a_number_of_cpus(tmp_path: Path) -> None:
    dump = small.write(tmp_path / "dump", job=None)
    cpus = {"set": True, "infinite": True, "number": 0}
    cores = [{"index": 0, "status": ["ALLOCATED"]}]
    node = {"name": "a1", "sockets": [{"index": 0, "cores": cores}], "memory": {"allocated": 0}}
    times = {"submit_time": small.NOW - 900, "eligible_time": small.NOW - 900, "start_time": small.NOW - 500}
    job = {"job_id": 1, "user_name": "ann", "user_id": 3001, "job_state": ["RUNNING"], "nodes": "a1", "cpus": 4,
           "partition": "main", "job_resources": {"cpus": cpus, "nodes": {"allocation": [node]}}, **times}  # fmt: skip
    (dump / "job.json").write_text(json.dumps({"jobs": [job]}))
    (tmp_path / "scratch").mkdir()
    assert [held.cpus for held in build(read_dump(dump), tmp_path / "scratch").jobs[0].held] == ["0"]
