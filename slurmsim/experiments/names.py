"""Lists of names on the command lines of experiments."""

from collections.abc import Sequence

from slurmsim.errors import ConfigError


def parse_names(text: str, known: Sequence[str], option: str, what: str = "name") -> tuple[str, ...]:
    """Comma-separated names out of `known`, or ``all`` of them; `what` one is, for the error. Raises ConfigError."""
    if text == "all":
        return tuple(known)
    found = tuple(text.split(","))
    for name in found:
        if name not in known:
            raise ConfigError(f"unknown {what} {name!r}", field=option, expected="all, or of " + ", ".join(known))
    return found
