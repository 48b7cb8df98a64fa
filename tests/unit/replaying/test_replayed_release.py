"""A replay decides as the release it is told, on any cluster, and beside another release in a study."""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import prepare
from slurmsim.validate.judge import validate_trace
from slurmsim.whatif.asked import asked

SAMPLE = Path(__file__).resolve().parents[3] / "workloads/samples/sample"
GIVEN = {"conf": SAMPLE.with_suffix(".conf"), "jobs": 400}


def options(**more: object) -> RunOptions:
    return RunOptions.of(SAMPLE.with_suffix(".parquet"), "", **GIVEN | more)  # type: ignore[typeddict-item]


def starts(folder: Path, **more: object) -> list[int]:
    trace = slurmsim.run(SAMPLE.with_suffix(".parquet"), out=folder, report=False, **GIVEN | more)  # type: ignore[arg-type]
    assert validate_trace(folder).valid
    return trace.jobs_frame()["start"].tolist()


def test_rules_are_those_of_the_release(tmp_path: Path) -> None:
    """The log is one in which a rule that changed since decides."""
    first = starts(tmp_path / "a")
    assert prepare(options()).cluster.release == "22.05"
    assert starts(tmp_path / "c", release="26.05") != first
    assert slurmsim.read_trace(tmp_path / "c").manifest["options"]["release"] == "26.05"


def test_a_made_up_cluster_has_it_too() -> None:
    assert prepare(options(conf=None, impossible_jobs="drop", nodes=80)).cluster.release == "22.05"
    assert prepare(options(conf=None, impossible_jobs="drop", nodes=80, release="24.11")).cluster.release == "24.11"


def test_a_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown Slurm release '30.05' .expected one of 22.05, "):
        prepare(options(release="30.05"))


def test_a_study_says_from_which_to_which() -> None:
    study = asked(prepare(options()), prepare(options(release="26.05")))
    assert study.what.startswith("release: 22.05 -> 26.05")
