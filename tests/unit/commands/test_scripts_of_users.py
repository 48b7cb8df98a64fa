"""What batch scripts ask for, as real Slurm 22.05.8, 24.11.5 and 26.05.5 took it; what came is beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from script_cluster import Scripts

from slurmsim.releases import RECORDED_RELEASES


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    yield Scripts(tmp_path_factory.mktemp("scripts"), request.param)


def held(cluster: Scripts, options: str, **environ: str) -> dict[str, str]:
    """What a held job with `options` shows."""
    return cluster.shown(cluster.sbatch(f"-H {options}", **environ))


@pytest.mark.parametrize(
    ("options", "environ"),
    [("-A Project_XYZ", {}), ("", {"SBATCH_ACCOUNT": "PROJECT_xyz"}), ("-A project_xyz --wckey=ABC", {})],
)
def test_accounts_and_wckeys_are_in_lower_case(cluster: Scripts, options: str, environ: dict[str, str]) -> None:
    job_id = cluster.sbatch(f"-H {options}", **environ)
    assert cluster.shown(job_id)["Account"] == "project_xyz"
    assert cluster.text(f"squeue -h -j {job_id} -o %a") == "project_xyz\n"
    assert "abc" in cluster.text(f"squeue -h -j {job_id} -O wckey") or "wckey" not in options
    cluster.run("scancel -A Project_XYZ")
    assert cluster.text("squeue -h -t PD -A project_xyz") == ""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--mail-type=BEGIN --mail-type=END", ["BEGIN,END", "BEGIN,END", "END"]),
        ("--mail-type=FAIL --mail-type=NONE", ["FAIL", "FAIL", None]),
        ("--mail-type=NONE --mail-type=END", ["END"] * 3),
    ],
)
def test_of_several_kinds_of_mail_the_last_holds_in_26_05(
    cluster: Scripts, options: str, told: list[str | None]
) -> None:
    assert held(cluster, options).get("MailType") == told[RECORDED_RELEASES.index(cluster.release)]


@pytest.mark.parametrize(
    ("options", "nodes", "cpus"),
    [("-N100 -c128", "100-100", "12800"), ("-N1024", "1024-1024", "1024"), ("-N1-2048 -n5000", "20-2048", "5000")],
)
def test_counts_are_written_out(cluster: Scripts, options: str, nodes: str, cpus: str) -> None:
    shown = held(cluster, options)
    assert (shown["NumNodes"], shown["NumCPUs"]) == (nodes, cpus)


@pytest.mark.parametrize(
    ("switches", "told"),
    [("1", "1@00:05:00"), ("1@48:00:00", "1@00:05:00"), ("2@00:01:00", "2@00:01:00"), ("1@10", "1@00:05:00")],
)
def test_jobs_wait_for_switches_as_long_as_the_cluster_lets_them(cluster: Scripts, switches: str, told: str) -> None:
    job_id = cluster.sbatch(f"-H --switches={switches}")
    assert cluster.shown(job_id)["Switches"] == told
    cluster.text(f"scontrol update jobid={job_id} switches=3@1-0")
    assert cluster.shown(job_id)["Switches"] == "3@00:05:00"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("a100,gpu", "a100&gpu"),
        ("[a100*1,gpu*2]", "[a100*1&gpu*2]"),
        ("a100,gpu|quad", "a100&gpu|quad"),
        ("(a100,gpu)", "(a100&gpu)"),
        ("a100&gpu,quad", "a100&gpu&quad"),
    ],
)
def test_a_comma_between_features_is_shown_as_and(cluster: Scripts, typed: str, told: str) -> None:
    job_id = cluster.sbatch(f"-H -C '{typed}'")
    assert cluster.shown(job_id)["Features"] == told
    other = cluster.sbatch("-H")
    cluster.text(f"scontrol update jobid={other} features={typed!r}")
    assert cluster.shown(other)["Features"] == told


@pytest.mark.parametrize("typed", ["a100, gpu", "a100 gpu", "a100 | gpu", "gpu,,quad", ",gpu"])
def test_blanks_and_nothing_between_features_are_refused(cluster: Scripts, typed: str) -> None:
    code, _, error = cluster.run(f"sbatch -H -C '{typed}' --wrap true")
    assert (code, error) == (1, "sbatch: error: Batch job submission failed: Invalid feature specification\n")


LAUNCHERS = {
    "HYDRA_BOOTSTRAP": "slurm",
    "HYDRA_LAUNCHER_EXTRA_ARGS": "--external-launcher",
    "I_MPI_HYDRA_BOOTSTRAP": "slurm",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "--external-launcher",
    "OMPI_MCA_plm_slurm_args": "--external-launcher",
    "PRTE_MCA_plm_slurm_args": "--external-launcher",
}


@pytest.mark.parametrize("options", ["", "--export=NONE", "--export=FOO=1"])
def test_mpi_launchers_are_told_to_use_srun(cluster: Scripts, options: str) -> None:
    found = cluster.environment(started(cluster, options))
    told = {name: value for name, value in found.items() if name.startswith(("HYDRA", "I_MPI", "OMPI", "PRTE"))}
    assert told == (LAUNCHERS if cluster.release != "22.05" else {})


def test_launchers_that_are_set_otherwise_stay_so(cluster: Scripts) -> None:
    own = {"I_MPI_HYDRA_BOOTSTRAP": "ssh", "OMPI_MCA_plm_slurm_args": "--foo"}
    found = cluster.environment(started(cluster, "", **own))
    assert {name: found[name] for name in own} == own
    assert "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS" not in found


def started(cluster: Scripts, options: str, **environ: str) -> int:
    """A job that runs."""
    job_id = cluster.sbatch(options, **environ)
    cluster.now += 6
    assert cluster.text(f"squeue -h -j {job_id} -o %t") == "R\n"
    return job_id


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        ("--gpus-per-node=2 --gres=gpu:2", {}),
        ("--gpus-per-node=2 --gres=nvme:1,gpu:a100:1", {}),
        ("--gres=gpu:2", {"SBATCH_GPUS_PER_NODE": "1"}),
    ],
)
def test_gpus_of_a_node_are_asked_for_in_one_way_in_26_05(
    cluster: Scripts, options: str, environ: dict[str, str]
) -> None:
    code, _, error = cluster.run(f"sbatch -H {options} --wrap true", "alice", **environ)
    if cluster.release == "26.05":
        assert (code, error) == (1, "sbatch: fatal: --gpus-per-node and --gres=gpu are mutually exclusive.\n")
    elif "a100" in options:
        said = "sbatch: error: Invalid GRES specification (with and without type identification)\n"
        assert (code, error) == (1, said)
    else:
        assert (code, error) == (0, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--reservation=nosuch", "Requested reservation is invalid"),
        ("-L nosuch:2", "Invalid license specification"),
        ("-d afterok:x", "Job dependency problem"),
        ("-p nosuch", "Invalid partition name specified"),
        ("-C nosuch", "Invalid feature specification"),
        ("--nice=-5", "Invalid --nice value"),
    ],
)
def test_what_a_submission_refuses_a_test_refuses(cluster: Scripts, options: str, said: str) -> None:
    code, _, error = cluster.run(f"sbatch --test-only {options} --wrap true", "alice")
    assert (code, error.splitlines()[-1]) == (1, f"allocation failure: {said}")
    before = cluster.text("squeue -h")
    code, _, error = cluster.run(f"sbatch {options} --wrap true", "alice")
    assert (code, error.splitlines()[-1]) == (1, f"sbatch: error: Batch job submission failed: {said}")
    assert "nosuch" not in before


def test_an_unknown_job_to_depend_on_is_refused_since_24_11(cluster: Scripts) -> None:
    code, _, error = cluster.run("sbatch --test-only -d afterok:999999 --wrap true", "alice")
    assert (code, "Job dependency problem" in error) == ((0, False) if cluster.release == "22.05" else (1, True))


@pytest.mark.parametrize("options", ["--container=/tmp/x"])
def test_a_container_is_accepted_and_told(cluster: Scripts, options: str) -> None:
    job_id = cluster.sbatch(f"-H {options}")
    shown = cluster.text(f"scontrol show job {job_id}")
    line = {"22.05": "Container=/tmp/x", "24.11": "Container=/tmp/x ContainerID=(null)",
            "26.05": "ContainerType=(null) Container=/tmp/x ContainerID=(null)"}[cluster.release]  # fmt: skip
    assert f"\n   {line}" in shown
    assert cluster.text(f"squeue -h -j {job_id} -O container").strip() == "/tmp/x"


HET = """\
#!/bin/bash
#SBATCH --nodelist=n01 --ntasks=2
#SBATCH hetjob
#SBATCH --nodelist=n02,n03 --ntasks=3
#SBATCH hetjob
#SBATCH -n1 -x n05
"""


def test_components_exclude_the_nodes_of_each_other(cluster: Scripts, tmp_path: Path) -> None:
    script = tmp_path / "het.sh"
    script.write_text(HET)
    job_id = cluster.text(f"sbatch --parsable -H {script}", "alice").strip()
    shown = re.findall(r"ReqNodeList=(\S+) ExcNodeList=(\S+)", cluster.text(f"scontrol show job {job_id}"))
    assert shown == [("n01", "n[02-03]"), ("n[02-03]", "n01"), ("(null)", "n[01-03,05]")]
    script.write_text("#!/bin/bash\n#SBATCH -w n01\n#SBATCH hetjob\n#SBATCH -w n01\n")
    code, _, error = cluster.run(f"sbatch -H {script}", "alice")
    assert (code, error) == (1, "sbatch: error: Batch job submission failed: Invalid node name specified\n")


def test_scripts_find_components_under_their_old_names_too(cluster: Scripts, tmp_path: Path) -> None:
    script = tmp_path / "het.sh"
    script.write_text("#!/bin/bash\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2 -c2\nsleep 99\n")
    job_id = int(cluster.text(f"sbatch --parsable {script}", "alice"))
    cluster.now += 40
    assert cluster.text(f"squeue -h -j {job_id} -o %t") == "R\nR\n"
    found = cluster.environment(job_id)
    old = {name: value for name, value in found.items() if "_PACK_" in name}
    assert len(old) == (22 if cluster.release == "22.05" else 23)
    assert old == {name.replace("_HET_", "_PACK_"): value for name, value in found.items() if "_HET_" in name}
    per_task = "cpu=2" if cluster.release != "22.05" else None
    assert found.get("SLURM_TRES_PER_TASK_PACK_GROUP_1") == per_task
    assert (found["SLURM_PACK_SIZE"], found.get("SLURM_NTASKS_PER_NODE")) == ("2", None)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("-H -o %A.%a.%j.%u.%x", ["ID.4294967294.ID.alice.wrap"] * 3),
        ("-H -o %b.%5j.%%", ["%b.%5j.%%", "4.00ID.%", "4.00ID.%"]),
        ("-H -o %J.%N.%n.%s.%t", ["%J.%N.%n.%s.%t", "%J.%N.%n.%s.%t", "ID.(null).0.batch.0"]),
        ("-w n09 -o %J.%N.%n", ["%J.%N.%n", "%J.%N.%n", "ID.n09.0"]),
        ("-H -a 3,5 -o %a.%b.%N", ["4294967294.%b.%N", "4294967294.4.%N", "4294967294.4.(null)"]),
    ],
)
def test_patterns_of_files_are_filled_in_by_release(cluster: Scripts, options: str, shown: list[str]) -> None:
    job_id = cluster.sbatch(options)
    cluster.now += 6
    found = cluster.shown(job_id)["StdOut"].rpartition("/")[2]
    assert found == shown[RECORDED_RELEASES.index(cluster.release)].replace("00ID", f"{job_id:05}").replace(
        "ID", str(job_id)
    )
    cluster.text(f"scancel {job_id}")


PER_GPU = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=2000
GresTypes=gpu
NodeName=g[01-06] Sockets=2 CoresPerSocket=24 ThreadsPerCore=2 RealMemory=512000 Gres=gpu:a100:4
NodeName=v[01-02] Sockets=2 CoresPerSocket=20 RealMemory=384000 Gres=gpu:v100:8
PartitionName=gpu Nodes=ALL Default=YES DefCpuPerGPU=4 DefMemPerGPU=16000
"""


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def per_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    yield Scripts(tmp_path_factory.mktemp("gpus"), request.param, PER_GPU)


