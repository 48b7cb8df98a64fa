"""JSON from files, with one kind of error for whatever is wrong with it."""

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Return what `text` says.

    Raises
    ------
    ValueError
        It is no JSON, a number in it has more digits than Python reads, or it is nested too deeply: the standard
        module raises RecursionError for the last, which no reader of files expects. Bytes that are no UTF-8, too.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
