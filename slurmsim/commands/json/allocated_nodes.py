"""What a job has on its nodes, as OpenAPI documents up to v0.0.40 tell it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def numbers(text: str) -> frozenset[int]:
    """Return the numbers of a list of ranges.

    >>> sorted(numbers("0-2,5"))
    [0, 1, 2, 5]
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return frozenset(found)


def nodes_with_cores(rows: Iterable[list[Any]]) -> tuple[list[dict[str, Any]], int]:
    """Return its nodes, with the cores that it has by the numbers of their sockets; and how many cores these are.

    A row has what the daemon tells of a node: name, CPUs, MiB, CPUs and MiB of its steps, CPU numbers, sockets, cores
    a socket, threads a core.
    """
    found, n_cores = [], 0
    for name, _, mem, used, used_mem, ids, _sockets, cores, threads in rows:
        sockets: dict[str, Any] = {}
        for core in sorted({cpu // threads for cpu in numbers(ids)}):
            n_cores += 1
            sockets.setdefault(str(core // cores), {"cores": {}})["cores"][str(core % cores)] = "allocated"
        found.append({"sockets": sockets, "nodename": name, "cpus_used": used, "memory_used": used_mem,
                      "memory_allocated": mem})  # fmt: skip
    return found, n_cores
