"""One row more in the tables of records before any other room is loaded, and what the rooms make of it; prints JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from slurmsim.records import Column, Field, Line, Option, job, node, partition, request

partition.PARTITION += (Field("colour", "text", conf="Colour", update="Colour:3", json="looks.colour"),)
job.CARRIED += (
    Field("mood", "text", update="Mood:3", json="mood", before="memory_per_tres", option=Option("mood", "mpi"),
          column=Column("MOOD", "Mood"), line=Line("Mood", "SystemComment")),
)  # fmt: skip
node.NODE += (Field("rack", "text", update="Rack:3", json="rack", line=Line("Rack", "Reason")),)
request.REQUEST += (Field("pace", "count", json="pace", shown=True),)
TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "unit" / "commands"), str(TESTS / "docs")]

import coverage_tables  # noqa: E402
from engine_client import PEOPLE, Cluster  # noqa: E402

from slurmsim.commands.json import partition as document  # noqa: E402
from slurmsim.commands.submit import job_request  # noqa: E402
from slurmsim.config.line_options import PARTITION_KEYS  # noqa: E402
from slurmsim.config.option import Option, Status  # noqa: E402
from slurmsim.rest import controller_writing, job_description, openapi, routes  # noqa: E402
from slurmsim.slurmctld.requests.shapes import requests as request_shapes  # noqa: E402
from slurmsim.slurmctld.requests.shapes.values import Malformed  # noqa: E402
from slurmsim.slurmctld.server.start import make_engine  # noqa: E402
from slurmsim.slurmctld.snapshot.image import restore, take  # noqa: E402

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
    found["described"] = schemas["v0.0.45_partition_info"]["properties"]["looks"]
    found["body"] = "looks" in controller_writing.settable() and "looks.colour" in {one.key for one in document.table()}
    return found


def of_node() -> dict[str, object]:
    """Where the new field of a node is met."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), CONF.replace(" Colour=blue", ""), release="26.05")

        def shown() -> object:
            return json.loads(cluster.text("scontrol show node n1 --json"))["nodes"][0].get("rack")

        found = {"set": cluster.run("scontrol update nodename=n1 rac=r7"), "then": shown()}
        found["text"] = "\n   Rack=r7\n" in cluster.text("scontrol show node n1")
        cluster.engine = cluster.again()
        found["replayed"] = shown()
    try:
        request_shapes.check_arguments("update_node", {"names": "n1", "rack": 3})
    except Malformed as wrong:
        found["refused"] = str(wrong)
    schemas = openapi.specification("26.05", routes.PLUGINS, [45])["components"]["schemas"]
    found["described"] = schemas["v0.0.45_node"]["properties"]["rack"]
    found["body"] = ["rack" in controller_writing.BODIES["nodes"], "rack" in controller_writing.NODE_TEXTS]
    return found


def of_request() -> dict[str, object]:
    """Where the new field of a request is met."""
    found: dict[str, object] = {"copied": "pace" in job_request._COPIED, "body": job_description.read({"pace": 3})[0]}
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), CONF.replace(" Colour=blue", ""), release="26.05")
        asked = {"job": {"name": "j", "script": "#!/bin/sh\n", "work_dir": "/", "pace": 3}}
        cluster.call("submit", PEOPLE["alice"], asked)
        found["told"] = cluster.call("jobs", PEOPLE["alice"], {"fields": ["pace"]})["columns"]["pace"]
    try:
        request_shapes.check_arguments("submit", {"job": {"pace": "fast"}})
    except Malformed as wrong:
        found["refused"] = str(wrong)
    schemas = openapi.specification("26.05", routes.PLUGINS, [45])["components"]["schemas"]
    found["described"] = schemas["v0.0.45_job_desc_msg"]["properties"]["pace"]
    return found


def of_job() -> dict[str, object]:
    """Where the new option of sbatch is met."""
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), CONF.replace(" Colour=blue", ""), release="26.05")
        cluster.run("sbatch --hold --mood=good --wrap true", "alice")
        found["asked"] = cluster.journal[-1][4]["job"]["mood"]
        found["set"] = cluster.run("scontrol update jobid=1 moo=bad", "alice")
        tables = json.loads(json.dumps([*take(cluster.engine)]))
        cluster.engine = make_engine(cluster.header, Path(folder))
        restore(cluster.engine, tables)
        found["text"] = "\n   Mood=bad\n" in cluster.text("scontrol show job 1")
        found["column"] = cluster.text("squeue -O Mood:8").split()
        found["listed"] = "Mood" in cluster.text("squeue --helpFormat")
        found["document"] = json.loads(cluster.text("squeue --json"))["jobs"][0]["mood"]
    schemas = openapi.specification("26.05", routes.PLUGINS, [45])["components"]["schemas"]
    found["described"] = [schemas[f"v0.0.45_{name}"]["properties"]["mood"] for name in ("job_info", "job_desc_msg")]
    found["body"] = job_description.read({"mood": "bad"})[0]
    page = coverage_tables.text()
    found["page"] = ["`--mood`" in page, "`mood`" in page]
    return found


if __name__ == "__main__":
    print(json.dumps({"partition": of_partition(), "node": of_node(), "request": of_request(), "job": of_job()}))
