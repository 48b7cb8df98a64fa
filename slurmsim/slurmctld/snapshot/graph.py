"""A graph of objects as plain data: tables of columns, one for each kind of record, with references by number.

Plain are None, booleans, numbers and texts. Everything else is a list that begins with a word:

- ``["i", hex]`` a large integer, ``["t", …]`` a tuple, ``["f", …]`` a frozen set, ``["b", base64]`` bytes,
  ``["n", dtype, value]`` a NumPy number,
- ``["o", kind, number]`` a record or container of a table, ``["p", name]`` a part of the engine,
- ``["m", owner, name]`` a method of a part or record, ``["-"]`` an attribute that is not set,
- ``["s", …]`` what a table of special kinds writes and reads itself.

Kinds have names of their own: a class may be renamed, and its module moved, without any snapshot noticing.
"""

import base64
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from types import BuiltinMethodType, MethodType
from typing import Any

import numpy as np

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import InvariantError, WorkloadError

LARGE = 1 << 128  # integers from here on are written in hexadecimal: Python reads decimal ones in quadratic time
_SIMPLE = frozenset({type(None), bool, str, float})
_PLAIN = _SIMPLE | {int}
_CONTAINERS: dict[type, str] = {
    list: "list", dict: "dict", set: "set", deque: "deque", defaultdict: "defaultdict", Counter: "Counter",
    np.ndarray: "array",
}  # fmt: skip
_FACTORIES: dict[Any, str] = {int: "int", list: "list", set: "set", dict: "dict", float: "float", deque: "deque"}
_UNSET: Any = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record."""

    name: str  # in snapshots, for ever
    cls: type  # the class, today
    fields: tuple[str, ...]  # attributes that are state
    # attributes that are not, with what makes their value in a restored record
    reset: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    # values of attributes that a snapshot may lack, because it is older than they are
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Special:
    """A class with instances that are written as a key and found again by it, after all else has been restored."""

    name: str
    cls: type
    key: Callable[[Any], tuple[Any, ...]]
    find: Callable[..., Any]


class Encoder:
    """Writes a graph.

    Parameters
    ----------
    kinds
        All kinds of records there may be.
    parts
        What is there anyway, by name; it is referred to, not written.
    specials
        What is written as a key.
    """

    def __init__(self, kinds: Iterable[Kind], parts: Mapping[str, object], specials: Iterable[Special] = ()) -> None:
        self._kinds = {kind.cls: kind for kind in kinds}
        self._parts = {id(part): name for name, part in parts.items()}
        self._specials = {special.cls: special for special in specials}
        self._number: dict[int, tuple[str, int]] = {}
        self._kept: list[object] = []  # methods make owners on the fly: nothing may go while ids count
        self._counts: Counter[str] = Counter()
        self._todo: dict[str, list[Any]] = {}

    def value(self, value: Any) -> Any:
        """`value` as plain data; records it refers to wait for `chunks`."""
        kind = type(value)
        if kind in _SIMPLE:
            return value
        if kind is int:
            return value if -LARGE < value < LARGE else ["i", format(value, "x")]
        if kind is tuple:
            return ["t", *map(self.value, value)]
        if kind is frozenset:
            return ["f", *sorted(map(self.value, value), key=repr)]
        if id(value) in self._parts:
            return ["p", self._parts[id(value)]]
        if kind in self._kinds or kind in _CONTAINERS:
            return ["o", *self._refer(value)]
        return self._rare(value)

    def _rare(self, value: Any) -> Any:
        if value is _UNSET:
            return ["-"]
        if isinstance(value, bytes):
            return ["b", base64.b64encode(value).decode()]
        if isinstance(value, np.generic):
            return ["n", value.dtype.str, value.item()]
        if isinstance(value, MethodType | BuiltinMethodType) and value.__self__ is not None:
            return ["m", self.value(value.__self__), value.__name__]
        special = self._specials.get(type(value))
        if special is not None:
            return ["s", special.name, *map(self.value, special.key(value))]
        raise InvariantError(f"a snapshot cannot hold {type(value).__module__}.{type(value).__qualname__}")

    def _refer(self, value: Any) -> tuple[str, int]:
        found = self._number.get(id(value))
        if found is None:
            record = self._kinds.get(type(value))
            name = record.name if record is not None else _CONTAINERS[type(value)]
            found = self._number[id(value)] = name, self._counts[name]
            self._counts[name] += 1
            self._todo.setdefault(name, []).append(value)
            self._kept.append(value)
        return found

    def chunks(self) -> Iterator[dict[str, Any]]:
        """All records and containers that have been referred to, and what these refer to, a table at a time."""
        while self._todo:
            name = next(iter(self._todo))
            found = self._todo.pop(name)
            record = self._kinds.get(type(found[0]))
            if record is not None:
                yield {"kind": name, "n": len(found), "columns": self._columns(record, found)}
            elif name == "dict":
                alike, others = _by_keys(found)
                yield {
                    "kind": name, "n": len(found),
                    "alike": [self._table(keys, places, found) for keys, places in alike.items()],
                    "at": others, "items": [self._contents(found[at]) for at in others],
                }  # fmt: skip
            else:
                yield {"kind": name, "n": len(found), "items": [self._contents(one) for one in found]}

    def _columns(self, kind: Kind, found: list[Any]) -> dict[str, Any]:
        return {name: self.column(_attributes(found, name)) for name in kind.fields}

    def column(self, values: Sequence[Any]) -> dict[str, Any]:
        """Many values: ``=`` all alike, ``v`` plain ones, ``k`` and ``v`` records of one kind, ``x`` any."""
        types = set(map(type, values))
        if types <= _PLAIN and (
            int not in types or all(type(value) is not int or -LARGE < value < LARGE for value in values)
        ):
            if len(types) == 1 and (values[0] is None or all(value == values[0] for value in values)):
                return {"=": values[0]}
            return {"v": list(values)}
        others = types - {type(None)}
        record = self._kinds.get(next(iter(others))) if len(others) == 1 else None
        if record is not None and not any(id(value) in self._parts for value in values):
            refer = self._refer
            return {"k": record.name, "v": [None if value is None else refer(value)[1] for value in values]}
        return {"x": [self.value(value) for value in values]}

    def _table(self, keys: tuple[str, ...], places: list[int], found: list[dict[Any, Any]]) -> dict[str, Any]:
        values = zip(*(found[at].values() for at in places), strict=True)
        return {"at": places, "keys": list(keys), "columns": [self.column(column) for column in values]}

    def _contents(self, container: Any) -> Any:
        if isinstance(container, dict):
            found: dict[str, Any] = {
                "n": len(container), "keys": self.column(list(container)), "values": self.column([*container.values()]),
            }  # fmt: skip
            if isinstance(container, defaultdict):
                found["factory"] = _FACTORIES[container.default_factory]
            return found
        if isinstance(container, np.ndarray):
            if container.dtype == object:
                raise InvariantError("a snapshot cannot hold an array of objects")
            data = np.ascontiguousarray(container)
            return {
                "dtype": data.dtype.str,
                "shape": list(data.shape),
                "data": base64.b64encode(data.tobytes()).decode(),
            }
        if isinstance(container, set):
            return {"n": len(container), "x": sorted(map(self.value, container), key=repr)}
        found = {"n": len(container), **self.column(container)}
        if isinstance(container, deque) and container.maxlen is not None:
            found["maxlen"] = container.maxlen
        return found


def _attributes(found: list[Any], name: str) -> list[Any]:
    try:
        return list(map(attrgetter(name), found))
    except AttributeError:  # a slot that is not filled yet
        return [getattr(one, name, _UNSET) for one in found]


def _by_keys(found: list[dict[Any, Any]]) -> tuple[dict[tuple[str, ...], list[int]], list[int]]:
    """Dictionaries that have their keys in common with others, as requests have, and all others; by place."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    others = []
    for at, one in enumerate(found):
        if one and all(type(key) is str for key in one):
            groups.setdefault(tuple(one), []).append(at)
        else:
            others.append(at)
    return groups, others


