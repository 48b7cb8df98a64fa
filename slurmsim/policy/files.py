"""Files that options of policies name: read here, as policies themselves touch no files."""

from __future__ import annotations

import tomllib
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
