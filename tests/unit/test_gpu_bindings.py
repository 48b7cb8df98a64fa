"""What TresBind and TresFreq take, as recorded with `scontrol update job` of 22.05.8, 24.11.5 and 26.05.5."""

from __future__ import annotations

import pytest

from slurmsim.gpu_bindings import are_bindings, are_frequencies

BOTH = (
    "closest", "verbose,closest", "closest,verbose", "map_gpu:0,1", "mask_gpu:0x1,0x2", "mask_gpu:1", "single:1",
    "single:0", "single:x", "single:", "single:2,verbose", "per_task:2", "per_task:0", "none", "Closest", "closestx",
    "verbose,none", "verbose,map_gpu:0,1", "map_gpu:0*2",
)  # fmt: skip
NEITHER = ("verbose", "map_gpu:x", "mask_gpu:x", "single", "per_task", "", "verbose,gpu:closest", "map_gpu:0,x")
NAMED = ("map:0,1", "mask:0x3", "map:")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_bindings(release: str) -> None:
    gres = "gpu" if release == "22.05" else "gres/gpu"
    for words, good in ((BOTH, True), (NEITHER, False), (NAMED, release != "22.05")):
        for word in words:
            assert are_bindings(f"{gres}:{word}", release) is good, word
    assert are_bindings("", release) and not are_bindings(gres, release)
    assert not are_bindings(f"x{gres}:closest", release) and not are_bindings(f"{gres.upper()}:closest", release)


def test_several_bindings() -> None:
    """One after a plus sign or a semicolon is looked at where that sign stands between two."""
    assert are_bindings("gpu:closest;gpu:none", "22.05") and are_bindings("gpu:closest+gpu:single:1", "22.05")
    assert not are_bindings("nic:closest", "22.05") and not are_bindings("gpu:closest;nic:closest", "22.05")
    assert are_bindings("gres/gpu:closest+gres/nic:closest", "24.11") and are_bindings("gres/nic:single:1", "24.11")
    assert not are_bindings("gres/gpu:closest+gpu:none", "24.11")
    for wrong in ("cpu:closest", "cpu/closest", "license/a:closest", "gres/gpu=closest", "gres:gpu:closest"):
        assert not are_bindings(wrong, "24.11")


def test_gres_that_jobs_share_are_not_placed() -> None:
    """Read in tres_bind.c (24.11): they take `none` and `per_task`."""
    found = {
        word: are_bindings(f"gres/shard:{word}", "24.11") for word in ("none", "per_task:2", "closest", "single:1")
    }
    assert found == {"none": True, "per_task:2": True, "closest": False, "single:1": False}


def test_frequencies() -> None:
    for good in (
        "gpu:low", "gpu:high", "gpu:medium", "gpu:highm1", "gpu:1234", "gpu:memory=low", "gpu:low,verbose", "gpu:0",
        "gpu:verbose", "gpu:verbose,low", "gpu:low;gpu:high", "gpu:memory=1234", "gpu:low,high", "gpu:memory=low,high",
        "gpu:,low", "gpu:low,", "gpu:medium,memory=high", "",
    ):  # fmt: skip
        assert are_frequencies(good), good
    for wrong in ("gpu:x", "gpu:low,memory=x", "gpu:", "gpu", "nic:low", "gpu:LOW", "gpu:-1", "gres/gpu:low",
                  "gpu:low1", "foo:junk"):  # fmt: skip
        assert not are_frequencies(wrong), wrong
