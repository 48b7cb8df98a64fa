"""PCP'20: all positions of a resource in one line, node after node; a unit is a box in time and positions.

A unit j of job i takes dy = rq_{i,r} neighbouring positions of one node during [s_i, s_i + d_i), in each resource it
needs. The size of the model does not depend on the number of nodes. Source: PCP'20, section 4, with these corrections:

- a box ends with position y + dy - 1, so a unit may end on a node's last position (printed y + dy);
- the second implied cumulative has the durations for heights (printed: the starts, which is not implied);
- a resource a job does not need has no variables and no constraints for it;
- running units keep their node, not their positions: positions are labels, and fixing them costs optima;
- nodes stand in the line by when they are free, since they are labels, too: free nodes are neighbours, and so are the
    nodes a running job fills, which makes it one box. By their names a bound passes a large machine node by node;
- a node's place in the line is y // H with H the largest node's size of that resource. For equal nodes this is the map
    of the paper, without its table of all positions (memory has millions). What is beyond a smaller node is no
    position;
- a position is as large as the greatest common divisor of all demands. Boxes moved down to multiples of it stay apart
    and inside their nodes, so no plan is lost. Memory in KB has some dozens of positions a node again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import gcd

from ortools.sat.python import cp_model

from slurmsim_policies.cp.instance_data import Amounts, Job
from slurmsim_policies.cp.models.base import Interval, ScheduleModel, Var
from slurmsim_policies.cp.plan import Box, Plan
from slurmsim_policies.cp.problem import Instance

ORDERED, DISJUNCTIVE, DOMINANCE, TIME, POSITIONS = "ordered", "disjunctive", "dominance", "time", "positions"
CUTS = (TIME, POSITIONS, ORDERED, DISJUNCTIVE, DOMINANCE)
Piece = tuple[int, int, int, int]  # start, end, first position, how many
"""What is added to the boxes. All are implied but `dominance`, of the authors' code, which can remove the optimum."""


