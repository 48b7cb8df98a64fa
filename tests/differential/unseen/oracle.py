"""The real Slurm that is asked: the oracle kit, whose folder SLURMSIM_ORACLE names.

Release 22.05 is the machine's own. A newer one lives in a root of its own below the folder ORACLE_ROOTS names, as the
kit's newer.py builds it; there what is asked is a folder at /share.
"""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.clusters import Cluster

VARIABLE, ROOTS = "SLURMSIM_ORACLE", "ORACLE_ROOTS"
OWN_RELEASE = "22.05"
BEGIN = "2026-01-05 08:00:00"
RATE = 10
GOLDEN_S, REPLAY_S = 1200, 600  # what never ends is given up


@dataclass(frozen=True, slots=True)
class Kit:
    """The kit's program for one release. With a `root` it runs in there, and sees of this machine what is shared."""

    command: list[str]
    root: Path | None = None

    def place(self, shared: Path, name: str) -> str:
        """What the kit calls the file or folder `name` below the shared folder."""
        return f"/share/{name}" if self.root else str(shared / name)

    def run_folder(self, shared: Path) -> tuple[str, Path]:
        """Where the cluster lives: as the kit calls it, and as this machine does."""
        if self.root is None:
            return str(shared / "run"), shared / "run"
        inside = f"var/tmp/{shared.name}"
        return f"/{inside}", self.root / inside


def kit(release: str = OWN_RELEASE) -> Kit | None:
    """The kit for a release; None where there is none, or nothing it could start."""
    folder = os.environ.get(VARIABLE)
    if not folder or os.geteuid():
        return None
    if release == OWN_RELEASE:
        program, root = Path(folder, "oracle.py"), None
        command, slurmctld = [sys.executable, str(program)], Path("/usr/sbin/slurmctld")
    else:
        program, root = Path(folder, "newer.py"), Path(os.environ.get(ROOTS, "/tmp"), f"slurm{release}")
        command, slurmctld = [sys.executable, str(program), release], root / "usr/sbin/slurmctld"
    return Kit(command, root) if program.is_file() and slurmctld.exists() else None


def record_session(cluster: Cluster, cases: str, name: str, release: str = OWN_RELEASE) -> dict[str, Any]:
    """What real Slurm answers to a case file, as a recording."""
    return _ask(_Question("run-golden", f"{name}.cases", cases, 1, GOLDEN_S), cluster, name, release)


def record_workload(
    cluster: Cluster, workload: dict[str, Any], name: str, release: str = OWN_RELEASE,
) -> dict[str, Any]:  # fmt: skip
    """What real Slurm does with a workload, as a recording."""
    verb = "replay" if workload.get("reservations") else "run-replay"
    before = [["scontrol", "create", "reservation", *text.split()] for text in workload.get("reservations", ())]
    question = _Question(verb, f"{name}.workload.json", json.dumps(workload), RATE, REPLAY_S, before)
    recording = _ask(question, cluster, name, release)
    for file in ("gres.conf", "topology.conf"):
        if file in cluster.files:
            recording[file.replace(".", "_")] = cluster.files[file].splitlines()
    return recording


def _clock(log: str, recording: dict[str, Any]) -> dict[str, int]:
    """When slurmctld came up and when the recording began, in seconds since the epoch, from slurmctld's log."""
    first = min(recording["jobs"], key=lambda job: job["job_id"])
    at = re.search(rf"\[(\S+?)\.\d+\] _slurm_rpc_submit_batch_job: JobId={first['job_id']} ", log)
    up = re.search(r"\[(\S+?)\.\d+\] slurmctld version \S+ started", log)
    if at is None or up is None:
        raise RuntimeError("slurmctld's log does not say when the first job came")
    begun, first_submitted = (calendar.timegm(time.strptime(m[1], "%Y-%m-%dT%H:%M:%S")) for m in (up, at))
    return {"slurmctld_since": begun, "start": first_submitted - first["submit"]}


