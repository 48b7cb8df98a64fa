"""Make one file of the oracle kit's ``--json`` and slurmrestd recordings: python compact_rest.py GOLDEN… DEST

GOLDEN is a release's folder with `json` and `rest` in it; DEST gets ``RELEASE.json.xz``. Each command of the set-up
gets the second it ran at, from the records of the jobs. The OpenAPI document is left out, as
its descriptions are not ours.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path
from typing import Any

LEFT_OUT = ("openapi", "openapi_json")


def _text(folder: Path, name: str) -> str:
    path = folder / name
    return path.read_text("utf-8") if path.is_file() else ""


def compact(golden: Path) -> dict[str, Any]:
    """Set-up with times, commands and requests with what they answered."""
    commands = json.loads(_text(golden / "json", "index.json"))
    requests = json.loads(_text(golden / "rest", "index.json"))
    jobs = json.loads(_text(golden / "json", "scontrol_show_job.json"))["jobs"]
    submitted = {(job["array_job_id"]["number"] or job["job_id"]): job["submit_time"]["number"] for job in jobs}
    cancelled = max(job["end_time"]["number"] for job in jobs if "CANCELLED" in job["job_state"])
    at, setup = min(submitted.values()), []
    for step in commands["setup"]:
        found = re.search(r"Submitted batch job (\d+)", step["stdout"])
        if found:
            at = max(at, submitted.get(int(found[1]), at))
        if "scancel" in step["cmd"]:
            at = max(at, cancelled)
        if re.fullmatch(r"sleep \d+", step["cmd"]):
            continue
        setup.append({"at": at, "user": step["user"], "cmd": step["cmd"].removeprefix("sleep 3; ")})
    loaded = json.loads(_text(golden / "json", "squeue.json"))
    served = json.loads(_text(golden / "rest", "jobs.json"))
    for name, step in commands["outputs"].items():
        step["stdout"] = _text(golden / "json", step.pop("file"))
        step.pop("bytes")
        step["name"] = name
    asked = []
    for name, step in requests["requests"].items():
        if name in LEFT_OUT:
            continue
        step["name"] = name
        step["answer"] = "" if "openapi" in step["path"] else _text(golden / "rest", step.pop("file"))
        asked.append({key: value for key, value in step.items() if key not in ("bytes", "curl_stderr", "file")})
    statistics = json.loads(_text(golden / "json", "sdiag.json"))["statistics"]
    return {
        "slurm": commands["slurm"], "began": statistics["req_time_start"]["number"], "setup": setup,
        "commands_at": loaded["last_update"]["number"], "requests_at": served["last_update"]["number"],
        "commands": [step for name, step in commands["outputs"].items() if not name.startswith("text_")],
        "requests": asked,
    }  # fmt: skip


def main(*paths: Path) -> None:
    *goldens, dest = paths
    for golden in goldens:
        found = compact(golden)
        data = json.dumps(found, separators=(",", ":")).encode()
        (dest / f"{found['slurm'][:5]}.json.xz").write_bytes(lzma.compress(data, preset=9))


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
