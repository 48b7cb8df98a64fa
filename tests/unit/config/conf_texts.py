"""Small configurations the tests share."""

HEAD = "ClusterName=c\nSlurmctldHost=head\n"
NODES = "NodeName=n[1-4] CPUs=8 RealMemory=16000\n"
PARTITION = "PartitionName=main Nodes=ALL Default=YES\n"
SMALL = HEAD + NODES + PARTITION

REPLAY = """\
# 24 nodes x 8 CPUs; FIFO priority with backfill.
ClusterName=oracle
SlurmctldHost=head(127.0.0.1)
AuthType=auth/munge
CryptoType=crypto/munge
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmctldPort=16817
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10,bf_resolution=60,bf_window=1440
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
KillWait=5
InactiveLimit=0
MinJobAge=100000
MaxJobCount=10000
SlurmdTimeout=0
Waittime=0
DefMemPerCPU=100
NodeName=n[01-24] NodeHostname=head NodeAddr=127.0.0.1 Port=[17001-17024] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 \
RealMemory=16000 State=UNKNOWN
PartitionName=batch Nodes=n[01-24] Default=YES MaxTime=1-00:00:00 DefaultTime=10 State=UP
PartitionName=debug Nodes=n[01-04] MaxTime=30 DefaultTime=5 PriorityTier=1 State=UP
"""

ACCOUNTING = """\
ClusterName=oracle
SlurmctldHost=head(127.0.0.1)
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
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
Licenses=matlab:4,fluent:10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 State=UNKNOWN
NodeName=n[01-12] RealMemory=16000 Feature=std
NodeName=n[13-14] RealMemory=64000 Feature=bigmem,std Weight=10
NodeName=n[15-16] RealMemory=32000 Feature=fast Weight=20
PartitionName=batch Nodes=n[01-14] Default=YES MaxTime=1-00:00:00 DefaultTime=10 PriorityTier=10 State=UP
PartitionName=scav Nodes=n[01-16] MaxTime=UNLIMITED PriorityTier=1 PreemptMode=REQUEUE State=UP
PartitionName=closed Nodes=n[01-16] MaxTime=60 AllowGroups=root State=UP
PartitionName=down Nodes=n[05-06] MaxTime=60 State=DOWN
"""

GRES = """\
ClusterName=oracle
SlurmctldHost=head
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[1-2] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:a:2 State=UNKNOWN
NodeName=n[3-4] Sockets=1 CoresPerSocket=8 RealMemory=8000 Gres=gpu:b:4 State=UNKNOWN
NodeName=n5 Sockets=1 CoresPerSocket=8 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
GRES_CONF = """\
AutoDetect=off
NodeName=n[1-2] Name=gpu Type=a File=/dev/nvidia[0-1]
NodeName=n[3-4] Name=gpu Type=b File=/dev/nvidia[0-3]
"""
