"""What an instance may be: the file's form, what is refused and in which words."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from cp_cases import WORKED_EXAMPLE, instances, made
from hypothesis import given

from slurmsim_policies.cp.plain import instance_from, plain_from
from slurmsim_policies.cp.problem import Instance, Load
from slurmsim_policies.cp.validation import InstanceError


@given(instance=instances())
def test_plain_data_and_pickles_lose_nothing(instance: Instance) -> None:
    assert instance_from(json.loads(json.dumps(plain_from(instance)))) == instance
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_rare_keys_lose_nothing() -> None:
    instance = made(
        [{"count": 3, "core": 4}],
        [{"core": 2, "duration": 5, "rn": 2, "within": [2, 0], "per_node": 1, "power_w": 7}],
        power=20, origin=-5, reservations=[{"start": 3, "duration": 4, "nodes": [1]}],
    )  # fmt: skip
    assert instance_from(plain_from(instance)) == instance
    assert instance.jobs[0].within == (0, 2)


def test_equation_6_depends_on_the_node_and_skips_what_is_not_needed() -> None:
    instance = instance_from(WORKED_EXAMPLE)
    places = {job.id: instance.places(job) for job in instance.jobs}
    assert [set(places["000"][:32]), set(places["000"][32:])] == [{2}, {0}]  # limited by GPUs
    assert set(places["003"]) == {1} and [set(places["004"][:32]), set(places["004"][32:])] == [{0}, {1}]


NODES = [{"count": 2, "core": 4, "gpu": 1}, {"count": 1, "core": 8}]
JOB = {"id": "a", "q": 0, "rn": 1, "core": 2, "duration": 10, "ewt": 5}
RUNS = {**JOB, "start": 0, "nodes": [0]}


@pytest.mark.parametrize(
    "jobs, said",
    [
        ([{**JOB, "rn": 0}], "jobs[0].rn: expected an integer from 1 to 1099511627776, got 0"),
        ([{**JOB, "rn": "two"}], "jobs[0].rn: expected an integer, got 'two'"),
        ([{**JOB, "rn": True}], "jobs[0].rn: expected an integer, got True"),
        ([{**JOB, "duration": 0}], "jobs[0].duration: expected an integer from 1"),
        ([{**JOB, "duration": -5}], "jobs[0].duration: expected an integer from 1"),
        ([{**JOB, "ewt": 0}], "jobs[0].ewt: expected an integer from 1"),
        ([{**JOB, "core": 9}], "jobs[0].core: expected at most 8, what the largest node has, got 9 (job a)"),
        ([{**JOB, "core": 6, "gpu": 1}], "jobs[0]: expected a unit that some node it may use can hold (job a)"),
        ([{**JOB, "gpu": 1, "rn": 3}], "jobs[0].rn: expected at most 2, what all nodes hold when empty, got 3 (job a)"),
        ([{**JOB, "core": 0}], "jobs[0]: expected a demand of at least one resource above 0 (job a)"),
        ([{**JOB, "fpga": 1}], "jobs[0].fpga: expected one of id, q, rn, "),
        ([JOB, JOB], "jobs[1].id: expected an id of its own, 'a' is jobs[0] already"),
        ([{**JOB, "q": 1}], "jobs[0].q: expected a time up to now (0), got 1 (job a)"),
        ([{**RUNS, "start": 1}], "jobs[0].start: expected a time up to now (0), got 1 (job a)"),
        ([{**RUNS, "nodes": [0, 1]}], "jobs[0].nodes: expected 1 node indices, one a unit, got 2 (job a)"),
        ([{**RUNS, "nodes": [3]}], "jobs[0].nodes: expected node indices from 0 to 2, got 3 (job a)"),
        ([{**JOB, "nodes": [0]}], "jobs[0].start: expected the start of a job that has nodes (job a)"),
        ([{**RUNS, "core": 3}, {**RUNS, "id": "b"}],
         "jobs[1].nodes: expected units that fit, node 0 would have 5 of 4 core in use (job b)"),
        ([{**JOB, "within": [0, 7]}], "jobs[0].within: expected node indices from 0 to 2, got 7 (job a)"),
        ([{**JOB, "gpu": 1, "within": [2]}], "jobs[0]: expected a unit that some node it may use can hold (job a)"),
        ([{**JOB, "per_node": 1, "rn": 4}], "jobs[0].rn: expected at most 3,"),
        (["a"], "jobs[0]: expected a table, got 'a'"),
        ("a", "jobs: expected tables, [[jobs]], got 'a'"),
        ([{**JOB, "id": ""}], "jobs[0].id: expected a word or a number, got ''"),
    ],
)  # fmt: skip
def test_wrong_jobs_are_named_in_one_line(jobs: Any, said: str) -> None:
    with pytest.raises(InstanceError) as raised:
        instance_from({"now": 0, "nodes": NODES, "jobs": jobs})
    assert str(raised.value).startswith(said) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"now": "noon"}, "now: expected an integer, got 'noon'"),
        ({"now": None}, "now: expected an integer, got None"),
        ({"nodes": []}, "nodes: expected tables, [[nodes]], got []"),
        ({"nodes": [{"count": 3}]}, "nodes[0]: expected at least one resource, as in core = 16"),
        ({"nodes": [{"count": 0, "core": 4}]}, "nodes[0].count: expected an integer from 1"),
        ({"nodes": [{"core": -4}]}, "nodes[0].core: expected an integer from 0"),
        ({"nodes": [{"core": 4, "rn": 2}]}, "nodes.rn: expected a resource with a name that is no key of jobs"),
        ({"nodes": [{"count": 2**21, "core": 4}]}, "nodes: expected at most 1048576 nodes in all"),
        ({"power": 5, "jobs": [{**JOB, "power_w": 6}]}, "jobs[0].power_w: expected at most 5, the power there is"),
        ({"power": 5, "jobs": [{**RUNS, "power_w": 3}, {**RUNS, "id": "b", "power_w": 3}]},
         "power: expected at least 6, what running jobs draw, got 5"),
        ({"reservations": [{"start": 0, "duration": 0, "nodes": [0]}]}, "reservations[0].duration: expected an"),
        ({"reservations": [{"start": 0, "duration": 1, "nodes": [9]}]}, "reservations[0].nodes: expected node indices"),
        ({"speed": 1}, "speed: expected one of now, "),
    ],
)  # fmt: skip
def test_wrong_instances_are_named_in_one_line(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InstanceError) as raised:
        instance_from({"now": 0, "nodes": NODES, "jobs": [JOB], **copy.deepcopy(change)})
    assert str(raised.value).startswith(said) and "\n" not in str(raised.value)


def test_a_job_past_its_end_counts_as_ending_in_the_next_second() -> None:
    instance = made([{"core": 4}], [{"core": 2, "duration": 3, "q": -9, "start": -8, "nodes": [0]}])
    assert instance.end(instance.jobs[0]) == 1 and instance.horizon == 1


def test_under_a_reservation_what_runs_stays_and_the_rest_is_taken() -> None:
    """The units that still run when it begins count until it ends; those that end before do not."""
    instance = made(
        [{"count": 2, "core": 4}],
        [{"core": 1, "duration": 3, "start": 0, "nodes": [0]}, {"core": 1, "duration": 6, "start": 0, "nodes": [0]}],
        reservations=[{"start": 4, "duration": 5, "nodes": [0]}, {"start": 8, "duration": 4, "nodes": [0]}],
    )
    assert instance.loads == (Load(0, 0, 3, (1,), 0), Load(0, 0, 12, (1,), 1), Load(0, 4, 12, (3,)))
