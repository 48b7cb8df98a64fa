"""Many wild worlds, one after the other or in several processes, with what was found and how far it is."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from wild.generator import wild_world
from wild.judging import Finding, judge
from wild.running import STEP


@dataclass(frozen=True, slots=True)
class Verdict:
    """One world: what became of its run, what is wrong, seconds of the CPU, and turns of the scheduler."""

    seed: int
    about: str
    how: str
    findings: tuple[Finding, ...]
    cpu_s: float
    turns: int = 0


@dataclass(slots=True)
class Summary:
    """Worlds by what became of them, findings by kind, and the numbers of the bad ones."""

    how: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    bad: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    most_turns: int = 0

    def __str__(self) -> str:
        worlds = self.how.total()
        return (
            f"{worlds} worlds {dict(self.how)}, {len(self.bad)} with findings {dict(self.kinds)}, "
            f"{self.cpu_s / max(1, worlds):.2f} CPU s and fewer than {self.most_turns + STEP} turns a world"
        )

    def add(self, verdict: Verdict) -> None:
        """Take one world in."""
        self.how[verdict.how] += 1
        self.cpu_s += verdict.cpu_s
        self.most_turns = max(self.most_turns, verdict.turns)
        self.kinds.update({finding.kind for finding in verdict.findings})
        if verdict.findings:
            self.bad.append(verdict.seed)
        for finding in verdict.findings:
            first = finding.text.splitlines()[0] if finding.text else ""
            self.lines.append(f"world {verdict.seed} ({verdict.about}): {finding.kind}: {first[:300]}")


def judge_all(first: int, number: int, *, processes: int = 1, keep: Path | None = None, quiet: bool = False) -> Summary:
    """Judge the worlds `first` and following; print each finding and, now and then, how far it is."""
    summary = Summary()
    for verdict in _verdicts(range(first, first + number), processes, keep):
        said = len(summary.lines)
        summary.add(verdict)
        if not quiet:
            for line in summary.lines[said:]:
                print(line, flush=True)
            if summary.how.total() % 100 == 0:
                print(f"{summary.how.total()} of {number}: {summary}", flush=True)
    return summary


def _verdicts(seeds: range, processes: int, keep: Path | None) -> Iterator[Verdict]:
    if processes == 1:
        yield from (_verdict(seed, keep) for seed in seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(_verdict, seeds, [keep] * len(seeds))


def _verdict(seed: int, keep: Path | None) -> Verdict:
    """Judge one world in a folder of its own."""
    world, began = wild_world(seed), time.process_time()
    with tempfile.TemporaryDirectory(prefix=f"wild-{os.getpid()}-") as place:
        folder = Path(place) / "w"
        ran, findings = judge(world, folder)
        if findings and keep is not None:
            shutil.copytree(folder / "world", keep / str(seed), dirs_exist_ok=True)
    about = f"{world.policy}, {world.release}"
    return Verdict(seed, about, ran.how, tuple(findings), time.process_time() - began, ran.turns)
