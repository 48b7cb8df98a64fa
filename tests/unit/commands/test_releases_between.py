"""Releases of which nothing was recorded: what the sources of Slurm say of each, and what is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_client import Cluster

from slurmsim.commands.scontrol import config_rows
from slurmsim.releases import PROTOCOLS, RECORDED_RELEASES, RELEASES, VERSIONS, row
from slurmsim.rest import messages, openapi, routes

BETWEEN = [release for release in RELEASES if release not in RECORDED_RELEASES]
JSON = {"23.11": ["v0.0.40"], "24.05": ["v0.0.41", "v0.0.40"], "25.05": ["v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40"],
        "25.11": ["v0.0.44", "v0.0.43", "v0.0.42", "v0.0.41"]}  # fmt: skip
DUMPS = ("squeue", "sinfo -N", "scontrol show job", "scontrol show partition")


CONF = """\
ClusterName=tux
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
NodeName=n[1-2] CPUs=4 RealMemory=4000
PartitionName=batch Nodes=ALL Default=YES MaxTime=1-0
"""


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cluster]:
    """A cluster of each release with a job that runs."""
    found = {}
    for release in RELEASES:
        found[release] = Cluster(tmp_path_factory.mktemp("release"), CONF, release=release)
        found[release].submit("alice", num_tasks=1)
        found[release].now += 10
    return found


def document(cluster: Cluster, command: str, option: str = "--json") -> dict[str, Any]:
    first, *rest = command.split()
    code, out, error = cluster.run(" ".join((first, *rest, option)))
    assert (code, error) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def kinds(value: object) -> object:
    """Keys and types of a document, without its values."""
    if isinstance(value, dict):
        return {key: kinds(one) for key, one in value.items()}
    if isinstance(value, list):
        return [kinds(one) for one in value[:1]]
    return type(value).__name__


def content(found: dict[str, Any]) -> object:
    return kinds({key: value for key, value in found.items() if key != "meta"})


@pytest.mark.parametrize("release", BETWEEN)
def test_it_says_which_it_is(clusters: dict[str, Cluster], release: str) -> None:
    assert clusters[release].run("sinfo --version")[1] == f"slurm-wlm {VERSIONS[release]}\n"
    assert row(PROTOCOLS, release) == 256 * (38 + RELEASES.index(release))


@pytest.mark.parametrize("command", DUMPS)
@pytest.mark.parametrize("release", JSON)
def test_documents_have_its_own_version(clusters: dict[str, Cluster], release: str, command: str) -> None:
    """Each version has the keys that a recorded release has in it, whichever serves it."""
    cluster, (own, *others) = clusters[release], JSON[release]
    found = document(cluster, command)
    assert found["meta"]["plugin"]["data_parser"] == f"data_parser/{own}"
    assert found["meta"]["slurm"]["release"] == VERSIONS[release]
    for version in (own, *others):
        recorded = clusters["26.05" if version >= "v0.0.43" else "24.11"]
        asked = document(cluster, command, f"--json={version}")
        assert content(asked) == content(document(recorded, command, f"--json={version}")), version


@pytest.mark.parametrize("release", JSON)
def test_slurmrestd_serves_the_same_versions(release: str) -> None:
    document = openapi.specification(release, routes.PLUGINS, routes.served(release))
    served = {part for path in document["paths"] for part in path.split("/") if part.startswith("v0.0.")}
    assert served == set(JSON[release]) and document["info"]["version"] == VERSIONS[release]
    assert row(messages.NOT_FOUND, release).startswith("Unable")


@pytest.mark.parametrize("release", BETWEEN)
def test_tables_of_recordings_have_what_the_recorded_release_before_has(release: str) -> None:
    older = max(one for one in RECORDED_RELEASES if one < release)
    assert config_rows.rows(config_rows.MAIN, release) == config_rows.rows(config_rows.MAIN, older)


@pytest.mark.parametrize(
    ("release", "command", "told"),
    [("23.02", "squeue --json", "squeue: error: JSON and YAML of Slurm 23.02 are not modelled\n"),
     ("23.02", "sinfo --yaml", "sinfo: error: JSON and YAML of Slurm 23.02 are not modelled\n"),
     ("23.02", "sacct --json", "sacct: error: JSON and YAML of Slurm 23.02 are not modelled\n"),
     ("23.11", "squeue --json=v0.0.39", "squeue: error: data_parser/v0.0.39 is not modelled; data_parser/v0.0.40 is\n"),
     ("24.05", "sacct --json", "sacct: error: data_parser/v0.0.41 is not modelled of the database\n"),
     ("25.05", "sacct --json=v0.0.41",
      "sacct: error: data_parser/v0.0.41 is not modelled of the database; data_parser/v0.0.43 is\n")],
)  # fmt: skip
def test_what_is_not_modelled_is_refused_by_name(
    clusters: dict[str, Cluster], release: str, command: str, told: str
) -> None:
    assert tuple(clusters[release].run(command)) == (1, "", told)


@pytest.mark.parametrize(
    ("command", "first"),
    [("scancel --usage", {"[--ctld]": "23.11"}), ("sinfo --long", {"RESERVATION": "23.02"}),
     ("squeue --usage", {"--only-job-state": "23.11", "--expand-patterns": "24.05", "--running-over": "25.11"}),
     ("sstat --helpformat", {"AllocTRES": "25.05", "SLUID": "26.05"}), ("sprio --long", {"QOSNAME": "23.02"})],
)  # fmt: skip
def test_words_come_with_the_release_that_brought_them(
    clusters: dict[str, Cluster], command: str, first: dict[str, str]
) -> None:
    for word, since in first.items():
        has = [word in "".join(str(part) for part in clusters[release].run(command)) for release in RELEASES]
        assert has == [release >= since for release in RELEASES], word
