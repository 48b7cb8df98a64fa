"""What ``--tres-per-task`` says beside GRES: whether it can be read, and the licenses of a job's tasks."""

from __future__ import annotations

from slurmsim.gres_counts import kind_of
from slurmsim.numerals import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


BAD_TRES = "Invalid Trackable RESource (TRES) specification"


def licenses_of_task(text: str) -> list[tuple[str, int]]:
    """Return the licenses each task holds. Raises ValueError if an item is no TRES of tasks.

    >>> licenses_of_task("cpu=2,gres/gpu:1,license/mat:2,license/flu")
    [('mat', 2), ('flu', 1)]
    """
    return list(_read(text))


def licenses_of_tasks(text: str, tasks: int) -> str:
    """Return the licenses that so many tasks hold, as a job asks for them; those that cannot be read count for nothing.

    >>> licenses_of_tasks("license/mat:2,cpu:1", 3)
    'mat=6'
    """
    try:
        found = licenses_of_task(text)
    except ValueError:
        return ""
    return ",".join(f"{name}={count * tasks}" for name, count in found if count)


def _read(text: str) -> Iterator[tuple[str, int]]:
    for item in filter(None, text.split(",")):
        kind = kind_of(item)
        name, _, count = item[len(kind) + 1 :].replace("=", ":").partition(":")
        if kind == "gres":
            continue
        if kind not in ("cpu", "license") or (kind == "cpu" and count) or (count and not is_number(count)):
            raise ValueError(f"{item!r} is no TRES of a task")
        if name.startswith("/"):
            raise ValueError(f"{item!r} has no name")
        if kind == "license" and name:
            yield name, int(count or 1)
