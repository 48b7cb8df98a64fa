"""topology/block: a job within the smallest block of nodes that can hold it, on as few smaller blocks as it needs.

Mirrors eval_nodes_block (24.11, 26.05). Base blocks, often racks, stand in the order of topology.conf; two, four,
eight … neighbours are a block of the next level where BlockSizes has that size. A job gets the level its nodes need
at least, in the block of that level with the fewest free nodes that suffice. In there it fills base blocks one after
another, under as few blocks of the level below as its nodes need at least. With ``--segment=n`` every `n` nodes are
placed for themselves. Nothing else orders nodes, so ``--spread-job``, ``--contiguous`` or LLN do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.placement.best_fit import Ask, Segments, Taking
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass, replace
from slurmsim.model.block import BlockTopologySpec

UNBOUND: Final = 1 << 40  # CPUs: no limit


@dataclass(frozen=True, slots=True)
class _Level(Value):
    """What a number of nodes asks of blocks: how many base blocks a block has that may hold them, and one below."""

    per_block: int
    per_part: int  # base blocks of a block of the level below
    most_parts: int  # blocks of that level the nodes may be on

    @property
    def has_parts(self) -> bool:
        """True if blocks of the level below count: the nodes do not need all of a block's."""
        return self.per_block != self.per_part * self.most_parts


