"""What slurmrestd of 24.11 and 26.05 answered to writes, asked again in every data_parser version.

A recording (`record_writes` made it inside the oracle) is one cluster, asked one request after the other: whatever a
write changes shows in the answers behind it. Set SLURMSIM_REST_DIFFERENCES to see what differs.
"""

from __future__ import annotations

import json
import lzma
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_world import CONF, HERE, UP_S, Session, differences, played
from test_rest_recordings import _request

from slurmsim.jwt_key import key_of, sign
from slurmsim.rest.server import make_service

BAR = 0.95
VERSIONS = [("24.11", 42), ("24.11", 40), ("24.11", 41), ("26.05", 45), ("26.05", 42), ("26.05", 43), ("26.05", 44)]
NOT_MODELLED = {
    ("GET", "slurmdb", "diag/"): "what slurmdbd has been asked: counters are 0",
    ("POST", "slurmdb", "job/1"): "changes of jobs in the database",
    ("POST", "slurmdb", "job/999"): "changes of jobs in the database",
    ("POST", "slurmdb", "jobs/"): "changes of jobs in the database",
}
"""Requests that are refused by name, for administrators or all, and what they would need; they are not counted."""
_ADDRESS = re.compile(r"\(0x[0-9a-f]+\)")


class Writes:
    """The cluster of one recording, and the service that is asked."""

    def __init__(self, release: str, version: int) -> None:
        found = json.loads(lzma.decompress((HERE / f"writes-{release}.json.xz").read_bytes()))[str(version)]
        self.recorded: dict[str, Any] = found
        self.began = found["setup"][0]["at"]
        start = datetime.fromtimestamp(self.began, UTC).replace(tzinfo=None).isoformat()
        self.session = Session({"start": start, "slurm": found["slurm"], "group": "rest"}, CONF, "run", UP_S[release])
        for step in found["setup"]:
            code, out, error = self.session.run(step["user"], step["cmd"])
            assert code == 0, (step, out, error)
        self.service = played(make_service(str(self.session.folder)))
        self.tokens = {
            user: sign({"exp": 1 << 40, "iat": 1, "sun": user}, key_of(str(self.session.folder)))
            for user in ("root", "alice", "bob")
        }

    def answers(self) -> Iterator[tuple[dict[str, Any], int, str]]:
        """Each request with its status and answer here."""
        homes = str(self.session.homes)
        for step in self.recorded["requests"]:
            self.session.until(step["at"] - self.began)
            headers = [f"X-SLURM-USER-NAME: {step['user']}", "X-SLURM-USER-TOKEN: TOKEN"]
            asked = {**step, "request_headers": headers, "name": "tcp"}
            answer = self.service.answer(_request(asked, self.tokens[step["user"]], homes))
            text = answer.body.decode().replace(homes, "/home").replace(homes.replace("/", "\\/"), "\\/home")
            yield step, answer.status, text

    def close(self) -> None:
        self.service.close()
        self.session.close()


def _not_modelled(step: dict[str, Any]) -> bool:
    """Whether it is refused by name; to users who may not ask for statistics Slurm says so, and we do."""
    _, plugin, _, path = step["path"].split("/", 3)
    named = (step["method"], plugin, path) in NOT_MODELLED
    return named and not (path == "diag/" and step["user"] == "alice")


def _two_jobs_less(writes: Writes, step: dict[str, Any]) -> None:
    """A heterogeneous allocation, which is refused here, takes two job ids there."""
    if step["status"] == 200 and step["path"].endswith("allocate") and list(step["body"] or ()) == ["hetjob"]:
        for _ in step["body"]["hetjob"]:
            code, out, _ = writes.session.run("alice", "sbatch --parsable -H --wrap true")
            assert code == 0
            writes.session.run("alice", f"scancel {out.strip()}")


@pytest.mark.parametrize(("release", "version"), [
    pytest.param(*one, marks=() if one in VERSIONS[:1] + VERSIONS[3:4] else pytest.mark.slow) for one in VERSIONS
])  # fmt: skip
def test_writes_are_answered_as_recorded(release: str, version: int) -> None:
    writes = Writes(release, version)
    values = equal = whole = count = 0
    told = []
    for step, status, text in writes.answers():
        if _not_modelled(step) and step["status"] != 404:
            if step["path"].endswith("/diag/") and step["status"] == 200:
                ours, real = json.loads(text)["statistics"], json.loads(step["answer"])["statistics"]
                assert status == 200 and ours.keys() == real.keys(), text
                assert {k: v.keys() for k, v in ours["rollups"].items()} == {
                    k: v.keys() for k, v in real["rollups"].items()
                }
            elif step["status"] == 200:
                assert status == 501 or "not supported on this system" in text, (step, text)
            continue
        _two_jobs_less(writes, step)
        count += 1
        recorded = _ADDRESS.sub("(0x0)", step["answer"])
        what = f"{step['name']} {step['user']} {step['method']} {step['path']} {json.dumps(step['body'])[:80]}"
        if status != step["status"]:
            told.append(f"{what}: status recorded {step['status']}, ours {status}: {text[-400:]}")
        try:
            n, unlike = differences(recorded, text)
        except ValueError:
            n, unlike = 1, [] if recorded == text else [f"recorded {recorded[:300]!r}, ours {text[:300]!r}"]
        values, equal = values + n, equal + n - len(unlike)
        whole += status == step["status"] and not unlike
        told += [f"{what}: {one}" for one in unlike]
    writes.close()
    summary = f"{release} v0.0.{version}: {equal} of {values} values equal ({equal / values:.2%})"
    summary += f", {whole} of {count} answers as a whole ({whole / count:.1%})"
    print(f"\n{summary}")
    if "SLURMSIM_REST_DIFFERENCES" in os.environ:
        print("\n".join(told))
    assert equal >= BAR * values, "\n".join([summary, *told[:60]])
    assert whole >= BAR * count, "\n".join([summary, *told[:60]])