class BoxModel(ScheduleModel):
    """Positions y_{i,r,j} of each unit j.

    Parameters
    ----------
    loads
        First positions of each of `Instance.loads` in the hint (`BoxBoard.loads`).
    cuts
        Some of `CUTS`.
    fixed
        Running units lie where `loads` says, as in the paper; else anywhere on their node, which costs no optimum.
    """

    def __init__(
        self,
        instance: Instance,
        earliest: Mapping[int, int],
        loads: Sequence[Amounts],
        *,
        cuts: Sequence[str] = (TIME, POSITIONS, ORDERED),
        fixed: bool = False,
    ) -> None:
        super().__init__(instance, earliest)
        self._grain = _grains(instance)
        self._capacity = instance.capacity // self._grain
        self._height = [max(1, int(h)) for h in self._capacity.max(axis=0)]
        self._line = _by_when_free(instance)  # nodes in their order
        self._at = {node: at for at, node in enumerate(self._line)}
        self._lines: list[list[tuple[Interval, Interval, int]]] = [[] for _ in instance.resources]
        self._nodes: dict[int, list[Var]] = {}
        self._units: dict[int, dict[int, list[Var]]] = {}  # job -> resource -> y of each unit
        self._fixed: list[dict[int, Var]] = []  # load -> resource -> y
        self._loads = loads
        for i, job in self.waiting():
            self._make_units(i, job)
        if fixed:
            self._fix_loads()
        else:
            self._make_loads()
        self._keep_apart()
        if TIME in cuts:
            self._share_all_nodes()
        if POSITIONS in cuts:
            self._share_all_time()
        for i, job in self.waiting():
            if job.units > 1:
                self._tell_apart(i, job, ordered=ORDERED in cuts)
        if DISJUNCTIVE in cuts:
            self._never_together()
        if DOMINANCE in cuts:
            self._small_first()
        self._share_power()

    def _positions(self, r: int, size: int, nodes: Sequence[int]) -> cp_model.Domain:
        """Where a box of `size` may begin: inside one of `nodes` (corrected: it may end on the last position)."""
        high, capacity, at = self._height[r], self._capacity, self._at
        return cp_model.Domain.from_intervals([
            [high * at[k], high * at[k] + int(capacity[k, r]) - size] for k in nodes
        ])  # fmt: skip

    def _make_units(self, i: int, job: Job) -> None:
        """y_{i,r,j}, one a unit and resource it needs; the same node for all resources of a unit."""
        nodes = [int(k) for k in self.instance.places(job).nonzero()[0]]
        needed = [r for r, amount in enumerate(job.demand) if amount]
        self._units[i] = {r: [] for r in needed}
        sizes = {r: job.demand[r] // self._grain[r] for r in needed}
        domains = {r: self._positions(r, sizes[r], nodes) for r in needed}
        tied = len(needed) > 1 or job.per_node is not None
        if tied:
            anywhere = cp_model.Domain.from_values([self._at[k] for k in nodes])
            self._nodes[i] = [self.cp.new_int_var_from_domain(anywhere, f"n{i}_{j}") for j in range(job.units)]
        for j in range(job.units):
            for r in needed:
                y = self.cp.new_int_var_from_domain(domains[r], f"y{i}_{r}_{j}")
                self._units[i][r].append(y)
                self._add_box(r, self.spans[i], y, sizes[r], job.duration)
                if tied:
                    self._on_node(r, y, self._nodes[i][j], sizes[r])

    def _on_node(self, r: int, y: Var, node: Var, size: int) -> None:
        """map_r[y] = node, written H node <= y <= H node + H - dy."""
        high = self._height[r]
        self.cp.add(y >= high * node)
        self.cp.add(y <= high * node + (high - size))

    def _fix_loads(self) -> None:
        """Make boxes of running units where they lie."""
        for r, (high, grain) in enumerate(zip(self._height, self._grain, strict=True)):
            self._add_pieces(r, [
                (load.start, load.end, high * self._at[load.node] + lies[r] // grain, load.amounts[r] // grain)
                for load, lies in zip(self.instance.loads, self._loads, strict=True) if load.amounts[r] >= grain
            ])  # fmt: skip

    def _make_loads(self) -> None:
        """Make boxes of running units on the node they run on, anywhere in it; what fills a node has one place there.

        On a large machine most units fill their nodes. As boxes of their own thousands of them take CP-SAT minutes
        before it searches, which counts as no deterministic time.
        """
        whole: list[list[Piece]] = [[] for _ in self.instance.resources]
        for n, load in enumerate(self.instance.loads):
            span: Interval | None = None
            self._fixed.append({})
            for r, amount in enumerate(load.amounts):
                if not (size := amount // self._grain[r]):
                    continue
                high = self._height[r]
                if size == self._capacity[load.node, r]:  # with what a larger node would have beyond it
                    whole[r].append((load.start, load.end, high * self._at[load.node], high))
                    continue
                span = span or self.fixed(load.start, load.end, f"load{n}")
                y = self.cp.new_int_var_from_domain(self._positions(r, size, [load.node]), f"y_load{n}_{r}")
                self._fixed[n][r] = y
                self._add_box(r, span, y, size, load.end - load.start)
        for r, pieces in enumerate(whole):
            self._add_pieces(r, pieces)

    def _add_pieces(self, r: int, pieces: Sequence[Piece]) -> None:
        """Add boxes of a known place; those side by side of one time are one box, over nodes too."""
        merged: list[Piece] = []
        for start, end, low, size in sorted(pieces):
            if merged and merged[-1][:2] == (start, end) and sum(merged[-1][2:]) == low:
                low, size = merged[-1][2], merged.pop()[3] + size
            merged.append((start, end, low, size))
        for n, (start, end, low, size) in enumerate(merged):
            across = self.cp.new_fixed_size_interval_var(low, size, f"across_load{n}_{r}")
            self._lines[r].append((self.fixed(start, end, f"load{n}_{r}"), across, end - start))

    def _add_box(self, r: int, span: Interval, y: Var, size: int, duration: int) -> None:
        across = self.cp.new_fixed_size_interval_var(y, size, f"across_{y.name}")
        self._lines[r].append((span, across, duration))

    def _keep_apart(self) -> None:
        """diffn(s, y_r, d, dy_r): no two boxes of a resource overlap."""
        for boxes in self._lines:
            if len(boxes) > 1:
                self.cp.add_no_overlap_2d([span for span, _, _ in boxes], [across for _, across, _ in boxes])

    def _share_all_time(self) -> None:
        """cumulative(y_r, dy_r, d, eoh - t): no position is in use for longer than the horizon (corrected heights)."""
        long = self.instance.horizon - self.instance.now
        for boxes in self._lines:
            self.limit([(across, duration) for _, across, duration in boxes], long)

    def _tell_apart(self, i: int, job: Job, *, ordered: bool) -> None:
        """Make the y of one job all different; or ordered, as in the authors' code, since units are alike."""
        for r, ys in self._units[i].items():
            if not ordered:
                self.cp.add_all_different(ys)
                continue
            for first, second in pairwise(ys):
                self.cp.add(first + job.demand[r] // self._grain[r] <= second)
        if job.per_node is not None:
            self._spread(i, job.per_node)

    def _spread(self, i: int, most: int) -> None:
        """At most so many units on a node (ours): in the order of nodes, each is past the one `most` before it."""
        nodes = self._nodes[i]
        for first, second in pairwise(nodes):
            self.cp.add(first <= second)
        for first, second in zip(nodes, nodes[most:], strict=False):
            self.cp.add(first < second)

    def _never_together(self) -> None:
        """Jobs with e_i + e_j > cap max(d_i, d_j) for some resource never overlap; e = d x demand (authors' code)."""
        whole = self.instance.capacity.sum(axis=0).tolist()
        for (i, a), (j, b) in combinations(self.waiting(), 2):
            longest = max(a.duration, b.duration)
            if any(
                a.total[r] * a.duration + b.total[r] * b.duration > whole[r] * longest and a.total[r] and b.total[r]
                for r in range(len(whole))
            ):
                self.cp.add_no_overlap([self.spans[i], self.spans[j]])

    def _small_first(self) -> None:
        """e_i <= e_j in all shared resources: s_i <= s_j (their code). NOT implied, it can remove the optimum."""
        for (i, a), (j, b) in combinations(self.waiting(), 2):
            shared = [r for r in range(len(a.demand)) if a.demand[r] and b.demand[r]]
            work = [(a.total[r] * a.duration, b.total[r] * b.duration) for r in shared]
            if shared and all(x <= y for x, y in work):
                self.cp.add(self.starts[i] <= self.starts[j])
            elif shared and all(x >= y for x, y in work):
                self.cp.add(self.starts[i] >= self.starts[j])

    def decide_in(self, order: Sequence[int]) -> None:
        """After the starts the positions: the smallest domain first, its largest value ("best fit")."""
        super().decide_in(order)
        places = [y for i in order for ys in self._units[i].values() for y in ys]
        self.cp.add_decision_strategy(places, cp_model.CHOOSE_MIN_DOMAIN_SIZE, cp_model.SELECT_MAX_VALUE)

    def _hint_places(self, plan: Plan) -> None:
        for i, job in self.waiting():
            boxes = sorted(plan.boxes[job.id], key=lambda box: (self._at[box[0]], box[1]))
            for j, (node, _) in enumerate(boxes):
                if i in self._nodes:
                    self.cp.add_hint(self._nodes[i][j], self._at[node])
            for r, ys in self._units[i].items():
                places = sorted(self._position(r, node, offsets) for node, offsets in boxes)
                for y, place in zip(ys, places, strict=True):
                    self.cp.add_hint(y, place)
        for n, load in enumerate(self.instance.loads):
            if not self._fixed or not self._fixed[n]:
                continue
            offsets = self._load_offsets(plan, n)
            for r, y in self._fixed[n].items():
                self.cp.add_hint(y, self._position(r, load.node, offsets))

    def _position(self, r: int, node: int, offsets: Amounts) -> int:
        """Of a box at these offsets of a node, in the line of resource r."""
        return self._height[r] * self._at[node] + offsets[r] // self._grain[r]

    def _offset(self, r: int, node: int, position: int) -> int:
        """Return the offset in the node of a position: the way back."""
        return (position - self._height[r] * self._at[node]) * self._grain[r]

    def _load_offsets(self, plan: Plan, n: int) -> Amounts:
        """Return where load `n` lies in `plan`; loads of reservations are in no plan."""
        load = self.instance.loads[n]
        if load.job < 0:
            return self._loads[n]
        ids = [m for m, other in enumerate(self.instance.loads) if other.job == load.job]
        boxes = plan.boxes.get(self.instance.jobs[load.job].id)
        return boxes[ids.index(n)][1] if boxes else self._loads[n]

    def _read_places(self, solver: cp_model.CpSolver, plan: Plan) -> None:
        resources = range(len(self.instance.resources))
        for i, job in self.waiting():
            some = next(iter(self._units[i]))
            boxes: list[Box] = []
            for j in range(job.units):
                node = self._line[solver.value(self._units[i][some][j]) // self._height[some]]
                offsets = [self._offset(r, node, solver.value(self._units[i][r][j])) if r in self._units[i] else 0
                           for r in resources]  # fmt: skip
                boxes.append((node, tuple(offsets)))
            plan.boxes[job.id] = boxes
            plan.layout[job.id] = {
                k: sum(1 for node, _ in boxes if node == k) for k in sorted({node for node, _ in boxes})
            }
        for n, load in enumerate(self.instance.loads):
            if load.job >= 0:
                if self._fixed:
                    lies = self._fixed[n]
                    offsets = [self._offset(r, load.node, solver.value(lies[r])) if r in lies else 0
                               for r in resources]  # fmt: skip
                else:
                    offsets = list(self._loads[n])
                plan.boxes.setdefault(self.instance.jobs[load.job].id, []).append((load.node, tuple(offsets)))


def _by_when_free(instance: Instance) -> list[int]:
    """Return the nodes by when the last of their running units ends, those alike beside each other."""
    ends: dict[int, list[tuple[int, int]]] = {}
    for load in instance.loads:
        ends.setdefault(load.node, []).append((load.end, load.start))
    return sorted(range(instance.n_nodes), key=lambda node: (sorted(ends.get(node, ()), reverse=True), node))


def _grains(instance: Instance) -> list[int]:
    """Of each resource the greatest common divisor of what units of waiting and running jobs need; at least 1."""
    return [gcd(*(job.demand[r] for job in instance.jobs)) or 1 for r in range(len(instance.resources))]
