"""``scontrol update``, ``create`` and ``delete``: which kind of thing the words are about."""

from __future__ import annotations

from slurmsim.commands.scontrol.keywords import tag_matches
from slurmsim.commands.scontrol.session import NO_ERROR, Session
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Words = Sequence[str]

# tag, how much of it must be there, kind
_TAGS: tuple[tuple[str, int, str], ...] = (
    ("NodeName", 3, "node"), ("PartitionName", 3, "partition"), ("JobId", 3, "job"), ("JobName", 3, "job"),
    ("StepId", 4, "step"), ("FrontendName", 2, "front end"), ("ReservationName", 3, "reservation"),
    ("SlurmctldDebug", 2, "debug"), ("SuspendExcNodes", 11, "suspend"), ("SuspendExcParts", 11, "suspend"),
    ("SuspendExcStates", 11, "suspend"),
)  # fmt: skip
_LATER = frozenset({"suspend"})
# the first of these that was named counts: a job may be given a partition and a reservation, a reservation a partition
_ORDER = ("job", "step", "reservation", "node", "front end", "partition", "debug", "suspend")


def update(session: Session, words: Words) -> None:
    """``update NAME=VALUE...``."""
    if len(words) < 2:
        session.fail(f"too few arguments for {words[0]} keyword")
        return
    arguments = list(words[1:])
    kinds, last = _kinds(session, arguments)
    kind = next((one for one in _ORDER if one in kinds), "")
    error = ""
    match kind:
        case "job":
            from slurmsim.commands.scontrol.update_job import update_job

            update_job(session, arguments)
        case "step":
            from slurmsim.commands.scontrol.update_job import update_step

            error = update_step(session, arguments)
        case "reservation":
            from slurmsim.commands.scontrol.reservations import update_reservation

            error = update_reservation(session, arguments)
        case "node":
            from slurmsim.commands.scontrol.nodes import update_node

            error = update_node(session, arguments)
        case "partition":
            from slurmsim.commands.scontrol.partitions import update_partition

            error = update_partition(session, arguments)
        case "debug":
            error = _debug(session, last)
        case "front end":
            error = "Requested operation not supported on this system"
        case "suspend":
            session.refuse("SuspendExc* cannot be changed: not modelled")
        case _:
            session.code = 1
            session.io.error("No valid entity in update command")
            session.io.error(
                'Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug"'
            )
    if error == NO_ERROR and since(session.release, "no_error_is_silent"):
        session.code = 1
    elif error:
        session.complain("slurm_update error", error, loud=True)


def _kinds(session: Session, arguments: list[str]) -> tuple[set[str], str | None]:
    """Return what the words name, and the last value."""
    found, value, at = set(), None, 0
    while at < len(arguments):
        tag, equals, text = arguments[at].partition("=")
        value = text if equals else None
        if equals and since(session.release, "sign_before_equals") and tag[-1:] in ("+", "-"):
            tag = tag[:-1]
        at += 1 if equals else 2
        for name, least, kind in _TAGS:
            if kind in _LATER and not since(session.release, "suspend_exceptions"):
                continue
            if tag_matches(tag, name, least):
                found.add(kind)
                break
    return found, value


def _debug(session: Session, value: str | None) -> str:
    if value is None or not is_number(value) or int(value) > 9:
        session.warn(f"invalid debug level: {value if value is not None else '(null)'}")
        return NO_ERROR
    return session.request("set_debug", level=int(value))


# -- create and delete -----------------------------------------------------------------------------------------------


def create(session: Session, words: Words) -> None:
    """``create NAME=VALUE...``: the first word that names a kind of thing decides."""
    from slurmsim.commands.scontrol.nodes import create_node
    from slurmsim.commands.scontrol.partitions import create_partition
    from slurmsim.commands.scontrol.reservations import create_reservation

    if len(words) < 2:
        session.fail(f"too few arguments for {words[0]} keyword")
        return
    arguments = list(words[1:])
    makers: tuple[tuple[str, Callable[[Session, list[str]], None]], ...] = (
        ("NodeName", create_node), ("PartitionName", create_partition), ("ReservationName", create_reservation),
    )  # fmt: skip
    for word in arguments:
        tag = word.partition("=")[0]
        for name, make in makers:
            if tag_matches(tag, name, 3):
                make(session, arguments)
                return
    session.refuse(f"Invalid creation entity: {arguments[0]}")


def delete(session: Session, words: Words) -> None:
    """``delete ENTITY=ID`` or ``delete ENTITY ID``."""
    from slurmsim.commands.scontrol.nodes import first_told

    arguments = words[1:]
    if not arguments:
        session.fail(f"too few arguments for {words[0]} keyword")
        return
    tag, equals, value = arguments[0].partition("=")
    if len(arguments) == 2:
        tag, value = arguments[0], arguments[1]
    elif len(arguments) > 2 or not equals:
        session.refuse("Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'")
        return
    for name, call in (("NodeName", "node"), ("PartitionName", "partition"), ("ReservationName", "reservation")):
        if tag_matches(tag, name, 3):
            if error := session.request(f"delete_{call}", target=value):
                text = first_told(session, error) if call == "node" else error
                session.complain(f"delete_{call} {arguments[0]}"[:63], text, loud=True)
            return
    session.fail(f"Invalid deletion entity: {arguments[0]}")
