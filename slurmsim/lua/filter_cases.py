"""Tests of a site's cli_filter.lua: made-up calls of sbatch, salloc and srun, and what has to become of each."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.lua import CLI_FILE
from slurmsim.lua.cases import REFUSED, SAYS, Case, Outcome, wrong_words
from slurmsim.lua.cli_filter import FUNCTIONS, CliFilter, NotLoaded, Options

KEYS: Mapping[str, type] = {"command": str, "argv": str, "environ": dict}  # beside those of job_submit.lua's cases
_COMMANDS = {"sbatch": "--wrap true", "salloc": "true", "srun": "true"}  # -> what a case without `argv` runs
_LUA_ERROR = "/lua: "


@dataclass(frozen=True, slots=True)
class Made:
    """What a command made of its command line.

    Attributes
    ----------
    said
        All it wrote.
    judged
        The options of each component, as the script left them; fewer where it refused.
    submitted
        True if the command went on to slurmctld.
    """

    said: str
    judged: Sequence[Options]
    submitted: bool


def is_cli_filter(text: str) -> bool:
    """Return True for a script that has functions of cli_filter.lua and none of job_submit.lua.

    >>> is_cli_filter("function slurm_cli_pre_submit(options, offset) end"), is_cli_filter("")
    (True, False)
    """
    return any(name in text for name in FUNCTIONS) and "slurm_job_submit" not in text


def load(text: str, file: Path, release: str) -> None:
    """Load the script once. Raises ConfigError where a command could not."""
    try:
        CliFilter(text, str(file), release, "sbatch", {}, lambda: 0, lambda level, said: None)
    except NotLoaded as wrong:
        line = wrong.lines[0].removeprefix(f"{file}: ").rstrip(".")
        raise ConfigError(line, file=str(file), field=CLI_FILE, expected=", ".join(FUNCTIONS)) from None


def check(cases: Sequence[Case], file: Path) -> None:
    """Check what is theirs alone. Raises ConfigError."""
    for case in cases:
        if case.command not in _COMMANDS:
            raise ConfigError(f"command is {case.command!r}", file=str(file), field=case.name,
                              expected=", ".join(_COMMANDS))  # fmt: skip
        if not all(isinstance(text, str) for text in case.environ.values()):
            raise ConfigError("a variable is no text", file=str(file), field=case.name, expected='{NAME = "text"}')
        _words(case, file)


def try_filter_case(case: Case, file: Path, call: Callable[[Case, list[str]], Made]) -> Outcome:
    """Call the command of one case, which runs the script.

    Parameters
    ----------
    call
        Makes a call of the words behind the command.

    Raises
    ------
    ConfigError
        The command takes its command line for wrong before or after the script, which the case does not expect.
    """
    made = call(case, _words(case, file))
    lines = made.said.splitlines()
    refusal = None if made.submitted else made.said.strip()
    if refusal is not None and REFUSED not in case.expect and not made.judged and "cli_filter" not in refusal:
        raise ConfigError(f"{case.options!r}: {_why(lines)}", file=str(file),
                          field="options", expected=f"{case.command} options")  # fmt: skip
    wrong = wrong_words(case, refusal, made.said)
    for name, value in case.expect.items():
        if name not in (REFUSED, SAYS):
            found = made.judged[0].value(name) if made.judged else None
            if not _equal(value, found):
                wrong.append(f"{name}: expected {value!r}, is {found!r}")
    wrong += [f"error: {line}" for line in lines if "error: cli_filter_p_" in line and _LUA_ERROR in line]
    return Outcome(case, wrong, lines)


def _why(lines: Sequence[str]) -> str:
    """Return the last line that says what is wrong."""
    return next((line for line in reversed(lines) if not line.startswith("Try ")), "nothing is submitted")


def _equal(expected: Any, found: str | None) -> bool:
    """Return True if an option is as expected: False stands for one that reads nil."""
    return found is None if expected is False else str(expected) == found


def _words(case: Case, file: Path) -> list[str]:
    try:
        return [*shlex.split(case.options), *shlex.split(case.argv or _COMMANDS[case.command])]
    except ValueError as error:
        raise ConfigError(f"{case.options!r}: {error}", file=str(file), field=case.name, expected="words") from None
