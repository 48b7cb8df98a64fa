"""Dependencies among the jobs of one log: loops, and references to jobs the log does not have."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slurmsim.errors import WorkloadError
from slurmsim.numerals import is_number
from slurmsim.workload import Workload

IntColumn = npt.NDArray[np.int64]

_STATUS = re.compile(r"\([^()]*\)")
_REFERENCE = re.compile(r"(\d{1,18})((?:_(?:\d{1,18}|\*|\[[^\]]*\]))?)((?:\+\d{1,18})?)")
_KINDS = frozenset({"after", "afterany", "afternotok", "afterok", "aftercorr", "singleton"})


class Cleaned(NamedTuple):
    """A dependency expression reduced to what can be replayed."""

    text: str  # the expression with what is left; empty when nothing is
    gone: int  # how many references were left out because the log has no such job
    # how many were left out because their kind is no dependency that is modelled, or the reference is no job
    strange: int


def clean_dependency(text: str, is_known: Callable[[int], bool]) -> Cleaned:
    """Return a dependency expression as a log shows it, reduced to jobs of the log.

    Parameters
    ----------
    text
        ``afterok:12(unfulfilled),afterany:13_*``; the status in parentheses goes, ``13_*`` and ``13_[1-3]`` are
        taken as the whole array.
    is_known
        Whether the log has a job or array of that number.

    Examples
    --------
    >>> clean_dependency("afterok:12(unfulfilled):7,singleton,whenever:12", {12}.__contains__)
    Cleaned(text='afterok:12,singleton', gone=1, strange=1)
    """
    bare = _STATUS.sub("", text)
    joint = "?" if "?" in bare else ","
    kept, gone, strange = [], 0, 0
    for item in filter(None, (part.strip() for part in re.split("[,?]", bare))):
        kind, *references = item.lower().split(":")
        if is_number(kind):
            kind, references = "afterany", [kind, *references]  # the oldest form: a bare job number
        if kind == "singleton":
            kept.append(kind)
            continue
        good = []
        for reference in references:
            match = _REFERENCE.fullmatch(reference)
            if kind not in _KINDS or match is None:
                strange += 1
            elif not is_known(int(match[1])):
                gone += 1
            else:
                task = match[2] if is_number(match[2][1:]) else ""
                good.append(match[1] + task + match[3])
        if good:
            kept.append(":".join([kind, *good]))
        elif not references:
            strange += 1
    return Cleaned(joint.join(kept), gone, strange)


def referenced_jobs(expression: str) -> list[int]:
    """Return job numbers a (cleaned) dependency expression waits for; ``afterok:12_3`` names 12."""
    return [int(m[1]) for item in re.split("[,?]", expression) for m in _REFERENCE.finditer(item.partition(":")[2])]


def first_in_a_loop(job: IntColumn, depends: IntColumn) -> int | None:
    """Row of a job that waits for itself through `depends` (a job number, -1: none); None if no job does.

    Notes
    -----
    O(n log n): every row's predecessor is followed 1, 2, 4, … steps; who never reaches an end is on or behind a loop.
    """
    n = len(job)
    order = np.argsort(job)
    target = np.full(n + 1, n, np.intp)
    waits = np.flatnonzero(depends > 0)
    places = np.minimum(np.searchsorted(job[order], depends[waits]), max(n - 1, 0))
    found = job[order[places]] == depends[waits]
    target[waits[found]] = order[places[found]]
    jump = target.copy()
    for _ in range(max(n, 1).bit_length()):
        jump = jump[jump]
    endless = np.flatnonzero(jump[:n] != n)
    if not len(endless):
        return None
    on_loop: set[int] = set(jump[endless].tolist())  # 2^k >= n steps end on the loop itself
    for start in sorted(on_loop):
        node = int(target[start])
        while node not in on_loop:
            on_loop.add(node)
            node = int(target[node])
    return min(on_loop)


def waiting_for_itself(workload: Workload) -> int | None:
    """Return the number of a job or array on or behind a loop of `dependency` expressions, or None."""
    column = workload.texts["dependency"]
    used = [referenced_jobs(text) for text in column.values]
    if not any(used):
        return None
    array = workload.ints["array_job_id"]
    number = np.where(array > 0, array, workload.ints["job_id"])
    graph: dict[int, set[int]] = {}
    for row in np.flatnonzero(column.codes).tolist():
        graph.setdefault(int(number[row]), set()).update(used[column.codes[row]])
    return loop_in_graph(graph)


def loop_error(job: int, path: Path, field: str) -> WorkloadError:
    """Return what to raise about a loop `job` is on or behind."""
    return WorkloadError(
        f"job {job} waits for itself through its dependencies",
        file=str(path),
        field=field,
        expected="no circular dependencies",
    )


def loop_in_graph(waits_for: Mapping[int, Collection[int]]) -> int | None:
    """Return the smallest node of a directed graph that lies on or behind a loop; None for a graph without loops.

    Kahn's algorithm: nodes without remaining successors are taken away until none is left or nothing moves.
    """
    open_count = {node: sum(1 for t in set(targets) if t in waits_for) for node, targets in waits_for.items()}
    waiting: dict[int, list[int]] = {}
    for node, targets in waits_for.items():
        for target in set(targets):
            waiting.setdefault(target, []).append(node)
    ready = [node for node, count in open_count.items() if count == 0]
    while ready:
        for node in waiting.pop(ready.pop(), ()):
            open_count[node] -= 1
            if open_count[node] == 0:
                ready.append(node)
    stuck = [node for node, count in open_count.items() if count > 0]
    return min(stuck) if stuck else None
