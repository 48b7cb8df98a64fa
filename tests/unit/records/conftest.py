"""What the rooms make of one row more, found once for all tests of records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def more_rows() -> dict[str, Any]:
    """The answers of `more_rows.py`: rows are added before any other room is loaded, so it is a process of its own."""
    script = Path(__file__).with_name("more_rows.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
