"""Writes docs/port.md, the reference of the policy port, from its docstrings: ``python tests/docs/port_reference.py``.

Every name of ``slurmsim.policy.__all__`` is there once, under the module that defines it: its signature, its first
lines, and a row for each of its attributes and methods. Nothing is imported but the list of names.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import slurmsim.policy as port

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "port.md"
FOLDER = ROOT / "slurmsim" / "policy"
MODULES = {
    "base": "The policy", "decisions": "What a policy may decide", "cluster": "What it sees: the cluster",
    "pools": "Pools", "plans": "Plans", "outlook": "Starts beside plans", "slurm": "Slurm's limits",
    "power": "Power, and jobs of several sizes",
    "workflow": "Workflows", "layouts": "Layouts", "units": "Jobs as units", "discipline": "Disciplines",
    "predictor": "Predictors",
    "given": "Policies that are given, not installed", "registry": "Where policies register",
}  # fmt: skip
"""Module of the port -> its heading; in the order of the page."""
HEAD = """\
# The policy port: reference

Every name of `slurmsim.policy`, from its docstrings (`tests/docs/port_reference.py` writes this page).
[Writing a policy](writing-a-policy.md) is the guide, [a policy in a notebook](policy-in-a-notebook.md) the shortest
way in. What a policy is shown is read only: a write raises an error with the policy's own file and line. Times are
seconds of the epoch, durations seconds, sets of nodes bitmaps with bit i for node number i.

The port has version {version}; [decision 0014](adr/0014-the-port-whole.md) says when it rises.
"""
SECTION = re.compile(r"^(?:Class )?(?P<name>[Aa]ttributes|Parameters|Raises|Returns|Yields|Sources)\n-+\n", re.M)


@dataclass(frozen=True, slots=True)
class Member:
    """An attribute or a method, as a row."""

    name: str
    kind: str  # the type of an attribute, "" of a method
    text: str


@dataclass(frozen=True, slots=True)
class Doc:
    """A docstring: what stands before its sections, and its sections' entries by name."""

    text: str
    entries: dict[str, str]


def read_doc(node: ast.AST) -> Doc:
    """Return the docstring of a definition, taken apart at its NumPy sections."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    found = list(SECTION.finditer(text))
    entries: dict[str, str] = {}
    for at, match in enumerate(found):
        body = text[match.end() : found[at + 1].start() if at + 1 < len(found) else None]
        for entry in re.findall(r"^(\S[^\n]*)\n((?:[ ]{4}[^\n]*\n?|\n(?=[ ]{4}))+)", body, re.M):
            for name in entry[0].split(", "):
                entries[f"{match['name'].title()}.{name.strip()}"] = inspect.cleandoc(entry[1])
    return Doc(text[: found[0].start() if found else None].strip(), entries)


def members_of(node: ast.ClassDef) -> Iterator[Member]:
    """Yield the public attributes and methods of a class, in the order of the source."""
    doc = read_doc(node)
    before = ""
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.target.id[0] != "_":
            name = one.target.id
            default = f" = {ast.unparse(one.value)}" if one.value is not None else ""
            said = doc.entries.get(f"Attributes.{name}", before)
            yield Member(name, ast.unparse(one.annotation) + default, said or _string_after(node, one))
        elif isinstance(one, ast.FunctionDef) and one.name[0] != "_":
            said = doc.entries.get(f"Attributes.{one.name}") or read_doc(one).text
            if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in one.decorator_list):
                yield Member(one.name, ast.unparse(one.returns) if one.returns else "", said)
            else:
                yield Member(signature(one, method=True), "", _method_text(one))


def _method_text(node: ast.FunctionDef) -> str:
    doc = read_doc(node)
    more = [f"`{name.partition('.')[2]}`: {text}" for name, text in doc.entries.items()]
    return "\n\n".join([doc.text, *more])


def _string_after(node: ast.ClassDef, one: ast.stmt) -> str:
    """Return the string that stands below an attribute, "" for none."""
    at = node.body.index(one) + 1
    if at < len(node.body) and isinstance(node.body[at], ast.Expr):
        value = node.body[at].value  # type: ignore[attr-defined]
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return inspect.cleandoc(value.value)
    return ""


def signature(node: ast.FunctionDef, *, method: bool = False) -> str:
    """Return the call of a function as a reader writes it, without ``self``."""
    arguments = ast.unparse(node.args)
    if method:
        arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    returns = f" → {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){returns}"


def definitions() -> dict[str, tuple[str, ast.stmt, str]]:
    """Every public name: its module, its definition, and the string below it if it is a constant."""
    found: dict[str, tuple[str, ast.stmt, str]] = {}
    for module in (*MODULES, "__init__"):
        body = ast.parse((FOLDER / f"{module}.py").read_text("utf-8")).body
        for at, one in enumerate(body):
            below = body[at + 1] if at + 1 < len(body) else None
            said = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            for name in _names(one):
                if name in port.__all__ and name not in found:
                    found[name] = (module, one, inspect.cleandoc(str(said)))
    return found


def _names(one: ast.stmt) -> list[str]:
    if isinstance(one, ast.ClassDef | ast.FunctionDef):
        return [one.name]
    targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def section(name: str, node: ast.stmt, said: str) -> Iterator[str]:
    """Yield the blocks of one name."""
    yield f"### {name}"
    if isinstance(node, ast.ClassDef):
        bases = [f"[`{base}`](#{base.lower()})" if base in port.__all__ else f"`{base}`"
                 for base in map(ast.unparse, node.bases) if base != "Protocol"]  # fmt: skip
        if bases:
            yield f"Has all of {', '.join(bases)}."
        yield read_doc(node).text
        rows = [f"| `{_cell(one.name)}` | {f'`{_cell(one.kind)}`' if one.kind else ''} | {_cell(one.text)} |"
                for one in members_of(node)]  # fmt: skip
        if rows:
            yield "\n".join(["| name | type | what it is |", "|---|---|---|", *rows])
    elif isinstance(node, ast.FunctionDef):
        yield f"`{signature(node)}`"
        yield _method_text(node)
    else:
        yield f"`{ast.unparse(node)}`"
        if said:
            yield said


def _cell(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.replace("\n\n", "<br>")).replace("|", "\\|")


def page() -> str:
    """Return docs/port.md as it should be."""
    found = definitions()
    missing = set(port.__all__) - set(found)
    assert not missing, f"defined in no module of the port: {sorted(missing)}"
    blocks = [HEAD.format(version=port.PORT_VERSION).strip()]
    for module, heading in (*MODULES.items(), ("__init__", "The port's version")):
        names = [name for name, (where, _, _) in found.items() if where == module]
        if names:
            blocks.append(f"## {heading}")
            for name in names:
                blocks += section(name, *found[name][1:])
    text = "\n\n".join(block.strip() for block in blocks if block.strip()) + "\n"
    return re.sub(r"``([^`\n]+)``", r"`\1`", text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
