"""The bundled sample: reproducible from its seed, small, and what its description says."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from slurmsim.cli import build_parser
from slurmsim.config.load import load_cluster
from slurmsim.errors import ConfigError
from slurmsim.workload import Workload
from slurmsim_workloads.parquet import ParquetFormat
from slurmsim_workloads.samples import make_sample, sample_path


@pytest.fixture(scope="module")
def sample() -> Workload:
    return ParquetFormat().read(sample_path("sample.parquet"), {})


def test_file_is_what_the_seed_makes(sample: Workload) -> None:
    made = make_sample()
    for name, column in made.ints.items():
        assert np.array_equal(column, sample.ints[name]), name
    for name in made.texts:
        mine, theirs = (np.array(w.texts[name].values, object)[w.texts[name].codes] for w in (made, sample))
        assert np.array_equal(mine, theirs), name
    assert made.header == sample.header


def test_is_small() -> None:
    assert sample_path("sample.parquet").stat().st_size < 400_000


def test_is_as_described(sample: Workload) -> None:
    ints, texts = sample.ints, sample.texts
    assert len(sample) == 5_000
    assert {texts["partition"][i] for i in range(5_000)} == {"batch", "gpu"}
    assert len(np.unique(texts["user"].codes)) == 30
    assert len(np.unique(texts["account"].codes)) == 4
    assert 6.5 < (ints["submit"][-1] - ints["submit"][0]) / 86_400 < 7.5
    tasks = ints["array_job_id"] > 0
    assert tasks.mean() == pytest.approx(0.29, abs=0.005)
    assert len(np.unique(ints["array_job_id"][tasks])) == 121


@pytest.mark.parametrize(("partition", "nodes", "gpus"), [("batch", 64, 0), ("gpu", 8, 4)], ids=["batch", "gpu"])
def test_each_partition_is_busy_but_not_overloaded(sample: Workload, partition: str, nodes: int, gpus: int) -> None:
    """Node-seconds asked for (CPUs or GPUs, whichever is more, memory aside) over those there are: 80 to 95 %."""
    ints = sample.ints
    mine = np.array([v == partition for v in sample.texts["partition"].values])[sample.texts["partition"].codes]
    gres = np.array([int(v[4:]) if v else 0 for v in sample.texts["gres"].values])[sample.texts["gres"].codes]
    n = np.maximum(ints["nodes"], 1)
    share = ints["tasks"] * ints["cpus_per_task"] / n / 32
    if gpus:
        assert np.all(gres[mine] > 0)
        share = np.maximum(share, gres / gpus)
    share = np.where(ints["exclusive"] == 1, 1.0, share)
    held = np.minimum(ints["run_time"], ints["time_limit"])
    held = np.where(ints["cancel_at"] >= 0, np.minimum(held, ints["cancel_at"] - ints["submit"]), held)
    load = (n * share * held)[mine].sum() / (nodes * (ints["submit"][-1] - ints["submit"][0]))
    assert 0.80 < load < 0.95


def test_sample_path() -> None:
    assert sample_path("sample.conf").read_text().startswith("# The cluster")
    with pytest.raises(ConfigError, match=r"no sample 'nope.conf' \(expected one of sample.conf, sample.parquet\)"):
        sample_path("nope.conf")


def test_conf_is_honoured_whole_and_has_the_nodes_the_jobs_were_made_for(sample: Workload) -> None:
    cluster, findings = load_cluster(sample_path("sample.conf"), strict=True)
    assert findings == []
    assert [(p.name, len(p.nodes), p.max_time_s) for p in cluster.partitions] == [
        ("batch", 64, 86_400),
        ("gpu", 8, 86_400),
    ]
    assert {(n.cpus, n.real_memory_mib) for n in cluster.nodes} == {(32, 128_000)}
    assert cluster.option("DefMemPerCPU") * 32 == 128_000  # what a job that says nothing gets fits on a node
    assert cluster.option("AccountingStorageType") == "accounting_storage/slurmdbd"  # else the age factor stays 0
    assert sample.ints["time_limit"].max() <= 86_400
    assert sample.ints["array_task_id"].max() < cluster.option("MaxArraySize")


def test_documented_command_makes_the_very_file(tmp_path: Path) -> None:
    """The command of docs/generators.md and `make_sample` write equal bytes (as this version of Arrow writes them)."""
    docs = Path(__file__).parents[3] / "docs" / "generators.md"
    text = docs.read_text(encoding="utf-8").split("## The bundled sample")[1].replace("\\\n", " ")
    (line,) = [line for line in text.splitlines() if line.startswith("$ slurmsim ")]
    words = shlex.split(line)[2:]
    words[words.index("--out") + 1] = str(tmp_path / "typed.parquet")
    parser = build_parser("generate")
    args = parser.parse_args([*words, "--quiet"])
    assert args.func(args) == 0
    ParquetFormat().write(make_sample(), tmp_path / "made.parquet")
    assert (tmp_path / "typed.parquet").read_bytes() == (tmp_path / "made.parquet").read_bytes()
