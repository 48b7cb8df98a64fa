"""Calls a policy's solver where it stands: by name, plain data in, plain data out."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from slurmsim.errors import PolicyError, SlurmSimError


def solver_named(name: str) -> Callable[[Any], Any]:
    """Return the function ``package.module:function`` names. Raises PolicyError if there is none."""
    module, _, function = name.partition(":")
    try:
        found: Callable[[Any], Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise PolicyError(name, f"is no solver: {error}") from error
    return found


def solve(name: str, request: str) -> str:
    """Return the answer of the solver to a request, both JSON texts.

    Raises
    ------
    PolicyError
        There is no such solver, it failed, or its answer is no plain data. Errors of ours come as they are.
    """
    function = solver_named(name)
    try:
        return json.dumps(function(json.loads(request)), separators=(",", ":"), allow_nan=False)
    except SlurmSimError:
        raise
    except Exception as error:  # whatever a stranger's solver does
        raise PolicyError(name, f"{type(error).__name__}: {' '.join(str(error).split())}") from error
