"""The few loops that have to be as fast as C: plain Python here, an extension where one could be built.

A module of this package works on integers and arrays alone. It runs as it stands; beside it lies a file of types
(``.pxd``) with which Cython makes an extension of the same source (docs/speed.md). The extension ``_slurmsim_NAME``
carries the hash of its source: one made from other sources than these is not used.
"""

from __future__ import annotations

import warnings
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MODULES = ("cycle", "placement")


def source_hash(source: bytes) -> str:
    """What an extension made from `source` carries."""
    return sha256(source).hexdigest()[:16]


def load(name: str) -> Any:
    """The module `name` of this package: its extension if there is one made from this very source, else itself."""
    if find_spec(f"_slurmsim_{name}") is not None:
        extension = import_module(f"_slurmsim_{name}")
        if source_hash(Path(__file__).with_name(f"{name}.py").read_bytes()) == extension.SOURCE:
            return extension
        warnings.warn(f"the compiled kernel {name} is of another source and is not used (run .ci/setup)", stacklevel=2)
    return import_module(f"slurmsim.kernel.{name}")


def compiled(name: str) -> bool:
    """Whether `load` gives the extension."""
    return bool(load(name).__name__.startswith("_"))
