"""A run that is told to end: by Ctrl-C or by SIGTERM, what happened until then is written and marked partial."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

JOBS = 100_000
HEADER = "; MaxNodes: 4\n; MaxProcs: 4\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_ends_in_order(tmp_path: Path, number: signal.Signals, code: int) -> None:
    log = tmp_path / "log.swf"
    rows = (f"{k} {k} -1 100 1 -1 -1 1 200 -1 1 {k % 7} 1 -1 1 1 -1 -1\n" for k in range(1, JOBS + 1))
    log.write_text(HEADER + "".join(rows))
    command = [
        sys.executable,
        "-m",
        "slurmsim",
        "run",
        "--workload",
        str(log),
        "--out",
        str(tmp_path / "out"),
        "--quiet",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a shell's background jobs ignore SIGINT
    ) as run:  # fmt: skip
        last = time.monotonic() + 120
        while len(list(tmp_path.iterdir())) == 1:  # until the trace's folder is there
            assert run.poll() is None and time.monotonic() < last
            time.sleep(0.05)
        time.sleep(1)
        run.send_signal(number)
        _, said = run.communicate(timeout=120)
    assert run.returncode == code, said
    assert f"interrupted; what happened until then is in {tmp_path / 'out'} (marked partial)" in said
    assert json.loads((tmp_path / "out" / "run.json").read_text())["partial"] is True
    assert (tmp_path / "out" / "jobs.parquet").stat().st_size > 0
