"""Colours of figures are told apart by people who see no red or no green, too."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import slurmsim
from slurmsim.report.style import PALETTE

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009)
SIGHT = {
    "full": np.eye(3),
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def linear(color: str) -> np.ndarray:
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    scaled = XYZ @ np.clip(rgb, 0, 1) / WHITE
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


LIVE = (Path(slurmsim.__file__).parent / "web/page/picture.js").read_text()


def colors_of(name: str) -> tuple[str, ...]:
    """Return the colours of a constant of the live cluster's page."""
    line = next(line for line in LIVE.splitlines() if f"const {name} =" in line)
    return tuple(re.findall("#[0-9a-f]{6}", line))


def test_the_live_page_has_the_same():
    assert colors_of("COLORS") == PALETTE


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("colors", [PALETTE, colors_of("STATES")], ids=["figures", "states of nodes"])
def test_colors_differ(colors, sight):
    seen = [lab(np.asarray(SIGHT[sight]) @ linear(color)) for color in colors]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 12
