"""Configurations to ask questions of: two to four partitions, features, licenses, limits; as the kit reads them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

USERS = ("alice", "bob", "carol", "dave")
FIXED = """\
ClusterName=oracle
SlurmctldHost=head(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=0
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.%n.log
SlurmctldDebug=debug
SlurmdDebug=info
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=/var/log/jobcomp.txt
KillWait=5
InactiveLimit=0
MessageTimeout=100
SlurmdTimeout=0
TCPTimeout=60
Waittime=0
DefMemPerCPU=100
"""
DATABASE = """\
AuthType=auth/munge
DbdHost=localhost
DbdPort=16819
SlurmUser=root
LogFile=/var/log/slurmdbd.log
PidFile=/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
"""
MULTIFACTOR = """\
PriorityType=priority/multifactor
PriorityDecayHalfLife=0-01:00:00
PriorityCalcPeriod=1
PriorityWeightAge=1000
PriorityWeightJobSize=2000
PriorityWeightPartition=1500
"""
ACCOUNTS = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=16819
PriorityWeightFairshare=5000
PriorityWeightQOS=3000
"""


@dataclass
class Cluster:
    """One configuration, and the names a generator may use in it."""

    nodes: int
    partitions: dict[str, tuple[int, int]]  # name -> first and last node
    qos: tuple[str, ...] = ()
    accounts: dict[str, str] = field(default_factory=dict)  # user -> account
    licenses: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Its configuration files; the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8")
            (folder / name).chmod(0o755 if text.startswith("#!") else 0o644)
        return folder


def _partition_lines(rng: random.Random, nodes: int, count: int, for_sessions: bool) -> dict[str, tuple[int, int, str]]:
    """The default partition and others beside it, each with what makes it different."""
    fast = nodes - rng.randint(2, 4) + 1
    choice: list[tuple[str, int, int, str]] = [
        ("debug", 1, rng.randint(2, 4), f"MaxTime=30 DefaultTime=5 MaxNodes=2 PriorityJobFactor={rng.choice((5, 20))}"),
        ("fast", fast, nodes, "MaxTime=12:00:00 DefaultTime=30"),
        ("scav", 1, nodes, "MaxTime=UNLIMITED PriorityTier=1"),
        ("big", 1, nodes, "MaxTime=2:00:00 MinNodes=2 PriorityJobFactor=10"),
    ]
    if for_sessions:
        choice += [
            ("closed", 1, nodes, "MaxTime=60 AllowGroups=root"),
            ("down", 1, 2, "MaxTime=60 State=DOWN"),
            ("shared", 1, 3, "MaxTime=60 OverSubscribe=FORCE:2"),
            ("short", 2, 6, "MaxTime=10 DefaultTime=2 PriorityTier=20"),
        ]
    found = {"batch": (1, nodes, "Default=YES MaxTime=1-00:00:00 DefaultTime=10")}
    for name, first, last, rest in rng.sample(choice, count - 1):
        found[name] = (first, last, rest)
    return found


def _node_lines(rng: random.Random, nodes: int) -> str:
    """Three kinds of nodes that differ in memory, features and weight."""
    a, b = nodes - rng.randint(4, 5), nodes - 2
    lines = ["NodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 State=UNKNOWN"]
    kinds = ((1, a, "RealMemory=16000 Feature=std"), (a + 1, b, "RealMemory=64000 Feature=bigmem,std Weight=10"),
             (b + 1, nodes, "RealMemory=32000 Feature=fast Weight=20"))  # fmt: skip
    for first, last, rest in kinds:
        ports = f"Port=[{17000 + first}-{17000 + last}]"
        lines.append(f"NodeName=n[{first:02}-{last:02}] NodeHostname=head NodeAddr=127.0.0.1 {ports} {rest}")
    return "\n".join(lines) + "\n"


def _sacctmgr_lines(rng: random.Random) -> str:
    lines = [
        "add cluster oracle",
        f"add qos high Priority={rng.choice((50, 100))}",
        f"add qos low Priority=5 MaxWall={rng.choice((20, 30))}",
        f"add qos limited Priority=10 MaxJobsPerUser={rng.randint(1, 3)} MaxSubmitJobsPerUser={rng.randint(5, 8)} "
        f"MaxTRESPerUser=cpu={rng.choice((12, 16, 24))} GrpTRES=node={rng.randint(4, 8)}",
        "add account physics Fairshare=60 Description=physics Organization=physics",
        f"add account chem Fairshare=30 Description=chem Organization=chem GrpTRES=cpu={rng.choice((32, 48, 64))}",
        f"add account bio Fairshare=10 Description=bio Organization=bio MaxJobs={rng.randint(2, 5)}",
        "add user alice Account=physics Fairshare=10",
        "add user bob Account=chem Fairshare=10",
        "add user carol Account=chem Fairshare=20",
        "add user dave Account=bio Fairshare=10",
        "modify user where name=alice,bob,carol set qos+=high,low,limited",
    ]
    return "\n".join(lines) + "\n"


def draw(rng: random.Random, kind: str, for_sessions: bool) -> Cluster:
    """A cluster of a `kind`: ``plain`` (first come, first served), ``priority`` (multifactor), ``accounts`` (dbd)."""
    nodes = 12 if for_sessions else 16
    partitions = _partition_lines(rng, nodes, rng.randint(2, 4), for_sessions)
    scheduler = "builtin" if not for_sessions and rng.random() < 0.2 else "backfill"
    licenses = {"matlab": 4, "fluent": 10} if for_sessions else {}
    interval = 5 if for_sessions else 10
    conf = FIXED + f"SchedulerType=sched/{scheduler}\nSchedulerParameters=bf_interval={interval},bf_resolution=60\n"
    conf += "MinJobAge=300\n" if for_sessions else "MinJobAge=100000\nMaxJobCount=10000\n"
    if licenses:
        conf += "Licenses=" + ",".join(f"{name}:{count}" for name, count in licenses.items()) + "\n"
    # slow ageing in sessions: when in its minute slurmctld counts ages again is not recorded
    age = f"PriorityMaxAge={'7-0' if for_sessions else '0-06:00:00'}\n"
    conf += MULTIFACTOR + age if kind != "plain" else "PriorityType=priority/basic\n"
    files: dict[str, str] = {}
    cluster = Cluster(nodes, {name: (a, b) for name, (a, b, _) in partitions.items()}, licenses=licenses, files=files)
    if kind == "accounts":
        enforce = rng.choice(("associations,limits,qos", "associations,limits,qos,safe"))
        conf += ACCOUNTS + f"AccountingStorageEnforce={enforce}\n"
        if for_sessions and rng.random() < 0.3:
            conf += "EnforcePartLimits=ALL\n"
        files |= {"slurmdbd.conf": DATABASE, "sacctmgr.txt": _sacctmgr_lines(rng)}
        cluster.qos = ("normal", "high", "low", "limited")
        cluster.accounts = dict(zip(USERS, ("physics", "chem", "chem", "bio"), strict=True))
    else:
        conf += "AccountingStorageType=accounting_storage/none\n"
    conf += _node_lines(rng, nodes)
    for name, (first, last, rest) in partitions.items():
        state = "" if "State=" in rest else " State=UP"
        conf += f"PartitionName={name} Nodes=n[{first:02}-{last:02}] {rest}{state}\n"
    files["slurm.conf"] = conf
    return cluster
