"""Recorded command sessions of real Slurm, run against the live cluster: nothing differs that has no listed reason.

`tests/golden/replay.py` runs them; here are four of the shorter ones, and five more for the night.
docs/fidelity-figures.md has the figures of all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import known
import pytest

HERE = Path(__file__).resolve().parent
LONG = (
    "22.05/sbatch-errors-enforced",
    "22.05/scontrol-ops",
    "22.05/sbatch-errors",
    "22.05/sinfo",
    "22.05/squeue",
    "22.05/accounting",
    "24.11/sbatch-errors-enforced",
)
RUN = (
    "22.05/scontrol-show", "26.05/sbatch-errors-enforced",
    *(pytest.param(name, marks=pytest.mark.slow) for name in LONG),
)  # fmt: skip


@pytest.mark.parametrize("name", RUN)
def test_commands_print_what_real_slurm_printed(name: str) -> None:
    command = [sys.executable, str(HERE / "replay.py"), "--once", "--json", str(known.SESSIONS / f"{name}.json.gz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (group,) = json.loads(done.stdout)
    assert group["total"] > 40
    new, gone = known.compare(name, (one["n"] for one in group["failed"]))
    if gone:
        warnings.warn(f"{name}: listed in known.toml, but equal now: {gone}", stacklevel=1)
    assert not new, "\n".join(
        f"{one['n']} {one['cmd']}: {one['difference']}" for one in group["failed"] if one["n"] in new
    )


def test_what_may_differ_is_a_command_of_a_session() -> None:
    assert set(known.known().steps) <= {known.session_of(path) for path in known.SESSIONS.glob("*/*.json.gz")}
    assert {session.partition("/")[0] for session in known.known().steps} <= {"22.05", "rules"}
    names = {f"{session}#{n}" for session, steps in known.known().steps.items() for n in steps}
    assert set(known.known().since) - {""} <= names
    ids = [one["id"] for one in known.known().open]
    assert len(set(ids)) == len(ids) > 20
    text = known.table()  # looks every step up
    assert text.count("\n") > len(known.known().reasons)
    assert all(reason in {r for steps in known.known().steps.values() for r in steps.values()}
               for reason in known.known().reasons)  # fmt: skip


def test_the_page_has_them_all() -> None:
    assert known.PAGE.read_text("utf-8") == known.page(), "python tests/golden/known.py --write"


def test_a_difference_without_a_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "known", lambda: known.Known({"r": "text"}, {"22.05/x": {3: "r", 5: "r"}}))
    assert known.compare("22.05/x", [3, 4]) == ([4], [5])
    assert known.compare("22.05/y", []) == ([], [])
