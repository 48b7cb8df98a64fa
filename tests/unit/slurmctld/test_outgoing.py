"""Answers wait for the disk, in order; if it fails all that wait are told so."""

from __future__ import annotations

import asyncio

from slurmsim.slurmctld.server.outgoing import Answer, Outgoing


def future() -> asyncio.Future[Answer]:
    return asyncio.get_running_loop().create_future()


def test_turns_are_released_in_order_up_to_a_number() -> None:
    async def session() -> None:
        outgoing, (one, two, three) = Outgoing(), (future(), future(), future())
        outgoing.add(5, [(one, {"ok": 1})], ([], [(1, 0)]))
        outgoing.add(5, [(two, {"ok": 2})], None)  # only looked: what it saw is not safe either
        outgoing.add(7, [(three, {"ok": 3})], None)
        assert [*outgoing.release(4)] == []
        assert not one.done()
        assert [*outgoing.release(6)] == [([], [(1, 0)])]
        assert (one.result(), two.result(), three.done()) == ({"ok": 1}, {"ok": 2}, False)
        assert [*outgoing.release(7)] == []
        assert three.result() == {"ok": 3}

    asyncio.run(session())


def test_a_failure_is_told_to_all_who_wait_and_to_those_of_the_present_turn() -> None:
    async def session() -> None:
        outgoing, (one, two, three) = Outgoing(), (future(), future(), future())
        outgoing.add(5, [(one, {"ok": 1})], ([], [(1, 0)]))
        outgoing.refuse("no disk", in_turn=True)
        assert one.result() == {"refused": [0, "no disk"]}
        outgoing.add(4, [(two, {"ok": 2})], None)
        outgoing.add(4, [(three, {"ok": 3})], None)
        assert [*outgoing.release(4)] == []  # nothing starts that rests on what was lost
        assert (two.result(), three.result()) == ({"refused": [0, "no disk"]}, {"ok": 3})

    asyncio.run(session())


def test_who_does_not_wait_any_more_is_passed_over() -> None:
    async def session() -> None:
        outgoing, one = Outgoing(), future()
        outgoing.add(1, [(one, {"ok": 1})], None)
        one.cancel()
        assert [*outgoing.release(1)] == []

    asyncio.run(session())
