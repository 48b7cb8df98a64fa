"""A cluster on a file system of one MiB, which fills up and is emptied again. Run as root of a name space of one's own.

``unshare --map-root-user --mount python full_disk_session.py FOLDER [FLAG]`` prints one JSON object: what was answered
when. With FLAG, a file elsewhere, scripts run until it is there; else jobs are simulated.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from slurmsim.protocol import SOCKET

SIZE = 1 << 20


class Session:
    """The cluster in a folder, and what its commands say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "c"
        self.environ = {
            **os.environ, "XDG_STATE_HOME": str(folder / "state"), "SLURMSIM_CLUSTER_DIR": str(self.state),
            "PATH": f"{self.state / 'bin'}:{os.environ['PATH']}",
        }  # fmt: skip

    def run(self, *command: str) -> dict[str, Any]:
        done = subprocess.run(command, env=self.environ, cwd="/", capture_output=True, text=True, check=False)
        return {"code": done.returncode, "out": done.stdout.strip(), "err": done.stderr.strip()}

    def slurmsim(self, *words: str) -> dict[str, Any]:
        return self.run(sys.executable, "-m", "slurmsim", *words, "--state", str(self.state))

    def submit(self, size: int = 4096) -> dict[str, Any]:
        return self.run(
            "sbatch", "--parsable", "--export=NONE", "-o", "/dev/null", "--wrap", f"sleep 600 # {'x' * size}"
        )

    def jobs(self) -> list[str]:
        return self.run("squeue", "-h", "-o", "%i", "-S", "i")["out"].split()

    def pid(self) -> int:
        """The daemon's."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.state / SOCKET))
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int(struct.unpack("3i", peer)[0])


def fill(folder: Path) -> Path:
    """A file that takes all there is."""
    path = folder / "ballast"
    with path.open("wb", buffering=0) as file:
        for block in (1 << 16, 1):
            try:
                while True:
                    file.write(b"x" * block)
            except OSError:
                continue
    return path


def main(folder: Path, flag: Path | None) -> None:
    """Mount the file system, and do it there."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)], check=True)
    s = Session(folder)
    try:
        print(json.dumps(session(s, folder) if flag is None else ends(s, folder, flag)))
    finally:
        s.slurmsim("down")


def session(s: Session, folder: Path) -> dict[str, Any]:
    """Fill the disk, ask, make room, ask, kill the daemon while it is full, ask."""
    told: dict[str, Any] = {"up": s.slurmsim("up", "--frozen", "--start", "2026-01-05T08:00:00Z")}
    acknowledged = [s.submit()["out"] for _ in range(3)]
    ballast = fill(folder)
    while (answer := s.submit())["code"] == 0:  # the journal has taken some room in advance
        acknowledged.append(answer["out"])
    told |= {"refused": answer, "again": s.submit(), "alive": s.run("sinfo", "-h"), "full": s.jobs()}
    told["cancel"] = s.run("scancel", acknowledged[0])
    ballast.unlink()
    told["after"] = s.submit()
    acknowledged.append(told["after"]["out"])
    told["empty"] = s.jobs()
    fill(folder)
    os.kill(s.pid(), signal.SIGKILL)
    (folder / "ballast").unlink()
    told |= {"up again": s.slurmsim("up"), "restored": s.jobs(), "acknowledged": acknowledged}
    return told


def ends(s: Session, folder: Path, flag: Path) -> dict[str, Any]:
    """Start scripts, fill the disk, and let them end."""
    told: dict[str, Any] = {"up": s.slurmsim("up", "--rate", "2")}
    script = f"while [ ! -e {flag} ]; do sleep 0.05; done; exit 5"
    for _ in range(4):
        s.run("sbatch", "--export=NONE", "-o", "/dev/null", "--wrap", script)
    wait(s, ["RUNNING"] * 4)
    ballast = fill(folder)
    while s.submit()["code"] == 0:  # the journal has taken some room in advance
        pass
    time.sleep(3)  # and the clock is in it, too
    os.kill(s.pid(), signal.SIGKILL)
    told["up again"] = s.slurmsim("up")
    while s.submit()["code"] == 0:
        pass
    told["free"] = os.statvfs(folder).f_bavail
    flag.touch()
    wait(s, ["FAILED"] * 4)
    told["ended"] = s.run("sacct", "-X", "-n", "-P", "-j", "1,2,3,4", "-o", "State,ExitCode")["out"].split()
    os.kill(s.pid(), signal.SIGKILL)
    ballast.unlink()
    told["emptied"] = s.slurmsim("up")
    told["still"] = s.run("sacct", "-X", "-n", "-P", "-j", "1,2,3,4", "-o", "State,ExitCode")["out"].split()
    return told


def wait(s: Session, states: list[str]) -> None:
    """Wait until the first jobs are in these states."""
    last = time.monotonic() + 60
    while (found := s.run("squeue", "-h", "-t", "all", "-S", "i", "-o", "%T")["out"].split())[: len(states)] != states:
        if time.monotonic() > last:
            raise TimeoutError(f"{found}, not {states}")
        time.sleep(0.1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
