"""``--json``, ``--yaml`` and slurmrestd against what real Slurm 24.11 and 26.05 answered in the same state."""

from __future__ import annotations

import io
import json
import os
import shlex
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from rest_world import World, differences, played

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.jwt_key import key_of, sign
from slurmsim.protocol import Client
from slurmsim.rest.messages import Request
from slurmsim.rest.server import make_service

yaml = pytest.importorskip("yaml")
BAR = 0.95
NOT_MODELLED = {"scontrol_show_config": "the configuration as a document", "scontrol_show_assoc_mgr": "usage then"}
"""Commands that are left out, and why."""
UNKNOWABLE = {
    ("24.11", "db_config"): "an address in slurmrestd's memory",
    ("24.11", "db_jobs"): "what slurmdbd had not heard yet of a step that was just signalled",
    ("26.05", "jobs_yaml"): "whether backfill came before or after it within a second",
}
"""Answers that nobody can give as a whole, and why; their values count all the same."""


@pytest.fixture(scope="module", params=["24.11", "26.05"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(request.param)
    made.until(made.recorded["commands_at"])
    yield made
    made.close()


class Score:
    """Equal values of all, and where others are."""

    def __init__(self) -> None:
        self.values = self.equal = self.whole = self.answers = 0
        self.told: list[str] = []

    def add(self, name: str, recorded: str, ours: str, *, knowable: bool = True) -> None:
        self.answers += knowable
        try:
            count, unlike = differences(recorded, ours)
        except ValueError:
            count, unlike = 1, [] if recorded == ours else [f"recorded {recorded[:200]!r}, ours {ours[:200]!r}"]
        self.values += count
        self.equal += count - len(unlike)
        self.whole += knowable and not unlike
        self.told += [f"{name}: {one}" for one in unlike]

    def check(self, what: str) -> None:
        share = self.equal / self.values
        text = f"{what}: {self.equal} of {self.values} values equal ({share:.2%})"
        text += f", {self.whole} of {self.answers} answers as a whole"
        print(f"\n{text}")
        if "SLURMSIM_REST_DIFFERENCES" in os.environ:
            print("\n".join(self.told))
        assert share >= BAR, "\n".join([text, *self.told[:60]])
        assert self.whole >= BAR * self.answers, "\n".join([text, *self.told[:60]])


def _run(world: World, step: dict[str, Any]) -> tuple[int, str, str]:
    words = shlex.split(step["cmd"])
    out, errors = io.StringIO(), io.StringIO()
    environ = {"SLURMSIM_USER": step["user"], "USER": step["user"], "HOME": f"/home/{step['user']}", "TZ": "UTC"}
    client = Client(str(world.folder), step["user"])
    code = import_module(MODULES[words[0]]).run(
        words[1:], Io(client, stdout=out, stderr=errors, environ=environ, cwd="/")
    )
    client.close()
    return code, world.as_recorded(out.getvalue()), errors.getvalue()


def test_commands_write_the_recorded_documents(world: World) -> None:
    score = Score()
    for step in world.recorded["commands"]:
        if step["name"] in NOT_MODELLED:
            continue
        code, out, errors = _run(world, step)
        assert (code, errors) == (step["rc"], step["stderr"]), step
        if step["name"].endswith("yaml"):
            score.add(step["name"], json.dumps(yaml.safe_load(step["stdout"])), json.dumps(yaml.safe_load(out)))
            assert [line.split(":")[0] for line in out.splitlines()[:4]] == [
                line.split(":")[0] for line in step["stdout"].splitlines()[:4]
            ]
        else:
            score.add(step["name"], step["stdout"], out)
    score.check(f"commands of {world.release}")


def test_slurmrestd_answers_as_recorded(world: World) -> None:
    """Runs after the commands: what the requests change is not in their recordings."""
    world.until(world.recorded["requests_at"])
    service = played(make_service(str(world.folder), user="alice"))
    token = sign({"exp": 1 << 40, "iat": 1, "sun": "alice"}, key_of(str(world.folder)))
    score = Score()
    for step in world.recorded["requests"]:
        recorded = step["answer"]
        if recorded.startswith("{"):
            world.until(json.loads(recorded).get("last_update", {}).get("number", 0))
        answer = service.answer(_request(step, token, str(world.session.homes)))
        text = world.as_recorded(answer.body.decode())
        assert answer.status == int(step["status"].split()[1]), (step["name"], text)
        kinds = [line.partition(": ")[2] for line in step["headers"] if line.startswith("Content-Type")]
        assert kinds == [answer.content_type], step["name"]
        if answer.content_type == "application/yaml":
            text, recorded = (json.dumps(yaml.safe_load(one)) for one in (text, recorded))
        if "openapi" not in step["path"]:
            score.add(step["name"], recorded, text, knowable=(world.release, step["name"]) not in UNKNOWABLE)
    service.close()
    score.check(f"slurmrestd of {world.release}")


def _request(step: dict[str, Any], token: str, homes: str) -> Request:
    url = urlsplit(step["path"])
    headers = {}
    for line in step["request_headers"]:
        name, _, value = line.partition(": ")
        headers[name.lower()] = value.replace("TOKEN", token) if value.endswith("TOKEN") else value
    body = step["body"]
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    return Request(
        step["method"], url.path, dict(parse_qsl(url.query)), headers, text.replace("/home/", f"{homes}/").encode(),
        local=not step["name"].startswith("tcp"),
    )  # fmt: skip
