"""YAML as Slurm's serializer reads it: one document, no aliases, keys are texts, 64 levels (serializer_yaml.c, 26.05).

Its scalars are what YAML 1.1 says of null, booleans and numbers; dates, minutes of an hour and everything else are
texts.
"""

import time
from collections.abc import Iterator
from typing import Any

MOST_DEPTH = 64
MOST_SECONDS = 5.0  # processor time for reading one text
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map"))
_TEXT = "tag:yaml.org,2002:str"
_LONGEST_NUMBER = 64


class Unreadable(ValueError):
    """A text is not what it is said to be, or goes beyond a bound."""


def read_yaml(body: bytes, seconds: float = MOST_SECONDS) -> Any:
    """Return the value of a YAML text of one document, None for an empty one. Raises Unreadable.

    It is built event by event: a parser's own tree would be as deep, and its merges as large, as a stranger wants.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Tree(_timely(yaml.parse(body.decode("utf-8"), Loader=loader), seconds)).value
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def _timely(events: Iterator[Any], seconds: float) -> Iterator[Any]:
    last = time.thread_time() + seconds
    for event in events:
        if time.thread_time() > last:
            raise Unreadable(f"it takes more than {seconds:g} s to read")
        yield event


class _Tree:
    """The value that parser events describe."""

    def __init__(self, events: Iterator[Any]) -> None:
        import yaml

        self._resolver = yaml.resolver.Resolver()
        self._constructor = yaml.constructor.SafeConstructor()
        self.value: Any = None
        self._open: list[list[Any] | dict[str, Any]] = []
        self._keys: list[str | None] = []  # for each open mapping, the key of the value that comes next
        self._documents = 0
        for event in events:
            self._take(event)

    def _take(self, event: Any) -> None:
        import yaml

        if isinstance(event, yaml.ScalarEvent):
            self._put(self._scalar(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag not in (None, "!") and event.tag not in _PLAIN_TAGS:
                raise Unreadable(f"unknown tag {event.tag}")
            made: list[Any] | dict[str, Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._put(made)
            self._open.append(made)
            self._keys.append(None)
            if len(self._open) > MOST_DEPTH:
                raise Unreadable(f"more than {MOST_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._keys.pop()
        elif isinstance(event, yaml.AliasEvent):
            raise Unreadable("aliases are not supported")
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise Unreadable("more than one document")

    def _put(self, value: Any) -> None:
        if not self._open:
            self.value = value
        elif isinstance(inner := self._open[-1], list):
            inner.append(value)
        elif (key := self._keys[-1]) is not None:
            inner[key] = value
            self._keys[-1] = None
        elif isinstance(value, (list, dict)):
            raise Unreadable("a key is a text")
        else:
            self._keys[-1] = self._text

    def _scalar(self, event: Any) -> Any:
        import yaml

        self._text = str(event.value)
        tag = event.tag
        if tag in (None, "!"):
            tag = self._resolver.resolve(yaml.ScalarNode, self._text, event.implicit)
            if tag not in _PLAIN_TAGS or len(self._text) > _LONGEST_NUMBER or ":" in self._text:
                tag = _TEXT
        if tag not in _PLAIN_TAGS:
            raise Unreadable(f"unknown tag {tag}")
        if tag == _TEXT:
            return self._text
        try:
            return self._constructor.construct_object(yaml.ScalarNode(tag, self._text))
        except (ValueError, KeyError, IndexError) as error:  # "!!int x", "!!bool 7"
            raise Unreadable(str(error)) from None
