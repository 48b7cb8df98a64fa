"""Recordings of a real slurmctld against replays: decisions in step, times freely (docs/fidelity.md)."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slurmsim.cli import main
from slurmsim.errors import WorkloadError
from slurmsim.fidelity import Assessment, assess, read_recording
from slurmsim.fidelity.instep import _explain, _orders, replay_in_step
from slurmsim.fidelity.measures import NEVER, launches, share_in_order, share_of_nodes

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "tests/conformance/recordings"
DEMANDED = ("mixed.builtin", "heavy.builtin", "grid.builtin", "grid.backfill")
MORE = ("extras.builtin", "mixed.backfill", "mixed.multifactor")
# Everything 22.05 recorded without accounting, and how many seconds no order of events explains.
RECORDED = {
    **dict.fromkeys((f"{w}.{c}" for w in ("mixed", "heavy", "grid", "extras")
                     for c in ("builtin", "backfill", "multifactor")), 0),
    "heavy.backfill": 2, "repeat/mixed.builtin.run2": 0, "repeat/mixed.backfill.run2": 0,
    "repeat/mixed.backfill.run3": 2, "repeat/grid.backfill.run2": 0, "repeat/grid.multifactor.run2": 3,
}  # fmt: skip


def demand(found: Assessment) -> None:
    assert found.order == 1.0
    assert found.nodes >= 0.99
    assert found.median_share_of_makespan <= 0.01


@pytest.mark.parametrize("name", DEMANDED)
def test_demanded_recordings(name: str) -> None:
    found = assess(BUNDLED / f"{name}.json")
    demand(found)
    assert found.nodes == 1.0
    assert found.unexplained == 0
    assert found.reordered <= 3
    if name.endswith("builtin"):  # the order needs no help, and the drift is launch latency, job by job
        assert found.free_order == 1.0
        assert found.explained == 1.0
        assert found.drift_s < 0 < found.latency_recorded_s - found.latency_replayed_s


@pytest.mark.parametrize("name", ["mixed.builtin", "heavy.builtin"])
def test_nodes_agree_even_when_nothing_recorded_is_used(name: str) -> None:
    assert assess(BUNDLED / f"{name}.json").free_nodes == 1.0


@pytest.mark.parametrize("name", MORE)
def test_more_recordings_in_step(name: str) -> None:
    found = assess(BUNDLED / f"{name}.json")
    assert (found.order, found.nodes, found.unexplained) == (1.0, 1.0, 0)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording(name: str) -> None:
    folder = os.environ.get("SLURMSIM_GOLDEN")
    if not folder:
        pytest.skip("set SLURMSIM_GOLDEN to the folder with the recordings of real Slurm")
    replays = Path(folder) / "replay"
    workload = replays / f"{Path(name).name.partition('.')[0]}.workload.json"
    step = replay_in_step(read_recording(replays / f"{name}.json", workload))
    jobs = step.recording.jobs
    assert share_of_nodes([j.nodes for j in jobs], [step.nodes.get(j.id, "") for j in jobs]) == 1.0
    assert len(step.unexplained) <= RECORDED[name]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("mixed.backfill", {"bf_resolution": "300"}), ("mixed.backfill", {"bf_window": "5"})],
)
def test_a_wrong_rule_is_noticed(name: str, parameters: dict[str, str]) -> None:
    """The orders tried inside a second cannot talk a wrong scheduler right."""
    recording = read_recording(BUNDLED / f"{name}.json")
    cluster = recording.cluster
    wrong = replace(cluster, scheduler_parameters={**cluster.scheduler_parameters, **parameters})
    assert _explain(replace(recording, cluster=wrong), limit=3) is None


def test_a_wrong_order_is_noticed() -> None:
    """Priorities instead of the job table: nice and dependencies would change who is next."""
    recording = read_recording(BUNDLED / "extras.builtin.json")
    tiers = [replace(p, priority_tier=1 + k) for k, p in enumerate(recording.cluster.partitions)]
    wrong = replace(recording, cluster=replace(recording.cluster, partitions=tuple(tiers)))
    assert _explain(recording, limit=1) is not None
    assert _explain(wrong, limit=3) is None


def test_command_prints_one_row_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(BUNDLED / f"{name}.json") for name in ("grid.builtin", "grid.backfill")]
    assert main(["fidelity", *files]) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == 4
    assert main(["fidelity", "--json", *files]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["recording"] for r in rows] == ["grid.builtin.json", "grid.backfill.json"]
    assert all(r["nodes"] == 1.0 for r in rows)


def test_table_in_the_document_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/fidelity.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- table: bundled -->\n(.*?)\n<!-- end -->", text, re.S)
    assert table is not None
    names = [line.split("|")[1].strip() for line in table[1].splitlines()[2:]]
    assert set(names) >= {*DEMANDED, *MORE}
    assert main(["fidelity", "--markdown", *(str(BUNDLED / f"{name}.json") for name in names)]) == 0
    assert capsys.readouterr().out.strip() == table[1]


@pytest.mark.parametrize(
    ("content", "field"),
    [({}, "jobs"), ({"jobs": [], "workload": "w.json"}, "slurm_conf"), ({"jobs": 1}, "slurm_conf")],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: dict[str, object], field: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(WorkloadError, match="is no recording"):
        assess(file)
    assert field in {"jobs", "slurm_conf", "workload"}


# -- the measures -----------------------------------------------------------------------------------------------------


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_order_forgives_a_second_and_no_more() -> None:
    assert share_in_order(times(0, 1, 5), times(1, 0, 5)) == 1.0
    assert share_in_order(times(0, 2, 5), times(2, 0, 5)) == pytest.approx(1 / 3)
    assert share_in_order(times(0, 5), times(0, NEVER)) == 0.5


def test_nodes_are_compared_as_sets_of_names() -> None:
    assert share_of_nodes(["n[1-2]", "n3"], ["n1,n2", "n4"]) == 0.5
    assert share_of_nodes(["n1"], [""]) == 0.0


def test_latencies_add_up_along_the_chain() -> None:
    # a: 0-10; b waits for a's node, starts 2 s late; c waits for b's, 3 s late; d finds a free node at once
    found = launches(
        [1, 2, 3, 4], times(0, 1, 1, 20), times(0, 12, 35, 20), times(10, 32, 40, 25), ["n1", "n1", "n1", "n2"]
    )
    assert found.latency.tolist() == [0, 2, 3, 0]
    assert found.total.tolist() == [0, 2, 5, 0]
    assert found.length.tolist() == [1, 2, 3, 1]


def test_orders_of_a_second_begin_with_the_usual_one() -> None:
    orders = list(_orders([7, 8], [], [False]))
    assert orders[0] == [7, 8, False]
    assert orders[1:3] == [[7, False, 8], [8, False, 7]]
    assert orders[3] == [False, 7, 8]
    assert len(orders) == 4
    assert list(_orders([7], [], [])) == [[7]]


def test_two_passes_may_come_in_either_order() -> None:
    orders = list(_orders([], [], [False, True]))
    assert orders == [[False, True], [True, False]]
