"""Random workloads on kinds of clusters (sites.toml): GPUs, a tree of switches, licenses, reservations."""

from __future__ import annotations

import random
from typing import Any

from unseen.clusters import Cluster
from unseen.life import SITES, cluster_of

KINDS = tuple(kind for kind, site in SITES.items() if "work" in site)
JOBS, GAP_S, LONGEST_S = 45, 8, 240
USERS = ("alice", "alice", "bob", "carol")


def draw_site_workload(seed: int, kind: str) -> tuple[Cluster, dict[str, Any]]:
    """A kind of cluster and jobs for it, more than it has room for at once."""
    rng, site = random.Random(f"work {seed} {kind}"), SITES[kind]
    cluster = cluster_of(kind)
    cluster.files["slurm.conf"] = cluster.files["slurm.conf"].replace("MinJobAge=300", "MinJobAge=100000")
    jobs, submit = [], 0
    for number in range(1, JOBS + 1):
        submit += int(rng.expovariate(1 / GAP_S))
        runtime = min(LONGEST_S, max(15, int(rng.lognormvariate(4.2, 0.8))))
        limit = max(1, round(runtime * rng.choice((1.3, 2, 3)) / 60 + 0.5))
        job = {
            "id": f"j{number:03}",
            "submit": submit,
            "user": rng.choice(USERS),
            "runtime": runtime,
            "time_limit": limit,
        }
        jobs.append(job | rng.choice(site["work"]))
    workload = {"name": f"{kind} {seed}", "jobs": jobs, "reservations": site.get("reservations", [])}
    return cluster, workload
