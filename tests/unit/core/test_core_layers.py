"""Hierarchical resources: which nodes jobs get beside their layers, by what real Slurm chose, and who holds what."""

from __future__ import annotations

import pytest

pytest.importorskip("yaml", reason="NOT TESTED: resources.yaml: PyYAML is not installed")

from world import World, simple

from slurmsim.core.placement.best_fit import Ask, choose
from slurmsim.core.placement.shared_layers import SharedLayers
from slurmsim.core.records.messages import CreateReservation, Requeue
from slurmsim.errors import ConfigError
from slurmsim.hostlist import compress, expand
from slurmsim.model.hierarchy import HierarchySpec, LayerSpec
from slurmsim.model.reservation import ReservationSpec

NAMES = expand("n[1-16]")
HALVES = ("n[1-8]", "n[9-16]")


def resources(name: str, mode: int, whole: int, half: int, variables: str = "") -> str:
    layers = ", ".join(f'{{nodes: "{nodes}", count: {half}}}' for nodes in HALVES)
    return (
        f"- resource: {name}\n  mode: MODE_{mode}\n{variables}"
        f'  layers: [{{nodes: "n[1-16]", count: {whole}}}, {layers}]\n'
    )


ALL = (
    resources("flat", 2, 10, 6) + resources("natural", 1, 5, 8)
    + resources("power", 3, 750, 500, "  variables: [{name: node, value: 100}]\n")
)  # fmt: skip


def world(policy: str = "backfill", more: str = "Licenses=plain:5") -> World:
    conf = simple(16, 4, f"{more}\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core")
    return World(conf, policy, release="26.05", resources=ALL)


def nodes(w: World, name: str) -> str:
    alloc = w[name].alloc
    return w.controller.state.cluster.node_list(alloc) if alloc is not None else ""


def test_jobs_are_where_real_slurm_had_them() -> None:
    """The halves share 6 of flat each and all nodes 10; a job takes its count from every layer it touches."""
    w = world()
    for name, asked in {
        "A": "-N2 -L flat:4", "B": "-N2 -L flat:4", "C": "-N2 -L flat:4", "F": "-N2 -L natural:4",
        "J": "-N2 -L plain:1", "K": "-N2 -L flat:1|natural:1", "L": "-N2 -L flat:1,plain:2",
    }.items():  # fmt: skip
        w.sbatch(f"-J {name} {asked} -t 9", 400, at=5)
    for name, asked in {"D": "natural:6", "G": "natural:9", "H": "flat:11", "I": "nosuch:1"}.items():
        w.sbatch(f"-J {name} -N2 -L {asked} -t 9", 400, at=5)
    w.until(17)
    assert {name: nodes(w, name) for name in "ABFJKL"} == {
        "A": "n[1-2]", "B": "n[9-10]", "F": "n[1-2]", "J": "n[1-2]", "K": "n[1-2]", "L": "n[3-4]",
    }  # fmt: skip
    assert w.reason("C") == "ReqNodeNotAvail, May be reserved for other job"
    assert set(w.refused) == set("DGHI") and set(w.refused.values()) == {"Invalid license specification"}
    layers = w.controller.licenses.layers
    assert layers is not None and layers.used[:6] == [10, 6, 4, 5, 0, 0]
    assert w["F"].licenses == (("natural(n[1-16])", 4),) and w.controller.licenses.used == {"plain": 3}
    w.until(1000)
    assert layers.used == [0] * 9 and not layers.held


def test_each_node_takes_power_from_every_layer() -> None:
    w = world()
    for name, asked in {"P": "-N4 -L power:node", "Q": "-N2 -L power:50", "R": "-N4 -L power:100"}.items():
        w.sbatch(f"-J {name} {asked} -t 9", 400, at=5)
    w.sbatch("-J S -N1 -L power:100 -t 9", 400, at=5)
    w.sbatch("-J T -N1 -L power:600 -t 9", 400, at=5)
    w.sbatch("-J U -N9 -L power:100 -t 9", 400, at=5)
    w.until(40)
    assert (nodes(w, "P"), nodes(w, "Q"), w.reason("R"), nodes(w, "S")) == ("n[1-4]", "n[1-2]", "Resources", "n9")
    assert w.refused == dict.fromkeys("TU", "Requested node configuration is not available")
    layers = w.controller.licenses.layers
    assert layers is not None and layers.used[6:] == [500, 100, 600]  # parts come before the whole in mode 3


