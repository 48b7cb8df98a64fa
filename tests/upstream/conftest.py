"""The harness is a package that `python -m tests.upstream.run` finds; its tests find it the same way."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
