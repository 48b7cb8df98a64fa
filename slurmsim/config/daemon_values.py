"""What slurmctld takes as the value of a key, release by release: words, plug-ins and ranges, one row an option.

The keys here are those that slurmsim itself reads as plain text or as any number. slurmctld ends on a value that the
key's row does not allow; ``slurmsim check --strict`` refuses it, and without --strict it is a warning.

A word is written ``word``, ``word@24.05-`` (since that release), ``word@-23.11`` (up to that release) or
``word@24.11-24.11``. Words and plug-ins are those of the eight releases 22.05 to 26.05.
"""

import re
from collections.abc import Iterable, Mapping

from slurmsim.config.option import OLDEST, earlier, split_words
from slurmsim.data_classes import dataclass
from slurmsim.errors import nearest
from slurmsim.releases import RELEASES

_SHORT = 65_535  # UNLIMITED as a number of 16 bits
_UNLIMITED = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Takes:
    """What one key takes."""

    key: str  # the option's name
    words: str = ""  # words with their releases, blanks between them; "" where any text is taken
    kind: str = ""  # type of the plug-ins that `words` names, without its slash; "" for other words
    many: bool = False  # the value is a comma list; plug-ins of a list may leave their type out
    any_case: bool = True  # words are compared without case
    alone: str = ""  # values that are no words of a list, with blanks between them
    # from 23.11 on a value that has this in it, whatever the case, switches the plug-in off; before, it is the name of
    # a plug-in
    off: str = ""
    # low, high: Inclusive range of a number
    low: int = 0
    high: int | None = None
    pattern: str = ""  # what each word of the value may look like, beside `words`
    # since, until: first release that ends on another value, and first that does not any more; "" for all
    since: str = ""
    until: str = ""
    ours: bool = False  # slurmsim takes more on purpose: without --strict it says nothing

    def refused(self, text: str, typed: object, release: str) -> str:
        """Return why slurmctld of `release` ends on `text`, read as `typed`; "" where it does not."""
        if earlier(release, self.since or OLDEST) or (self.until and not earlier(release, self.until)):
            return ""
        if not self.words and not self.pattern:
            # UNLIMITED is a number as well, of 16 or 32 bits, and may be out of range
            number = typed if isinstance(typed, int) else _UNLIMITED if self.high != _SHORT else _SHORT
            beyond = number < self.low or (self.high is not None and number > self.high)
            return f"slurmctld {release} does not start with it: {text} is out of range" if beyond else ""
        switched_off = self.off and self.off in text.lower() and not _names_off(release)
        if switched_off or self._folded(text) in self.alone.split():
            return ""
        allowed = tuple(self.allowed(release))
        known = {self._folded(word) for word in allowed}
        for word in split_words(text) if self.many else (text,):
            if self._folded(word) not in known and not (self.pattern and re.fullmatch(self.pattern, word)):
                what = "plug-in" if self.kind else "word"
                hint = nearest(word, allowed)
                return f"slurmctld {release} does not start with it: it has no {what} {word!r}{hint}"
        return ""

    def known_somewhere(self, text: str, typed: object) -> bool:
        """Return True if a release, or slurmsim on purpose, takes `text`."""
        return self.ours or any(not self.refused(text, typed, release) for release in RELEASES)

    def expected(self, release: str) -> str:
        """Return what slurmctld of `release` takes, in a few words."""
        if self.words:
            return f"one of {', '.join(self.allowed(release))}"
        if self.pattern:
            return "absolute paths, or none"
        return f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"

    def allowed(self, release: str) -> Iterable[str]:
        """Yield the words of `release`, plug-ins with their type."""
        for entry in self.words.split():
            word, _, span = entry.partition("@")
            first, _, last = span.partition("-")
            if not earlier(release, first or OLDEST) and not (last and earlier(last, release)):
                yield f"{self.kind}/{word}" if self.kind else word
        if self.off and _names_off(release):
            yield f"{self.kind}/{self.off}"

    def _folded(self, word: str) -> str:
        word = word.lower() if self.any_case else word
        return f"{self.kind}/{word}" if self.kind and self.many and "/" not in word else word


def _names_off(release: str) -> bool:
    """Return True if what switches a plug-in off is itself a plug-in."""
    return earlier(release, "23.11")


def _short(keys: str) -> Iterable[Takes]:
    """Rows for numbers of 16 bits."""
    return (Takes(key, high=_SHORT) for key in keys.split())


_LEVELS = "quiet fatal error info verbose debug debug2 debug3 debug4 debug5"
_LIMITS = "CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS"
_LIMITS += " " + " ".join(f"RLIMIT_{word}" for word in _LIMITS.split())

