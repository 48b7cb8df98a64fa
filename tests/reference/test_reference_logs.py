"""The naive EASY against what was published and agreed on for archive logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from . import easy, easy_pyss, fcfs
from .logs import means, normal_form


def log(name: str) -> Path:
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder:
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs")
    return Path(folder) / f"{name}.swf.gz"


@pytest.mark.parametrize(
    ("name", "n", "count", "wait", "slowdown"),
    [
        ("lublin_256", 256, 10_000, 97_156.0, 590.05),
        ("KTH-SP2-1996-2", 100, 28_481, 6_834.6, 92.69),
        ("SDSC-SP2-pyss-easy", 128, 54_006, 20_570.9, 87.81),
        pytest.param("CTC-SP2-pyss-easy", 338, 77_199, 13_943.0, 48.84, marks=pytest.mark.slow),
        pytest.param("SDSC-BLUE-pyss-easy", 1_152, 232_542, 7_870.1, 37.41, marks=pytest.mark.slow),
        ("ALCF-Theta-2022", 4_360, 23_911, 43_817.7, 115.84),
    ],
)
def test_textbook_easy_gives_the_agreed_means(name: str, n: int, count: int, wait: float, slowdown: float) -> None:
    jobs, _ = normal_form(log(name), n)
    assert len(jobs) == count
    found = means(jobs, easy(jobs, n))
    assert (round(found[0], 1), round(found[1], 2)) == (wait, slowdown)


def test_fcfs_gives_the_agreed_mean_wait() -> None:
    jobs, _ = normal_form(log("KTH-SP2-1996-2"), 100)
    assert means(jobs, fcfs(jobs, 100))[0] == pytest.approx(353_776, abs=1)


@pytest.mark.parametrize(
    ("name", "n", "count"),
    [
        ("KTH-SP2-pyss-easy", 100, 28_481),
        ("SDSC-SP2-pyss-easy", 128, 54_006),
        pytest.param("CTC-SP2-pyss-easy", 338, 77_199, marks=pytest.mark.slow),
        pytest.param("SDSC-BLUE-pyss-easy", 1_152, 232_542, marks=pytest.mark.slow),
        pytest.param("CEA-curie-pyss-easy", 80_640, 295_540, marks=pytest.mark.slow),
    ],
)
def test_pyss_variant_gives_the_published_starts(name: str, n: int, count: int) -> None:
    jobs, waits = normal_form(log(name), n)
    assert len(jobs) == count
    starts = easy_pyss(jobs, n)
    assert [starts[job.job_id] - job.submit for job in jobs] == waits
