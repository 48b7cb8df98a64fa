"""The Lublin–Feitelson generator against its equations and against a log its authors' program made.

The numbers expected here are worked out from the published parameters by numerical integration of the densities, which
the generator does nowhere; tolerances are four standard errors of the sample unless said.
"""

from __future__ import annotations

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest

from slurmsim.errors import ConfigError
from slurmsim_workloads.models.draws import Cycle
from slurmsim_workloads.models.lublin import (
    ALL,
    BATCH,
    INTERACTIVE,
    LN_MAX_GAP,
    LN_MAX_RUN_TIME,
    SLOT_S,
    JobKind,
    LublinParams,
    day_weights,
    gamma_cdf,
    generate,
    operational_arrivals,
    run_times,
    sizes,
)

KINDS = pytest.mark.parametrize("kind", [ALL, BATCH, INTERACTIVE], ids=lambda kind: kind.name)
N = 40_000


def gamma_density(x: np.ndarray, shape: float, scale: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.exp((shape - 1) * np.log(x / scale) - x / scale - math.lgamma(shape)) / scale


def integral(f: np.ndarray, x: np.ndarray) -> float:
    return float(np.sum((f[1:] + f[:-1]) / 2 * np.diff(x)))


def moments(density: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the density cut to the grid."""
    mass = integral(density, x)
    mean = integral(density * x, x) / mass
    return mean, math.sqrt(integral(density * (x - mean) ** 2, x) / mass)


def ks_distance(sample: np.ndarray, cdf: np.ndarray) -> float:
    """Largest distance of the sample's distribution function from `cdf`, the law's at the sorted sample."""
    n = len(sample)
    steps = np.arange(n + 1) / n
    return float(max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max()))


KS_1_PERCENT = 1.63  # over sqrt(n)


class TestGammaCdf:
    @pytest.mark.parametrize(("shape", "scale"), [(8.1737, 3.9631), (0.5, 2.0), (312, 0.03), (1, 1)])
    def test_is_the_integral_of_the_density(self, shape: float, scale: float) -> None:
        middle = shape * scale
        x = np.linspace(middle * 0.5, middle * 1.7, 20_001)
        area = integral(gamma_density(x, shape, scale), x)
        ends = gamma_cdf([x[0], x[-1]], shape, scale)
        assert ends[1] - ends[0] == pytest.approx(area, rel=1e-6)

    def test_known_values(self) -> None:
        assert gamma_cdf(2.0, 1, 1) == pytest.approx(1 - math.exp(-2), rel=1e-14)
        assert gamma_cdf(3.0, 0.5, 2) == pytest.approx(math.erf(math.sqrt(1.5)), rel=1e-14)  # chi-square, 1 degree
        assert gamma_cdf(0.0, 3, 1) == 0
        assert gamma_cdf(1e3, 3, 1) == pytest.approx(1, abs=1e-12)


class TestSizes:
    @KINDS
    def test_serial_and_power_of_two_shares(self, kind: JobKind) -> None:
        size = sizes(np.random.default_rng(1), N, kind, 256)
        uhi = 8 - kind.uhi_below
        umed = uhi - kind.umed_below
        # a parallel job not rounded is a power of two by chance: its log2 is within rounding of an integer
        log2 = np.linspace(kind.ulow, uhi, 400_001)
        density = np.where(log2 < umed, kind.uprob / (umed - kind.ulow), (1 - kind.uprob) / (uhi - umed))
        nearest = np.floor(2**log2 + 0.5).astype(int)
        by_chance = integral(density * ((nearest & (nearest - 1)) == 0), log2)
        expected = kind.serial + kind.pow2 + (1 - kind.serial - kind.pow2) * by_chance
        error = 4 * 0.5 / math.sqrt(N)
        assert np.mean(size == 1) == pytest.approx(kind.serial, abs=error)
        assert np.mean((size & (size - 1)) == 0) == pytest.approx(expected, abs=error)

    @KINDS
    def test_mean_log2_size(self, kind: JobKind) -> None:
        size = sizes(np.random.default_rng(2), N, kind, 256)
        uhi = 8 - kind.uhi_below
        umed = uhi - kind.umed_below
        mean = kind.uprob * (kind.ulow + umed) / 2 + (1 - kind.uprob) * (umed + uhi) / 2
        log2 = np.log2(size[size > 1])
        # rounding to whole sizes moves the mean a little (the lower end most), by less than this
        assert log2.mean() == pytest.approx(mean, abs=4 * log2.std() / math.sqrt(len(log2)) + 0.03)

    @pytest.mark.parametrize("machine", [16, 37, 100, 256, 1000])
    @KINDS
    def test_no_job_is_larger_than_the_machine(self, kind: JobKind, machine: int) -> None:
        size = sizes(np.random.default_rng(3), 20_000, kind, machine)
        assert size.min() == 1
        assert size.max() <= machine
        if kind is not INTERACTIVE:
            assert size.max() > machine / 2

    @pytest.mark.parametrize("machine", [4, 5, 8])
    def test_small_machines(self, machine: int) -> None:
        size = sizes(np.random.default_rng(3), 20_000, ALL, machine)
        assert set(np.unique(size)) == set(range(1, machine + 1))

    def test_two_is_the_smallest_parallel_job(self) -> None:
        size = sizes(np.random.default_rng(4), 5_000, BATCH, 128)
        assert set(np.unique(size)) >= {1, 2, 4, 8, 16, 32, 64, 128}
        assert np.mean(size == 1) == pytest.approx(BATCH.serial, abs=4 * 0.5 / math.sqrt(5_000))


class TestRunTimes:
    @KINDS
    @pytest.mark.parametrize("size", [1, 32, 128])
    def test_hyper_gamma_of_the_size(self, kind: JobKind, size: int) -> None:
        run = run_times(np.random.default_rng(5), np.full(N, size), kind)
        p = min(1.0, max(0.0, kind.pa * size + kind.pb))
        assert run.min() >= 1

        def law(x: np.ndarray) -> np.ndarray:
            return p * gamma_cdf(x, kind.a1, kind.b1) + (1 - p) * gamma_cdf(x, kind.a2, kind.b2)

        # run times are whole seconds, rounded down: compare where a second is little
        for seconds in (10, 100, 1000, 5000, 12_000, 40_000):
            expected = law(np.log(seconds)) / law(np.float64(LN_MAX_RUN_TIME))
            assert np.mean(run < seconds) == pytest.approx(float(expected), abs=4 * 0.5 / math.sqrt(N))

    def test_longer_jobs_are_larger(self) -> None:
        size = np.repeat([1, 100], N)
        log_run = np.log(run_times(np.random.default_rng(6), size, ALL))
        mean = [
            (p := ALL.pa * s + ALL.pb) * ALL.a1 * ALL.b1 + (1 - p) * ALL.a2 * ALL.b2 for s in (1, 100)
        ]  # rounding down to seconds lowers the logarithm of short run times: hence 0.1 below
        assert log_run[:N].mean() == pytest.approx(mean[0], abs=0.1)
        assert log_run[N:].mean() == pytest.approx(mean[1], abs=0.1)
        assert mean[1] - mean[0] > 2

    def test_mixing_probability_is_kept_in_bounds(self) -> None:
        run = run_times(np.random.default_rng(7), np.full(2_000, 1_000), ALL)  # pa * size + pb = -4.6
        assert np.log(run).mean() == pytest.approx(ALL.a2 * ALL.b2, abs=0.1)


class TestArrivals:
    @KINDS
    def test_logarithms_of_gaps_are_gamma_below_the_cut(self, kind: JobKind) -> None:
        gaps = np.diff(operational_arrivals(np.random.default_rng(8), N, kind), prepend=0.0)
        logs = np.sort(np.log(gaps))
        shape = kind.aarr * kind.arar
        cdf = gamma_cdf(logs, shape, kind.barr) / gamma_cdf(LN_MAX_GAP, shape, kind.barr)
        assert logs[-1] <= LN_MAX_GAP + 1e-9
        assert ks_distance(logs, cdf) < KS_1_PERCENT / math.sqrt(N)

    @KINDS
    def test_day_weights(self, kind: JobKind) -> None:
        weights = day_weights(kind)
        assert weights.sum() == pytest.approx(1)
        # the half hour from 12:00 is slot 25: the gamma's mass from 24.5 to 25.5, over that from 10.5 to 58.5
        x = np.linspace(10.5, 58.5, 48_001)
        density = gamma_density(x, kind.anum, kind.bnum)
        noon = integral(density[14_000:15_001], x[14_000:15_001]) / integral(density, x)
        assert weights[24] == pytest.approx(noon, rel=1e-5)
        # 03:00 is slot 7, which comes after midnight as slot 55
        night = integral(density[44_000:45_001], x[44_000:45_001]) / integral(density, x)
        assert weights[6] == pytest.approx(night, rel=1e-5)
        assert 20 <= int(np.argmax(weights)) <= 32  # between 10:00 and 16:30
        assert 6 <= int(np.argmin(weights)) <= 11  # before dawn

    def test_generated_jobs_follow_the_day(self) -> None:
        submit = generate(LublinParams(jobs=200_000), 9).ints["submit"]
        share = np.bincount(submit % 86_400 // SLOT_S, minlength=48) / len(submit)
        assert np.abs(share - day_weights(ALL)).sum() < 0.03

    def test_a_gap_that_crosses_slots(self) -> None:
        """Two slots of an hour, the second three times as busy: worked by hand."""
        cycle = Cycle([1, 3], 3600)  # weights 0.5 and 1.5
        clock = cycle.clock(np.array([0.0, 900.0, 1800.0, 3300.0, 7200.0, 9000.0]))
        assert clock.tolist() == [0.0, 1800.0, 3600.0, 4600.0, 7200.0, 10_800.0]


class TestWorkload:
    def test_same_seed_same_jobs(self) -> None:
        params = LublinParams(jobs=500, job_types=True, estimate="popular")
        np.random.seed(1)
        one = generate(params, 3)
        np.random.seed(2)
        two, other = generate(params, 3), generate(params, 4)
        for name, column in one.ints.items():
            assert np.array_equal(column, two.ints[name]), name
        for name, text in one.texts.items():
            assert np.array_equal(text.codes, two.texts[name].codes) and text.values == two.texts[name].values, name
        assert not np.array_equal(one.ints["submit"], other.ints["submit"])

    def test_order_and_header(self) -> None:
        w = generate(LublinParams(jobs=2_000, nodes=64, cpus_per_node=4), 1)
        assert len(w) == 2_000
        assert w.ints["job_id"].tolist() == list(range(1, 2_001))
        assert np.all(np.diff(w.ints["submit"]) >= 0)
        assert (w.header.max_nodes, w.header.max_procs) == (64, 256)
        assert w.ints["tasks"].max() <= 256
        assert w.quality.jobs == 2_000

    @pytest.mark.parametrize("load", [0.5, 0.95])
    @pytest.mark.parametrize("job_types", [False, True])
    def test_load(self, load: float, job_types: bool) -> None:
        w = generate(LublinParams(jobs=5_000, nodes=256, load=load, job_types=job_types), 2)
        submit = w.ints["submit"]
        work = int((w.ints["tasks"] * w.ints["run_time"]).sum())
        assert work / (256 * (submit[-1] - submit[0])) == pytest.approx(load, rel=1e-4)

    def test_load_keeps_the_daily_cycle(self) -> None:
        submit = generate(LublinParams(jobs=100_000, load=0.3), 9).ints["submit"]
        share = np.bincount(submit % 86_400 // SLOT_S, minlength=48) / len(submit)
        assert np.abs(share - day_weights(ALL)).sum() < 0.05

    def test_job_types_follow_their_own_numbers(self) -> None:
        w = generate(LublinParams(jobs=60_000, nodes=128, job_types=True), 5)
        names = np.array(w.texts["name"].values)[w.texts["name"].codes]
        assert set(names) == {"batch", "interactive"}
        for kind in (BATCH, INTERACTIVE):
            mine = names == kind.name
            error = 4 * 0.5 / math.sqrt(mine.sum())
            assert np.mean(w.ints["tasks"][mine] == 1) == pytest.approx(kind.serial, abs=error)
        assert w.ints["tasks"][names == "interactive"].max() <= 45  # 2 to the 5.5, as published for 128 nodes
        # both streams run at their own rate: shares are as one over the mean gaps
        rate = {}
        for kind in (BATCH, INTERACTIVE):
            x = np.linspace(1e-6, LN_MAX_GAP, 200_001)
            density = gamma_density(x, kind.aarr * kind.arar, kind.barr)
            rate[kind.name] = integral(density, x) / integral(density * np.exp(x), x)
        expected = rate["batch"] / sum(rate.values())
        assert np.mean(names == "batch") == pytest.approx(expected, rel=0.15)  # gaps have a heavy tail

    def test_estimates(self) -> None:
        run = generate(LublinParams(jobs=3_000), 1).ints["run_time"]
        for estimate in ("exact", "uniform", "popular"):
            w = generate(LublinParams(jobs=3_000, estimate=estimate, overestimate=2), 1)
            limit = w.ints["time_limit"]
            assert np.array_equal(w.ints["run_time"], run)
            assert np.all(limit >= run)
            if estimate == "exact":
                assert np.array_equal(limit, run)
            if estimate == "uniform":
                assert np.all(limit % 300 == 0)
                assert np.all(limit < 2 * run + 300)
            if estimate == "popular":
                assert len(np.unique(limit)) <= 24
                assert np.mean(limit == math.floor(math.exp(12))) >= 0.13

    def test_users_and_accounts(self) -> None:
        w = generate(LublinParams(jobs=30_000, users=20, accounts=3, session_length=1, user_exponent=1.0), 1)
        counts = np.bincount(w.texts["user"].codes, minlength=21)[1:]
        harmonic = sum(1 / r for r in range(1, 21))
        assert counts[0] / 30_000 == pytest.approx(1 / harmonic, abs=4 * 0.5 / math.sqrt(30_000))
        assert counts[9] / 30_000 == pytest.approx(0.1 / harmonic, abs=4 * 0.5 / math.sqrt(30_000))
        pairs = {(w.texts["user"][i], w.texts["account"][i]) for i in range(2_000)}
        assert len(pairs) == len({user for user, _ in pairs})  # a user has one account
        assert w.texts["account"].values == ["", "acct1", "acct2", "acct3"]

    def test_sessions_have_the_length_asked(self) -> None:
        w = generate(LublinParams(jobs=50_000, users=100_000, user_exponent=0, session_length=5, concurrent=1), 1)
        codes = w.texts["user"].codes
        runs = 1 + np.count_nonzero(codes[1:] != codes[:-1])  # with so many users two sessions are two users
        assert 50_000 / runs == pytest.approx(5, rel=0.05)


class TestBadParameters:
    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"jobs": 0}, "jobs"),
            ({"jobs": 1.5}, "jobs"),
            ({"jobs": True}, "jobs"),
            ({"nodes": 2}, "nodes"),
            ({"nodes": 8, "job_types": True}, "nodes"),
            ({"load": 0}, "load"),
            ({"load": math.nan}, "load"),
            ({"serial": 0.6, "pow2": 0.6}, "pow2"),
            ({"serial": -0.1}, "serial"),
            ({"ulow": 7}, "ulow"),
            ({"estimate": "perfect"}, "estimate"),
            ({"users": 3, "accounts": 4}, "accounts"),
            ({"job_types": True, "a1": 5.0}, "a1"),
            ({"job_types": "yes"}, "job_types"),
            ({"overestimate": 0.5}, "overestimate"),
        ],
    )
    def test_are_refused_by_name(self, given: dict[str, object], field: str) -> None:
        with pytest.raises(ConfigError) as caught:
            LublinParams(**given)  # type: ignore[arg-type]
        assert caught.value.field == field
        assert "\n" not in str(caught.value)

    def test_run_times_that_are_never_short_enough(self) -> None:
        with pytest.raises(ConfigError, match="a1: nearly every draw is above e"):
            generate(LublinParams(jobs=10, a1=9_000.0, a2=9_000.0, b2=1.0), 1)

    def test_load_of_one_job(self) -> None:
        with pytest.raises(ConfigError, match="load"):
            generate(LublinParams(jobs=1, load=0.5), 1)


@pytest.fixture(scope="module")
def published() -> np.ndarray:
    """lublin_256: 10,000 jobs for 256 nodes made by the authors' program. Columns: submit, run time, size."""
    folder = os.environ.get("SLURMSIM_DATA")
    if not folder:
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs")
    with gzip.open(Path(folder) / "lublin_256.swf.gz", "rt") as log:
        rows = [line.split() for line in log if line.strip() and not line.startswith(";")]
    return np.array([[row[1], row[3], row[4]] for row in rows], np.int64)


@pytest.fixture(scope="module")
def ours() -> np.ndarray:
    w = generate(LublinParams(jobs=200_000, nodes=256), 1)
    return np.stack([w.ints["submit"], w.ints["run_time"], w.ints["tasks"]], axis=1)


class TestAgainstThePublishedLog:
    """Our model for 256 nodes against the log, with tolerances for the log's 10,000 jobs (four standard errors)."""

    def test_sizes(self, published: np.ndarray, ours: np.ndarray) -> None:
        assert len(published) == 10_000
        for share in (
            lambda s: np.mean(s == 1),
            lambda s: np.mean((s & (s - 1)) == 0),
            lambda s: np.mean(s > 64),
        ):
            assert share(published[:, 2]) == pytest.approx(share(ours[:, 2]), abs=0.02)
        theirs, mine = np.log2(published[:, 2]), np.log2(ours[:, 2])
        assert theirs.mean() == pytest.approx(mine.mean(), abs=4 * mine.std() / 100)
        assert theirs.std() == pytest.approx(mine.std(), rel=0.03)
        assert published[:, 2].mean() == pytest.approx(ours[:, 2].mean(), rel=0.06)

    def test_run_times(self, published: np.ndarray, ours: np.ndarray) -> None:
        theirs, mine = np.sort(published[:, 1]), np.sort(ours[:, 1])
        both = np.unique(np.concatenate([theirs, mine]))
        distance = np.abs(
            np.searchsorted(theirs, both, "right") / len(theirs) - np.searchsorted(mine, both, "right") / len(mine)
        )
        assert distance.max() < KS_1_PERCENT * math.sqrt(1 / len(theirs) + 1 / len(mine))
        for q in (0.25, 0.75, 0.9, 0.95):
            assert np.quantile(theirs, q) == pytest.approx(np.quantile(mine, q), rel=0.05)
        assert np.median(theirs) == pytest.approx(np.median(mine), rel=0.12)  # few jobs near it: between two modes
        assert theirs.mean() == pytest.approx(mine.mean(), rel=0.06)

    @pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 4), (5, 16), (17, 64), (65, 256)])
    def test_run_times_by_size(self, published: np.ndarray, ours: np.ndarray, low: int, high: int) -> None:
        mine, theirs = (np.log(log[(low <= log[:, 2]) & (log[:, 2] <= high), 1]) for log in (ours, published))
        assert theirs.mean() == pytest.approx(mine.mean(), abs=4 * mine.std() / math.sqrt(len(theirs)))

    def test_gaps_are_our_gamma_once_the_daily_cycle_is_undone(self, published: np.ndarray) -> None:
        """The whole arrival process at once: undo our day on their submit times; what is left must be the gamma."""
        weights = day_weights(ALL) * 48
        done = np.concatenate(([0.0], np.cumsum(weights))) * SLOT_S
        days, rest = np.divmod(published[:, 0], 86_400)
        operational = days * 86_400 + np.interp(rest, np.arange(49) * SLOT_S, done)
        logs = np.sort(np.log(np.diff(operational)))
        shape = ALL.aarr * ALL.arar
        cdf = gamma_cdf(logs, shape, ALL.barr) / gamma_cdf(LN_MAX_GAP, shape, ALL.barr)
        assert ks_distance(logs, cdf) < KS_1_PERCENT / math.sqrt(len(logs))
        # and without undoing it, it is not
        raw = np.sort(np.log(np.diff(published[:, 0])))
        cdf = gamma_cdf(raw, shape, ALL.barr) / gamma_cdf(LN_MAX_GAP, shape, ALL.barr)
        assert ks_distance(raw, cdf) > KS_1_PERCENT / math.sqrt(len(raw))

    def test_mean_gap(self, published: np.ndarray) -> None:
        x = np.linspace(1e-6, LN_MAX_GAP, 400_001)
        density = gamma_density(x, ALL.aarr * ALL.arar, ALL.barr)
        mass = integral(density, x)
        mean = integral(density * np.exp(x), x) / mass
        spread = math.sqrt(integral(density * np.exp(2 * x), x) / mass - mean**2)
        gaps = np.diff(published[:, 0])
        assert gaps.mean() == pytest.approx(mean, abs=4 * spread / math.sqrt(len(gaps)))
        # the tail is so heavy that this says little; the middle of the law says more
        ours = np.diff(generate(LublinParams(jobs=200_000, nodes=256), 1).ints["submit"])
        for q in (0.1, 0.25, 0.5, 0.75, 0.9):
            assert np.quantile(gaps, q) == pytest.approx(np.quantile(ours, q), rel=0.08)
