"""An engine written down, and taken up again."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from slurmsim.core.accounting.job_limits import JobLimits
from slurmsim.core.placement.exclusive_user import ExclusiveUsers
from slurmsim.errors import InvariantError, WorkloadError
from slurmsim.sim.network import Pending
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.snapshot import upgrades
from slurmsim.slurmctld.snapshot.engine_state import parts
from slurmsim.slurmctld.snapshot.file import no_collection
from slurmsim.slurmctld.snapshot.graph import Decoder, Encoder, Special
from slurmsim.slurmctld.snapshot.kinds import KINDS, SCHEMA

Tables = Iterator[dict[str, Any]]


def take(engine: Engine) -> Tables:
    """All of `engine`, between two requests: first its parts and what will happen, then the records they refer to.

    Nothing may change until the last table has been taken.
    """
    if engine.network.unsettled:
        raise InvariantError("a snapshot is taken between two turns of the controller")
    found = parts(engine)
    encoder = Encoder(KINDS, {part.name: part.what for part in found}, _claims(engine))
    fields = {p.name: {name: encoder.value(getattr(p.what, name)) for name in p.fields} for p in found}
    pending, following = engine.network.pending()
    events = [
        [time, priority, number, [encoder.value(call) for call in calls], encoder.value(value)]
        for time, priority, number, calls, value in pending
    ]
    yield {
        "kind": "engine", "schema": SCHEMA, "now": engine.now, "parts": fields,
        "events": events, "next_event": following,
    }  # fmt: skip
    yield from encoder.chunks()


@no_collection()
def restore(
    engine: Engine, tables: Iterable[dict[str, Any]], grow: Callable[[], None] | None = None, *, shares: bool = True
) -> None:  # fmt: skip
    """Make `engine`, newly made from the configuration that `tables` were taken under, what it was then.

    With `grow` it may have more nodes than that: this is called once the state is there.
    Without `shares` jobs that come later do not share their requests' texts with those there are: a copy that lives
    for a moment needs no saving of memory.

    Raises
    ------
    WorkloadError
        What was taken does not fit the engine, or this version.
    """
    rows = iter(tables)
    first = next(rows, None)
    if first is None or first.get("kind") != "engine":
        raise WorkloadError("the snapshot does not begin with an engine")
    schema = upgrades.check(first["schema"])
    upgrades.lead_parts_over(first["parts"], first["now"], schema)
    if "owners" in first["parts"] and engine.controller.state.exclusive_users is None:
        engine.controller.state.exclusive_users = ExclusiveUsers(
            engine.controller.state.cluster.network_of
        )  # made when nodes were first wanted for one user alone
    found = {part.name: part for part in parts(engine)}
    if found.keys() != first["parts"].keys():
        other = ", ".join(sorted(found.keys() ^ first["parts"].keys()))
        raise WorkloadError(f"the snapshot was taken under another configuration: {other}")
    decoder = Decoder(KINDS, {name: part.what for name, part in found.items()}, _claims(engine))
    for table in rows:
        decoder.add(upgrades.lead_over(table, schema))
    kept = [
        (part.what, attribute, first["parts"][name][attribute])
        for name, part in found.items() for attribute in part.fields
        if schema == SCHEMA or attribute in first["parts"][name]
    ]  # fmt: skip
    for what, attribute, value in kept:
        decoder.bind(value, getattr(what, attribute, None))
    decoder.fill()
    for what, attribute, value in kept:
        object.__setattr__(what, attribute, decoder.value(value))
    if grow is not None:
        grow()
        engine.told_cpus = []
    upgrades.complete(decoder.records("shape"), decoder.records("fair tree"), schema)
    pending: list[Pending] = [
        (time, priority, number, [decoder.value(call) for call in calls], decoder.value(value))
        for time, priority, number, calls, value in first["events"]
    ]
    engine.network.take_up(first["now"], pending, first["next_event"])
    if shares:
        _share_requests(engine)
    engine.controller.listen()
    engine.controller.state.selector.forget_future()
    upgrades.settle(engine, schema)
    engine.forgetting.begin_anew()
    decoder.finish()


def _claims(engine: Engine) -> list[Special]:
    """Claims are compiled of limits, counters and ledgers; they are made again when these are there."""
    limits = engine.controller.accounting.limits
    if limits is None:
        return []
    keys = limits.counters.claim_keys()

    def find(*key: Any) -> JobLimits:
        assert engine.controller.accounting.limits is not None
        return engine.controller.accounting.limits.counters.claim_by(key)

    return [Special("claim", JobLimits, lambda claim: keys[id(claim)], find)]


def _share_requests(engine: Engine) -> None:
    """One environment for all jobs that have the same, as when they were submitted."""
    jobs = [*engine.jobs.values(), *engine.network.live.values()]
    found: dict[int, dict[str, Any]] = {id(live.asked): live.asked for live in jobs}  # type: ignore[misc]
    for asked in found.values():
        asked.update(engine.same.share(dict(asked)))  # in place: rows of earlier runs have the same requests
