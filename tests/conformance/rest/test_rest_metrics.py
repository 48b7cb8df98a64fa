"""``/metrics`` against names and counts that slurmctld of 26.05 gave in the same state, read as Prometheus does."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator

import pytest
from rest_world import HERE, World

from slurmsim.rest.messages import Request
from slurmsim.rest.server import make_service
from slurmsim.rest.service import Service

parser = pytest.importorskip("prometheus_client.parser")
PAGES = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler", "/metrics/jobs-users-accts")
MEASURED = ("_mem_free", "_memory_free_bytes", "slurm_bf_", "slurm_sched", "slurm_schedule", "slurm_last_",
            "slurm_sdiag_", "slurm_server_", "slurm_backfilled", "slurm_agent")  # fmt: skip
"""Names whose values only the machine and the moment of the recording know."""
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    world = World("26.05")
    world.until(world.recorded["commands_at"])
    made = make_service(str(world.folder), user="alice")
    yield made
    made.close()
    world.close()


def samples(text: str) -> tuple[dict[str, str], Samples]:
    """Types by name, and values by name and labels."""
    families = list(parser.text_string_to_metric_families(text))
    return {one.name: one.type for one in families}, {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value for one in families for sample in one.samples
    }


@pytest.mark.parametrize("page", PAGES)
def test_names_types_and_counts_are_those_of_the_recording(service: Service, page: str) -> None:
    recorded = json.loads(lzma.decompress((HERE / "metrics-26.05.json.xz").read_bytes()))["answers"][page]
    answer = service.answer(Request("GET", page))
    assert (answer.status, answer.content_type) == (200, "text/plain")
    types, values = samples(answer.body.decode())
    real_types, real = samples(recorded)
    assert list(types.items()) == list(real_types.items())
    assert values.keys() == real.keys()
    unlike = {key: (real[key], value) for key, value in values.items()
              if value != real[key] and not any(word in key[0] for word in MEASURED)}  # fmt: skip
    # a job of the set-up took another free node then: the two nodes and their partitions
    assert len(unlike) <= 0.05 * len(real), unlike


def test_the_exporters_names_are_at_the_usual_place(service: Service) -> None:
    types, values = samples(service.answer(Request("GET", "/metrics")).body.decode())
    assert set(types.values()) == {"gauge"}
    plain = {name: value for (name, labels), value in values.items() if not labels}
    assert plain["slurm_cpus_total"] == 128
    assert plain["slurm_cpus_total"] == sum(plain[f"slurm_cpus_{name}"] for name in ("alloc", "idle", "other"))
    assert plain["slurm_queue_pending"] == 8 and plain["slurm_queue_running"] == 7
    assert values["slurm_user_jobs_running", (("user", "alice"),)] == 3
    assert values["slurm_partition_cpus_total", (("partition", "batch"),)] == 112
    assert sum(value for name, value in plain.items() if name.startswith("slurm_nodes_")) == 16


def test_there_are_no_other_pages(service: Service) -> None:
    assert service.answer(Request("GET", "/metrics/nothing")).status == 404
    assert service.answer(Request("POST", "/metrics")).status == 404
