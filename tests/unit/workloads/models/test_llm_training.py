"""LLM training: what each parameter promises, and the closed formula against simulated failures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.validate import validate_trace
from slurmsim.workload import Workload
from slurmsim_workloads.generators import generate as by_name
from slurmsim_workloads.models.llm_training import (
    HOUR_S,
    LlmTrainingParams,
    Saving,
    expected_time_s,
    generate,
    young_interval_s,
)


def is_training(log: Workload) -> np.ndarray:
    return np.array([log.texts["name"][i] == "training" for i in range(len(log))], bool)


@given(
    st.integers(1, 300), st.integers(1, 300), st.floats(0, 1), st.integers(1, 8), st.floats(0.01, 1), st.integers(0, 99)
)
@settings(max_examples=60, deadline=None)
def test_counts_order_and_bounds(
    jobs: int, nodes: int, evaluations: float, gpus: int, largest: float, seed: int
) -> None:
    """As many jobs as asked for, by time; gangs fit the cluster; limits leave room; equal seeds repeat."""
    params = LlmTrainingParams(
        jobs=jobs, nodes=nodes, evaluations=evaluations, gpus_per_node=gpus, largest=largest, smallest=1
    )
    log = generate(params, seed)
    i, trains = log.ints, is_training(log)
    assert len(log) == jobs and (np.diff(i["submit"]) >= 0).all() and i["submit"].min() >= 0
    assert i["nodes"].min() >= 1 and i["nodes"].max() <= params.most_nodes <= nodes
    assert (i["nodes"][~trains] == 1).all() and (i["exclusive"] == trains).all()
    assert (i["run_time"] >= 1).all() and (i["run_time"][trains] <= params.longest * HOUR_S).all()
    assert (i["time_limit"] >= i["run_time"]).all()
    gres = [log.texts["gres"][k] for k in range(jobs)]
    assert gres == [f"gpu:{gpus if one else 1}" for one in trains]
    assert (i["tasks"] == i["nodes"] * i["tasks_per_node"]).all()
    assert (i["tasks_per_node"] * i["cpus_per_task"] <= params.cpus_per_node).all()
    again = generate(params, seed)
    assert all((log.ints[name] == again.ints[name]).all() for name in log.ints)


def test_another_seed_makes_other_jobs() -> None:
    one, other = (generate(LlmTrainingParams(), seed) for seed in (1, 2))
    assert (one.ints["run_time"] != other.ints["run_time"]).any()


def test_the_load_is_met_and_trainings_have_most_of_it() -> None:
    log = generate(LlmTrainingParams(jobs=4000, load=0.7), 5)
    i, trains = log.ints, is_training(log)
    share = np.where(trains, 1.0, 1 / 8) * i["nodes"] * i["run_time"]
    span = i["submit"][-1] - i["submit"][0]
    assert share.sum() / (128 * span) == pytest.approx(0.7, rel=1e-3)
    assert trains.mean() == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / 4000))
    assert share[trains].sum() > 0.99 * share.sum()


def test_sizes_and_work_of_trainings() -> None:
    log = generate(LlmTrainingParams(jobs=5000, evaluations=0.0), 2)
    sizes, counts = np.unique(log.ints["nodes"], return_counts=True)
    assert sizes.tolist() == [2, 4, 8, 16, 32, 64]
    assert counts / 5000 == pytest.approx([1 / 6] * 6, abs=4 * math.sqrt(5 / 36 / 5000))
    z = np.log(log.ints["run_time"] / (24 * HOUR_S)) / 1.2
    assert np.median(z) == pytest.approx(0, abs=4 * 1.2533 / math.sqrt(5000))


@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 9), st.integers(0, 9), st.integers(20, 500))
@settings(max_examples=30, deadline=None)
def test_the_formula_is_the_mean_of_drawn_failures(
    work: int, interval: int, write: int, restart: int, mtbf: int
) -> None:
    """The mean of 3,000 drawn histories is within five standard errors: failures may strike restarts and writes."""
    rng = np.random.default_rng(work)
    n_whole = max(0, work - 1) // interval
    segments = [(0, interval + write)] * min(1, n_whole) + [(restart, interval + write)] * max(0, n_whole - 1)
    segments.append((restart if n_whole else 0, work - n_whole * interval))
    spent = np.zeros(3000)
    for before, length in segments:  # memoryless: each segment may be drawn by itself
        open_, first = np.ones(3000, bool), True
        while open_.any():
            need = length + (0 if first else before)
            fails = rng.exponential(mtbf, 3000)
            spent[open_] += np.minimum(fails, need)[open_]
            open_, first = open_ & (fails < need), False
    wanted = expected_time_s(work, 1, mtbf, Saving(interval, write, restart))
    assert abs(spent.mean() - wanted) < 5 * spent.std() / math.sqrt(3000) + 1e-6


def test_young_is_near_the_best_interval() -> None:
    mtbf, write = 48_000.0, 60
    young = young_interval_s(mtbf, write)
    work = 4_000_000
    at = {f: expected_time_s(work, 1, mtbf, Saving(round(young * f), write, 0)) for f in (0.5, 1, 2)}
    assert young == pytest.approx(2400) and at[1] < min(at[0.5], at[2])


CONF = """ClusterName=llm
SlurmctldHost=head
SelectType=select/cons_tres
GresTypes=gpu
NodeName=n[1-24] Sockets=2 CoresPerSocket=48 RealMemory=1000000 Gres=gpu:8
PartitionName=all Nodes=n[1-24] Default=YES MaxTime=UNLIMITED
"""


def test_goodput_of_a_simulated_run_is_that_of_the_formula(tmp_path: Path) -> None:
    """Useful over allocated node time, of gangs whose nodes fail every 60 hours: within 2 % of the closed formula."""
    (tmp_path / "slurm.conf").write_text(CONF, encoding="utf-8")
    options = {
        "jobs": "150", "nodes": "24", "evaluations": "0", "smallest": "4", "largest": "0.7", "mtbf": "60",
        "median": "24", "sigma": "0.5", "write": "120", "restart": "600", "slack": "20",
    }  # fmt: skip
    log = by_name("llm-training", options, 3)
    words = log.header.fields["Failures"].split()
    given = dict(zip(words[::2], words[1::2], strict=True))
    saving = Saving(*map(int, given["--checkpoint"].split(":")))
    text = "generate:llm-training:" + ",".join(f"{key}={value}" for key, value in options.items())
    trace = slurmsim.run(
        text, conf=tmp_path / "slurm.conf", policy="easy", out=tmp_path / "out", seed=3, report=False,
        mtbf=int(given["--mtbf"]), mttr=1800, checkpoint=given["--checkpoint"],
    )  # fmt: skip
    jobs, runs = trace.jobs_frame(dates=False), trace.checkpoints_frame(dates=False)
    assert (jobs["state"] == "COMPLETED").all() and len(runs) > 150 + 700
    sizes = dict(zip(jobs["job_id"], jobs["nodes"], strict=True))
    nodes = runs["job_id"].map(sizes)
    useful = float(np.dot(log.ints["nodes"], log.ints["run_time"]))
    allocated = float((nodes * (runs["work_s"] + runs["overhead_s"])).sum())
    expected = sum(
        n * expected_time_s(work, n, 60 * HOUR_S, saving)
        for n, work in zip(log.ints["nodes"].tolist(), log.ints["run_time"].tolist(), strict=True)
    )
    assert useful / expected < 0.9  # failures cost something here
    print(f"goodput {useful / allocated:.4f}, by the formula {useful / expected:.4f}")
    assert useful / allocated == pytest.approx(useful / expected, rel=0.02)
    assert validate_trace(tmp_path / "out").valid


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"smallest": 65}, "smallest"),
        ({"load": 0.5, "jobs_per_hour": 3.0}, "load"),
        ({"gpus_per_node": 97}, "gpus_per_node"),
        ({"accounts": 13}, "accounts"),
        ({"mtbf": 0.0}, "mtbf"),
    ],
)
def test_bad_parameters_are_named(given: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        LlmTrainingParams(**given)


def test_a_training_that_never_ends_is_refused() -> None:
    with pytest.raises(ConfigError, match="mtbf"):
        generate(LlmTrainingParams(mtbf=0.001, interval=3600.0), 1)
