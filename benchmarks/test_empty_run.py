"""Claim: a run of one job, from the start of Python to the finished report, takes 0.7 seconds of wall time."""

from __future__ import annotations

from pathlib import Path

import pytest
from measure import Claim, check

LOG = "; MaxProcs: 4\n1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.mark.parametrize("policy", ["easy", "backfill"])
def test_empty_run(policy: str, tmp_path: Path) -> None:
    log = tmp_path / "one.swf"
    log.write_text(LOG, encoding="utf-8")
    check(Claim(f"empty_run_{policy}", "one job, 4 nodes", policy, wall_s=0.7), log, tmp_path / "run")
