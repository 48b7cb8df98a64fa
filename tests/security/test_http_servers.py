"""slurmrestd and the page, asked by another user of the machine: nothing before a token, and nobody kept out.

Rows "slurmrestd" and "the page" of docs/security.md.
"""

from __future__ import annotations

import http.client
import json
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from as_another import as_another, held_open, refusal

import slurmsim
from slurmsim.jwt_key import key_of, sign
from slurmsim.live.cluster import Cluster
from slurmsim.rest.messages import Request

pytest.importorskip("uvicorn", reason="NOT TESTED: slurmrestd and the page: the extras rest and web are not installed")
pytest.importorskip("jwt", reason="NOT TESTED: slurmrestd: the extra rest is not installed")

from slurmsim.rest.server import make_service

VERSION = "v0.0.45"
BOMB = b"a: &a {x: 1}\n" + b"".join(
    b"%c: &%c {<<: [%s]}\n" % (k, k, b", ".join([b"*%c" % (k - 1)] * 9)) for k in range(ord("b"), ord("j"))
)
PATIENT_S = 5.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with slurmsim.cluster(nodes=2, frozen=True, slurm_version="26.05", users={"alice": 2001}) as made:
        yield made


@contextmanager
def serving(cluster: Cluster, where: str) -> Iterator[str]:
    """slurmrestd beside the cluster; the place where it says that it listens."""
    program = str(Path(cluster.folder) / "bin" / "slurmrestd")
    environ = {**os.environ, **cluster.environ}
    server = subprocess.Popen([program, where], env=environ, text=True, stderr=subprocess.PIPE)
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        assert "listening on" in line
        yield line.rsplit(":", 1)[1].strip()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)
        server.stderr.close()


@pytest.fixture(scope="module")
def port(cluster: Cluster) -> Iterator[int]:
    """Where slurmrestd listens."""
    with serving(cluster, "127.0.0.1:0") as found:
        yield int(found)


def asked(
    port: int, method: str, path: str, token: str | None, body: bytes | None = None, kind: str = "application/json"
) -> tuple[int, float]:
    """The status of an answer, and the seconds it took."""
    began = time.monotonic()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    head = {"Content-Type": kind, **({"X-SLURM-USER-TOKEN": token} if token else {})}
    line.request(method, path, body, head)
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer.status, time.monotonic() - began


def token(cluster: Cluster, user: str = "alice") -> str:
    return sign({"exp": 1 << 40, "iat": 1, "sun": user}, key_of(str(cluster.folder)))


def deep_token() -> str:
    """A token whose head is JSON that is nested deeper than Python reads."""
    import base64

    head = base64.urlsafe_b64encode(b"[" * 20_000).rstrip(b"=").decode()
    return f"{head}.e30.e30"


@pytest.mark.parametrize("given", [None, "", "nonsense", "a.b.c", deep_token(), "é"])
def test_nothing_is_read_before_a_token(port: int, given: str | None) -> None:
    """The body that would take long is not looked at, and not waited for either."""
    for path in (f"/slurm/{VERSION}/job/submit", f"/slurmdb/{VERSION}/qos"):
        for body in (b"[" * 2000, BOMB, b"- a\n" * 50_000):
            try:
                status, seconds = asked(port, "POST", path, given, body, "application/yaml")
            except (UnicodeEncodeError, ConnectionError):
                continue  # the client says no, or is hung up on while it still sends
            assert status in (401, 511) and seconds < PATIENT_S
    with socket.create_connection(("127.0.0.1", port), 10) as line:
        head = f"POST /slurm/{VERSION}/job/submit HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9999999\r\n\r\n"
        line.sendall(head.encode())
        assert b" 401 " in line.recv(4096)


def test_with_a_token_they_are_refused_at_once(cluster: Cluster, port: int) -> None:
    for body in (b"[" * 2000, BOMB, b"{" * 100_000):
        status, seconds = asked(port, "POST", f"/slurm/{VERSION}/job/submit", token(cluster), body, "application/yaml")
        assert status == 400 and seconds < PATIENT_S
    status, _ = asked(port, "POST", f"/slurm/{VERSION}/job/submit", token(cluster), b"[" * 100_000)
    assert status == 400
    assert asked(port, "GET", f"/slurm/{VERSION}/ping/", token(cluster))[0] == 200


def test_another_user_has_the_port_and_no_more(cluster: Cluster, port: int) -> None:
    assert as_another(lambda: asked(port, "GET", f"/slurm/{VERSION}/jobs/", None)[0]) == 401
    assert as_another(lambda: asked(port, "GET", f"/slurm/{VERSION}/jobs/", "a.b.c")[0]) == 511
    assert as_another(lambda: asked(port, "GET", "/metrics", None)[0]) == 200  # anybody's, as Slurm's
    assert as_another(lambda: refusal(lambda: key_of(str(cluster.folder)))) == "PermissionError"


