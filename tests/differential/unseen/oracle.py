"""The real Slurm that is asked: the oracle kit, whose folder SLURMSIM_ORACLE names."""

from __future__ import annotations

import atexit
import calendar
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from unseen.clusters import Cluster

VARIABLE = "SLURMSIM_ORACLE"
BEGIN = "2026-01-05 08:00:00"
RATE = 10
GOLDEN_S, REPLAY_S = 600, 500  # what never ends is given up


def kit() -> Path | None:
    """The kit's program; None where there is none, or nothing it could start."""
    folder = os.environ.get(VARIABLE)
    program = Path(folder, "oracle.py") if folder else None
    usable = program is not None and program.is_file() and os.path.exists("/usr/sbin/slurmctld") and os.geteuid() == 0
    return program if usable else None


def record_session(cluster: Cluster, cases: str, name: str) -> dict[str, Any]:
    """What real Slurm answers to a case file, as a recording."""
    return _ask("run-golden", cluster, f"{name}.cases", cases, name, 1, GOLDEN_S)


def record_workload(cluster: Cluster, workload: dict[str, Any], name: str) -> dict[str, Any]:
    """What real Slurm does with a workload, as a recording."""
    return _ask("run-replay", cluster, f"{name}.workload.json", json.dumps(workload), name, RATE, REPLAY_S)


def _clock(log: str, recording: dict[str, Any]) -> dict[str, int]:
    """When slurmctld came up and when the recording began, in seconds since the epoch, from slurmctld's log."""
    first = min(recording["jobs"], key=lambda job: job["job_id"])
    at = re.search(rf"\[(\S+?)\.\d+\] _slurm_rpc_submit_batch_job: JobId={first['job_id']} ", log)
    up = re.search(r"\[(\S+?)\.\d+\] slurmctld version \S+ started", log)
    if at is None or up is None:
        raise RuntimeError("slurmctld's log does not say when the first job came")
    begun, first_submitted = (calendar.timegm(time.strptime(m[1], "%Y-%m-%dT%H:%M:%S")) for m in (up, at))
    return {"slurmctld_since": begun, "start": first_submitted - first["submit"]}


def _ask(verb: str, cluster: Cluster, file: str, text: str, name: str, rate: int, most_s: int) -> dict[str, Any]:
    program = kit()
    if program is None:
        raise SystemExit(f"{VARIABLE} names no oracle kit that can run here (needs root and Slurm's programs)")
    with tempfile.TemporaryDirectory(prefix="unseen-") as top:
        place = Path(top)
        place.chmod(0o755)  # the users' programs load the kit's clock from it
        conf = cluster.write(place / name)
        (place / file).write_text(text, "utf-8")
        out, run = place / "out.json", place / "run"
        command = [sys.executable, str(program), verb, str(conf), str(place / file), "-o", str(out), "--dir", str(run),
                   "--rate", str(rate), "--date", BEGIN]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=most_s, check=False)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{name}: no end after {most_s} s") from None
        finally:
            subprocess.run([sys.executable, str(program), "stop", "--dir", str(run)], capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip() or done.stdout.strip()}")
        found: dict[str, Any] = json.loads(out.read_text("utf-8"))
        if verb == "run-replay":
            found |= {"epoch": _clock((run / "log" / "slurmctld.log").read_text("utf-8", "replace"), found)}
    return found


def scratch() -> str:
    """A new folder that goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="unseen-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
