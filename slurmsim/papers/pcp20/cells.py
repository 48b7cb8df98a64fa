"""One cell of the PCP'20 experiment: a run that saves its instances, an instance for all models, or a timed run.

CPU seconds of this process are measured, never the time of day; only their ratios mean anything.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slurmsim.errors import SlurmSimError
from slurmsim.experiments.simulation import InstanceSaver, Prepared, Recorder, RunOptions, prepare, simulate
from slurmsim.papers.pcp20.data import LOGS, MIX_NODES, System, eurora, kit, synthetic, window
from slurmsim.policy import load_policy, parse_policy
from slurmsim.trace.schema import JOBS
from slurmsim_policies.cp.cold import MODELS, SEARCHES, admitted, cold
from slurmsim_policies.cp.options import parse
from slurmsim_policies.cp.plain import instance_from
from slurmsim_policies.cp.plan import Answer
from slurmsim_policies.cp.problem import Instance
from slurmsim_policies.cp.solve import dispatch

TEN = 10
PERCENTILES = (50, 90, 95, 99, 100)
MEAN_MS = 252
"""The paper's mean time of a dispatch of PCP'20 on Eurora."""
SAMPLES = 24
LIMITS = {"pcp19": 0.1, "hcp19": 2.0, "pcp20": 2.0, "cp_classes": 2.0}
"""Deterministic seconds without a hint: about 5 CPU seconds each (docs/systems/eurora.md says why they differ)."""


SYSTEMS: dict[str, Callable[..., System]] = {"eurora": eurora, "mixed": partial(eurora, mixed=True), "kit": kit}


@dataclass(frozen=True, slots=True)
class RunCell:
    """A run of a policy on a system or on a window of a log."""

    name: str
    system: str  # a name of `SYSTEMS`, a name of `LOGS`, or ``mix``
    policy: str
    file: str  # where its jobs are read from; those of ``mix`` are made up
    # jobs, first: the window, by number of job
    jobs: int = 0
    first: int = 0
    # 0: as it is; else submit times are jittered by up to a minute. Of ``mix`` the generator's seed is one more.
    seed: int = 0
    save: str = ""  # folder for contested instances, "" for none; at most `most` of them
    most: int = 0
    # pace: on a system arrivals come that much faster than in its log
    # count: the variables of every instance are counted
    pace: float = 1.0
    count: bool = False


@dataclass(frozen=True, slots=True)
class InstanceCell:
    """A saved instance for all models."""

    name: str
    file: str


def work(cell: RunCell | InstanceCell, *, scratch: str) -> dict[str, Any]:
    return run(cell, Path(scratch)) if isinstance(cell, RunCell) else compare(cell)


# -- runs -------------------------------------------------------------------------------------------------------------


def run(cell: RunCell, scratch: Path) -> dict[str, Any]:
    """Simulate and time the dispatcher: CPU seconds inside the policy and its solver, per activation."""
    prepared, about = _prepared(cell, scratch)
    rows: list[tuple[Any, ...]] = []
    recorder = Recorder(rows.append, _ignore, _ignore, _ignore)
    watch = Stopwatch()
    policy: Any = prepared.policy
    if hasattr(policy, "dispatch"):
        policy.schedule, policy.solved = watch.around(policy.schedule, pass_=True), watch.around(policy.solved)
    simulation = simulate(prepared, recorder)
    saver = None
    if cell.save:
        shutil.rmtree(cell.save, ignore_errors=True)  # of a run that was interrupted
        saver = InstanceSaver(Path(cell.save), cell.most)
        simulation.solve = saver.around(simulation.solve)
    simulation.solve = watch.around_solver(simulation.solve)
    sizes = SizeCounter()
    if cell.count:
        simulation.solve = sizes.around(simulation.solve)
    began = time.process_time()
    simulation.run()
    whole = time.process_time() - began
    recorder.unfinished()
    figures = _schedule(rows)
    if figures["never_started"]:
        raise SlurmSimError(f"{cell.name}: {figures['never_started']} jobs have not started")
    figures |= {"about": about, "cpu_s": whole, "activations": watch.passes, "solves": watch.solves,
                "dispatch_s": watch.policy_s + watch.solver_s, "solver_s": watch.solver_s,
                "times_ms": _percentiles(watch.times)}  # fmt: skip
    if cell.count:
        figures |= {"sizes": sizes.seen, "offered_load": _offered_load(prepared)}
    if saver is not None:
        figures |= {"files": [str(file) for file in saver.kept], "asked": saver.seen}
    return figures


def _offered_load(prepared: Prepared) -> float:
    """Return the core-seconds that all jobs want over those that the machine has while jobs come."""
    ints = prepared.workload.ints
    wanted = float((ints["tasks"] * ints["cpus_per_task"] * ints["run_time"]).sum())
    span = max(1, int(ints["submit"].max() - ints["submit"].min()))
    return wanted / (span * sum(node.cpus for node in prepared.cluster.nodes))


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return percentiles of the CPU milliseconds of a dispatch, and how many per cent take less than the paper's mean.

    Activations at which nothing waits take next to nothing and count, as they do in the paper's mean.
    """
    ms = 1000 * np.array(times or [0.0])
    found = {f"{at}": float(np.percentile(ms, at)) for at in PERCENTILES}
    return {**found, "mean": float(ms.mean()), "below": 100 * float((ms < MEAN_MS).mean())}


