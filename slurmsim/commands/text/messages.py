"""What a command says on standard error, and how loud it is.

Slurm's levels: fatal, error and information are shown by default; each ``-Q`` takes one away, each ``-v`` adds one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from slurmsim.commands.io import Io


_FATAL, _ERROR, _INFO, _VERBOSE = 1, 2, 3, 4


class Stop(Exception):
    """The command ends here, with this exit code; everything has been said."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def stoppable(run: Callable[[list[str], Io], int]) -> Callable[[list[str], Io], int]:
    """Return `run` of a command, with the exit code of a Stop where one ends it."""

    def run_to_end(argv: list[str], io: Io) -> int:
        try:
            return run(argv, io)
        except Stop as stop:
            return stop.code

    return run_to_end


def exclusive(command: str, options: str, io: Io) -> Stop:
    """Say that the two `options` do not go together; return the end of the command."""
    io.error(f"{command}: fatal: Options {options} are mutually exclusive. Please remove one and retry.")
    return Stop(1)


class Messages:
    """The voice of one command call."""

    def __init__(self, io: Io, command: str) -> None:
        self.io, self.command = io, command
        self.level = _INFO

    def adjust(self, verbose: int, quiet: int) -> None:
        """Be louder, or quieter."""
        self.level = _INFO + verbose - quiet

    def plain(self, text: str) -> None:
        """Print a line without a prefix, at any level."""
        self.io.error(text)

    def error(self, text: str) -> None:
        """Something is wrong."""
        self._say(_ERROR, f"error: {text}")

    def info(self, text: str) -> None:
        """Something worth knowing."""
        self._say(_INFO, text)

    def verbose(self, text: str) -> None:
        """Something worth knowing for those who asked."""
        self._say(_VERBOSE, text)

    def fatal(self, text: str) -> NoReturn:
        """Something is so wrong that the command ends with exit code 1."""
        self._say(_FATAL, f"fatal: {text}")
        raise Stop(1)

    def _say(self, level: int, text: str) -> None:
        if self.level >= level:
            self.io.error(f"{self.command}: {text}")
