"""What a job only carries: it is asked with it, keeps it and tells it, and no rule of the scheduler reads it.

Kinds are ``text``, ``count`` and ``flag``. A row is all that such an option of sbatch needs. The shape of requests and
what the daemon tells follow from its kind. The request keeps what was asked, in journals and in snapshots.
"""

from __future__ import annotations

from slurmsim.records import Column, Line, Option
from slurmsim.records import Field as F

CARRIED: tuple[F, ...] = (
    F("admin_comment", "text", json="admin_comment", before="allocating_node", ruled=True,
      column=Column("ADMIN_COMMENT", "admin_comment"), line=Line("AdminComment", "WorkDir", " ")),
    F("burst_buffer", "text", update="BurstBuffer:1", json="burst_buffer", before="burst_buffer_state", body=False,
      ruled=True, option=Option("bb", "bbf", part=True), column=Column("BURST_BUFFER", "BurstBuffer"),
      line=Line("BurstBuffer", "Switches")),
    F("cluster_features", "text", update="ClusterFeatures:8", json="cluster_features", before="command", body=None,
      ruled=True, option=Option("cluster-constraint", "chdir", "accepted"),
      column=Column("CLUSTER_FEATURES", "ClusterFeature"), line=Line("ClusterFeatures", "Features")),
    F("comment", "text", update="Comment:3", json="comment", before="container_id",
      option=Option("comment", "compress", "supported"), column=Column("COMMENT", "Comment", "k"),
      line=Line("Comment", "SystemComment", " ")),
    F("container", "text", json="container", before="container_id", body=False,
      option=Option("container", "container-id", "accepted"), column=Column("CONTAINER", "Container"),
      line=Line("Container", "MailUser")),
    F("extra", "text", update="Extra:3", json="extra", before="failed_node", since="23.02",
      option=Option("extra", "extra-node-info"), line=Line("Extra", "SystemComment", " ")),
    F("mcs_label", "text", update="MCSLabel:4:25.05", json="mcs_label", before="memory_per_tres", body=False,
      ruled=True, option=Option("mcs-label", "mem"), column=Column("MCSLABEL", "MCSLabel")),
    F("network", "text", json="network", before="nodes", body=False, option=Option("network", "nice", part=True),
      column=Column("NETWORK", "Network")),
    F("prefer", "text", update="Prefer:3", json="prefer", before="memory_per_cpu", ruled=True,
      option=Option("prefer", "preserve-env", "supported"), column=Column("PREFER", "Prefer"),
      line=Line("Prefer", "Features")),
    F("tres_bind", "text", update="TresBind:5", json="tres_bind", before="tres_per_job", body=False, ruled=True,
      option=Option("tres-bind", "tres-per-task", "accepted", part=True, since="23.11"),
      line=Line("TresBind", "MemPerTres")),
    F("tres_freq", "text", update="TresFreq:5", json="tres_freq", before="tres_per_job", body=False, ruled=True,
      line=Line("TresFreq", "MemPerTres")),
)  # fmt: skip
"""By name."""
