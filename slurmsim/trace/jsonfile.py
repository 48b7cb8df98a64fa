"""JSON as slurmsim writes it, same object, same bytes, and nothing a strict parser refuses; and read back."""

import json
import math
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from slurmsim.errors import WorkloadError
from slurmsim.input_file import read_text
from slurmsim.json_text import loads


def read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object in `file`.

    Raises
    ------
    WorkloadError
        It cannot be read, is not JSON, or not an object.
    """
    try:
        found = loads(read_text(file))
    except OSError as error:
        raise WorkloadError(f"cannot read: {error.strerror}", file=str(file)) from error
    except ValueError as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise WorkloadError(f"not valid JSON: {lines[0]}", file=str(file)) from error
    if not isinstance(found, dict):
        raise WorkloadError("not a JSON object", file=str(file))
    return found


def to_json(obj: Any) -> str:
    """`obj` as indented JSON text ending in a newline; NaN and infinities become null.

    Keys stay in the order given. NumPy scalars and arrays, paths, tuples and sets (sorted) are understood.

    Raises
    ------
    TypeError
        Something JSON cannot hold.
    """
    return json.dumps(plain(obj), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(obj: Any) -> Any:
    """`obj` made of dict, list, str, int, float, bool and None only."""
    if obj is None or isinstance(obj, bool):
        return obj
    if isinstance(obj, str):
        return str(obj)
    if isinstance(obj, int):
        return int(obj)
    if isinstance(obj, float):
        return float(obj) if math.isfinite(obj) else None
    if isinstance(obj, Mapping):
        return {str(k): plain(v) for k, v in obj.items()}
    if isinstance(obj, (set, frozenset)):
        return [plain(v) for v in sorted(obj)]
    if isinstance(obj, (list, tuple)):
        return [plain(v) for v in obj]
    if isinstance(obj, PurePath):
        return str(obj)
    if hasattr(obj, "tolist"):  # NumPy scalars and arrays
        return plain(obj.tolist())
    raise TypeError(f"cannot write a {type(obj).__name__} as JSON")
