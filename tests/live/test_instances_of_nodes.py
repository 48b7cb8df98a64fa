"""InstanceId and InstanceType of nodes, one for all or one for each. Answers as real Slurm 26.05.5 gave them."""

from __future__ import annotations

import json

import slurmsim


def test_nodes_keep_what_an_update_gives_them() -> None:
    with slurmsim.cluster(nodes=3, frozen=True, slurm_version="26.05") as cluster:

        def shown() -> list[str]:
            text = cluster.run("scontrol show node").stdout
            return [node.split("\n   ")[-1].strip("\n") for node in text.split("\n\n") if "Instance" in node]

        def update(words: str) -> str:
            return cluster.run(f"scontrol update {words}").stderr

        assert update("nodename=n1 instanceid=i1 instancetype=t1 extra=e") == ""
        assert shown() == ["InstanceId=i1 InstanceType=t1"]
        assert update("nodename=n[1-3] instanceid=a,b,c") == ""
        assert shown() == ["InstanceId=a InstanceType=t1", "InstanceId=b ", "InstanceId=c "]
        assert update("nodename=n[1-3] instanceid=i[1-3] instancetype=z") == ""
        assert shown() == [f"InstanceId=i{k} InstanceType=z" for k in (1, 2, 3)]
        for wrong in (
            "nodename=n[1-3] instanceid=x,y",
            "nodename=n1 instanceid=p,q",
            "nodename=n[1-3] instancetype=m,n",
        ):
            assert update(wrong) == "slurm_update error: Invalid node name specified\n"
        nodes = json.loads(cluster.run("scontrol show node --json").stdout)["nodes"]
        assert [(node["instance_id"], node["instance_type"]) for node in nodes] == [(f"i{k}", "z") for k in (1, 2, 3)]
        assert update("nodename=n[1-3] instanceid=") == "" and shown() == ["InstanceType=z"] * 3
