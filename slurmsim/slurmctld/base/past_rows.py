"""Rows that slurmdbd keeps of the cluster itself: reservations, and nodes that were out of service."""

from slurmsim.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class PastReservation:
    """A row of the table of reservations; users and accounts are those that may use it."""

    number: int
    name: str
    start: int
    end: int
    flags: str
    nodes: str
    tres: dict[str, int]
    users: tuple[str, ...]
    accounts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outage:
    """A node that could not be used; `end` is 0 as long as that lasts."""

    node: str
    start: int
    end: int
    state: str
    reason: str
    uid: int
