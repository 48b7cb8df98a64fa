"""Tables on the pages of the published systems: made by the runs, kept beside the pages, and summed up.

``slurmsim bench SYSTEM --pages FOLDER`` leaves ``FOLDER/results/SYSTEM.json``: the claims, and the tables that are for
the page. Every table between ``<!-- made: NAME -->`` and ``<!-- end -->`` of ``FOLDER/SYSTEM.md`` is then written anew,
and so are those of ``FOLDER/claims.md``, over all systems. `remade` says what a page has to look like.

Names of tables: *claims* and *list* of any system, *claims PART* of one part, *claims main* of those that belong
to none, and what its view calls ``tables`` in `as_dict`; those may be kept in pieces (`whole_tables`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.errors import OutputError
from slurmsim.experiments.claims import Claim, Listed, claim_facts, claims_table, list_of_claims
from slurmsim.experiments.results import write_file
from slurmsim.experiments.summary import Outcome, checks_summary, claims_summary, headline, items_summary
from slurmsim.input_file import read_text
from slurmsim.json_text import loads

__all__ = [
    "claims_summary", "headline", "items_summary", "keep", "kept_of", "minutes", "outcomes", "pages", "remade",
    "whole_tables",
]  # fmt: skip
SYSTEMS = ("eurora", "titan", "pcp20", "lomonosov", "parm")
SUMMARY = "claims"
MAIN = "main"
"""What a table calls the claims of an experiment that belong to no part."""
PIECE = ": "
"""Between the name of a table and that of a piece of it."""
MARK = re.compile(r"(<!-- made: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.S)
Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run leaves for the page of its system."""

    claims: dict[str, list[Claim]]  # by part of the experiment; experiments without parts have one, the empty name
    tables: dict[str, Rows]  # other tables for the page, by name; the first row of each is a header
    command: str  # what was run; commands for several parts are separated by semicolons
    cpu_s: float  # CPU seconds of all processes, with those of runs that were there already

    @property
    def all_claims(self) -> list[Claim]:
        """Claims of all parts, in order."""
        return [claim for claims in self.claims.values() for claim in claims]

    def beside(self, old: Kept | None) -> Kept:
        """Return these results with the parts of `old` that were not run again; all of `old` is past where none is."""
        if old is None or set(old.claims) <= set(self.claims):
            return self
        command = old.command if self.command in old.command.split("; ") else f"{old.command}; {self.command}"
        return Kept(old.claims | self.claims, old.tables | self.tables, command, old.cpu_s + self.cpu_s)


def kept_of(facts: dict[str, Any], command: str, cpu_s: float) -> Kept:
    """Return what to keep of an experiment; `facts` are its view's `as_dict`."""
    return Kept(dict(_claims_in(facts, "")), facts.get("tables", {}), command, cpu_s)


def _claims_in(facts: dict[str, Any], part: str) -> Iterator[tuple[str, list[Claim]]]:
    if found := facts.get("claims"):
        yield part, [Claim(**one) for one in found]
    for key, value in facts.items():
        if isinstance(value, dict):
            yield from _claims_in(value, key if key != "parts" else part)


def listed(system: str) -> Sequence[Listed]:
    """Return all that the paper of a system says."""
    found: Sequence[Listed] = import_module(f"slurmsim.papers.{system}.goals").LISTED
    return found


