"""``slurmsim generate`` and the registry of models."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import slurmsim
from slurmsim.cli import build_parser
from slurmsim.errors import ConfigError, OutputError, WorkloadError
from slurmsim_workloads import generators
from slurmsim_workloads.parquet import ParquetFormat
from slurmsim_workloads.swf.format import SwfFormat

MODELS = "lublin, mix, titan, lomonosov-regular4, llm-training, inference, interactive"
DOCS = Path(__file__).parents[3] / "docs" / "generators.md"


def run(*words: str) -> int:
    parser = build_parser("generate")
    args = parser.parse_args(["generate", *words])
    return args.func(args)


class TestFiles:
    def test_parquet(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "mix.parquet"
        assert run("mix", "--jobs", "300", "--seed", "4", "--nodes", "10", "--load", "0.7", "--out", str(out)) == 0
        assert capsys.readouterr().out.startswith(f"{out}: 300 jobs submitted over ")
        read = ParquetFormat().read(out, {})
        made = generators.generate("mix", {"jobs": "300", "nodes": "10", "load": "0.7"}, 4)
        assert np.array_equal(read.ints["run_time"], made.ints["run_time"])
        assert read.header.fields["Generator"] == "slurmsim mix, seed 4, jobs=300 load=0.7 nodes=10"

    @pytest.mark.parametrize("suffix", [".swf", ".swf.gz"])
    def test_swf(self, tmp_path: Path, suffix: str) -> None:
        out = tmp_path / f"l{suffix}"
        assert run("lublin", "--jobs", "200", "-o", "estimate=uniform", "--quiet", "--out", str(out)) == 0
        read = SwfFormat().read(out, {})
        made = generators.generate("lublin", {"jobs": "200", "estimate": "uniform"}, 1)
        for name in ("submit", "run_time", "time_limit", "tasks"):
            assert np.array_equal(read.ints[name], made.ints[name]), name
        assert read.header.max_nodes == 128

    def test_same_command_same_bytes(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            run("titan", "--jobs", "1000", "--seed", "2", "--quiet", "--out", str(tmp_path / f"{name}.parquet"))
        assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()

    def test_what_swf_cannot_hold_is_refused_or_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "t.swf"
        with pytest.raises(WorkloadError, match="exclusive"):
            run("titan", "--jobs", "10", "--out", str(out))
        assert not out.exists()
        assert run("titan", "--jobs", "10", "--lossy", "--out", str(out)) == 0
        assert "left out  exclusive (10 jobs)" in capsys.readouterr().out

    def test_a_failure_leaves_the_old_file(self, tmp_path: Path) -> None:
        out = tmp_path / "old.swf"
        out.write_text("precious")
        with pytest.raises(ConfigError):
            run("mix", "--jobs", "-3", "--out", str(out))
        with pytest.raises(WorkloadError):
            run("titan", "--jobs", "3", "--out", str(out))
        assert out.read_text() == "precious"
        assert list(tmp_path.iterdir()) == [out]

    def test_unwritable(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError):
            run("mix", "--jobs", "9", "--out", str(tmp_path / "missing" / "x.parquet"))

    def test_hash_seed_and_process_do_not_matter(self, tmp_path: Path) -> None:
        """Two fresh interpreters with different hash seeds write equal bytes."""
        code = (
            "import sys; from pathlib import Path; from slurmsim_workloads.generators import generate;"
            "from slurmsim_workloads.parquet import ParquetFormat;"
            "ParquetFormat().write(generate('mix', {'jobs': '500', 'partitions': 'a,b:gpus=2'}, 3), Path(sys.argv[1]))"
        )
        for seed in ("1", "2"):
            path = tmp_path / f"{seed}.parquet"
            subprocess.run([sys.executable, "-c", code, str(path)], check=True, env={"PYTHONHASHSEED": seed})
        assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()


class TestBadCommands:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ["nix", "--out", "x.parquet"],
                f"MODEL: no workload model 'nix' (expected one of {MODELS})",
            ),
            (["--out", "x.parquet"], f"MODEL: no model given (expected one of {MODELS})"),
            (["mix"], "--out: no file given (expected a .parquet, .swf or .swf.gz file)"),
            (["mix", "--jobs", "1e3", "--out", "x.swf"], "jobs: bad value '1e3' (expected an integer at least 1)"),
            (["mix", "--load", "0", "--out", "x.swf"], "load: bad value 0.0 (expected a number above 0)"),
            (["mix", "--seed", "x", "--out", "x.swf"], "--seed: bad value 'x' (expected an integer of at least 0)"),
            (["mix", "--seed", "-1", "--out", "x.swf"], "seed: bad value -1 (expected an integer of at least 0)"),
            (["titan", "--nodes", "5", "--out", "x.swf"], "--nodes: the model titan has no such parameter"),
            (
                ["mix", "--jobs", "5", "-o", "jobs=6", "--out", "x.swf"],
                "--jobs: also given as -o jobs (expected one of the two)",
            ),
            (["mix", "-o", "jobs", "--out", "x.swf"], "--option: 'jobs' is not KEY=VALUE"),
            (["mix", "-o", "gpu=1", "--out", "x.swf"], "gpu: this model has no such parameter"),
        ],
    )
    def test_are_one_line_that_says_what_and_where(self, words: list[str], message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            run(*words)
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)

    def test_unknown_suffix_is_found_before_the_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(generators, "generate", None)
        with pytest.raises(ConfigError, match="suffix"):
            run("titan", "--out", "x.jobs")


class TestList:
    def test_all_models_and_parameters(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("--list") == 0
        text = capsys.readouterr().out
        for model in generators.MODELS.values():
            assert f"{model.name}: {model.summary}" in text
            for row in model.parameters():
                assert any(line.split()[:2] == [row.name, row.default] for line in text.splitlines()), row.name
                assert row.help in text

    def test_one_model(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("titan", "--list") == 0
        text = capsys.readouterr().out
        assert "562079" in text
        assert "lublin" not in text

    def test_help_names_every_model(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            run("--help")
        text = capsys.readouterr().out
        assert all(name in text for name in generators.MODELS)


class TestRegistry:
    @pytest.mark.parametrize("model", generators.MODELS.values(), ids=lambda model: model.name)
    def test_defaults_shown_are_the_defaults(self, model: generators.Model) -> None:
        """Each default, given as text, makes the very parameters the class has without it."""
        given = {row.name: row.default for row in model.parameters()}
        assert generators.parse(model.params, given) == model.params()

    @pytest.mark.parametrize("model", generators.MODELS.values(), ids=lambda model: model.name)
    def test_parameters_are_frozen(self, model: generators.Model) -> None:
        params = model.params()
        with pytest.raises(dataclasses.FrozenInstanceError):
            params.jobs = 3

    @pytest.mark.parametrize("model", generators.MODELS.values(), ids=lambda model: model.name)
    def test_documented(self, model: generators.Model) -> None:
        """docs/generators.md has a section on the model; ``--list`` has its parameters."""
        section = DOCS.read_text(encoding="utf-8").split(f"\n## `{model.name}`")[1].split("\n## ")[0]
        assert len(section) > 500

    def test_one_job(self) -> None:
        assert len(generators.generate("lublin", {"jobs": "1"}, 0)) == 1
        assert len(generators.generate("titan", {"jobs": "1"}, 0)) == 1
        assert len(generators.generate("mix", {"jobs": "1", "jobs_per_hour": "5"}, 0)) == 1


def test_models_of_gpu_clusters_in_a_sweep(tmp_path: Path) -> None:
    """Each by its name, under two policies, with failures and checkpoints; every cell is done."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=ai\nSlurmctldHost=head\nSelectType=select/cons_tres\nGresTypes=gpu\n"
        "NodeName=n[1-16] CPUs=96 RealMemory=1000000 Gres=gpu:8\nPartitionName=all Nodes=n[1-16] Default=YES\n"
    )
    small = {
        "llm-training": "jobs=30,nodes=16,median=2", "inference": "services=4,load=0.3",
        "interactive": "jobs=40,cpus_per_node=96,gpus_per_node=8",
    }  # fmt: skip
    found = slurmsim.sweep(
        {
            "workloads": [{"name": name, "workload": f"generate:{name}:{keys}"} for name, keys in small.items()],
            "policies": ["easy", "fcfs"], "seeds": [1],
            "run": {"conf": str(tmp_path / "slurm.conf"), "mtbf": 500_000, "mttr": 3600, "checkpoint": "3600:60:300"},
        },
        out=tmp_path / "out", workers=1,
    )  # fmt: skip
    frame = pd.read_parquet(tmp_path / "out" / "summaries.parquet")
    assert (found.done, found.failed) == (6, [])
    assert (frame["refused"] == 0).all() and (frame["never_started"] == 0).all() and (frame["goodput"] > 0).all()


def test_failures_that_go_with_a_log_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("llm-training", "--jobs", "5", "-o", "interval=900", "--out", str(tmp_path / "a.parquet")) == 0
    assert capsys.readouterr().out.splitlines()[1] == "failures  --mtbf 22806000 --checkpoint 900:60:300"
