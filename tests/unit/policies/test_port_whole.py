"""The port is declared whole: shipped policies take nothing else, the core has all of it, a stranger can do as much."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from world import World, simple

import slurmsim.policy
import slurmsim_policies
from slurmsim.core.accounting.limits import Limits
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.selector import Forecast
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import Record
from slurmsim.core.records.partition import Partition
from slurmsim.core.reservations.access import Access
from slurmsim.core.scheduling.planned_nodes import SharedNodes, WholeNodes
from slurmsim.core.scheduling.policy_view import View
from slurmsim.core.scheduling.pool_view import PoolView

# what stands behind each protocol
CORE = {
    slurmsim.policy.SlurmView: View, slurmsim.policy.Pool: PoolView, slurmsim.policy.SlurmRecord: Record,
    slurmsim.policy.SlurmJob: Job, slurmsim.policy.RequestView: CompiledRequest, slurmsim.policy.LimitsView: Limits,
    slurmsim.policy.PartitionView: Partition, slurmsim.policy.WholeNodes: WholeNodes,
    slurmsim.policy.SharedNodes: SharedNodes,
    slurmsim.policy.Forecast: Forecast,
    slurmsim.policy.Access: Access,
}  # fmt: skip
NAMED = {"view": slurmsim.policy.SlurmView, "pool": slurmsim.policy.Pool, "record": slurmsim.policy.SlurmRecord,
         "job": slurmsim.policy.SlurmJob, "limits": slurmsim.policy.LimitsView}  # fmt: skip
SHIPPED = sorted(Path(slurmsim_policies.__path__[0]).rglob("*.py"))
# of packages with problems of their own, whose jobs are no jobs of the view, the modules that see a cluster
SEEING = [
    path for path in SHIPPED
    if path.parent.name not in ("cp", "models", "parm") or path.stem in ("policy", "picture")
]  # fmt: skip
SMALL_PORT = 15
MIXED = """ClusterName=c
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=30,bf_max_job_user=20
NodeName=n[1-6] CPUs=4 CoresPerSocket=4 RealMemory=4000
PartitionName=a Nodes=n[1-4] Default=YES MaxTime=60 DefaultTime=10
PartitionName=b Nodes=n[3-6] MaxTime=60 DefaultTime=10
"""


def members(protocol: type) -> set[str]:
    """What a protocol declares, with those it extends."""
    return {name for name in dir(protocol) if not name.startswith("_")}


def test_the_request_of_a_record_can_be_had_under_its_old_name() -> None:
    w = World(simple(2), "backfill")
    w.sbatch("-J long -N 2 -t 10", run=600)
    w.sbatch("-J waits -N 2 -t 10", run=60)
    w.until(1)
    (record,) = w.controller.state.queue.jobs[w["waits"].id]
    with pytest.warns(DeprecationWarning, match="called request"):
        assert record.shape is record.request is w["waits"].request


def test_the_small_port_stays_small() -> None:
    assert len(members(slurmsim.policy.ClusterView)) == SMALL_PORT


@pytest.mark.parametrize("protocol", CORE, ids=lambda protocol: protocol.__name__)
def test_the_core_has_all_that_is_declared(protocol: type) -> None:
    stands = CORE[protocol]
    has = set(dir(stands)) | {name for base in stands.__mro__ for name in getattr(base, "__slots__", ())}
    has |= set(re.findall(r"self\.(\w+)", _source_of_init(stands)))  # instance attributes of classes without slots
    assert members(protocol) <= has


def _source_of_init(cls: type) -> str:
    path = Path(sys.modules[cls.__module__].__file__ or "")
    source = path.with_name(path.name.partition(".")[0] + ".py")  # of a compiled module, too
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
            return ast.unparse(node)
    return ""


@pytest.mark.parametrize("path", SEEING, ids=lambda path: path.stem)
def test_shipped_policies_take_nothing_that_is_not_declared(path: Path) -> None:
    taken = {
        (name, node.attr)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and (name := _name_of(node.value)) in NAMED
    }
    own = {("limits", "none"), ("limits", "users"), ("limits", "accounts"), ("limits", "hours"), ("limits", "general"),
           ("limits", "of")} if path.stem.startswith("cpu_") else set()  # fmt: skip
    assert {(name, attribute) for name, attribute in taken if attribute not in members(NAMED[name])} <= own


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_policies_import_the_port_and_what_it_is_made_of(path: Path) -> None:
    imported = {
        node.module for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
    }
    ours = {name for name in imported if name and name.startswith("slurmsim.")}
    more = {"slurmsim.energy"} if path.parent.name == "parm" else set()
    if path.stem == "learned_order":  # it decides by a network of the gym, which it was learned in
        more = {"slurmsim.gym.network", "slurmsim.gym.observing", "slurmsim.input_file"}
    known = {"policy", "bitmap", "capacity", "data_classes", "duration", "errors", "extras", "kernel", "toml_file"}
    assert ours <= {f"slurmsim.{name}" for name in known} | more


# -- a stranger's package -----------------------------------------------------------------------------------------


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """sched/backfill, copied into a package outside the tree, behind a view that has what is declared and no more."""
    package = tmp_path / "stranger"
    package.mkdir()
    for path in SHIPPED:
        if path.parent.name == "slurm_backfill":
            text = path.read_text("utf-8").replace("slurmsim_policies.slurm_backfill", "stranger")
            (package / path.name).write_text(text.replace('name = "backfill"', 'name = "strange"'), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    offer(monkeypatch, EntryPoint("strange", f"{__name__}:narrowed", slurmsim.policy.GROUP))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger"]:
        del sys.modules[name]


def offer(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    """These policies beside those that are installed."""
    from importlib.metadata import entry_points

    every = [*entry_points(group=slurmsim.policy.GROUP), *points]
    monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda group: every)


class Narrow:
    """`it`, but only what `protocol` declares."""

    def __init__(self, it: Any, protocol: type) -> None:
        self._it, self._shown = it, members(protocol)

    def __getattr__(self, name: str) -> Any:
        if name not in self._shown:
            raise AssertionError(f"{name} is not declared")
        return getattr(self._it, name)


class NarrowView(Narrow):
    """The view, its pools and limits narrowed as well; records and jobs must stay what the core knows."""

    def __init__(self, it: Any) -> None:
        super().__init__(it, slurmsim.policy.SlurmView)
        self.pools = [Narrow(pool, slurmsim.policy.Pool) for pool in it.pools]

    @property
    def limits(self) -> Any:
        limits = self._it.limits
        return None if limits is None else Narrow(limits, slurmsim.policy.LimitsView)


def __getattr__(name: str) -> Any:
    """`narrowed`: the stranger's policy, made when its package is there."""
    if name != "narrowed":
        raise AttributeError(name)
    from stranger import SlurmBackfill  # type: ignore[import-not-found]

    class Narrowed(SlurmBackfill):  # type: ignore[misc]
        def next_time(self, view: Any, now: int, changed: bool) -> int | None:
            return super().next_time(NarrowView(view), now, changed)

        def schedule(self, view: Any, now: int) -> Any:
            return super().schedule(NarrowView(view), now)

    return Narrowed


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("conf", [simple(4), MIXED], ids=["equal nodes", "two partitions"])
def test_a_strangers_package_can_do_all_that_backfill_does(conf: str) -> None:
    assert starts(conf, "strange") == starts(conf, "backfill")