def keep(system: str, kept: Kept, folder: Path) -> list[Path]:
    """Write the results of a system beside the pages, and the tables of its page and of the summary anew.

    Parts of the experiment that were not run this time stay as an earlier run left them.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    from slurmsim.trace.jsonfile import to_json

    kept = kept.beside(read_kept(system, folder))
    facts = {
        "command": kept.command, "cpu_s": round(kept.cpu_s),
        "claims": {part: claim_facts(claims) for part, claims in kept.claims.items()}, "tables": kept.tables,
    }  # fmt: skip
    written = [write_file(folder / "results" / f"{system}.json", to_json(facts).encode())]
    return written + [
        write_file(page, remade(page).encode()) for page in pages(folder) if page.stem in (system, SUMMARY)
    ]


def pages(folder: Path) -> list[Path]:
    return [page for name in (*SYSTEMS, SUMMARY) if (page := folder / f"{name}.md").is_file()]


def read_kept(system: str, folder: Path) -> Kept | None:
    """Return the results of a system that are kept beside the pages; None where there are none. Raises OutputError."""
    file = folder / "results" / f"{system}.json"
    if not file.is_file():
        return None
    try:
        facts = loads(read_text(file))
        claims = {part: [Claim(**one) for one in found] for part, found in facts["claims"].items()}
        return Kept(claims, facts["tables"], facts["command"], facts["cpu_s"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OutputError(f"{file}: not what slurmsim bench leaves ({error}); remove it and run bench again") from None


def remade(page: Path) -> str:
    """Return the text of a page with the tables of the kept results.

    Raises
    ------
    OutputError
        It has a mark for a table that no run makes.
    """
    text = page.read_text("utf-8")
    if page.stem == SUMMARY:
        found = _summary_tables(page.parent)
    else:
        kept = read_kept(page.stem, page.parent)
        if kept is None:
            return text
        found = _tables(page.stem, kept)

    def anew(mark: re.Match[str]) -> str:
        if mark["name"] not in found:
            raise OutputError(f"{page}: no table is called {mark['name']!r}; there are {', '.join(found)}")
        return f"{mark[1]}{found[mark['name']]()}\n{mark[3]}"

    return MARK.sub(anew, text)


def _tables(system: str, kept: Kept) -> dict[str, Callable[[], str]]:
    """Return what writes each table that a page may have."""
    found: dict[str, Callable[[], str]] = {
        "claims": lambda: markdown(claims_table(kept.all_claims)),
        "list": lambda: markdown(list_of_claims(listed(system), kept.all_claims)),
        "run": lambda: f"Made by `{kept.command}`, {minutes(kept.cpu_s)} of CPU.",
    }
    for part, claims in kept.claims.items():
        found[f"claims {part or MAIN}"] = lambda claims=claims: markdown(claims_table(claims))  # type: ignore[misc]
    for name, rows in whole_tables(kept.tables).items():
        found[name] = lambda rows=rows: markdown(rows)  # type: ignore[misc]
    return found


def whole_tables(tables: dict[str, Rows]) -> dict[str, Rows]:
    """Return tables with those that are kept in pieces put together, in order of the pieces' names.

    ``loads: a`` and ``loads: b`` are rows of the table ``loads``. So a run of one part leaves the rows of others.
    """
    found = {name: rows for name, rows in tables.items() if PIECE not in name}
    for name in sorted(name for name in tables if PIECE in name):
        header, *rows = tables[name]
        found.setdefault(name.partition(PIECE)[0], [header]).extend(rows)
    return found


def outcomes(folder: Path) -> dict[str, Outcome]:
    """Return what each experiment with results in `folder` says of its paper."""
    return {name: Outcome(one.all_claims, listed(name)) for name, one in _all_kept(folder).items()}


def _all_kept(folder: Path) -> dict[str, Kept]:
    return {name: one for name in SYSTEMS if (one := read_kept(name, folder)) is not None}


def _summary_tables(folder: Path) -> dict[str, Callable[[], str]]:
    kept, found = _all_kept(folder), outcomes(folder)
    runs = [["system", "command", "CPU"]]
    runs += [[name, f"`{one.command}`", minutes(one.cpu_s)] for name, one in kept.items()]
    runs += [[name, "no results are kept yet", ""] for name in SYSTEMS if name not in kept]
    runs.append(["all", "", minutes(sum(one.cpu_s for one in kept.values()))])
    return {
        "headline": lambda: headline(found),
        "claims": lambda: markdown(claims_summary(found)),
        "items": lambda: markdown(items_summary(found)),
        "checks": lambda: markdown(checks_summary(found)),
        "runs": lambda: markdown(runs),
        **{f"list {name}": lambda name=name: markdown(_list(name, kept)) for name in SYSTEMS},  # type: ignore[misc]
    }


def _list(name: str, kept: dict[str, Kept]) -> Rows:
    return list_of_claims(listed(name), kept[name].all_claims if name in kept else [])


def minutes(seconds: float) -> str:
    """Return CPU seconds for people."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a page; the first row is its header."""
    header, *others = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join([_line(header), "|" + "---|" * len(header), *map(_line, others)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
