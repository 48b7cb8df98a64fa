"""Jobs with applications beside reservations: the nodes they get are free until their limit as it is on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from power_runs import LEAN, WAVE, Script, column, jobs, run

FILE = '[[reservation]]\nname = "r"\nstart = {}\nduration = "00:10:00"\nnodes = "{}"\nusers = ["root"]\n'
LONG = {"run_time": 50_000}


def nodes_of(
    tmp_path: Path, frame: pd.DataFrame, script: Callable[[], Script], kept: str, early: int
) -> tuple[Any, Script]:
    """Where the last job ends up if `kept` is reserved so many seconds before the limit it would come to."""
    last = len(frame)
    limit = column(run(tmp_path, frame, script(), nodes=16), "time_limit_s")[last]
    (tmp_path / "r.toml").write_text(FILE.format(limit - early, kept), "utf-8")
    policy = script()
    trace = run(tmp_path, frame, policy, nodes=16, reservations=str(tmp_path / "r.toml"))
    return column(trace, "node_list")[last], policy


@pytest.mark.parametrize("app", [WAVE, LEAN])  # on more nodes the one has a shorter limit, the other a longer one
@pytest.mark.parametrize(
    ("to", "early", "has"),
    [
        (16, 0, "n[01-16]"), (16, 1, "n[01-08]"), (12, 0, "n[01-12]"), (12, 1, "n[01-08,13-16]"), (13, 1, "n[01-08]"),
    ],
)  # fmt: skip
def test_a_job_grows_on_what_is_not_reserved(tmp_path: Path, app: str, to: int, early: int, has: str) -> None:
    found, policy = nodes_of(
        tmp_path, jobs(LONG | {"app": app}), lambda: Script(changes={100: {1: (to, None)}}), "n[09-12]", early
    )
    assert found == has
    assert policy.outcomes == {100: has != "n[01-08]"}


@pytest.mark.parametrize(("early", "has"), [(0, "n[01-04]"), (1, "n[05-08]")])
def test_a_job_gives_back_first_what_its_limit_would_hold(tmp_path: Path, early: int, has: str) -> None:
    frame = jobs(LONG | {"app": WAVE})
    found, _ = nodes_of(tmp_path, frame, lambda: Script(changes={100: {1: (4, None)}}), "n[01-04]", early)
    assert found == has


@pytest.mark.parametrize("size", [6, 8])
@pytest.mark.parametrize("early", [0, 1])
def test_a_start_keeps_to_the_limit_of_its_size(tmp_path: Path, size: int, early: int) -> None:
    frame = jobs(LONG | {"app": LEAN})
    found, _ = nodes_of(tmp_path, frame, lambda: Script(shapes={1: (size, None)}), "n[01-04]", early)
    first = 1 + 4 * early
    assert found == f"n[{first:02}-{first + size - 1:02}]"


@pytest.mark.parametrize(("early", "has"), [(0, "n[05-16]"), (1, "n[09-16]")])
def test_what_one_job_gives_back_may_be_reserved_to_another(tmp_path: Path, early: int, has: str) -> None:
    frame = jobs({"app": WAVE, "run_time": 500, "time_limit": 600}, LONG | {"app": WAVE})
    script = {100: {1: (4, None), 2: (12, None)}}
    found, policy = nodes_of(tmp_path, frame, lambda: Script(changes=dict(script)), "n[05-08]", early)
    assert found == has
    assert policy.outcomes == {100: not early}
