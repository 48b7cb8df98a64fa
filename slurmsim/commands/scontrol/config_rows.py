"""What ``scontrol show config`` lists, and the values of a slurm.conf that says nothing, by release.

One line a row: name, value in 22.05, in 24.11, in 26.05; ``=`` as before, ``-`` not listed there, ``[]`` listed
where it is given, by number.
"""

from slurmsim.releases import recorded_cell

MAIN = """\
AccountingStorageBackupHost | (null) | = | =
AccountingStorageEnforce | none | = | =
AccountingStorageHost | localhost | = | =
AccountingStorageExternalHost | (null) | = | =
AccountingStorageParameters | (null) | = | =
AccountingStoragePort | 0 | = | =
AccountingStorageTRES | cpu,mem,energy,node,billing,fs/disk,vmem,pages | = | =
AccountingStorageType | accounting_storage/none | (null) | =
AccountingStorageUser | root | = | -
AccountingStoreFlags | (null) | = | =
AcctGatherEnergyType | acct_gather_energy/none | (null) | =
AcctGatherFilesystemType | acct_gather_filesystem/none | (null) | =
AcctGatherInterconnectType | acct_gather_interconnect/none | (null) | =
AcctGatherNodeFreq | 0 sec | = | =
AcctGatherProfileType | acct_gather_profile/none | (null) | =
AllowSpecResourcesUsage | No | no | =
AuthAltTypes | (null) | = | =
AuthAltParameters | (null) | = | =
AuthInfo | (null) | = | =
AuthType | auth/munge | = | =
BatchStartTimeout | 10 sec | = | =
BcastExclude | /lib,/usr/lib,/lib64,/usr/lib64 | = | =
BcastParameters | (null) | = | =
BOOT_TIME | 2026-01-05T08:00:00 | = | =
BurstBufferType | (null) | = | =
CertgenParameters | - | = | (null)
CertgenType | - | = | (null)
CertmgrParameters | - | (null) | =
CertmgrType | - | (null) | =
CliFilterParameters | - | = | (null)
CliFilterPlugins | (null) | = | =
ClusterName | oracle | = | =
CommunicationParameters | (null) | = | =
CompleteWait | 0 sec | = | =
CoreSpecPlugin | core_spec/none | - | =
CpuFreqDef | Unknown | = | =
CpuFreqGovernors | OnDemand,Performance,UserSpace | = | =
CredType | cred/munge | = | =
DataParserParameters | - | (null) | =
DebugFlags | (null) | = | =
DefMemPerNode | UNLIMITED | = | =
DefMemPerCPU | 0 | = | =
DependencyParameters | (null) | = | =
DisableRootJobs | No | no | =
EioTimeout | 60 | = | =
EnforcePartLimits | NO | = | =
Epilog | (null) | [] | =
EpilogMsgTime | 2000 usec | = | =
EpilogSlurmctld | (null) | [] | =
ExtSensorsType | ext_sensors/none | - | =
ExtSensorsFreq | 0 sec | - | =
FairShareDampeningFactor | 1 | = | =
FederationParameters | (null) | = | =
FirstJobId | 1 | = | =
GetEnvTimeout | 2 sec | = | -
GresTypes | (null) | = | =
GpuFreqDef | high,memory=high | (null) | =
GroupUpdateForce | 1 | = | =
GroupUpdateTime | 600 sec | = | =
HASH_VAL | Match | = | =
HashPlugin | - | hash/k12 | =
HealthCheckInterval | 0 sec | = | =
HealthCheckNodeState | ANY | = | =
HealthCheckProgram | (null) | = | =
HealthCheckTimeout | - | = | 0 sec
HttpParserType | - | = | (null)
InactiveLimit | 0 sec | = | =
InteractiveStepOptions | --interactive --preserve-env --pty $SHELL | = | =
JobAcctGatherFrequency | 30 | = | =
JobAcctGatherType | jobacct_gather/none | (null) | =
JobAcctGatherParams | (null) | = | =
JobCompHost | localhost | = | =
JobCompLoc | /var/log/slurm_jobcomp.log | (null) | =
JobCompParams | - | (null) | =
JobCompPass | - | = | (null)
JobCompPort | 0 | = | =
JobCompType | jobcomp/none | (null) | =
JobCompUser | root | = | =
JobContainerType | job_container/none | (null) | -
JobCredentialPrivateKey | (null) | - | =
JobCredentialPublicCertificate | (null) | - | =
JobDefaults | (null) | = | =
JobFileAppend | 0 | = | =
JobRequeue | 1 | = | =
JobSubmitPlugins | (null) | = | =
KillOnBadExit | 0 | = | =
KillWait | 30 sec | = | =
LaunchParameters | (null) | = | =
LaunchType | launch/slurm | - | =
LicenseParameters | - | = | (null)
Licenses | (null) | = | =
LogTimeFormat | iso8601_ms | = | =
MailDomain | (null) | = | =
MailProg | /bin/mail | = | =
MaxArraySize | 1001 | = | =
MaxBatchRequeue | - | 5 | =
MaxDBDMsgs | 0 | = | =
MaxJobCount | 10000 | = | =
MaxJobId | 67043328 | = | =
MaxMemPerNode | UNLIMITED | = | =
MaxNodeCount | 4 | = | =
MaxStepCount | 40000 | = | =
MaxTasksPerNode | 512 | = | =
MCSPlugin | mcs/none | (null) | =
MCSParameters | (null) | = | =
MessageTimeout | 10 sec | = | =
MetricsAuthUsers | - | = | (null)
MetricsParameters | - | = | (null)
MetricsType | - | = | (null)
MinJobAge | 300 sec | = | =
MpiDefault | none | (null) | =
MpiParams | (null) | = | =
MULTIPLE_SLURMD | Yes | yes | =
NamespaceType | - | = | (null)
NEXT_JOB_ID | 1 | = | =
NodeFeaturesPlugins | (null) | = | =
OverTimeLimit | 0 min | = | =
PluginDir | /usr/lib/x86_64-linux-gnu/slurm-wlm | = | =
PlugStackConfig | (null) | = | =
PowerParameters | (null) | - | =
PowerPlugin |  | - | =
PreemptMode | OFF | = | =
PreemptParameters | - | (null) | =
PreemptType | preempt/none | (null) | =
PreemptExemptTime | 00:00:00 | = | =
PrEpParameters | (null) | = | =
PrEpPlugins | prep/script | = | =
PriorityParameters | (null) | = | =
PrioritySiteFactorParameters | (null) | = | =
PrioritySiteFactorPlugin | (null) | = | =
PriorityDecayHalfLife | 7-00:00:00 | = | =
PriorityCalcPeriod | 00:05:00 | = | =
PriorityFavorSmall | No | no | =
PriorityFlags |  | = | =
PriorityMaxAge | 7-00:00:00 | = | =
PriorityUsageResetPeriod | NONE | - | =
PriorityType | priority/basic | priority/multifactor | =
PriorityUsageResetPeriod | - | NONE | =
PriorityWeightAge | 0 | = | =
PriorityWeightAssoc | 0 | = | =
PriorityWeightFairShare | 0 | = | =
PriorityWeightJobSize | 0 | = | =
PriorityWeightPartition | 0 | = | =
PriorityWeightQOS | 0 | = | =
PriorityWeightTRES | (null) | = | =
PrivateData | none | = | =
ProctrackType | proctrack/cgroup | = | =
Prolog | (null) | [] | =
PrologEpilogTimeout | 65534 | = | =
PrologSlurmctld | (null) | [] | =
PrologFlags | (null) | = | =
PropagatePrioProcess | 0 | = | =
PropagateResourceLimits | ALL | = | =
PropagateResourceLimitsExcept | (null) | = | =
RebootProgram | (null) | = | =
ReconfigFlags | (null) | = | =
RequeueExit | (null) | = | =
RequeueExitHold | (null) | = | =
ResumeFailProgram | (null) | = | =
ResumeProgram | (null) | = | =
ResumeRate | 300 nodes/min | = | =
ResumeTimeout | 60 sec | = | =
ResvEpilog | (null) | = | =
ResvOverRun | 0 min | = | =
ResvProlog | (null) | = | =
ReturnToService | 0 | = | =
RoutePlugin | route/default | - | =
SchedulerParameters | (null) | = | =
SchedulerTimeSlice | 30 sec | = | =
SchedulerType | sched/backfill | = | =
ScronParameters | (null) | = | =
SelectType | select/linear | select/cons_tres | =
SelectTypeParameters | NONE | CR_CORE_MEMORY | =
SlurmUser | root(0) | = | =
SlurmctldAddr | (null) | = | =
SlurmctldDebug | info | = | =
SlurmctldHost[0] | head(127.0.0.1) | = | =
SlurmctldHttpAuthParameters | - | = | (null)
SlurmctldLogFile | /var/log/ctld.log | = | =
SlurmctldPort | 6817 | = | =
SlurmctldSyslogDebug | (null) | = | =
SlurmctldPrimaryOffProg | (null) | = | =
SlurmctldPrimaryOnProg | (null) | = | =
SlurmctldTimeout | 120 sec | = | =
SlurmctldParameters | (null) | = | =
SlurmdDebug | info | = | =
SlurmdHttpAuthParameters | - | = | (null)
SlurmdLogFile | (null) | = | =
SlurmdParameters | (null) | = | =
SlurmdPidFile | /run/slurmd.pid | = | =
SlurmdPort | 6818 | = | =
SlurmdSpoolDir | /var/spool/slurmd | = | =
SlurmdSyslogDebug | (null) | = | =
SlurmdTimeout | 300 sec | = | =
SlurmdUser | root(0) | = | =
SlurmSchedLogFile | (null) | = | =
SlurmSchedLogLevel | 0 | = | =
SlurmctldPidFile | /run/slurmctld.pid | = | =
SlurmctldPlugstack | (null) | - | =
SLURM_CONF | /etc/slurm/slurm.conf | = | =
SLURM_VERSION | 22.05.8 | 24.11.5 | 26.05.5
SrunEpilog | (null) | = | =
SrunPortRange | 0-0 | = | =
SrunProlog | (null) | = | =
StateSaveLocation | /var/spool | = | =
SuspendExcNodes | (null) | = | =
SuspendExcParts | (null) | = | =
SuspendExcStates | - | (null) | =
SuspendProgram | (null) | = | =
SuspendRate | 60 nodes/min | = | =
SuspendTime | INFINITE | = | =
SuspendTimeout | 30 sec | = | =
SwitchParameters | (null) | = | =
SwitchType | switch/none | (null) | =
TaskEpilog | (null) | = | =
TaskPlugin | task/none | (null) | =
TaskPluginParam | (null type) | = | =
TaskProlog | (null) | = | =
TCPTimeout | 2 sec | = | =
TLSParameters | - | (null) | =
TLSType | - | tls/none | =
TmpFS | /tmp | = | =
TopologyParam | (null) | = | =
TopologyPlugin | topology/none | topology/default | topology/flat
TrackWCKey | No | no | =
TreeWidth | 50 | 16 | =
UsePam | No | no | =
UnkillableStepProgram | (null) | = | =
UnkillableStepTimeout | 60 sec | = | =
UrlParserType | - | = | (null)
VSizeFactor | 0 percent | = | =
WaitTime | 0 sec | = | =
X11Parameters | (null) | = | =
"""

