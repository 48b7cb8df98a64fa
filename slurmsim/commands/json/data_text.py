"""JSON and YAML as Slurm 22.05 writes them: two blanks a level, escaped slashes, tagged YAML.

A text that is NULL in Slurm is "" in JSON but null in YAML; `NO_TEXT` stands for it.
"""

from __future__ import annotations

import json

from slurmsim.fast_imports import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _NoText:
    """The type of `NO_TEXT`."""

    __slots__ = ()


NO_TEXT = _NoText()


def as_json(value: Any, brief: bool = False) -> str:
    """Return the document without a newline at its end; `brief`: nothing within empty brackets, as from 24.11."""
    return _json(value, "\n", brief)


def _json(value: Any, indent: str, brief: bool) -> str:
    deeper = indent + "  "
    if brief and value in ({}, []):
        return "{}" if value == {} else "[]"
    if isinstance(value, dict):
        if not value:
            return f"{{{indent}}}"
        parts = [f"{_json_text(key)}: {_json(item, deeper, brief)}" for key, item in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(parts)}{indent}}}"
    if isinstance(value, list):
        if not value:
            return f"[{indent}]"
        return f"[{deeper}{f',{deeper}'.join(_json(item, deeper, brief) for item in value)}{indent}]"
    if value is NO_TEXT:
        return '""'
    if isinstance(value, str):
        return _json_text(value)
    return json.dumps(value)


def _json_text(text: str) -> str:
    return json.dumps(as_unicode(text), ensure_ascii=False).replace("/", "\\/")


def as_unicode(text: str) -> str:
    """`text` with U+FFFD for bytes that are no UTF-8: Slurm writes those as they are, and no parser takes that."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


_PLAIN = pattern(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`](?:[^\n:#]|:(?=\S)|(?<=\S)#)*")
_CONTROL = pattern(r"[\x00-\x08\x0a-\x1f\x7f\\]")


def as_yaml(value: Any, brief: bool = False) -> str:
    """Return the document, each key and value with its tag; `brief`: nothing for an empty text, as from 24.11."""
    text = f"%YAML 1.1\n--- !!map\n{''.join(_yaml_map(value, ''))}...\n"
    return text.replace(" !!str ''\n", " !!str\n") + "\n" if brief else text


def _yaml_map(value: dict[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, item in value.items():
        lines.extend(_yaml_item(f"{indent}!!str {_yaml_text(str(key))}:", item, indent))
    return lines


def _yaml_item(head: str, item: Any, indent: str) -> list[str]:
    """Return a key or a dash with what belongs to it. Lists are not indented below their key."""
    if isinstance(item, dict):
        if not item:
            return [f"{head} !!map {{}}\n"]
        return [f"{head} !!map\n", *_yaml_map(item, indent + "  ")]
    if isinstance(item, list):
        if not item:
            return [f"{head} !!seq []\n"]
        lines = [f"{head} !!seq\n"]
        for one in item:
            lines.extend(_yaml_item(f"{indent}-", one, indent))
        return lines
    return [f"{head} {_yaml_scalar(item)}\n"]


def _yaml_scalar(item: Any) -> str:
    if item is None or item is NO_TEXT:
        return "!!null null"
    if isinstance(item, bool):
        return f"!!bool {'true' if item else 'false'}"
    if isinstance(item, int):
        return f"!!int {item}"
    if isinstance(item, float):
        return f"!!float {item:f}"
    return f"!!str {_yaml_text(item)}"


def _yaml_text(text: str) -> str:
    text = as_unicode(text)
    if _PLAIN.fullmatch(text) and not text.endswith((" ", ":")) and not _CONTROL.search(text):
        return text
    if not _CONTROL.search(text.replace("\\", "")):
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)
