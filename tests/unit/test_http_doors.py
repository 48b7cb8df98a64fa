"""Connections of an HTTP server: a quota for each user, who is at the other end, and room for others."""

from __future__ import annotations

import os
import socket

import pytest

from slurmsim.http_doors import Doors, peer_of


class Connection:
    """One that can be busy, and is hung up on."""

    def __init__(self, *, busy: bool = False) -> None:
        self.busy, self.closed = busy, False

    def hang_up(self) -> None:
        self.closed = True


def test_a_peer_takes_no_place_but_his_own() -> None:
    doors = Doors(most_of_peer=3, peer_of=lambda uid: uid)
    mine = [Connection(), Connection()]
    for one in mine:
        doors.enter(one, 1)
    theirs = [Connection(busy=k == 0) for k in range(50)]
    for one in theirs:
        doors.enter(one, 2)
    assert not any(one.closed for one in mine)
    assert [k for k, one in enumerate(theirs) if not one.closed] == [0, 48, 49]  # the busy one stays


def test_where_all_are_busy_the_newest_goes() -> None:
    doors = Doors(most_of_peer=2, peer_of=lambda uid: uid)
    made = [Connection(busy=True) for _ in range(3)]
    for one in made:
        doors.enter(one, None)
    assert [one.closed for one in made] == [False, False, True]
    doors.leave(made[0], None)
    doors.enter(again := Connection(busy=True), None)
    assert not again.closed


def test_all_together_have_a_bound() -> None:
    """Whoever has most makes room."""
    doors = Doors(peer_of=lambda uid: uid)
    doors.most = 10
    many = [Connection() for _ in range(9)]
    for one in many:
        doors.enter(one, 1)
    for uid in range(2, 7):
        doors.enter(few := Connection(), uid)
        assert not few.closed
    assert sum(one.closed for one in many) == 4


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_kernel_says_who_is_at_the_other_end(family: int, host: str) -> None:
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        assert family == socket.AF_INET6  # a machine without IPv6
        return
    with listening, socket.create_connection(listening.getsockname()[:2]), listening.accept()[0] as accepted:
        assert peer_of(accepted) == os.getuid()


def test_of_a_unix_socket_too() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert peer_of(one) == os.getuid()
