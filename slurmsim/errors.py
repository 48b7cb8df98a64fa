"""The one tree of errors. Whatever a user did wrong ends as one clear line built here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_MESSAGE, MOST_FIELD, MOST_EXPECTED = 600, 200, 4000
"""Characters of the parts of an error: a word of ten million in a file makes no line of ten million."""


def clipped(text: str, most: int = MOST_MESSAGE) -> str:
    """`text`, or its beginning and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint ``; did you mean X?`` for a misspelt word, "" when nothing is near."""
    import difflib  # commands that meet no error do not load it

    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.75)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


def _in_a_line(text: str) -> str:
    """Return `text`, of which parts may come from a damaged file, with escapes for line breaks and the like."""
    if text.isprintable():
        return text
    from slurmsim.shown import cell  # commands that meet no error do not load it

    return cell(text)


class SlurmSimError(Exception):
    """Base of every error slurmsim raises on purpose; its text is one line fit for a user."""


class InputError(SlurmSimError):
    """Something a user handed in is wrong, and where.

    Parameters
    ----------
    message
        What is wrong, quoting the bad part.
    file, line, field
        Where: path as the user gave it, 1-based line number, column or key name. Each may be missing.
    expected
        What would have been right, in a few words.
    log
        The lines slurmctld logs of it as it ends; () where they are not known.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        expected: str | None = None,
        log: tuple[str, ...] = (),
    ) -> None:
        self.log = log
        message = clipped(message)
        field = None if field is None else clipped(field, MOST_FIELD)
        expected = None if expected is None else clipped(expected, MOST_EXPECTED)
        self.message, self.file, self.line, self.field, self.expected = message, file, line, field, expected
        where = _in_a_line(file or "")
        if line is not None:
            where += f":{line}" if where else f"line {line}"
        text = f"{where}: " if where else ""
        if field is not None:
            text += f"{field if field.isprintable() else repr(field)}: "  # a damaged file's may hold a line break
        text += message
        if expected is not None:
            text += f" (expected {_in_a_line(expected)})"
        super().__init__(text)


class ConfigError(InputError):
    """A configuration file, a ``--set`` or another option is wrong."""


class WorkloadError(InputError):
    """A job log or workload file is wrong."""


class OutputError(SlurmSimError):
    """A result could not be written: unwritable path, full disk, a folder that holds something else."""


class SubmitError(SlurmSimError):
    """The controller refused a submission, as slurmctld would; `text` is Slurm's own message."""

    def __init__(self, text: str, *, code: str = "") -> None:
        self.text, self.code = text, code
        super().__init__(text)


class PolicyError(SlurmSimError):
    """A policy broke the port: it started a job that cannot start, took a busy node, or named an unknown option."""

    def __init__(self, policy: str, message: str) -> None:
        self.policy, self.message = policy, message
        super().__init__(f"policy {policy}: {message}")

    def __reduce__(self) -> tuple[type[PolicyError], tuple[str, str]]:
        """From another process it comes as it is."""
        return type(self), (self.policy, self.message)


class PassTooLong(BaseException):
    """Raised in the thread of a policy's pass beyond its limit; no policy catches it by accident."""


class InvariantError(SlurmSimError):
    """slurmsim itself is wrong: a state that may not exist was reached. Please report it."""
