"""JSON without what the standard module loads beside it: `json` brings `re`, which takes as long as Python's own start.

The accelerators are CPython's own, the ones `json` uses itself; where they are missing or other than expected, `json`
does the work. Same texts, same values, same errors.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANKS = " \t\n\r"


class _Rules:
    """What the scanner asks of a ``json.JSONDecoder``."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    memo: dict[str, str] = {}  # noqa: RUF012  (the scanner's own, emptied after each call)

    @staticmethod
    def parse_constant(name: str) -> float:
        """``NaN`` and its like, as `json` takes them."""
        return float(name.replace("Infinity", "inf"))


def _refuse(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

    _encode = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, True)
    _encode_ascii = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, True)
    _scan = make_scanner(_Rules())  # type: ignore[arg-type]
    _own = "".join(_encode([1, "é"], 0)) == '[1,"é"]' and _scan('[1,"é"]', 0) == ([1, "é"], 7)
except (ImportError, TypeError):
    _own = False


def dumps(value: Any) -> str:
    """`value` as compact JSON, characters beyond ASCII as they are. Raises TypeError and ValueError as `json` does."""
    if not _own:
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(_encode(value, 0))


def dumps_ascii(value: Any) -> str:
    """Return `value` as compact JSON of ASCII characters. Raises TypeError and ValueError as `json` does."""
    if not _own:
        import json

        return json.dumps(value, separators=(",", ":"))
    return "".join(_encode_ascii(value, 0))


def loads(text: str) -> Any:
    """Return what `text` says. Raises ValueError where it is no JSON, or nested too deeply."""
    text = text.strip(_BLANKS)
    try:
        value, end = _scan(text, 0) if _own else _standard(text)
    except StopIteration:
        raise ValueError("no JSON value") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if end != len(text):
        raise ValueError(f"more than one JSON value: character {end}")
    return value


def _standard(text: str) -> tuple[Any, int]:
    import json

    return json.loads(text), len(text)
