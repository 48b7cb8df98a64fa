"""Settings every test shares: Hypothesis profiles, and a header that says what this run can and cannot show."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from slurmsim import long_lived

# Same examples in every run, so that a red suite is red for everybody; the search for new ones is the nightly's work.
settings.register_profile("ci", max_examples=16, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "nightly",
    max_examples=2000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)
if PROFILE == "ci":
    # Hypothesis also draws constants it reads in modules imported so far, which differ with the tests run before and
    # with the order of the workers: without them an example is a matter of the seed alone.
    providers._get_local_constants = providers.Constants

os.environ["SLURMSIM_DEFAULT_RELEASE"] = "22.05"  # tests are of this release unless they name one (decision 0025)

gc.set_threshold(20_000, 20, 20)  # a test leaves little behind, and after each module all that is alive is frozen

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has what it starts in the background ignore Ctrl-C, and so would all that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXTERNAL = {
    "SLURMSIM_DATA": "the folder with the SWF logs",
    "SLURMSIM_GOLDEN": "the folder with the recordings of real Slurm",
}


@pytest.fixture(scope="session", autouse=True)
def _a_study_has_one_worker() -> Iterator[None]:
    """A second worker process loads all anew, for cells of a tenth of that; tests of workers say how many they want."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slurmsim.campaign.workers.cores", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_cluster_started_last_is_that_of_a_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands without a cluster's folder find the one started last, noted in the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _old_objects_are_not_looked_at() -> Iterator[None]:
    """Every replay collects garbage first, which in a process of 9,000 tests takes longer than the replay."""
    long_lived.freeze()
    yield


@pytest.fixture(scope="module", autouse=True)
def _the_environment_is_put_back() -> Iterator[None]:
    """A cluster's folder that is left in the environment leads commands of later tests to a cluster that is gone."""
    before = _commands_environment()
    yield
    assert _commands_environment() == before


def _commands_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("SLURM")}


def pytest_report_header() -> list[str]:
    lines = [f"hypothesis profile: {PROFILE} (choose with HYPOTHESIS_PROFILE=ci|nightly)"]
    for variable, meaning in EXTERNAL.items():
        folder = os.environ.get(variable)
        lines.append(f"{variable}: {folder or f'not set: tests that need {meaning} are skipped'}")
    return lines
