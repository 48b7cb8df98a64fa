"""Streams: queues with known answers, closed loops, limits, and what cannot be."""

from __future__ import annotations

import heapq
import math
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.config.load import make_cluster
from slurmsim.core.records.job import Job
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.papers.titan.allocation import Moments, spread_of_use
from slurmsim.policy import load_policy
from slurmsim.sim.listener import Listener
from slurmsim.sim.simulation import Simulation
from slurmsim.validate import validate_trace
from slurmsim.workload import Streams, Workload, WorkloadHeader
from slurmsim_workloads.distributions import read_distribution, uniforms
from slurmsim_workloads.streams import read_streams

Times = npt.NDArray[np.int64]
HOUR_S = 3600


def run(folder: Path, text: str, *, nodes: int = 1, policy: str = "fcfs", **more: Any) -> Any:
    """The jobs of a run of the streams in `text`, by id; the validator has nothing against it."""
    file = folder / "streams.toml"
    file.write_text(text, encoding="utf-8")
    trace = slurmsim.run(file, nodes=nodes, policy=policy, out=folder / "out", report=False, **more)
    assert validate_trace(folder / "out").failed == []
    return trace.jobs_frame().sort_values("job_id")


def kiefer_wolfowitz(submit: Times, service: Times, n: int) -> Times:
    """Starts in a queue of `n` servers, first come, first served: each job takes the server that is free first."""
    free = [0] * n
    starts = np.empty_like(submit)
    for k, (at, time) in enumerate(zip(submit.tolist(), service.tolist(), strict=True)):
        starts[k] = max(at, heapq.heappop(free))
        heapq.heappush(free, int(starts[k]) + time)
    return starts


@pytest.mark.parametrize(
    ("gap", "service"),
    [
        ('{dist = "expon", scale = 4000}', '{dist = "expon", scale = 11000}'),
        ('{dist = "gamma", a = 0.3, scale = 12000}', '{dist = "lognorm", s = 1.5, scale = 3000}'),
        ("3600", '{dist = "weibull_min", c = 0.7, scale = 8000}'),
        ('{dist = "uniform", scale = 7000}', "10001"),
    ],
)
def test_starts_are_those_of_kiefer_and_wolfowitz(tmp_path: Path, gap: str, service: str) -> None:
    """M/M/3 and three G/G/3, to the second; jobs of one node are first come, first served with backfill, too."""
    policy = "conservative" if gap == "3600" else "fcfs"
    jobs = run(tmp_path, f"[[stream]]\njobs = 1000\ngap = {gap}\nrun = {service}\n", nodes=3, policy=policy, seed=4)
    submit, service_s = jobs["submit"].to_numpy(), jobs["run_time_s"].to_numpy()
    assert (jobs["start"].to_numpy() == kiefer_wolfowitz(submit, service_s, 3)).all()
    assert (jobs["wait_s"] > 0).mean() > 0.1  # else there is nothing to it


def erlang_c(n: int, offered: float) -> float:
    """Probability to wait in M/M/n with `offered` erlangs."""
    full = offered**n / math.factorial(n) * n / (n - offered)
    return full / (sum(offered**k / math.factorial(k) for k in range(n)) + full)


