"""Write down what was decided, and which uids simulated users have."""

from slurmsim.slurmctld.base.decisions import DECIDED, Decision
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.journal import OVERHEAD, Journal
from slurmsim.slurmctld.history.replaying import MET


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
    engine.controller.state.events.clear()  # these events are for a trace, and a live cluster has none


def note_people(engine: Engine, journal: Journal, kept: int) -> None:
    """Give `journal` the simulated users who have got a uid since the last time, before what they ask for.

    Raises
    ------
    OutputError
        It has no room beside `kept` bytes; they wait then.
    """
    made = [journal.text([engine.now, MET, person.uid, person.name, {}]) for person in engine.people.new]
    if made:
        journal.reserve(sum(map(len, made)) + OVERHEAD * len(made) + kept)
        for text in made:
            journal.append_text(text)
        engine.people.new.clear()