@pytest.mark.parametrize(
    ("options", "cpus"),
    [
        ("-N2 --ntasks-per-node=4 --gpus-per-node=4", "32"),
        ("-N1 --ntasks-per-node=4 --gres=gpu:2", "8"),
        ("-N2 --ntasks-per-node=1 --gres=gpu:2", "16"),
        ("-N2 --ntasks-per-node=4 --gres=gpu:4 --cpus-per-gpu=6", "48"),
        ("-N2 --ntasks-per-node=8 --gres=gpu:1", "16"),
        ("-N1 -n2 --gres=gpu:1", "4"),
    ],
)
def test_gpus_bring_cpus_beside_tasks_of_nodes(per_gpu: Scripts, options: str, cpus: str) -> None:
    job_id = per_gpu.sbatch(options)
    per_gpu.now += 5
    shown = per_gpu.shown(job_id)
    assert (shown["JobState"], shown["NumCPUs"]) == ("RUNNING", cpus)
    per_gpu.text(f"scancel {job_id}")
    per_gpu.now += 60


def test_a_limit_of_more_than_a_year_is_told(cluster: Scripts) -> None:
    assert held(cluster, "--time=10000:00:00")["TimeLimit"] == "416-16:00:00"
    assert held(cluster, "--time=UNLIMITED")["TimeLimit"] == "UNLIMITED"


