"""Shares of nodes, now and as running jobs end: whether a request fits, when it would, and on which nodes.

For requests that ask for nodes, whole or shared, CPUs, memory and GRES of each node and have no other wishes
(`CompiledRequest.columns`). This is plain Python and runs as such (the tests do); `placement.pxd` gives it the types
with which Cython compiles it.

Source: Slurm src/plugins/select/cons_common/job_test.c (_eval_nodes, _choose_nodes) and the future test of
select/cons_tres (_will_run_test), 22.05.8; `best_fit.choose`, `Placer.place` and `Selector.future` say the same.
"""

from __future__ import annotations

from array import array

from slurmsim.kernel.arrays import wider, zeros

# Where a request's columns hold what
MIN_NODES_, TARGET_NODES_, MAX_NODES_, MIN_CPUS_, LEAST_CPUS_, NEED_CPUS_ = 0, 1, 2, 3, 4, 5
WHOLE_TASKS_, MEM_CPU_, MEM_NODE_, MEM_ALL_, PER_TASK_, MOST_TASKS_ = 6, 7, 8, 9, 10, 11
EXCLUSIVE_, N_DEMANDS_, DEMANDS_ = 12, 13, 14
NEAR_ = 255  # the lowest byte of a node's weight, less the GPUs that count


def take(nodes: array[int], cpus: array[int], free_cpus: array[int], jobs: array[int]) -> int:
    """Take so many CPUs of each of the `nodes` for a job; `free_cpus` and `jobs` are of all nodes.

    -1 where one of the nodes is none of these, else 0.
    """
    n = len(jobs)
    for i in range(len(nodes)):
        if nodes[i] < 0 or nodes[i] >= n:
            return -1
        free_cpus[nodes[i]] -= cpus[i]
        jobs[nodes[i]] += 1
    return 0


def give_back(nodes: array[int], cpus: array[int], free_cpus: array[int], jobs: array[int]) -> int:
    """Give them back; return on how many of the nodes other jobs run, -1 as for `take`."""
    n, shared = len(jobs), 0
    for i in range(len(nodes)):
        if nodes[i] < 0 or nodes[i] >= n:
            return -1
        free_cpus[nodes[i]] += cpus[i]
        jobs[nodes[i]] -= 1
        shared += jobs[nodes[i]] != 0
    return shared