@pytest.mark.parametrize(("load", "jobs"), [(0.5, 4_000), (0.7, 6_000), (0.9, 14_000)])
def test_waits_are_erlangs(tmp_path: Path, load: float, jobs: int) -> None:
    """Mean wait and share of jobs that wait in M/M/4, within 3 standard errors by batch means."""
    service, n = 20_000.0, 4
    text = f"""[[stream]]
jobs = {jobs}
gap = {{dist = "expon", scale = {service / n / load}}}
run = {{dist = "expon", scale = {service}}}
"""
    waits = run(tmp_path, text, nodes=n, seed=11)["wait_s"].to_numpy()[1_000:].astype(float)
    delayed = erlang_c(n, n * load)
    for found, expected in ((waits, delayed * service / n / (1 - load)), ((waits > 0) * 1.0, delayed)):
        batches = found[: len(found) // 20 * 20].reshape(20, -1).mean(axis=1)
        error = batches.std(ddof=1) / math.sqrt(20)
        assert abs(found.mean() - expected) < 3 * error
        assert error < 0.3 * expected  # an estimate that says something


def test_one_server_with_one_always_queued(tmp_path: Path) -> None:
    """One job is always queued, so the node is never idle: use in T is the number of starts times the run times."""
    text = """[[stream]]
next = "start"
hours = 20000
run = {dist = "gamma", a = 2, scale = 7200}
"""
    jobs = run(tmp_path, text, seed=2)
    period = 20_000 * HOUR_S
    starts = np.sort(jobs["start"].to_numpy())
    assert (np.diff(starts) == jobs["run_time_s"].to_numpy()[:-1]).all()  # no second between two jobs
    found = int((starts < period).sum())
    mean, sd = 4 * HOUR_S, math.sqrt(2) * 2 * HOUR_S
    expected = spread_of_use(period, Moments(mean, sd), Moments(1, 0), Moments(1, 0), Moments(1, 0), after_end=False)
    assert abs(found - expected.mean) < 3 * expected.sd


@pytest.mark.parametrize("follows", ["start", "end"])
def test_chains_with_think_times_are_renewals(tmp_path: Path, follows: str) -> None:
    """Four chains on a machine that is never full: starts of each are renewals of think (and run) time."""
    text = f"""[[stream]]
next = "{follows}"
chains = 4
hours = 4000
run = {{dist = "expon", scale = 3600}}
think = {{dist = "gamma", a = 4, scale = 1800}}
"""
    jobs = run(tmp_path, text, nodes=40, seed=5)
    assert jobs["wait_s"].max() == 0
    think, run_s = Moments(2.0, 1.0), Moments(1.0, 1.0)
    one = Moments(1, 0)  # counting starts
    expected = spread_of_use(4 * 4000, think, run_s, one, one, after_end=False)
    if follows == "end":
        expected = spread_of_use(4 * 4000, Moments(3.0, math.sqrt(2)), one, one, one, after_end=False)
    assert abs(len(jobs) - 4 - expected.mean) < 3 * expected.sd


def test_a_loop_on_starts_is_another_turn_of_that_second(tmp_path: Path) -> None:
    """Two are always queued; each follows in the very second in which one starts."""
    jobs = run(tmp_path, '[[stream]]\nnext = "start"\nchains = 2\njobs = 7\nrun = 100\n', nodes=3)
    assert jobs["submit"].tolist() == [0, 0, 0, 0, 0, 100, 100]
    assert jobs["start"].tolist() == [0, 0, 0, 100, 100, 100, 200]


def test_the_next_on_an_end(tmp_path: Path) -> None:
    jobs = run(tmp_path, '[[stream]]\nnext = "end"\njobs = 3\nrun = 100\nthink = 5\nstart = 7\n')
    assert jobs[["submit", "start", "end"]].values.tolist() == [[7, 7, 107], [112, 112, 212], [217, 217, 317]]


BURST = '[[stream]]\nname = "a"\njobs = 5\ngap = 1\nrun = 100\n'


@pytest.mark.parametrize(
    ("more", "submits"),
    [
        ("", [1, 2, 3, 4, 5]),
        ("limit = 1\n", [1, 2, 101, 201, 301]),  # one in the queue, the others enter as it leaves
        ('limit = 2\nover = "drop"\n', [1, 2, 3]),
    ],
)
def test_a_limit_on_the_queue(tmp_path: Path, more: str, submits: list[int]) -> None:
    for text in (BURST + more, more + BURST):  # of the stream, and of all of them
        jobs = run(tmp_path, text)
        assert jobs["submit"].tolist() == submits
        assert jobs["arrived"].tolist() == [1, 2, 3, 4, 5][: len(submits)]


def test_time_in_a_streams_buffer_is_told(tmp_path: Path) -> None:
    """Where waits are, which begin with the submission that the buffer puts off; a log's own jobs are of no stream."""
    (tmp_path / "log.swf").write_text("; MaxProcs: 1\n1 0 -1 5 1 -1 -1 1 5 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    (tmp_path / "s.toml").write_text(BURST + "limit = 1\n", encoding="utf-8")
    out = tmp_path / "out"
    trace = slurmsim.run(tmp_path / "log.swf", streams=tmp_path / "s.toml", policy="fcfs", out=out)
    jobs = trace.jobs_frame().sort_values("job_id")
    assert jobs["arrived"].isna().tolist() == [True] + [False] * 5
    buffered = (jobs["submit"] - jobs["arrived"]).dropna()
    assert buffered.tolist() == [0, 3, 102, 201, 300]  # the log's job ran until 5
    assert trace.summary["mean_buffer_s"] == buffered.mean() == 121.2
    assert "mean time in a stream's buffer" in unescape((out / "report.html").read_text(encoding="utf-8"))
    assert validate_trace(out).failed == []
    alone = slurmsim.run(tmp_path / "log.swf", policy="fcfs", out=tmp_path / "alone", report=False)
    assert "mean_buffer_s" not in alone.summary


def test_what_is_dropped_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(BURST + 'limit = 2\nover = "drop"\n', encoding="utf-8")
    assert main(["run", "--streams", str(tmp_path / "s.toml"), "--nodes", "1", "--out", str(tmp_path / "out")]) == 0
    assert "stream a: the queue was full" in capsys.readouterr().out


def test_a_limit_on_all_streams_lets_the_oldest_in(tmp_path: Path) -> None:
    text = f'limit = 1\n{BURST}[[stream]]\nname = "b"\njobs = 1\nstart = 2\ngap = 1\nrun = 100\n'
    jobs = run(tmp_path, text)
    assert jobs.sort_values("submit")["user"].tolist()[:4] == ["a", "a", "b", "a"]


class Counted:
    """A stream that counts how often its limit is looked at."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.looks = stream, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def limit(self) -> int | None:
        self.looks += 1
        limit: int | None = self._stream.limit
        return limit


def test_who_waits_behind_a_full_stream_is_not_walked(tmp_path: Path) -> None:
    """2,000 jobs wait behind one that runs for ever, and 2,000 of another stream pass them: a few looks a job."""
    text = "".join(
        f'[[stream]]\nname = "{name}"\njobs = 2000\nlimit = 1\ngap = 1\nrun = {run_s}\nnodes = {nodes}\n'
        for name, run_s, nodes in (("stuck", 10**9, 2), ("passing", 10, 1))
    )
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    streams, _ = read_streams(str(tmp_path / "s.toml"))
    counted = tuple(Counted(one) for one in streams.streams)
    none = Workload({"job_id": np.zeros(0, np.int64)}, {}, WorkloadHeader(), streams=Streams(counted))
    ended = []

    class Ends(Listener):
        def finished(self, job: Job) -> None:
            ended.append(job.user)

    Simulation(make_cluster(3, 1), none, load_policy("easy")({}), until=30_000, listener=Ends()).run()
    assert ended.count("passing") == 2_000
    assert 2_000 < sum(one.looks for one in counted) < 20 * 4_000


def test_the_buffer_is_one_line_of_all_streams(tmp_path: Path) -> None:
    """Under limits of streams and of all of them: whoever came first among those whose stream has room enters."""
    rng = np.random.default_rng(8)
    rows, limits = [], [1, 2, 3]
    for limit in limits:
        rows.append(f"[[stream]]\njobs = 40\nlimit = {limit}\ngap = {int(rng.integers(3, 9))}\n"
                    f'run = {{dist = "uniform", loc = 5, scale = 20}}\n')  # fmt: skip
    jobs = run(tmp_path, "limit = 4\n" + "".join(rows), nodes=1, seed=6)
    assert len(jobs) == 120
    streams, _ = read_streams(str(tmp_path / "streams.toml"))
    came = sorted(
        (at, k, s) for s, one in enumerate(streams.streams) for k, at in
        enumerate(np.rint(np.cumsum(one.gaps(0, 40, 6))).astype(int).tolist())
    )  # fmt: skip
    submit = {(int(i - 1) // 3, int(i - 1) % 3): at for i, at in zip(jobs["job_id"], jobs["submit"], strict=True)}
    leave = {(int(i - 1) // 3, int(i - 1) % 3): at for i, at in zip(jobs["job_id"], jobs["start"], strict=True)}
    assert any(submit[k, s] > at for at, k, s in came)
    for now in sorted({*submit.values(), *leave.values()}):
        inside = [sum(submit[k, s] <= now < leave[k, s] for k in range(40)) for s in range(3)]
        assert sum(inside) <= 4 and all(n <= most for n, most in zip(inside, limits, strict=True))
        outside = [(at, k, s) for at, k, s in came if at <= now < submit[k, s]]
        for at, k, s in outside:  # nobody waits who could be in
            assert sum(inside) == 4 or inside[s] == limits[s], (now, at, k, s)
        entered = [key for key, at in submit.items() if at == now]
        for k, s in entered:
            mine = next(at for at, a, b in came if (a, b) == (k, s))
            assert not [one for one in outside if one[0] < mine and inside[one[2]] < limits[one[2]]]


def test_the_same_jobs_whatever_the_policy_and_the_other_streams(tmp_path: Path) -> None:
    """Draws are keyed by seed, stream and job; the file's seed goes before the run's."""
    text = """[[stream]]
jobs = 2000
gap = {dist = "expon", scale = 100}
run = {dist = "expon", scale = 1000}
nodes = {dist = "poisson", mu = 3, least = 1, most = 8}
request = 2
[[stream]]
next = "start"
jobs = 50
run = {dist = "expon", scale = 1000}
"""
    columns = ["job_id", "name", "user", "req_nodes", "run_time_s", "time_limit_s"]
    one = run(tmp_path, text, nodes=8, seed=3)
    other = run(tmp_path, text, nodes=8, seed=3, policy="easy")
    assert (one[columns].values == other[columns].values).all()
    assert (one["start"].values != other["start"].values).any()
    assert one["req_nodes"].between(1, 8).all() and (one["time_limit_s"] == 2 * one["run_time_s"])[::2][:50].all()
    third = run(tmp_path, f"seed = 3\n{text}", nodes=8, seed=9)
    assert (one[columns].values == third[columns].values).all()
    assert (one["run_time_s"].values != run(tmp_path, text, nodes=8, seed=9)["run_time_s"].values).any()
    assert (uniforms(3, 1, 5, 7) == uniforms(3, 1, 0, 12)[5:]).all()
    assert (uniforms(3, 1, 0, 4) != uniforms(3, 2, 0, 4)).all()


def test_on_top_of_a_log(tmp_path: Path) -> None:
    """A project beside the load of others; the log alone is as it was."""
    log = tmp_path / "log.swf"
    rows = "".join(f"{k} {10 * k} -1 50 2 -1 -1 2 50 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 21))
    log.write_text(f"; MaxProcs: 4\n{rows}", encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        '[[stream]]\nname = "own"\nnext = "end"\nhours = 0.05\nrun = 30\n', encoding="utf-8"
    )
    trace = slurmsim.run(log, streams=tmp_path / "s.toml", policy="easy", out=tmp_path / "out", report=False)
    assert validate_trace(tmp_path / "out").failed == []
    jobs = trace.jobs_frame()
    own = jobs[jobs["user"] == "own"].sort_values("submit")
    assert len(jobs) - len(own) == 20 and own["job_id"].min() == 21
    assert (own["submit"].to_numpy()[1:] == own["end"].to_numpy()[:-1]).all() and own["submit"].max() < 190
    assert trace.manifest["options"]["streams"] == str(tmp_path / "s.toml")


def test_streams_begin_with_the_log(tmp_path: Path) -> None:
    """Seconds count from the first submission of a log, whose clock may be Unix time."""
    rows = "".join(f"{k} {1_700_000_000 + 10 * k} -1 50 2 -1 -1 2 50 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 4))
    (tmp_path / "log.swf").write_text(f"; MaxProcs: 4\n{rows}", encoding="utf-8")
    (tmp_path / "s.toml").write_text("[[stream]]\nstart = 5\njobs = 2\ngap = 7\nrun = 30\n", encoding="utf-8")
    trace = slurmsim.run(
        tmp_path / "log.swf", streams=tmp_path / "s.toml", policy="easy", out=tmp_path / "out", report=False
    )
    submit, job_id = trace.ints("jobs", "submit", "job_id")
    assert sorted((submit[job_id > 3] - submit.min()).tolist()) == [12, 19]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"stream: has no streams \(expected \[\[stream\]\]"),
        ("[[stream]]\nrun = 5", "stream 1.gap: missing"),
        ("[[stream]]\ngap = 5", "stream 1.run: missing"),
        ("[[stream]]\ngap = 5\nrun = 0", r"stream 1.run: 0 \(expected more than 0\)"),
        ("[[stream]]\ngap = -5\nrun = 1", "stream 1.gap: -5"),
        ("[[stream]]\ngap = 5\nrun = 1\nthink = 3", "stream 1.think: does not go with next = 'gap'"),
        ("[[stream]]\nnext = 'end'\ngap = 5\nrun = 1", "stream 1.gap: does not go with next = 'end'"),
        ("[[stream]]\nnext = 'never'\nrun = 1", r"stream 1.next: 'never' \(expected gap, start, end\)"),
        ("[[stream]]\ngap = 5\nruns = 1", "stream 1.runs: unknown key"),
        ("[[stream]]\ngap = 5\nrun = {dist = 'expn'}", "stream 1.run.dist: no distribution of SciPy is called 'expn'"),
        ("[[stream]]\ngap = 5\nrun = {dist = 'expon', mu = 3}", r"run.mu: unknown parameter \(expected loc, scale, le"),
        ("[[stream]]\ngap = 5\nrun = {dist = 'gamma'}", r"run.a: missing \(expected a number: a shape of gamma\)"),
        ("[[stream]]\ngap = 5\nrun = {dist = 'expon', scale = -1}", "are no parameters of expon"),
        ("[[stream]]\ngap = 5\nrun = {dist = 'uniform', loc = -2}", "stream 1.run: nothing above 0 can come out"),
        ("[[stream]]\ngap = 5\nrun = {dist = 'expon', least = 5, most = 4}", "least 5 is more than most 4"),
        ("[[stream]]\ngap = 5\nrun = 1\nover = 'drop'", "stream 1.over: there is no limit"),
        ("[[stream]]\nnext = 'end'\nrun = 1\nlimit = 1\nover = 'drop'", "a closed loop would end with the first job"),
        (
            "[[stream]]\nname = 'a'\ngap = 1\nrun = 1\n[[stream]]\nname = 'a'\ngap = 1\nrun = 1",
            "two streams are called 'a'",
        ),
        ("[[stream]]\ngap = 5\nrun = 1\njobs = 0", "stream 1.jobs: 0 "),
        ("seeds = 1", "seeds: unknown key"),
    ],
)
def test_streams_that_make_no_sense(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        read_streams(str(file))


def test_streams_that_never_end(tmp_path: Path) -> None:
    """Without a bound, and within one second: one line each."""
    with pytest.raises(WorkloadError, match=r"stream a: never ends \(expected jobs, hours, or --until\)"):
        run(tmp_path, '[[stream]]\nname = "a"\ngap = 5\nrun = 1\n')
    assert len(run(tmp_path, '[[stream]]\nname = "a"\ngap = 5\nrun = 1\n', until=50)) > 5
    with pytest.raises(WorkloadError, match=r"stream a: more than 10000 jobs in second 0: it would go on for ever"):
        run(tmp_path, '[[stream]]\nname = "a"\nhours = 1\ngap = {dist = "expon", scale = 1e-9}\nrun = 1\n')
    with pytest.raises(WorkloadError, match=r"stream a: job 0 asks for 3 nodes, the cluster has 2 \(expected nodes wi"):
        run(tmp_path, '[[stream]]\nname = "a"\nhours = 1\nnext = "end"\nrun = 1\nnodes = 3\n', nodes=2)


def test_nothing_to_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", "--out", str(tmp_path / "out")]) == 2
    assert "--workload: nothing to run (expected --workload, --streams or both)" in capsys.readouterr().err


def test_distributions_are_inverted() -> None:
    """Quantiles of what SciPy calls by that name, and a constant."""
    u = np.array([0.25, 0.5])
    law = read_distribution({"dist": "expon", "scale": 2.0, "most": 1.0}, "f", "x", positive=True)
    assert law.of(u) == pytest.approx([-2 * math.log(0.75), 1.0])
    assert read_distribution(3, "f", "x", positive=True).of(u).tolist() == [3.0, 3.0]


def test_streams_are_no_jobs_to_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written where a log without jobs would come out."""
    (tmp_path / "s.toml").write_text("[[stream]]\njobs = 2\ngap = 7\nrun = 30\n", encoding="utf-8")
    assert main(["convert", str(tmp_path / "s.toml"), str(tmp_path / "s.swf")]) == 2
    assert "streams have no jobs to write" in capsys.readouterr().err
    assert not (tmp_path / "s.swf").exists()


def test_whole_numbers_beyond_64_bits_are_parameters_too() -> None:
    law = read_distribution({"dist": "expon", "scale": 2**64}, "f", "x", positive=True)
    assert law.of(uniforms(1, 0, 0, 1)[:, 0]).tolist()[0] > 0


@pytest.mark.parametrize("value", ["1" + "0" * 400, "{dist = 'expon', scale = 1" + "0" * 400 + "}", "inf", "nan"])
def test_numbers_that_numpy_cannot_hold_are_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "streams.toml"
    path.write_text(f"[[stream]]\njobs = 1\ngap = 1\nrun = {value}\n")
    with pytest.raises(ConfigError, match=r"streams\.toml: stream 1\.run"):
        read_streams(str(path))
