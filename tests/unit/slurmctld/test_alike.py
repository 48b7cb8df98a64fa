"""A long queue says the same in most columns: asked by ``alike``, the answer has these once."""

from __future__ import annotations

import pytest

import slurmsim
from slurmsim.protocol import Client

FIELDS = ["job_id", "name", "partition", "state_flags", "het_job_offset", "nosuch", "priority", "requeue"]


@pytest.mark.parametrize("names", [[], ["a"], ["a", "a", "a"], ["a", "b", "a"]])
def test_columns_of_one_value(names: list[str]) -> None:
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        for name in names:
            c.run(["sbatch", "-J", name, "--hold", "--wrap", "#SLURMSIM runtime=60"])
        client = Client(str(c.folder))
        plain = client.call("jobs", fields=FIELDS)
        short = client.call("jobs", fields=FIELDS, alike=True)
        client.close()
    assert short["n"] == plain["n"] == len(names)
    alike = short.pop("alike", {})
    assert {**short["columns"], **{name: [value] * len(names) for name, value in alike.items()}} == plain["columns"]
    if names:
        assert ("name" in alike) is (len(set(names)) == 1)
        assert {"partition", "state_flags", "nosuch"} <= set(alike)
