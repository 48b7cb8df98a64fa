"""The cluster of the groups squeue, limits, dependencies, arrays, …: 16 nodes of 8 CPUs, slurmdbd, multifactor."""

from __future__ import annotations

from unit.core.world import World

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.commands import read_commands
from slurmsim.config.accounting.draft import Draft
from slurmsim.config.findings import Report
from slurmsim.model.accounting import Accounting

CONF = """ClusterName=oracle
SlurmctldHost=head
ReturnToService=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,bf_resolution=60
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
PriorityDecayHalfLife=1-0
PriorityCalcPeriod=1
PriorityMaxAge=1-0
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=1000
PriorityWeightPartition=1000
PriorityWeightQOS=2000
Licenses=matlab:4,fluent:10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
MinJobAge=300
DefMemPerCPU=100
NodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=1
NodeName=n[01-12] RealMemory=16000 Feature=std
NodeName=n[13-14] RealMemory=64000 Feature=bigmem,std Weight=10
NodeName=n[15-16] RealMemory=32000 Feature=fast Weight=20
PartitionName=batch Nodes=n[01-14] Default=YES MaxTime=1-00:00:00 DefaultTime=10 PriorityTier=10 State=UP
PartitionName=debug Nodes=n[01-04] MaxTime=30 DefaultTime=5 MaxNodes=2 PriorityTier=10 PriorityJobFactor=20 State=UP
PartitionName=fast Nodes=n[15-16] MaxTime=12:00:00 DefaultTime=30 PriorityTier=10 State=UP
PartitionName=scav Nodes=n[01-16] MaxTime=UNLIMITED PriorityTier=1 PreemptMode=REQUEUE State=UP
PartitionName=down Nodes=n[05-06] MaxTime=60 State=DOWN
"""
COMMANDS = """add cluster oracle
add qos high Priority=100
add qos low Priority=5 MaxWall=30
add qos limited Priority=10 MaxJobsPerUser=2 MaxSubmitJobsPerUser=4 MaxTRESPerUser=cpu=16 GrpTRES=node=6
add account physics Fairshare=60
add account chem Fairshare=30
add account bio Fairshare=10
add user alice Account=physics Fairshare=10
add user bob Account=chem Fairshare=10
add user carol Account=chem Fairshare=20
add user dave Account=bio Fairshare=10
modify user where name=alice,bob,carol set qos+=high,low,limited
modify account where name=bio set MaxSubmitJobs=3 GrpTRES=cpu=24"""


def accounting(commands: str) -> Accounting:
    """What sacctmgr makes of `commands`."""
    draft = Draft(Report())
    read_commands(commands, "sacctmgr.txt", draft)
    return build(draft, "sacctmgr.txt")


def oracle_world(start: int) -> World:
    """The cluster, its slurmctld up since `start` seconds after 08:00:00."""
    return World(CONF, "backfill", plan_all=True, every_cycle=False, start=start, accounting=accounting(COMMANDS))
