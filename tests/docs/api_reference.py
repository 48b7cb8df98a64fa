"""Writes docs/api.md, the reference of public Python names, from docstrings: ``python tests/docs/api_reference.py``.

`NAMES` lists the modules that define the names of docs/public.md and docs/python-api.md. The port of policies has a
page of its own (`port_reference`). Nothing is imported: sources are parsed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from port_reference import ROOT, _cell, _method_text, members_of, read_doc, signature

PAGE = ROOT / "docs" / "api.md"
HEAD = """\
# Python: reference

The public names outside of [the policy port](port.md), from their docstrings (`tests/docs/api_reference.py` writes
this page). [The Python API](python-api.md) is the guide, [what is public](public.md) says what a release promises.
"""
# Heading, where to import from -> defining module, names; all of `slurmsim.__all__` but plain values
NAMES: dict[tuple[str, str], tuple[tuple[str, tuple[str, ...]], ...]] = {
    ("Runs", "slurmsim"): (
        ("slurmsim/replaying/replay.py", ("run",)),
        ("slurmsim/trace/reader.py", ("read_trace", "Trace")),
        ("slurmsim/campaign/sweep.py", ("sweep", "Sweep")),
        ("slurmsim/__init__.py", ("compiled",)),
    ),
    ("Live clusters", "slurmsim"): (
        ("slurmsim/live/cluster.py", ("cluster", "Cluster", "restore", "Record")),
        ("slurmsim/live/faults.py", ("Fault",)),
    ),
    ("Studies", "slurmsim.whatif, slurmsim.fidelity"): (
        ("slurmsim/whatif/study.py", ("study", "Question", "Study")),
        ("slurmsim/whatif/effect.py", ("Effect",)),
        ("slurmsim/fidelity/__init__.py", ("assess",)),
    ),
    ("Workloads", "slurmsim.workload, slurmsim_workloads"): (
        ("slurmsim/workload.py", ("Workload", "WorkloadHeader", "TextColumn", "Streams")),
        ("workloads/registry.py", ("read_workload", "write_workload")),
        ("workloads/generators.py", ("generate",)),
    ),
    ("Experiments", "slurmsim.experiments"): (
        ("slurmsim/experiments/runs.py", ("Cell", "run_all", "work_all")),
        ("slurmsim/experiments/claims.py", ("Goal", "Claim")),
        ("slurmsim/experiments/verdicts.py", ("judge", "seeds_to_decide")),
    ),
    ("Errors", "slurmsim.errors"): (
        ("slurmsim/errors.py", ("SlurmSimError", "InputError", "ConfigError", "WorkloadError", "OutputError",
                                "PolicyError", "SubmitError", "InvariantError")),
    ),
}  # fmt: skip


def definition(module: str, name: str) -> ast.ClassDef | ast.FunctionDef:
    """Return the class or function of that name in a source file. Raises KeyError."""
    for node in ast.parse((ROOT / module).read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
    raise KeyError(f"{module}: {name}")


def section(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    """Yield the blocks of one name."""
    yield f"### {node.name}"
    if isinstance(node, ast.FunctionDef):
        yield f"`{signature(node)}`"
        yield from _described(node)
        return
    doc = read_doc(node)
    yield doc.text
    made = [(name, text) for name, text in doc.entries.items() if name.startswith("Parameters.")]
    members = [one for one in members_of(node) if one.text or one.kind]
    rows = [f"| `{_cell(name.partition('.')[2])}` | made with | {_cell(text)} |" for name, text in made]
    rows += [f"| `{_cell(one.name)}` | {f'`{_cell(one.kind)}`' if one.kind else ''} | {_cell(one.text)} |"
             for one in members]  # fmt: skip
    if rows:
        yield "\n".join(["| name | type | what it is |", "|---|---|---|", *rows])


def _described(node: ast.FunctionDef) -> Iterator[str]:
    doc = read_doc(node)
    if not doc.entries:
        yield _method_text(node)
        return
    yield doc.text
    rows = [f"| `{_cell(name.partition('.')[2])}` | {_cell(text)} |" for name, text in doc.entries.items()]
    yield "\n".join(["| argument, or error | what it is |", "|---|---|", *rows])


def page() -> str:
    """Return docs/api.md as it should be."""
    blocks = [HEAD.strip()]
    for (heading, place), modules in NAMES.items():
        blocks += [f"## {heading}", f"In `{place.replace(', ', '` and `')}`."]
        for module, names in modules:
            for name in names:
                blocks += section(definition(module, name))
    text = "\n\n".join(inspect.cleandoc(block).strip() for block in blocks if block.strip()) + "\n"
    return re.sub(r"``([^`\n]+)``", r"`\1`", text)


if __name__ == "__main__":
    Path(PAGE).write_text(page(), "utf-8")
