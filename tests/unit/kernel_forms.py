"""The kernels as Python and as extensions: what a test of either form runs on."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from slurmsim.kernel import MODULES, compiled, load

NEEDS_EXTENSIONS = pytest.mark.skipif(not all(map(compiled, MODULES)), reason="the kernels are not compiled")
FORMS = pytest.mark.parametrize("form", ["python", pytest.param("extension", marks=NEEDS_EXTENSIONS)])

AVAILABLE = ("python", "extension") if all(map(compiled, MODULES)) else ("python",)


def kernel(name: str, form: str) -> Any:
    """The kernel of that name in that form."""
    return load(name) if form == "extension" else import_module(f"slurmsim.kernel.{name}")
