"""Write down what was decided."""

from __future__ import annotations

from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.decisions import DECIDED, Decision
from slurmsim.slurmctld.history.journal import Journal


def settled(engine: Engine) -> list[Decision]:
    """Decisions not written down yet, all of the present instant among them: carried out again they are as many."""
    engine.network.advance(engine.now)
    return engine.network.decided


def note_decisions(engine: Engine, journal: Journal, *, durable: bool = False) -> None:
    """Give `journal` the decisions since the last time; to the disk (`durable`) also where a script waits for one.

    Raises
    ------
    OutputError
        It has no room; they wait then.
    """
    made = settled(engine)
    if made:
        text = journal.text([engine.now, DECIDED, 0, "", made])
        journal.reserve(len(text))
        journal.append_text(text, durable=durable or (engine.real is not None and engine.real.starting))
        made.clear()
    engine.controller.state.events.clear()  # the same for whoever records a simulation; nobody does here
