"""Pseudonyms: no name is left, equal names stay equal, and the jobs are the same jobs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_helpers import ints, texts

from slurmsim import hostlist
from slurmsim.workload import INT_COLUMNS, TEXT_COLUMNS, QualityReport, TextColumn, Workload, WorkloadHeader
from slurmsim_workloads.transforms.anonymize import anonymize

SECRET = {
    "user": ["zoe", "ann", "zoe"], "account": ["physics", "", "chem"], "name": ["relax", "md", "md"],
    "log_nodes": ["n[1-2]", "n3", ""], "node_list": ["", "n3", ""], "exclude": ["", "", "n1"],
}  # fmt: skip
PUBLIC = {
    "partition": ["gpu,batch", "batch", "gpu"], "qos": ["high", "", "high"], "constraint": ["bigmem&ib", "", "ib"],
    "gres": ["gpu:a100:2", "gpu:2,nvme:1", ""], "gpus": ["", "", "a100:4"],
    "dependency": ["", "afterok:1", ""], "outcome": ["", "FAILED", ""], "log_state": ["COMPLETED", "FAILED", ""],
}  # fmt: skip


def sample() -> Workload:
    columns = {"job_id": [1, 2, 3], "submit": [100, 200, 300], "begin": [-1, 250, -1], "log_start": [110, 260, -1]}
    return Workload(
        {k: np.array(v, np.int64) for k, v in columns.items()},
        {k: TextColumn.from_list(v) for k, v in (SECRET | PUBLIC).items()},
        WorkloadHeader(
            "secret.swf", "swf", 1000, 4, 8, {"Note": "zoe did it", "MaxProcs": "8", "UnixStartTime": "1000"}
        ),
        QualityReport(3, 3, {"run time zero": 1}, {}, {"run time zero": ["line 1: job 1"]}),
    )


def test_names_go_and_all_else_stays() -> None:
    before, after = sample(), anonymize(sample(), seed=1)
    for name in INT_COLUMNS:
        assert ints(before, name) == ints(after, name)
    for name in PUBLIC:
        assert texts(before, name) == texts(after, name)
    told = {v for name in TEXT_COLUMNS for v in after.texts[name].values}
    assert not told & {"zoe", "ann", "physics", "chem", "relax", "md", "n[1-2]", "n3", "n1"}
    users = texts(after, "user")
    assert users[0] == users[2] != users[1] and set(users) == {"user1", "user2"}
    assert texts(after, "account")[1] == "" and set(texts(after, "name")) == {"job1", "job2"}
    assert after.header.fields == {"MaxProcs": "8", "UnixStartTime": "1000"} and after.header.source == ""
    assert (after.header.epoch, after.header.max_procs) == (1000, 8)
    assert after.quality.repaired == {"run time zero": 1} and after.quality.examples == {}


def test_a_node_has_one_pseudonym_everywhere() -> None:
    after = anonymize(sample(), seed=3)
    ran, wanted, barred = (texts(after, name) for name in ("log_nodes", "node_list", "exclude"))
    assert ran[1] == wanted[1] and barred[2] in hostlist.expand(ran[0])
    assert {*hostlist.expand(ran[0]), ran[1]} == {"node1", "node2", "node3"}


def test_everything_takes_the_sites_names_too() -> None:
    after = anonymize(sample(), seed=1, everything=True)
    partitions = texts(after, "partition")
    assert (
        set(partitions[0].split(",")) == {"partition1", "partition2"} and partitions[0].split(",")[0] == partitions[2]
    )
    assert texts(after, "qos") == ["qos1", "", "qos1"]
    first, _, last = texts(after, "constraint")
    assert set(first.split("&")) == {"feature1", "feature2"} and last == first.split("&")[1]
    assert texts(after, "gres") == ["gpu:type1:2", "gpu:2,nvme:1", ""] and texts(after, "gpus") == ["", "", "type1:4"]
    assert texts(after, "dependency") == PUBLIC["dependency"]


def test_times_can_be_shifted_together() -> None:
    after = anonymize(sample(), shift_s=100)
    assert ints(after, "submit") == [0, 100, 200] and ints(after, "begin") == [-1, 150, -1]
    assert ints(after, "log_start") == [10, 160, -1]
    assert after.header.epoch == 0 and "UnixStartTime" not in after.header.fields


@given(st.lists(st.sampled_from(["ann", "bob", "cy", "dot", ""]), min_size=1, max_size=9), st.integers(0, 99))
def test_pseudonyms_are_a_renaming_and_repeatable(users: list[str], seed: int) -> None:
    n = len(users)
    w = Workload({"job_id": np.arange(1, n + 1)}, {"user": TextColumn.from_list(users)})
    after = texts(anonymize(w, seed), "user")
    assert len(set(zip(users, after, strict=True))) == len(set(users)) == len(set(after))
    assert [a == "" for a in after] == [u == "" for u in users]
    backwards = Workload({"job_id": np.arange(1, n + 1)}, {"user": TextColumn.from_list(users[::-1])})
    assert texts(anonymize(backwards, seed), "user") == after[::-1]


@pytest.mark.parametrize("columns", [["user"], ["account"], ["name"]])
def test_the_seed_decides_the_numbering(columns: list[str]) -> None:
    people = [f"p{i}" for i in range(30)]
    w = Workload({"job_id": np.arange(1, 31)}, {c: TextColumn.from_list(people) for c in columns})
    assert texts(anonymize(w, 1), columns[0]) != texts(anonymize(w, 2), columns[0])
    assert texts(anonymize(w, 1), columns[0]) == texts(anonymize(w, 1), columns[0])
