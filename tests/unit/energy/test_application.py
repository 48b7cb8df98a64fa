"""The PASS model: the published check values, and what has to hold at any point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.energy import BASE_W, TABLE, Application
from slurmsim.energy.scaling import share_of_t1
from slurmsim.errors import ConfigError


def application(row: str = "LeanMD", parallelism: float = 50, sigma: float = 0.5, t1_s: float = 1000) -> Application:
    return Application(t1_s, parallelism, sigma, **TABLE[row])


numbers = st.tuples(st.floats(1, 1e4), st.floats(0, 1), st.sampled_from(sorted(TABLE))).map(
    lambda drawn: application(drawn[2], drawn[0], drawn[1])
)


@pytest.mark.parametrize(
    ("row", "low", "high", "at_60", "at_40"),
    [
        ("LeanMD", 1.4635, 2.3182, 1.667, 1.346),
        ("Wave2D", 1.2439, 1.5333, 1.190, 1.190),
        ("Lulesh", 1.3822, 2.0669, 1.429, 1.191),
        ("AMR", 1.5162, 2.1990, 1.493, 1.210),
        ("Jacobi2D", 1.4048, 1.6442, 1.087, 1.087),
    ],
)
def test_check_values(row: str, low: float, high: float, at_60: float, at_40: float) -> None:
    """Frequencies at both ends of the range, and how much faster 20 nodes are at 60 and 40 W than at the least cap."""
    app = application(row)
    ends = app.frequency_ghz([app.p_low_w, app.p_high_w])
    assert ends == pytest.approx([low, high], abs=5e-5)
    faster = app.speedup(20, [60, 40], over=(20, app.p_low_w))
    assert faster == pytest.approx([at_60, at_40], abs=5e-4)
    assert faster[0] == pytest.approx(1 / (1 - app.beta))


@given(app=numbers, watts=st.floats(13.6, 300))
def test_power_and_frequency_are_inverse(app: Application, watts: float) -> None:
    assert app.power_w(app.frequency_ghz(watts)) == pytest.approx(watts, rel=1e-12)


@given(app=numbers, watts=st.floats(0, 1))
def test_time_at_the_ends(app: Application, watts: float) -> None:
    assert app.time_s(1, app.p_high_w) == app.time_s(1, 1000) == app.t1_s
    assert app.time_s(1, app.p_low_w) == pytest.approx(app.t1_s / (1 - app.beta))
    between = app.p_low_w + watts * (app.p_high_w - app.p_low_w)
    assert app.t1_s * (1 - 1e-12) <= app.time_s(1, between) <= app.t1_s / (1 - app.beta) * (1 + 1e-12)


@given(parallelism=st.floats(1, 1e5), sigma=st.floats(0, 1))
def test_scaling_is_continuous_and_falls(parallelism: float, sigma: float) -> None:
    assert share_of_t1(1, parallelism, sigma) == pytest.approx(1)
    for edge in (parallelism, 2 * parallelism - 1):
        before, after = share_of_t1([max(edge * (1 - 1e-9), 1), edge * (1 + 1e-9)], parallelism, sigma)
        assert before == pytest.approx(after, rel=1e-6)
    times = share_of_t1(np.linspace(1, 3 * parallelism, 200), parallelism, sigma)
    assert np.all(np.diff(times) <= 1e-15) and times[-1] == pytest.approx(1 / parallelism)


def test_scaling_by_hand() -> None:
    """T1 = 100, A = 4, sigma = 0.8: serial part 10; 90 / 2 + 10; 0.8 x 87.5 / 5 + 25 - 10; 25 from 7 on."""
    assert (100 * share_of_t1([2, 4, 5, 7, 50], 4, 0.8)).tolist() == pytest.approx([55, 32.5, 29, 25, 25])


def test_shapes_and_energy() -> None:
    app = application()
    assert isinstance(app.time_s(3, 40), float) and isinstance(app.frequency_ghz(40), float)
    surface = app.time_s(np.arange(1, 6)[:, np.newaxis], [30, 40, 52])
    assert surface.shape == (5, 3) and surface[2, 1] == app.time_s(3, 40)
    assert app.energy_j(4, 40) == pytest.approx(4 * (40 + BASE_W) * app.time_s(4, 40))
    assert app.energy_j(4, 90) == pytest.approx(4 * (52 + BASE_W) * app.time_s(4, 52))  # it draws no more
    assert app.speedup(4, 52) == pytest.approx(1000 / app.time_s(4, 52))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sigma": 1.2}, "sigma: sigma = 1.2 (expected from 0 to 1: Downey's other regime is not modelled)"),
        ({"parallelism": 0.5}, "parallelism: parallelism = 0.5 (expected at least 1)"),
        ({"t1_s": 0}, "t1_s: t1_s = 0 (expected seconds, more than 0)"),
        ({"beta": 1}, "beta: beta = 1 (expected from 0 to less than 1)"),
        ({"p_low_w": 60}, "p_high_w: p_high_w = 52 (expected more than p_low_w)"),
        ({"p_low_w": 10}, "p_low_w: p_low_w = 10 (expected more than c)"),
        ({"a": float("nan")}, "a: a = nan (expected more than 0)"),
    ],
)
def test_numbers_out_of_range_are_named(change: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Application(**{"t1_s": 1.0, "parallelism": 2.0, "sigma": 0.5, **TABLE["LeanMD"], **change})
    assert str(raised.value) == said


def test_points_outside_the_model_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"watts: a cap of 29 W \(expected p_low_w, 30, or more\)"):
        application().time_s(2, [40, 29])
    with pytest.raises(ConfigError, match=r"nodes: 0 nodes \(expected at least 1\)"):
        application().time_s([0, 1], 40)


# -- fits -------------------------------------------------------------------------------------------------------------


def samples(app: Application, noise: float = 0.0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    nodes = np.repeat([1, 2, 5, 12, 25, 50, 70, 120], 4)
    watts = np.tile(np.linspace(app.p_low_w, app.p_high_w, 4), 8)
    seconds = app.time_s(nodes, watts) * np.exp(noise * rng.standard_normal(32))
    return nodes, watts + 20 * noise * rng.standard_normal(32), app.frequency_ghz(watts), seconds


@pytest.mark.parametrize("row", TABLE)
def test_a_fit_finds_what_made_the_samples(row: str) -> None:
    app = application(row, 40, 0.6)
    found = Application.fit(*samples(app))
    for name in ("t1_s", "parallelism", "sigma", "a", "b", "c", "beta", "p_low_w", "p_high_w"):
        assert getattr(found.application, name) == pytest.approx(getattr(app, name), rel=1e-3), name
    assert np.abs(found.residuals_s).max() < 1 and np.abs(found.residuals_w).max() < 1e-6


def test_intervals_of_a_fit_hold_what_made_the_samples() -> None:
    """Samples with one per cent of noise: most of the seven 95 % intervals hold the truth, none is far away."""
    app = application("LeanMD", 40, 0.6)
    found = Application.fit(*samples(app, 0.01))
    off = [
        abs(getattr(found.application, name) - getattr(app, name)) / half for name, half in found.half_widths.items()
    ]
    assert sum(one <= 1 for one in off) >= 5 and max(off) < 2
    assert all(np.isfinite(half) for half in found.half_widths.values())


def test_what_samples_do_not_tell_has_no_interval() -> None:
    """All runs on few nodes of a wide application without serial part: A is told by nothing."""
    app = application("LeanMD", 5000, 0.0)
    nodes, watts = np.tile([1, 2, 3], 3), np.repeat([30.0, 40, 52], 3)
    found = Application.fit(nodes, watts, app.frequency_ghz(watts), app.time_s(nodes, watts))
    assert not found.half_widths["parallelism"] < 1000


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([1, 2], [30, 40], [1.5, 1.9], [9, 9]), "samples: 2 samples of 2 frequencies and 2 counts of nodes"),
        (([1, 2], [30], [1.5, 1.9], [9, 9]), "samples: columns of different lengths"),
        (([0.5, 2], [30, 40], [1.5, 1.9], [9, 9]), "nodes: a sample of 0.5 (expected at least 1)"),
        (([1, 2], [30, 40], [1.5, 1.9], [9, np.inf]), "seconds: a sample of inf (expected more than 0)"),
    ],
)
def test_samples_that_cannot_be_fitted(columns: tuple[list[float], ...], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Application.fit(*columns)
    assert said in str(raised.value)
