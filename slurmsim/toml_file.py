"""TOML files of users, for policies and workloads; an error is one line that names file and field.

A caller may choose where names are looked up (`texts_from`). The options of a policy in a slurm.conf name files beside
it, and a live cluster reads these files as they were when it began.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text

Texts = Callable[[str], str]


def _on_disk(name: str) -> str:
    return read_text(name)


_texts: ContextVar[Texts] = ContextVar("texts", default=_on_disk)


def beside(file: str | Path) -> Texts:
    """Texts of files that are named relative to another one."""
    folder = Path(file).parent
    return lambda name: _on_disk(str(folder / name))


@contextmanager
def texts_from(texts: Texts | None) -> Iterator[None]:
    """Within it `read_toml` takes the text of a name from `texts`, which may raise OSError; None changes nothing."""
    if texts is None:
        yield
        return
    token = _texts.set(texts)
    try:
        yield
    finally:
        _texts.reset(token)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises
    ------
    ValueError
        It is no TOML, has a number of more digits than Python reads, or brackets nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_toml(file: str, what: str) -> dict[str, Any]:
    """Return the tables of a TOML file, `what` it should hold being one phrase for messages.

    Raises
    ------
    ConfigError
        It cannot be read or is no TOML.
    """
    try:
        return parse_toml(_texts.get()(file))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file, expected=what) from None
    except ValueError as error:
        said = str(error).replace("Cannot overwrite a value", "a key is there twice")
        raise ConfigError(f"is no TOML: {said}", file=file, expected=what) from None


def only_keys(file: str, where: str, row: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Raise ConfigError for a key of `row` that is none of `keys`; `where` is put before it in the message."""
    for key in row:
        if key not in keys:
            raise ConfigError("unknown key", file=file, field=where + key, expected=", ".join(keys))


def whole_number(
    file: str, where: str, row: Mapping[str, Any], key: str, least: int, most: int = (1 << 62) - 1
) -> int | None:
    """Return the whole number of `key`, None if it is left out. Raises ConfigError unless in `least` to `most`."""
    value = row.get(key)
    if value is not None and (type(value) is not int or not least <= value <= most):
        large = type(value) is int and value > most
        expected = f"a whole number, at least {least}" + (f", at most {most:,}" if large else "")
        raise ConfigError(f"{value!r}", file=file, field=where + key, expected=expected)
    return value
