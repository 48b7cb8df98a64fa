"""squeue against the recordings of real Slurm, and rule by rule."""

from __future__ import annotations

import shlex
import time
from calendar import timegm
from typing import Any

import pytest
from fake_cluster import FakeClient, Record, call, golden, job_record

from slurmsim.commands.squeue import squeue
from slurmsim.protocol import Unreachable

_USERS = {"root": 0, "alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004}


def recorded_jobs(recording: Any, release: str) -> list[Record]:
    """The jobs of a recording, from its ``squeue --json``."""
    import json

    step = next(step for step in recording["steps"] if step.get("cmd") == "squeue --json")
    jobs = [job_record(entry, release) for entry in json.loads(step["stdout"])["jobs"]]
    for job in jobs:
        if job["name"] == "whole":
            job["sched_nodes"] = "n[01-14]"
    return jobs


def recorded_steps(jobs: list[Record], now: int, release: str) -> list[Record]:
    """Batch steps of the running jobs, and the one step of job 2."""
    steps = []
    for job in jobs:
        if job["job_state"] != "RUNNING":
            continue
        array = job["array_job_id"] or None
        step = {
            "job_id": job["job_id"], "step_id": 0xFFFFFFFB, "array_job_id": array,
            "array_task_id": job["array_task_id"] if array else None, "name": "batch", "partition": job["partition"],
            "user_name": job["user_name"], "user_id": job["user_id"], "start_time": job["start_time"],
            "run_time": now - job["start_time"], "nodes": job["batch_host"], "state": "RUNNING", "num_tasks": 1,
        }  # fmt: skip
        steps.append(step)
        if job["job_id"] == 2:
            begin = job["start_time"] + (1 if release == "22.05" else 0)
            more = {"step_id": 0, "name": "inner", "nodes": job["nodes"], "num_tasks": 4, "start_time": begin}
            steps.append({**step, **more, "run_time": now - begin})
    return steps


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# the later JSON layouts; and a time that moved between the two commands
_NOT_COMPARED = {
    "24.11": {"squeue --json"},
    "26.05": {"squeue --json", 'squeue -O "JobID:8,LastSchedEval:60" -j 1,3,4,5,6,7'},
}


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_recording(release: str) -> None:
    recording = golden("squeue.json" if release == "22.05" else f"slurm-{release}/squeue.json")
    start = timegm(time.strptime(recording["start"], "%Y-%m-%dT%H:%M:%S"))
    jobs = recorded_jobs(recording, release)
    steps = [step for step in recording["steps"] if step.get("cmd") and not step.get("setup")]
    wrong = []
    for step in steps:
        if step["cmd"] in _NOT_COMPARED.get(release, ()):
            continue
        if not any(_same(step, jobs, start + offset, release) for offset in (0, 1, 2)):
            wrong.append(step["cmd"])
    assert wrong == []
    assert len(steps) > 200


def _same(step: Record, jobs: list[Record], start: int, release: str) -> bool:
    """Whether the command, called at its second, prints what was recorded."""
    now = int(start + step["t"])
    nodes = [{"name": f"n{i:02d}", "node_hostname": "head"} for i in range(1, 17)]
    client = FakeClient(
        now, jobs=[dict(job) for job in jobs], steps=recorded_steps(jobs, now, release), nodes=nodes,
        partitions=[{"name": name, "priority_tier": 10} for name in ("batch", "debug", "fast")],
    )  # fmt: skip
    client.users, client.release = _USERS, release
    words = shlex.split(step["cmd"])
    environ = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    got = call(squeue.run, words[1:], client, **environ)
    return got == (step["rc"], step["stdout"], step["stderr"])


# ---- rule by rule; what is odd was seen on a real squeue 22.05.8 ----

NOW = 1767600000
_RUN = {"array_job_id": 0, "state_flags": [], "partition": "batch", "user_name": "alice", "user_id": 2001}


def job(number: int, state: str = "PENDING", **more: Any) -> Record:
    """A job record, pending unless said."""
    plain = {
        **_RUN, "job_id": number, "name": f"j{number}", "job_state": state, "start_time": 0, "end_time": 0,
        "time_limit": 10, "num_nodes": 1, "nodes": "", "state_reason": "Priority", "priority": 1, "submit_time": NOW,
    }  # fmt: skip
    if state == "RUNNING":
        plain.update(start_time=NOW - 100, nodes="n1", state_reason="None")
    return {**plain, **more}


def printed(words: str, *jobs: Record, release: str = "22.05", **environ: str) -> list[str]:
    client = FakeClient(NOW, jobs=list(jobs), nodes=[{"name": "n1", "node_hostname": "head"}])
    client.users, client.release = _USERS, release
    code, out, err = call(squeue.run, words, client, **environ)
    assert (code, err) == (0, "")
    return out.splitlines()


def told(words: str, *jobs: Record, release: str = "22.05", **environ: str) -> tuple[int, str, str]:
    client = FakeClient(NOW, jobs=list(jobs), nodes=[{"name": "n1", "node_hostname": "head"}])
    client.users, client.release = _USERS, release
    return call(squeue.run, words, client, **environ)


def test_only_what_is_printed_is_asked_for() -> None:
    client = FakeClient(NOW, jobs=[job(1)])
    call(squeue.run, "-h -o %i", client)
    ((_, arguments),) = [asked for asked in client.asked if asked[0] == "jobs"]
    assert "nodes" not in arguments["fields"] and "user_name" not in arguments["fields"]
    assert "show_all" in arguments and "job_id" not in arguments


def test_one_job_and_one_user_are_asked_for_by_number() -> None:
    client = FakeClient(NOW, jobs=[job(1)])
    client.users = _USERS
    call(squeue.run, "-j 1 -u alice", client)
    call(squeue.run, "-u alice", client)
    first, second = [arguments for name, arguments in client.asked if name == "jobs"]
    assert first["job_id"] == 1 and "user_id" not in first
    assert second["user_id"] == 2001


def test_no_daemon() -> None:
    class Away:
        folder, patience_s = "/nowhere", 0.0

        def call(self, name: str, **_: Any) -> Any:
            raise Unreachable("no socket")

    text = "Unable to contact slurm controller (connect failure)\n"
    assert call(squeue.run, "", Away()) == (1, "", f"slurm_load_jobs error: {text}")
    assert call(squeue.run, "-s", Away()) == (1, "", f"slurm_get_job_steps error: {text}")
    assert call(squeue.run, "-V", Away()) == (0, "slurm 26.05.5\n", "")


def test_jobs_without_start_are_turned_round_by_every_start_sort() -> None:
    jobs = [job(n) for n in (1, 2, 3)]
    assert printed("-h -o %i -S c", *jobs) == ["3", "2", "1"]
    assert printed("-h -o %i -S S", *jobs) == ["1", "2", "3"]


def test_default_order_is_partition_state_priority_then_latest_start() -> None:
    jobs = [
        job(1, "RUNNING", start_time=NOW - 50), job(2, "RUNNING", start_time=NOW - 10), job(3, priority=5),
        job(4, priority=9), job(5, partition="a"), job(6, state_flags=["COMPLETING"], priority=99),
    ]  # fmt: skip
    assert printed("-h -o %i", *jobs) == ["5", "6", "4", "3", "2", "1"]


def test_sort_letters_that_mean_nothing() -> None:
    header = "JOBID\n"
    assert told("-S a -o %i", job(1)) == (1, header, "squeue: error: Invalid sort specification: a\n")
    assert told("-S b -o %i", job(1)) == (0, header + "1\n", "squeue: Invalid sort specification: b\n")
    assert printed("-S cluster,-i -h -o %i", job(1), job(2)) == ["2", "1"]


def test_sort_by_group_name_came_later() -> None:
    jobs = [job(1, group_name="b"), job(2, group_name="a")]
    assert printed("-S g -h -o %i", *jobs) == ["2", "1"]  # as they were, turned round by the first sort
    assert printed("-S -g -h -o %i", *jobs) == ["2", "1"]
    assert printed("-S -g -h -o %i", *jobs, release="24.11") == ["1", "2"]


def test_states() -> None:
    completing = {"state_flags": ["COMPLETING"]}
    jobs = [job(1), job(2, "RUNNING"), job(3, "RUNNING", **completing), job(4, "COMPLETED"),
            job(5, "COMPLETED", **completing), job(6, "PENDING", state_flags=["REQUEUE_HOLD"])]  # fmt: skip
    shown = "-h -S i -o %i%t"
    assert printed(shown, *jobs) == ["1PD", "2R", "3CG", "5CG", "6RH"]
    assert printed(shown + " -t R", *jobs) == ["2R"]
    assert printed(shown + " -t cg,completed", *jobs) == ["3CG", "4CD", "5CG"]
    assert printed(shown + " -t pd", *jobs) == ["1PD"]
    assert printed(shown + " -t ALL", *jobs) == ["1PD", "2R", "3CG", "4CD", "5CG", "6RH"]
    assert printed(shown, *jobs, SQUEUE_STATES="cd") == ["4CD"]


def test_reasons_hide_for_what_is_ending() -> None:
    jobs = [job(1, state_desc="a long text"), job(2, "FAILED", nodes="n1", state_reason="NonZeroExitCode"),
            job(3, "FAILED", nodes="n1", state_flags=["COMPLETING"]), job(4, "CANCELLED")]  # fmt: skip
    assert printed("-h -t all -S i -o %R", *jobs) == ["(a long text)", "(NonZeroExitCode)", "n1", ""]


def array(tasks: str, **more: Any) -> Record:
    return job(3, array_job_id=3, array_task_str=tasks, name="arr", **more)


def test_tasks_of_one_array_share_a_line() -> None:
    split = job(9, array_job_id=3, array_task_id=7, name="arr", state_reason="JobHeldUser")
    running = job(4, "RUNNING", array_job_id=3, array_task_id=1, name="arr")
    assert printed("-h -S i -o %i:%r", array("2-5%2"), split, running) == [
        "3_1:None",
        "3_[2-5,7]:Priority,JobHeldUser",
    ]
    assert printed("--array-unique -h -S i -o %i", array("2-5%2"), split) == ["3_7", "3_[2-5%2]"]
    other = {**split, "name": "another"}
    assert printed("-h -S i -o %i", array("2-5%2"), other) == ["3_7", "3_[2-5%2]"]


@pytest.mark.parametrize(
    ("tasks", "environ", "text"),
    [
        ("1-199:2%7", {}, "3_[1-199:2%7]"),
        ("1-9:2%7", {}, "3_[1,3,5,7,9%7]"),
        ("1,3,5,9,11,13-40,60,70,80,90,100", {}, "3_[1,3,5,9,11,13-40,60,70,80,90"),
        ("1,3,5,9,11,13-40,60,70,80,90", {"SLURM_BITSTR_LEN": "0"}, "3_[1,3,5,9,11,13-40,60,70,80,90]"),
        ("1,3,5,9,11,13-40,60,70,80,90", {"SLURM_BITSTR_LEN": "10"}, "3_[1,3,5,...]"),
        ("1,3,5,9,11,13-40,60", {"SLURM_BITSTR_LEN": "x"}, "3_[1,3,5,9,11,13-40,60]"),
    ],
)
def test_task_lists(tasks: str, environ: dict[str, str], text: str) -> None:
    assert printed("-h -o %i", array(tasks), **environ) == [text]


def test_long_task_lists_are_shortened() -> None:
    tasks = ",".join(str(n) for n in range(10, 200, 7)) + ",5000"
    (line,) = printed("-h -o %K", array(tasks))
    assert len(line) == 63 and line.endswith("...") and tasks.startswith(line[:-3])


def test_every_task_on_its_own_line() -> None:
    assert printed("-r -h -o %i:%K:%A", array("2-3,7%2")) == ["3_2:2:3", "3_3:3:3", "3_7:7:3"]
    many = printed("-r -h -o %K", array("1-99:2"))
    assert many == [str(n) for n in range(1, 98, 2)]  # the last one of a regular step is lost, as in Slurm


def test_tasks_by_id() -> None:
    jobs = (array("2-9%2"), job(4, "RUNNING", array_job_id=3, array_task_id=1, name="arr"))
    assert printed("-h -o %i -j 3_5", *jobs) == ["3_5"]
    assert printed("-h -S i -o %i -j 3_5,3_8,3_1", *jobs) == ["3_1", "3_[5,8]"]
    assert printed("-h -o %i -j 4", *jobs) == ["3_1"]
    assert printed("-h -o %i -j 3_99", *jobs) == []
    assert printed("-h -S -i -o %i -j 3_4294967294", *jobs) == ["3_[2-9%2]", "3_1"]


def test_ids_that_are_none() -> None:
    assert told("-j abc") == (1, "", "squeue: error: Invalid job id: abc\n")
    assert told("-j 1_[0-2]", array("1-2"), release="26.05") == (1, "", "squeue: error: Invalid job id: 1_[0-2]\n")
    assert told("-j 99", job(1)) == (1, "", "slurm_load_jobs error: Invalid job id specified\n")
    assert told("-s 1") == (1, "", "squeue: error: Invalid job_step id: 1.??\n")
    assert told("-j -s") == (1, "", "squeue: error: Incompatible options --jobs and --steps\n")


def test_left_over_words() -> None:
    code, out, err = told("-j 1 extra", job(1))
    assert (code, err) == (1, "squeue: error: Unrecognized option: extra\n")
    assert out.startswith("Usage: squeue [-A account]")


def test_nodes() -> None:
    jobs = (job(1, "RUNNING"), job(2, "RUNNING", nodes="n[2-3]"))
    assert printed("-h -o %i -w n1", *jobs) == ["1"]
    assert printed("-h -o %i -w head", *jobs) == ["1"]
    assert told("-w n1,zz") == (1, "", "squeue: error: Invalid node name zz\n")


def test_formats_exclude_each_other() -> None:
    assert told("-o %i -O jobid")[2] == "squeue: error: -O (--Format) is incompatible with -o (--format)\n"
    assert told("-O jobid -o %i")[2] == "squeue: error: -o (--format) is incompatible with -O (--Format)\n"
    code, _, err = told("-l -o %i")
    assert code == 1 and err.startswith("squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive.")


def test_variables_give_way_to_options() -> None:
    jobs = (job(1), job(2, "RUNNING", user_name="bob", user_id=2002))
    assert printed("-h", *jobs, SQUEUE_FORMAT="%i") == ["1", "2"]
    assert printed("-h -O jobid:3", *jobs, SQUEUE_FORMAT="%j") == ["1  ", "2  "]
    assert printed("-h", *jobs, SQUEUE_FORMAT2="jobid:0") == ["1", "2"]
    assert printed("-h -o %i -u alice", *jobs, SQUEUE_USERS="bob") == ["1"]
    assert printed("-h -o %i", *jobs, SQUEUE_USERS="bob") == ["2"]
    assert printed("-h -o %i -S i", *jobs, SQUEUE_SORT="-i") == ["1", "2"]


def test_names_in_any_case_partitions_as_they_are() -> None:
    jobs = (job(1, name="Abc", account="Phys", qos="High"), job(2, partition="a,b"))
    assert printed("-h -o %i -n aBC -A PHYS -q hiGH", *jobs) == ["1"]
    assert printed("-h -o %i -p b", *jobs) == ["2"]
    assert printed("-h -o %i -p B", *jobs) == []


def test_a_line_for_each_partition() -> None:
    client = FakeClient(
        NOW, jobs=[job(1, partition="lo,hi"), job(2, partition="hi")],
        partitions=[{"name": "hi", "priority_tier": 5}, {"name": "lo", "priority_tier": 1}],
    )  # fmt: skip
    assert call(squeue.run, "-P -h -o %i%P -S -p,i", client)[1].split() == ["1hi", "2hi", "1lo"]


def test_times() -> None:
    running = job(1, "RUNNING", time_limit=1)
    assert printed("-h -o %M|%L|%l", running) == ["1:40|INVALID|1:00"]
    assert printed("-h -o %L|%l|%e", job(1, time_limit=None)) == ["UNLIMITED|UNLIMITED|N/A"]
    assert printed("-h -o %l|%e", job(1, "RUNNING", time_limit=None, end_time=NOW + 9)) == ["UNLIMITED|NONE"]
    assert printed("-h -o %L|%l", job(1, time_limit=-1)) == ["NOT_SET|NOT_SET"]
    suspended = job(1, "SUSPENDED", start_time=NOW - 100, pre_sus_time=30, suspend_time=NOW - 70)
    assert printed("-h -o %M", suspended) == ["0:30"]
    resumed = job(1, "RUNNING", start_time=NOW - 100, pre_sus_time=30, suspend_time=NOW - 20)
    assert printed("-h -o %M", resumed) == ["0:50"]


def test_hostile_texts_stay_texts() -> None:
    name = "100% %s\\n 'x' \"y\" ü"
    assert printed("-h -o %j|%.40j", job(1, name=name))[0].startswith(name + "|")


def test_steps_of_one_job() -> None:
    step = {"job_id": 1, "step_id": 0, "array_job_id": None, "name": "s", "partition": "b", "state": "RUNNING",
            "nodes": "n1", "run_time": 61, "time_limit": None, "user_name": "alice", "user_id": 2001}  # fmt: skip
    batch = {**step, "step_id": 0xFFFFFFFB}
    task = {**step, "job_id": 9, "array_job_id": 3, "array_task_id": 2}
    client = FakeClient(NOW, steps=[batch, task, step])
    assert call(squeue.run, "-s -h -o %i|%M|%l", client)[1].splitlines() == [
        "1.0|1:01|UNLIMITED",
        "1.batch|1:01|UNLIMITED",
        "3_2.0|1:01|UNLIMITED",
    ]
    assert call(squeue.run, "-s 3_2.0 -h -o %i", client)[1] == "3_2.0\n"
    assert call(squeue.run, "-s -j 1 -h -o %i", client)[1] == "1.0\n1.batch\n"


def test_options_of_later_releases() -> None:
    code, _, err = told("--helpstate")
    assert (code, err) == (1, "squeue: unrecognized option '--helpstate'\nTry \"squeue --help\" for more information\n")
    assert printed("--notme -h -o %i", job(1), job(2, user_id=5), release="24.11") == ["2"]
    code, _, err = told("--json=v0.0.39", release="24.11")
    assert code == 1 and "unable to find plugin: data_parser/v0.0.39" in err


def test_file_names_of_later_releases() -> None:
    made = job(5, batch_flag=1, work_dir="/w", std_out=None)
    assert printed("-h -O stdout:0", made) == ["/w/slurm-5.out"]
    assert printed("-h -O stdout:0", made, release="24.11") == ["/w/slurm-%j.out"]
    assert printed("-h -O stdout:0", made, release="26.05") == ["slurm-%j.out"]
    assert printed("--expand-patterns -h -O stdout:0", made, release="26.05") == ["/w/slurm-5.out"]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_help_names_every_option(release: str) -> None:
    from slurmsim.commands.squeue.options import ROWS

    (code, out, _) = told("--help", release=release)
    assert code == 0
    for name, _, _, since, until in ROWS:
        if since <= release and (not until or release < until) and name not in ("clusters", "nodes", "nodelist",
                                                                                  "users", "sibling"):  # fmt: skip
            assert f"--{name}" in out
