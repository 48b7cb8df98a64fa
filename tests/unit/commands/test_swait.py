"""swait: what it refuses, in the words of 26.05.5, and that it waits for steps and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from script_cluster import CONF, Scripts

NONE_GIVEN = "swait: error: no job id given and SLURM_JOB_SLUID/SLURM_JOB_ID are not set\n"
UNKNOWN = "swait: error: cannot load {}: Invalid job id specified\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Scripts:
    conf = f"{CONF}SlurmctldParameters=enable_stepmgr\nPrologFlags=Contain\n"
    made = Scripts(tmp_path_factory.mktemp("swait"), "26.05", conf)
    made.sbatch("-H")
    made.sbatch("--array=0-1")
    made.sbatch("")
    made.now += 6
    return made


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", NONE_GIVEN),
        ("--timeout -1 1", "swait: error: --timeout: invalid value '-1' (must be a non-negative integer)\n"),
        ("42.0", "swait: error: 42.0: swait operates on a job, not a step\n"),
        ("42_[0-3]", "swait: error: 42_[0-3]: array-task ranges are not supported, pass one task offset\n"),
        ("42+1", "swait: error: 42+1: het-job offsets are not supported\n"),
        ("42_", "swait: error: 42_: cannot parse job id\n"),
        ("0", "swait: error: 0: cannot parse job id\n"),
        ("sZZZ", "swait: error: sZZZ: cannot parse job id\n"),
        ("1 2", "swait: error: too many positional arguments (expected at most one job id)\n"),
        ("--nope", "swait: unrecognized option '--nope'\nswait: Try \"swait --help\" for more information\n"),
        ("4294967292_3", UNKNOWN.format("JobId=4294967292")),
        ("s0000000000001", UNKNOWN.format("SLUID=s0000000000001")),
        ("1", "swait: error: JobId=1 is still pending; swait does not wait for jobs to start\n"),
        ("1_0", "swait: error: JobId=1: not an array job\n"),
        ("2", "swait: error: JobId=2 is an array job; pass a specific task offset (jobid_task)\n"),
        ("2_99", "swait: error: array task 2_99: not found\n"),
    ],
)
def test_what_is_refused(cluster: Scripts, words: str, said: str) -> None:
    assert cluster.run(f"swait {words}", "alice") == (2, "", said)


def test_a_job_without_steps_is_not_waited_for(cluster: Scripts) -> None:
    assert cluster.run("swait 2_0", "alice") == (0, "", "")


def test_only_jobs_with_stepmgr(tmp_path: Path) -> None:
    plain = Scripts(tmp_path, "26.05")
    job = plain.sbatch("")
    plain.now += 6
    said = f"swait: error: JobId={job} does not have stepmgr enabled\n"
    assert plain.run(f"swait {job}", "alice") == (2, "", said)
