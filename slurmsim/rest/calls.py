"""What a handler is given: one request, its person's connection to the daemon, and how to refuse it."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from slurmsim.data_classes import dataclass
from slurmsim.protocol import Client, Refusal
from slurmsim.rest.messages import BAD_QUERY, Person, Rejected


@dataclass
class Call:
    """One request on its way to a handler.

    `parts` are what stands in the path, `query` and `body` what came with it; `person` is the one who asks.
    `host` is where slurmctld runs; `meanwhile` lets others be answered while this one waits.
    """

    release: str
    host: str
    client: Client
    version: int
    parts: dict[str, str]
    query: dict[str, str]
    body: Any
    person: Person
    meanwhile: Callable[[], AbstractContextManager[None]] = nullcontext

    def number_of(self, refusal: Refusal) -> int:
        """As the function of that name, of the release that answers."""
        return number_of(refusal, self.release)

    def error_of(self, refusal: Refusal) -> tuple[int, str]:
        """Return number and text of a refusal as Slurm has them."""
        return number_of(refusal, self.release), refusal.text.rsplit("\n", 1)[-1]

    def rejected_parameters(self, source: str) -> Rejected:
        """Return what is said of path or query that cannot be read."""
        return Rejected("Rejecting request. Failure parsing parameters", *BAD_QUERY, source, 422)

    def number_in_query(self, name: str, source: str) -> int | None:
        """Return a number of the query. Raises Rejected."""
        text = self.query.get(name)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise self.rejected_parameters(source)
        return int(text)


@lru_cache(None)
def numbers(release: str) -> dict[str, int]:
    """Text of an error -> its number."""
    from slurmsim.slurm_errors import texts

    return {text: number for number, text in reversed(texts(release).items())}


def number_of(refusal: Refusal, release: str) -> int:
    """Slurm's number of a refusal: the daemon's, else the one with that text."""
    return refusal.number or numbers(release).get(refusal.text.rsplit("\n", 1)[-1], -1)
