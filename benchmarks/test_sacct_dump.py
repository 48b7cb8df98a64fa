"""Claim: `convert` of a sacct dump of 200,000 jobs takes 10 CPU seconds, also where a third of them is broken."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_cluster import judge
from measure import slurmsim

JOBS = 200_000
HEADER = (
    "JobIDRaw|JobID|Submit|Eligible|Start|End|ElapsedRaw|Suspended|Timelimit|State|ExitCode|ReqTRES|AllocTRES|ReqNodes|"
    "NNodes|ReqMem|Partition|QOS|Account|User|Reservation|Constraints|NodeList|JobName|SubmitLine"
)


def lines(jobs: int, *, broken: bool) -> Iterator[str]:
    """A dump: names and commands of each job its own; every third with a delimiter or line breaks inside."""
    rng = random.Random(1)
    submit = 1_714_521_600
    for i in range(1, jobs + 1):
        submit += rng.randrange(20)
        nodes, run, first = rng.randrange(1, 9), rng.randrange(1, 86_400), rng.randrange(1, 400)
        cpus = nodes * rng.choice((1, 2, 4, 8, 16))
        start = submit + rng.randrange(5_000)
        features = "intel|amd" if broken and i % 9 == 0 else "intel"
        tail = {3: " | tee log | grep x", 6: "\n./run\necho done | cat"}.get(i % 9, "") if broken else ""
        job = f"{i - i % 7}_{i % 7}" if i > 7 and i % 3 == 1 else str(i)
        tres = f"cpu={cpus},mem={cpus * 2}G,node={nodes}"
        yield (
            f"{i}|{job}|{submit}|{submit}|{start}|{start + run}|{run}|00:00:00|1-00:00:00|COMPLETED|0:0|"
            f"billing={cpus},{tres}|billing={cpus},energy={rng.randrange(10**6)},{tres}|{nodes}|{nodes}|{cpus * 2}G|"
            f"p{i % 5}|normal|a{i % 40}|u{i % 300}||{features}|n[{first}-{first + nodes - 1}]|job_{i}|"
            f"sbatch -N {nodes} -C {features} --mem={cpus * 2}G -J job_{i} run_{i}.sh{tail}\n"
        )


@pytest.mark.parametrize("broken", [False, True], ids=["clean", "broken"])
def test_sacct_dump(tmp_path: Path, broken: bool) -> None:
    path = tmp_path / "jobs.sacct"
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER + "\n")
        file.writelines(lines(JOBS, broken=broken))
    run = slurmsim("convert", path, tmp_path / "jobs.parquet")
    judge(
        f"sacct_dump_{'broken' if broken else 'clean'}",
        {"CPU, s": (run.cpu_s, "<=", 10), "memory, MB": (run.rss_bytes / 1e6, "<=", 1000)},
    )
