"""A frozen cluster brought to the state that recordings of ``--json`` and of slurmrestd were made in."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "golden"))
sys.path.insert(0, str(HERE))

from replay import Session  # noqa: E402
from rest_values import MEASURED, MOMENT_S, RUN_TIME  # noqa: E402

from slurmsim.protocol import Client  # noqa: E402
from slurmsim.rest.service import Service  # noqa: E402

CONF = HERE.parent / "commands" / "conf" / "acct" / "slurm.conf"
UP_S = {"24.11": 3, "26.05": 1}
"""How long slurmctld had been up when the set-up began: passes keep that phase, and the recording does not tell it."""
SHIFT_S = {"24.11": {"-J done": 1, "-J fail": 1, "-J steps": 1}, "26.05": {"scancel -n kill": -1}}
"""Commands, by a part of theirs, that came after the passes of their second, or before: nor does it tell that."""
Leaves = dict[str, Any]


def recording(release: str) -> dict[str, Any]:
    """The recording of a release."""
    found: dict[str, Any] = json.loads(lzma.decompress((HERE / f"{release}.json.xz").read_bytes()))
    return found


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document with its place."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for at, one in enumerate(value):
            yield from leaves(one, f"{path}[{at}]")
    else:
        yield path, value


def _same(path: str, recorded: Any, ours: Any) -> bool:
    if recorded == ours and type(recorded) is type(ours):
        return True
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (recorded, ours))
    moment = numbers and (recorded > 1_700_000_000 or RUN_TIME.search(path))
    return bool(moment and abs(recorded - ours) <= MOMENT_S)


def check_cycles(document: dict[str, Any]) -> None:
    """How many cycles there were is measured; that each ended at the end of the queue is not."""
    told = document.get("statistics", {})
    if "schedule_exit" in told:
        ends = (told["schedule_exit"]["end_job_queue"], told["bf_exit"]["end_job_queue"])
        assert ends == (told["schedule_cycle_total"], told["bf_cycle_counter"])


def differences(recorded: str, ours: str) -> tuple[int, list[str]]:
    """How many values two documents have that anybody could know, and the places of those that differ."""
    documents = [json.loads(text) for text in (recorded, ours)]
    for document in documents:
        check_cycles(document)
    theirs, mine = (dict(leaves(document)) for document in documents)
    places = [path for path in dict.fromkeys([*theirs, *mine]) if not MEASURED.search(path)]
    unlike = [
        path for path in places
        if path not in theirs or path not in mine or not _same(path, theirs[path], mine[path])
    ]  # fmt: skip
    return len(places), [f"{path}: recorded {theirs.get(path)!r}, ours {mine.get(path)!r}" for path in unlike]


class World:
    """The cluster; `until` steps its clock to an instant."""

    def __init__(self, release: str) -> None:
        self.release, self.recorded = release, recording(release)
        self.began = self.recorded["setup"][0]["at"]
        start = datetime.fromtimestamp(self.began, UTC).replace(tzinfo=None).isoformat()
        head = {"start": start, "slurm": self.recorded["slurm"], "group": "rest"}
        self.session = Session(head, CONF, "run", UP_S[release])
        self.folder = self.session.folder
        for step in self.recorded["setup"]:
            shift = sum(by for part, by in SHIFT_S[release].items() if part in step["cmd"])
            self.until(step["at"] + shift)
            code, out, error = self.session.run(step["user"], step["cmd"])
            assert code == 0, (step, out, error)

    def until(self, at: int) -> None:
        """Let time pass up to `at`, seconds since the epoch."""
        self.session.until(at - self.began)

    def as_recorded(self, text: str) -> str:
        """With the folders of the recording for ours."""
        for ours in (str(self.session.homes), str(self.session.homes).replace("/", "\\/")):
            text = text.replace(ours, "/home" if "\\" not in ours else "\\/home")
        return text

    def close(self) -> None:
        """Stop it."""
        self.session.close()


def played(service: Service) -> Service:
    """A server whose users the owner plays: their scripts run, as they did on the recorded machine."""
    service.connect = lambda person: Client(service.folder, person.user)  # type: ignore[method-assign]
    return service
