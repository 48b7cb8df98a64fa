"""What scripts and their steps do with files, programs and environments, as real 22.05.8, 24.11.5 and 26.05.5 did."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurmsim
from slurmsim.releases import RECORDED_RELEASES


@pytest.fixture(scope="module", params=[RECORDED_RELEASES[0], RECORDED_RELEASES[-1]])
def live(request: pytest.FixtureRequest) -> Iterator[tuple[slurmsim.Cluster, str]]:
    with slurmsim.cluster(nodes=2, cpus_per_node=4, gpus_per_node=4, slurm_version=request.param) as cluster:
        yield cluster, request.param


def ran(cluster: slurmsim.Cluster, folder: Path, script: str) -> str:
    """What a shell script prints in `folder`, both streams; times of slurmstepd's lines are left out."""
    done = cluster.run(["bash", "-c", f"cd {folder}; exec 2>&1; {script}"])
    return re.sub(r"\[\d{4}-\S+\] error|slurmstepd-n\d: error", "stepd", done.stdout)


def test_folders_of_output_are_made_since_23_02(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, release = live
    said = ran(
        cluster,
        tmp_path,
        "sbatch -W -Q -o a/%u/a.out -e a/e.err --wrap 'echo hi'; echo $?;"
        "sbatch -W -Q -a 1-2 -o b/%x/%a.out --wrap 'echo hi'; echo $?;"
        "srun -n1 -o c/d/s.out echo hi; echo $?; find . -type d | sort",
    )
    if release == "22.05":
        gone = "srun: error: Could not open stdout file: No such file or directory\n"
        assert said == f"1\n1\n{gone}1\n.\n"
    else:
        assert re.fullmatch(r"0\n0\n0\n\.\n\./a\n\./a/\w+\n\./b\n\./b/wrap\n\./c\n\./c/d\n", said)
        assert (tmp_path / "b" / "wrap" / "2.out").read_text() == "hi\n"


def test_a_task_finds_programs_in_its_own_path_alone(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, _ = live
    told = ran(
        cluster,
        tmp_path,
        "sbatch -W -Q --export=NONE -o x.out --wrap 'srun -n1 hostname; echo rc=$?;"
        " srun -n1 /usr/bin/env | grep -cE ^PATH=; srun -n1 /usr/bin/env | grep TMPDIR'; sort x.out",
    )
    assert "stepd: execve(): hostname: No such file or directory\n" in told
    assert "\nrc=2\n" in told
    assert told.startswith("0\n")
    assert "TMPDIR=/tmp\n" in told


def test_preserve_env_leaves_sizes_of_the_job_to_a_step(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, _ = live
    told = ran(
        cluster,
        tmp_path,
        "sbatch -W -Q -N2 -n4 -O -o x.out --wrap 'for options in -E --mem=0; do"
        ' srun $options -N1 -n1 sh -c "echo \\$SLURM_NNODES \\$SLURM_NTASKS \\$SLURM_NPROCS";'
        " done'; cat x.out",
    )
    assert told == "0\n2 4 4\n1 1 1\n" or told == "2 4 4\n1 1 1\n", told


def test_files_of_tasks_are_named_by_nodes(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, _ = live
    told = ran(cluster, tmp_path, "srun -Q -N2 -n2 -o t.%N.out echo hi; ls t.*; sinfo -h -N -o t.%N.out")
    files = sorted(path.name for path in tmp_path.glob("t.*"))
    assert len(files) == 2 and set(files) <= set(told.split()[2:])


def test_a_running_task_of_an_array_is_named_to_srun_and_sbcast(
    live: tuple[slurmsim.Cluster, str], tmp_path: Path
) -> None:
    cluster, release = live
    told = ran(
        cluster,
        tmp_path,
        "echo x >source; job=$(sbatch --parsable -n1 -a 0-1 -o /dev/null --wrap 'sleep 60');"
        " while [ $(squeue -h -t R -j $job | wc -l) -lt 2 ]; do sleep 0.2; done;"
        " for task in 0 1; do"
        " srun --jobid=${job}_$task --overlap sh -c 'test $SLURM_JOB_ID -ge '$job && echo $task; done;"
        " srun --jobid=${job}_7 --overlap true; echo $?;"
        " set -- $(squeue -h -t R -O sluid:20 -j $job); sbcast -j $1 source target; cat target; scancel $job",
    )
    if release == "26.05":
        assert told.startswith("0\n1\nsrun: error: Unable to confirm") and told.endswith("\n1\nx\n"), told
    else:
        assert told.count("Invalid numeric value") == 3


def test_a_program_that_path_has_not_is_one_of_the_working_folder(
    live: tuple[slurmsim.Cluster, str], tmp_path: Path
) -> None:
    """_build_path of slurmstepd and search_path of salloc: real ones run a script as `srun name` beside it."""
    cluster, _ = live
    told = ran(
        cluster,
        tmp_path,
        "mkdir d; printf '#!/bin/sh\necho here $1\n' | tee own-script >d/nproc; chmod +x own-script d/nproc;"
        "srun -n1 own-script 1; salloc -Q own-script 2; cd d;"
        "srun -n1 nproc 3 2>/dev/null | grep -c here; srun -n1 no-script; echo $?",
    )
    assert told.startswith("here 1\nhere 2\n0\n")
    assert "execve(): no-script: No such file or directory\n" in told
    assert told.endswith("\n2\n")


def test_tasks_find_how_loud_their_srun_is(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    words = " ".join(f"srun {option} -n1 sh -c 'echo $SRUN_DEBUG' 2>/dev/null;" for option in ("", "-v", "-vv", "-Q"))
    assert ran(live[0], tmp_path, f"{words} srun -Q -n1 true") == "3\n4\n5\n2\n"


PROLOG = """\
#!/bin/bash
echo "export PV=1"
echo "print hello $SLURM_PROCID"
echo "unset UV"
echo other text
"""
EPILOG = "#!/bin/bash\necho $SLURM_PROCID >> epilog.txt\necho unseen\n"


def test_programs_before_and_after_a_task(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, release = live
    for name, text in (("p.sh", PROLOG), ("e.sh", EPILOG), ("bad.sh", "#!/bin/bash\nexit 3\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    said = ran(
        cluster,
        tmp_path,
        "export UV=5; srun --task-prolog=$PWD/p.sh --task-epilog=$PWD/e.sh -n2 sh -c 'echo $PV:$UV' | sort; echo rc=$?;"
        "cat epilog.txt | sort; srun --task-epilog=/bin/true -n1 true; echo rc=$?",
    )
    assert said == "1:\n1:\nhello 0\nhello 1\nrc=0\n0\n1\nrc=0\n"
    failed = ran(
        cluster,
        tmp_path,
        "srun --task-prolog=$PWD/bad.sh -n1 echo ran; echo rc=$?; srun --task-epilog=$PWD/bad.sh -n1 echo ran;"
        "echo rc=$?; SLURM_TASK_PROLOG=/nosuch srun -n1 echo ran; echo rc=$?",
    )
    status = "768" if release == "22.05" else "3"
    assert sorted(failed.splitlines()) == sorted([
        "stepd: --task-prolog failed status=3", "srun: error: n1: task 0: Exited with exit code 3", "rc=3",
        "ran", f"stepd: TaskEpilog failed status={status}", "rc=0",
        "stepd: run_command: user task_prolog can not be executed (/nosuch) No such file or directory",
        "stepd: user task_prolog did not exit normally. reason: Run command failed - configuration error",
        "stepd: --task-prolog failed status=1", "srun: error: n1: task 0: Exited with exit code 1", "rc=1",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("options", "script", "steps"),
    [
        ("--exclusive", "4", ["", "1", ""]),
        ("--exclusive --gres=gpu:2", "4", ["2", "1", ""]),
        ("--gpus-per-task=1 -n3", "3", ["1", "1", ""]),
    ],
)
def test_gpus_of_a_node_are_those_of_the_step(
    live: tuple[slurmsim.Cluster, str], tmp_path: Path, options: str, script: str, steps: list[str]
) -> None:
    cluster, _ = live
    lines = [f"srun -n1 {more} env | grep GPUS_ON; echo ;" for more in ("", "--gpus=1", "--gres=none")]
    body = "env | grep GPUS_ON; echo ; " + " ".join(lines)
    told = ran(cluster, tmp_path, f"sbatch -W -Q -t1 -o x.out {options} --wrap '{body}'; cat x.out")
    found = [part.strip().removeprefix("SLURM_GPUS_ON_NODE=") for part in told.replace("\n\n", "\n;\n").split(";")]
    assert [part for part in found if part] == [value for value in (script, *steps) if value]


def test_a_limit_of_memory_is_a_limit_of_its_tasks(tmp_path: Path) -> None:
    """slurmstepd sets RLIMIT_RSS to the memory of the job or step on the node."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=x\nSlurmctldHost=head\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "NodeName=n1 CPUs=4 RealMemory=4000\nPartitionName=p Nodes=n1 Default=YES\n", "utf-8",
    )  # fmt: skip
    with slurmsim.cluster(conf=conf) as cluster:
        script = "srun -n1 --mem=50 bash -c 'ulimit -m'; ulimit -m; ulimit -Hm"
        said = ran(cluster, tmp_path, f'sbatch -W -Q --mem=100 -o x.out --wrap "{script}"; cat x.out')
    assert said == "51200\n102400\n102400\n"


def test_a_task_is_called_as_its_program_was_found(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    said = ran(live[0], tmp_path, "srun -Q -n1 bash -c nosuch; srun -Q -n1 bash -c 'echo $0'")
    assert re.search(r"^/\S*/bash: line 1: nosuch: command not found$", said, re.MULTILINE)
    assert re.search(r"^/\S*/bash$", said, re.MULTILINE)


def test_a_script_without_its_interpreter_fails(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/no/such/perl -w\nprint 1;\n", "utf-8")
    said = ran(live[0], tmp_path, "sbatch -W -Q -o x.out job.sh; echo $?; cat x.out")
    assert said == "2\nstepd: execve(): bad interpreter(/no/such/perl -w): No such file or directory\n"


def test_steps_wait_for_each_other_as_the_release_tells_it(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, release = live
    said = ran(cluster, tmp_path, "salloc -Q -n1 bash -c 'srun -n1 sleep 1 & sleep 0.4; srun -v -n1 true; wait'")
    kept = [re.sub(r"\d+", "N", line) for line in said.splitlines() if "tep c" in line]
    wait = "Job N step creation temporarily disabled, retrying (Requested nodes are busy)"
    if release == "22.05":
        assert kept == [f"srun: {wait}", "srun: Step created for job N"]
    else:
        assert kept == ["srun: Step completed in JobId=N, retrying", "srun: Step created for StepId=N.N"]


def test_a_partition_of_whole_nodes_is_told_to_the_script(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=x\nSlurmctldHost=head\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
        "NodeName=n1 CPUs=4\nPartitionName=own Nodes=n1 Default=YES OverSubscribe=EXCLUSIVE\n"
        "PartitionName=more Nodes=n1\n", "utf-8",
    )  # fmt: skip
    with slurmsim.cluster(conf=conf, slurm_version="26.05") as cluster:
        script = "echo $SLURM_JOB_EXCLUSIVE"
        words = "".join(f"sbatch -W -Q -p {p} -o {p} --wrap '{script}'; cat {p};" for p in ("own", "more"))
        assert ran(cluster, tmp_path, words) == "NODE\nNO\n"


def test_a_step_wants_gpus_that_its_job_has_not(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, release = live
    said = ran(cluster, tmp_path, "salloc -Q -N1 srun -N1 -c1 --gpus-per-task=1 --exact true")
    first = "srun: error: Step requested GRES but job doesn't have GRES\n" if release == "22.05" else ""
    assert re.sub(r"job \d+", "job N", said) == (
        f"{first}srun: error: Unable to create step for job N: Invalid generic resource (gres) specification\n"
    )


def test_a_file_of_hosts_may_have_more_lines_than_tasks(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n2\nn1\nn2\n", "utf-8")
    echo = "bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_STEP_NODELIST'"
    (tmp_path / "job.sh").write_text(
        f"#!/bin/bash\n#SBATCH -N2 -n6 -o x.out\nexport SLURM_HOSTFILE=hosts\nsrun -n1 {echo}\nsrun {echo} | sort\n"
        f"srun -n4 {echo}; echo $?\n",
        "utf-8",
    )
    said = ran(live[0], tmp_path, "sbatch -W -Q job.sh; grep -v warning -i x.out")
    short = (
        "srun: error: Too few NodeNames in Slurm Hostfile\nsrun: error: Failure getting NodeNames from hostfile\n1\n"
    )
    assert said == f"0 n2 n2\n0 n2 n[1-2]\n1 n1 n[1-2]\n2 n2 n[1-2]\n{short}"


def test_steps_of_whole_nodes_have_the_gpus_whose_cpus_are_asked_for(tmp_path: Path) -> None:
    """Without ``--cpus-per-gpu`` they have none; 24.11 refuses it without a GPU."""
    job = tmp_path / "job.sh"
    job.write_text("#!/bin/bash\nsrun -n1 bash -c 'echo seen $CUDA_VISIBLE_DEVICES'\n", "utf-8")
    with slurmsim.cluster(nodes=1, cpus_per_node=4, gpus_per_node=2) as cluster:
        for options, seen in (("--cpus-per-gpu=2", "0,1"), ("", "")):
            said = ran(cluster, tmp_path, f"sbatch -W -Q --exclusive {options} -o x.out job.sh; cat x.out")
            assert said.split() == ["seen", *seen.split()]


def test_a_folder_for_temporary_files_is_made_for_the_first_task_of_a_node(
    live: tuple[slurmsim.Cluster, str], tmp_path: Path
) -> None:
    cluster, _ = live
    (tmp_path / "plain").write_text("")
    told = ran(
        cluster,
        tmp_path,
        f"TMPDIR={tmp_path}/made sbatch -W -Q -n2 -N1 -o x.out --wrap 'echo $TMPDIR; stat -c %a $TMPDIR; unset TMPDIR;"
        ' srun -l bash -c "echo TMPDIR=\\$TMPDIR" | sort; export TMPDIR=/no/where;'
        ' srun -l bash -c "echo TMPDIR=\\$TMPDIR" 2>&1 | sort\'; cat x.out;'
        f" TMPDIR={tmp_path}/plain sbatch -W -Q -o y.out --wrap 'echo $TMPDIR'; cat y.out",
    )
    assert told.replace(str(tmp_path), "HERE").splitlines() == [
        "HERE/made",
        "700",
        "0: TMPDIR=/tmp",
        "1: TMPDIR=",
        "0: TMPDIR=/tmp",
        "0: stepd: Setting TMPDIR to /tmp",
        "0: stepd: Unable to create TMPDIR [/no/where]: No such file or directory",
        "1: TMPDIR=/no/where",
        "stepd: TMPDIR [HERE/plain] is not a directory",
        "stepd: Setting TMPDIR to /tmp",
        "/tmp",
    ]


def test_a_login_s_environment_is_asked_for_or_not(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, release = live
    counted = "env | grep -cE '^(HOME|LOGNAME|USER|MAIL|SHELL|SHLVL)='"
    (tmp_path / "b.sh").write_text(f"#!/bin/bash\n{counted}; echo $MAIL $SHLVL\n")
    told = ran(
        cluster,
        tmp_path,
        "for export in NONE NIL HOME; do sbatch -W -Q --export=$export -o x.out b.sh; cat x.out; done;"
        "SHLVL=5 MAIL=here sbatch -W -Q --get-user-env -o x.out b.sh; cat x.out;"
        "env -u LANG -u LC_ALL -u LC_CTYPE sbatch -W -Q -o x.out --wrap 'env | grep -c ^LC_'; cat x.out",
    )
    lines = re.sub(r"/var/mail/\w+", "MAIL", told).splitlines()
    whole = ["6", "MAIL 2"]
    nil = whole if release == "22.05" else ["1", "1"]
    assert lines == [*whole, *nil, *whole, "6", "here 6", "0"]


def test_a_step_without_a_terminal_has_no_pseudo_terminal(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, release = live
    told = ran(
        cluster, tmp_path, "srun --pty echo hi </dev/null; srun --pty=x echo hi; srun /usr/bin/env | grep NAME=env"
    )
    lines = [line for line in told.splitlines() if "allow" not in line and "Try" not in line]
    told_off = ["srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device",
                "srun: error: Not using a pseudo-terminal, disregarding --pty option", "hi"]  # fmt: skip
    refused = [] if release == "22.05" else ["srun: fatal: --pty=x must be numeric file descriptor"]
    assert lines == [*told_off, *refused, "SLURM_JOB_NAME=env"]


def test_a_script_begins_with_limits_and_signals_of_slurmd(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    """Of cores the hard limit unless sbatch's is propagated; no signal is ignored that real Slurm's jobs end by."""
    cluster, _ = live
    shown = "ulimit -Sc; grep SigIgn /proc/$$/status; srun -n1 grep SigIgn /proc/self/status"
    told = ran(
        cluster,
        tmp_path,
        "hard=$(ulimit -Hc); ulimit -Sc 0;"
        f" for how in NONE ALL; do sbatch -W -Q --propagate=$how -o of$how --wrap '{shown}'; done;"
        " head -1 ofNONE; echo $hard; head -1 ofALL; grep -h SigIgn ofNONE ofALL",
    )
    none, hard, everything, *ignored = told.splitlines()
    assert (none, everything) == (hard, "0")
    assert len(ignored) == 4
    for line in ignored:
        mask = int(line.split()[1], 16)
        assert not mask >> (signal.SIGXFSZ - 1) & 1 and not mask >> (signal.SIGPIPE - 1) & 1


def test_without_a_path_bash_has_its_own(live: tuple[slurmsim.Cluster, str], tmp_path: Path) -> None:
    cluster, _ = live
    (tmp_path / "job.sh").write_text("#!/bin/bash\necho $PATH\n")
    told = ran(cluster, tmp_path, "sbatch=$(command -v sbatch); unset PATH; $sbatch -W -Q -o x.out job.sh; echo $?")
    assert told == "sbatch: error: No PATH environment variable\n0\n"
    found = (tmp_path / "x.out").read_text().strip().split(":", 1)[1]
    assert found == "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:."
    assert ran(cluster, tmp_path, "sbatch=$(command -v sbatch); unset PATH; $sbatch -W -Q -o x.out ./job.sh") == ""
