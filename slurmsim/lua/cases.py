"""Tests of a site's job_submit.lua: made-up submissions, and what has to become of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass, field
from slurmsim.errors import ConfigError
from slurmsim.lua import job_fields
from slurmsim.lua.job_submit import Caller, JobSubmit, Nowhere

_KINDS: Mapping[str, type] = {"name": str, "options": str, "user": str, "uid": int, "expect": dict}
_MOST = 10_000  # cases
REFUSED, SAYS = "refused", "says"


@dataclass(frozen=True, slots=True)
class Case:
    """One submission.

    Attributes
    ----------
    options
        What stands behind ``sbatch``, in words.
    expect
        Field of ``job_desc`` (cli_filter.lua: option) -> its value behind the script; `refused` (True, False or a
        part of Slurm's words) and `says` (a part of what the user is told).
    command, argv, environ
        For cli_filter.lua: what is called, the script or command behind its options, and the user's variables.
    """

    name: str
    options: str = ""
    user: str = "user"
    uid: int = 1000
    expect: Mapping[str, Any] = field(default_factory=dict)
    command: str = "sbatch"
    argv: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one case: `wrong` has a line for each expectation that does not hold."""

    case: Case
    wrong: list[str]
    said: list[str]


def read_cases(tables: Mapping[str, Any], file: Path, more: Mapping[str, type] | None = None) -> list[Case]:
    """Return the cases of a TOML file: its tables ``[[case]]``, which may have `more` keys. Raises ConfigError."""
    kinds = {**_KINDS, **(more or {})}
    found = tables.get("case")
    if not isinstance(found, list) or not found or len(found) > _MOST or set(tables) != {"case"}:
        raise ConfigError("no cases", file=str(file), field="case", expected=f"1 to {_MOST:,} tables [[case]]")
    cases = []
    for number, one in enumerate(found, 1):
        place = f"case {number}"
        if not isinstance(one, dict) or set(one) - set(kinds):
            raise ConfigError("unknown key", file=str(file), field=place, expected=", ".join(sorted(kinds)))
        for key, value in one.items():
            if not isinstance(value, kinds[key]) or isinstance(value, bool):
                raise ConfigError(f"{key} is no {kinds[key].__name__}", file=str(file), field=place,
                                  expected="as docs/lua.md says")  # fmt: skip
        if not one.get("expect"):
            raise ConfigError("expects nothing", file=str(file), field=place, expected="a table expect")
        cases.append(Case(**{"name": place, **one}))
    return cases


class _Site(Nowhere):
    def __init__(self, partitions: Sequence[Mapping[str, Any]]) -> None:
        self._partitions = partitions

    def partitions(self) -> Iterable[Mapping[str, Any]]:
        """Return those of the configuration."""
        return self._partitions


def try_case(
    script: JobSubmit, case: Case, request_of: Callable[[str], dict[str, Any]],
    partitions: Sequence[Mapping[str, Any]], release: str,
) -> Outcome:  # fmt: skip
    """Submit one case to the script.

    Parameters
    ----------
    request_of
        Makes a request of the words behind ``sbatch``. Raises ConfigError.
    """
    verdict = script.submit(request_of(case.options), Caller(case.uid, case.uid, case.user), _Site(partitions))
    said = "\n".join(verdict.said)
    text = verdict.refused[1] if verdict.refused else None
    wrong = wrong_words(case, text, said)
    for name, value in case.expect.items():
        if name not in (REFUSED, SAYS):
            found = job_fields.read(verdict.request, name, release)
            if found != value:
                wrong.append(f"{name}: expected {value!r}, is {found!r}")
    wrong += [f"error: {text}" for level, text in verdict.logged if level == "error"]
    return Outcome(case, wrong, verdict.said)


def wrong_words(case: Case, refusal: str | None, said: str) -> list[str]:
    """Return what does not hold of `refused` and `says`; `refusal` is None for what is not refused."""
    wrong = []
    value = case.expect.get(REFUSED, False)
    fine = (refusal is not None) is value if isinstance(value, bool) else str(value) in (refusal or "")
    if not fine:
        wrong.append(f"refused: expected {value!r}, {'not refused' if refusal is None else 'refused: ' + refusal}")
    if str(case.expect.get(SAYS, "")) not in said:
        wrong.append(f"says: expected {case.expect[SAYS]!r}, said {said!r}")
    return wrong
