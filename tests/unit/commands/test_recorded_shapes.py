"""A hundred kinds of submissions: what the job shows and its script finds, as real Slurm does by release.

The files beside this one have one row a kind: the options, and each answer of 22.05.8, 24.11.5 and 26.05.5, once where
all three are alike. The jobs of one ran on the nodes of `script_cluster.CONF`, those of the other were held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from script_cluster import Scripts

from slurmsim.releases import RECORDED_RELEASES

SQUEUE = "%D %C %c %m %b %z %H %I %J"


def recorded(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return found


RUNNING, WAITING = recorded("recorded_shapes.json"), recorded("recorded_waiting.json")


def of_release(row: dict[str, Any], release: str) -> dict[str, str | None]:
    at = RECORDED_RELEASES.index(release)
    return {name: value[at] if isinstance(value, list) else value for name, value in row.items()}


@pytest.fixture(scope="module", params=RECORDED_RELEASES)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    yield Scripts(tmp_path_factory.mktemp("shapes"), request.param)


@pytest.mark.parametrize("options", RUNNING)
def test_what_running_jobs_show_and_their_scripts_find(cluster: Scripts, options: str) -> None:
    wanted = of_release(RUNNING[options], cluster.release)
    job_id = cluster.sbatch(options)
    cluster.now += 6  # a cycle of backfill
    found: dict[str, str] = cluster.shown(job_id) | cluster.environment(job_id)
    cluster.text(f"scancel {job_id}")
    cluster.now += 6
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("options", WAITING)
def test_what_waiting_jobs_show(cluster: Scripts, options: str) -> None:
    wanted = of_release(WAITING[options], cluster.release)
    code, out, error = cluster.run(f"sbatch --parsable -H -t1 {options} --wrap true", "alice")
    if code:
        assert error == wanted["refused"]
        return
    found = cluster.shown(int(out)) | {"squeue": cluster.text(f"squeue -h -j {out} -o '{SQUEUE}'").strip()}
    cluster.text(f"scancel {out}")
    assert {"refused": None} | {name: found.get(name) for name in wanted if name != "refused"} == {
        "refused": None
    } | wanted