class BlockTopology:
    """The blocks of one cluster.

    Parameters
    ----------
    spec
        Base blocks of any size; all count with the same.
    index
        Place of each node in the node table.
    any_segment
        True if segments may be larger than a base block, and larger than the job, which then has none (26.05).
    """

    comes_first = True
    had_whole = True
    takes_single = True

    def __init__(self, spec: BlockTopologySpec, index: dict[str, int], *, any_segment: bool) -> None:
        self.any_segment, self.base, self.levels = any_segment, spec.base, spec.levels
        self.blocks: list[Bitmap] = [from_indices(sorted(index[node] for node in b.nodes)) for b in spec.blocks]
        self.nodes: Bitmap = 0
        for block in self.blocks:
            self.nodes |= block

    def leaves_of(self, nodes: Bitmap) -> int:
        """Return 0: ``--switches`` counts no blocks."""
        return 0

    def whole(self, nodes: Bitmap) -> Bitmap:
        """Return `nodes` and all others of the blocks they are in."""
        for block in self.blocks:
            nodes |= block if nodes & block else 0
        return nodes

    def applies(self, nodes: Iterable[int]) -> bool:
        """Return True if a node is in a block; else nodes are chosen as if there were none."""
        return any(self.nodes >> node & 1 for node in nodes)

    def level_of(self, n_nodes: int) -> int:
        """Return the lowest level with blocks that may hold so many nodes; -1 for all blocks together."""
        needed = _log2(-(-n_nodes // self.base))
        return next((level for level in self.levels if level >= needed), -1)

    def parts_of(self, n_nodes: int) -> _Level:
        """Return what so many nodes ask of blocks."""
        level, needed = self.level_of(n_nodes), _log2(-(-n_nodes // self.base))
        below = max((one for one in self.levels if one < needed), default=0)
        per_part = 1 << below
        return _Level(len(self.blocks) if level < 0 else 1 << level, per_part, -(-n_nodes // (per_part * self.base)))

    def joined(self, n: int) -> list[Bitmap]:
        """Return the nodes of each `n` neighbouring base blocks."""
        found = []
        for first in range(0, len(self.blocks), n):
            nodes = 0
            for block in self.blocks[first : first + n]:
                nodes |= block
            found.append(nodes)
        return found

    def refused(self, n_nodes: int, size: int, n_required: int) -> bool:
        """Return True if no such job can have segments of `size` nodes.

        Several segments go with required nodes only where all nodes are required, and not at all before 26.05.
        """
        if not size or (self.any_segment and size > n_nodes):
            return False
        if n_nodes % size or (not self.any_segment and size > self.base):
            return True
        return n_nodes > size and n_required > 0 and (not self.any_segment or n_required < n_nodes)

    def evaluate(
        self, ask: Ask, left: dict[int, int], weight: dict[int, int], required: set[int]
    ) -> dict[int, int] | None:
        """One attempt (`slurmsim.core.placement.best_fit.choose`); lowers `left` for nodes taken in part."""
        if len(left) < ask.min_nodes or any(node not in left for node in required):
            return None
        wanted = min(ask.min_nodes, ask.target_nodes)
        asked = ask.segments or Segments(0)
        if self.refused(wanted, asked.size, len(required)):
            return None
        size = 0 if asked.size > wanted else asked.size
        usable, needed = from_indices(sorted(left)), from_indices(sorted(required))
        if needed & ~self.nodes or len(required) > ask.max_nodes:
            return None
        if size and wanted > size and required:
            usable, needed = needed, 0
        if not size:
            return _Part(self, self.parts_of(wanted), ask, left, weight, needed).place(usable, wanted)
        return _Whole(self, ask, asked, left, weight, needed).place(usable, wanted)


class _Whole:
    """A job in segments, each placed for itself; with ``--consolidate-segments`` all in one larger block."""

    def __init__(
        self, topology: BlockTopology, ask: Ask, asked: Segments, left: dict[int, int], weight: dict[int, int],
        needed: Bitmap,
    ) -> None:  # fmt: skip
        self.topology, self.ask, self.asked = topology, ask, asked
        self.left, self.weight, self.needed = left, weight, needed
        self.level = topology.parts_of(asked.size)

    def place(self, usable: Bitmap, wanted: int) -> dict[int, int] | None:
        """Return nodes and CPUs of all segments, from the first larger block that has room where that is asked."""
        if not self.asked.consolidated:
            return self._segments(usable, wanted)
        n_blocks = self._larger(wanted)
        within = self.topology.joined(n_blocks)
        while usable:
            room = [(block & usable).bit_count() for block in within]
            roomy = [block for block, n in zip(within, room, strict=True) if n >= wanted]
            first = self._part(wanted).block_of(usable, self.asked.size, roomy)
            if first is None:
                return None
            chosen = within[first[0] // n_blocks]
            found = self._segments(usable & chosen, wanted)
            if found is not None:
                return found
            usable &= ~chosen
        return None

    def _larger(self, wanted: int) -> int:
        """Return how many base blocks a block has that has to hold all segments."""
        topology, size = self.topology, self.asked.size
        if self.asked.spread:
            wanted = -(-size // topology.base) * topology.base * (wanted // size)
        level = topology.level_of(wanted)
        return len(topology.blocks) if level < 0 else max(1 << level, self.level.per_block)

    def _part(self, wanted: int) -> _Part:
        n = wanted // self.asked.size
        ask = replace(
            self.ask, min_nodes=self.ask.min_nodes // n, target_nodes=self.asked.size,
            max_nodes=self.ask.max_nodes // n, min_cpus=self.ask.min_cpus // n,
        )  # fmt: skip
        ask.room = self.ask.room
        part = _Part(self.topology, self.level, ask, self.left, self.weight, self.needed)
        part.taking.rem_max = UNBOUND
        return part

    def _segments(self, usable: Bitmap, wanted: int) -> dict[int, int] | None:
        taken: dict[int, int] = {}
        for _ in range(wanted // self.asked.size):
            part = self._part(wanted)
            found = part.place(usable, self.asked.size)
            if found is None:
                return None
            taken |= found
            usable &= ~from_indices(sorted(found))
            if self.asked.spread:
                for i in part.used:
                    usable &= ~self.topology.blocks[i]
        return taken


class _Part:
    """One search for nodes within one block."""

    def __init__(
        self, topology: BlockTopology, level: _Level, ask: Ask, left: dict[int, int], weight: dict[int, int],
        needed: Bitmap,
    ) -> None:  # fmt: skip
        self.topology, self.level, self.ask = topology, level, ask
        self.left, self.weight, self.needed = left, weight, needed
        self.taking = Taking(ask, left)
        self.used: set[int] = set()  # base blocks with nodes of the job
        self.parts_left = level.most_parts

    def place(self, usable: Bitmap, wanted: int) -> dict[int, int] | None:
        """Return nodes and the CPUs taken from each; None where no block has them."""
        taking = self.taking
        taking.rem_nodes = wanted
        found = self.block_of(usable, wanted)
        if found is None:
            return None
        first, inside = found
        if self.needed & ~inside:
            return None
        mine = range(first, min(first + self.level.per_block, len(self.topology.blocks)))
        if self.needed:
            if not all(taking.take(node) for node in to_indices(self.needed).tolist()):
                return None
            if not self._enter(mine, self.needed, always=False):
                return None
            if taking.done:
                return taking.taken
            if taking.max_nodes <= 0:
                return None
        chosen = self._lightest(inside)
        if chosen is None:
            return None
        sure, best = chosen
        if sure:
            for node in to_indices(sure).tolist():
                if taking.max_nodes > 0:
                    taking.take(node)
            if taking.done:
                return taking.taken
            if taking.max_nodes <= 0 or not self._enter(mine, sure, always=True):
                return None
        if self._fill_used(inside & best) or self._walk(mine, inside & best):
            return taking.taken
        return taking.taken if taking.min_rem <= 0 and taking.rem_cpus <= 0 and taking.has_gres else None

    # -- the block --------------------------------------------------------------------------------------------------

    def block_of(self, usable: Bitmap, wanted: int, within: list[Bitmap] | None = None) -> tuple[int, Bitmap] | None:
        """Return the block's first base block and its usable nodes: over all needed ones, else the tightest one.

        `within`: larger blocks, one of which has it.
        """
        best: tuple[int, Bitmap] | None = None
        lightest, fewest = 0, 0
        blocks = self.topology.blocks
        for first in range(0, len(blocks), self.level.per_block):
            bases = [block & usable for block in blocks[first : first + self.level.per_block]]
            inside = 0
            for base in bases:
                inside |= base
            if within is not None and not any(inside & larger for larger in within):
                continue
            if self.needed & inside:
                return first, inside
            if self.needed or not inside or not self._enough(self._reachable(bases), wanted):
                continue
            members = to_indices(inside).tolist()
            if self.ask.min_cpus > sum(self.left[node] for node in members):
                continue
            light = min(self.weight[node] for node in members)
            if best is None or (light, len(members)) <= (lightest, fewest):
                best, lightest, fewest = (first, inside), light, len(members)
        return best

    def _reachable(self, bases: list[Bitmap]) -> int:
        """Return how many nodes of a block the job may have: those of so many of its parts as it may be on."""
        counts = [self._places(base) for base in bases]
        if not self.level.has_parts:
            return sum(counts)
        step = self.level.per_part
        parts = sorted((sum(counts[i : i + step]) for i in range(0, len(counts), step)), reverse=True)
        return sum(parts[: self.level.most_parts])

    def _places(self, base: Bitmap) -> int:
        """Return how many nodes of a base block the job may have as far as a resource with the same layers tells."""
        n, room = base.bit_count(), self.ask.room
        if not n or room is None or not room.by_block:
            return n
        return min(n, room.holds(int(to_indices(base)[0])))

    def _enough(self, n: int, rem_nodes: int) -> bool:
        ask = self.ask
        return n >= rem_nodes - max(ask.target_nodes - ask.min_nodes, 0)

    # -- base blocks ------------------------------------------------------------------------------------------------

    def _enter(self, mine: range, nodes: Bitmap, *, always: bool) -> bool:
        """Note the base blocks that `nodes` are in; return False if they are on more parts than the job may be on."""
        if not (always or self.level.has_parts):
            return True
        last = -1
        for i in mine:
            if i in self.used:
                last = i
            elif nodes & self.topology.blocks[i]:
                self.used.add(i)
                if last < 0 or last // self.level.per_part != i // self.level.per_part:
                    self.parts_left -= 1
                    last = i
        return self.parts_left >= 0

    def _lightest(self, inside: Bitmap) -> tuple[Bitmap, Bitmap] | None:
        """Of the lightest nodes that suffice together: those certainly taken (all but the heaviest), and all."""
        taking = self.taking
        free = [node for node in to_indices(inside & ~self.needed).tolist() if self.left[node] > 0]
        best: list[int] = []
        sure: list[int] = []
        cpus, sufficient = 0, False
        for _, group in groupby(sorted(free, key=lambda node: (self.weight[node], node)), key=self.weight.__getitem__):
            sure = best.copy()
            for node in group:
                best.append(node)
                cpus += self.left[node]
            has = cpus >= taking.rem_cpus and taking.would_have_gres(best)
            sufficient = sufficient or (has and self._enough(len(best), taking.rem_nodes))
            if has and len(best) >= taking.rem_nodes:
                break
        return (from_indices(sorted(sure)), from_indices(sorted(best))) if sufficient else None

    def _fill_used(self, nodes: Bitmap) -> bool:
        """Take more nodes of base blocks the job is in anyway; return True once the request is complete."""
        return any(self._fill(nodes & self.topology.blocks[i]) for i in sorted(self.used))

    def _fill(self, nodes: Bitmap) -> bool:
        for node in to_indices(nodes).tolist():
            if self.taking.max_nodes <= 0:
                return False
            if node not in self.taking.taken:
                self.taking.take(node)
                if self.taking.done:
                    return True
        return False

    def _walk(self, mine: range, nodes: Bitmap) -> bool:
        """Fill one base block after another until the request is complete; False when none brings anything more."""
        taking, blocks = self.taking, self.topology.blocks
        free = {i: self._places(nodes & blocks[i]) for i in mine if i not in self.used}
        parts: dict[int, int] = {}
        for i, n in free.items():
            parts[i // self.level.per_part] = parts.get(i // self.level.per_part, 0) + n
        before = taking.rem_nodes + 1
        while before != taking.rem_nodes:
            before = taking.rem_nodes
            choice = _Choice(self, free, parts)
            for i in free:
                choice.consider(i)
            if choice.best < 0 or (self.parts_left <= 0 and not choice.known_part):
                return False
            del free[choice.best]
            self.used.add(choice.best)
            if self._fill(nodes & blocks[choice.best]):
                return True
            if not choice.known_part:
                self.parts_left -= 1
        return False


class _Choice:
    """The next base block: of a part the job is on already, else of the part that suits, and the one that suits.

    What suits has the fewest nodes of those that hold all missing ones, else the most.
    """

    def __init__(self, search: _Part, free: dict[int, int], parts: dict[int, int]) -> None:
        self.free, self.parts, self.rem = free, parts, search.taking.rem_nodes
        self.per_part = search.level.per_part
        self.on = {i // self.per_part for i in search.used}
        self.counts_parts = search.level.has_parts
        self.best, self.fits, self.known_part = -1, False, True

    def consider(self, i: int) -> None:
        """Take base block `i` if it is better than the best so far; later ones win ties."""
        n, fits, part = self.free[i], self.free[i] >= self.rem, i // self.per_part
        if self.counts_parts and (self.best < 0 or self.best // self.per_part != part):
            known = part in self.on
            decided = 1 if self.best < 0 or (known and not self.known_part) else self._compare(part, known)
            if decided > 0:
                self.best, self.fits, self.known_part = i, fits, known
            if decided:
                return
        if self.best < 0 or (fits and not self.fits):
            better = True
        else:
            better = n <= self.free[self.best] if fits else not self.fits and n >= self.free[self.best]
        if better:
            self.best, self.fits = i, fits

    def _compare(self, part: int, known: bool) -> int:
        """Return above 0 if `part` is better than that of the best so far, below 0 if it is worse."""
        if self.known_part and not known:
            return -1
        n, best = self.parts[part], self.parts[self.best // self.per_part]
        holds, best_holds = n >= self.rem, best >= self.rem
        if holds != best_holds:
            return 1 if holds else -1
        return (best > n) - (best < n) if holds else (n > best) - (n < best)


def _log2(n: int) -> int:
    """Return how often 1 is doubled until it is `n` at least."""
    return max(n - 1, 0).bit_length()
