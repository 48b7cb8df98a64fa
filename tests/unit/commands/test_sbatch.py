"""sbatch in process: what it asks the daemon for, and what it makes of the answers."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmsim.commands.io import Io
from slurmsim.commands.submit import sbatch, submission
from slurmsim.protocol import Refusal, Unreachable

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Daemon:
    """Answers what it was told to; remembers what it was asked."""

    patience_s = 0.0

    def __init__(self, submit: Answer, release: str = "22.05", **answers: Any) -> None:
        self.submit, self.release, self.answers = submit, release, answers
        self.asked: list[dict[str, Any]] = []

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name == "hello":
            return {
                "slurm_version": self.release,
                "flavour": "upstream",
                "cluster": "lab",
                "now": 1767600000,
                "uid": 2001,
                "user": "alice",
            }
        if name == "submit":
            self.asked.append(arguments)
            return self.submit(arguments)
        if name == "wait_over":
            return {"over": True}
        if name in self.answers:
            found: dict[str, Any] = self.answers[name]()
            return found
        raise Refusal(f"Invalid RPC {name!r}")

    def patient(self) -> Daemon:
        return self

    @property
    def job(self) -> dict[str, Any]:
        found: dict[str, Any] = self.asked[-1]["job"]
        return found


class Run:
    """One call of sbatch."""

    def __init__(
        self, argv: list[str], folder: Path, daemon: Daemon | None = None, stdin: str = "", **environ: str
    ) -> None:
        self.daemon = daemon or Daemon(lambda asked: {"job_id": 7})
        out, err = io.StringIO(), io.StringIO()
        world = Io(
            self.daemon,  # type: ignore[arg-type]
            stdin=io.StringIO(stdin), stdout=out, stderr=err, environ={"PATH": "/usr/bin:/bin", **environ},
            cwd=str(folder),
        )  # fmt: skip
        self.rc = sbatch.run(argv, world)
        self.out, self.err = out.getvalue(), err.getvalue()

    @property
    def job(self) -> dict[str, Any]:
        return self.daemon.job


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(submission.time, "sleep", slept.append)
    return slept


def script(folder: Path, lines: str = "", name: str = "job.sh") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\nsleep 1\n")
    return name


def test_the_least_request(tmp_path: Path) -> None:
    done = Run([script(tmp_path), "a", "b c"], tmp_path, HOME="/h")
    assert (done.rc, done.out, done.err) == (0, "Submitted batch job 7\n", "")
    job = done.job
    assert job["script"] == "#!/bin/sh\n\nsleep 1\n"
    assert (job["name"], job["command"], job["argv"]) == ("job.sh", f"{tmp_path}/job.sh", ["a", "b c"])
    assert (job["work_dir"], job["std_in"], job["hold"], job["min_cpus"]) == (str(tmp_path), "/dev/null", False, 1)
    absent = ("partition", "account", "qos", "time_limit", "min_nodes", "num_tasks", "std_out", "std_err", "requeue")
    assert not [field for field in absent if field in job]
    assert done.daemon.asked[-1]["will_run"] is False
    assert job["environment"] == {
        "HOME": "/h", "PATH": "/usr/bin:/bin", "SLURM_PRIO_PROCESS": "0", "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_NAME": "job.sh", "SLURM_SUBMIT_HOST": job["alloc_node"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (["-N2", "-n4", "-c3"], {"min_nodes": 2, "max_nodes": 2, "num_tasks": 4, "cpus_per_task": 3, "min_cpus": 12}),
        (["-N", "2-5"], {"min_nodes": 2, "max_nodes": 5, "min_cpus": 1}),
        (["-N2"], {"min_nodes": 2, "min_cpus": 2}),
        (["-N0"], {"min_nodes": 0, "min_cpus": 0}),
        (["-N2", "--ntasks-per-node=3"], {"num_tasks": 6, "min_cpus": 6}),
        (["-w", "n[1-3]"], {"req_nodes": "n[1-3]", "min_nodes": 3, "min_cpus": 3}),
        (["--mem=2G"], {"pn_min_memory": 2048, "mem_per_cpu": False}),
        (["--mem-per-cpu=1G"], {"pn_min_memory": 1024, "mem_per_cpu": True}),
        (["-t", "0"], {"time_limit": 0xFFFFFFFF}),
        (["-H"], {"hold": True}),
        (["-b", "now+1hour"], {"begin_time": 1767603600}),
        (["-G", "v100:2,a100:1"], {"tres_per_job": "gres:gpu:v100:2,gres:gpu:a100:1"}),
        (["--gpus-per-node=1", "--gres=nvme:2"], {"tres_per_node": "gres:gpu:1,gres:nvme:2"}),
        (["--exclusive=user"], {"shared": "user"}),
        (["-s"], {"shared": "ok"}),
        (["-k"], {"kill_on_node_fail": 0}),
        (["--open-mode=append"], {"open_mode": "append"}),
        (["-o", "x/%j", "-e", "none"], {"std_err": "/dev/null"}),
        (["--switches=2@1:00"], {"req_switch": 2, "wait4switch": 60}),
        (["-O", "-n8"], {"overcommit": True, "min_cpus": 1, "num_tasks": 8}),
        (["--no-requeue"], {"requeue": 0}),
        (["--kill-on-invalid-dep=yes"], {"kill_on_invalid_dep": True}),
    ],
)
def test_fields_of_options(words: list[str], fields: dict[str, Any], tmp_path: Path) -> None:
    job = Run([*words, script(tmp_path)], tmp_path).job
    assert {field: job.get(field) for field in fields} == fields


def test_command_line_over_environment_over_script(tmp_path: Path) -> None:
    name = script(tmp_path, "#SBATCH -J script -p script -t 1")
    job = Run(["-J", "line", name], tmp_path, SBATCH_JOB_NAME="variable", SBATCH_PARTITION="variable").job
    assert (job["name"], job["partition"], job["time_limit"]) == ("line", "variable", 1)


def test_memory_options_override_variables_but_not_each_other(tmp_path: Path) -> None:
    name = script(tmp_path, "#SBATCH --mem=1G")
    clash = Run(["--mem-per-cpu=1G", name], tmp_path)
    assert (clash.rc, clash.daemon.asked) == (1, [])
    assert clash.err == "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n"
    job = Run(["--mem=1G", script(tmp_path)], tmp_path, SBATCH_MEM_PER_CPU="5G").job
    assert (job["pn_min_memory"], job["mem_per_cpu"]) == (1024, False)


def test_environment_of_the_job(tmp_path: Path) -> None:
    words = ["-N2", "-n4", "-c2", "--export=A,B=3", "-J", "n", "-d", "singleton", "--open-mode=t", "-G2"]
    environment = Run([*words, "--wrap=x"], tmp_path, A="1", HOME="/h").job["environment"]
    assert "HOME" not in environment
    wanted = {
        "A": "1", "B": "3", "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_CPUS_PER_TASK": "2", "SLURM_GPUS": "2",
        "SLURM_EXPORT_ENV": "A,B=3", "SLURM_GET_USER_ENV": "1", "SLURM_JOB_NAME": "n", "SLURM_OPEN_MODE": "t",
        "SLURM_JOB_DEPENDENCY": "singleton",
    }  # fmt: skip
    assert wanted.items() <= environment.items()


def test_environment_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "env").write_bytes(b"A=1\0B=x\ny\0")
    environment = Run(["--export-file=env", "--wrap=x"], tmp_path, HOME="/h").job["environment"]
    assert (environment["A"], environment["B"]) == ("1", "x\ny") and "HOME" not in environment
    missing = Run(["--export-file=none", "--wrap=x"], tmp_path)
    assert (missing.rc, missing.err) == (1, "sbatch: error: Could not open user environment file none\n")


def test_refusals_say_what_they_are_about(tmp_path: Path) -> None:
    def refuse(asked: dict[str, Any]) -> dict[str, Any]:
        raise Refusal("invalid partition specified: nope\nInvalid partition name specified", 2000)

    done = Run(["-p", "nope", script(tmp_path)], tmp_path, Daemon(refuse), SLURM_EXIT_ERROR="7")
    assert (done.rc, done.out) == (7, "")
    assert done.err == (
        "sbatch: error: invalid partition specified: nope\n"
        "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
    )
    tried = Run(["--test-only", "-p", "nope", script(tmp_path)], tmp_path, Daemon(refuse))
    assert tried.rc == 1 and tried.err.endswith("allocation failure: Invalid partition name specified\n")


def test_gres_are_checked_before_asking_unless_for_other_clusters(tmp_path: Path) -> None:
    def refuse(asked: dict[str, Any]) -> dict[str, Any]:
        raise Refusal("Invalid generic resource (gres) specification")

    short = Run(["--gres=x", script(tmp_path)], tmp_path, Daemon(refuse))
    assert short.err == "sbatch: error: Invalid generic resource (gres) specification\n"
    long = Run(["--gres=x", "-M", "lab", script(tmp_path)], tmp_path, Daemon(refuse))
    assert long.err.startswith("sbatch: error: Batch job submission failed: ")


def test_no_daemon(tmp_path: Path) -> None:
    def gone(asked: dict[str, Any]) -> dict[str, Any]:
        raise Unreachable("no socket")

    done = Run([script(tmp_path)], tmp_path, Daemon(gone))
    text = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n"
    assert (done.rc, done.err) == (1, text)


def test_a_full_queue_is_tried_again(tmp_path: Path, no_waiting: list[float]) -> None:
    tries = iter([Refusal("Resource temporarily unavailable", 11)] * 2)

    def busy(asked: dict[str, Any]) -> dict[str, Any]:
        for refusal in tries:
            raise refusal
        return {"job_id": 9}

    done = Run([script(tmp_path)], tmp_path, Daemon(busy))
    assert (done.rc, done.out, no_waiting) == (0, "Submitted batch job 9\n", [1, 2])
    assert done.err == "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"


def test_a_queue_that_stays_full(tmp_path: Path, no_waiting: list[float]) -> None:
    def busy(asked: dict[str, Any]) -> dict[str, Any]:
        raise Refusal("Resource temporarily unavailable", 11)

    done = Run([script(tmp_path)], tmp_path, Daemon(busy))
    assert done.rc == 1 and len(done.daemon.asked) == submission.MAX_RETRIES + 1
    assert done.err.endswith("Batch job submission failed: Resource temporarily unavailable\n")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["--parsable"], "7\n"),
        (["--parsable", "-M", "lab"], "7;lab\n"),
        (["-M", "lab"], "Submitted batch job 7 on cluster lab\n"),
        (["-Q"], ""),
        (["-Q", "--parsable"], ""),
    ],
)
def test_ways_to_say_the_id(words: list[str], out: str, tmp_path: Path) -> None:
    assert Run([*words, "--wrap=x"], tmp_path).out == out


def test_unknown_cluster(tmp_path: Path) -> None:
    done = Run(["-M", "other", "--wrap=x"], tmp_path)
    assert (done.rc, done.daemon.asked) == (1, [])
    assert done.err.startswith("sbatch: error: No cluster 'other' known by database.\nsbatch: error: 'other' can't be")


@pytest.mark.parametrize(("codes", "rc"), [([0], 0), ([5 << 8], 5), ([9], 1), ([0, 3 << 8, 1 << 8], 3)])
def test_waiting(codes: list[int], rc: int, tmp_path: Path) -> None:
    jobs = lambda: {"columns": {"exit_code": codes}}  # noqa: E731
    done = Run(["-W", "--wrap=x"], tmp_path, Daemon(lambda asked: {"job_id": 7}, jobs=jobs))
    assert (done.rc, done.out, done.err) == (rc, "Submitted batch job 7\n", "")


def test_waiting_for_a_job_nobody_knows_any_more(tmp_path: Path) -> None:
    def jobs() -> dict[str, Any]:
        raise Refusal("Invalid job id specified")

    done = Run(["-W", "--wrap=x"], tmp_path, Daemon(lambda asked: {"job_id": 7}, jobs=jobs))
    assert (done.rc, done.err) == (0, "sbatch: error: Job 7 no longer found and exit code not found\n")


@pytest.mark.parametrize(("release", "word"), [("22.05", "using"), ("26.05", "a using")])
def test_estimates(release: str, word: str, tmp_path: Path) -> None:
    answer = {
        "job_id": 8, "start_time": 1767603600, "proc_cnt": 4, "node_list": "n[1-2]", "part_name": "debug",
        "preemptee_job_id": [3, 4],
    }  # fmt: skip
    daemon = Daemon(lambda asked: answer, release)
    done = Run(["--test-only", "--wrap=x"], tmp_path, daemon, SLURM_TIME_FORMAT="%s")
    assert daemon.asked[0]["will_run"] is True
    assert (done.rc, done.out) == (0, "")
    assert done.err == (
        f"sbatch: Job 8 to start at 1767603600 {word} 4 processors on nodes n[1-2] in partition debug\n"
        "sbatch:   Preempts: 3,4\n"
    )


def test_heterogeneous_jobs(tmp_path: Path) -> None:
    name = script(tmp_path, "#SBATCH -N 1 -A acc\n#SBATCH hetjob\n#SBATCH -N 2")
    asked = Run([name], tmp_path).daemon.asked[0]
    assert (asked["job"]["min_nodes"], [part["min_nodes"] for part in asked["components"]]) == (1, [2])
    assert asked["components"][0]["account"] == "acc" and "script" not in asked["components"][0]
    line = Run(["-N1", "-p", "a", ":", "-N3", script(tmp_path)], tmp_path).daemon.asked[0]
    assert line["job"]["partition"] == "a" and "partition" not in line["components"][0]
    assert line["components"][0]["min_nodes"] == 3


def test_scripts_above_the_limit(tmp_path: Path) -> None:
    (tmp_path / "big.sh").write_text("#!/bin/sh\n" + "#" * (4 << 20))
    done = Run(["big.sh"], tmp_path)
    assert (done.rc, done.daemon.asked) == (1, [])
    assert done.err == (
        "sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long\n"
    )


def test_script_on_standard_input(tmp_path: Path) -> None:
    job = Run([], tmp_path, stdin="#!/bin/sh\n#SBATCH -N 3\n").job
    assert (job["name"], job["min_nodes"], job["command"]) == ("sbatch", 3, None)


def test_quiet_hides_information_but_not_errors(tmp_path: Path) -> None:
    name = script(tmp_path)
    assert Run(["-Q", "-N2", "-n1", name], tmp_path).err == ""
    assert Run(["-Q", "-N2", "-n1", "-m", "plane=4", "-n5", "-N4", name], tmp_path).rc == 1
    assert Run(["-QQ", "missing.sh"], tmp_path).err == ""
    assert Run(["-Q", "missing.sh"], tmp_path).err == "sbatch: error: Unable to open file missing.sh\n"


@pytest.mark.parametrize(
    ("release", "words", "said"),
    [
        ("22.05", ["-N2", "-n1"], "sbatch: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n"),
        ("24.11", ["-N2", "-n1"], "sbatch: warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n"),
        ("22.05", ["-w", "n[1-3]", "-N2"], "sbatch: error: invalid number of nodes (-N 3-2)\n"),
        ("24.11", ["-w", "n[1-3]", "-N2"], ""),
        ("22.05", ["--exclusive", "-s"], ""),
        (
            "24.11",
            ["--exclusive", "-s"],
            "sbatch: fatal: --exclusive and --oversubscribe options are mutually exclusive\n",
        ),
    ],
)
def test_what_changed_between_releases(release: str, words: list[str], said: str, tmp_path: Path) -> None:
    done = Run([*words, "--wrap=x"], tmp_path, Daemon(lambda asked: {"job_id": 1}, release))
    assert done.err == said


def test_help_and_version_end_the_call_where_they_stand(tmp_path: Path) -> None:
    assert Run(["-V", "-t", "x"], tmp_path).out == "slurm 22.05.8\n"
    assert Run(["-t", "x", "-V"], tmp_path).rc == 255
    shown = Run(["--help"], tmp_path)
    assert shown.rc == 0 and "  -t, --time=minutes\n" in shown.out and "--context" not in shown.out


def test_files_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n1\nn2 # comment\nn2\n")
    for words in (["-w", "./hosts"], ["-F", "hosts"]):
        job = Run([*words, "--wrap=x"], tmp_path).job
        assert (job["req_nodes"], job["min_nodes"]) == ("n[1-2]", 2)
    missing = Run(["-F", "none", "--wrap=x"], tmp_path)
    assert missing.rc == 255
    assert missing.err == (
        "sbatch: error: slurm_allocate_resources error opening file none, No such file or directory\n"
        "sbatch: error: Invalid --nodefile node file\n"
    )


def test_hostile_text_stays_data(tmp_path: Path) -> None:
    name = "a'b\"c\n$(x) ü \udcff"
    job = Run(["-J", name, "--comment", name, "-p", name, "--wrap=x"], tmp_path).job
    assert (job["name"], job["comment"], job["partition"]) == (name, name, name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--gpus=2 -c3 --cpus-per-gpu=2", "--cpus-per-gpu is mutually exclusive with --cpus-per-task"),
        ("--mem-per-gpu=100", "Requested mem_per_tres=gres:gpu:100 but did not request any GPU."),
        ("--gpus=5 --gpus-per-node=2",
         "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node"),
        ("--gpus=4 --gpus-per-task=2 -n3", "Failed to validate job spec. Based on --gpus and --gpus-per-task number "
         "of requested tasks differ from -n/--ntasks."),
    ],
)  # fmt: skip
def test_counts_of_gpus_that_contradict_each_other(tmp_path: Path, words: str, message: str) -> None:
    run = Run([*words.split(), script(tmp_path)], tmp_path)
    assert (run.rc, run.daemon.asked) == (1, [])
    assert run.err == f"sbatch: error: {message}\nsbatch: error: Invalid generic resource (gres) specification\n"


def test_fewer_gpus_than_nodes_are_refused(tmp_path: Path) -> None:
    run = Run(["--gpus=2", "-N3", script(tmp_path)], tmp_path)
    said = "Failed to validate job spec, --gpus < -N", "Invalid generic resource (gres) specification"
    assert (run.rc, run.err) == (1, "".join(f"sbatch: error: {line}\n" for line in said))


def test_gpus_of_a_type_and_of_any_are_not_asked_for_together(tmp_path: Path) -> None:
    for words in (["--gpus=2,a100:1"], ["--gpus=2", "--gpus-per-node=a100:1"], ["--gres=gpu:2,gpu:a100:1"]):
        run = Run([*words, script(tmp_path)], tmp_path)
        said = "sbatch: error: Invalid GRES specification (with and without type identification)\n"
        assert (run.rc, run.err) == (1, said)


def test_counts_that_follow_from_gpus_are_sent(tmp_path: Path) -> None:
    job = Run(["--gpus=4", "--gpus-per-node=2", "--cpus-per-gpu=3", "--mem-per-gpu=1G", script(tmp_path)], tmp_path).job
    assert (job["min_nodes"], job["max_nodes"]) == (2, 2)
    assert (job["cpus_per_tres"], job["mem_per_tres"]) == ("gres:gpu:3", "gres:gpu:1024")
    assert Run(["--gpus=4", "--gpus-per-task=2", script(tmp_path)], tmp_path).job["num_tasks"] == 2
