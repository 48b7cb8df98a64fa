"""Coverage and width of the interval that `slurmsim why` gives, on many waits of many logs.

    python benchmarks/why_interval_many.py LOG.swf PROCESSORS [FIRST] [JOBS] [WAITS]

`why_interval.py` asks a live cluster, at half a second a copy. Here a textbook EASY scheduler of a page takes the place
of the cluster, for the log and for the copies alike; what a copy draws, and what comes in it, is slurmsim's own code.
JOBS jobs from number FIRST on; after the first third a waiting job is drawn at each of WAITS instants, and lives on in
20 copies. Printed: of which share the start is between the levels, how many began sooner, and the median width.
"""

from __future__ import annotations

import gzip
import heapq
import sys
from pathlib import Path
from random import Random

from slurmsim.live.waiting.interval import COPIES, HIGH, LOW, Draws, arrivals, at_level
from slurmsim.live.waiting.misjudged import factors
from slurmsim.live.waiting.past import NEWEST, Known

WAITED_S = 120
LONGEST_S, COMES_S = 14 * 86_400, 6 * 86_400
Job = tuple[int, int, int, int, str]  # submit, processors, limit, run time, user
Waiting = tuple[int, int, int, int]  # number, processors, limit, run time


class Easy:
    """Processors, what runs (number -> processors, end by its limit) and what waits."""

    def __init__(self, processors: int) -> None:
        self.free, self.now = processors, 0
        self.ends: list[tuple[int, int]] = []
        self.running: dict[int, tuple[int, int]] = {}
        self.queue: list[Waiting] = []
        self.started: dict[int, int] = {}

    def copy(self) -> Easy:
        again = Easy(self.free)
        again.now, again.ends, again.running = self.now, list(self.ends), dict(self.running)
        again.queue = list(self.queue)
        return again

    def submit(self, job: Waiting) -> None:
        self.queue.append(job)
        self.schedule()

    def start(self, at: int) -> None:
        number, size, limit, run = self.queue.pop(at)
        self.free -= size
        heapq.heappush(self.ends, (self.now + run, number))
        self.running[number] = (size, self.now + limit)
        self.started[number] = self.now

    def schedule(self) -> None:
        while self.queue and self.queue[0][1] <= self.free:
            self.start(0)
        if not self.queue or not self.free:
            return
        need, there, shadow = self.queue[0][1], self.free, 0
        for end, size in sorted((max(end, self.now + 1), size) for size, end in self.running.values()):
            there += size
            if there >= need:
                shadow = end
                break
        extra, k = there - need, 1
        while k < len(self.queue) and self.free:
            _, size, limit, _ = self.queue[k]
            late = self.now + limit > shadow
            if size > self.free or (late and size > extra):
                k += 1
                continue
            extra -= size if late else 0
            self.start(k)

    def advance(self, to: int, target: int = -1) -> bool:
        """Let time pass; whether `target` has started."""
        while self.ends and self.ends[0][0] <= to:
            self.now = self.ends[0][0]
            while self.ends and self.ends[0][0] == self.now:
                self.free += self.running.pop(heapq.heappop(self.ends)[1])[0]
            self.schedule()
            if target in self.started:
                return True
        self.now = max(self.now, to)
        return target in self.started


def main(log: str, processors: int, first: int = 1000, jobs: int = 2000, waits: int = 50) -> None:
    rows = _read(Path(log), processors)[first : first + jobs]
    real, rng = Easy(processors), Random(1)
    at = {len(rows) // 3 + k * (2 * len(rows) // 3) // waits for k in range(waits)}
    asked: dict[int, list[int]] = {}
    for number, (submit, size, limit, run, _) in enumerate(rows):
        real.advance(submit)
        real.submit((number, size, limit, run))
        if number in at:
            waiting = [one for one, *_ in real.queue if one not in asked and submit - rows[one][0] > WAITED_S]
            if waiting:
                target = rng.choice(waiting)
                asked[target] = _starts(real, rows, number, target)
    real.advance(1 << 60)
    for low, high in ((LOW, HIGH), (0.1, 0.9), (0.0, 1.0)):
        ends = {job: (at_level(found, low), at_level(found, high)) for job, found in asked.items()}
        inside = sum(a <= real.started[job] <= b for job, (a, b) in ends.items())
        sooner = sum(real.started[job] < a for job, (a, _) in ends.items())
        width = sorted(b - a for a, b in ends.values())[len(ends) // 2] / 3600
        print(f"levels {low:g}-{high:g}: {inside} of {len(asked)} inside ({inside / len(asked):.0%}), {sooner} sooner, "
              f"median width {width:.1f} h")  # fmt: skip


def _starts(real: Easy, rows: list[Job], number: int, target: int) -> list[int]:
    past = [_known(rows[k], real, k) for k in range(max(0, number - NEWEST), number)]
    wrong, rng = factors(past), Random(target)
    return sorted(_start(real, rows, past, target, Draws(rng, past, wrong), rng) for _ in range(COPIES))


def _start(real: Easy, rows: list[Job], past: list[Known], target: int, draws: Draws, rng: Random) -> int:
    copy = real.copy()
    now = copy.now
    copy.ends = [(now + draws.seconds(rows[k][4], rows[k][2], now - real.started[k]), k) for _, k in copy.ends]
    heapq.heapify(copy.ends)
    copy.queue = [(k, size, limit, draws.seconds(rows[k][4], limit)) for k, size, limit, _ in copy.queue]
    for k, (at, job) in enumerate(arrivals(past, now, rng), len(rows)):
        if at > now + COMES_S or copy.advance(at, target):
            break
        limit = job.limit_min * 60
        copy.submit((k, job.cpus, limit, draws.seconds(job.user, limit)))
        if target in copy.started:
            break
    copy.advance(now + LONGEST_S, target)
    return copy.started.get(target, now + LONGEST_S)


def _known(row: Job, real: Easy, number: int) -> Known:
    submit, size, limit, run, user = row
    over = number in real.started and real.started[number] + run <= real.now
    return Known(user, "", "", "", submit, limit // 60, size, size, run / limit if over else None)


def _read(log: Path, processors: int) -> list[Job]:
    data = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
    rows: list[Job] = []
    for line in data.decode("latin-1").splitlines():
        if line.strip() and line[0] != ";":
            words = line.split()
            size, run = int(words[7]) if int(words[7]) > 0 else int(words[4]), int(words[3])
            limit = -(-max(int(words[8]), run, 60) // 60) * 60
            if run > 0 and 0 < size <= processors:
                rows.append((int(words[1]), size, limit, min(run, limit), words[11]))
    return sorted(rows, key=lambda row: row[0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:]))
