"""Nothing is left out of a snapshot unnoticed: the tables name every attribute of every class, or say why not.

`kept.txt` lists the attributes of parts that are no state: they follow from the configuration, lead to other parts or
can be worked out again. Who adds an attribute to one of these classes has to decide, and to raise `SCHEMA` if it is
state. ``python tests/unit/slurmctld/snapshot/test_snapshot_tables.py`` writes the file anew.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from pathlib import Path

import pytest

from slurmsim.config.load import make_cluster
from slurmsim.policy import load_policy
from slurmsim.slurmctld.base.people import People
from slurmsim.slurmctld.base.simulated import behaviour
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.history.header import new_header
from slurmsim.slurmctld.server.start import make_engine
from slurmsim.slurmctld.snapshot.engine_state import parts
from slurmsim.slurmctld.snapshot.graph import Kind
from slurmsim.slurmctld.snapshot.kinds import KINDS

TOP = Path(__file__).resolve().parents[4]
KEPT = Path(__file__).with_name("kept.txt")
CONF = """\
ClusterName=tux
SlurmctldHost=head
NodeName=n[1-3] CPUs=4
PartitionName=batch Nodes=ALL Default=YES OverSubscribe=FORCE:2 ExclusiveUser=YES
SelectType=select/cons_tres
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=60
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
PriorityType=priority/multifactor
"""
STREAMS = "[[stream]]\ngap = 60\nrun = 60\n"


def attributes(cls: type) -> set[str]:
    """What instances of a class have: fields, slots, or whatever its source assigns to."""
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls)}
    found: set[str] = set()
    for base in cls.__mro__[:-1]:
        found |= _assigned(base)
    return found - {"policy_name"}


def _assigned(cls: type) -> set[str]:
    module = cls.__module__.replace("slurmsim_policies", "policies").replace(".", "/")
    tree = ast.parse((TOP / f"{module}.py").read_text("utf-8"))
    here = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == cls.__name__)
    return {
        node.attr
        for node in ast.walk(here)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name) and node.value.id == "self"
    }  # fmt: skip


def _engines(folder: Path) -> list[Engine]:
    (folder / "slurm.conf").write_text(CONF, "utf-8")
    (folder / "s.toml").write_text(STREAMS, "utf-8")
    texts = {"slurm.conf": CONF, "s.toml": STREAMS}
    header = new_header(start=0, mode="frozen", rate=1.0, conf="slurm.conf", owner=0, streams="s.toml")
    full = make_engine({**header, "texts": texts}, folder)
    plain = Engine(make_cluster(2, 4), load_policy("cpu_hours")({}), 0, People({}), 0, run_time=behaviour)
    (folder / "slurm.conf").write_text(f"{CONF}SchedulerType=sched/parm\n", "utf-8")
    power = make_engine(new_header(start=0, mode="frozen", rate=1.0, conf="slurm.conf", owner=0), folder)
    return [full, plain, power]


def _kept(folder: Path) -> dict[str, list[str]]:
    """What parts have besides their state."""
    found: dict[str, set[str]] = {}
    for engine in _engines(folder):
        for part in parts(engine):
            found.setdefault(part.name, set()).update(attributes(type(part.what)) - set(part.fields))
    return {name: sorted(names) for name, names in found.items()}


def _lines(kept: dict[str, list[str]]) -> str:
    return "".join(f"{name}: {' '.join(names)}\n" for name, names in sorted(kept.items()))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_has_every_attribute_of_its_class(kind: Kind) -> None:
    assert {*kind.fields, *kind.reset} == attributes(kind.cls)


def test_what_parts_keep_was_decided(tmp_path: Path) -> None:
    assert _lines(_kept(tmp_path)) == KEPT.read_text("utf-8")


def test_state_of_parts_is_there(tmp_path: Path) -> None:
    for engine in _engines(tmp_path):
        for part in parts(engine):
            assert not [name for name in part.fields if not hasattr(part.what, name)], part.name


def test_names_of_kinds_are_used_once() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    assert not {"list", "dict", "set", "deque", "defaultdict", "Counter", "array", "engine"} & set(names)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        KEPT.write_text(_lines(_kept(Path(name))), "utf-8")
    sys.exit(0)
