"""What v0.0.40 and v0.0.41 of 24.11 have otherwise than v0.0.42: the same here as in the documents real Slurm wrote.

The recording has each document in the three versions, of one state; states may differ, what a version is may not.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from typing import Any

import pytest
from rest_world import HERE, World
from test_rest_recordings import _run

from slurmsim.rest.messages import Request
from slurmsim.rest.server import make_service
from slurmsim.rest.service import Service

OLD = ("v0.0.40", "v0.0.41")
COMMANDS = ("squeue", "sinfo", "sinfo_N", "scontrol_show_job", "scontrol_show_node", "scontrol_show_part",
            "scontrol_show_reservation", "scontrol_show_licenses", "scontrol_show_steps", "scontrol_ping", "sdiag",
            "sshare")  # fmt: skip
REQUESTS = ("ping", "diag", "jobs", "jobs_state", "job_one", "job_none", "job_badid", "nodes", "node_n01", "node_none",
            "partitions", "partition_batch", "partition_none", "licenses", "reservations", "shares")  # fmt: skip
WRITES = ("submit", "submit_badpart", "submit_noscript", "submit_unknown_field", "job_update_ok", "job_delete",
          "job_delete_again", "jobs_delete", "bad_method")  # fmt: skip
Recorded = dict[tuple[str, str], dict[str, Any]]


def _recorded(kind: str) -> Recorded:
    found = json.loads(lzma.decompress((HERE / "24.11-versions.json.xz").read_bytes()))
    return {(step["name"], step["version"]): step for step in found[kind]}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World("24.11")
    made.until(made.recorded["commands_at"])
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(world: World) -> Iterator[Service]:
    made = make_service(str(world.folder), user="alice")
    yield made
    made.close()


def shapes(value: Any, path: str = "") -> Iterator[str]:
    """Every place of a document with the kind of its value; which element of a list, or which core, is no matter."""
    if isinstance(value, dict):
        yield f"{path}:table"
        for key, one in value.items():
            yield from shapes(one, f"{path}.{'N' if key.isdigit() else key}")
    elif isinstance(value, list):
        yield f"{path}:list"
        for one in value:
            yield from shapes(one, f"{path}[]")
    else:
        yield f"{path}:{type(value).__name__}"


def changed(old: str, new: str) -> tuple[set[str], set[str]]:
    """Places only the old version's document has, and only the newer one's."""
    before, after = (set(shapes(_without_meta(text))) for text in (old, new))
    return before - after, after - before


def _without_meta(text: str) -> Any:
    found = json.loads(text)
    found.pop("meta")
    return found


@pytest.mark.parametrize("version", OLD)
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_differ_by_version_as_recorded(world: World, name: str, version: str) -> None:
    recorded = _recorded("commands")
    user = "root" if name == "sdiag" else "alice"

    def ours(which: str) -> str:
        code, out, error = _run(world, {"cmd": recorded[name, which]["cmd"], "user": user})
        assert (code, error) == (0, "")
        return out

    told = ours(version)
    assert json.loads(told)["meta"]["plugin"]["data_parser"] == f"data_parser/{version}"
    assert changed(told, ours("v0.0.42")) == changed(
        recorded[name, version]["answer"], recorded[name, "v0.0.42"]["answer"]
    )


@pytest.mark.parametrize("version", OLD)
@pytest.mark.parametrize("name", REQUESTS)
def test_answers_differ_by_version_as_recorded(service: Service, name: str, version: str) -> None:
    recorded = _recorded("requests")
    answers = {}
    for which in (version, "v0.0.42"):
        step = recorded[name, which]
        answer = service.answer(Request(step["method"], step["path"]))
        assert answer.status == int(step["status"].split()[1])
        answers[which] = answer.body.decode()
    if recorded[name, version]["answer"].startswith("{"):
        assert changed(answers[version], answers["v0.0.42"]) == changed(
            recorded[name, version]["answer"], recorded[name, "v0.0.42"]["answer"]
        )


@pytest.mark.parametrize("version", OLD)
def test_writing_in_an_older_version(world: World, service: Service, version: str) -> None:
    recorded = _recorded("requests")
    job = ""
    for name in WRITES:
        step = recorded[name, version]
        path = re.sub(r"/job/\d+$", f"/job/{job}", step["path"])
        body = "" if step["body"] is None else json.dumps(step["body"])
        answer = service.answer(
            Request(step["method"], path, {}, {}, body.replace("/home/", f"{world.session.homes}/").encode())
        )
        assert answer.status == int(step["status"].split()[1]), name
        if not step["answer"].startswith("{"):
            continue
        theirs, mine = (_without_meta(text) for text in (step["answer"], answer.body.decode()))
        assert set(shapes(mine)) == set(shapes(theirs)), name
        job = job or str(mine["job_id"])


def test_resources_of_v40(world: World) -> None:
    _, out, _ = _run(world, {"cmd": "scontrol show job 4 --json=v0.0.40", "user": "alice"})
    found = json.loads(out)["jobs"][0]["job_resources"]
    recorded = next(
        one for one in json.loads(_recorded("commands")["scontrol_show_job", "v0.0.40"]["answer"])["jobs"]
        if one["job_id"] == 4
    )["job_resources"]  # fmt: skip
    assert found == recorded


def test_of_jobs_in_the_database_nothing_older_was_recorded(world: World, service: Service) -> None:
    code, out, error = _run(world, {"cmd": "sacct --json=v0.0.41", "user": "alice"})
    assert (code, out) == (1, "")
    assert "sacct: error: data_parser/v0.0.41 is not modelled of the database" in error
    answer = service.answer(Request("GET", "/slurmdb/v0.0.41/jobs/"))
    assert answer.status == 501
    assert "GET /slurmdb/jobs is not modelled" in json.loads(answer.body)["errors"][0]["description"]
