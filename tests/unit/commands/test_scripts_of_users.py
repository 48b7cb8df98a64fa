"""What batch scripts ask for, as real Slurm 22.05.8, 24.11.5 and 26.05.5 took it; what came is beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from script_cluster import Scripts

from slurmsim.releases import RELEASES


@pytest.fixture(scope="module", params=RELEASES)
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
    assert held(cluster, options).get("MailType") == told[RELEASES.index(cluster.release)]


@pytest.mark.parametrize(
    ("options", "nodes", "cpus"),
    [("-N100 -c128", "100-100", "12800"), ("-N1024", "1024-1024", "1024"), ("-N1-2048 -n5000", "1-2048", "5000")],
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
    fatal = "sbatch: fatal: --gpus-per-node and --gres=gpu are mutually exclusive.\n"
    assert (code, error) == ((1, fatal) if cluster.release == "26.05" else (0, ""))