_FLAGS = """\
Accrue Agent AuditRPCs AuditTLS Backfill BackfillMap BurstBuffer Cgroup ConMgr CPU_Bind CpuFrequency Data Dependency
Elasticsearch Energy Federation Gang GLOB_SILENCE Gres Hetjob JobAccountGather JobComp License Metrics Namespace Network
NetworkRaw NodeFeatures NO_CONF_HASH Power Priority Profile Protocol Reservation Route Script SelectType Steps Switch
TLS TraceJobs Triggers WorkQueue
"""
DEBUG_FLAGS = {word.lower(): word for word in _FLAGS.split()}
"""Flags as they are printed, by what slurm.conf may write."""
CGROUP = """\
AllowedKmemSpace | (null) | - | =
AllowedRAMSpace | 100.0% | = | =
AllowedSwapSpace | 0.0% | = | =
CgroupAutomount | no | - | =
CgroupJobIdPaths | - | = | no
CgroupMountpoint | /sys/fs/cgroup | = | =
CgroupPlugin | (null) | autodetect | =
CgroupSlice | - | = | (null)
ConstrainCores | no | = | =
ConstrainDevices | no | = | =
ConstrainKmemSpace | no | - | =
ConstrainRAMSpace | no | = | =
ConstrainSwapSpace | no | = | =
EnableControllers | - | no | =
EnableExtraControllers | - | = | (null)
IgnoreSystemd | no | = | =
IgnoreSystemdOnFailure | no | = | =
MaxKmemPercent | 100.0% | - | =
MaxRAMPercent | 100.0% | = | =
MaxSwapPercent | 100.0% | = | =
MemorySwappiness | (null) | = | =
MinKmemSpace | 30 MB | - | =
MinRAMSpace | 30 MB | 30MB | =
SystemdTimeout | - | 1000 ms | =
"""

MPI = """\
PMIxCliTmpDirBase | - | (null) | -
PMIxCollFence | - | (null) | -
PMIxDebug | - | 0 | -
PMIxDirectConn | - | yes | -
PMIxDirectConnEarly | - | no | -
PMIxDirectConnUCX | - | no | -
PMIxDirectSameArch | - | no | -
PMIxEnv | - | (null) | -
PMIxFenceBarrier | - | no | -
PMIxNetDevicesUCX | - | (null) | -
PMIxTimeout | - | 300 | -
PMIxTlsUCX | - | (null) | -
"""


def rows(text: str, release: str) -> list[tuple[str, str]]:
    """Name and value of what `release` lists, in its order; between recorded ones a release is as the older."""
    found = []
    for line in text.splitlines():
        if not line:
            continue
        name, *cells = line.split(" | ")
        value = recorded_cell(cells, release)
        if value != "-":
            found.append((name, value))
    return found
