"""turm, somebody else's terminal interface for Slurm, on a terminal of ours: it lists the jobs and cancels one."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

import slurmsim

_ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>][0-9A-B]?")
SECONDS = 30.0


class Terminal:
    """A program on a terminal of 40 lines; `seen` is all it wrote, without what moves the cursor."""

    def __init__(self, words: list[str], environ: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("4H", 40, 160, 0, 0))
        self.process = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, env={**environ, "TERM": "xterm"}, start_new_session=True
        )
        os.close(slave)
        self.seen = b""

    def until(self, *texts: str) -> None:
        """Wait until it has written all of them."""
        last = time.monotonic() + SECONDS
        while not all(text.encode() in _ESCAPE.sub(b"", self.seen) for text in texts):
            assert time.monotonic() < last, _ESCAPE.sub(b"", self.seen).decode("utf-8", "replace")[-2000:]
            if select.select([self._master], [], [], 0.2)[0]:
                self.seen += os.read(self._master, 1 << 16)

    def type(self, keys: bytes) -> None:
        self.seen = b""
        os.write(self._master, keys)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self._master)


def test_turm_lists_and_cancels() -> None:
    turm = shutil.which("turm", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if turm is None:
        pytest.skip("turm is not installed: pip install .[clients]")
    with slurmsim.cluster(nodes=2, frozen=True) as c:
        c.run("sbatch -J alpha -N 2 --exclusive --wrap 'sleep 600'; sbatch -J omega -N 1 --wrap 'sleep 60'", check=True)
        c.step(10)
        shown = Terminal([turm, "--slurm-refresh", "1"], {**os.environ, **c.environ})
        try:
            shown.until("alpha", "omega")
            shown.type(b"c")
            time.sleep(0.5)
            shown.type(b"\r")
            last = time.monotonic() + SECONDS
            while all(job.state != "CANCELLED" for job in c.jobs()) and time.monotonic() < last:
                time.sleep(0.2)
            assert [job.name for job in c.jobs() if job.state == "CANCELLED"]
            assert "squeue" in {Path(call.argv[0]).name for call in c.calls()}
        finally:
            shown.close()
