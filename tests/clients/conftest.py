"""A live cluster whose jobs are real processes, for programs of others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = 280


@pytest.fixture
def environ(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment of a shell on a new cluster; its clock runs as fast as the test asks."""
    state = tmp_path / "cluster"
    found = {
        **os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "SLURMSIM_CLUSTER_DIR": str(state),
        "PATH": f"{Path(sys.executable).parent}:{state / 'bin'}:{os.environ['PATH']}", "SMOKE_TIMEOUT": str(SECONDS),
    }  # fmt: skip
    command = [sys.executable, "-m", "slurmsim", "up", "--state", str(state), "--jobs", "run", *request.param]
    subprocess.run(command, env=found, check=True, capture_output=True)
    yield found
    subprocess.run([*command[:3], "down", "--state", str(state)], env=found, check=False, capture_output=True)