def _ignore(_: Any) -> None:
    """Not kept."""


def _prepared(cell: RunCell, scratch: Path) -> tuple[Prepared, str]:
    from slurmsim_workloads import write_workload
    from slurmsim_workloads.transforms.jitter import jittered

    place = scratch / cell.name
    place.mkdir()
    if cell.system in SYSTEMS:
        made = SYSTEMS[cell.system]
        system = made(Path(cell.file), jobs=cell.jobs, first=cell.first)
        (place / "slurm.conf").write_text(system.conf, encoding="utf-8")
        if system.gres:
            (place / "gres.conf").write_text(system.gres, encoding="utf-8")
        write_workload(system.workload, str(place / "jobs.parquet"))
        options = RunOptions(
            str(place / "jobs.parquet"), str(place / "out"), conf=str(place / "slurm.conf"), policy=cell.policy,
            load=None if cell.pace == 1 else cell.pace,
        )  # fmt: skip
        prepared, about = prepare(options), system.about
    elif cell.system == "mix":
        jobs, about = synthetic(jobs=cell.jobs, seed=cell.seed + 1)
        write_workload(jobs, str(place / "jobs.parquet"))
        nodes, cpus = MIX_NODES
        return prepare(RunOptions(
            str(place / "jobs.parquet"), str(place / "out"), nodes=nodes, cpus_per_node=cpus, policy=cell.policy
        )), about  # fmt: skip
    else:
        _, nodes, block = LOGS[cell.system]
        jobs, about = window(Path(cell.file), nodes, block, jobs=cell.jobs, first=cell.first)
        write_workload(jobs, str(place / "jobs.parquet"))
        prepared = prepare(RunOptions(str(place / "jobs.parquet"), str(place / "out"), nodes=nodes, policy=cell.policy))
    if cell.seed:
        prepared.workload = jittered(prepared.workload, 60, cell.seed)
    return prepared, about


class SizeCounter:
    """Jobs and variables of every instance that a run's solver is asked for."""

    def __init__(self) -> None:
        # seen: of each instance its waiting jobs, and the variables of PCP'20 and of PCP'19
        self.seen: list[tuple[int, int, int]] = []

    def around(self, solve: Callable[[str, str], str]) -> Callable[[str, str], str]:
        """Return `solve`, with the instances of its requests counted first."""

        def counting(name: str, request: str) -> str:
            instance = admitted(instance_from(json.loads(request)["instance"]))
            self.seen.append((len(instance.waiting), _positions(instance), _copies(instance)))
            return solve(name, request)

        return counting


class Stopwatch:
    """CPU seconds inside a policy and inside its solver, of each activation, and how often each was called."""

    def __init__(self) -> None:
        self.policy_s = self.solver_s = 0.0
        self.times: list[float] = []
        self.passes = self.solves = self._depth = 0

    def around(self, function: Callable[..., Any], *, pass_: bool = False) -> Callable[..., Any]:
        """Return `function`, a generator of decisions, with its time taken.

        A call of a `pass_` is an activation, unless it is made while an answer is carried out, of the one that asked.
        """

        def timed(*given: Any) -> Iterator[Any]:
            if pass_ and not self._depth:
                self.passes += 1
                self.times.append(0.0)
            return self._timed(function(*given))

        return timed

    def around_solver(self, function: Callable[[str, str], str]) -> Callable[[str, str], str]:
        """Return `function` with its time taken."""

        def timed(name: str, request: str) -> str:
            began = time.process_time()
            answer = function(name, request)
            spent = time.process_time() - began
            self.solver_s += spent
            self._add(spent)
            self.solves += 1
            return answer

        return timed

    def _add(self, spent: float) -> None:
        """Count it to the activation that asked last."""
        if self.times:
            self.times[-1] += spent

    def _timed(self, decisions: Any) -> Iterator[Any]:
        """Yield the decisions of a generator, without the time its host takes between two of them."""
        told: Any = None
        for step in count():
            began = time.process_time()
            self._depth += 1
            try:
                decision = decisions.send(told) if step else next(decisions)
            except StopIteration:
                return
            finally:
                self._depth -= 1
                if not self._depth:
                    spent = time.process_time() - began
                    self.policy_s += spent
                    self._add(spent)
            told = yield decision


