"""Whatever a client sends, no request breaks the daemon: not one exception that a handler did not foresee."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from request_strategies import CALLS, REQUESTS, requests

import slurmsim
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Client, Refusal, Unreachable, pack
from slurmsim.slurmctld.fields.job_fields import FIELDS as JOB_FIELDS
from slurmsim.slurmctld.fields.node_fields import NODE_FIELDS, PARTITION_FIELDS
from slurmsim.slurmctld.fields.reservation_fields import RESERVATION_FIELDS
from slurmsim.slurmctld.processes.steps import FIELDS as STEP_FIELDS

CONF = """\
ClusterName=c
SlurmctldHost=h
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
Licenses=matlab:4
MinJobAge=300
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
PriorityWeightAge=100
PriorityWeightFairshare=100
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-4] CPUs=4 RealMemory=4000 Gres=gpu:2 Feature=a,b
PartitionName=p Nodes=ALL Default=YES MaxTime=1-0
PartitionName=q Nodes=n[1-2] PriorityTier=5 OverSubscribe=FORCE:2
"""
LOOKS: tuple[tuple[str, Any], ...] = (
    ("jobs", JOB_FIELDS), ("every_job", JOB_FIELDS), ("nodes", NODE_FIELDS), ("partitions", PARTITION_FIELDS),
    ("reservations", RESERVATION_FIELDS), ("steps", STEP_FIELDS),
)  # fmt: skip
PLAIN_LOOKS = ("priority_factors", "shares", "statistics", "assoc_mgr", "licenses", "show_config", "qos_ids")
SLOW_S = 20.0
RENEWED_AFTER = 400
"""Requests after which a cluster is exchanged: what was done to its nodes and partitions leaves little that runs."""


class World:
    """A cluster that is made anew now and then."""

    def __init__(self, folder: Path) -> None:
        self.conf = folder / "slurm.conf"
        self.conf.write_text(CONF)
        self.asked = self.sent = 0
        self.cluster: Cluster | None = None

    def get(self) -> Cluster:
        if self.cluster is not None and self.asked > RENEWED_AFTER:
            self.close()
        if self.cluster is None:
            self.cluster = slurmsim.cluster(conf=self.conf, frozen=True, start="2026-01-05T08:00:00Z")
            self.cluster.__enter__()
            self.cluster.client = Client(str(self.cluster.folder), timeout_s=SLOW_S)
            self.asked = 0
        return self.cluster

    def close(self) -> None:
        if self.cluster is not None:
            self.cluster.__exit__(None, None, None)
            self.cluster = None


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    found = World(tmp_path_factory.mktemp("fuzz"))
    yield found
    found.close()
    print(f"{found.sent} requests sent")


def look(cluster: Cluster) -> None:
    """Ask for everything there is to see."""
    for call, fields in LOOKS:
        cluster.client.call(call, fields=list(fields))
    for call in PLAIN_LOOKS:
        cluster.client.call(call)
    cluster.client.call("accounting_jobs", start=0, end=1 << 36)
    for kind in ("association", "user", "account", "qos"):
        cluster.client.call("account_list", kind=kind)


@settings(suppress_health_check=list(HealthCheck))
@given(asked=st.lists(requests(), min_size=1, max_size=12), user=st.sampled_from((None, "alice", "root")))
def test_no_request_breaks_the_daemon(world: World, asked: list[tuple[str, Any]], user: str | None) -> None:
    cluster = world.get()
    server = cluster._server
    assert server is not None
    try:
        for call, arguments in asked:
            cluster.client.user = user
            world.asked, world.sent = world.asked + 1, world.sent + 1
            before = time.monotonic()
            with contextlib.suppress(Refusal, ValueError, Unreachable):  # what is no JSON object is hung up on
                _send(cluster, call, arguments)
            assert time.monotonic() - before < SLOW_S, (call, arguments)
        cluster.client.user = None
        look(cluster)
        cluster.step(30)
        assert not server.failed
        assert not server.trouble.tracebacks, server.trouble.tracebacks[-1]
    except BaseException:
        world.close()
        raise


def _send(cluster: Cluster, call: str, arguments: Any) -> None:
    client = cluster.client
    client._send(pack({"call": call, "args": arguments, "user": client.user}))
    client.receive()


def test_every_request_has_a_shape_and_every_shape_a_request(world: World) -> None:
    server = world.get()._server
    assert server is not None
    assert set(REQUESTS) == set(server.engine.calls) | set(server._own)
    assert len(CALLS) > 60


ONCE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("log_call", {"argv": [], "rc": None}), ("groups", {"names": ["9" * 5000]}), ("users", {"names": ["²"]}),
    ("update_reservation", {"reservation": {"name": "x", "flags": [""]}}), ("update_reservation", {"reservation": {}}),
    ("account_change", {"action": "add_user", "accounts": [], "names": ["x"]}),
    ("account_change", {"action": "add_coordinator", "accounts": ["nosuch"], "users": []}),
    ("submit", {"job": {"script": "#!/bin/sh\n", "name": "j", "array_inx": ","}}),
    ("jobs", {"job_id": "²", "fields": []}),
    ("accounting_jobs", {"associations": ["xxx"]}), ("accounting_jobs", {"jobs": [[1 << 63, None]], "end": 1 << 36}),
)  # fmt: skip


@pytest.mark.parametrize(("call", "arguments"), ONCE)
def test_requests_that_once_broke_a_handler(world: World, call: str, arguments: dict[str, Any]) -> None:
    cluster = world.get()
    with contextlib.suppress(Refusal):
        cluster.client.call(call, **arguments)
    assert cluster._server is not None
    assert not cluster._server.trouble.tracebacks


def test_a_step_has_no_more_tasks_than_its_nodes_may_run(world: World) -> None:
    client = world.get().client
    job = {"name": "j", "script": "#!/bin/sh\nsleep 600\n", "work_dir": "/", "time_limit": 20}
    number = client.call("submit", job=job)["job_id"]
    world.get().step(60)
    step = {"job_id": number, "num_tasks": 1 << 50, "cpu_count": 1, "overcommit": True}
    with pytest.raises(Refusal, match="Task count specification invalid"):
        client.call("step_create", step=step)
    assert client.call("step_create", step={**step, "num_tasks": 512})["step_id"] == 0


BAD = (
    ("submit", {"job": {"min_nodes": "x"}}), ("submit", {"job": {"script": "#!/bin/sh\n", "name": "\0"}}),
    ("submit", {}), ("hold_job", {"job_id": [1], "kind": "hold"}), ("hold_job", {"job_id": "1", "kind": 7}),
    ("users", {"names": "alice"}), ("clock", {"action": "step", "seconds": "x"}),
    ("clock", {"action": "step", "_to": 1}),
    ("nonsense", {}), ("ended", {"core_id": 1}),
    ("update_partition", {"partition": {"name": "p", "over_subscribe": [1]}}),
    ("account_change", {"action": "add_user", "names": ["x"]}),
)  # fmt: skip


@pytest.mark.parametrize(("call", "arguments"), BAD)
def test_malformed_requests_are_turned_away_at_the_door(
    world: World, call: str, arguments: dict[str, Any], capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    cluster = world.get()
    server = cluster._server
    assert server is not None
    monkeypatch.setattr(server, "_rebuild", lambda: pytest.fail("the engine was rebuilt"))
    before = (cluster.folder / "journal").stat().st_size
    server.trouble._last = 0.0
    with pytest.raises(Refusal, match=r"^Invalid argument$"):
        cluster.client.call(call, **arguments)
    assert (cluster.folder / "journal").stat().st_size == before
    assert f"Malformed RPC of type '{call}' received from uid" in capfd.readouterr().err
