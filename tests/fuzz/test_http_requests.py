"""Requests nobody would send over HTTP: each is answered as Slurm answers refusals, none by a traceback or a stop.

``SLURMSIM_MUTATIONS=100000`` makes as many of each release.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import pytest
import yaml

import slurmsim
from slurmsim.live.cluster import Cluster

pytest.importorskip("jwt")

from slurmsim.rest import controller_writing, database_tables
from slurmsim.rest.body import SHAPES
from slurmsim.rest.job_description import FIELDS, NOT_MODELLED
from slurmsim.rest.messages import Answer, Request
from slurmsim.rest.routes import ROUTES
from slurmsim.rest.server import make_service

TABLES = (*database_tables.BODIES.values(), *controller_writing.BODIES.values())
COUNT = int(os.environ.get("SLURMSIM_MUTATIONS", "3000"))
PATIENCE_S = 2
REFUSED = {"24.11": 500, "26.05": 422}
UNREADABLE = {22, 9202, 9207, 9209, 9210, 9211, -1}
"""Errors of the parser of data, which are status 500 in 26.05, too."""
STATUSES = {200, 304, 400, 401, 404, 413, 415, 422, 501, 511}
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, 10**30, 1e308, 0.5, "", "0", "n1", "n[1-2]", "INFINITE", "-5", "\0", "é" * 50,
    "[" * 9, "1-", "x" * 3000, [], ["a"], [None], {}, {"set": True, "number": 3}, {"infinite": True}, {"number": []},
    [[1]], {"a": {"b": []}}, "afterok:1", "batch,batch", "%", "PATH=/bin", ["PATH=/bin"],
    "9" * 5000, "9" * 19, "9-" + "9" * 5000, "now+" + "9" * 30 + "days", "9" * 18 + ":00", "9" * 18 + "-00:00:00",
    {"set": True, "number": 10**18}, {"set": True, "number": "9" * 5000}, "n[1-99999999]",
)  # fmt: skip
WORDS = ("1", "0", "99999", "1_2", "1+1", "abc", "-1", "%00", "..", "n1", "n[1-4]", "main", "", "submit", "é", "9" * 30,
         "SIGKILL", "KILL", "9", "FULL_JOB", "x,y", "2020-01-01", "[", "1_[0-3]", "now+99999999999999999999days",
         "now-9999999999999weeks", "uts" + "9" * 5000, "now+" + "9" * 9000, "9" * 4000, "9999-12-31", "0001-01-01",
         "9" * 18, "1_[0-9999999999]", "n[1-99999999]")  # fmt: skip


class Maker:
    """Requests from a seed: a row of the table, with some of it put wrong."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def request(self) -> Request:
        pick = self.random.choice
        route = pick(ROUTES)
        path = f"/{route.plugin}/v0.0.{pick((42, 45, 42, 45, 44, 30))}/{route.path}"
        while "{" in path:
            head, _, rest = path.partition("{")
            path = head + pick(WORDS) + rest.partition("}")[2]
        if self.random.random() < 0.1:
            path = self._torn(path)
        method = route.method if self.random.random() < 0.9 else pick(("PUT", "GET", "POST", "DELETE", "\0"))
        query = {pick((*route.query, "flags", "signal", "update_time", "job_id")): pick(WORDS)
                 for _ in range(pick((0, 0, 1, 2)))}  # fmt: skip
        headers = {} if self.random.random() < 0.8 else {
            pick(("accept", "content-type", "authorization", "x-slurm-user-token")): pick(
                ("application/json", "application/yaml", "text/html", "", "*/*;q=0", "Bearer x", "é"))
        }  # fmt: skip
        return Request(method, path, query, headers, self._body(), pick((True, True, True, False)))

    def _torn(self, text: str) -> str:
        at = self.random.randrange(len(text))
        return text[:at] + self.random.choice(("", "/", "//", "\x7f", "%", "?", "é")) + text[at + 1 :]

    def _body(self) -> bytes:
        pick = self.random.choice
        names = pick((sorted(FIELDS), sorted(NOT_MODELLED), ("job", "script", "jobs", "flags", "state", "colour")))
        job = {pick(names): pick(VALUES) for _ in range(self.random.randrange(5))}
        good = {"current_working_directory": "/tmp", "environment": ["A=b"], "name": "f"}
        table = pick(TABLES)
        body = pick((
            self._filled(table), self._filled(table), self._filled(table),
            {"script": "#!/bin/sh\ntrue\n", "job": {**good, **job}}, {"job": job}, job, pick(VALUES),
            {"script": pick(VALUES), "job": good}, {"jobs": pick(VALUES), "signal": pick(VALUES)},
        ))  # fmt: skip
        text = json.dumps(body).encode("utf-8", "surrogatepass")
        if self.random.random() < 0.15:
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + pick((b"", b"\xff", b"{", b"\0", b'"')) + text[at + 1 :]
        return text if self.random.random() < 0.9 else b""

    def _filled(self, shape: Any) -> Any:
        """Something like what a table of `database_tables` takes."""
        pick = self.random.choice
        if self.random.random() < 0.15:
            return pick(VALUES)
        if isinstance(shape, list):
            return [self._filled(shape[0]) for _ in range(self.random.randrange(3))]
        if isinstance(shape, Mapping):
            rows = [(key, row) for key, row in shape.items() if row.required or self.random.random() < 0.4]
            return {key: self._filled(SHAPES.get(row.read)) for key, row in rows}
        texts = ("root", "a", "b", "main", "n1", "normal", "fuzz", "")
        count = {"set": True, "number": self.random.randrange(9)}
        return {"string": pick(texts), "number": count, "integer": 3, "boolean": True, "strings": [pick(texts)],
                "tres": [{"type": "cpu", "count": 3}]}.get(shape, pick(VALUES))  # fmt: skip


