"""Big messages while they arrive: the memory for them is bounded, and a client that stalls does not delay others.

Memory is charged for bytes that came, not for those that were announced. When all of it is in use, room is taken from
the client that has sent nothing for longest, which is never a client that goes on sending.
"""

import asyncio

BUDGET = 128 << 20  # bytes of unfinished big messages in all: eight of the longest
CHUNK = 256 << 10


class Bodies:
    """Unfinished big messages of all connections, the one that has grown last at the end."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self._held: dict[asyncio.StreamWriter, int] = {}
        self.total = 0

    async def read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> bytes:
        """Return the next `size` bytes. Raises IncompleteReadError if the client is gone, or was cut off for room."""
        body = bytearray()
        try:
            while len(body) < size:
                chunk = await reader.read(min(size - len(body), CHUNK))
                if not chunk or (body and writer not in self._held):
                    raise asyncio.IncompleteReadError(b"", size)
                body += chunk
                self._charge(writer, len(chunk))
            return bytes(body)
        finally:
            self.total -= self._held.pop(writer, 0)

    def _charge(self, writer: asyncio.StreamWriter, count: int) -> None:
        self._held[writer] = self._held.pop(writer, 0) + count
        self.total += count
        while self.total > self.budget and len(self._held) > 1:
            stalled = next(iter(self._held))
            self.total -= self._held.pop(stalled)
            stalled.transport.abort()
