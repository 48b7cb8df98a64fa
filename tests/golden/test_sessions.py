"""Recorded command sessions of real Slurm, run against the live cluster: as many commands come out equal as ever did.

`tests/golden/replay.py` runs them; here are those that take few seconds. docs/fidelity.md has the figures of all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SESSIONS = HERE.parent / "conformance" / "commands"
# release and group -> commands that may differ; each has its reason in docs/fidelity.md
DIFFER = {
    "22.05/sbatch-errors": 1,
    "22.05/sbatch-errors-enforced": 0,
    "22.05/squeue": 9,
    "22.05/sinfo": 22,
    "22.05/scontrol-show": 3,
    "22.05/scontrol-ops": 9,
    "22.05/accounting": 6,
    "24.11/sbatch-errors-enforced": 1,
    "26.05/sbatch-errors-enforced": 1,
}


@pytest.mark.parametrize("name", DIFFER)
def test_commands_print_what_real_slurm_printed(name: str) -> None:
    command = [sys.executable, str(HERE / "replay.py"), "--json", str(SESSIONS / f"{name}.json.gz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (group,) = json.loads(done.stdout)
    assert group["total"] > 40
    failed = [f"{one['cmd']}: {one['difference']}" for one in group["failed"]]
    assert len(failed) <= DIFFER[name], "\n".join(failed)
