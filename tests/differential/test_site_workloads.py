"""Workloads on kinds of clusters: GPUs, a tree of switches, licenses, reservations. Drawn, recorded, replayed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from kept_figures import printed
from unseen import kept
from unseen.site_workloads import JOBS, KINDS, draw_site_workload

from slurmsim.cli import main
from slurmsim.errors import WorkloadError
from slurmsim.fidelity import read_recording
from slurmsim.fidelity.locked import replay_locked
from slurmsim.fidelity.recording import Recording

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "conformance" / "unseen" / "kinds"
MISSED = {"gpu": 0, "licenses": 0, "maintenance": 1, "tree": 0}  # recorded starts our next pass does not make


def recording_of(kind: str, folder: Path) -> Recording:
    return read_recording(folder / kept.unpack(RECORDED / f"w-{kind}.workload.xz", folder))


def texts(recording: Recording, column: str) -> set[str]:
    found = recording.workload.texts[column]
    return {found[row] for row in range(len(recording.jobs))}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_draws_jobs_that_ask_for_what_it_has(kind: str) -> None:
    cluster, workload = draw_site_workload(3, kind)
    asked = {field for job in workload["jobs"] for field in job}
    assert len(workload["jobs"]) == JOBS
    assert asked & {"gres", "gpus", "licenses", "switches", "nodelist", "reservation"}
    assert draw_site_workload(3, kind)[1] == workload != draw_site_workload(4, kind)[1]
    assert "MinJobAge=100000" in cluster.files["slurm.conf"]


@pytest.mark.parametrize("kind", MISSED)
def test_recorded_starts_are_made_by_our_next_pass(kind: str, tmp_path: Path) -> None:
    found = replay_locked(recording_of(kind, tmp_path))
    assert found.starts == JOBS
    assert found.starts - found.on_nodes <= MISSED[kind]
    assert found.share_of_reasons >= 0.98


def test_switches_hold_the_cpus_of_a_job_in_newer_releases(tmp_path: Path) -> None:
    """Its wait for switches counts from a pass on a copy on, and what the recording shows is carried out over it."""
    name = kept.unpack(RECORDED.parent / "personas-26.05" / "w-tree.workload.xz", tmp_path)
    found = replay_locked(read_recording(tmp_path / name))
    assert (found.starts, found.missed, found.displaced) == (JOBS, [31], 0)


def test_a_recording_knows_gpus_switches_and_reservations(tmp_path: Path) -> None:
    gpu, tree, maintenance = (recording_of(kind, tmp_path) for kind in ("gpu", "tree", "maintenance"))
    assert "gpu:a100:2" in texts(gpu, "gres") and "2" in texts(gpu, "gpus")
    assert [switch.name for switch in tree.cluster.switches] == ["leaf1", "leaf2", "spine"]
    assert {"--switches=1", "--switches=1@5:00", ""} == texts(tree, "options")
    assert {"r2n2", ""} == texts(tree, "node_list")
    assert [spec.name for spec in maintenance.reservations] == ["window", "group"]
    assert "group" in texts(maintenance, "reservation")


def test_without_the_maintenance_window_jobs_start_that_real_slurm_keeps_waiting(tmp_path: Path) -> None:
    recording = recording_of("maintenance", tmp_path)
    for spec in recording.reservations:
        assert recording.up_since < spec.start  # on slurmctld's clock
    without = replace(recording, reservations=recording.reservations[1:])
    assert replay_locked(without).share_in_time < replay_locked(recording).share_in_time


def test_what_the_replay_does_not_model_is_refused_by_name(tmp_path: Path) -> None:
    name = kept.unpack(RECORDED / "w-tree.workload.xz", tmp_path)
    path = tmp_path / "w-tree.workload.json"
    workload = json.loads(path.read_text("utf-8"))
    workload["jobs"][0]["deadline"] = "now+600"
    path.write_text(json.dumps(workload), "utf-8")
    with pytest.raises(WorkloadError, match="has 'deadline'"):
        read_recording(tmp_path / name)


@pytest.mark.slow
def test_kept_figures_are_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(tmp_path / kept.unpack(RECORDED / f"w-{kind}.workload.xz", tmp_path)) for kind in MISSED]
    assert main(["fidelity", "--markdown", *files]) == 0
    assert capsys.readouterr().out.strip() == printed("recordings", "kinds")