def judge(request: Request, answer: Answer, release: str) -> None:
    """What every answer must be."""
    errors = _errors(answer) if answer.status >= 400 else []
    unreadable = answer.status == 500 and errors and errors[0]["error_number"] in UNREADABLE
    assert unreadable or answer.status in STATUSES | {REFUSED[release]}, (request, answer)
    assert b"internal error" not in answer.body and b"Traceback" not in answer.body, (request, answer)
    if answer.content_type in ("application/json", "application/yaml") and answer.body:
        assert (answer.status < 400) or errors, (request, answer)


def _errors(answer: Answer) -> list[dict[str, Any]]:
    read = {"application/json": json.loads, "application/yaml": yaml.safe_load}.get(answer.content_type)
    return [] if read is None or not answer.body else read(answer.body).get("errors", [])


@pytest.mark.parametrize("release", ["24.11", "26.05"])
def test_no_request_breaks_the_server(release: str, capfd: pytest.CaptureFixture[str]) -> None:
    with slurmsim.cluster(nodes=4, frozen=True, jobs="simulate", slurm_version=release) as cluster:
        _storm(cluster, release)
        assert cluster.run(["squeue", "-h"]).returncode == 0  # the daemon is there as well
    assert "Traceback" not in capfd.readouterr().err


def _storm(cluster: Cluster, release: str) -> None:
    service = make_service(str(cluster.folder))
    maker = Maker(7)
    with ThreadPoolExecutor(1) as thread:
        for _ in range(COUNT):
            request = maker.request()
            judge(request, _answered(request, thread.submit(service.answer, request), cluster), release)
    answer = service.answer(Request("GET", f"/slurm/v0.0.{service.versions[-1]}/ping"))
    assert answer.status == 200 and b'"responding": true' in answer.body
    service.close()


def _answered(request: Request, answer: Future[Answer], cluster: Cluster) -> Answer:
    """Only an allocation may wait: for its nodes, or its end."""
    try:
        return answer.result(PATIENCE_S)
    except FutureTimeout:
        assert cluster.run(["scancel", "-u", "root"]).returncode == 0
        late = answer.result(60)
        assert request.path.endswith("/job/allocate"), request
        return late
