"""The golden sessions recorded anew, several times each and with slurmctld's log: what real Slurm repeats, is repeated.

The golden recordings tell neither the phase of slurmctld's loops nor what comes out otherwise another time: two
recordings of them agree in 95 to 97 % of the commands. These tell both.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from unseen import kept, ours

RECORDED = Path(__file__).resolve().parents[1] / "conformance" / "repeated"
DIFFER: dict[str, set[int]] = {
    # a reason of an array's waiting tasks, and the id of a job that comes beside them
    "arrays": {34, 48},
    # the id of a job that comes while ids are given to tasks of an array
    "dependencies": {22},
    # who looked last, and which jobs keep an account
    "displays": {66, 146},
    # the order of rows; usage of a second more
    "limits": {45, 50},
    "options-26.05": {18},  # the text of a help
    "sbatch-options": {57},  # nodes of a test of a job with tasks of several CPUs
    # the look at new reservations came a second sooner there
    "sinfo": {10, 11, 19, 20, 21, 23, 28, 33, 34, 35, 38},
    "squeue": {130, 131},  # the machine's own name and numbers
}
NAMES = sorted(path.name.partition(".session")[0] for path in (RECORDED / "26.05").glob("*.session.xz"))
QUICK = ("accounting",)


def _up_s(recording: dict[str, Any]) -> int:
    """How long slurmctld had been up when it began, in whole seconds begun."""
    return math.ceil(-next(at for at, what, _ in recording["events"] if what == "up"))


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES])
def test_what_real_slurm_repeats(name: str, tmp_path: Path) -> None:
    recording = kept.unpack(RECORDED / "26.05" / f"{name}.session.xz", tmp_path)
    found = ours.compare(name, recording, tmp_path / "slurm.conf", up_s=_up_s(recording))
    assert sum(one.verdict == "equal" for one in found) >= 15
    wrong = [o for o in found if o.verdict in ("different", "repeat") and o.number not in DIFFER.get(name, ())]
    assert not wrong, "\n".join(f"{one.number} {one.command}\n{one.difference()}" for one in wrong)


def test_every_session_is_there() -> None:
    assert len(NAMES) == 17 and set(DIFFER) <= set(NAMES)
