"""A frozen cluster brought to the state that recordings of ``--json`` and of slurmrestd were made in."""

from __future__ import annotations

import json
import lzma
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "golden"))

from replay import Session  # noqa: E402

CONF = HERE.parent / "commands" / "conf" / "acct" / "slurm.conf"


def recording(release: str) -> dict[str, Any]:
    """The recording of a release."""
    found: dict[str, Any] = json.loads(lzma.decompress((HERE / f"{release}.json.xz").read_bytes()))
    return found


class World:
    """The cluster; `until` steps its clock to an instant."""

    def __init__(self, release: str) -> None:
        self.recorded = recording(release)
        began = self.recorded["setup"][0]["at"]
        start = datetime.fromtimestamp(began, UTC).replace(tzinfo=None).isoformat()
        head = {"start": start, "slurm": self.recorded["slurm"], "group": "rest"}
        self.began = began
        self.session = Session(head, CONF, "run", began - self.recorded["began"])
        self.folder = self.session.folder
        for step in self.recorded["setup"]:
            self.until(step["at"])
            code, out, error = self.session.run(step["user"], step["cmd"])
            assert code == 0, (step, out, error)

    def until(self, at: int) -> None:
        self.session.until(at - self.began)

    def ask(self, step: dict[str, Any]) -> tuple[int | None, str, str]:
        """Run a recorded command as its user."""
        return self.session.run(step["user"], step["cmd"])

    def close(self) -> None:
        self.session.close()
