"""The fields of a node, in the order of its JSON document.

Kinds are ``text``, ``words`` (a comma list; the attribute is a tuple), ``count``, ``number`` (that may be unset),
``limit``, ``time`` and ``delay`` (an instant that is set in seconds from now). ``node list`` and ``state`` are kinds of
one field each. Lines of ``scontrol show`` stand by their labels. What an update gives is kept beside the node, unless
the row has an attribute or is `ruled`. Bodies of REST have the daemon's names.
"""

from __future__ import annotations

from slurmsim.records import Field as F
from slurmsim.records import Line

NODE: tuple[F, ...] = (
    F("names", "node list", update="NodeName:1", body=None, shown=False, ruled=True),
    F("arch", "text", json="architecture"), F("boards", "count", json="boards"),
    F("boot_time", "time", json="boot_time"), F("cores", "count", "cores_per_socket", json="cores"),
    F("core_spec_cnt", "count", "core_spec_count", json="specialized_cores"),
    F("cpu_bind", "text", update="CpuBind:7", json="cpu_binding", body=False),
    F("cpu_load", "count", json="cpu_load"), F("free_mem", "number", json="free_mem"),
    F("cpus", "count", "cpus", json="cpus"), F("cpus_efctv", "count", json="effective_cpus"),
    F("cpu_spec_list", "text", json="specialized_cpus"), F("current_watts", "number", json="energy"),
    F("cap_watts", "number"), F("extra", "text", update="Extra:1", json="extra", line=Line("Extra", "Reason")),
    F("features", "words", "features", update="Features:1 AvailableFeatures:3", json="features"),
    F("features_act", "words", update="ActiveFeatures:3", json="active_features"),
    F("gres", "text", "gres", update="Gres:1", json="gres"), F("gres_used", "text", json="gres_used"),
    F("instance_id", "text", update="InstanceId:9", json="instance_id", body=False, since="23.11"),
    F("instance_type", "text", update="InstanceType:9", json="instance_type", body=False, since="23.11"),
    F("last_busy", "time", json="last_busy"), F("mcs_label", "text", json="mcs_label"),
    F("mem_spec_limit", "count", "mem_spec_limit_mib", json="specialized_memory"), F("name", "text", json="name"),
    F("next_state", "text", json="next_state_after_reboot"),
    F("node_addr", "text", update="NodeAddr:5", json="address", body=None),
    F("node_hostname", "text", update="NodeHostName:5", json="hostname", body=None),
    F("state", "state", update="State:1", json="state", body=None, ruled=True), F("state_flags", "words"),
    F("os", "text", json="operating_system"), F("owner", "text", json="owner"),
    F("partitions", "words", json="partitions"), F("port", "count", json="port"), F("default_port", "count"),
    F("real_memory", "count", "real_memory_mib", json="real_memory"),
    F("comment", "text", update="Comment:2", json="comment", line=Line("Comment", "Reason")),
    F("reason", "text", update="Reason:1", json="reason", ruled=True),
    F("reason_time", "time", json="reason_changed_at"), F("reason_user", "text", json="reason_set_by_user"),
    F("resume_after", "delay", update="ResumeAfter:1:23.02", json="resume_after", body=False),
    F("resv_name", "text", json="reservation", line=Line("ReservationName", "Reason"), since="23.02"),
    F("alloc_memory", "count", json="alloc_memory"), F("alloc_cpus", "count", json="alloc_cpus"),
    F("suspend_time", "limit", json="suspend_time", first=45),
    F("alloc_tres_fmt_str", "text", json="tres_used"), F("slurmd_start_time", "time", json="slurmd_start_time"),
    F("sockets", "count", "sockets", json="sockets"), F("threads", "count", "threads_per_core", json="threads"),
    F("tmp_disk", "count", "tmp_disk_mib", json="temporary_disk"),
    F("weight", "count", "weight", update="Weight:1", json="weight"),
    F("topology", "text", update="Topology:4", json="topology", body=None, shown=False, since="25.05"),
    F("tres_fmt_str", "text", json="tres"), F("version", "text", json="version"),
)  # fmt: skip
"""All of them. Of keywords that begin alike the first counts: ``r`` is Reason."""
