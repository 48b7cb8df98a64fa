"""The mix: what each parameter promises, and that every job fits the nodes it was made for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.errors import ConfigError
from slurmsim.workload import Workload
from slurmsim_workloads.models.mix import generate
from slurmsim_workloads.models.mix_params import MixParams, PartitionMix, parse_partitions

TWO = "batch:weight=0.8:nodes=64,gpu:weight=0.2:nodes=8:gpus=4:hours=12"


def column(w: Workload, name: str) -> np.ndarray:
    """A text column as an array of texts."""
    return np.array(w.texts[name].values, dtype=object)[w.texts[name].codes]


def nodes_of(w: Workload) -> np.ndarray:
    return np.maximum(w.ints["nodes"], 1)


def cpus_on_a_node(w: Workload) -> np.ndarray:
    return w.ints["tasks"] * w.ints["cpus_per_task"] // nodes_of(w)


def memory_on_a_node(w: Workload) -> np.ndarray:
    """MiB asked for on each node, -1 when nothing is said."""
    by_cpu = np.where(w.ints["mem_per_cpu"] > 0, w.ints["mem_per_cpu"] * cpus_on_a_node(w), -1)
    return np.where(w.ints["mem_per_node"] > 0, w.ints["mem_per_node"], by_cpu)


def gpus_on_a_node(w: Workload) -> np.ndarray:
    return np.array([int(v[4:]) if v else 0 for v in w.texts["gres"].values])[w.texts["gres"].codes]


def offered_load(w: Workload, cluster: tuple[PartitionMix, ...]) -> float:
    """Node-seconds of the largest share each job takes, job by job, over what the cluster has."""
    partition = column(w, "partition")
    by_name = {p.name: p for p in cluster}
    total = 0.0
    cpus, memory, gpus, nodes = cpus_on_a_node(w), memory_on_a_node(w), gpus_on_a_node(w), nodes_of(w)
    for i in range(len(w)):
        p = by_name[partition[i]]
        share = max(cpus[i] / p.cpus, memory[i] / p.mem, gpus[i] / p.gpus if p.gpus else 0)
        if w.ints["exclusive"][i]:
            share = 1.0
        held = min(w.ints["run_time"][i], w.ints["time_limit"][i])
        if w.ints["cancel_at"][i] >= 0:
            held = min(held, w.ints["cancel_at"][i] - w.ints["submit"][i])
        total += nodes[i] * share * held
    span = w.ints["submit"][-1] - w.ints["submit"][0]
    return total / (sum(p.nodes for p in cluster) * span)


@pytest.fixture(scope="module")
def big() -> Workload:
    return generate(MixParams(jobs=60_000, partitions=parse_partitions(TWO), session_length=1.5, alike=0.0), 1)


def share(mask: np.ndarray, expected: float) -> None:
    """`mask` holds for about `expected` of independent draws."""
    assert mask.mean() == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / len(mask)))


def submissions(w: Workload) -> np.ndarray:
    """Rows that are a submission: jobs, and the first task of each array."""
    return (w.ints["array_job_id"] < 0) | (w.ints["array_job_id"] == w.ints["job_id"])


class TestShares:
    def test_of_jobs(self, big: Workload) -> None:
        share(big.ints["exit_code"] == 1, 0.06)
        share(big.ints["run_time"] > big.ints["time_limit"], 0.03)
        share(big.ints["cancel_at"] >= 0, 0.03)

    def test_of_sessions(self, big: Workload) -> None:
        """One row a session would be independent; one a submission has mean 1.5 a session: three times the error."""
        one = big.take(submissions(big))
        multi = nodes_of(one) > 1
        for mask, expected in (
            (column(one, "partition") == "gpu", 0.2),
            (one.ints["exclusive"] == 1, 0.05),
            (memory_on_a_node(one) > 0, 0.6),
            (multi[column(one, "partition") == "batch"], 0.3),
        ):
            error = 3 * 4 * math.sqrt(expected * (1 - expected) / len(mask))
            assert mask.mean() == pytest.approx(expected, abs=error)

    def test_all_in_a_gpu_partition_ask_for_gpus(self, big: Workload) -> None:
        gpus, there = gpus_on_a_node(big), column(big, "partition") == "gpu"
        assert np.all(gpus[there] >= 1)
        assert np.all(gpus[~there] == 0)
        assert np.all(cpus_on_a_node(big)[there] == 8 * gpus[there])
        assert np.all(gpus[there & (nodes_of(big) > 1)] == 4)

    def test_some_do_without_gpus_when_told(self) -> None:
        params = MixParams(jobs=5_000, partitions=parse_partitions("g:gpus=2"), gpu_share=0.5, session_length=1)
        w = generate(params, 1)
        one = w.take(submissions(w))
        assert np.mean(gpus_on_a_node(one) > 0) == pytest.approx(0.5, abs=0.05)

    def test_none_of_it_when_switched_off(self) -> None:
        off = {"arrays": 0.0, "failures": 0.0, "timeouts": 0.0, "cancels": 0.0, "exclusive": 0.0, "mem_share": 0.0}
        w = generate(MixParams(jobs=3_000, multinode=0.0, threaded=0.0, **off), 1)
        for name in ("array_job_id", "array_task_id", "array_limit", "cancel_at", "mem_per_node", "mem_per_cpu"):
            assert np.all(w.ints[name] == -1), name
        for name in ("exit_code", "exclusive"):
            assert np.all(w.ints[name] == 0), name
        assert np.all(w.ints["run_time"] <= w.ints["time_limit"])
        assert np.all(w.ints["cpus_per_task"] == 1)
        assert w.ints["tasks"].max() == 32
        assert set(column(w, "partition")) == {""}


class TestTimes:
    def test_run_times_are_lognormal(self) -> None:
        clean = {"failures": 0.0, "timeouts": 0.0, "arrays": 0.0}
        hours = parse_partitions("all:hours=100000")
        w = generate(MixParams(jobs=40_000, median=1000.0, sigma=1.2, partitions=hours, **clean, session_length=1), 1)
        log = np.log(w.ints["run_time"])
        assert log.mean() == pytest.approx(math.log(1000), abs=4 * 1.2 / 200)
        assert log.std() == pytest.approx(1.2, rel=0.02)
        standard = (log - math.log(1000)) / 1.2
        for z, p in ((-1.2816, 0.1), (-0.6745, 0.25), (0.6745, 0.75), (1.2816, 0.9)):
            share(standard < z, p)

    def test_jobs_of_a_session_are_alike(self) -> None:
        """`alike` is the correlation of the logarithms within a session (which one lane shows as runs of a user)."""
        clean = {"failures": 0.0, "timeouts": 0.0, "arrays": 0.0, "concurrent": 1, "session_length": 20}
        w = generate(MixParams(jobs=40_000, alike=0.8, users=1000, user_exponent=0.0, **clean), 1)
        log, user = np.log(w.ints["run_time"]), w.texts["user"].codes
        same = user[1:] == user[:-1]
        assert np.corrcoef(log[1:][same], log[:-1][same])[0, 1] == pytest.approx(0.8, abs=0.05)

    @pytest.mark.parametrize("estimate", ["exact", "uniform", "popular"])
    def test_limits(self, estimate: str) -> None:
        params = MixParams(jobs=5_000, estimate=estimate, partitions=parse_partitions(TWO), timeouts=0.0)
        w = generate(params, 2)
        limit = w.ints["time_limit"]
        assert np.all(limit >= w.ints["run_time"])
        assert limit[column(w, "partition") == "gpu"].max() <= 12 * 3600
        assert limit.max() <= 24 * 3600
        if estimate == "popular":
            assert len(np.unique(limit)) <= 24

    def test_daily_and_weekly_cycle(self) -> None:
        w = generate(MixParams(jobs=100_000, arrays=0.0, daily_cycle=0.5, peak_hour=14.0, weekend=0.4), 1)
        day = w.ints["submit"] // 86_400 % 7
        hour = w.ints["submit"] // 3600 % 24
        weeks = w.ints["submit"][-1] // 604_800
        whole = w.ints["submit"] < weeks * 604_800
        assert weeks >= 3
        by_day = np.bincount(day[whole], minlength=7)
        assert by_day[5:].mean() / by_day[:5].mean() == pytest.approx(0.4, rel=0.05)
        by_hour = np.bincount(hour[whole], minlength=24) / whole.sum() * 24
        expected = 1 + 0.5 * np.cos(2 * np.pi * (np.arange(24) + 0.5 - 14) / 24)
        assert np.abs(by_hour - expected).max() < 0.08

    def test_rate(self) -> None:
        w = generate(MixParams(jobs=20_000, jobs_per_hour=50.0, arrays=0.0), 1)
        hours = (w.ints["submit"][-1] - w.ints["submit"][0]) / 3600
        assert 20_000 / hours == pytest.approx(50, rel=0.05)

    def test_cancels_come_after_the_submit(self, big: Workload) -> None:
        cancelled = big.ints["cancel_at"] >= 0
        delay = (big.ints["cancel_at"] - big.ints["submit"])[cancelled]
        assert delay.min() >= 1
        assert delay.mean() == pytest.approx(3600, abs=4 * 3600 / math.sqrt(cancelled.sum()))


class TestArrays:
    def test_are_whole_and_uniform(self, big: Workload) -> None:
        ids = big.ints["array_job_id"]
        rows = np.flatnonzero(ids > 0)
        first = big.ints["job_id"][rows] == ids[rows]
        assert first.sum() == len(np.unique(ids[rows]))
        length = np.diff(np.append(np.flatnonzero(first), len(rows)))
        leader = np.repeat(rows[first], length)
        assert np.array_equal(big.ints["array_task_id"][rows], rows - leader + 1)
        assert np.array_equal(ids[rows], big.ints["job_id"][leader])
        for name in ("submit", "time_limit", "tasks", "cpus_per_task", "nodes", "mem_per_cpu", "array_limit"):
            assert np.array_equal(big.ints[name][rows], big.ints[name][leader]), name
        for name in ("user", "account", "partition", "gres", "name"):
            assert np.array_equal(big.texts[name].codes[rows], big.texts[name].codes[leader]), name
        assert np.all(nodes_of(big)[rows] == 1)
        assert set(column(big, "name")[rows]) == {"sweep"}

    def test_length_share_and_throttle(self, big: Workload) -> None:
        one = big.take(submissions(big))
        arrays = one.ints["array_job_id"] > 0
        share(arrays[nodes_of(one) == 1], 0.1)
        length = np.bincount(np.searchsorted(np.unique(big.ints["array_job_id"]), big.ints["array_job_id"]))[1:]
        assert length[:-1].min() >= 2  # the last one may be cut by the number of jobs
        assert length.mean() == pytest.approx(12, abs=4 * 11 / math.sqrt(len(length)))
        limit = one.ints["array_limit"][arrays]
        share(limit > 0, 0.3)
        assert limit[limit > 0].min() == 1
        assert np.all(limit <= 1 + length // 2)

    def test_longest(self) -> None:
        w = generate(MixParams(jobs=5_000, arrays=1.0, multinode=0.0, array_length=50, array_longest=60), 1)
        assert w.ints["array_task_id"].max() == 60
        assert np.all(w.ints["array_task_id"] >= 1)


class TestWorkload:
    def test_load_is_met(self) -> None:
        params = MixParams(jobs=4_000, load=0.93, partitions=parse_partitions(TWO))
        assert offered_load(generate(params, 5), params.cluster) == pytest.approx(0.93, rel=1e-3)

    def test_default_load(self) -> None:
        assert offered_load(generate(MixParams(jobs=2_000), 5), MixParams().cluster) == pytest.approx(0.85, rel=1e-3)

    def test_cluster_of_the_command_line(self) -> None:
        w = generate(MixParams(jobs=5_000, nodes=100, cpus_per_node=8), 1)
        assert (w.header.max_nodes, w.header.max_procs) == (100, 800)
        assert cpus_on_a_node(w).max() == 8
        assert nodes_of(w).max() == 25
        assert memory_on_a_node(w).max() <= 8 * 4_000

    def test_same_seed_same_jobs(self) -> None:
        params = MixParams(jobs=2_000, partitions=parse_partitions(TWO))
        one, two, other = generate(params, 9), generate(params, 9), generate(params, 10)
        for name in one.ints:
            assert np.array_equal(one.ints[name], two.ints[name]), name
        for name in one.texts:
            assert np.array_equal(one.texts[name].codes, two.texts[name].codes), name
        assert not np.array_equal(one.ints["run_time"], other.ints["run_time"])

    @given(
        jobs=st.integers(2, 400),
        nodes=st.integers(1, 40),
        cpus=st.integers(1, 80),
        gpus=st.integers(0, 8),
        mem=st.integers(1, 40),
        hours=st.floats(0.1, 300),
        seed=st.integers(0, 2**32),
        shares=st.lists(st.floats(0, 1), min_size=8, max_size=8),
        estimate=st.sampled_from(["exact", "uniform", "popular"]),
    )
    def test_every_job_fits_its_partition(
        self,
        jobs: int,
        nodes: int,
        cpus: int,
        gpus: int,
        mem: int,
        hours: float,
        seed: int,
        shares: list[float],
        estimate: str,
    ) -> None:
        part = PartitionMix("p", nodes=nodes, cpus=cpus, gpus=min(gpus, cpus), mem=mem * 256 * cpus, hours=hours)
        names = ("multinode", "largest", "pow2", "threaded", "gpu_share", "exclusive", "mem_share", "arrays")
        chosen = dict(zip(names, shares, strict=True))
        chosen["largest"] = max(chosen["largest"], 0.01)
        w = generate(MixParams(jobs=jobs, partitions=(part,), estimate=estimate, jobs_per_hour=20.0, **chosen), seed)
        ints = w.ints
        assert len(w) == jobs
        assert len(np.unique(ints["job_id"])) == jobs
        assert np.all(np.diff(ints["submit"]) >= 0)
        assert np.all((nodes_of(w) >= 1) & (nodes_of(w) <= nodes))
        assert np.all(cpus_on_a_node(w) * nodes_of(w) == ints["tasks"] * ints["cpus_per_task"])
        assert np.all((cpus_on_a_node(w) >= 1) & (cpus_on_a_node(w) <= cpus))
        assert np.all(memory_on_a_node(w) <= part.mem)
        assert np.all(gpus_on_a_node(w) <= part.gpus)
        assert not np.any((ints["mem_per_node"] > 0) & (ints["mem_per_cpu"] > 0))
        assert np.all((ints["run_time"] >= 1) & (ints["time_limit"] >= 1))
        assert np.all(ints["time_limit"] <= int(hours * 3600))
        per_node = ints["tasks_per_node"] > 0
        assert np.all((ints["tasks_per_node"] * nodes_of(w) == ints["tasks"])[per_node])


class TestBadParameters:
    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"jobs": -1}, "jobs"),
            ({"load": 0.9, "jobs_per_hour": 3.0}, "load"),
            ({"daily_cycle": 1.0}, "daily_cycle"),
            ({"weekend": 0.0}, "weekend"),
            ({"peak_hour": 24.0}, "peak_hour"),
            ({"failures": 0.7, "timeouts": 0.7}, "failures"),
            ({"users": 2, "accounts": 3}, "accounts"),
            ({"nodes": 4, "partitions": (PartitionMix("a"),)}, "nodes"),
            ({"cpus_per_node": 4, "partitions": (PartitionMix("a"),)}, "cpus_per_node"),
            ({"partitions": ()}, "partitions"),
            ({"partitions": (PartitionMix("a"), PartitionMix("a"))}, "partitions"),
            ({"array_length": 1.0}, "array_length"),
            ({"sigma": math.inf}, "sigma"),
            ({"estimate": "none"}, "estimate"),
        ],
    )
    def test_are_refused_by_name(self, given: dict[str, object], field: str) -> None:
        with pytest.raises(ConfigError) as caught:
            MixParams(**given)  # type: ignore[arg-type]
        assert caught.value.field == field

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no partition name"),
            ("a,,b", "no partition name"),
            ("nodes=3", "no partition name"),
            ("a:nodes", "bad part 'nodes'"),
            ("a:name=b", "bad part 'name=b'"),
            ("a:nodes=0", "partitions, a: nodes: bad value 0"),
            ("a:nodes=x", "partitions, a: nodes: bad value 'x'"),
            ("a:size=3", "partitions, a: size: this model has no such parameter"),
            ("a:cpus=2:gpus=3", "partitions, a: gpus: bad value 3"),
            ("a:cpus=32:mem=300", "partitions, a: mem: bad value 300"),
        ],
    )
    def test_partitions(self, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match="partitions") as caught:
            parse_partitions(text)
        assert message in str(caught.value)

    def test_partitions_that_are_right(self) -> None:
        batch, gpu = parse_partitions(TWO)
        assert batch == PartitionMix("batch", 0.8, 64)
        assert gpu == PartitionMix("gpu", 0.2, 8, 32, 4, 128_000, 12.0)
