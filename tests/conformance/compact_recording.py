"""Make a compact recording of the oracle kit's: python compact_recording.py RECORDING.json WORKLOAD.json DEST.json

What replays need is kept, and `tests/conformance/recordings` holds: of a job when it was submitted, started and ended,
where, by whom and what it waited for; of sdiag the clock; slurm.conf without paths of files. The workload is written
beside it, without what replays do not read. DEST's first word names it: ``puzzle.fairshare.json`` has
``puzzle.workload.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

JOB = ("id", "job_id", "state", "nodes", "scheduler", "submit", "start", "end", "reasons")
SDIAG = ("sdiag output at", "Data since")
CONF_LEFT_OUT = ("Log", "PidFile", "SpoolDir", "StateSaveLocation", "Debug", "Loc=")


def one_a_line(head: dict[str, Any], jobs: list[dict[str, Any]]) -> str:
    """A JSON object: `head` on the first line, then one line a job."""
    rows = ",\n".join(json.dumps(job, separators=(",", ":")) for job in jobs)
    return f'{json.dumps(head)[:-1]}, "jobs": [\n{rows}\n]}}\n'


def compact(recorded: dict[str, Any], workload: str) -> str:
    """The recording, naming `workload`."""
    head = {
        "workload": workload,
        "slurm": recorded["slurm"],
        "clock": recorded["clock"],
        "sdiag": [line for line in recorded["sdiag"] if line.startswith(SDIAG)],
        "slurm_conf": [
            line for line in recorded["slurm_conf"]
            if not line.startswith("#") and not any(word in line.partition(" ")[0] for word in CONF_LEFT_OUT)
        ],
    }  # fmt: skip
    if recorded.get("resources_yaml"):
        head["resources_yaml"] = recorded["resources_yaml"]
    return one_a_line(head, [{key: job[key] for key in JOB if key in job} for job in recorded["jobs"]])


def main(recording: Path, workload: Path, dest: Path) -> None:
    name = f"{dest.name.partition('.')[0]}.workload.json"
    dest.write_text(compact(json.loads(recording.read_text("utf-8")), name), "utf-8")
    asked = json.loads(workload.read_text("utf-8"))
    jobs = asked.pop("jobs")
    dest.with_name(name).write_text(one_a_line(asked, jobs), "utf-8")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:4]))
