"""Claim: Titan's year with fair share (600 users, 60 accounts) and limits of three QOS in 450 CPU seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from measure import HERE, Claim, check, slurmsim

CLAIM = Claim(
    "titan_fairshare", "the same with fair share, 600 users, 60 accounts, limits of three QOS", "backfill",
    ("--conf", str(HERE / "titan_fairshare.conf")), cpu_s=450, peers="nobody",
)  # fmt: skip
QOS = """
[qos.capability]
Priority = 100
MaxJobsPerUser = 2
[qos.capacity]
Priority = 50
GrpTRES = {node = 16000}
MaxJobsPerUser = 20
[qos.small]
GrpTRES = {node = 6000}
MaxJobsPerUser = 50
MaxSubmitJobsPerUser = 2000
"""


def accounting(workload: Path) -> str:
    """The accounts and users of a log, the first with the most shares, as TOML."""
    import pyarrow.parquet as pq

    members: dict[str, list[str]] = {}
    pairs = pq.read_table(workload, columns=["account", "user"]).group_by(["account", "user"]).aggregate([])
    for account, user in sorted((pair["account"], pair["user"]) for pair in pairs.to_pylist()):
        members.setdefault(account, []).append(user)
    names = '["capability", "capacity", "small"]'
    parts = [f'cluster = "titan"\n[root]\nQOS = {names}\nDefaultQOS = "small"\n', QOS]
    for k, (account, users) in enumerate(members.items()):
        listed = ", ".join(f'"{user}"' for user in users)
        parts.append(f'[accounts."{account}"]\nFairshare = {1 + (len(members) - k) % 10}\nusers = [{listed}]\n')
    return "\n".join(parts)


def test_titan_fairshare(tmp_path: Path) -> None:
    workload, data = tmp_path / "titan.parquet", tmp_path / "accounts.toml"
    slurmsim("generate", "titan", "-o", "qos=1", "--out", workload, "--quiet")
    data.write_text(accounting(workload), encoding="utf-8")
    check(replace(CLAIM, arguments=(*CLAIM.arguments, "--accounting", str(data))), workload, tmp_path / "run")
