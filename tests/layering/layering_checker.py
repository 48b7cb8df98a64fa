"""Reads imports out of source trees and compares them with the tables of layering_rules."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from layering_rules import ALL, CLOCK_METHODS, SEEDED, UNSEALED, WORLD, WORLD_CALLS, Layer
from parsed_sources import below


@dataclass(frozen=True)
class Module:
    """One parsed source file under the name it is imported by."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Import:
    """`importer` names `target` at `line`; `lazy` when it happens in a function or only for type checkers."""

    importer: str
    target: str
    line: int
    lazy: bool


def load(root: Path, packages: Mapping[str, str]) -> dict[str, Module]:
    """All modules below `root`, by dotted name; `packages` maps folders to import names."""
    found = {}
    for folder, package in packages.items():
        for path, tree in below(root / folder).items():
            parts = path.relative_to(root / folder).with_suffix("").parts
            name = ".".join([package, *parts]).removesuffix(".__init__")
            found[name] = Module(name, path, tree)
    return found


def imports(module: Module, known: Mapping[str, Module]) -> Iterator[Import]:
    """Every import of `module`; ``from a import b`` names ``a.b`` when that is a module, else ``a``."""
    for node, lazy in _import_nodes(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module.name, alias.name, node.lineno, lazy)
        else:
            base = node.module or ""
            if node.level:
                anchor = module.package.split(".")
                anchor = anchor[: len(anchor) - (node.level - 1)]
                base = ".".join([*anchor, base] if base else anchor)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield Import(module.name, full if full in known or base == "numpy" else base, node.lineno, lazy)


@cache
def _import_nodes(module: Module) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements of `module`, and whether they are lazy."""
    return [(node, lazy) for node, lazy in _statements(module.tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def _statements(node: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Everything in the blocks below `node`; lazy inside functions and inside ``if TYPE_CHECKING``."""
    lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        typing = block == "body" and isinstance(node, ast.If) and _dotted(node.test).endswith("TYPE_CHECKING")
        for child in getattr(node, block, ()):
            inside = lazy or typing
            yield child, inside
            yield from _statements(child, inside)


def layer_of(name: str, layers: Mapping[str, Layer]) -> str | None:
    """The layer whose prefix matches most of `name`. The bare package ``slurmsim`` covers only itself."""
    best, length = None, -1
    for layer, rule in layers.items():
        for prefix in rule.prefixes:
            stem = prefix.removesuffix("*")
            if stem != prefix:
                match = name.startswith(stem)
            else:
                match = name == prefix or (prefix != "slurmsim" and name.startswith(prefix + "."))
            if match and len(stem) > length:
                best, length = layer, len(stem)
    return best


def check(modules: Mapping[str, Module], layers: Mapping[str, Layer]) -> list[str]:
    """Every violation as one line, in order of module and line; empty when the tree obeys `layers`."""
    problems = []
    ours = {name.partition(".")[0] for name in modules}
    for module in modules.values():
        layer = layer_of(module.name, layers)
        if layer is None:
            problems.append(f"{module.name}: belongs to no layer; give it one in tests/layering/layering_rules.py")
            continue
        rule = layers[layer]
        for item in imports(module, modules):
            if problem := _arrow(item, layer, rule, ours, layers):
                problems.append(problem)
        problems += _unseeded(module)
        if rule.sealed:
            problems += _touches_world(module, layer)
    return problems + cycles(modules)


def _arrow(item: Import, layer: str, rule: Layer, ours: Set[str], layers: Mapping[str, Layer]) -> str | None:
    where = f"{item.importer}:{item.line}"
    top = item.target.partition(".")[0]
    if top in ours:
        other = layer_of(item.target, layers)
        if other is None:
            return f"{where}: imports {item.target}, which belongs to no layer"
        if other != layer and rule.sees != ALL and other not in rule.sees:
            return f"{where}: {layer} may not import {other} ({item.target})"
    elif top in sys.stdlib_module_names:
        if rule.sealed and top in WORLD:
            return f"{where}: {layer} is sealed and may not import {item.target}"
    elif top not in rule.third_party:
        return f"{where}: {layer} may not import the package {top}"
    elif top in rule.late and not item.lazy:
        return f"{where}: {layer} may import {top} only inside a function"
    return None


def _touches_world(module: Module, layer: str) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in WORLD_CALLS - {UNSEALED.get(module.name)}:
            yield f"{module.name}:{node.lineno}: {layer} is sealed and may not call {function.id}()"
        elif isinstance(function, ast.Attribute) and function.attr in CLOCK_METHODS:
            owner = ast.unparse(function.value)
            if owner.split(".")[-1] in ("datetime", "date"):
                yield f"{module.name}:{node.lineno}: {layer} is sealed and may not call {owner}.{function.attr}()"


def _unseeded(module: Module) -> Iterator[str]:
    """Uses of the global random state, of an unseeded generator, or imports of such functions."""
    if not re.search("[rR]andom|default_rng|SeedSequence", module.path.read_text(encoding="utf-8")):
        return  # most modules: to walk all nodes takes longer than to read the file
    names = {"random": "random", "np.random": "numpy.random", "numpy.random": "numpy.random"}
    for node in ast.walk(module.tree):
        where = f"{module.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute):
            source = names.get(_dotted(node.value))
            if source == "random" and not _imports_random(module.tree):
                continue
            if source and node.attr not in SEEDED[source]:
                yield f"{where}: {source}.{node.attr} uses global random state; take a seeded generator"
        elif isinstance(node, ast.ImportFrom) and node.module in SEEDED and not node.level:
            for alias in node.names:
                if alias.name not in SEEDED[node.module]:
                    yield f"{where}: {node.module}.{alias.name} uses global random state; take a seeded generator"
        elif isinstance(node, ast.Call) and not node.args and not node.keywords:
            function = _dotted(node.func)
            if function.split(".")[-1] in ("default_rng", "Random", "SeedSequence"):
                yield f"{where}: {function}() without a seed"


def _dotted(node: ast.expr) -> str:
    """``a.b.c``; "?" for what is called or indexed before the last dots."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _imports_random(tree: ast.Module) -> bool:
    """Whether the name ``random`` in `tree` is the standard module rather than somebody's variable."""
    return any(isinstance(node, ast.Import) and any(a.name == "random" for a in node.names) for node in ast.walk(tree))


def circles(modules: Mapping[str, Module], package: str) -> list[list[str]]:
    """Modules of `package` that need each other to be understood: imports in functions and for types count, too."""
    inside = {name for name in modules if name.startswith(package + ".")}
    graph = {name: {item.target for item in imports(modules[name], modules)} & inside - {name} for name in inside}
    reached = {name: _reachable(graph, name) for name in inside}
    found = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in inside}
    return sorted(list(circle) for circle in found if circle)


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """What can be reached from `start`; `start` itself only around a circle."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        more = graph[ahead.pop()] - found
        found |= more
        ahead += more
    return found


def cycles(modules: Mapping[str, Module]) -> list[str]:
    """One line for a cycle among imports that run when modules load; lazy ones cannot deadlock."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for module in modules.values():
        for item in imports(module, modules):
            if not item.lazy and item.target in modules and item.target != module.name:
                graph[module.name].add(item.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return ["import cycle: " + " <- ".join(error.args[1])]
    return []
