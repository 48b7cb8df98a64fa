"""A journal of slurmsim 0.1.0 becomes one of today's format, once.

It holds requests alone, so they are carried out under the rules of this version, and what is decided is written beside
them from now on. Facts in it win: a script that ended never runs again, whatever our rules say of its job.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slurmsim.slurmctld.base.decisions import DECIDED
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.journal import Journal
from slurmsim.slurmctld.history.keeping import keep_beside
from slurmsim.slurmctld.history.noting import settled
from slurmsim.slurmctld.history.replaying import OVER, Entry, carry_out, enforce_end, not_begun


def migrated(engine: Engine, entries: Iterable[tuple[int, Entry]]) -> Iterable[Any]:
    """Yield the entries of format 2 for those of format 1, which `engine` carries out."""
    for _, entry in entries:
        now, call, uid, name, arguments = entry
        engine.network.advance(max(int(now), engine.now))
        yield from _decided(engine)
        if call == "clock":
            yield entry
        elif call == "ended" and not_begun(engine, arguments):
            enforce_end(engine, arguments, engine.now)
            yield [engine.now, OVER, uid, name, arguments]
        else:
            yield [*entry, carry_out(engine, entry)]
        yield from _decided(engine)


def _decided(engine: Engine) -> Iterable[Any]:
    made = settled(engine)
    if made:
        yield [engine.now, DECIDED, 0, "", list(made)]
        made.clear()


def replace_journal(path: Path, header: dict[str, Any], entries: Iterable[Any]) -> Path:
    """Put a journal of today's format at `path`; where the original is kept. Raises OutputError."""
    lines = b"\n".join(map(Journal.text, entries))
    kept = keep_beside(path, "format1")
    journal = Journal(path)
    journal.begin(header, entries=lines)
    journal.close()
    return kept
