"""slurmrestd as a process: its command, its sockets, who is let in; and a client that a public generator made."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import slurmsim
from slurmsim.jwt_key import KEY_FILE, sign
from slurmsim.live.cluster import Cluster
from slurmsim.rest.messages import Request
from slurmsim.rest.openapi import specification
from slurmsim.rest.routes import PLUGINS, of_version, served
from slurmsim.rest.server import make_service

pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")
SUBMISSION = {
    "script": "#!/bin/sh\nsleep 60\n",
    "job": {"name": "viarest", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "tasks": 2,
            "time_limit": {"set": True, "number": 5}},
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with slurmsim.cluster(nodes=4, frozen=True, slurm_version="26.05", users={"alice": 2001, "bob": 2002}) as made:
        yield made


@contextmanager
def serving(cluster: Cluster, *words: str, user: str | None = None) -> Iterator[str]:
    """slurmrestd as its command starts it; where it says it listens."""
    environ = {**os.environ, **cluster.environ, **({"SLURMSIM_USER": user} if user else {})}
    server = subprocess.Popen(["slurmrestd", *words], env=environ, stderr=subprocess.PIPE, text=True,
                              executable=str(Path(cluster.folder) / "bin" / "slurmrestd"))  # fmt: skip
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        assert "listening on " in line, line + server.stderr.read()
        yield line.rsplit(" ", 1)[1].strip()
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) in (0, -signal.SIGTERM)
        server.stderr.close()


def client_of(where: str) -> Any:
    """An HTTP client of a socket or a port, once it is served."""
    options: dict[str, Any] = {"base_url": f"http://{where}", "trust_env": False}
    if where.startswith("unix:"):
        options = {"base_url": "http://localhost", "transport": None}
    last = time.monotonic() + 20
    while True:
        if "transport" in options:
            options["transport"] = httpx.HTTPTransport(uds=where.removeprefix("unix:"))
        try:
            with httpx.Client(**options) as probe:
                probe.get("/")
        except httpx.ConnectError:
            if time.monotonic() > last:
                raise
            time.sleep(0.05)
            continue
        if "transport" in options:
            options["transport"] = httpx.HTTPTransport(uds=where.removeprefix("unix:"))
        return httpx.Client(**options)


def test_a_job_is_submitted_watched_and_cancelled_over_the_socket(cluster: Cluster) -> None:
    with serving(cluster, user="alice") as where:
        path = Path(where.removeprefix("unix:"))
        assert path == Path(cluster.folder) / "slurmrestd.sock" and path.stat().st_mode & 0o777 == 0o600
        with client_of(where) as http:
            made = http.post("/slurm/v0.0.45/job/submit", json=SUBMISSION)
            assert made.status_code == 200, made.text
            number = made.json()["job_id"]
            (job,) = http.get(f"/slurm/v0.0.45/job/{number}").json()["jobs"]
            assert (job["name"], job["user_name"], job["tasks"]["number"]) == ("viarest", "alice", 2)
            cluster.step(5)
            (job,) = http.get(f"/slurm/v0.0.42/job/{number}").json()["jobs"]
            assert job["job_state"] == ["RUNNING"] and "step_id" not in job
            assert http.delete(f"/slurm/v0.0.45/job/{number}").json()["status"] == []
            assert http.get(f"/slurm/v0.0.45/job/{number}").json()["jobs"][0]["job_state"] == ["CANCELLED"]
            text = http.get("/slurm/v0.0.45/nodes/", headers={"Accept": "application/yaml"})
            assert text.headers["content-type"] == "application/yaml" and text.text.startswith("%YAML")
            assert "slurm_cpus_total 32" in http.get("/metrics").text
    assert not path.exists()


def test_over_tcp_tokens_alone_open_and_strangers_do_not(cluster: Cluster) -> None:
    with serving(cluster, "127.0.0.1:0") as where, client_of(where) as http:
        assert http.get("/slurm/v0.0.45/ping/").status_code == 401
        key = Path(cluster.folder) / KEY_FILE
        assert key.stat().st_mode & 0o777 == 0o600
        done = cluster.run(["scontrol", "token", "lifespan=600", "username=bob"])
        assert done.returncode == 0, done.stderr
        token = done.stdout.strip().removeprefix("SLURM_JWT=")
        mine = {"Authorization": f"Bearer {token}"}
        made = http.post("/slurm/v0.0.45/job/submit", json=SUBMISSION, headers=mine)
        assert made.status_code == 200, made.text
        assert cluster.job(made.json()["job_id"])["user"] == "bob"
        both = {"X-SLURM-USER-NAME": "alice", "X-SLURM-USER-TOKEN": token}
        assert http.get("/slurm/v0.0.45/jobs/", headers=both).status_code == 511
        for claims, head in (({"exp": 1, "sun": "bob"}, "HS256"), ({"exp": 1 << 40}, "HS256")):
            bad = {"X-SLURM-USER-TOKEN": sign(claims, key.read_bytes())}
            assert http.get("/slurm/v0.0.45/jobs/", headers=bad).status_code == 511, head
        none = "eyJhbGciOiJub25lIn0.eyJleHAiOjk5OTk5OTk5OTksInN1biI6ImJvYiJ9."
        assert http.get("/slurm/v0.0.45/jobs/", headers={"X-SLURM-USER-TOKEN": none}).status_code == 511
        assert http.get("/slurm/v0.0.45/ping/", headers={**mine, "Host": "evil.example"}).status_code == 403
        assert http.get("/slurm/v0.0.45/ping/", headers={**mine, "Origin": "http://evil.example"}).status_code == 403
        assert http.get("/slurm/v0.0.45/ping/", headers={**mine, "Origin": f"http://{where}"}).status_code == 200


def test_users_get_no_token_for_others(cluster: Cluster) -> None:
    with serving(cluster, "localhost:0"):
        done = cluster.run(["scontrol", "token", "username=bob"], user="alice")
        assert done.returncode == 1 and "permission denied" in done.stderr
        assert cluster.run(["scontrol", "token"], user="alice").stdout.startswith("SLURM_JWT=")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["0.0.0.0:6820"], "only this machine is served"),
        ([":6820"], "only this machine is served"),
        (["nowhere"], "no place to listen at"),
        (["-a", "rest_auth/none"], "no rest_auth plugin that is modelled"),
        (["-s", "dbv0.0.38"], "no openapi plugin that is modelled"),
        (["-d", "v0.0.39"], "no data_parser plugin that is modelled"),
        (["-t", "8"], "a number of threads is not modelled"),
        (["-f", "/etc/slurm.conf"], "a slurm.conf of its own is not modelled"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(cluster: Cluster, words: list[str], text: str) -> None:
    done = cluster.run(["slurmrestd", *words])
    assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr


def test_old_releases_have_no_recorded_server() -> None:
    with slurmsim.cluster(nodes=1, frozen=True) as made:
        done = made.run(["slurmrestd"])
        assert done.returncode == 2 and "slurmrestd of Slurm 22.05 is not modelled" in done.stderr


def test_what_is_no_http_ends_no_server(cluster: Cluster) -> None:
    with serving(cluster, "127.0.0.1:0") as where, client_of(where) as http:
        host, _, port = where.rpartition(":")
        for raw in (b"\x16\x03\x01\x00", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 200_000,
                    b"\0" * 99, b"POST /slurm/v0.0.45/job/submit HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):  # fmt: skip
            with socket.create_connection((host, int(port)), 10) as line:
                answer = b""
                with suppress(OSError):  # it may hang up before all is said
                    line.sendall(raw)
                    line.shutdown(socket.SHUT_WR)
                    answer = line.recv(1 << 16)
                assert b"Traceback" not in answer
        assert http.get("/slurm/v0.0.45/ping/").status_code == 401


# -- the document and a client made from it ------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_the_document_is_openapi(release: str) -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    document = specification(release, PLUGINS, served(release))
    validator.validate(document)
    identifiers = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(set(identifiers)) == len(identifiers) > 50
    newest = max(served(release))
    assert {f"slurm_v00{newest}_get_jobs", f"slurmdb_v00{newest}_get_single_qos", f"slurmdb_v00{newest}_get_account",
            f"slurm_v00{newest}_post_job_submit"} <= {*identifiers}  # fmt: skip
    for version in served(release):
        for route in of_version(version, PLUGINS, release):
            path = next(p for p in document["paths"] if p.rstrip("/") == f"/{route.plugin}/v0.0.{version}/{route.path}")
            assert route.method.lower() in document["paths"][path]


def test_a_generated_client_works(cluster: Cluster, tmp_path: Path) -> None:
    if importlib.util.find_spec("openapi_python_client") is None:
        pytest.skip("openapi-python-client is not installed: no client can be generated")
    (tmp_path / "openapi.json").write_text(json.dumps(specification("26.05", PLUGINS, (45,))), "utf-8")
    (tmp_path / "config.yml").write_text("post_hooks: []\npackage_name_override: made_client\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none",
         "--config", "config.yml", "--output-path", "made_client"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(tmp_path))
    try:
        api = importlib.import_module("made_client.api.slurm.slurm_v0045_get_nodes")
        made = importlib.import_module("made_client.client")
        with serving(cluster, user="alice") as where:
            client_of(where).close()
            transport = httpx.HTTPTransport(uds=where.removeprefix("unix:"))
            client = made.Client(base_url="http://localhost", httpx_args={"transport": transport})
            answer = api.sync_detailed(client=client)
        assert answer.status_code == 200
        nodes = answer.parsed.nodes
        assert [node.name for node in nodes] == ["n1", "n2", "n3", "n4"]
        assert nodes[0].cpus == 8 and nodes[0].state == ["IDLE"] and nodes[0].free_mem.set_ is True
    finally:
        sys.path.remove(str(tmp_path))


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_each_version_answers_with_its_own_fields(release: str) -> None:
    """Records have the properties that the document names, in every version; commands write the same."""
    with slurmsim.cluster(nodes=2, frozen=True, jobs="simulate", slurm_version=release) as made:
        assert made.run(["sbatch", "--wrap", "sleep 60"]).returncode == 0
        made.step(5)
        service = make_service(str(made.folder))
        seen = set()
        for version in served(release):
            schemas = specification(release, PLUGINS, (version,))["components"]["schemas"]
            for path, key, name in (("jobs", "jobs", "job_info"), ("nodes", "nodes", "node"),
                                    ("partitions", "partitions", "partition_info")):  # fmt: skip
                answer = service.answer(Request("GET", f"/slurm/v0.0.{version}/{path}"))
                document = json.loads(answer.body)
                assert document["meta"]["plugin"]["data_parser"] == f"data_parser/v0.0.{version}"
                assert document[key][0].keys() == schemas[f"v0.0.{version}_{name}"]["properties"].keys()
                seen.add((version, path, len(document[key][0])))
            shown = json.loads(made.run(["squeue", f"--json=v0.0.{version}"]).stdout)
            again = json.loads(service.answer(Request("GET", f"/slurm/v0.0.{version}/jobs/")).body)
            assert shown["jobs"] == again["jobs"]
            statistics = json.loads(made.run(["sdiag", f"--json=v0.0.{version}"]).stdout)["statistics"]
            assert ("parts_packed" in statistics) == (version < 45)
        service.close()
        told = {
            tuple(sorted((path, count) for one, path, count in seen if one == version)) for version in served(release)
        }
        assert len(told) == len(served(release))
        for command in (["squeue"], ["sinfo"], ["scontrol", "show", "nodes"], ["sdiag"]):
            done = made.run([*command, "--json=v0.0.99"])
            assert done.returncode == 1 and "unable to find plugin: data_parser/v0.0.99" in done.stderr


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_no_license_at_all_is_warned_of(release: str) -> None:
    with slurmsim.cluster(nodes=2, frozen=True, slurm_version=release) as made:
        service = make_service(str(made.folder))
        answer = service.answer(Request("GET", "/slurm/v0.0.42/licenses/"))
        service.close()
    told = json.loads(answer.body)
    assert told["licenses"] == []
    assert [one["description"] for one in told["warnings"]] == ["Zero licenses to dump"]


def test_other_files_are_told_to_a_request_that_knew_the_old_ones(tmp_path: Path) -> None:
    """A cluster keeps its start when it takes other files, so no time before now says that nothing has changed."""

    def asked(folder: Path, query: dict[str, str]) -> Any:
        service = make_service(str(folder))
        answer = service.answer(Request("GET", "/slurm/v0.0.45/conf", query=query))
        service.close()
        return json.loads(answer.body)

    with slurmsim.cluster(nodes=1, frozen=True, slurm_version="26.05", folder=tmp_path / "c") as made:
        now = asked(made.folder, {})["slurm_conf_meta"]["LastUpdate"]
        made.step(100)
        whole = asked(made.folder, {"update_time": str(now)})
        assert whole["slurm_conf"]["ClusterName"] and whole["warnings"] == []
        nothing = asked(made.folder, {"update_time": "4102444800"})
        assert "slurm_conf" not in nothing and len(nothing["warnings"]) == 1


def test_private_data_holds_for_the_user_of_a_token(tmp_path: Path) -> None:
    """What a user does not see by commands no request tells, either."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
                    "PrivateData=jobs,nodes,partitions\n")  # fmt: skip
    users = {"alice": 2001, "bob": 2002}
    with slurmsim.cluster(conf=conf, frozen=True, jobs="simulate", slurm_version="26.05", users=users) as made:
        for user in users:
            assert made.run(["sbatch", "--wrap", "sleep 60"], user=user).returncode == 0
        service = make_service(str(made.folder))

        def told(path: str, user: str) -> tuple[int, Any]:
            done = made.run(["scontrol", "token", f"username={user}"])
            token = done.stdout.strip().removeprefix("SLURM_JWT=")
            answer = service.answer(Request("GET", f"/slurm/v0.0.45/{path}", headers={
                "x-slurm-user-name": user, "x-slurm-user-token": token,
            }))  # fmt: skip
            return answer.status, json.loads(answer.body)

        assert [job["user_name"] for job in told("jobs/", "alice")[1]["jobs"]] == ["alice"]
        assert len(told("jobs/", "root")[1]["jobs"]) == 2
        for path in ("job/2", "nodes/", "partitions/"):
            status, document = told(path, "alice")
            assert status != 200 and document["errors"], path
            assert not document.get(path.partition("/")[0]), path
        assert len(told("nodes/", "root")[1]["nodes"]) == 2
        service.close()
