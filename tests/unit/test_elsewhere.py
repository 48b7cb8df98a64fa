"""Replays, reports and sweeps do without the modules that only POSIX has, as on Windows and partly on macOS."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ABSENT = ("fcntl", "grp", "pwd", "resource", "termios")
PROGRAM = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in {ABSENT!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
del sys.modules["os"].sched_getaffinity
from slurmsim.cli import main

log = ["generate", "lublin", "--jobs", "40", "--nodes", "16", "--load", "0.7", "--out", "log.swf"]
codes = [main(words) for words in (
    log,
    ["run", "--workload", "log.swf", "--policy", "easy", "--out", "run", "--quiet"],
    ["report", "run"],
    ["validate", "run", "--json"],
    ["sweep", "grid.toml", "--out", "swept", "--workers", "1", "--quiet"],
)]
print(codes, file=sys.stderr)
print([name for name in {ABSENT!r} if name in sys.modules], file=sys.stderr)
"""
GRID = 'workloads = ["log.swf"]\npolicies = ["fcfs", "easy"]\n'


def test_a_log_is_replayed_reported_and_swept_without_them(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes, loaded = done.stderr.strip().splitlines()[-2:]
    assert (codes, loaded) == ("[0, 0, 0, 0, 0]", "[]")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["jobs"] == 40
    assert (tmp_path / "run" / "report.html").is_file() and list((tmp_path / "swept" / "cells").iterdir())
