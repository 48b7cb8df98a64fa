"""Dumps of real clusters, with what their commands showed then and what became of their jobs.

A recording is a tar of what `slurmsim twin collect` asks, and of two files more: `shown.json` has the output of squeue
and sinfo of the same second, `after.txt` what sacct told of the jobs when all was over. The clusters had 16
nodes or fewer; their clock ran ten times as fast as ours. Fields that no dump can tell are named in `UNKNOWABLE`.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from slurmsim.twin.shown import Shown, records

FOLDER = Path(__file__).parent / "twin"
SQUEUE = "%i|%j|%u|%a|%P|%q|%T|%r|%Q|%S|%V|%D|%C|%R|%l|%m|%y|%f|%v|%K|%F|%A|%p|%B|%W"
UNKNOWABLE = {
    "job": frozenset({"LastSchedEval", "Scheduler"}),  # when and by which scheduler a waiting job was looked at last
    "node": frozenset({"CPULoad", "FreeMem"}),  # measured by the nodes
}
Fields = dict[str, str]


def names() -> list[str]:
    """Return the recordings."""
    return sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))


def path_of(name: str) -> Path:
    """Return the tar of a recording."""
    return FOLDER / f"{name}.tar.xz"


def file_of(name: str, file: str) -> str:
    """Return the text of one of its files."""
    with tarfile.open(path_of(name)) as tar:
        found = tar.extractfile(f"{name}/{file}")
        assert found is not None
        return found.read().decode()


def shown(name: str) -> Mapping[str, str]:
    """Return what squeue and sinfo printed."""
    return dict(json.loads(file_of(name, "shown.json")))


def by_record(text: str, first: str) -> dict[str, Fields]:
    """Return the fields of ``scontrol -d show job`` or ``show node``, those of details numbered."""
    return {one.fields[first]: _flat(one) for one in records(text, first, "shown", "Nodes" if first == "JobId" else "")}


def _flat(one: Shown) -> Fields:
    found = dict(one.fields)
    for number, detail in enumerate(one.details):
        found |= {f"{key}#{number}": value for key, value in detail.items()}
    return found


def by_line(text: str) -> dict[str, Fields]:
    """Return the columns of squeue by job."""
    return {
        line.split("|")[0]: dict(zip(SQUEUE.split("|"), line.split("|"), strict=True)) for line in text.splitlines()
    }


def differences(theirs: Mapping[str, Fields], ours: Mapping[str, Fields], kind: str = "") -> Iterator[tuple[str, bool]]:
    """Yield each field of `theirs` that a dump can tell, and True if ours is equal."""
    for key, fields in theirs.items():
        for name, value in fields.items():
            if name.partition("#")[0] not in UNKNOWABLE.get(kind, ()):
                mine = ours.get(key, {}).get(name)
                yield f"{key} {name}: {value!r}, ours {mine!r}", mine == value


def after(name: str) -> dict[str, tuple[int, int, str, str, int]]:
    """Return start, end, nodes, state and exit status of the last run of each job that ran, as sacct told it."""
    lines = [line.split("|") for line in file_of(name, "after.txt").splitlines()]
    rows = [dict(zip(lines[0], cells, strict=True)) for cells in lines[1:]]
    ran = [
        row for row in rows if row["Start"].isdigit() and row["End"].isdigit() and row["NodeList"][:1] not in ("", "N")
    ]
    return {
        row["JobID"]: (int(row["Start"]), int(row["End"]), row["NodeList"], row["State"].split()[0],
                       int(row["ExitCode"].partition(":")[0]))
        for row in ran
    }  # fmt: skip
