"""Pictures of applications show what the model says."""

from __future__ import annotations

import io

import numpy as np
import pytest

from slurmsim.energy import TABLE, Application
from slurmsim.errors import ConfigError
from slurmsim.report.energy_figures import residuals, surfaces

MD = Application(t1_s=4000, parallelism=24, sigma=0.2, **TABLE["LeanMD"])


def test_surfaces() -> None:
    fig = surfaces(MD, range(1, 25), range(30, 61, 5))
    speed, joules = fig.axes
    assert "1 is 1 × 30 W" in speed.get_title(loc="left") and "MJ" in joules.get_title(loc="left")
    top = speed.collections[0].get_clim()[1]
    assert top == pytest.approx(MD.speedup(24, 60, over=(1, 30)), rel=0.15)
    out = io.BytesIO()
    fig.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("nodes", "watts"), [([1], [30, 60]), ([2, 1], [30, 60]), ([1, 2], [30, 30]), ([1, 2], [10, 60])]
)
def test_axes_that_cannot_be(nodes: list[int], watts: list[float]) -> None:
    with pytest.raises(ConfigError):
        surfaces(MD, nodes, watts)


def test_residuals() -> None:
    nodes, ghz = (a.ravel() for a in np.meshgrid([1, 2, 4, 8, 16], [1.5, 1.9, 2.3]))
    watts = MD.power_w(ghz)
    seconds = MD.time_s(nodes, watts) + np.where(nodes == 4, 7.0, 0.0)
    fit = Application.fit(nodes, watts, ghz, seconds)
    times, power = residuals(fit, nodes, ghz).axes
    shown = np.asarray(times.collections[0].get_offsets())
    np.testing.assert_allclose(shown, np.column_stack([nodes, fit.residuals_s]))
    assert shown[shown[:, 0] == 4, 1].max() > 1 and len(np.asarray(power.collections[0].get_offsets())) == 15
    with pytest.raises(ConfigError, match="nodes"):
        residuals(fit, nodes[:3], ghz)