class Nodes:
    """What nodes have and what is free of them, and the running jobs in the order of their ends.

    Parameters
    ----------
    cpus, mem, grain, weight
        Of each node: CPUs, MiB, CPUs of the smallest share a job can get, weight.
    n_kinds
        Kinds of GRES.
    """

    def __init__(self, cpus: array[int], mem: array[int], grain: array[int], weight: array[int], n_kinds: int) -> None:
        n = self.n = len(cpus)
        self.cpus, self.mem, self.grain, self.weight = cpus, mem, grain, weight
        self.now_cpus, self.now_mem, self.now_open = cpus, mem, cpus
        self.free_cpus, self.free_mem, self.open = zeros(n), zeros(n), zeros(n)
        self.n_kinds = n_kinds
        self.now_gres, self.free_gres = zeros(n * n_kinds + 1), zeros(n * n_kinds + 1)
        # what nodes offer the request at hand, all together, and how many of them offer anything
        self.inside, self.offered = zeros(n), zeros(n)
        self.total = self.n_offering = 0
        self.now_jobs, self.jobs_there = zeros(n), zeros(n)
        self.n_jobs = 0
        self.job_room, self.room = 64, 256
        self.ends, self.whole, self.begins = zeros(self.job_room), zeros(self.job_room), zeros(self.job_room + 1)
        self.touched = zeros(self.job_room)
        self.held, self.held_cpus, self.held_mem = zeros(self.room), zeros(self.room), zeros(self.room)
        # GRES of jobs, one kind of one job a row: kind, job, and where its counts begin
        self.gres_room, self.n_gres = 64, 0
        self.gres_kind, self.gres_begins = zeros(self.gres_room), zeros(self.gres_room)
        self.count_room, self.n_counts = 64, 0
        self.counts = zeros(self.count_room)
        self.first_gres = zeros(self.job_room + 1)
        # candidates of one attempt, in table order
        self.n_left = 0
        self.node, self.left, self.weigh = zeros(n), zeros(n), zeros(n)
        self.gone, self.taken = zeros(n), zeros(n)
        self.set_first, self.set_end, self.set_cpus = zeros(n), zeros(n), zeros(n)
        self.set_count, self.set_weight = zeros(n), zeros(n)
        self.rem_cpus = self.rem_max = self.rem_nodes = self.min_rem = self.room_nodes = 0
        self.min_nodes = self.target_nodes = self.most_nodes = self.min_cpus = self.least = 0
        self.floor = 0
        self.exclusive = False
        # chosen, given, n_chosen: the nodes of the last request that fitted, ascending, and the CPUs taken of each
        self.chosen, self.given = zeros(n), zeros(n)
        self.n_chosen = 0

    def restart(
        self, free_cpus: array[int], free_mem: array[int], free_gres: array[int], is_open: array[int],
        jobs: array[int],
    ) -> None:  # fmt: skip
        """Set what is free now, GRES kind by kind, which nodes a job may share or have, and how many jobs each has.

        No job runs until `runs` tells of one.
        """
        self.renew(free_cpus, free_mem, free_gres, is_open, jobs)
        self.n_jobs = self.n_gres = self.n_counts = 0

    def renew(
        self, free_cpus: array[int], free_mem: array[int], free_gres: array[int], is_open: array[int],
        jobs: array[int],
    ) -> None:  # fmt: skip
        """As `restart`, but that those who run still do."""
        self.now_jobs = jobs
        self.now_cpus, self.now_mem, self.now_gres, self.now_open = free_cpus, free_mem, free_gres, is_open

    def runs(self, end: int, whole: bool, columns: array[int]) -> None:
        """Add a job that runs until `end`; `columns` are its nodes and, unless it has them whole, CPUs and MiB of each.

        Jobs are told of in the order of their ends.
        """
        if self.n_jobs == self.job_room:
            self._more_jobs()
        k = self.n_jobs
        at = self.begins[k]
        n = len(columns) if whole else len(columns) // 3
        while at + n > self.room:
            self._more_room()
        self.ends[k], self.whole[k] = end, whole
        for i in range(n):
            self.held[at + i] = columns[i]
        if not whole:
            for i in range(n):
                self.held_cpus[at + i], self.held_mem[at + i] = columns[n + i], columns[2 * n + i]
        self.begins[k + 1] = at + n
        self.first_gres[k] = self.first_gres[k + 1] = self.n_gres
        self.n_jobs += 1

    def insert(self, at: int, end: int, whole: bool, columns: array[int]) -> None:
        """Add a job as `runs` does, but before the one at `at`; no job has GRES."""
        self.runs(end, whole, columns)
        last = self.n_jobs - 1
        n = self.begins[last + 1] - self.begins[last]
        first, i = self.begins[at], self.begins[last] - 1
        while i >= first:
            self.held[i + n], self.held_cpus[i + n], self.held_mem[i + n] = (
                self.held[i], self.held_cpus[i], self.held_mem[i]
            )  # fmt: skip
            i -= 1
        for i in range(n):
            self.held[first + i] = columns[i]
            if not whole:
                self.held_cpus[first + i], self.held_mem[first + i] = columns[n + i], columns[2 * n + i]
        k = last
        while k > at:
            self.ends[k], self.whole[k] = self.ends[k - 1], self.whole[k - 1]
            self.begins[k] = self.begins[k - 1] + n
            k -= 1
        self.ends[at], self.whole[at] = end, whole

    def has(self, kind: int, counts: array[int]) -> None:
        """Give the job added last so much of that kind of GRES of each of its nodes."""
        n = len(counts)
        if self.n_gres == self.gres_room or self.n_counts + n > self.count_room:
            self._more_gres(n)
        self.gres_kind[self.n_gres], self.gres_begins[self.n_gres] = kind, self.n_counts
        for i in range(n):
            self.counts[self.n_counts + i] = counts[i]
        self.n_counts += n
        self.n_gres += 1
        self.first_gres[self.n_jobs] = self.n_gres

    def _more_gres(self, n: int) -> None:
        self.gres_room *= 2
        self.gres_kind = wider(self.gres_kind, self.gres_room)
        self.gres_begins = wider(self.gres_begins, self.gres_room)
        self.count_room = 2 * self.count_room + n
        self.counts = wider(self.counts, self.count_room)

    def _more_jobs(self) -> None:
        self.job_room *= 2
        n = self.job_room
        self.ends, self.whole, self.touched = wider(self.ends, n), wider(self.whole, n), zeros(n)
        self.begins, self.first_gres = wider(self.begins, n + 1), wider(self.first_gres, n + 1)

    def _more_room(self) -> None:
        self.room *= 2
        n = self.room
        self.held, self.held_cpus = wider(self.held, n), wider(self.held_cpus, n)
        self.held_mem = wider(self.held_mem, n)

    # -- when ---------------------------------------------------------------------------------------------------------

    def fits(self, reach: array[int], asked: array[int]) -> bool:
        """Return True if a request fits now on the nodes `reach`, which ascend."""
        self._present(reach, asked)
        return self._attempt(reach, asked)

    def place(self, reach: array[int], asked: array[int], free_cpus: array[int], free_mem: array[int]) -> bool:
        """Return True if a share without GRES fits on the nodes `reach`, which ascend and are open to it.

        What is free of all nodes is told here, and nothing else that was told of the present counts.
        """
        n = total = 0
        for i in range(len(reach)):
            node = reach[i]
            cpus = self._share(node, free_cpus[node], free_mem[node], asked)
            if cpus:
                self.node[n], self.left[n], self.weigh[n], self.gone[n] = node, cpus, self.weight[node], 0
                total += cpus
                n += 1
        self.n_left = n
        return n > 0 and n >= asked[MIN_NODES_] and total >= asked[MIN_CPUS_] and self._tries(asked)

    def shares(self) -> tuple[list[int], list[int]]:
        """Return `chosen` and `given` of the last request that fitted, as lists."""
        nodes: list[int] = []
        cpus: list[int] = []
        for i in range(self.n_chosen):
            nodes.append(self.chosen[i])
            cpus.append(self.given[i])
        return nodes, cpus

    def _present(self, reach: array[int], asked: array[int]) -> None:
        """Set what is free of the nodes `reach`, and what they offer the request, to the present."""
        for i in range(len(reach)):
            node = reach[i]
            self.free_cpus[node], self.free_mem[node] = self.now_cpus[node], self.now_mem[node]
            self.open[node], self.jobs_there[node] = self.now_open[node], self.now_jobs[node]
        if asked[N_DEMANDS_]:
            for kind in range(self.n_kinds):
                base = kind * self.n
                for i in range(len(reach)):
                    self.free_gres[base + reach[i]] = self.now_gres[base + reach[i]]
        self.total = self.n_offering = 0
        for i in range(len(reach)):
            node = reach[i]
            cpus = self._offer(node, asked)
            self.offered[node] = cpus
            self.total += cpus
            self.n_offering += cpus > 0

    def _enter(self, reach: array[int]) -> None:
        """Let the nodes `reach` alone matter until `_leave`; no job is known to touch one of them."""
        for i in range(len(reach)):
            self.inside[reach[i]] = 1
        for k in range(self.n_jobs):
            self.touched[k] = -1

    def _leave(self, reach: array[int]) -> None:
        for i in range(len(reach)):
            self.inside[reach[i]] = 0

    def future(self, reach: array[int], asked: array[int], linear: int, exact: bool) -> int:
        """How many jobs must be gone for a request to fit on the nodes `reach`, 0: it fits now; -1: it never does.

        Asked at the moments of `NodeReleaseTimes.in_batches`, or after every distinct end when `exact`; `linear` is
        negative where jobs go one by one.
        """
        if self.fits(reach, asked):
            return 0
        self._enter(reach)
        if exact or linear < 0:
            found = self._at_ends(reach, asked, not exact)
        else:
            found = self._in_batches(reach, asked, linear)
        self._leave(reach)
        return found

    def enough_after(self, reach: array[int], asked: array[int]) -> int:
        """Return the fewest ended jobs after which `reach` has the CPUs and nodes asked for; -1: never.

        A request fits no sooner on these nodes, nor on some of them: what nodes offer only grows as jobs go.
        """
        self._present(reach, asked)
        if self._enough_offered(asked):
            return 0
        self._enter(reach)
        found = -1
        for k in range(self.n_jobs):
            self._release(k, k + 1, asked)
            if self._enough_offered(asked):
                found = k + 1
                break
        self._leave(reach)
        return found

    def _enough_offered(self, asked: array[int]) -> bool:
        """Return True if counting leaves it possible that the request fits."""
        return self.total >= asked[MIN_CPUS_] and self.n_offering >= asked[MIN_NODES_]

    def _at_ends(self, reach: array[int], asked: array[int], each: bool) -> int:
        """After every distinct end, or after each job."""
        last = -1
        done = 0
        for k in range(self.n_jobs):
            if not self._touches(k):
                continue
            if last >= 0 and (each or self.ends[k] != self.ends[last]):
                done = self._release(done, last + 1, asked)
                if self._attempt(reach, asked):
                    return last + 1
            last = k
        if last >= 0:
            self._release(done, last + 1, asked)
            if self._attempt(reach, asked):
                return last + 1
        return -1

    def _in_batches(self, reach: array[int], asked: array[int], linear: int) -> int:
        n = self.n_jobs
        at = self._next(0)
        if at >= n:
            return -1
        origin, window = self.ends[at] + 30 - self.ends[at] % 30, 30
        done = 0
        while at < n:
            p = at
            while p < n and self.ends[p] <= origin + window:
                p += 1
            if p < n and (p == at or not self._touches(p - 1)):  # a batch that ends without a test joins the next
                p = self._next(p) + 1
            if p >= n:  # nothing follows
                p = n
                while not self._touches(p - 1):
                    p -= 1
                self._release(done, p, asked)
                return p if self._attempt(reach, asked) else -1
            done = self._release(done, p, asked)
            if self._attempt(reach, asked):
                return p
            window = window + linear if linear else window * 2
            while self.ends[p] > origin + window:
                window = window + linear if linear else window * 2
            at = p if self._touches(p) else self._next(p + 1)
        return -1

    def _touches(self, k: int) -> bool:
        """Return True if job `k` has a node inside."""
        if self.touched[k] < 0:
            self.touched[k] = 0
            for i in range(self.begins[k], self.begins[k + 1]):
                if self.inside[self.held[i]]:
                    self.touched[k] = 1
                    break
        return self.touched[k] != 0

    def _next(self, at: int) -> int:
        while at < self.n_jobs and not self._touches(at):
            at += 1
        return at

    def _release(self, first: int, last: int, asked: array[int]) -> int:
        """Take the jobs from `first` to before `last` away, and count what their nodes inside offer then."""
        for k in range(first, last):
            if not self._touches(k):
                continue
            for i in range(self.begins[k], self.begins[k + 1]):
                node = self.held[i]
                self.open[node] = 1
                if self.whole[k]:
                    self.jobs_there[node] = 0
                else:
                    self.jobs_there[node] -= 1
                    self.free_cpus[node] += self.held_cpus[i]
                    self.free_mem[node] += self.held_mem[i]
            if not self.whole[k]:
                self._release_gres(k)
            for i in range(self.begins[k], self.begins[k + 1]):
                node = self.held[i]
                if self.inside[node]:
                    cpus = self._offer(node, asked)
                    self.total += cpus - self.offered[node]
                    self.n_offering += (cpus > 0) - (self.offered[node] > 0)
                    self.offered[node] = cpus
        return last

    def _release_gres(self, k: int) -> None:
        for g in range(self.first_gres[k], self.first_gres[k + 1]):
            base, at = self.gres_kind[g] * self.n, self.gres_begins[g]
            for i in range(self.begins[k], self.begins[k + 1]):
                self.free_gres[base + self.held[i]] += self.counts[at]
                at += 1

    # -- where --------------------------------------------------------------------------------------------------------

    def _attempt(self, reach: array[int], asked: array[int]) -> bool:
        """Return True if the request fits on what is free; then `chosen` are its nodes (`best_fit.choose`).

        When the first evaluation fails, nodes offering no more than 1, 2, 3, … CPUs are given up step by step.
        """
        if not self.n_offering or not self._enough_offered(asked):
            return False
        self._offers(reach, asked)
        return self._tries(asked)

    def _tries(self, asked: array[int]) -> bool:
        """Return True if the request fits on the candidates; then `chosen` are its nodes."""
        self.min_nodes, self.target_nodes, self.most_nodes = asked[MIN_NODES_], asked[TARGET_NODES_], asked[MAX_NODES_]
        self.min_cpus, self.least, self.exclusive = asked[MIN_CPUS_], asked[LEAST_CPUS_], asked[EXCLUSIVE_] != 0
        self.floor = 0 if asked[N_DEMANDS_] else self.least  # GRES may have lowered what nodes offer
        alive = self.n_left
        if self._evaluate(alive):
            return True
        if alive <= self.min_nodes:
            return False
        biggest = 0
        for p in range(self.n_left):
            if self.left[p] > biggest:
                biggest = self.left[p]
        for count in range(1, biggest):
            dropped = False
            for p in range(self.n_left):
                if not self.gone[p] and self.left[p] <= count:
                    if alive <= self.min_nodes:
                        break
                    self.gone[p] = 1
                    alive -= 1
                    dropped = True
            if not dropped and count != 1:
                continue
            if self._evaluate(alive):
                return True
            if alive <= self.min_nodes:
                return False
        return False

    def _offers(self, reach: array[int], asked: array[int]) -> None:
        """Make the nodes that offer something the candidates."""
        n = 0
        for i in range(len(reach)):
            node = reach[i]
            if not self.offered[node]:
                continue
            weight = self.weight[node]
            if asked[N_DEMANDS_]:
                weight = weight * (NEAR_ + 1) + NEAR_ - self._near(node, asked)
            self.node[n], self.left[n], self.weigh[n], self.gone[n] = node, self.offered[node], weight, 0
            n += 1
        self.n_left = n

    def _offer(self, node: int, asked: array[int]) -> int:
        """CPUs a node can offer the request (`Placer._usable`, `gres.offer`); 0: none."""
        if not self.open[node] or (asked[EXCLUSIVE_] and self.jobs_there[node]):
            return 0
        if asked[EXCLUSIVE_]:
            cpus = self.cpus[node]
            if asked[WHOLE_TASKS_]:
                cpus -= cpus % asked[WHOLE_TASKS_]
        else:
            cpus = self._share(node, self.free_cpus[node], self.free_mem[node], asked)
        if cpus and asked[N_DEMANDS_]:
            if self._near(node, asked) < 0:
                return 0
            tasks = cpus // asked[PER_TASK_]
            if 0 <= asked[MOST_TASKS_] < tasks:
                tasks = asked[MOST_TASKS_]
            if tasks * asked[PER_TASK_] < cpus:
                cpus = tasks * asked[PER_TASK_]
        return cpus

    def _share(self, node: int, cpus: int, mem: int, asked: array[int]) -> int:
        """Return those of the free CPUs of a node that are for the request, as its free memory goes; 0: too few."""
        mem_cpu, mem_node, whole_tasks = asked[MEM_CPU_], asked[MEM_NODE_], asked[WHOLE_TASKS_]
        if cpus < asked[NEED_CPUS_] or cpus <= 0:  # as most are, and divisions are dear
            return 0
        if asked[MEM_ALL_]:
            if mem != self.mem[node]:
                return 0
        elif mem_cpu:
            if mem < mem_cpu:
                return 0
            most = mem // mem_cpu // self.grain[node] * self.grain[node]
            if most < cpus:
                cpus = most
        elif mem_node and mem < mem_node:
            return 0
        if whole_tasks:
            cpus -= cpus % whole_tasks
        return 0 if cpus < asked[NEED_CPUS_] or cpus <= 0 else cpus

    def _near(self, node: int, asked: array[int]) -> int:
        """Return how many GPUs of a node count as near, -1 where it has too few of some GRES (`gres.preference`)."""
        near = 0
        at = DEMANDS_
        for _ in range(asked[N_DEMANDS_]):
            count, is_gpu, n = asked[at], asked[at + 1], asked[at + 2]
            have = 0
            for i in range(n):
                have += self.free_gres[asked[at + 3 + i] * self.n + node]
            if have < count or have < 1:
                return -1
            if is_gpu:
                near += count if 0 < count < have and not asked[EXCLUSIVE_] else have
            at += 3 + n
        return near if near < NEAR_ else NEAR_

    def _evaluate(self, alive: int) -> bool:
        """One attempt; lowers `left` for nodes taken in part, as the original does."""
        if alive < self.min_nodes:
            return False
        for p in range(self.n_left):
            self.taken[p] = 0
        self.rem_cpus = self.rem_max = self.min_cpus
        self.min_rem, self.room_nodes = self.min_nodes, self.most_nodes
        self.rem_nodes = self.target_nodes if self.target_nodes > self.min_nodes else self.min_nodes
        n_sets = self._find_sets()
        while n_sets and self.room_nodes > 0:
            best = 0
            for s in range(1, n_sets):
                if self._better(s, best):
                    best = s
            if self._take_from(best):
                return self._choose()
            n_sets -= 1
            for s in range(best, n_sets):
                self.set_first[s], self.set_end[s] = self.set_first[s + 1], self.set_end[s + 1]
                self.set_cpus[s], self.set_count[s] = self.set_cpus[s + 1], self.set_count[s + 1]
                self.set_weight[s] = self.set_weight[s + 1]
        return self.rem_cpus <= 0 and self._enough(0) and self._choose()

    def _choose(self) -> bool:
        """Put the nodes taken into `chosen`; return True."""
        self.n_chosen = 0
        for p in range(self.n_left):
            if self.taken[p]:
                self.chosen[self.n_chosen], self.given[self.n_chosen] = self.node[p], self.left[p]
                self.n_chosen += 1
        return True

    def _find_sets(self) -> int:
        """Return maximal runs of neighbouring usable nodes of one weight; how many."""
        n = 0
        is_open = False
        last = -2
        for p in range(self.n_left):
            if self.gone[p]:
                continue
            if is_open and (self.node[p] != last + 1 or self.weigh[p] != self.set_weight[n - 1]):
                is_open = False
            last = self.node[p]
            if self.left[p] < self.floor or self.left[p] <= 0:
                is_open = False
                last = -2
                continue
            if not is_open:
                self.set_first[n], self.set_cpus[n], self.set_count[n] = p, 0, 0
                self.set_weight[n] = self.weigh[p]
                n += 1
                is_open = True
            self.set_end[n - 1] = p + 1
            self.set_cpus[n - 1] += self.left[p]
            self.set_count[n - 1] += 1
        return n

    def _enough(self, n: int) -> bool:
        if self.target_nodes > self.min_nodes:
            return n >= self.rem_nodes + self.min_nodes - self.target_nodes
        return n >= self.rem_nodes

    def _better(self, new: int, best: int) -> bool:
        if self.set_weight[new] != self.set_weight[best]:
            return self.set_weight[new] < self.set_weight[best]
        sufficient = self.set_cpus[new] >= self.rem_cpus and self._enough(self.set_count[new])
        if not sufficient:
            return self.set_cpus[new] > self.set_cpus[best]
        if self.set_cpus[new] < self.set_cpus[best]:
            return True
        return not (self.set_cpus[best] >= self.rem_cpus and self._enough(self.set_count[best]))

    def _is_done(self) -> bool:
        return self.rem_nodes <= 0 and self.rem_cpus <= 0

    def _take_from(self, s: int) -> bool:
        """Take nodes of one set; whether the request is complete."""
        first, end = self.set_first[s], self.set_end[s]
        if self.rem_nodes <= 1:
            only = -1
            for p in range(first, end):
                if not self.gone[p] and self.left[p] >= self.rem_cpus and (only < 0 or self.left[p] < self.left[only]):
                    only = p
            if only >= 0:
                self._take(only)
                return self._is_done()
        for p in range(first, end):
            if self.gone[p] or self.left[p] <= 0:
                continue
            if self.room_nodes == 1 and self.left[p] < self.rem_cpus:
                continue
            self._take(p)
            if self.room_nodes <= 0 or self._is_done():
                break
        return self._is_done()

    def _take(self, p: int) -> None:
        cpus = self.left[p]
        others = self.min_rem - 1 if self.min_rem > 1 else 0
        room = self.rem_max - others * self.grain[self.node[p]]
        if cpus > room and not self.exclusive:
            cpus = room if room > self.least else self.least
            self.left[p] = cpus
        self.taken[p] = 1
        self.rem_cpus -= cpus
        self.rem_max -= cpus
        self.rem_nodes -= 1
        self.min_rem -= 1
        self.room_nodes -= 1
