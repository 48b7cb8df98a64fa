"""Nodes cut into atoms: sets of nodes as a few machine words, in integers a C compiler understands.

Nodes that no partition, no allocation and no plan tells apart are one *atom*: a set of 18,688 nodes is a few words, and
how many nodes it has is a weighted count. A plan that takes part of an atom splits it, once, in every set of a cycle.
A word holds `BITS` atoms, so that no operation leaves the non-negative range of a signed 64-bit integer.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from slurmsim.kernel.arrays import wider, zeros

BITS = 60  # atoms a word
CHUNK = 6  # bits that are counted at once
CHUNKS = 10  # of a word
SIZE = 64  # of the table of a chunk
ONE = 1


class Atoms:
    """Nodes cut into atoms, and sets of them; one object serves one cycle after another."""

    def __init__(self) -> None:
        # n: atoms there are. Atom a has the nodes ``begins[a]`` to ``begins[a] + sizes[a]``; ``order`` has them by
        # position.
        # bits, n_sets: the sets, `words` words each. The first `used` words have the atoms there are; the others are
        # not read. ``word`` and ``bit`` are the place of an atom in them.
        self.n = self.n_sets = 0
        self.words = 2
        self.used = 1
        self.room = 64
        self.bits = zeros(self.room * self.words)
        self._make_room()

    def _make_room(self) -> None:
        """Columns for as many atoms as fit into the words."""
        most = self.words * BITS
        self.begins, self.sizes, self.order = zeros(most), zeros(most), zeros(most)
        self.word, self.bit = zeros(most), zeros(most)
        self._number()
        self.table = zeros(self.words * CHUNKS * SIZE)
        self.run_begins, self.run_sizes, self.run_at = zeros(most), zeros(most), zeros(most)

    def restart(self, cuts: array[int], n: int) -> None:
        """There are `n` atoms, which begin at `cuts`, ascending from 0; after them comes the number of nodes.

        There are no sets.
        """
        while self.words * BITS < n + n // 2:
            self.words *= 2
            self.bits = zeros(self.room * self.words)
            self._make_room()
        self.n, self.n_sets = n, 0
        self.used = (n + BITS - 1) // BITS
        for a in range(n):
            self.begins[a] = cuts[a]
            self.sizes[a] = cuts[a + 1] - cuts[a]
            self.order[a] = a
        for chunk in range((n + CHUNK - 1) // CHUNK):
            self._weigh(chunk)

    def _number(self) -> None:
        """Which bit of which word stands for each atom."""
        a = 0
        for w in range(self.words):
            bit = ONE
            for _ in range(BITS):
                self.word[a], self.bit[a] = w, bit
                bit <<= 1
                a += 1

    def _weigh(self, chunk: int) -> None:
        """Fill the table of a chunk: how many nodes each of its sets has."""
        base = chunk * SIZE
        first = chunk * CHUNK
        self.table[base] = 0
        for k in range(CHUNK):
            step = ONE << k
            size = self.sizes[first + k] if first + k < self.n else 0
            for j in range(step):
                self.table[base + step + j] = self.table[base + j] + size

    def _grow(self) -> None:
        """Twice the words."""
        old = self.words
        bits, begins, sizes, order = self.bits, self.begins, self.sizes, self.order
        run_begins, run_sizes, run_at = self.run_begins, self.run_sizes, self.run_at
        self.words = 2 * old
        self._make_room()
        for a in range(self.n):
            self.begins[a], self.sizes[a], self.order[a] = begins[a], sizes[a], order[a]
            self.run_begins[a], self.run_sizes[a], self.run_at[a] = run_begins[a], run_sizes[a], run_at[a]
        for chunk in range((self.n + CHUNK - 1) // CHUNK):
            self._weigh(chunk)
        self.bits = zeros(self.room * self.words)
        for s in range(self.n_sets):
            for w in range(self.used):
                self.bits[s * self.words + w] = bits[s * old + w]

    def _use_more(self) -> None:
        """One more word, of which no set has an atom."""
        if self.used == self.words:
            self._grow()
        for s in range(self.n_sets):
            self.bits[s * self.words + self.used] = 0
        self.used += 1

    def new_set(self) -> int:
        """Return an empty set."""
        if self.n_sets == self.room:
            self.room *= 2
            self.bits = wider(self.bits, self.room * self.words)
        self.n_sets += 1
        self.clear(self.n_sets - 1)
        return self.n_sets - 1

    def clear(self, s: int) -> None:
        """Make set `s` empty."""
        base = s * self.words
        for w in range(self.used):
            self.bits[base + w] = 0

    def copy(self, s: int, of: int) -> None:
        """Make set `s` what set `of` is."""
        a, b = s * self.words, of * self.words
        for w in range(self.used):
            self.bits[a + w] = self.bits[b + w]

    def keep(self, s: int, of: int) -> None:
        """Leave in set `s` what is in set `of`."""
        a, b = s * self.words, of * self.words
        for w in range(self.used):
            self.bits[a + w] &= self.bits[b + w]

    def add(self, s: int, of: int) -> None:
        """Put into set `s` what is in set `of`."""
        a, b = s * self.words, of * self.words
        for w in range(self.used):
            self.bits[a + w] |= self.bits[b + w]

    def remove(self, s: int, of: int) -> None:
        """Take out of set `s` what is in set `of`."""
        a, b = s * self.words, of * self.words
        for w in range(self.used):
            self.bits[a + w] ^= self.bits[a + w] & self.bits[b + w]

    def both(self, s: int, a: int, b: int) -> None:
        """Make set `s` what is in `a` and in `b`."""
        at, x, y = s * self.words, a * self.words, b * self.words
        for w in range(self.used):
            self.bits[at + w] = self.bits[x + w] & self.bits[y + w]

    def meets(self, a: int, b: int) -> bool:
        """Return True if two sets have a node in common."""
        x, y = a * self.words, b * self.words
        for w in range(self.used):
            if self.bits[x + w] & self.bits[y + w]:
                return True
        return False

    def within(self, a: int, b: int) -> bool:
        """Return True if set `b` has all that set `a` has."""
        x, y = a * self.words, b * self.words
        for w in range(self.used):
            if self.bits[x + w] & (self.bits[x + w] ^ self.bits[y + w]):
                return False
        return True

    def gains(self, base: int, s: int, before: int) -> bool:
        """Return True if set `s` has nodes of `base` that `before` has not."""
        x, y, z = base * self.words, s * self.words, before * self.words
        for w in range(self.used):
            here = self.bits[x + w] & self.bits[y + w]
            if here & (here ^ self.bits[z + w]):
                return True
        return False

    def equal(self, a: int, b: int) -> bool:
        """Return True if two sets are the same."""
        x, y = a * self.words, b * self.words
        for w in range(self.used):
            if self.bits[x + w] != self.bits[y + w]:
                return False
        return True

    def _nodes_of(self, word: int, at: int) -> int:
        """Return nodes of `word`, which is word `at` of its set."""
        found = 0
        base = at * (CHUNKS * SIZE)
        while word:
            found += self.table[base + (word & (SIZE - 1))]
            word >>= CHUNK
            base += SIZE
        return found

    def count(self, s: int) -> int:
        """Return nodes of set `s`."""
        found = 0
        base = s * self.words
        for w in range(self.used):
            if self.bits[base + w]:
                found += self._nodes_of(self.bits[base + w], w)
        return found

    def common(self, a: int, b: int) -> int:
        """Return nodes two sets have in common."""
        found = 0
        x, y = a * self.words, b * self.words
        for w in range(self.used):
            word = self.bits[x + w] & self.bits[y + w]
            if word:
                found += self._nodes_of(word, w)
        return found

    def _put(self, s: int, a: int) -> None:
        self.bits[s * self.words + self.word[a]] |= self.bit[a]

    def _place_of(self, node: int) -> int:
        """Return where in the order the atom of `node` stands."""
        low, high = 0, self.n
        while low < high:
            middle = (low + high) >> 1
            if self.begins[self.order[middle]] <= node:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def split(self, place: int, size: int) -> None:
        """Leave the atom at that place of the order its first `size` nodes; the others are one of their own."""
        if self.n == self.used * BITS:
            self._use_more()
        a, b = self.order[place], self.n
        self.n += 1
        self.begins[b] = self.begins[a] + size
        self.sizes[b] = self.sizes[a] - size
        self.sizes[a] = size
        i = b
        while i > place + 1:
            self.order[i] = self.order[i - 1]
            i -= 1
        self.order[place + 1] = b
        self._weigh(a // CHUNK)
        if b // CHUNK != a // CHUNK:
            self._weigh(b // CHUNK)
        w, bit, v, more = self.word[a], self.bit[a], self.word[b], self.bit[b]
        base = 0
        for _ in range(self.n_sets):
            if self.bits[base + w] & bit:
                self.bits[base + v] |= more
            base += self.words

    def put_run(self, s: int, begin: int, size: int) -> None:
        """Put `size` nodes from `begin` on into set `s`."""
        place = self._place_of(begin)
        skipped = begin - self.begins[self.order[place]]
        if skipped:
            self.split(place, skipped)
            place += 1
        self._put_from(s, place, size)

    def _put_from(self, s: int, place: int, size: int) -> None:
        """Put `size` nodes into set `s` from where the atom at that place of the order begins."""
        while size > 0:
            a = self.order[place]
            if self.sizes[a] > size:
                self.split(place, size)
            self._put(s, a)
            size -= self.sizes[a]
            place += 1

    def make(self, runs: Sequence[tuple[int, int]]) -> int:
        """Return a set of these runs (first, length)."""
        s = self.new_set()
        for begin, size in runs:
            self.put_run(s, begin, size)
        return s

    def full(self) -> int:
        """Return a set of all nodes."""
        s = self.new_set()
        for a in range(self.n):
            self._put(s, a)
        return s

    def find_runs(self, s: int) -> int:
        """Write the runs of set `s` to `run_begins`, `run_sizes`, `run_at` (place in order); return how many."""
        n, base, inside = 0, s * self.words, False
        for place in range(self.n):
            a = self.order[place]
            if (self.bits[base + self.word[a]] & self.bit[a] != 0) != inside:  # a run begins, or has ended
                if inside:
                    self.run_sizes[n] = self.begins[a] - self.run_begins[n]
                    n += 1
                else:
                    self.run_begins[n], self.run_at[n] = self.begins[a], place
                inside = not inside
        if inside:
            last = self.order[self.n - 1]
            self.run_sizes[n] = self.begins[last] + self.sizes[last] - self.run_begins[n]
            n += 1
        return n

    def runs(self, s: int) -> list[tuple[int, int]]:
        """Return runs of consecutive nodes of set `s` as (first, length)."""
        return [(self.run_begins[i], self.run_sizes[i]) for i in range(self.find_runs(s))]

    def pick(self, s: int, of: int, need: int, least: int) -> None:
        """Put into set `s` the `need` nodes of set `of` that a job gets of equal ones (`pick_equal`).

        The tightest run that holds all that is missing of `least`, the first of such; while none does, the longest
        whole.
        """
        n = self.find_runs(of)
        while need > 0:
            best = longest = -1
            for i in range(n):
                size = self.run_sizes[i]
                if size > 0:
                    if size >= least and (best < 0 or size < self.run_sizes[best]):
                        best = i
                    if longest < 0 or size > self.run_sizes[longest]:
                        longest = i
            if best < 0:
                best = longest
            if best < 0:
                return
            size = need if self.run_sizes[best] > need else self.run_sizes[best]
            self._put_from(s, self.run_at[best], size)  # only the last is cut, so places stay
            self.run_sizes[best] = 0
            need -= size
            least -= size
