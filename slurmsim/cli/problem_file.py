"""A problem in a file of its own: TOML, or JSON in a file that ends in .json."""

from pathlib import Path
from typing import Any

from slurmsim.errors import InputError
from slurmsim.input_file import read_text
from slurmsim.json_text import loads
from slurmsim.toml_file import parse_toml


def read_problem(path: Path, expected: str) -> dict[str, Any]:
    """Return the table in `path`. Raises InputError; `expected` names the keys of such a table."""
    try:
        text = read_text(path)
        data = loads(text) if path.suffix == ".json" else parse_toml(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8", file=str(path)) from None
    except ValueError as error:
        raise InputError(" ".join(str(error).split()), file=str(path), expected="TOML, or JSON in .json") from None
    if not isinstance(data, dict):
        raise InputError("is no table", file=str(path), expected=expected)
    return data
