"""Faults from Python: what `Cluster.inject` gives back, and how its arguments are said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from slurmsim.errors import ConfigError, OutputError
from slurmsim.live.settings import seconds_of

Call = Callable[..., dict[str, Any]]
_WHOLE = ("for", "up", "down")


class Fault:
    """A fault that was injected; a context manager that ends it.

    Parameters
    ----------
    call
        Asks the daemon: (name of the request, its arguments) -> the answer.
    rule
        The rule as the daemon has it.
    """

    def __init__(self, call: Call, rule: Mapping[str, Any]) -> None:
        self._call = call
        self._last = dict(rule)
        self.id = int(rule["id"])  # its number, as ``slurmsim inject --list`` shows it

    @property
    def rule(self) -> dict[str, Any]:
        """The rule as it is now, or was when it ended."""
        for one in self._call("faults")["faults"]:
            if one["id"] == self.id:
                self._last = one
        return self._last

    @property
    def met(self) -> int:
        """How many calls, jobs or times it struck so far."""
        return int(self.rule["met"])

    def end(self) -> None:
        """Remove it; nodes it hurt are back. Nothing where it is gone already."""
        with suppress(ConfigError):
            (self._last,) = self._call("end_fault", id=self.id)["faults"]

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OutputError):  # the cluster has been stopped meanwhile
            self.end()


def inject(call: Call, what: str, given: Mapping[str, Any]) -> Fault:
    """Add a rule. Raises ConfigError for what cannot be, OutputError where no daemon answers."""
    return Fault(call, call("inject", what=what, given=spoken(given))["fault"])


def spoken(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as the daemon reads them: spans of time like ``10m`` as seconds, None left out.

    >>> spoken({"for": "10m", "seconds": "uniform:1:2", "times": None, "for_": 3})
    {'for': 3, 'seconds': 'uniform:1:2'}
    """
    found = {}
    for name, value in given.items():
        if value is None:
            continue
        plain = name.removesuffix("_")
        spans = plain in _WHOLE or (plain == "seconds" and isinstance(value, str) and value[-1:] in "smhd")
        found[plain] = seconds_of(value) if spans and isinstance(value, str) and value[-1:].isalpha() else value
    return found
