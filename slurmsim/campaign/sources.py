"""What results depend on beside inputs: the source of slurmsim, that of a plug-in, and that of the files it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

_OURS = "slurmsim"  # slurmsim itself: `own_digest`
NO_PART = (
    "cli", "commands", "experiments", "fidelity", "live", "papers", "report", "rest", "validate", "web", "whatif",
)  # fmt: skip
"""Rooms of slurmsim that have no part in a cell (a test looks at what a cell loads)."""
OF_A_CELL = ("measure.py", "keys.py", "sources.py")  # modules of our own room that have


@cache
def own_digest() -> str:
    """SHA-256 over the source of slurmsim as far as cells depend on it: an unreleased version changes from day to day.

    Formats and generators of slurmsim's workloads are part of it; policies are known by `source_digest`.
    """

    def counts(name: str) -> bool:
        package, room, *rest = name.split("/")
        elsewhere = room in NO_PART or (room == "campaign" and rest[0] not in OF_A_CELL)
        return package != _OURS or not elsewhere

    return _digest((name, file) for name, file in _sources(_OURS, "slurmsim_workloads") if counts(name))


@cache
def packages_digest(*packages: str) -> str:
    """SHA-256 over the whole source of these packages."""
    return _digest(_sources(*packages))


def _sources(*packages: str) -> Iterator[tuple[str, Path]]:
    for package in packages:
        folder = _folder_of(package)
        for file in sorted(folder.rglob("*.py")):
            yield f"{package}/{file.relative_to(folder).as_posix()}", file


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, file in files:
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


@cache
def source_digest(module: str, *rooms: str) -> str:
    """Return `present_source_digest` of a module that does not change while this process lives."""
    return present_source_digest(module, *rooms)


def present_source_digest(module: str, *rooms: str) -> str:
    """SHA-256 over the source of `module` and of all it imports, by module name.

    Followed are modules of its own package and loose files; of what belongs to another installed distribution the
    name and version count, of the standard library nothing. Of slurmsim only modules of `rooms` count: `own_digest`
    is in every key.
    """
    digest = hashlib.sha256()
    for name, content in sorted(_closure(module, rooms).items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _closure(module: str, rooms: tuple[str, ...]) -> dict[str, bytes]:
    top = module.partition(".")[0]
    found: dict[str, bytes] = {}
    ahead = [module]
    while ahead:
        name = ahead.pop()
        if name in found:
            continue
        first, _, inner = name.partition(".")
        if first in sys.stdlib_module_names or (first == _OURS and inner.partition(".")[0] not in rooms):
            continue
        told = None if first == top else _version_of(first)
        if told is not None:
            found[first] = told.encode()
            continue
        file = _file_of(name)
        if file is None:
            continue
        found[name] = file.read_bytes()
        ahead += _parents(name)
        if file.suffix == ".py":
            ahead += _imports(found[name], name, file.name == "__init__.py")
    return found


def _version_of(top: str) -> str | None:
    """Name and version of the distribution a top-level module belongs to; None for loose files."""
    for name in sorted(_distributions().get(top, ())):
        try:
            return f"{name}=={version(name)}"
        except PackageNotFoundError:
            continue
    return None


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(found) for name, found in packages_distributions().items()}


def _file_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # an attribute of a module, or whatever a stranger's package does while it is imported
        return None
    return Path(spec.origin) if spec is not None and spec.origin and Path(spec.origin).is_file() else None


def _folder_of(package: str) -> Path:
    file = _file_of(package)
    assert file is not None  # ours, installed with us
    return file.parent


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _imports(content: bytes, module: str, is_package: bool) -> Iterator[str]:
    """Names a source imports, those that may be attributes among them."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package if node.level else ""
            whole = ".".join(part for part in (base, node.module) if part)
            if whole:
                yield whole
                yield from (f"{whole}.{alias.name}" for alias in node.names)
