"""The synthetic regular4 against the numbers it was given (docs/systems/lomonosov.md): five seeds, four weeks each."""

from __future__ import annotations

import numpy as np
import pytest

from slurmsim.errors import ConfigError
from slurmsim.workload import Workload
from slurmsim_workloads.models.lomonosov import BURST_S, DAY_S, SIZES, LomonosovParams, generate

SEEDS = range(1, 6)


@pytest.fixture(scope="module")
def logs() -> list[Workload]:
    return [generate(LomonosovParams(), seed) for seed in SEEDS]


def occupied(log: Workload) -> np.ndarray:
    """Seconds each job holds its nodes: it is killed at its limit."""
    return np.minimum(log.ints["run_time"], log.ints["time_limit"])


def pooled(logs: list[Workload], name: str) -> np.ndarray:
    return np.concatenate([log.ints[name] for log in logs])


def within(values: np.ndarray, expected: float) -> bool:
    """Inside four standard errors."""
    return bool(abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values)))


def test_a_thousand_jobs_a_day_for_four_weeks(logs: list[Workload]) -> None:
    for log in logs:
        submit = log.ints["submit"]
        assert len(log) == 28_000 and (np.diff(submit) >= 0).all()
        assert submit[0] >= 0 and 27.9 * DAY_S < submit[-1] < 28 * DAY_S
    weeks = pooled(logs, "submit") // (7 * DAY_S)
    assert np.bincount(weeks) / len(logs) == pytest.approx([7000] * 4, rel=0.05)


def test_the_load_is_92_3_percent_and_44_node_hours_a_job(logs: list[Workload]) -> None:
    """0.923 x 2,000 nodes x 24 h / 1,000 jobs = 44.3 node-hours."""
    for log in logs:
        work = log.ints["nodes"] * occupied(log)
        assert work.sum() / (2000 * 28 * DAY_S) == pytest.approx(0.923, abs=1e-5)
        assert work.mean() / 3600 == pytest.approx(44.304, abs=1e-3)


def test_sixty_users_a_day_of_nine_hundred(logs: list[Workload]) -> None:
    """A burst that begins shortly before midnight may end on the next day: at most a few more."""
    for log in logs:
        user, day = log.texts["user"].codes, log.ints["submit"] // DAY_S
        active = [len(np.unique(user[day == d])) for d in range(28)]
        assert min(active) >= 57 and max(active) <= 64 and np.mean(active) == pytest.approx(60.5, abs=1)
        assert user.min() >= 1 and user.max() <= 900
        assert len(set(log.texts["account"].codes.tolist())) <= 90


def test_users_are_drawn_by_zipf(logs: list[Workload]) -> None:
    """Of users of rank 1 to 60 more are active on a day than of any sixty others; the first almost daily."""
    seen = np.zeros(900)
    for log in logs:
        pairs = np.unique(np.stack([log.ints["submit"] // DAY_S, log.texts["user"].codes - 1]), axis=1)
        seen += np.bincount(pairs[1], minlength=900)
    assert seen[0] >= 0.97 * 28 * len(logs)
    tens = seen.reshape(-1, 60).sum(axis=1)
    assert (np.argsort(-tens)[:3] == [0, 1, 2]).all() and tens[0] > 2.5 * tens[1]


def test_bursts_of_six_within_ten_minutes(logs: list[Workload]) -> None:
    """The gaps of one user are of two kinds: below ten minutes within a burst, hours between bursts."""
    lengths: list[int] = []
    for log in logs:
        for code in np.unique(log.texts["user"].codes):
            submit = log.ints["submit"][log.texts["user"].codes == code]
            begin = 0
            while begin < len(submit):
                end = int(np.searchsorted(submit, submit[begin] + BURST_S, side="right"))
                lengths.append(end - begin)
                begin = end
    assert np.mean(lengths) == pytest.approx(6, rel=0.05)  # now and then two bursts of a user touch
    assert np.var(lengths) == pytest.approx(6 * 5, rel=0.15)  # geometric: (1 - p)/p² with p = 1/6


def test_sizes_are_powers_of_two_by_their_law(logs: list[Workload]) -> None:
    nodes = pooled(logs, "nodes")
    weight = SIZES**-0.8
    for size, share in zip(SIZES.tolist(), (weight / weight.sum()).tolist(), strict=True):
        assert within(nodes == size, share), size
    assert set(nodes.tolist()) == {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
    assert (pooled(logs, "exclusive") == 1).all() and (pooled(logs, "tasks") == nodes).all()


def test_final_states(logs: list[Workload]) -> None:
    """Table 1 of the paper: 77,668 of 828,389 ran into their limit (9.4 %), 267,550 failed (32.3 %)."""
    over = pooled(logs, "run_time") > pooled(logs, "time_limit")
    failed = pooled(logs, "exit_code") != 0
    assert within(over, 0.094) and within(failed, 0.32) and not (over & failed).any()
    assert pytest.approx(0.094, abs=5e-4) == 77_668 / 828_389 and pytest.approx(0.32, abs=5e-3) == 267_550 / 828_389


def test_run_times_and_requests(logs: list[Workload]) -> None:
    """ln(run time) is normal with sigma 1.5 but for the longest; requested over run time is U(1.2, 4), at most 72 h."""
    limit, run, failed = (pooled(logs, name) for name in ("time_limit", "run_time", "exit_code"))
    assert limit.max() == 72 * 3600 and (limit % 60 == 0).all()
    plain = (failed == 0) & (run < limit) & (limit < 72 * 3600) & (run > 1800)
    over = limit[plain] / run[plain]
    assert 1.2 <= over.min() < 1.21 and 3.9 < over.max() < 4 + 60 / 1800
    assert over.mean() == pytest.approx(2.6, abs=0.05)  # a little less: long ones with a large factor reach 72 h
    early = (failed == 1) & (limit < 72 * 3600) & (run > 1800)
    assert 1.2 <= (0.3 * limit[early] / run[early]).min() < 1.21
    log_run = np.log(run[(failed == 0) & (run <= limit)].astype(float))
    assert np.subtract(*np.percentile(log_run, [75, 25])) == pytest.approx(2 * 0.6745 * 1.5, rel=0.03)


def test_equal_seeds_make_equal_jobs_and_others_do_not() -> None:
    small = LomonosovParams(jobs=500, jobs_per_day=250)
    one, same, other = (generate(small, seed) for seed in (3, 3, 4))
    assert all((one.ints[name] == same.ints[name]).all() for name in one.ints)
    assert (one.ints["submit"] != other.ints["submit"]).any()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"active": 901}, "active"),
        ({"over_low": 5.0}, "over_low"),
        ({"timeouts": 0.7, "failures": 0.5}, "failures"),
        ({"load": 0.0}, "load"),
        ({"jobs": 0}, "jobs"),
    ],
)
def test_bad_parameters_are_named(given: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        LomonosovParams(**given)


def test_a_load_no_jobs_of_72_hours_make_is_refused() -> None:
    with pytest.raises(ConfigError, match="load"):
        generate(LomonosovParams(jobs=10, jobs_per_day=1, nodes=512), 1)


def test_a_small_machine_has_small_jobs() -> None:
    log = generate(LomonosovParams(jobs=200, jobs_per_day=100, nodes=20, active=5, users=9), 1)
    assert log.ints["nodes"].max() <= 16
