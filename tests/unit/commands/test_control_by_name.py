"""What scontrol hold says of jobs named otherwise than by id, and who may be asked by -M."""

from __future__ import annotations

from pathlib import Path

from unit.commands.engine_client import Cluster
from unit.commands.test_scancel import CONF


def test_what_a_hold_fails_with_is_what_the_last_job_failed_with(tmp_path: Path) -> None:
    """A running job that is named is an error, but its update is none (errno of slurm_perror)."""
    cluster = Cluster(tmp_path, CONF)
    cluster.submit(name="runs")
    cluster.submit(name="over", seconds=1)
    cluster.now += 30
    assert cluster.run("scontrol hold jobname=runs") == (1, "", "slurm_suspend error: No error\n")
    told = "Job has already finished for job 2\n"
    assert cluster.run("scontrol hold 2,1") == (1, "", f"{told}slurm_suspend error: No error\n")
    assert cluster.run("scontrol hold 1,2") == (1, "", f"{told}slurm_suspend error: Job has already finished\n")


def test_a_task_that_is_named_has_a_record_of_its_own_whoever_named_it(tmp_path: Path) -> None:
    """Such a record is before that of its array, which has no index."""
    cluster = Cluster(tmp_path, CONF)
    cluster.submit(array_inx="1-4%1")
    cluster.now += 70
    cluster.text("squeue")
    assert cluster.run("scontrol release 1_4", "bob")[2].startswith("1_4: ")
    cluster.now += 130
    assert cluster.text("squeue -h -t R -o %i") == "1_4\n"
    assert cluster.again().jobs.keys() == cluster.engine.jobs.keys()


def test_a_record_of_its_own_overtakes_a_task_that_has_not_started_either(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, CONF)
    cluster.submit(num_tasks=4)
    cluster.submit(num_tasks=4, array_inx="1-5%2", seconds=500)
    cluster.now += 70
    assert sorted(cluster.text("squeue -h -t R -o %i").split()) == ["1", "2_1"]
    assert cluster.run("scontrol release 2_4", "bob")[2].startswith("2_4: ")
    cluster.now += 60
    assert sorted(cluster.text("squeue -h -t R -o %i").split()) == ["2_1", "2_4"]
    cluster.engine.controller.recalculation.check()


def test_sshare_asks_no_cluster_that_is_not_there(tmp_path: Path) -> None:
    code, out, error = Cluster(tmp_path).run("sshare -M nowhere")
    assert (code, out) == (1, "")
    assert error.startswith("sshare: error: No cluster 'nowhere' known by database.\n")