_ROWS: tuple[Takes, ...] = (
    # words
    Takes("DebugFlags", "Accrue Agent AuditRPCs@24.05- AuditTLS@25.05- Backfill BackfillMap BurstBuffer CPU_Bind "
          "ConMgr@24.11- CpuFrequency DBD_Agent@24.05- DB_Archive DB_Assoc DB_Event DB_Job DB_QOS DB_Query "
          "DB_Reservation DB_Resource DB_Step DB_TRES DB_Usage DB_WCKey Data Dependency Elasticsearch Energy "
          "ExtSensors@-23.11 Federation FrontEnd@-24.11 GLOB_SILENCE@23.11- Gang Gres Hetjob Interconnect JAG "
          "JobAccountGather JobComp@23.02- JobContainer License MPI Metrics@25.11- NO_CONF_HASH Namespace@25.11- Net "
          "NetRaw Network NetworkRaw NodeFeatures Power PowerSave Priority Profile Protocol Reservation Route "
          "Sack@23.11- Script SelectType Steps Switch TLS@24.05- Task TimeCray@-23.11 TraceJobs Trigger Triggers WorkQ "
          "WorkQueue cgroup thread@26.05- threads@26.05-", many=True),
    Takes("PrologFlags", "Alloc Contain DeferBatch ForceRequeueOnFail@23.02- NoHold RunInJob@24.05- Serial X11",
          many=True),
    Takes("TaskPluginParam", "none sockets cores threads verbose autobind=none autobind=threads autobind=cores "
          "autobind=sockets SlurmdOffSpec OOMKillStep@24.11- SlurmdSpecOverride@25.05-", many=True),
    Takes("PropagateResourceLimits", _LIMITS, many=True, any_case=False, alone="ALL NONE"),
    Takes("PropagateResourceLimitsExcept", _LIMITS, many=True, any_case=False, alone="ALL NONE"),
    *(Takes(key, _LEVELS, pattern="[0-9].*")
      for key in ("SlurmctldDebug", "SlurmctldSyslogDebug", "SlurmdDebug", "SlurmdSyslogDebug")),
    Takes("BcastExclude", many=True, pattern="/.*", alone="none"),
    # plug-ins that slurmctld loads
    Takes("AcctGatherEnergyType", "gpu ibmaem ipmi pm_counters rapl xcc", "acct_gather_energy", many=True, off="none"),
    Takes("AcctGatherFilesystemType", "lustre", "acct_gather_filesystem", many=True, off="none"),
    Takes("AcctGatherProfileType", "hdf5 influxdb", "acct_gather_profile", many=True, off="none"),
    Takes("AcctGatherInterconnectType", "ofed sysfs", "acct_gather_interconnect", many=True, off="none"),
    Takes("AccountingStorageType", "none slurmdbd ctld_relay@24.05-", "accounting_storage"),
    Takes("AuthType", "jwt munge none slurm@23.11-", "auth"),
    Takes("AuthAltTypes", "jwt munge none slurm@23.11-", "auth", many=True),
    Takes("BurstBufferType", "datawarp lua", "burst_buffer", many=True, off="none"),
    Takes("ExtSensorsType", "rrd@-23.11", "ext_sensors", off="none", until="24.05"),
    Takes("PowerPlugin", "cray_aries@-23.11", "power", off="none", until="24.05"),
    Takes("PrioritySiteFactorPlugin", "example", "site_factor", off="none", since="23.11"),
    Takes("CertmgrType", "script", "certmgr"),
    Takes("CredType", "munge none slurm@23.11-", "cred"),
    Takes("HashPlugin", "k12 sha3", "hash"),
    Takes("JobAcctGatherType", "cgroup linux", "jobacct_gather", off="none"),
    Takes("JobCompType", "elasticsearch filetxt kafka lua mysql script", "jobcomp", off="none", since="23.02"),
    Takes("JobSubmitPlugins", "all_partitions cray_aries@-23.11 defaults logging lua partition pbs require_timelimit "
          "throttle", "job_submit", many=True, off="none"),
    Takes("MCSPlugin", "account group label@24.11- user", "mcs", off="none"),
    Takes("MetricsType", "openmetrics", "metrics", off="none"),
    Takes("NodeFeaturesPlugins", "helpers knl_cray@-23.11 knl_generic@-25.05", "node_features", many=True),
    Takes("PrEpPlugins", "script", "prep", many=True),
    Takes("PreemptType", "none partition_prio qos", "preempt"),
    Takes("PriorityType", "basic multifactor", "priority"),
    Takes("SchedulerType", "backfill builtin", "sched", ours=True),
    Takes("SelectType", "linear cons_tres cons_res", "select"),
    Takes("SwitchType", "cray_aries@-23.11 hpe_slingshot nvidia_imex@24.05-", "switch", off="none"),
    Takes("TLSType", "none s2n", "tls"),
    Takes("TopologyPlugin", "none default@23.02- flat@25.05- tree 3d_torus@-24.11 block@23.11- hypercube@-23.02 "
          "torus3d@26.05- ring@26.05-", "topology"),
    # ranges
    Takes("MaxDBDMsgs", low=10_000),
    Takes("MaxNodeCount", high=65_536),
    Takes("MaxStepCount", low=1),
    Takes("SuspendTime", low=-1, high=_UNLIMITED, since="23.02"),
    Takes("PropagatePrioProcess", high=2),
    *_short(
        "AccountingStoragePort AcctGatherNodeFreq BatchStartTimeout EioTimeout EpilogTimeout ExtSensorsFreq "
        "GetEnvTimeout GroupUpdateForce GroupUpdateTime HealthCheckInterval HealthCheckTimeout InactiveLimit "
        "JobFileAppend KillOnBadExit MaxTasksPerNode PrologEpilogTimeout PrologTimeout SlurmSchedLogLevel "
        "SlurmctldTimeout SlurmdTimeout TCPTimeout TreeWidth UnkillableStepTimeout VSizeFactor WaitTime"),
)  # fmt: skip

TAKES: Mapping[str, Takes] = {row.key: row for row in _ROWS}
"""What a key takes, by its name; a key without a row takes what `Option.parse` reads."""
