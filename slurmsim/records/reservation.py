"""The fields of an advance reservation, in the order of their names in documents.

Kinds are ``text`` and the comma lists ``names`` (accounts, groups or users), ``words`` and ``node list``. ``counts``
are of nodes or cores, one for each core size asked for. ``time``, ``minutes``, ``delay`` (seconds) and ``flags`` are
as they are called; ``purge`` is the seconds of one flag. ``tres`` stands for several fields. ``told`` is worked out
by the daemon.
"""

from __future__ import annotations

from slurmsim.records import Field as F

RESERVATION: tuple[F, ...] = (
    F("accounts", "names", update="Accounts:1", json="accounts"),
    F("allowed_parts", "names", update="AllowedPartitions:2", since="25.11", body=None),
    F("burst_buffer", "text", update="BurstBuffer:2", json="burst_buffer", shown=False),
    F("comment", "text", update="Comment:3", since="23.02"),
    F("core_cnt", "counts", update="CoreCnt:5 CoreCount:5 CPUCnt:5 CPUCount:5", json="core_count"),
    F("core_spec", "told", json="core_specializations"),
    F("duration", "minutes", update="Duration:1", shown=False),
    F("end_time", "time", update="EndTime:1", json="end_time"),
    F("features", "text", update="Features:2", json="features"),
    F("flags", "flags", update="Flags:2", json="flags", shown=False),
    F("flag_text", "told"),
    F("groups", "names", update="Groups:1", json="groups"),
    F("licenses", "words", update="Licenses:2", json="licenses"),
    F("max_start_delay", "delay", update="MaxStartDelay:2", json="max_start_delay"),
    F("name", "text", update="ReservationName:1", json="name"),
    F("node_cnt", "counts", update="NodeCnt:5 NodeCount:5", json="node_count"),
    F("node_list", "node list", update="Nodes:5", json="node_list"),
    F("partition", "text", update="PartitionName:1", json="partition"),
    F("purge_comp", "purge", json="purge_completed", shown=False),
    F("qos", "names", update="QOS:1", since="25.11", body=None),
    F("start_time", "time", update="StartTime:2", json="start_time"),
    F("watts", "text", update="Watts:1", json="watts", last=44, body=None, shown=False, until="24.05"),
    F("tres", "tres", update="TRES:1", shown=False),
    F("tres_str", "told", json="tres"),
    F("users", "names", update="Users:1", json="users"),
)
"""All of them."""
