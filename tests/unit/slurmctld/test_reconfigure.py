"""scontrol reconfigure: slurm.conf says anew what scontrol had changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_calls import ALICE, ROOT, THREE_NODES, do, engine_of, show, submit, wait

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.fields.node_fields import is_future


@pytest.fixture
def cluster(tmp_path: Path) -> Engine:
    return engine(tmp_path)


def engine(tmp_path: Path, more: str = "") -> Engine:
    return engine_of(tmp_path, THREE_NODES + more)


def test_partitions_are_those_of_slurm_conf_again(cluster: Engine) -> None:
    do(cluster, "update_partition", ROOT, partition={"name": "scav", "default": True})
    do(cluster, "update_partition", ROOT, partition={"name": "batch", "max_time": 5, "state_up": "DRAIN"})
    do(cluster, "create_partition", ROOT, partition={"name": "extra", "nodes": "n1"})
    do(cluster, "reconfigure", ROOT)
    by_name = cluster.controller.state.cluster.by_name
    assert [p.spec for p in by_name.values()] == list(cluster.spec.partitions)
    assert cluster.controller.state.cluster.default is by_name["batch"]
    assert show(cluster, submit(cluster), "partition") == ["batch"]


def test_a_partition_that_is_in_use_stays(cluster: Engine) -> None:
    do(cluster, "create_partition", ROOT, partition={"name": "extra", "nodes": "n1"})
    submit(cluster, partition="extra")
    do(cluster, "reconfigure", ROOT)
    assert "extra" in cluster.controller.state.cluster.by_name


def test_nodes_keep_their_state_and_lose_what_scontrol_said_of_them(cluster: Engine) -> None:
    do(cluster, "update_node", ROOT, names="n1", weight=7, state="DRAIN", reason="test")
    do(cluster, "update_node", ROOT, names="n2", features="std,new", features_act="new")
    do(cluster, "reconfigure", ROOT)
    table = cluster.controller.state.table
    assert [(s.weight, s.features) for s in table.specs] == [(3, ("std",)), (3, ("std",)), (1, ("big",))]
    assert not table.active and cluster.controller.node_states.drained == 1


def test_nodes_that_scontrol_made_future_are_there_again(cluster: Engine) -> None:
    do(cluster, "update_node", ROOT, names="n1", state="FUTURE")
    job = submit(cluster, req_nodes="n1")
    wait(cluster, 60)
    assert show(cluster, job, "job_state") == ["PENDING"]
    do(cluster, "reconfigure", ROOT)
    assert not is_future(cluster, 0)
    wait(cluster, 60)
    assert show(cluster, job, "job_state") == ["RUNNING"]


def test_a_node_put_away_is_there_again(cluster: Engine) -> None:
    do(cluster, "update_node", ROOT, names="n2", state="FUTURE")
    assert do(cluster, "nodes", fields=["name"])["columns"]["name"] == ["n1", "n3"]
    do(cluster, "reconfigure", ROOT)
    assert do(cluster, "nodes", fields=["name"])["columns"]["name"] == ["n1", "n2", "n3"]
    assert not cluster.controller.node_states.down


def test_only_administrators_have_it_read(cluster: Engine) -> None:
    do(cluster, "update_partition", ROOT, partition={"name": "scav", "default": True})
    with pytest.raises(Refusal):
        do(cluster, "reconfigure", ALICE)
    assert cluster.controller.state.cluster.by_name["scav"].spec.default


@pytest.mark.parametrize(("flag", "kept"), [("KeepPartInfo", (300, "DRAIN")), ("KeepPartState", (None, "DRAIN"))])
def test_flags_keep_partitions_or_their_states(tmp_path: Path, flag: str, kept: tuple[int | None, str]) -> None:
    e = engine(tmp_path, f"ReconfigFlags={flag}\n")
    do(e, "update_partition", ROOT, partition={"name": "scav", "max_time": 5, "state_up": "DRAIN"})
    do(e, "reconfigure", ROOT)
    spec = e.controller.state.cluster.by_name["scav"].spec
    assert (spec.max_time_s, spec.state) == kept


def test_nodes_without_a_reason_are_roots_since_their_records_are_new(cluster: Engine) -> None:
    """22.05: until a job starts on them, or they had a reason that is gone; as its sinfo -U and JSON told."""
    assert users(cluster) == [None] * 3
    do(cluster, "reconfigure", ROOT)
    assert users(cluster) == ["root"] * 3
    submit(cluster, req_nodes="n1")
    wait(cluster, 5)
    assert users(cluster) == [None, "root", "root"]
    do(cluster, "update_node", ROOT, names="n3", state="DOWN", reason="x")
    do(cluster, "update_node", ROOT, names="n3", state="RESUME")
    assert users(cluster) == [None, "root", None]


def users(cluster: Engine) -> list[str | None]:
    """Who gave the reasons of all nodes."""
    columns: dict[str, list[str | None]] = do(cluster, "nodes", ROOT, fields=["reason_user"])["columns"]
    return columns["reason_user"]


def test_a_new_slurmctld_has_no_uids_of_reasons(tmp_path: Path) -> None:
    """Since 23.11 slurmctld starts anew, and reads what was saved."""
    newer = engine_of(tmp_path, THREE_NODES, release="24.11")
    do(newer, "reconfigure", ROOT)
    assert users(newer) == [None] * 3
