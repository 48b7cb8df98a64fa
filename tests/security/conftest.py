"""What the tests of this folder share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder where all users may write, as /tmp is."""
    found = Path(tempfile.mkdtemp(prefix="slurmsim-security-"))
    found.chmod(0o1777)
    yield found
    shutil.rmtree(found, ignore_errors=True)