class Decoder:
    """Reads what an `Encoder` wrote.

    Parameters
    ----------
    parts
        What is there anyway, by name, newly made.
    """

    def __init__(self, kinds: Iterable[Kind], parts: Mapping[str, object], specials: Iterable[Special] = ()) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._parts = parts
        self._specials = {special.name: special for special in specials}
        self._objects: dict[str, list[Any]] = {}
        self._chunks: list[tuple[dict[str, Any], int]] = []  # with the number of the first of each
        self._late: list[tuple[object, str, list[Any]]] = []

    def add(self, chunk: dict[str, Any]) -> None:
        """Add one table; all have to be here before anything is read. Raises WorkloadError for an unknown kind."""
        name, n = chunk["kind"], chunk["n"]
        made = self._objects.setdefault(name, [])
        kind = self._kinds.get(name)
        if kind is not None:
            cls: Any = kind.cls
            made += [cls.__new__(cls) for _ in range(n)]
        else:
            made += [{} for _ in range(n)] if name == "dict" else [_empty(name, item) for item in chunk["items"]]
        self._chunks.append((chunk, len(made) - n))

    def records(self, kind: str) -> list[Any]:
        """All records of a kind, in the order of their numbers."""
        return self._objects.get(kind, [])

    def bind(self, value: Any, present: Any) -> None:
        """`present` is to become the container that `value` refers to, if it is one of that kind."""
        if isinstance(value, list) and value and value[0] == "o" and _CONTAINERS.get(type(present)) == value[1]:
            here = self._objects[value[1]]
            if isinstance(present, np.ndarray):
                if present.shape != here[value[2]].shape or present.dtype != here[value[2]].dtype:
                    return
                present[...] = here[value[2]]
            else:
                present.clear()
            here[value[2]] = present

    def fill(self) -> None:
        """Give all records and containers their contents."""
        for chunk, first in self._chunks:
            kind = self._kinds.get(chunk["kind"])
            if kind is not None:
                self._fill_records(kind, chunk, first)
        for chunk, first in self._chunks:
            made = self._objects[chunk["kind"]]
            if "alike" in chunk:
                self._fill_alike(made, chunk["alike"], first)
            if chunk["kind"] not in self._kinds:
                for at, item in zip(chunk.get("at", range(chunk["n"])), chunk["items"], strict=True):
                    self._fill_container(made[first + at], item)

    def finish(self) -> None:
        """Find what was written as a key: everything else is there."""
        for holder, name, (_, special, *key) in self._late:
            object.__setattr__(holder, name, self._specials[special].find(*map(self.value, key)))

    def _fill_records(self, kind: Kind, chunk: dict[str, Any], first: int) -> None:
        made = self._objects[kind.name][first : first + chunk["n"]]
        put, columns = object.__setattr__, chunk["columns"]
        unknown = columns.keys() - {*kind.fields, *kind.reset} if kind.defaults else set()
        if unknown:
            raise WorkloadError(f"the snapshot has {', '.join(sorted(unknown))} of a {kind.name}",
                                expected="a snapshot of this version of slurmsim or of an older one")  # fmt: skip
        for name in kind.fields:
            lacking = name in kind.defaults and name not in columns
            column = {"=": kind.defaults[name]} if lacking else columns[name]
            if "later" in column:  # `upgrades` makes it of other records
                continue
            if "=" in column:
                _all(map(put, made, repeat(name), repeat(column["="])))
            elif "x" in column:
                for one, coded in zip(made, column["x"], strict=True):
                    if isinstance(coded, list) and coded[0] in ("-", "s"):
                        if coded[0] == "s":
                            self._late.append((one, name, coded))
                    else:
                        put(one, name, self.value(coded))
            else:
                values = self.column(column, chunk["n"])
                if len(values) != len(made):
                    raise WorkloadError(f"the snapshot has {len(values)} {name} of {len(made)} {kind.name}")
                _all(map(put, made, repeat(name), values))
        for name, make in kind.reset.items():
            _all(map(put, made, repeat(name), (make() for _ in made)))

    def _fill_alike(self, made: list[Any], groups: list[dict[str, Any]], first: int) -> None:
        for group in groups:
            places, columns = group["at"], group["columns"]
            rows = zip(*(self.column(column, len(places)) for column in columns), strict=True)
            for at, row in zip(places, rows, strict=True):
                made[first + at].update(zip(group["keys"], row, strict=True))

    def column(self, column: dict[str, Any], n: int) -> list[Any]:
        if "=" in column:
            return [column["="]] * n
        if "k" in column:
            made = self._objects.get(column["k"], [])
            return [None if at is None else made[at] for at in column["v"]]
        if "v" in column:
            values: list[Any] = column["v"]
            return values
        return [self.value(value) for value in column["x"]]

    def _fill_container(self, container: Any, item: Any) -> None:
        if isinstance(container, np.ndarray):
            return
        if isinstance(container, dict):
            n = item["n"]
            pairs = zip(self.column(item["keys"], n), self.column(item["values"], n), strict=True)
            dict.update(container, pairs)  # a counter's own would count the pairs
        elif isinstance(container, set):
            container.update(self.column(item, item["n"]))
        else:
            container.extend(self.column(item, item["n"]))

    def value(self, coded: Any) -> Any:
        """Return the value that was written as `coded`."""
        if type(coded) is not list:
            return coded
        word = coded[0]
        if word == "o":
            return self._objects[coded[1]][coded[2]]
        if word == "t":
            return tuple([self.value(one) for one in coded[1:]])
        if word == "p":
            return self._parts[coded[1]]
        if word == "i":
            return int(coded[1], 16)
        if word == "f":
            return frozenset([self.value(one) for one in coded[1:]])
        if word == "b":
            return base64.b64decode(coded[1])
        if word == "n":
            return np.dtype(coded[1]).type(coded[2])
        if word == "m":
            return getattr(self.value(coded[1]), coded[2])
        raise WorkloadError(f"a snapshot says {word!r}", expected="a word this version knows")


def _all(calls: Iterable[Any]) -> None:
    """Make all these calls, in C."""
    deque(calls, maxlen=0)


def _empty(name: str, item: Any) -> Any:
    if name == "array":
        data = np.frombuffer(base64.b64decode(item["data"]), np.dtype(item["dtype"]))
        return data.reshape(item["shape"]).copy()
    if name == "deque":
        return deque(maxlen=item.get("maxlen"))
    if name == "defaultdict":
        return defaultdict(next(made for made, word in _FACTORIES.items() if word == item["factory"]))
    for made, word in _CONTAINERS.items():
        if word == name:
            return made()
    raise WorkloadError(f"a snapshot holds {name!r}", expected="a kind this version knows")
