"""Jobs beside hierarchical resources, as a real slurmctld of 26.05 started them, each workload once or twice.

16 nodes have `flat` (mode 2), `natural` (mode 1) and `power` (mode 3); `lic` is with bf_licenses, `bf` without. `mix`
has all three. `run2` is a second recording of the same jobs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: resources.yaml: PyYAML is not installed")

from slurmsim.fidelity import Assessment, assess

RECORDED = Path(__file__).resolve().parents[1] / "conformance" / "layers"
NAMES = sorted(path.name.removesuffix(".json") for path in RECORDED.glob("*.json") if "workload" not in path.name)
FREE = ("power.bf", "natural.lic", "power.lic.run2", "mix.bf")  # the others differ where passes share a second
QUICK = ("power.lic", "natural.lic")


def assessed(name: str) -> Assessment:
    return assess(RECORDED / f"{name}.json")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES])
def test_jobs_start_where_and_when_they_did(name: str) -> None:
    found = assessed(name)
    assert (found.order, found.nodes, found.unexplained) == (1.0, 1.0, 0)
    assert found.locked_starts == 1.0 and found.locked_in_time >= 0.96
    if name in FREE:
        assert (found.free_order, found.free_nodes) == (1.0, 1.0)


def test_every_recording_is_there() -> None:
    assert len(NAMES) == 13 and {name.partition(".")[0] for name in NAMES} == {"flat", "natural", "power", "mix"}
