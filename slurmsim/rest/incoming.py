"""Bodies of requests while they arrive: each is bounded in bytes and time, and all together in bytes."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from slurmsim.rest.body_text import MOST_BODY
from slurmsim.rest.messages import Failure

SMALL = 256 << 10  # bytes of a body that count for nothing
BUDGET = 64 << 20  # bytes of all larger bodies that are here in part
READ_S = 30.0


class Incoming:
    """What is here of the bodies of one server's requests."""

    def __init__(self, budget: int = BUDGET, read_s: float = READ_S) -> None:
        self.budget, self.read_s, self.held = budget, read_s, 0

    async def read(self, headers: Mapping[str, str], parts: AsyncIterator[bytes]) -> bytes:
        """Return the whole body. Raises Failure: it is too large, too slow, or there is no room for it now."""
        announced = headers.get("content-length", "")
        if announced.isdecimal() and (len(announced) > 12 or int(announced) > MOST_BODY):
            raise Failure(413, "Request entity too large")
        try:
            async with asyncio.timeout(self.read_s):
                return await self._read(parts)
        except TimeoutError:
            raise Failure(408, "Request timed out") from None

    async def _read(self, parts: AsyncIterator[bytes]) -> bytes:
        found: list[bytes] = []
        size = charged = 0
        try:
            async for part in parts:
                found.append(part)
                size += len(part)
                if size > MOST_BODY:
                    raise Failure(413, "Request entity too large")
                if size > SMALL:
                    self.held += size - charged
                    charged = size
                    if self.held > self.budget:
                        raise Failure(503, "Too many large requests at once")
        finally:
            self.held -= charged
        return b"".join(found)
