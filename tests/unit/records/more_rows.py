"""One row more in the tables of records before any other room is loaded, and what the rooms make of it; prints JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from slurmsim.records import partition
from slurmsim.records.field import Field

partition.PARTITION += (Field("colour", "text", conf="Colour", update="Colour:3", json="looks.colour"),)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "commands"))

from engine_client import Cluster  # noqa: E402

from slurmsim.commands.json import partition as document  # noqa: E402
from slurmsim.config.line_options import PARTITION_KEYS  # noqa: E402
from slurmsim.config.option import Option, Status  # noqa: E402
from slurmsim.rest import controller_writing, openapi, routes  # noqa: E402
from slurmsim.slurmctld.requests import request_shapes  # noqa: E402
from slurmsim.slurmctld.requests.shapes import Malformed  # noqa: E402

CONF = """\
ClusterName=tux
NodeName=n[1-4] CPUs=4
PartitionName=main Nodes=n[1-4] Default=YES Colour=blue
"""


def of_partition() -> dict[str, object]:
    """Where the new field of a partition is met."""
    PARTITION_KEYS["colour"] = Option("Colour", "text", Status.HARMLESS, "about displays")  # type: ignore[index]
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), CONF, release="26.05")

        def shown() -> object:
            return json.loads(cluster.text("scontrol show partition --json"))["partitions"][0].get("looks")

        found = {"read": shown(), "set": cluster.run("scontrol update partitionname=main col=red"), "then": shown()}
        cluster.engine = cluster.again()
        found["replayed"] = shown()
    try:
        request_shapes.check_arguments("update_partition", {"partition": {"name": "main", "colour": 3}})
    except Malformed as wrong:
        found["refused"] = str(wrong)
    schemas = openapi.specification("26.05", routes.PLUGINS, [45])["components"]["schemas"]
    found["described"] = schemas["v0.0.45_partition"]["properties"]["looks"]
    found["body"] = "looks" in controller_writing.settable() and "looks.colour" in {one.key for one in document.table()}
    return found


if __name__ == "__main__":
    print(json.dumps({"partition": of_partition()}))
