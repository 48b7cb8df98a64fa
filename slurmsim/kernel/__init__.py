"""The few loops that have to be as fast as C: plain Python here, an extension where one could be built.

A module of this package works on numbers and arrays alone, `rows` on tuples of cells, `picking` and `numbers` on bytes,
`facades` on objects of the core. It runs as it stands; beside it lies a file of types (``.pxd``) with which Cython
makes an extension of the same source (docs/speed.md). The extension ``_slurmsim_NAME`` carries the hash of all these
files, since kernels know each other's types: one made from others is not used.
"""

from __future__ import annotations

import warnings
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MODULES = (
    "amounts", "arrays", "atoms", "counts", "cycle", "facades", "happenings", "limits", "numbers", "picking",
    "placement", "priorities", "queue", "rows", "running", "slurm_run",
)  # fmt: skip


def source_hash() -> str:
    """Return what an extension made from the sources in this folder carries."""
    folder = Path(__file__).parent
    files = [folder / "constants.py", *(folder / f"{name}.{kind}" for name in MODULES for kind in ("py", "pxd"))]
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


@cache
def _source() -> str:
    """Return `source_hash`, worked out once for all kernels of a process: 1 ms each."""
    return source_hash()


@cache
def load(name: str) -> Any:
    """Return the module `name` of this package, or its extension if one was made from these very sources."""
    if find_spec(f"_slurmsim_{name}") is not None:
        try:
            extension = import_module(f"_slurmsim_{name}")
        except ImportError as error:  # its making was cut short, say
            warnings.warn(f"the compiled kernel {name} cannot be used (run .ci/setup): {error}", stacklevel=2)
            return import_module(f"slurmsim.kernel.{name}")
        if getattr(extension, "SOURCE", "") == _source():
            return extension
        warnings.warn(f"the compiled kernel {name} is of another source and is not used (run .ci/setup)", stacklevel=2)
    return import_module(f"slurmsim.kernel.{name}")


def compiled(name: str) -> bool:
    """Return True if `load` gives the extension."""
    return bool(load(name).__name__.startswith("_"))
