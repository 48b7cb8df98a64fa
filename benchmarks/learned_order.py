"""A learned order of the queue beside rules, after the protocol of RLScheduler, on two of its logs.

``python benchmarks/learned_order.py learn FOLDER [LOG]`` learns `SEEDS` networks a log on its first 70 % of the jobs,
episodes of 256 jobs, and writes them to FOLDER; those that are there already are kept. ``… judge FOLDER [PAGE]`` runs
each on ten stretches of 1,024 jobs from the last 30 %, which no network has seen, and prints the table, or writes it
into PAGE between its marks. ``SLURMSIM_DATA`` names the folder of the logs. The validator judges every run.

D. Zhang, D. Dai, Y. He, F. S. Bao, B. Xie, "RLScheduler: An Automated HPC Batch Job Scheduler Using Reinforcement
Learning", SC 2020, learns on episodes of 256 jobs, shows 128 jobs and judges ten stretches of 1,024 jobs, by bounded
slowdown. Its figures are those of the README of its repository. There a chosen job that does not fit blocks the
machine; ours chooses among jobs that fit, so theirs *with backfilling* is nearer. Its stretches are not known.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import slurmsim
from slurmsim.gym import AgentPolicy
from slurmsim.gym.observing import Question
from slurmsim.validate import validate_trace
from slurmsim.workload import Workload
from slurmsim_workloads import read_workload, write_workload

LOGS = {"Lublin-1": ("lublin_256.swf.gz", 256), "SDSC-SP2": ("SDSC-SP2-pyss-easy.swf.gz", 128)}
SEEDS, LEARNED, WINDOWS, LENGTH = 10, 0.7, 10, 1024
THEIRS = {
    "Lublin-1": {"fcfs": "7,273.8", "easy": "235.8", "wfp3": "19,753.5 / 133.9", "unicep": "22,274.7 / 307.2",
                 "sjf": "277.4 / 73.3", "f1": "258.4 / 75.1", "learned": "254.7 / 58.6"},
    "SDSC-SP2": {"fcfs": "1,727.5", "easy": "1,595.1", "wfp3": "3,000.9 / 1,083.1", "unicep": "1,848.5 / 548.0",
                 "sjf": "2,680.6 / 2,167.8", "f1": "1,232.1 / 1,098.2", "learned": "466.4 / 397.8"},
}  # fmt: skip
MARK, END = "<!-- made: benchmarks/learned_order.py -->", "<!-- end -->"


class Rule(AgentPolicy):
    """The job that fits and has the least value of a rule starts; rules as their papers have them, by limits."""

    name = "rule"
    value: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def act(self, question: Question) -> int:
        rows = np.flatnonzero(question.mask[:-1])
        jobs = question.jobs[rows].astype(np.float64)
        n = np.array([question.records[row].n_cpus for row in rows.tolist()], np.float64)
        waited, limit = jobs[:, 0] * 3600, np.maximum(jobs[:, 1] * 3600, 1)
        came = np.array([max(question.records[row].job.submit_time, 1) for row in rows.tolist()], np.float64)
        return int(rows[type(self).value(np.stack((waited, came)), limit, n).argmin()])


class Wfp3(Rule):
    value = staticmethod(lambda times, limit, n: -((times[0] / limit) ** 3) * n)


class Unicep(Rule):
    value = staticmethod(lambda times, limit, n: -times[0] / (np.log2(n + 1) * limit))


class Sjf(Rule):
    value = staticmethod(lambda times, limit, n: limit)


class F1(Rule):
    value = staticmethod(lambda times, limit, n: np.log10(limit) * n + 870 * np.log10(times[1]))


RULES = {
    "`fcfs`": ("fcfs", "fcfs"), "`easy`": ("easy", "easy"), "`easy:order=shortest`": ("easy:order=shortest", ""),
    "`backfill`": ("backfill", ""), "WFP3 of those that fit": (Wfp3, "wfp3"), "UNICEP": (Unicep, "unicep"),
    "SJF": (Sjf, "sjf"), "F1": (F1, "f1"),
}  # fmt: skip


def log_of(name: str) -> tuple[Path, int, Workload]:
    """File, nodes and jobs of a log."""
    file, nodes = LOGS[name]
    path = Path(os.environ["SLURMSIM_DATA"]) / file
    return path, nodes, read_workload(path)


def learn(folder: Path, names: list[str]) -> None:
    """Write the networks that are not there yet, one log after the other."""
    from slurmsim.gym.ppo import learn_order

    folder.mkdir(exist_ok=True)
    for name in names:
        path, nodes, log = log_of(name)
        for seed in range(1, SEEDS + 1):
            target = folder / f"{name}-{seed}.toml"
            if target.exists():
                continue
            began, parts = time.process_time(), []
            order = learn_order(path, nodes=nodes, seed=seed, last=int(len(log) * LEARNED),
                                tell=lambda _, part, parts=parts: parts.append(part))  # fmt: skip
            about = f"{name}, the first {LEARNED:.0%} of the jobs, seed {seed}: benchmarks/learned_order.py"
            target.write_text(replace(order, about=about).text(), encoding="utf-8")
            print(f"{target.name}: {time.process_time() - began:.0f} s, over shortest-first "
                  f"{np.mean(parts[:5]):.2f} at first, {np.mean(parts[-5:]):.2f} at last", flush=True)  # fmt: skip


def windows(name: str, scratch: Path) -> Iterator[Path]:
    """Files of the stretches that no network has seen."""
    _, _, log = log_of(name)
    first = np.random.default_rng(2020).integers(int(len(log) * LEARNED), len(log) - LENGTH + 1, WINDOWS)
    for number, begin in enumerate(sorted(first.tolist())):
        file = scratch / f"{name}-{number}.parquet"
        write_workload(log.take(np.arange(begin, begin + LENGTH)), str(file))
        yield file


def judged(files: list[Path], nodes: int, policy: object, scratch: Path) -> float:
    """Mean over the stretches of the mean bounded slowdown. Raises SystemExit where the validator objects."""
    found = []
    for file in files:
        trace = slurmsim.run(str(file), nodes=nodes, policy=policy, out=scratch / "run", report=False)
        if not validate_trace(scratch / "run").valid:
            sys.exit(f"invalid: {file.name} under {policy}")
        found.append(trace.summary["mean_bounded_slowdown"])
    return float(np.mean(found))


def table(folder: Path) -> Iterator[str]:
    """The rows of the table: every rule, then the networks of each log on both logs."""
    yield "| policy | " + " | ".join(f"{name} | theirs" for name in LOGS) + " |"
    yield "|---" * (1 + 2 * len(LOGS)) + "|"
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        files = {name: list(windows(name, scratch)) for name in LOGS}
        for label, (policy, key) in RULES.items():
            cells = []
            for name, (_, nodes) in LOGS.items():
                cells += [f"{judged(files[name], nodes, policy, scratch):,.1f}", THEIRS[name].get(key, "")]
            yield f"| {label} | " + " | ".join(cells) + " |"
        for learned in LOGS:
            cells = []
            for name, (_, nodes) in LOGS.items():
                every = [
                    judged(files[name], nodes, f"learned_order:model={folder}/{learned}-{seed}.toml", scratch)
                    for seed in range(1, SEEDS + 1)
                ]
                middle, low, high = float(np.median(every)), min(every), max(every)
                cells += [
                    f"{middle:,.1f} ({low:,.1f} to {high:,.1f})",
                    THEIRS[name]["learned"] if name == learned else "",
                ]
                print(learned, "on", name, " ".join(f"{one:.1f}" for one in every), file=sys.stderr, flush=True)
            yield f"| learned on {learned} | " + " | ".join(cells) + " |"


def main(words: list[str]) -> None:
    """Learn, or judge what was learned."""
    if words[0] == "learn":
        learn(Path(words[1]), words[2:] or list(LOGS))
        return
    rows = "\n".join(table(Path(words[1])))
    print(rows)
    if len(words) > 2:
        page = Path(words[2])
        text = page.read_text(encoding="utf-8")
        begin = text.index(MARK) + len(MARK)
        page.write_text(f"{text[:begin]}\n{rows}\n{text[text.index(END, begin) :]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