def _schedule(rows: list[Any]) -> dict[str, Any]:
    """Mean and longest wait, slowdowns, and the mean number of waiting jobs, whole and in parts of the run."""
    submit, start, length = (_column(rows, name) for name in ("submit", "start", "run_time_s"))
    started = start >= 0
    length = np.maximum(length, 1)
    submit, wait, length, start = submit[started], (start - submit)[started], length[started], start[started]
    begin = int(submit.min()) if len(submit) else 0  # a log begins at any time
    edges = np.linspace(begin, start.max(initial=begin + 1), SAMPLES + 1)
    inside = [np.clip(np.minimum(start, hi) - np.maximum(submit, lo), 0, None).sum()
              for lo, hi in pairwise(edges)]  # fmt: skip
    return {
        "jobs": len(wait), "never_started": int((~started).sum()), "mean_wait_s": float(wait.mean()),
        "longest_wait_h": float(wait.max()) / 3600,
        "bounded_slowdown": float(np.maximum(1, (wait + length) / np.maximum(length, 10)).mean()),
        "slowdown": float(((wait + length) / length).mean()),
        "queue": float(wait.sum() / (edges[-1] - edges[0])),
        "queue_over_time": [float(n / (edges[1] - edges[0])) for n in inside],
    }  # fmt: skip


def _column(rows: list[tuple[Any, ...]], name: str) -> npt.NDArray[np.int64]:
    """Return a column of jobs, -1 for nothing."""
    at = list(JOBS).index(name)
    return np.array([-1 if row[at] is None else row[at] for row in rows], np.int64)


# -- instances --------------------------------------------------------------------------------------------------------


def compare(cell: InstanceCell) -> dict[str, Any]:
    """One instance: variables, what each dispatcher answers, and each model by itself to the same objective.

    All get the jobs that could start now. The target is the worse one of PCP'19's and PCP'20's answers, which both
    reach with a list schedule for a hint; without one they have to find it. Where a list schedule is known to be best,
    as of one job, no solver is needed (``pcp19_asked``), and nothing is compared.
    """
    instance = admitted(instance_from(json.loads(Path(cell.file).read_text(encoding="utf-8"))))
    clock = time.process_time
    found: dict[str, Any] = {
        "running": len(instance.running), "waiting": len(instance.waiting),
        "units": sum(instance.jobs[i].units for i in instance.waiting),
        "pcp19_variables": _copies(instance), "pcp20_variables": _positions(instance),
        "pcp20_variables_tenfold": _positions(_tenfold(instance)),
        "pcp19_variables_tenfold": _copies(_tenfold(instance)),
    }  # fmt: skip
    answers: dict[str, Answer] = {}
    for name in MODELS:
        began = clock()
        answers[name] = dispatch(instance, name, parse(name, {}), clock)
        found[f"{name}_dispatch_s"] = clock() - began
        found[f"{name}_objective"] = answers[name].objective
        found[f"{name}_asked"] = answers[name].asked
        found[f"{name}_status"] = answers[name].status.value
    found["list_objective"] = answers["pcp20"].hint_objective
    target = max(answers[name].objective_integer or 0 for name in ("pcp19", "pcp20"))
    for name in MODELS if found["pcp19_asked"] else ():
        for search in SEARCHES:
            alone = cold(name, instance, target, LIMITS[name], clock, search)
            found |= {f"{name}_{search}_build_s": alone.build_s, f"{name}_{search}_s": alone.build_s + alone.solve_s,
                      f"{name}_{search}_reached": alone.reached}  # fmt: skip
    return found


def _copies(instance: Instance) -> int:
    """PCP'19: |Q| + sum over jobs and nodes of p_{i,n}."""
    return len(instance.waiting) + sum(int(instance.places(instance.jobs[i]).sum()) for i in instance.waiting)


def _positions(instance: Instance) -> int:
    """PCP'20: |Q| + sum of rn_i |R_i|."""
    jobs = [instance.jobs[i] for i in instance.waiting]
    return sum(1 + job.units * sum(amount > 0 for amount in job.demand) for job in jobs)


def _tenfold(instance: Instance) -> Instance:
    """Return the same jobs on ten times the nodes, the new ones behind the old ones."""
    old, more = instance.n_nodes, (TEN - 1)
    groups = (*instance.groups, *(group for _ in range(more) for group in instance.groups))
    jobs = tuple(
        job if job.within is None
        else replace(job, within=tuple(k + n * old for n in range(TEN) for k in job.within))
        for job in instance.jobs
    )  # fmt: skip
    return replace(instance, groups=groups, jobs=jobs)


def predictors() -> dict[str, str]:
    """Predictions of durations that dispatchers have here: the paper's letter, and the option; at least the request."""
    options = load_policy(parse_policy("pcp20")[0]).OPTIONS
    return PREDICTORS if "predictor" in options else {"": ""}


PREDICTORS = {"": "", "R": "predictor=real", "L2": "predictor=last_two", "D": "predictor=data_driven"}
"""The paper's letters: real durations, the mean of the user's last two, data-driven (which needs job names)."""
