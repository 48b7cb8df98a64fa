"""The clock of a cluster that is asked what a session asked."""

from __future__ import annotations

from typing import Any

from slurmsim.sessions.player import Player


class _Cluster:
    """What the clock is told, and when its processes are waited for."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.now = 0

    def call(self, name: str, *, action: str, seconds: int) -> dict[str, int]:
        assert (name, action) == ("clock", "step")
        self.told.append(seconds)
        self.now += seconds
        return {"now": self.now}

    def wait(self) -> None:
        self.told.append("quiet")


def test_what_waits_to_be_ended_ends_before_the_clock_goes_on() -> None:
    """A requeued script has half a second: it went on into the next second, and its node was not free."""
    player, cluster = Player.__new__(Player), _Cluster()
    player.client, player._quiet, player.real, player._alone, player.now = cluster, cluster, True, False, 0  # type: ignore[assignment]
    player.until(2)
    assert cluster.told == ["quiet", 0, "quiet", 1, "quiet", 1, "quiet"]
