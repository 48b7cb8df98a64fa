"""A share of a log made malleable: which jobs, which sizes, and that preferred nodes take what the log says."""

from __future__ import annotations

import numpy as np
import pytest

from slurmsim.energy.profile import read_profile
from slurmsim.errors import ConfigError
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads.transforms.malleable import Malleability, made_malleable

MACHINE = [4] * 100


def log(n: int = 200, **ints: list[int]) -> Workload:
    columns = {"job_id": list(range(1, n + 1)), "submit": [0] * n, "run_time": [3600] * n, "time_limit": [7200] * n}
    return Workload({k: np.array(v, np.int64) for k, v in {**columns, **ints}.items()}, {})


def test_shares_are_nested_and_drawn_by_seed() -> None:
    some, more, other = (
        made_malleable(log(tasks=[32] * 200), Malleability(share), MACHINE, seed).ints["malleable"]
        for share, seed in ((0.3, 1), (0.6, 1), (0.3, 2))
    )
    assert 40 <= some.sum() <= 80 < more.sum() <= 150
    assert (some <= more).all() and (some != other).any()


def test_sizes_and_times_of_a_job() -> None:
    """32 tasks fill 8 nodes of 4 CPUs; s = 0.25 / 7 gives 80 % on 8 nodes, 95 % on 2, and a law up to 27 nodes."""
    found = made_malleable(log(1, tasks=[32]), Malleability(1.0), MACHINE, 0)
    ints = {name: int(column[0]) for name, column in found.ints.items()}
    assert [ints[name] for name in ("nodes", "min_nodes", "max_nodes", "tasks", "malleable")] == [8, 2, 27, -1, 1]
    profile = read_profile(found.texts["app"][0], 2, 27, True)
    full = round(profile.application.p_high_w * 1000)
    assert ints["run_time"] * profile.slowdown(8, full) == pytest.approx(3600, abs=3)
    assert ints["time_limit"] * profile.slowdown(8, full) == pytest.approx(7200, abs=3)
    serial = 0.25 / 7
    one, eight = (profile.slowdown(n, full) for n in (2, 8))
    assert one / eight == pytest.approx((serial + (1 - serial) / 2) / (serial + (1 - serial) / 8))


def test_jobs_of_parts_of_nodes_stay_rigid() -> None:
    """One node, parts of nodes, more than the machine has, GPUs, and nodes that a job shares."""
    rigid = log(6, tasks=[4, 30, 404, 32, -1, 32], nodes=[-1, -1, -1, -1, 8, -1])
    rigid.texts["gpus"] = TextColumn.from_list(["", "", "", "8", "", ""])
    assert made_malleable(rigid, Malleability(1.0), MACHINE, 0).ints["malleable"].tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "share 'x'"), ("nan", "share 'nan'"), ("1.5", "a share of 1.5"), ("-0.1", "a share of -0.1"),
        ("0.3:efficiency=0.99", "efficiencies of"), ("0.3:max=0", "efficiencies of"),
        ("0.3:size=2", "'size=2'"),
        ("0.3:min", "min ''"), ("0.3:min=1,min=1", "'min=1'"),
    ],
)  # fmt: skip
def test_bad_shares(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Malleability.read(text)


def test_a_machine_and_a_log_that_cannot() -> None:
    with pytest.raises(ConfigError, match="different numbers of CPUs"):
        made_malleable(log(), Malleability(0.5), [4, 8], 0)
    with pytest.raises(ConfigError, match="no job can be malleable"):
        made_malleable(log(tasks=[1] * 200), Malleability(0.5), MACHINE, 0)
