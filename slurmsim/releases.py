"""The Slurm releases that can be imitated; what differs is looked up in rows, never branched on.

Rows stand beside the code that reads them (`row`, `listed`), or in `slurmsim.release_changes` where one of two ways is
taken (`slurmsim.release_changes.since`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any


VERSIONS: dict[str, str] = {
    "22.05": "22.05.8", "23.02": "23.02.8", "23.11": "23.11.11", "24.05": "24.05.8", "24.11": "24.11.5",
    "25.05": "25.05.8", "25.11": "25.11.7", "26.05": "26.05.5",
}  # fmt: skip
"""Release -> its version, oldest first. A new release is one row here; it inherits all that no table changes for it."""

RELEASES: tuple[str, ...] = tuple(VERSIONS)
"""Short names, which compare as text. A row names the one with which its difference came."""

RECORDED_RELEASES: tuple[str, ...] = ("22.05", "24.11", "26.05")
"""Those with recorded answers and decisions, which are compared. The others are what the sources of Slurm say of them,
and what they inherit from the recorded one before where the sources were not looked up or do not say."""

PROTOCOLS: dict[str, int] = {release: 38 + k << 8 for k, release in enumerate(RELEASES)}
"""Release -> the number of the protocol its daemons and commands speak."""

FLAVOURS: dict[str, str] = {"upstream": "slurm", "debian": "slurm-wlm"}
"""Who built Slurm -> its name in ``--version``. The recordings are of Debian's packages."""

VERSION_VARIABLE = "SLURMSIM_SLURM_VERSION"

DEFAULT = "26.05"
"""The release of a live cluster that is made without one, and of commands without a cluster (decision 0025)."""

DEFAULT_VARIABLE = "SLURMSIM_DEFAULT_RELEASE"  # the environment's word for another default


def of_new(environ: Mapping[str, str]) -> str:
    """Return the release that is imitated where none is named.

    >>> of_new({}), of_new({"SLURMSIM_DEFAULT_RELEASE": "22.05"})
    ('26.05', '22.05')
    """
    return environ.get(DEFAULT_VARIABLE) or DEFAULT


def short(version: str) -> str:
    """Return the row of `version` (``22.05`` or ``22.05.8``): the newest release we know that is not newer than it.

    >>> short("22.05.8"), short("23.11"), short("23.12"), short("26.05")
    ('22.05', '23.11', '23.11', '26.05')
    """
    known = [release for release in VERSIONS if release <= version[:5]]
    return known[-1] if known else RELEASES[0]


def version_line(release: str, flavour: str) -> str:
    """Return what ``--version`` prints."""
    return f"{FLAVOURS[flavour]} {VERSIONS[release]}"


def row(table: Mapping[str, Any], release: str) -> Any:
    """Return the entry of `table` that holds for `release`: the newest one that is not newer."""
    return table[max(key for key in table if key <= release)]


def recorded_cell(cells: Sequence[str], release: str) -> str:
    """Return the cell of `release` in a row with one for each recorded release; ``=``, or none, is as before.

    >>> recorded_cell(["a", "=", "c"], "25.11"), recorded_cell(["a", "b"], "27.05")
    ('a', 'b')
    """
    value = cells[0]
    for column, cell in zip(RECORDED_RELEASES[1:], cells[1:], strict=False):
        if column <= release and cell != "=":
            value = cell
    return value


def has(release: str, since: str, until: str = "") -> bool:
    """Return True if `release` has what came with `since` and went with `until`; empty or ``-`` is no bound.

    >>> has("24.11", "24.11", "26.05"), has("26.05", "24.11", "26.05"), has("22.05", "-", "-")
    (True, False, True)
    """
    return since <= release and (until in ("", "-") or release < until)  # both sort before digits


def listed(since: Iterable[tuple[str, str, str]], release: str) -> list[str]:
    """Names of (name, since, until) rows that exist in `release`; an empty `until` means still there."""
    return [name for name, first, gone in since if has(release, first, gone)]


def shown(rows: str, facts: Mapping[str, Any], release: str) -> dict[str, str]:
    """Return the environment variables of `release` that have something to show.

    `rows` has a line for each: the variable, the name of the fact it shows (or a text after ``=``), and, if there are
    such, the first release that has it (or ``-``) and the first without it.

    >>> shown("SLURM_NNODES n_nodes\\nSLURM_STEP_ID =-5 26.05", {"n_nodes": 2}, "24.11")
    {'SLURM_NNODES': '2'}
    """
    found = {}
    for name, fact, *span in filter(None, map(str.split, rows.splitlines())):
        value = fact[1:] if fact.startswith("=") else facts.get(fact)
        if value is not None and has(release, *(span or ["-"])):
            found[name] = str(value)
    return found
