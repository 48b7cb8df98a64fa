"""The five ends a test of the suite can have here, and the list in the tree that says so: `outcomes.toml`.

A test that passes needs no entry. Any other is a fail unless an entry says it is out of scope, not applicable to the
release, or waiting for a feature that is named. A test that skips itself is judged like one that fails.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDS = ("passes", "fails", "out of scope", "not applicable", "waits")
_KINDS = {"out": "out of scope", "not_applicable": "not applicable", "waits": "waits", "fails": "fails"}
LIST = Path(__file__).with_name("outcomes.toml")
FAMILIES = {
    "100": "units in C, upgrades", "101": "sacct", "102": "sacctmgr", "103": "salloc", "104": "sattach",
    "105": "sbatch", "106": "sbcast", "107": "scancel", "108": "scontrol", "109": "sdiag", "110": "sgather",
    "111": "sinfo", "112": "slurmrestd", "113": "sprio", "114": "squeue", "115": "sreport", "116": "srun",
    "117": "sstat", "118": "strigger", "123": "reservations", "126": "limits", "129": "associations",
    "140": "licenses and GRES of jobs", "141": "cloud nodes", "144": "GRES", "150": "topology",
}  # fmt: skip
_EMPTY_ENTRY = re.compile(r"\[\[fails\]\]\nreason = \"[^\n]*\"\ntests = \[\n\]\n\n?")
Results = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """Why some tests do not pass: the end, the reason, and modules, tests, or tests with parameters."""

    end: str
    reason: str
    tests: frozenset[str]


def read(path: Path = LIST) -> list[Entry]:
    """Return the entries, each test in one of them."""
    tables = tomllib.loads(path.read_text("utf-8"))
    found = [
        Entry(end, str(entry["reason"]), frozenset(entry["tests"]))
        for kind, end in _KINDS.items() for entry in tables.get(kind, ())
    ]  # fmt: skip
    twice = [name for name, count in Counter(name for entry in found for name in entry.tests).items() if count > 1]
    if twice:
        raise ValueError(f"{path.name} names a test twice: {', '.join(sorted(twice))}")
    return found


def entry_of(entries: Sequence[Entry], test: str) -> Entry | None:
    """Return the entry for a test, the one that names it most closely."""
    for name in _names(test):
        for entry in entries:
            if name in entry.tests:
                return entry
    return None


def _names(test: str) -> Iterator[str]:
    """Yield a test's own name, without its parameters, of its class, and of its module."""
    yield test
    whole = test.partition("[")[0]
    yield whole
    while "::" in whole:
        whole = whole.rpartition("::")[0]
        yield whole


def end_of(entries: Sequence[Entry], test: str, outcome: str) -> str:
    """Return which of the `ENDS` a test had; a known failure of real Slurm (xfailed) passes."""
    if outcome in ("passed", "xfailed"):
        return "passes"
    entry = entry_of(entries, test)
    return "fails" if entry is None else entry.end


def by_family(entries: Sequence[Entry], results: Results) -> dict[str, Counter[str]]:
    """Return how many tests had each end, by the first number of their modules."""
    found: dict[str, Counter[str]] = {}
    for module, tests in sorted(results.items()):
        counts = found.setdefault(module.split("_")[1], Counter())
        counts.update(end_of(entries, f"{module}::{one['test'].rpartition('::')[2]}", one["outcome"]) for one in tests)
    return found


def table(entries: Sequence[Entry], results: Results) -> str:
    """Return the table of a run in Markdown."""
    families = by_family(entries, results)
    total: Counter[str] = sum(families.values(), Counter())
    rows = [(f"{number} {FAMILIES.get(number, '')}".strip(), counts) for number, counts in families.items()]
    lines = [f"| family | tests | {' | '.join(ENDS)} |", "|---" + "|--:" * (len(ENDS) + 1) + "|"]
    for name, counts in [*rows, ("**all**", total)]:
        lines.append(f"| {name} | {counts.total()} | {' | '.join(str(counts[end]) for end in ENDS)} |")
    return "\n".join(lines) + "\n"


def moved(entries: Sequence[Entry], results: Results) -> list[str]:
    """Return the tests that pass and are listed as fails, by the names that the list has for them."""
    ran = [
        (f"{module}::{one['test'].rpartition('::')[2]}", one["outcome"])
        for module, ones in results.items()
        for one in ones
    ]
    failing = {test for entry in entries if entry.end == "fails" for test in entry.tests}
    return sorted(test for test, outcome in ran if test in failing and outcome in ("passed", "xfailed"))


def without(text: str, names: Sequence[str]) -> str:
    """Return the text of a list without some tests, and without entries that have none left."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip().rstrip(",").strip('"') not in names]
    return _EMPTY_ENTRY.sub("", "".join(lines))


def ended(entries: Sequence[Entry], results: Results) -> list[str]:
    """Return the modules, as the list has them, that counted as one fail and have come to their end now."""
    failing = {test for entry in entries if entry.end == "fails" for test in entry.tests}
    whole = {f"{module}::module" for module, ones in results.items() if all(one["test"] != "module" for one in ones)}
    return sorted(failing & whole)


def recounted(told: str, names: Sequence[str], modules: Sequence[str] = (), results: Results | None = None) -> str:
    """Return a table in which tests that failed pass, and modules that came to no end are counted by their tests.

    What else has changed since it was made is not in it.
    """
    passes, fails = Counter(name.split("_")[1] for name in names), Counter(name.split("_")[1] for name in names)
    for name in modules:
        ones = [one["outcome"] for one in (results or {})[name.partition("::")[0]]]
        good = sum(outcome in ("passed", "xfailed") for outcome in ones)
        passes[name.split("_")[1]] += good
        fails[name.split("_")[1]] += 1 + good - len(ones)
    passes["**all**"], fails["**all**"] = passes.total(), fails.total()
    lines = told.splitlines()
    for at, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        family = cells[0].split(" ")[0]
        if passes[family] or fails[family]:
            more, fewer = passes[family], fails[family]
            cells[1:4] = [str(int(cells[1]) + more - fewer), str(int(cells[2]) + more), str(int(cells[3]) - fewer)]
            lines[at] = f"| {' | '.join(cells)} |"
    return "\n".join(lines) + "\n"


def with_families(told: str, found: str) -> str:
    """Return a table in which the rows of some families, that ran whole, are as in another; the sums are made anew."""
    rows = {line.split("|")[1]: line for line in found.splitlines()[2:] if "**all**" not in line}
    lines = [rows.get(line.split("|")[1], line) for line in told.splitlines() if "**all**" not in line]
    counts = [[int(cell) for cell in line.split("|")[2:-1]] for line in lines[2:]]
    sums = [sum(column) for column in zip(*counts, strict=True)]
    return "\n".join([*lines, f"| **all** | {' | '.join(map(str, sums))} |"]) + "\n"


def surprises(entries: Sequence[Entry], results: Results) -> list[str]:
    """Return what the list does not say: tests that fail without an entry, and entries for tests that pass."""
    found = []
    for module, tests in sorted(results.items()):
        for one in tests:
            test = f"{module}::{one['test'].rpartition('::')[2]}"
            entry, good = entry_of(entries, test), one["outcome"] in ("passed", "xfailed")
            if entry is None and not good:
                found.append(f"{test} {one['outcome']}: {str(one.get('why', '')).splitlines()[:1]}")
            elif entry is not None and good and test in entry.tests:
                found.append(f"{test} passes and is listed: {entry.reason}")
    return found
