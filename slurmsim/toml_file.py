"""TOML files of users, read for policies and workloads, with what is wrong in one line that names file and field."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError


def read_toml(file: str, what: str) -> dict[str, Any]:
    """The tables of a TOML file, `what` it should hold being one phrase for messages.

    Raises
    ------
    ConfigError
        It cannot be read or is no TOML.
    """
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file, expected=what) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"is no TOML: {error}", file=file, expected=what) from None


def only_keys(file: str, where: str, row: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Raises ConfigError for a key of `row` that is none of `keys`; `where` is put before it in the message."""
    for key in row:
        if key not in keys:
            raise ConfigError("unknown key", file=file, field=where + key, expected=", ".join(keys))


def whole_number(file: str, where: str, row: Mapping[str, Any], key: str, least: int) -> int | None:
    """The whole number of `key`, None where it is left out. Raises ConfigError unless it is `least` or more."""
    value = row.get(key)
    if value is not None and (type(value) is not int or not least <= value < 1 << 62):
        raise ConfigError(f"{value!r}", file=file, field=where + key, expected=f"a whole number, at least {least}")
    return value