def refused(port: int, body: object, user: str, key: bytes) -> str:
    """What the answer to a submission says; empty where the job is taken."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    signed = sign({"exp": 1 << 40, "iat": 1, "sun": user}, key)
    head = {"Content-Type": "application/json", "X-SLURM-USER-TOKEN": signed}
    line.request("POST", f"/slurm/{VERSION}/job/submit", json.dumps(body), head)
    found = json.loads(line.getresponse().read())
    line.close()
    return "".join(error["error"] for error in found["errors"])


def test_another_user_with_a_token_has_no_script_run(tmp_path: Path) -> None:
    """Row "a user with a token": over the port, from another uid, also with a key of that user's own."""
    left, me = tmp_path / "ran", pwd.getpwuid(os.getuid()).pw_name
    described = {"name": "j", "current_working_directory": "/", "environment": ["PATH=/bin"],
                 "standard_output": "/dev/null"}  # fmt: skip
    script = {"script": f"#!/bin/sh\nid > {left}\n", "job": described}
    simulated = {"script": "#!/bin/sh\n#SLURMSIM runtime=0\n", "job": described}
    with (
        slurmsim.cluster(nodes=2, jobs="run", slurm_version="26.05", users={"alice": 2001}) as c,
        serving(c, "127.0.0.1:0") as found,
    ):
        port, key = int(found), key_of(str(c.folder))
        said = as_another(lambda: refused(port, script, "alice", key))
        assert said == f"Access/permission denied: scripts run as {me} here, and not as alice"
        assert as_another(lambda: refused(port, simulated, "alice", key)) == ""
        for user in ("alice", me):
            said = as_another(lambda user=user: refused(port, script, user, b"k" * 32))
            assert said == "Protocol authentication error"
        c.until_idle()
        assert [(job.user, job.name) for job in c.jobs()] == [("alice", "j")] and not left.exists()


def test_another_user_has_not_the_unix_socket(cluster: Cluster, place: Path) -> None:
    """Of slurmrestd, where the user who runs it needs no token: also in a folder that all can reach."""
    path = place / "rest.sock"

    def connect() -> None:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(path))

    with serving(cluster, f"unix:{path}"):
        connect()
        assert as_another(lambda: refusal(connect)) == "PermissionError"


def half_open(port: int) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), 10)
    line.send(b"GET / HTTP/1.1\r\nHost:")
    return line


def test_half_open_connections_keep_nobody_out_of_slurmrestd(cluster: Cluster, port: int) -> None:
    with held_open(lambda: half_open(port), 400):
        status, seconds = asked(port, "GET", f"/slurm/{VERSION}/ping/", token(cluster))
        assert status == 200 and seconds < PATIENT_S


def test_half_open_connections_keep_nobody_out_of_the_page(cluster: Cluster) -> None:
    with cluster.web() as page:
        where, _, query = page.url.removeprefix("http://").partition("/")
        port = int(where.rpartition(":")[2])
        for method, path in (("GET", "/"), ("GET", "/events"), ("POST", "/do/clock"), ("POST", "/do/submit")):
            assert as_another(lambda m=method, p=path: asked(port, m, p, None, b"{}")[0]) in (401, 403)
        with held_open(lambda: half_open(port), 400):
            status, seconds = asked(port, "GET", f"/{query}", None)
            assert status == 200 and seconds < PATIENT_S


@pytest.mark.parametrize(
    "when", ["now+99999999999999999999days", "now-9999999999999999weeks", "uts" + "9" * 5000, "9" * 4000, "now+1e9days"]
)
def test_far_times_are_refused(cluster: Cluster, when: str) -> None:
    service = make_service(str(cluster.folder))
    for name in ("start_time", "end_time", "update_time"):
        for path in (f"/slurmdb/{VERSION}/jobs", f"/slurm/{VERSION}/jobs", f"/slurm/{VERSION}/nodes"):
            answer = service.answer(Request("GET", path, {name: when}))
            assert answer.status < 500 and b"internal error" not in answer.body, (path, name)
            if answer.status == 200:  # a parameter of another path
                assert json.loads(answer.body)["errors"] == []
    service.close()
    assert cluster.run(["sacct", "-S", when]).returncode != 0 or when == "9" * 4000
    assert "Traceback" not in cluster.run(["sacct", "-S", when]).stderr
