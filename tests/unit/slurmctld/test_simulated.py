"""How long simulated jobs last, by what their scripts and environments say."""

from __future__ import annotations

import pytest

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.simulated import behaviour


@pytest.mark.parametrize(
    ("line", "variables", "seconds", "code"),
    [
        ("#SLURMSIM runtime=90 exit=3", {}, 90, "3:0"),
        ("#SLURMSIM runtime=1:30", {"SLURMSIM_RUNTIME": "soon", "SLURMSIM_EXIT": "4"}, 90, "4:0"),
        ("", {"SLURMSIM_RUNTIME": "1-0", "SLURMSIM_EXIT": "258"}, 86400, "2:0"),
        ("", {}, 7, "0:0"),
    ],
)
def test_what_can_be_said(line: str, variables: dict[str, str], seconds: int, code: str) -> None:
    found = behaviour({"script": f"#!/bin/sh\n{line}\nsleep 7\n", "environment": variables})
    assert (found.run_time, found.exit_code) == (seconds, code)


@pytest.mark.parametrize("words", ["runtime=soon", "exit=x", "runtime=1:x", "runtime="])
def test_what_cannot(words: str) -> None:
    for asked in (
        {"script": f"#!/bin/sh\n#SLURMSIM {words}\n"},
        {"environment": {f"SLURMSIM_{words.partition('=')[0].upper()}": words.partition("=")[2]}},
    ):
        with pytest.raises(Refusal, match=r"^Invalid "):
            behaviour(asked)
