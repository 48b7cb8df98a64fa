"""Lists of ``--cpu-bind``: multipliers are bounded, and what is no number is told in Slurm's words."""

from __future__ import annotations

from typing import Any

import pytest

from slurmsim.commands.submit.steps.cpu_binding import _expanded


class Ended(Exception):
    pass


class Said:
    def __init__(self) -> None:
        self.errors: list[str] = []

    def error(self, text: str) -> None:
        self.errors.append(text)

    def fatal(self, text: str) -> None:
        raise Ended(text)


def test_multipliers_and_prefixes() -> None:
    say: Any = Said()
    assert _expanded("0x1*2,0xf", "mask_cpu", say) == "1,1,f"
    assert _expanded("0*3,1", "map_cpu", say) == "0,0,0,1"
    assert say.errors == []


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ("0*0", "Invalid map_cpu multiplier: 0"),
        ("0*", "Invalid map_cpu multiplier: "),
        ("0*1000000000", "Invalid map_cpu multiplier: 1000000000"),
        ("0*40000,1*40000", "Invalid map_cpu multiplier: 40000"),
        ("0*2a", "Failed to validate number: *2a, the offending character is a"),
        ("0*٣", "Failed to validate number: *٣, the offending character is ٣"),
        ("0*2*3", "Failed to validate number: *2*3, the offending character is *"),
        (f"0*{'9' * 5000}", f"Invalid map_cpu multiplier: {'9' * 5000}"),
    ],
)
def test_a_multiplier_that_cannot_be(values: str, error: str) -> None:
    say: Any = Said()
    with pytest.raises(Ended, match="Failed to parse --cpu-bind= values"):
        _expanded(values, "map_cpu", say)
    assert say.errors == [error]
