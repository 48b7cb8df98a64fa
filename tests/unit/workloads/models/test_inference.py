"""Days of inference: replicas that run follow the demand of the moment, whatever the cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmsim.errors import ConfigError
from slurmsim.workload import Workload
from slurmsim_workloads.models.gpu_nodes import DAY_S
from slurmsim_workloads.models.inference import InferenceParams, cycle, generate, replicas


def gpus_of(log: Workload) -> np.ndarray:
    return np.array([int(log.texts["gres"][i][4:]) for i in range(len(log))])


def running(log: Workload, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What runs at each of these times if every job starts at once."""
    begin, end = log.ints["submit"], log.ints["submit"] + log.ints["run_time"]
    return np.array([weights[(begin <= t) & (t < end)].sum() for t in at])


@given(
    st.integers(1, 9), st.integers(1, 30), st.floats(0, 1), st.floats(0, 1), st.sampled_from([60, 300, 700, 3600]),
    st.floats(1, 30), st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_replicas_that_run_are_those_that_the_demand_needs(
    days: int, services: int, trough: float, noise: float, period: int, longest: float, seed: int
) -> None:
    """Jobs are in order and within their limit; those of a service that run at once are its replicas, at any time."""
    params = InferenceParams(
        days=days, services=services, trough=trough, noise=noise, period=period, longest=longest, nodes=4
    )
    log = generate(params, seed)
    i = log.ints
    assert (np.diff(i["submit"]) >= 0).all() and i["submit"].min() >= 0 and i["submit"].max() < days * DAY_S
    assert (i["run_time"] >= 1).all() and (i["run_time"] <= i["time_limit"]).all()
    assert (i["run_time"] % period == 0).all() and (i["submit"] % period == 0).all()
    gpus = gpus_of(log)
    assert set(gpus.tolist()) <= {1, 2, 4, 8} and (i["cpus_per_task"] == 12 * gpus).all()

    rng = np.random.default_rng(seed)
    rng.random(services)  # the draw of the sizes
    size = np.array([gpus[log.texts["user"].codes == s + 1][0] if (log.texts["user"].codes == s + 1).any() else 1
                     for s in range(services)])  # fmt: skip
    wanted = replicas(rng, params, size)
    at = np.arange(wanted.shape[1])[:: max(1, wanted.shape[1] // 20)]
    service = log.texts["user"].codes - 1
    for s in range(min(services, 4)):
        assert running(log, at * period, (service == s).astype(int)).tolist() == wanted[s, at].tolist()
    again = generate(params, seed)
    assert all((log.ints[name] == again.ints[name]).all() for name in log.ints)


def test_the_day_has_a_peak_and_a_trough() -> None:
    """At the peak of a weekday the GPUs wanted are the load's; at the quietest hour and at weekends fewer."""
    params = InferenceParams(days=7, nodes=400, noise=0.0)
    log = generate(params, 1)
    at = np.array([14, 2, 5 * 24 + 14]) * 3600
    peak, quiet, saturday = running(log, at, gpus_of(log)) / (400 * 8)
    assert 0.8 <= peak < 0.83 and 0.24 <= quiet < 0.27 and 0.48 <= saturday < 0.51
    assert cycle(params, at).tolist() == pytest.approx([1, 0.3, 0.6])


def test_another_seed_makes_other_jobs() -> None:
    one, other = (generate(InferenceParams(), seed) for seed in (1, 2))
    assert len(one) != len(other) or (one.ints["submit"] != other.ints["submit"]).any()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"largest": 9}, "largest"), ({"gpus_per_node": 97}, "gpus_per_node"), ({"period": 4000}, "period"),
        ({"days": 3650, "services": 100_000}, "period"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(given: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        InferenceParams(**given)


def test_too_many_replicas_are_refused() -> None:
    with pytest.raises(ConfigError, match="load"):
        generate(InferenceParams(nodes=1_000_000, load=100_000.0), 1)
