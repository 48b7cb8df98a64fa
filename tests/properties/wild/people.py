"""Accounts, users and QOS of a wild world, as sacctmgr commands."""

from __future__ import annotations

import random
from collections.abc import Sequence

from wild.machine import Machine

_QOS_LIMITS = (
    "", "", "MaxJobsPerUser=1", "MaxJobsPerUser=2", "GrpTRES=cpu={cpus}", "GrpJobs=3", "MaxWall=10:00", "GraceTime=30",
    "MaxTRESPerUser=node=2", "GrpTRES=gres/gpu=2", "MaxTRESPerJob=cpu={cpus}", "Flags=DenyOnLimit", "UsageFactor=2",
    "MaxTRESPerAccount=node=3", "GrpTRESRunMins=cpu=200", "Flags=PartitionTimeLimit", "GrpTRESMins=cpu=300",
    "MaxJobsPerAccount=3", "MinTRESPerJob=cpu=2", "Flags=NoReserve", "PreemptExemptTime=00:00:30",
)  # fmt: skip
_LIMITS = (
    "", "", "", "MaxJobs=2", "GrpTRES=cpu={cpus}", "GrpTRES=node=2", "GrpJobs=2", "MaxTRES=node=2",
    "GrpTRESMins=cpu=400", "MaxTRESMins=cpu=100", "GrpSubmitJobs=12", "MaxSubmitJobs=8", "MaxWall=20:00",
    "GrpWall=100", "GrpTRES=mem=4000",
)  # fmt: skip


def draw_accounts(draw: random.Random, machine: Machine) -> list[str]:
    """Three users in a small tree, and three QOS of which `high` preempts others where QOS do."""

    def some(limits: Sequence[str]) -> str:
        return " " + draw.choice(limits).format(cpus=machine.cpus * draw.choice((1, 2)))

    preempts = " Preempt=low,normal" if machine.preempt == "qos" else ""
    mode = " PreemptMode=requeue" if preempts and draw.random() < 0.3 else ""
    lines = [
        f"add qos high Priority=100{preempts}{mode}{some(_QOS_LIMITS)}",
        f"add qos low Priority=1{some(_QOS_LIMITS)}",
        f"add account a Fairshare={draw.choice((1, 10))} QOS=normal,high,low{some(_LIMITS)}",
        f"add account b Fairshare=1 QOS=normal,high,low{some(_LIMITS)}",
        f"add account bb parent=b{some(_LIMITS)}",
    ]
    lines += [f"add user {user} Account={account}{some(_LIMITS)}"
              for user, account in (("ann", "a"), ("bob", "b"), ("eve", "bb"))]  # fmt: skip
    return [line.rstrip() for line in lines]
