"""The real tree obeys the tables, and light commands stay light."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from layering_checker import check, circles, imports, layer_of, load
from layering_rules import HEAVY, LAYERS, PACKAGES, ROOMS, UPWARD

ROOT = Path(__file__).resolve().parents[2]


def test_no_arrow_points_the_other_way() -> None:
    modules = load(ROOT, PACKAGES)
    assert "slurmsim.core" in modules and "slurmsim_policies" in modules and "slurmsim_workloads" in modules
    assert check(modules, LAYERS) == []


@pytest.mark.parametrize(("package", "order"), ROOMS.items())
def test_rooms_have_an_order(package: str, order: tuple[str, ...]) -> None:
    """Also for types and inside functions."""
    loaded = load(ROOT, PACKAGES)
    modules = {name: module for name, module in loaded.items() if name.startswith(f"{package}.")}
    rooms = {name: name.split(".")[2] for name in modules if name != f"{package}.__main__"}
    assert set(rooms.values()) == set(order)
    upward = {
        (f"{rooms[name]} > {rooms[item.target]}", item.target)
        for name in rooms for item in imports(modules[name], modules)
        if item.target in rooms and order.index(rooms[item.target]) > order.index(rooms[name])
    }  # fmt: skip
    assert upward == UPWARD[package]


def test_no_part_of_the_core_holds_the_controller() -> None:
    modules = load(ROOT, PACKAGES)
    whole = "slurmsim.core.controller.controller"
    inside = [name for name in modules if name.startswith("slurmsim.core.") and name != whole]
    assert [name for name in inside if whole in {item.target for item in imports(modules[name], modules)}] == []


@pytest.mark.parametrize("package", ["slurmsim", "slurmsim_policies", "slurmsim_workloads"])
def test_no_two_modules_need_each_other(package: str) -> None:
    """Not even as types or in a function: whoever reads one would have to read the other first."""
    assert circles(load(ROOT, PACKAGES), package) == []


def test_what_commands_share_knows_no_single_command() -> None:
    modules, shared = (
        load(ROOT, PACKAGES),
        tuple(f"slurmsim.commands.{name}" for name in ("text", "io", "faulty", "recorded")),
    )
    found = {
        (name, item.target)
        for name, module in modules.items()
        if name.startswith(shared)
        for item in imports(module, modules)
        if item.target.startswith("slurmsim.commands.") and not item.target.startswith(shared)
    }
    assert found == set()


def test_every_layer_named_in_a_rule_exists() -> None:
    for name, rule in LAYERS.items():
        assert rule.sees <= set(LAYERS) | {"*"}, name


def test_simpy_is_seen_by_the_simulation_alone() -> None:
    assert [name for name, rule in LAYERS.items() if "simpy" in rule.third_party] == ["sim"]
    assert layer_of("slurmsim.sim.jobs", LAYERS) == "sim"


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


def test_a_run_of_a_model_loads_no_pandas(tmp_path: Path) -> None:
    """Which takes as long to load as a small run: pyarrow does so for each array it makes of a list or of NumPy's."""
    words = ["run", "--workload", "generate:lublin:jobs=5,nodes=8", "--out", str(tmp_path / "out"), "--quiet"]
    loaded = _loaded_by(f"import slurmsim.cli\nassert slurmsim.cli.main({words!r}) == 0")
    assert "pandas" not in loaded and "pyarrow" in loaded
