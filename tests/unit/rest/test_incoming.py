"""Bodies while they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: bodies of slurmrestd: the extra rest is not installed")

from slurmsim.rest.body_text import MOST_BODY
from slurmsim.rest.incoming import SMALL, Incoming
from slurmsim.rest.messages import Failure


async def parts(*sizes: int, stalls: bool = False) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size
    if stalls:
        await asyncio.sleep(3600)


def status(incoming: Incoming, body: AsyncIterator[bytes], **headers: str) -> int:
    try:
        found = {name.replace("_", "-"): value for name, value in headers.items()}
        return len(asyncio.run(incoming.read(found, body)))
    except Failure as failure:
        return failure.status


def test_what_is_too_large_is_not_read() -> None:
    incoming = Incoming()
    assert status(incoming, parts(5, 7), content_length="12") == 12
    assert status(incoming, parts(), content_length=str(MOST_BODY + 1)) == 413
    assert status(incoming, parts(), content_length="9" * 400) == 413
    assert status(incoming, parts(MOST_BODY, 1)) == 413
    assert incoming.held == 0


def test_who_stalls_is_given_up() -> None:
    incoming = Incoming(read_s=0.05)
    assert status(incoming, parts(SMALL + 1, stalls=True)) == 408
    assert incoming.held == 0


def test_large_bodies_share_a_bounded_memory() -> None:
    incoming = Incoming(budget=4 * SMALL, read_s=30)

    async def together() -> None:
        first = asyncio.create_task(incoming.read({}, parts(3 * SMALL, stalls=True)))
        await asyncio.sleep(0)
        with pytest.raises(Failure) as refused:
            await incoming.read({}, parts(2 * SMALL))
        assert refused.value.status == 503
        assert len(await incoming.read({}, parts(SMALL))) == SMALL  # small ones are always let in
        first.cancel()
        await asyncio.wait([first])
        assert len(await incoming.read({}, parts(2 * SMALL))) == 2 * SMALL

    asyncio.run(together())
    assert incoming.held == 0
