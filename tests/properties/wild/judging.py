"""All that is asked of a wild world: it ends, its trace is valid, adds up, and is the same by other ways to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from slurmsim import compiled
from slurmsim.errors import SlurmSimError
from slurmsim.validate import validate_trace
from wild.count import count
from wild.running import TABLES, Ran, run
from wild.world import World


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: what kind of thing, and a sentence."""

    kind: str
    text: str


def judge(world: World, folder: Path, kind: str = "") -> tuple[Ran, list[Finding]]:
    """Run `world` inside `folder`, which is made anew, and look at it from all sides.

    With `kind` only what can give findings of that kind is done, and only these are told.
    """
    shutil.rmtree(folder, ignore_errors=True)
    files = world.write(folder / "world")
    usual = run(world, files, folder / "usual")
    if usual.how == "refused":
        return usual, []
    if usual.folder is None:
        return usual, [Finding(_kind(usual), usual.said)] if _kind(usual).startswith(kind) else []
    found: list[Finding] = []
    for name, look in LOOKS.items():
        if kind.startswith(name) or not kind:
            found += look(world, files, usual.folder)
    return usual, [finding for finding in found if finding.kind.startswith(kind)]


def _kind(ran: Ran) -> str:
    """``endless``, or what was raised where."""
    if ran.how != "traceback":
        return ran.how
    lines = [line.strip() for line in ran.said.splitlines()]
    places = [line.rpartition(" in ")[2] for line in lines if line.startswith("File ")]
    return f"traceback {lines[0].partition(':')[0]} in {places[-1] if places else 'the policy'}"


def _validated(_world: World, _files: Path, out: Path) -> Iterator[Finding]:
    try:
        report = validate_trace(out)
    except SlurmSimError as error:
        yield Finding("validator refuses", str(error))
        return
    for check in report.checks:
        if not check.ok:
            yield Finding(f"validator {check.name}", "; ".join(map(str, check.examples)))


def _counted(world: World, _files: Path, out: Path) -> Iterator[Finding]:
    seen: dict[str, Finding] = {}
    for kind, text in count(world, out):
        seen.setdefault(kind, Finding(f"count {kind}", text))
    yield from seen.values()


def _plain(world: World, files: Path, out: Path) -> Iterator[Finding]:
    """The same without kernels; compiled code keeps its own."""
    if compiled():
        return
    plain = run(world, files, out.parent / "plain", plain=True)
    if plain.folder is None:
        yield Finding("kernels", f"without kernels: {plain.how}: {plain.said}")
    elif said := difference(out, plain.folder):
        yield Finding("kernels", f"without kernels {said}")


LOOKS = {"validator": _validated, "count": _counted, "kernels": _plain}


def difference(first: Path, second: Path) -> str:
    """The first row in which the tables of two runs differ; empty where they are the same."""
    for table in TABLES:
        if not (first / table).exists() or (first / table).read_bytes() == (second / table).read_bytes():
            continue
        rows, others = (pq.read_table(folder / table).to_pylist() for folder in (first, second))
        for number, (row, other) in enumerate(zip(rows, others, strict=False)):
            if row != other:
                cells = {key: (row[key], other[key]) for key in row if row[key] != other[key]}
                return f"{table} row {number} differs: {cells} at {row.get('time', row.get('job_id'))}"
        return f"{table} has {len(rows)} rows, not {len(others)}" if len(rows) != len(others) else f"{table} differs"
    return ""
