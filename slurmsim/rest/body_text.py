"""Bodies of requests from bytes to data: JSON here, YAML in `slurmsim.yaml_text`, within bounds of size and depth."""

import json
from typing import Any

from slurmsim.yaml_text import MOST_DEPTH, Unreadable

MOST_BODY = 16 << 20  # bytes of a body: as many as of a request to the daemon
MOST_TABLES = 1 << 20  # lists and dictionaries of a JSON body; brackets within texts count as well


def read_json(body: bytes) -> Any:
    """Return the value of a JSON text. Raises Unreadable."""
    tables = body.count(b"[") + body.count(b"{")
    if tables > MOST_TABLES:
        raise Unreadable("too many lists and dictionaries")
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    if tables > MOST_DEPTH:
        _check_depth(found)
    return found


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [one for values in inner for one in values if isinstance(one, (dict, list))]
        if not level:
            return
    raise Unreadable(f"more than {MOST_DEPTH} levels")
