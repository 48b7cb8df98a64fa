"""The learned order: what its file may hold, what it starts, and that its decisions are those of the network."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.gym.network import FEATURES, Order, features, order_of, read_order
from slurmsim.gym.observing import Question
from slurmsim.policy import load_policy
from slurmsim.toml_file import parse_toml
from slurmsim.validate import validate_trace
from slurmsim_policies.learned_order import BUNDLED

LOG = "generate:lublin:jobs=120,nodes=16"


def shortest_order(sign: float = -1.0) -> Order:
    """A network of one layer that looks at the limit alone."""
    weight = np.zeros((len(FEATURES), 1))
    weight[FEATURES.index("limit")] = sign
    return Order((weight,), (np.zeros(1),), "shortest")


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_a_file_keeps_the_network(seed: int, n: int) -> None:
    """Written and read again, the scores are the same to six digits, and the text to the last byte."""
    order = replace(Order.drawn(np.random.default_rng(seed)), about='a "name" \\ ünder')
    seen = np.random.default_rng(n).random((n, len(FEATURES)))
    text = order.text()
    again = order_of(parse_toml(text), "a.toml")
    assert again.text() == text
    assert again.about == order.about
    assert again.scores(seen) == pytest.approx(order.scores(seen), abs=1e-5)


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0, 1)), min_size=1, max_size=9))
def test_features_are_finite_and_of_each_job_alone(rows: list[tuple[float, float, float]]) -> None:
    jobs = np.array([[*row, 1, 1] for row in rows], np.float32)
    cluster = np.array([0.5, 3, 12], np.float32)
    seen = features(jobs, cluster)
    assert seen.shape == (len(rows), len(FEATURES)) and np.isfinite(seen).all() and np.abs(seen).max() < 10
    for k in range(len(rows)):
        assert features(jobs[k : k + 1], cluster)[0].tolist() == seen[k].tolist()


def test_the_best_that_fits_is_chosen_and_the_first_of_equals() -> None:
    jobs = np.zeros((4, 5), np.float32)
    jobs[:, 1], jobs[:, 2], jobs[:, 4] = [1, 3, 2, 2], 0.1, 1
    mask = np.array([0, 1, 1, 1, 1], np.int8)
    question = Question([], jobs, np.zeros(3, np.float32), mask)
    assert shortest_order().choose(question) == 2
    assert shortest_order(1.0).choose(question) == 1


def test_it_is_shortest_first_with_the_network_of_that(tmp_path: Path) -> None:
    """Of equal jobs that wait for one node the shortest starts first, under its name in a run."""
    import pandas as pd

    (tmp_path / "a.toml").write_text(shortest_order().text(), encoding="utf-8")
    jobs = pd.DataFrame(
        {"job_id": [1, 2, 3, 4], "submit": [0, 1, 1, 1], "run_time": [100, 30, 20, 10],
         "time_limit": [100, 300, 200, 120], "nodes": [1, 1, 1, 1]}
    )  # fmt: skip
    trace = slurmsim.run(jobs, nodes=1, policy=f"learned_order:model={tmp_path}/a.toml", out=tmp_path / "out")
    assert trace.jobs_frame(dates=False).set_index("job_id")["start"].to_dict() == {1: 0, 4: 100, 3: 110, 2: 130}
    assert validate_trace(tmp_path / "out").valid


def test_the_one_that_comes_with_slurmsim(tmp_path: Path) -> None:
    """It is read, decides alike twice, and every schedule is valid; a job a limit forbids does not hold up others."""
    assert read_order(BUNDLED).weights[0].shape[0] == len(FEATURES)
    one, two = (slurmsim.run(LOG, nodes=16, policy="learned_order", out=tmp_path / name) for name in "ab")
    assert one.jobs.equals(two.jobs) and validate_trace(tmp_path / "a").valid
    fcfs = slurmsim.run(LOG, nodes=16, policy="fcfs", out=tmp_path / "c").summary
    assert one.summary["mean_bounded_slowdown"] < fcfs["mean_bounded_slowdown"]


def test_a_limit_forbids_one_job_alone(tmp_path: Path) -> None:
    """The user of job 2 may run one job at once: job 3 of another user starts at once all the same."""
    import pandas as pd

    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nAccountingStorageType=accounting_storage/slurmdbd\n"
        "AccountingStorageEnforce=limits\nNodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=n[1-4] Default=YES\n"
    )
    (tmp_path / "a.cfg").write_text(
        "Cluster - 'c'\nParent - 'root'\nAccount - 'x'\nParent - 'x'\nUser - 'ann':MaxJobs=1\nUser - 'bob'\n"
    )
    jobs = pd.DataFrame(
        {"job_id": [1, 2, 3], "submit": [0, 0, 0], "run_time": [50] * 3, "time_limit": [60, 60, 600],
         "nodes": [1] * 3, "user": ["ann", "ann", "bob"], "account": ["x"] * 3}
    )  # fmt: skip
    (tmp_path / "s.toml").write_text(shortest_order().text(), encoding="utf-8")
    trace = slurmsim.run(
        jobs, conf=tmp_path / "slurm.conf", accounting=tmp_path / "a.cfg", out=tmp_path / "out",
        policy=f"learned_order:model={tmp_path}/s.toml",
    )  # fmt: skip
    assert trace.jobs_frame(dates=False).set_index("job_id")["start"].to_dict() == {1: 0, 2: 50, 3: 0}


GOOD = shortest_order().text()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("x", "no TOML"),
        (GOOD.replace("format = 1", "format = 2"), "format"),
        (GOOD + "code = 1\n", "layer 1.code"),
        ("import = 'os'\n" + GOOD, "import"),
        (GOOD.replace('"waited"', '"other"').replace("'waited'", "'other'"), "features"),
        (GOOD.replace("[[layer]]", "[[layers]]"), "layers"),
        (GOOD.replace("bias = [0.0]", "bias = [0.0, 0.0]"), "layer 1.bias"),
        (GOOD.replace("bias = [0.0]", "bias = [nan]"), "layer 1.bias"),
        (GOOD.replace("bias = [0.0]", "bias = ['0']"), "layer 1.bias"),
        (GOOD.replace("bias = [0.0]", "bias = 0.0"), "layer 1.bias"),
        (GOOD.replace("    [0.0],\n", "", 1), "layer 1.weight"),
        (GOOD.replace("    [0.0],\n", "    [0.0, 1.0],\n", 1), "layer 1.weight"),
        (GOOD.replace("    [0.0],\n", "    [1e9],\n", 1), "layer 1.weight"),
        (GOOD + "[[layer]]\nbias = [0.0]\nweight = [[1.0]]\n" * 4, "layer"),
        ("format = 1\nlayer = 3\n" + GOOD.splitlines()[2] + "\n", "layer"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(field)) as caught:
        load_policy("learned_order")({"model": str(tmp_path / "a.toml")})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.mark.parametrize("options", [{"model": "/nowhere/a.toml"}, {"slots": "0"}, {"other": "1"}])
def test_bad_options_are_one_line(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_policy("learned_order")(options)
    assert "\n" not in str(caught.value)


def test_a_changed_model_is_another_cell(tmp_path: Path) -> None:
    """A sweep runs anew when the file of the network changes, and not else."""
    model = tmp_path / "a.toml"
    grid = {"workloads": [{"name": "w", "workload": "generate:lublin:jobs=30,nodes=8"}], "seeds": [1],
            "policies": [f"learned_order:model={model}"], "run": {"nodes": 8}}  # fmt: skip
    ran = []
    for text in (shortest_order().text(), shortest_order().text(), shortest_order(1.0).text()):
        model.write_text(text, encoding="utf-8")
        ran.append(slurmsim.sweep(grid, out=tmp_path / "out", workers=1).ran)
    assert ran == [1, 0, 1]


def test_in_a_live_cluster_the_network_is_kept(tmp_path: Path) -> None:
    """A slurm.conf names a file beside it: the cluster has a copy, goes by it, and goes on by it after a restart."""
    conf = (
        "ClusterName=c\nSlurmctldHost=h\nSchedulerType=sched/learned_order:model=order.toml\n"
        "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1 Default=YES MaxTime=INFINITE\n"
    )
    (tmp_path / "slurm.conf").write_text(conf, encoding="utf-8")
    (tmp_path / "order.toml").write_text(shortest_order().text(), encoding="utf-8")
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True) as c:
        c.run("sbatch -t 10 --wrap 'sleep 60'")
        c.step("1s")
        for minutes in (9, 5, 7):
            c.run(f"sbatch -t {minutes} --wrap 'sleep 60'")
        (tmp_path / "order.toml").unlink()
        for one in (c.fork(), c):
            with one if one is not c else nullcontext():
                one.until_idle()
                starts = {number: one.job(number).start_time for number in (1, 2, 3, 4)}
                assert sorted(starts, key=starts.__getitem__) == [1, 3, 4, 2]
