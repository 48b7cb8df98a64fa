"""What installed packages offer: entry points, looked up once for all runs of a process."""

import os
import sys
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any

Folders = tuple[tuple[str, frozenset[str]], ...]


def entry_points(*, group: str) -> tuple[EntryPoint, ...]:
    """Entry points of `group`, as `importlib.metadata.entry_points` has them.

    That reads a file of every installed package, 8 ms where there are 115 of them, and a run asks five times, for
    several groups. What was found holds as long as the folders of ``sys.path`` hold the same packages.
    """
    return _found(group, tuple((folder, _packages(folder, _changed(folder))) for folder in sys.path))


@lru_cache(maxsize=16)
def _found(group: str, folders: Folders) -> tuple[EntryPoint, ...]:
    return tuple(_every(folders).select(group=group))


@lru_cache(maxsize=2)
def _every(folders: Folders) -> Any:  # of another class up to 3.11
    return metadata.entry_points()


@lru_cache(maxsize=64)
def _packages(folder: str, changed: int) -> frozenset[str]:
    try:
        return frozenset(name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info")))
    except OSError:  # a zip file, or nothing
        return frozenset()


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
