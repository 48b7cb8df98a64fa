"""Small cases by hand: jobs of a few nodes on a machine of one-CPU nodes, with the expected start beside each."""

from __future__ import annotations

from dataclasses import dataclass

from world import World, simple

LATE = 1_000_000


@dataclass(frozen=True)
class Row:
    """A job: name, submit time, nodes, limit in seconds (None: none), run time, and when it has to start."""

    name: str
    at: int
    nodes: int
    limit: int | None
    run: int
    start: int | None


def world_of(policy: str, rows: list[Row], *, nodes: int = 4, more: str = "", conf: str = "") -> World:
    """A world in which `rows` have been submitted but nothing has happened yet."""
    world = World(conf or simple(nodes, more=more), policy)
    for row in rows:
        limit = "" if row.limit is None else f"-t {row.limit}s"
        world.sbatch(f"-J {row.name} -N{row.nodes} {limit}", row.run, at=row.at)
    return world


def check(policy: str, rows: list[Row], *, nodes: int = 4, more: str = "") -> World:
    """Run `rows` to the end and compare every start."""
    world = world_of(policy, rows, nodes=nodes, more=more)
    world.until(LATE)
    compare(world, rows)
    return world


def compare(world: World, rows: list[Row]) -> None:
    """Every job of `rows` started when it had to."""
    assert {row.name: world.start(row.name) for row in rows} == {row.name: row.start for row in rows}
