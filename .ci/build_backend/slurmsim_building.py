"""How the extensions are compiled: sources side by side, and twice over where a profile is asked for.

With ``SLURMSIM_COMPILE=profile`` they are compiled so that they count which way they go, simulate what is in `train`,
and are compiled again with the counts, by which the C compiler places branches, inlines and lays out functions. It
needs GCC and what a simulation needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools.command.build_ext import build_ext
from slurmsim_compiling import profiled

MOST_AT_ONCE = 8  # a compiler takes up to half a GB
FAIR_SHARE = """
ClusterName=training
SelectType=select/linear
SchedulerType=sched/backfill
SchedulerParameters=bf_continue,bf_resolution=600,bf_window=1440,bf_max_job_test=500
PriorityType=priority/multifactor
PriorityWeightAge=100000
PriorityWeightJobSize=400000
PriorityWeightFairshare=300000
PriorityWeightQOS=200000
PriorityDecayHalfLife=14-0
PriorityMaxAge=100-0
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
NodeName=DEFAULT CPUs=16
NodeName=nid[00001-18688]
PartitionName=batch Nodes=ALL Default=YES
"""
LIMITS = """
cluster = "training"
[root]
QOS = ["capability", "capacity", "small"]
DefaultQOS = "small"
[qos.capability]
Priority = 100
MaxJobsPerUser = 2
[qos.capacity]
Priority = 50
GrpTRES = {node = 16000}
[qos.small]
GrpTRES = {node = 6000}
MaxJobsPerUser = 50
"""


class BuildExtensions(build_ext):
    """setuptools' own, with the sources of an extension compiled side by side."""

    def build_extensions(self) -> None:
        self.compiler.compile = side_by_side(self.compiler.compile)
        if not profiled():
            super().build_extensions()
            return
        with tempfile.TemporaryDirectory() as counts:
            self._build_with(f"-fprofile-generate={counts}")
            self.run_command("egg_info")
            train(Path(self.build_lib).absolute(), Path(self.get_finalized_command("egg_info").egg_info))
            if not any(Path(counts).rglob("*.gcda")):  # the second build would take no notice
                raise SystemExit(f"SLURMSIM_COMPILE=profile: the simulations left no counts in {counts}")
            # What was never run is compiled as it would be without counts, not for size; mypyc's warnings are errors.
            self._build_with(f"-fprofile-use={counts}", "-fprofile-partial-training", "-Wno-missing-profile")

    def _build_with(self, profile: str, *flags: str) -> None:
        """Build all, from the first source on, with flags beside each extension's own."""
        plain = [(extension, extension.extra_compile_args, extension.extra_link_args) for extension in self.extensions]
        for extension, compiling, linking in plain:
            extension.extra_compile_args = [*compiling, profile, *flags]
            extension.extra_link_args = [*linking, profile]
        self.force = True  # the objects have the same names: counts are found by them
        super().build_extensions()
        for extension, compiling, linking in plain:
            extension.extra_compile_args, extension.extra_link_args = compiling, linking


def side_by_side(compile_: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """A compiler's `compile` that starts as many processes as there are cores."""

    def compiled(sources: Sequence[str], *args: Any, **kwargs: Any) -> list[str]:
        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_AT_ONCE)) as pool:
            return [name for made in pool.map(lambda one: compile_([one], *args, **kwargs), sources) for name in made]

    return compiled


def train(library: Path, metadata: Path) -> None:
    """Simulate with the extensions in `library`: whole nodes and shared ones, EASY and Slurm's backfill, fair share.

    `metadata` is the folder that names the plugins. All workloads come with slurmsim or are made by its models; the
    logs of the benchmarks are not among them.
    """
    sample = library / "slurmsim_workloads/samples/sample"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copytree(metadata, place / "metadata" / metadata.name)
        paths = os.pathsep.join((str(library), str(place / "metadata")))

        def slurmsim(*words: str | Path) -> None:
            command = [sys.executable, "-P", "-m", "slurmsim", *map(str, words), "--quiet"]
            subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, check=True)

        def run(workload: str | Path, *words: str | Path) -> None:
            shutil.rmtree(place / "run", ignore_errors=True)
            slurmsim("run", "--workload", workload, *words, "--out", "run")

        run(f"{sample}.parquet", "--conf", f"{sample}.conf")
        slurmsim("generate", "lublin", "--jobs", "8000", "--load", "0.9", "-o", "estimate=popular", "--out=l.parquet")
        run("l.parquet", "--nodes", "128", "--policy", "easy")
        run("l.parquet", "--nodes", "128", "--policy", "backfill")
        slurmsim("generate", "titan", "--jobs", "6000", "-o", "qos=1", "--out=t.parquet")
        Path(place, "t.conf").write_text(FAIR_SHARE, encoding="utf-8")
        Path(place, "t.toml").write_text(LIMITS, encoding="utf-8")
        run(
            "t.parquet",
            "--conf",
            "t.conf",
            "--accounting",
            "t.toml",
            "--unknown-accounts",
            "add",
            "--policy",
            "backfill",
        )