def _version(log: str) -> str:
    """The release that ran: the kit writes its own into replays, whichever it was."""
    found = re.search(r"slurmctld version (\S+) started", log)
    if found is None:
        raise RuntimeError("slurmctld's log does not say its version")
    return found[1]


_KINDS = {"_slurm_rpc_submit_batch_job": "submit", "sched: Allocate": "main", "sched/backfill: _start_job": "backfill"}
_ALONE = {"slurmctld version": "up", "sched/backfill: _attempt_backfill: beginning": "cycle"}
_EVENTS = re.compile(
    rf"^\[(\S+?)\.(\d{{3}})\] (?:\w+: +)?(?:({'|'.join(_ALONE)})|({'|'.join(_KINDS)})[^\n]*?JobId=(\S+))", re.MULTILINE
)


def _events(log: str, start: str) -> list[tuple[float, str, str]]:
    """What slurmctld's log says of its phases: when it came up, each submission, cycle and start, in seconds to the ms.

    In no answer is to be seen when in its second slurmctld's loop goes round, nor when a cycle of backfill comes.
    """
    began = calendar.timegm(time.strptime(start, "%Y-%m-%dT%H:%M:%S"))
    found = []
    for at, ms, alone, what, job in _EVENTS.findall(log):
        second = calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%S")) - began
        found.append((round(second + int(ms) / 1000, 3), _ALONE[alone] if alone else _KINDS[what], job))
    return found


@dataclass(frozen=True, slots=True)
class _Question:
    """What the kit is told to do, with which file, how fast its clock goes and when it is given up.

    Commands of root that come `before` need a cluster that is there already.
    """

    verb: str
    file: str
    text: str
    rate: int
    most_s: int
    before: list[list[str]] = field(default_factory=list)


def _ask(question: _Question, cluster: Cluster, name: str, release: str) -> dict[str, Any]:
    asked = kit(release)
    if asked is None:
        raise SystemExit(f"{VARIABLE} names no oracle kit that can run {release} here (needs root, Slurm's programs)")
    with tempfile.TemporaryDirectory(prefix="unseen-") as top:
        shared = Path(top)
        shared.chmod(0o755)  # the users' programs load the kit's clock from it
        cluster.write(shared / name)
        (shared / question.file).write_text(question.text, "utf-8")
        run, run_here = asked.run_folder(shared)
        conf, clock = asked.place(shared, name), ["--rate", str(question.rate), "--date", BEGIN]
        files = [asked.place(shared, question.file), "-o", asked.place(shared, "out.json"), "--dir", run]
        environment = {**os.environ, "ORACLE_SHARE": top}

        def tell(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([*asked.command, *arguments], capture_output=True, text=True, check=False,
                                  timeout=question.most_s, env=environment)  # fmt: skip

        shown: list[str] = []
        try:
            if question.before:
                tell("start", conf, "--dir", run, *clock)
                for told in [*question.before, ["scontrol", "show", "reservation", "-o"]]:
                    shown = tell("exec", "--dir", run, "--user", "root", "--", *told).stdout.splitlines()
                done = tell(question.verb, *files)
            else:
                done = tell(question.verb, conf, *files, *clock)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{name}: no end after {question.most_s} s") from None
        finally:
            stop = [*asked.command, "stop", "--dir", run]
            subprocess.run(stop, capture_output=True, check=False, env=environment)
        try:
            if done.returncode:
                raise RuntimeError(f"{name}: {done.stderr.strip() or done.stdout.strip()}")
            found: dict[str, Any] = json.loads((shared / "out.json").read_text("utf-8"))
            log = (run_here / "log" / "slurmctld.log").read_text("utf-8", "replace")
            found["slurm"] = _version(log)
            replayed = question.verb.endswith("replay")
            found |= {"reservations": shown} if shown else {}
            found |= {"epoch": _clock(log, found)} if replayed else {"events": _events(log, found["start"])}
        finally:
            shutil.rmtree(run_here, ignore_errors=True)
    return found


def scratch() -> str:
    """A new folder that goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="unseen-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
