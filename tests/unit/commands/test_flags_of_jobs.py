"""How sacct spells the flag of a job that has started, as real 22.05 and 26.05 printed it."""

from pathlib import Path

import pytest
from engine_client import Cluster


@pytest.mark.parametrize(("release", "told"), [("22.05", "StartRecieved"), ("26.05", "StartReceived")])
def test_it_is_spelt_by_release(release: str, told: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, release=release)
    for words in ("add account chem", "add user alice account=chem"):
        assert cluster.run(f"sacctmgr -i {words}")[0] == 0
    cluster.run("sbatch -H -o /dev/null --wrap 'sleep 60'", "alice")
    cluster.now += 12
    assert cluster.run("sacct -n -P -j 1 -o flags", "alice")[1].strip() == told
    assert cluster.run(f"sacct -n -P -j 1 -F {told} -o jobid", "alice")[1].strip() == "1"
