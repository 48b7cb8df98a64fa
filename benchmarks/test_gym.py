"""Claim: an agent makes 10,000 decisions a second of CPU time on KTH, and an episode of 256 jobs begins in 5 ms.

The agent draws any action that is possible; the observation of 128 jobs is built for each.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from live_cluster import judge

pytest.importorskip("gymnasium")

from slurmsim.gym import SchedulingEnv

EPISODES = 50


def test_gym() -> None:
    data = os.environ.get("SLURMSIM_DATA")
    if not data:
        pytest.skip("set SLURMSIM_DATA to the folder with the SWF logs")
    log = str(Path(data) / "KTH-SP2-1996-2.swf.gz")
    random = np.random.default_rng(0)
    short = SchedulingEnv(log, nodes=100, episode=256)
    began = time.process_time()
    for seed in range(EPISODES):
        short.reset(seed=seed)
    reset_ms = (time.process_time() - began) / EPISODES * 1000
    env = SchedulingEnv(log, nodes=100, episode=None)
    _, info = env.reset(seed=0)
    began, steps, over = time.process_time(), 0, False
    while not over:
        possible = np.flatnonzero(info["action_mask"])
        _, _, over, _, info = env.step(possible[int(random.random() * len(possible))])
        steps += 1
    rate = steps / (time.process_time() - began)
    judge("gym", {"decisions a second": (rate, ">=", 10_000), "reset, ms": (reset_ms, "<=", 5)})