def test_what_is_refused_since_a_release(cluster: Scripts) -> None:
    at = RECORDED_RELEASES.index(cluster.release)
    asked = ("--signal=R:TERM@60", "--resv-ports=2", "--nodelist=c[g02]")
    said = [cluster.run(f"sbatch {options} --wrap true", "alice")[2] for options in asked]
    assert bool(said[0]) == bool(at)
    if at:
        assert said[0].endswith("failed: Preemption is required but is disabled on this system\n")
        assert "Slurmstepd step management must be enabled to use --resv-ports for job allocations" in said[1]
    assert ("memory allocation failure", "Invalid node list specified")[bool(at)] in said[2]


def test_a_packjob_line_is_warned_of(cluster: Scripts) -> None:
    script = cluster.folder / "pack.sh"
    script.write_text("#!/bin/sh\n#SBATCH -H -n1\n#SBATCH packjob\n#SBATCH -n1\nsleep 9\n")
    said = cluster.run(f"sbatch {script}", "alice")[2]
    now = 'warning: The "packjob" component separator is deprecated. Please use "hetjob" instead.\n'
    before = 'Warning: the "packjob" component separator is being deprecated. Please, use "hetjob" instead.\n'
    assert said == f"sbatch: {before if cluster.release == '22.05' else now}"


@pytest.mark.parametrize(
    ("features", "taken"),
    [("quad*1&gpu*1", [True, False, False]), ("gpu&quad*1", [True, False, False]), ("quad*1", [True] * 3),
     ("[quad*1&gpu*1]", [True] * 3), ("quad*0", [False] * 3)],
)  # fmt: skip
def test_counts_of_several_features_are_in_brackets(cluster: Scripts, features: str, taken: list[bool]) -> None:
    said = cluster.run(f"sbatch -H -N2 -C '{features}' --wrap true", "alice")[2]
    at = RECORDED_RELEASES.index(cluster.release)
    assert said == ("" if taken[at] else "sbatch: error: Batch job submission failed: Invalid feature specification\n")


def test_a_preferred_feature_is_one_of_the_nodes(cluster: Scripts) -> None:
    said = cluster.run("sbatch -H --prefer=nosuch --wrap true", "alice")[2]
    assert said == "sbatch: error: Batch job submission failed: Invalid preferred feature specification\n"
    assert held(cluster, "--prefer=quad")["Prefer"] == "quad"