@pytest.mark.parametrize("parameters", ["", "SchedulerParameters=bf_licenses"])
@pytest.mark.parametrize("policy", ["backfill", "builtin"])
def test_a_job_that_lacks_some_starts_as_they_come_back(policy: str, parameters: str) -> None:
    w = world(policy, parameters)
    for name, asked in {"one": "natural:5", "two": "natural:5", "three": "flat:6", "four": "flat:6"}.items():
        w.sbatch(f"-J {name} -N16 -L {asked} -t 5 -s", 300, at=0)
    w.sbatch("-J hot -N8 -L power:80 -t 5", 300, at=400)
    w.sbatch("-J hotter -N4 -L power:100 -t 5", 300, at=400)
    w.until(2500)
    assert all(w.start(name) is not None for name in ("one", "two", "three", "four", "hot", "hotter"))
    assert w.start("two") >= 300 or {w["one"].licenses, w["two"].licenses} != {(("natural(n[1-16])", 5),)}
    assert w.start("four") >= w["three"].end_time and w.start("hotter") >= w["hot"].end_time
    w.controller.check()


def test_reservations_keep_a_layer_by_its_nodes() -> None:
    w = world()
    spec = ReservationSpec(
        "r", 5, 3600, licenses=(("flat(n[1-8])", 4),), users=("bob",), flags=frozenset({"ANY_NODES"})
    )
    w.tell(CreateReservation(spec), 0)
    w.sbatch("-J out -N2 -L flat:3 -t 9", 400, at=10)
    w.sbatch("--reservation=r -J in -N2 -L flat:5 -t 9", 400, at=10, user="bob")
    w.until(40)
    assert (nodes(w, "out"), nodes(w, "in")) == ("n[9-10]", "n[1-2]")
    layers = w.controller.licenses.layers
    assert layers is not None and [row["reserved"] for row in layers.rows(20) if row["name"] == "flat"] == [0, 4, 0]
    for licenses in ((("flat(n[1-7])", 1),), (("flat(n[1-8])", 7),), (("power", 1), ("power(n[1-8])", 1))):
        bad = ReservationSpec("bad", 50, 99, licenses=licenses, users=("bob",), flags=frozenset({"ANY_NODES"}))
        w.tell(CreateReservation(bad), 41)
    w.until(60)
    assert w.controller.state.reserved.find("bad") is None


def test_a_requeued_job_gives_its_layers_back() -> None:
    w = world()
    w.sbatch("-J one -N2 -L natural:4,power:node -t 10", 60, at=0)
    w.tell(Requeue(1), 20)
    w.until(30)
    layers = w.controller.licenses.layers
    assert layers is not None and layers.used == [0] * 9
    w.until(400)
    assert w.state("one") == "COMPLETED" and w["one"].restarts == 1 and layers.used == [0] * 9


def test_policies_of_events_say_that_they_do_not_plan_with_them() -> None:
    with pytest.raises(ConfigError, match="policy easy does not plan with hierarchical resources"):
        world("easy")


def spec(*counts: int) -> SharedLayers:
    layers = tuple(LayerSpec(tuple(expand(text)), text, n, up)
                   for text, n, up in zip((*HALVES, "n[1-16]"), counts, (2, 2, -1), strict=True))  # fmt: skip
    return SharedLayers([HierarchySpec("power", 3, layers)], {name: i for i, name in enumerate(NAMES)})


def pick(shared: SharedLayers, need: int, wanted: int, cpus: list[int], required: set[int] | None = None) -> str:
    ask = Ask(wanted, wanted, 99, wanted, False, 1, 1, False, 1, False)
    ask.room = shared.room(("power", need))
    usable = [i for i, n in enumerate(cpus) if n]
    found = choose(ask, usable, [cpus[i] for i in usable], [1] * len(usable), required or set())
    return compress([NAMES[i] for i in sorted(found)]) if found else ""


def test_nodes_without_room_are_passed_over() -> None:
    """Real Slurm had n[05,09], then n[09,13], where a layer of four nodes had room for one more each time."""
    assert pick(spec(150, 500, 600), 100, 3, [4] * 16) == "n[1,9-10]"
    assert pick(spec(150, 500, 250), 100, 3, [4] * 16) == ""
    assert pick(spec(150, 500, 600), 100, 2, [4] * 16, {1, 2}) == ""
    assert pick(spec(250, 500, 600), 100, 2, [4] * 16, {1, 2}) == "n[2-3]"


def test_nodes_are_given_up_until_others_with_room_are_tried() -> None:
    """The first set of neighbours would do by its CPUs, and its layer has room for one node alone."""
    cpus = [4, 4, 4, 0, 0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0]
    assert pick(spec(100, 500, 600), 100, 3, cpus) in ("n[1,9-10]", "n[9-11]")
