"""A token is its user's, and no shell of the owner's: what slurmrestd passes on is judged by who asks.

Row "a user with a token" of docs/security.md.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import slurmsim
from slurmsim.jwt_key import key_of, sign
from slurmsim.live.cluster import Cluster
from slurmsim.protocol import Client, Refusal

pytest.importorskip("jwt", reason="NOT TESTED: tokens: the extra rest is not installed")

from slurmsim.rest.messages import Answer, Request
from slurmsim.rest.server import make_service
from slurmsim.rest.service import Service

VERSION = "v0.0.45"
ME = pwd.getpwuid(os.getuid()).pw_name
DENIED = "Access/permission denied"
SIMULATED = "#!/bin/sh\n#SLURMSIM runtime=600\n"


class World:
    """A cluster that runs scripts, its slurmrestd, and a file that a script would leave."""

    def __init__(self, cluster: Cluster, service: Service, left: Path) -> None:
        self.cluster, self.service, self.left = cluster, service, left
        self.script = f"#!/bin/sh\nid > {left}\n"

    def token(self, user: str) -> dict[str, str]:
        claims = {"exp": 1 << 40, "iat": 1, "sun": user}
        return {"x-slurm-user-token": sign(claims, key_of(str(self.cluster.folder)))}

    def ask(self, method: str, path: str, body: Any = None, *, user: str | None = "alice") -> Answer:
        """A request with that user's token; None: over the server's own socket."""
        data = b"" if body is None else json.dumps(body).encode()
        head = self.token(user) if user else {}
        return self.service.answer(Request(method, f"/slurm/{VERSION}/{path}", {}, head, data, local=user is None))

    def ran(self) -> bool:
        """Whether a script left its file, after all that can run has run."""
        self.cluster.until_idle()
        return self.left.exists()


def described(**more: Any) -> dict[str, Any]:
    return {"name": "j", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"],
            "standard_output": "/dev/null", **more}  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with slurmsim.cluster(nodes=2, jobs="run", slurm_version="26.05", folder=tmp_path / "c",
                          users={"alice": 2001, "ben": 2002}, operators=["ben"]) as made:  # fmt: skip
        service = make_service(str(made.folder))
        yield World(made, service, tmp_path / "ran")
        service.close()


def error_of(answer: Answer) -> str:
    return json.loads(answer.body)["errors"][0]["error"]


@pytest.mark.parametrize("user", ["alice", "ben", "nobody", "mallory"])
def test_a_token_has_no_script_run(world: World, user: str) -> None:
    """alice, the operator ben, an account of the machine, and a name that nobody knows."""
    for body in (
        {"script": world.script, "job": described()},
        {"job": described(script=world.script)},
        {"script": world.script, "job": described(array="1-3")},
        {"script": world.script, "jobs": [described(), described()]},
    ):
        answer = world.ask("POST", "job/submit", body, user=user)
        assert (answer.status, error_of(answer)) == (422, f"{DENIED}: scripts run as {ME} here, and not as {user}")
    assert not world.ran() and world.cluster.jobs() == []


def test_a_token_submits_what_is_simulated(world: World) -> None:
    answer = world.ask("POST", "job/submit", {"script": SIMULATED, "job": described()})
    assert answer.status == 200, answer.body
    assert world.cluster.job(json.loads(answer.body)["job_id"]).user == "alice"
    variable = described(environment=["SLURMSIM_RUNTIME=600", "PATH=/bin"])
    assert world.ask("POST", "job/submit", {"script": world.script, "job": variable}).status == 200
    world.cluster.run(["scancel", "-u", "alice"], check=True)
    assert not world.ran()


def test_the_owners_own_token_runs_scripts(world: World) -> None:
    assert world.ask("POST", "job/submit", {"script": world.script, "job": described()}, user=ME).status == 200
    assert world.ran()


def test_over_the_socket_the_owner_plays_whom_he_likes(world: World) -> None:
    service = make_service(str(world.cluster.folder), user="alice")
    body = json.dumps({"script": world.script, "job": described()}).encode()
    assert service.answer(Request("POST", f"/slurm/{VERSION}/job/submit", body=body)).status == 200
    service.close()
    assert world.ran() and world.cluster.job(1).user == "alice"


def test_a_token_names_no_files_of_scripts_that_run(world: World) -> None:
    """Of a job that is its user's, and, by an operator's token, of the owner's own."""
    for who in ("alice", ME):
        done = world.cluster.run(
            ["sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap", "id"], user=who, check=True
        )
        number = done.stdout.strip()
        for user in ("alice", "ben"):
            for change in ({"standard_output": str(world.left)}, {"current_working_directory": "/"}, {"name": "../x"}):
                answer = world.ask("POST", f"job/{number}", change, user=user)
                assert answer.status == 422, answer.body
                if user == "ben" or who == "alice":
                    assert DENIED in error_of(answer), answer.body
        assert world.ask("POST", f"job/{number}", {"comment": "seen"}, user="ben").status == 200
        world.cluster.run(["scontrol", "release", number], check=True)
    assert not world.ran()


def test_what_is_asked_for_others_is_asked_by_the_owner_alone(world: World) -> None:
    """`asks` in a message: who passes on says for which user, and the daemon's own calls are not passed on."""
    client = Client(str(world.cluster.folder), None, 30.0, asks=True)
    with pytest.raises(Refusal, match=DENIED):
        client.call("ping")
    client.close()
    for call, arguments in (("ended", {"core_id": 1, "restarts": 0, "status": 0}), ("clock", {"action": "freeze"}),
                            ("down", {}), ("snapshot", {"path": "/nowhere/file"}), ("calls", {})):  # fmt: skip
        client = Client(str(world.cluster.folder), "alice", 30.0, asks=True)
        with pytest.raises(Refusal, match=DENIED):
            client.call(call, **arguments)
        client.close()


def test_a_component_is_what_its_place_says(world: World) -> None:
    """A job that calls itself a later component, whose script is never run, became the first one, whose script is."""
    job = {"name": "j", "script": world.script, "work_dir": "/tmp", "environment": {"A": "b"}, "std_out": "/dev/null"}
    client = Client(str(world.cluster.folder), "alice", 30.0, asks=True)
    for components in ([], [job]):
        with pytest.raises(Refusal, match="Invalid argument"):
            client.call("submit", job={**job, "het_offset": 1}, components=components)
    with pytest.raises(Refusal, match=DENIED):
        client.call("submit", job=job, components=[job])
    client.close()
    assert not world.ran()