def starts(conf: str, policy: str) -> list[tuple[int, int, int]]:
    """When and where the jobs of a small mixture start."""
    w = World(conf, policy)
    for k in range(40):
        where = ("-p a,b" if k % 3 == 0 else "-p b") if "PartitionName=b" in conf else ""
        w.sbatch(f"-J j{k} -N {1 + k * 7 % 4} -t {5 + k * 11 % 50} {where}", run=60 + k * 37 % 900, at=11 * k)
    w.until(40_000)
    found = [(job.start_time or 0, job.id, job.nodes) for job in w.all.values()]
    assert len({start for start, _, _ in found}) > 10
    return sorted(found)


@pytest.mark.parametrize("policy", ["ShortestFirst", "FirstFit"])
def test_a_plug_in_written_for_0_1_still_runs(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, EntryPoint("old", f"made_for_0_1:{policy}", slurmsim.policy.GROUP))
    found = starts(simple(4), "old")
    assert all(start > 0 or job == 1 for start, job, _ in found)


def test_a_start_may_name_the_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    class InTheLast(slurmsim.policy.Policy):
        summary = "starts every job in the last partition it asked for"

        def schedule(self, view: Any, now: int) -> Any:
            for job in view.pending:
                yield slurmsim.policy.Start(job, partition=job.partitions[-1])

    monkeypatch.setattr(sys.modules[__name__], "InTheLast", InTheLast, raising=False)
    offer(monkeypatch, EntryPoint("last", f"{__name__}:InTheLast", slurmsim.policy.GROUP))
    w = World(MIXED, "last")
    w.sbatch("-J j -N 1 -t 1 -p a,b", run=60)
    w.until(1)
    assert w.jobs["j"].partition.name == "b"
