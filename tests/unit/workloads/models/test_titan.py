"""The synthetic Titan against its published moments.

`law` works the moments out from the law by exact sums and integrals; the generator must agree with them within four
standard errors, and they with the numbers published for the synthetic log.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import pytest

from slurmsim.errors import ConfigError
from slurmsim.workload import Workload
from slurmsim_workloads.models.titan import BINS, NODES, SHORT_MEAN_H, Bin, TitanParams, generate


@dataclass
class Law:
    nodes: float
    nodes_sd: float
    hours: float
    hours_sd: float
    node_hours: float
    node_hours_sd: float


def bin_nodes(b: Bin) -> tuple[float, float]:
    """E[N] and E[N²] in a bin: N >= k exactly when u >= (ln(k/low) / ln((high+1)/low)) ** (1/exponent)."""
    k = np.arange(b.low, b.high + 2)
    at_least = 1 - (np.log(k / b.low) / math.log((b.high + 1) / b.low)) ** (1 / b.exponent)
    p = at_least[:-1] - at_least[1:]
    k = k[:-1].astype(float)
    return float((k * p).sum()), float((k * k * p).sum())


def bin_hours(b: Bin) -> tuple[float, float]:
    """E[E] and E[E²] in a bin: uniform to the maximum, or exponential cut there."""
    w, m = float(b.max_hours), SHORT_MEAN_H
    cut = math.exp(-w / m)
    short = m * (1 - cut)
    short2 = 2 * m * m * (1 - cut) - 2 * m * w * cut
    r = b.long_share
    return r * w / 2 + (1 - r) * short, r * w * w / 3 + (1 - r) * short2


@pytest.fixture(scope="module")
def law() -> Law:
    n1 = n2 = e1 = e2 = ne = ne2 = 0.0
    for b in BINS:
        (n, nn), (e, ee) = bin_nodes(b), bin_hours(b)
        n1, n2, e1, e2 = n1 + b.share * n, n2 + b.share * nn, e1 + b.share * e, e2 + b.share * ee
        ne, ne2 = ne + b.share * n * e, ne2 + b.share * nn * ee
    return Law(n1, math.sqrt(n2 - n1**2), e1, math.sqrt(e2 - e1**2), ne, math.sqrt(ne2 - ne**2))


@pytest.fixture(scope="module")
def titan() -> Workload:
    return generate(TitanParams(), 1)


def test_bins_cover_the_machine_and_all_jobs() -> None:
    assert sum(b.share for b in BINS) == pytest.approx(1, abs=1e-12)
    assert [b.low for b in BINS] == [b.high + 1 for b in BINS[1:]] + [1]
    assert BINS[0].high == NODES


def test_law_has_the_published_moments(law: Law) -> None:
    """135.1 ± 707.5 nodes, 0.610 ± 1.467 h, 260.3 node-hours a job, load 89.4 % at 64.16 jobs an hour."""
    assert law.nodes == pytest.approx(135.1, abs=0.1)
    assert law.nodes_sd == pytest.approx(707.5, abs=1)
    assert law.hours == pytest.approx(0.610, abs=0.001)
    assert law.hours_sd == pytest.approx(1.467, abs=0.002)
    assert law.node_hours == pytest.approx(260.3, abs=0.5)
    assert law.node_hours * 64.16 / NODES == pytest.approx(0.894, abs=0.002)


def test_generated_year_has_the_moments_of_the_law(titan: Workload, law: Law) -> None:
    n, e = titan.ints["nodes"].astype(float), titan.ints["run_time"] / 3600
    error = 4 / math.sqrt(len(titan))
    assert len(titan) == 562_079
    assert n.mean() == pytest.approx(law.nodes, abs=error * law.nodes_sd)
    assert n.std() == pytest.approx(law.nodes_sd, rel=0.02)
    assert e.mean() == pytest.approx(law.hours, abs=error * law.hours_sd)
    assert e.std() == pytest.approx(law.hours_sd, rel=0.01)
    assert (n * e).mean() == pytest.approx(law.node_hours, abs=error * law.node_hours_sd)


def test_load_and_rate(titan: Workload) -> None:
    submit = titan.ints["submit"]
    hours = (submit[-1] - submit[0]) / 3600
    assert len(titan) / hours == pytest.approx(64.16, rel=4 / math.sqrt(len(titan)))
    load = (titan.ints["nodes"] * titan.ints["run_time"]).sum() / 3600 / (NODES * hours)
    assert 0.85 < load < 0.93


def test_shares_and_ranges_of_bins(titan: Workload) -> None:
    nodes, run = titan.ints["nodes"], titan.ints["run_time"]
    total = 0
    for b in BINS:
        mine = (nodes >= b.low) & (nodes <= b.high)
        total += int(mine.sum())
        assert mine.mean() == pytest.approx(b.share, abs=4 * math.sqrt(b.share / len(titan)))
        assert run[mine].max() <= b.max_hours * 3600
        assert titan.ints["time_limit"][mine].max() == b.max_hours * 3600
    assert total == len(titan)
    assert run.min() >= 1


def test_whole_nodes(titan: Workload) -> None:
    assert np.array_equal(titan.ints["tasks"], titan.ints["nodes"])
    assert np.all(titan.ints["exclusive"] == 1)
    assert np.all(titan.ints["nodes_max"] == -1)
    assert titan.header.max_nodes == NODES


def test_requested_time(titan: Workload) -> None:
    limit, run = titan.ints["time_limit"], titan.ints["run_time"]
    assert np.all(limit % 300 == 0)
    assert np.all(limit >= run)
    assert np.all(limit < 3 * run + 300)
    free = run > 3000  # rounding is small; the bin's maximum does not bind
    free &= 3 * run < np.select([titan.ints["nodes"] <= 125, titan.ints["nodes"] <= 312], [7200, 21_600], 43_200)
    ratio = limit[free] / run[free]
    assert ratio.mean() == pytest.approx(2.0, abs=0.07)  # U(1, 3), and up to 5 min of rounding


def test_hours_of_the_day(titan: Workload) -> None:
    hour = titan.ints["submit"] // 3600 % 24
    counts = np.bincount(hour, minlength=24)
    day, night = counts[9:18].mean(), np.delete(counts, np.arange(9, 18)).mean()
    assert day / night == pytest.approx(1.5 / 0.67, rel=0.01)
    assert counts[9] / counts[8] == pytest.approx(1.5 / 0.67, rel=0.05)
    assert counts[17] / counts[18] == pytest.approx(1.5 / 0.67, rel=0.05)


def test_users_sessions_accounts(titan: Workload) -> None:
    codes = titan.texts["user"].codes
    assert len(titan.texts["user"].values) == 601
    assert len(titan.texts["account"].values) == 61
    share = np.bincount(codes, minlength=601)[1:] / len(titan)
    weights = np.arange(1, 601) ** -1.1
    sessions = len(titan) / 5
    assert np.abs(share - weights / weights.sum()).max() < 4 * math.sqrt(0.25 / sessions)
    # a session ends with probability 1/5; the next is another user's with probability 1 - sum of squares
    changes = np.mean(codes[1:] != codes[:-1])
    another = 1 - float(((weights / weights.sum()) ** 2).sum())
    assert changes == pytest.approx(another / 5, rel=0.02)


def test_load_can_be_asked_for() -> None:
    w = generate(TitanParams(jobs=20_000, load=0.7), 1)
    span = int(w.ints["submit"][-1] - w.ints["submit"][0])
    assert (w.ints["nodes"] * w.ints["run_time"]).sum() / (NODES * span) == pytest.approx(0.7, rel=1e-4)


def test_same_seed_same_jobs() -> None:
    one, two, other = (generate(TitanParams(jobs=1_000), seed) for seed in (7, 7, 8))
    assert all(np.array_equal(one.ints[name], two.ints[name]) for name in one.ints)
    assert np.array_equal(one.texts["user"].codes, two.texts["user"].codes)
    assert not np.array_equal(one.ints["nodes"], other.ints["nodes"])


def test_a_year_takes_seconds() -> None:
    begin = time.process_time()
    generate(TitanParams(), 2)
    assert time.process_time() - begin < 5  # measured 0.2 s


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"jobs": 0}, "jobs"),
        ({"load": 0.9, "jobs_per_hour": 10.0}, "load"),
        ({"night_rate": 0.0}, "night_rate"),
        ({"users": 10}, "accounts"),
    ],
)
def test_bad_parameters_are_refused_by_name(given: dict[str, float], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TitanParams(**given)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_qos_by_bin() -> None:
    plain, with_qos = (generate(TitanParams(jobs=3000, qos=q), 5) for q in (0, 1))
    assert (plain.ints["nodes"] == with_qos.ints["nodes"]).all()
    assert not plain.texts["qos"].codes.any()
    qos = [with_qos.texts["qos"][i] for i in range(3000)]
    by_size = [
        "capability" if n >= 3750 else "capacity" if n >= 126 else "small" for n in with_qos.ints["nodes"].tolist()
    ]
    assert qos == by_size
