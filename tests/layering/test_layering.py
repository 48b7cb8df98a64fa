"""The real tree obeys the tables, and light commands stay light."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from layering_checker import check, layer_of, load
from layering_rules import HEAVY, LAYERS, PACKAGES

ROOT = Path(__file__).resolve().parents[2]


def test_no_arrow_points_the_other_way() -> None:
    modules = load(ROOT, PACKAGES)
    assert "slurmsim.core" in modules and "slurmsim_policies" in modules and "slurmsim_workloads" in modules
    assert check(modules, LAYERS) == []


def test_every_layer_named_in_a_rule_exists() -> None:
    for name, rule in LAYERS.items():
        assert rule.sees <= set(LAYERS) | {"*"}, name


def test_simpy_is_seen_by_the_simulation_alone() -> None:
    assert [name for name, rule in LAYERS.items() if "simpy" in rule.third_party] == ["sim"]
    assert layer_of("slurmsim.sim.jobs", LAYERS) == "sim"


def test_every_package_is_installed() -> None:
    """setuptools is told the packages one by one; one that is missing works here and nowhere else."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    found = {
        ".".join([name, *path.relative_to(ROOT / folder).parent.parts])
        for folder, name in PACKAGES.items()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert sorted(listed) == sorted(found)


def _loaded_by(code: str) -> list[str]:
    """Heavy modules in a fresh interpreter after `code`."""
    probe = f"import sys, json\n{code}\nsys.stderr.write(json.dumps(sorted(m for m in sys.modules if '.' not in m)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    return [name for name in HEAVY if name in loaded]


def test_the_probe_sees_what_is_loaded() -> None:
    assert _loaded_by("import simpy") == ["simpy"]


@pytest.mark.parametrize(
    "code",
    [
        "import slurmsim",
        "import slurmsim.errors, slurmsim.states, slurmsim.bitmap, slurmsim.capacity, slurmsim.policy",
        "import slurmsim.cli",
        "import slurmsim.cli\ntry: slurmsim.cli.main(['--help'])\nexcept SystemExit: pass",
        "import slurmsim.cli\ntry: slurmsim.cli.main(['run', '--help'])\nexcept SystemExit: pass",
    ],
    ids=["package", "vocabulary-and-port", "cli", "help", "run-help"],
)
def test_light_things_load_nothing_heavy(code: str) -> None:
    assert _loaded_by(code) == []
