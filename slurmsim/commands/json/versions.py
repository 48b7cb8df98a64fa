"""Which data_parser versions a release has, and tables of fields that tell in which of them a field is there."""

from __future__ import annotations

from slurmsim.commands.text.messages import Stop
from slurmsim.fast_imports import NamedTuple
from slurmsim.records import FIRST, LAST
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.records import Field as Row

    Record = dict[str, Any]
    Number = Record  # one that may be unset or without end: `set`, `infinite`, `number`

SERVED: dict[str, tuple[int, ...]] = {
    "22.05": (), "23.11": (40,), "24.05": (41, 40), "24.11": (42, 41, 40), "25.05": (43, 42, 41, 40),
    "25.11": (44, 43, 42, 41), "26.05": (45, 44, 43, 42),
}  # fmt: skip
"""Release -> minor numbers of the versions it is asked in here, its own first; ``v0.0.42`` is 42. Read by `served`."""
OF_JOBS = 42  # from this version on jobs of the database are modelled, too; nothing older of them was recorded
LISTED = {
    "23.11": (40, 39), "24.05": (41, 40, 39), "24.11": (42, 40, 41), "25.05": (43, 42, 41, 40),
    "25.11": (44, 43, 42, 41), "26.05": (43, 42, 45, 44),
}  # fmt: skip
"""Release -> those ``--json=list`` names, in its order; that of 24.11 and 26.05 was recorded."""


class Field(NamedTuple):
    """A key of a record: how its value is made of which fields of the daemon's, and in which versions it is there."""

    key: str
    make: Callable[..., Any]
    needs: tuple[str, ...]
    first: int
    last: int


def served(release: str) -> tuple[int, ...]:
    """Minor numbers of the versions that `release` serves, its own first; a newer release inherits them.

    >>> served("22.05"), served("25.05"), served("26.05")
    ((), (43, 42, 41, 40), (45, 44, 43, 42))
    """
    found: tuple[int, ...] = row(SERVED, release)
    return found


def field(key: str, make: Callable[..., Any], *needs: str, first: int = FIRST, last: int = LAST) -> Field:
    """Return a row of a table; without `needs` the value is made of the daemon's field of the same name."""
    constant = isinstance(make, Always)
    return Field(key, make, () if constant else needs or (key,), first, last)


def needed(table: Sequence[Field]) -> list[str]:
    """Return the daemon's fields that a table is made of."""
    return sorted({name for row in table for name in row.needs})


def record(table: Sequence[Field], values: Record, version: int) -> Record:
    """One record, of what the daemon told.

    >>> record([field("a", str, "x"), field("b", str, "x", first=44)], {"x": 1}, 42)
    {'a': '1'}
    """
    return {
        one.key: one.make(*(values[name] for name in one.needs)) for one in table if one.first <= version <= one.last
    }


def rows(answer: Record, fields: Iterable[str]) -> list[Record]:
    columns = answer["columns"]
    return [{name: columns[name][k] for name in fields} for k in range(answer["n"])]


def placed(
    rows: Sequence[Row], makers: Mapping[str, Callable[..., Any]], composed: Mapping[str, Sequence[Field]]
) -> tuple[Field, ...]:
    """Return the table of a record: its rows that have a place in the document, each made as its kind is.

    Parameters
    ----------
    rows
        The fields of the noun, from `slurmsim.records`.
    makers
        How values of a kind are written.
    composed
        Place -> what stands before it and is made of other fields; of the same place: what stands there instead.

    Raises
    ------
    KeyError
        What is composed has no place: no row has it.
    """
    lost = composed.keys() - {known.json for known in rows}
    if lost:
        raise KeyError(*sorted(lost))
    found: list[Field] = []
    for known in rows:
        before = composed.get(known.json, ()) if known.json else ()
        found += before
        if known.json and all(one.key != known.json for one in before):
            found.append(Field(known.json, makers[known.kind], (known.name,), known.first, known.last))
    return tuple(found)


def nested(flat: Record) -> Record:
    """Return a flat record as nested objects; its keys are paths with dots.

    >>> nested({"name": "a", "maximums.nodes": 1, "maximums.time": 2})
    {'name': 'a', 'maximums': {'nodes': 1, 'time': 2}}
    """
    found: Record = {}
    for place, value in flat.items():
        *outer, inner = place.split(".")
        here = found
        for part in outer:
            here = here.setdefault(part, {})
        here[inner] = value
    return found


def name(version: int) -> str:
    """``data_parser/v0.0.42``."""
    return f"data_parser/v0.0.{version}"


# -- values ----------------------------------------------------------------------------------------------------------


def number(value: int | float | None, *, infinite: bool = False) -> Number:
    """Return a number that may be unset or without end."""
    return {"set": value is not None and not infinite, "infinite": infinite, "number": value or 0}


def limit(value: int | None) -> Number:
    """Return a number, without end where there is none."""
    return number(value, infinite=value is None)


def at_least_zero(value: int | None) -> Number:
    """Return a number that is always set."""
    return number(value or 0)


def text(value: object) -> str:
    """Return a text, empty where there is none."""
    return "" if value is None else str(value)


def count(value: int | None) -> int:
    """Return a plain number, 0 where there is none."""
    return int(value or 0)


def truth(value: object) -> bool:
    return bool(value)


def words(value: str | None) -> list[str]:
    return [word for word in (value or "").split(",") if word]


class Always:
    """A maker that always returns the same value, which must not be changed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


always = Always


# -- which one was asked for -----------------------------------------------------------------------------------------

BY_PLACE = 44  # from this version on licenses come in the order of slurm.conf; they came by name


def chosen(command: str, told: str | None, release: str, io: Io) -> int:
    """Return the version that ``--json=TOLD`` asks for. Prints and raises Stop for ``list`` and unknown ones."""
    own = served(release)[0]
    told = told or name(own)
    if told == "list":
        io.error("Possible data_parser plugins:")
        io.out("".join(f"{name(version)}\n" for version in row(LISTED, release)))
        raise Stop(0)
    plugin, plus, flags = told.removeprefix("data_parser/").partition("+")
    if plus and flags:
        io.error(f"{command}: error: data_parser flags are not modelled: +{flags}")
        raise Stop(1)
    known = {f"v0.0.{version}": version for version in served(release)}
    if plugin in known and command == "sacct" and known[plugin] < OF_JOBS:
        but = f"; {name(own)} is" if own >= OF_JOBS else ""
        io.error(f"{command}: error: data_parser/{plugin} is not modelled of the database{but}")
        raise Stop(1)
    if plugin in known:
        return known[plugin]
    if plugin in (f"v0.0.{version}" for version in row(LISTED, release)):
        io.error(f"{command}: error: data_parser/{plugin} is not modelled; {name(own)} is")
        raise Stop(1)
    io.error(f"{command}: error: load_plugins: unable to find plugin: data_parser/{plugin}")
    io.error(
        f"{command}: error: data_parser_g_new: failure loading plugins: "
        "Plugin has invalid format or unable to be loaded"
    )
    io.error(f"{command}: error: application/json output not supported by {name(own)}")
    raise Stop(1)


def rows_of_job(jobs: list[Record], task: str) -> list[Record]:
    """Those of an array's jobs that are the task of that number; all where none is named."""
    if not task:
        return jobs
    return [job for job in jobs if job["array_task_id"]["set"] and str(job["array_task_id"]["number"]) == task]
