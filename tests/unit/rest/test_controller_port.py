"""slurmctld's own port, where metrics are told: who may ask, and what is answered, as 26.05 answered in a recording."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slurmsim.jwt_key import key_of, sign
from slurmsim.rest.controller_port import ControllerPort, addresses, who_may_ask

USERS = "MetricsAuthUsers"
IGNORE = {"MetricsParameters": "ignore_private_data"}
PRIVATE = {"PrivateData": "jobs"}


class Daemon:
    """Answers what the port asks of it."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name == "hello":
            return {"user": "keeper"}
        if name == "config":
            return {"values": {key: self.options.get(key) for key in arguments["names"]}}
        assert name == "job_counts"
        return {"groups": [["RUNNING", "", "alice", "a", "p", "", 2, 2, 2, 4, 100, 1]], "nodes": [["all", "", 2]],
                "waiting_nodes": []}  # fmt: skip


def port(options: dict[str, Any]) -> ControllerPort:
    return ControllerPort(Daemon(options), {"t-alice": "alice", "t-bob": "bob", "t-slurm": "slurm"}.get)  # type: ignore[arg-type]


def token(user: str) -> dict[str, str]:
    return {"x-slurm-user-name": user, "x-slurm-user-token": f"t-{user}"}


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({}, None),
        ({"PrivateData": "none"}, None),
        (PRIVATE, {"root", "keeper", "slurm"}),
        (PRIVATE | IGNORE, None),
        ({USERS: "alice"}, {"alice", "root", "keeper", "slurm"}),
        ({USERS: "alice,bob"} | PRIVATE | IGNORE, {"alice", "bob", "root", "keeper", "slurm"}),
    ],
)
def test_options_say_who_has_to_have_a_token(options: dict[str, str], allowed: set[str] | None) -> None:
    assert who_may_ask({**options, "SlurmUser": "slurm"}, "keeper") == allowed


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (token("alice"), 200),
        (token("slurm"), 200),
        ({"authorization": "Bearer t-alice"}, 200),
        (token("bob"), 403),
        ({}, 401),
        ({"x-slurm-user-name": "alice"}, 401),
        ({"x-slurm-user-name": "bob", "x-slurm-user-token": "t-alice"}, 401),
        ({"x-slurm-user-name": "alice", "x-slurm-user-token": "rubbish"}, 401),
        ({"x-slurm-user-token": "t-alice", "authorization": "Bearer t-alice"}, 401),
        ({"authorization": "Basic t-alice"}, 401),
    ],
)
def test_users_named_by_tokens_see_metrics(headers: dict[str, str], status: int) -> None:
    asked = port({USERS: "alice", "SlurmUser": "slurm"})
    why = {401: "Invalid authentication credential", 403: "Operation not permitted"}
    for path in ("/metrics", "/metrics/jobs"):
        answer = asked.answer("GET", path, headers)
        assert answer.status == status
        if status != 200:
            text = f"slurmctld HTTP server request for 'GET {path}':\nFailed: {why[status]}\n"
            assert answer.body.decode() == text


def test_paths_and_methods_that_there_are_not() -> None:
    asked = port({})
    for method, path in (("GET", "/nothing"), ("GET", "/metrics/"), ("POST", "/metrics"), ("GET", "/metrics/nothing")):
        answer = asked.answer(method, path, {})
        text = f"slurmctld HTTP server request for '{method} {path}':\nFailed: Invalid or unknown URL path\n"
        assert (answer.status, answer.body.decode()) == (404, text)


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/readyz", "/readyz?x=1"])
def test_health_has_no_body_and_takes_no_token(path: str) -> None:
    answer = port(PRIVATE).answer("GET", path, {})
    assert (answer.status, answer.body) == (204, b"")


def test_an_index_stands_where_the_exporters_names_are_on_slurmrestd() -> None:
    lines = port({}).answer("GET", "/metrics", {}).body.decode().splitlines()
    assert lines[0] == "slurmctld index of metrics endpoints:"
    assert len(lines) == 6
    jobs = port({}).answer("GET", "/metrics/jobs", {}).body.decode().splitlines()
    assert "slurm_jobs 2" in jobs


def test_it_listens_on_this_machine_and_at_the_controllers_name() -> None:
    assert addresses("localhost") == ["127.0.0.1"]
    assert addresses("no-such-host.invalid") == ["127.0.0.1"]
    assert addresses("10.0.0.7") == ["127.0.0.1", "10.0.0.7"]


def test_a_cluster_with_metrics_answers_at_its_port(tmp_path: Path, free_port: int) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        f"ClusterName=m\nSlurmctldHost=localhost\nSlurmctldPort={free_port}\nMetricsType=metrics/openmetrics\n"
        "PrivateData=jobs\nNodeName=n[1-3] CPUs=4\nPartitionName=a Nodes=ALL Default=YES\n"
    )
    folder = tmp_path / "state"
    simulator = [sys.executable, "-P", "-m", "slurmsim"]
    subprocess.run([*simulator, "up", "--state", folder, "--conf", conf, "--release", "26.05"], check=True)
    try:
        claims = {"exp": 2**40, "iat": 0, "sun": "root"}
        by_root = {"X-SLURM-USER-TOKEN": sign(claims, key_of(str(folder)))}
        assert ask(free_port, "/livez", {})[0] == 204
        assert ask(free_port, "/metrics/nodes", {})[0] == 401
        status, body = ask(free_port, "/metrics/nodes", by_root)
        assert status == 200
        assert "slurm_nodes 3\n" in body
    finally:
        subprocess.run([*simulator, "down", "--state", folder], check=True)
    with pytest.raises(OSError):
        ask(free_port, "/livez", {}, patience=1)


def ask(port: int, path: str, headers: dict[str, str], patience: int = 100) -> tuple[int, str]:
    """Return status and body; the port opens soon after the cluster."""
    import time

    for left in reversed(range(patience)):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            line.request("GET", path, headers=headers)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionRefusedError:
            if not left:
                raise
            time.sleep(0.1)
        finally:
            line.close()
    raise AssertionError


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
