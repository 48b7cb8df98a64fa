"""ResumeProgram, SuspendProgram, ResumeFailProgram and RebootProgram of clusters that run programs.

Mirrors power_save.c and slurmscriptd. A program gets the nodes as a hostlist; ResumeProgram also finds in the file
SLURM_RESUME_FILE for which jobs they boot. Where ResumeProgram runs, no node comes up by itself: its slurmd registers
(the command ``slurmd -N NODE``, or `Cluster.register_node`), or ResumeTimeout takes it down. A program that is not
there is passed over, so that the slurm.conf of another machine can be tried: its nodes boot as in other clusters.

The end of a program is a request, ``program_ended``, as that of a prolog is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.records.messages import NodesRegister
from slurmsim.hostlist import expand
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import Row
from slurmsim.slurmctld.fields.job_fields import FIELDS
from slurmsim.slurmctld.fields.node_fields import UNTOLD_COMING, UNTOLD_OFF
from slurmsim.slurmd.supervisor import NOT_THERE

if TYPE_CHECKING:
    from slurmsim.core.records.job import Job
    from slurmsim.core.records.messages import Fact
    from slurmsim.slurmctld.base.live_cluster import LiveCluster

RESUME, SUSPEND, FAILED, REBOOT = "resume", "suspend", "failed", "reboot"
OPTIONS = {
    RESUME: "ResumeProgram", SUSPEND: "SuspendProgram", FAILED: "ResumeFailProgram", REBOOT: "RebootProgram",
}  # fmt: skip
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
RESUME_FILE = "resume.json"
Program = tuple[str, str, str]
"""A kind, the nodes, and the text of the resume file; none for other kinds."""


class Troubles(Protocol):
    """Rules that keep nodes from booting (`slurmsim.slurmctld.faults.node_troubles`)."""

    def that_boot(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Return those of these nodes that can boot."""

    def boot_s(self, nodes: Sequence[str]) -> int:
        """Return how many seconds longer these nodes take to boot."""


class PowerPrograms:
    """What switches the nodes of one cluster on and off.

    Attributes
    ----------
    pending
        Programs that run, or are to run, by number.
    last
        The last number.
    troubles
        Rules that keep nodes from booting; `Engine` sets it.
    """

    troubles: Troubles

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self.pending: dict[int, Program] = {}
        self.last = 0

    def runs(self, kind: str) -> bool:
        """Return True if slurm.conf names a program of that kind and programs run here."""
        cluster = self._cluster
        text = str(cluster.spec.options.get(OPTIONS[kind]) or "")
        return cluster.runs_programs and cluster.runs_jobs and text.startswith("/")

    # -- what happens to nodes ----------------------------------------------------------------------------------------

    def begin(self, nodes: Sequence[str]) -> tuple[tuple[str, ...], int]:
        """Let nodes boot; return those that come up by themselves, and how many seconds more than others they take."""
        cluster, troubles = self._cluster, self.troubles
        slurm_user = cluster.people.by_name(cluster.conf.scalar("SlurmUser") or "root")
        cluster.node_reasons.note_reboots(nodes, cluster.now, slurm_user.uid)
        index = cluster.controller.state.table.index
        for name in nodes:
            texts = cluster.node_texts.get(index[name], {})
            if texts.pop("untold", None) == UNTOLD_OFF:
                texts["untold"] = UNTOLD_COMING
        power = cluster.controller.power
        coming = [name for name in nodes if power is not None and power.nodes.coming >> index[name] & 1]
        other = [name for name in nodes if name not in set(coming)]
        if other and self.runs(REBOOT):
            self._run(REBOOT, other)
        if coming and self.runs(RESUME):
            self._run(RESUME, coming, self._resume_file(from_indices(sorted(index[name] for name in coming))))
            coming = []
        alone = troubles.that_boot([*other, *coming])
        return alone, troubles.boot_s(alone)

    def powers_down(self, nodes: Sequence[str]) -> None:
        """Have nodes switched off."""
        if self.runs(SUSPEND):
            self._run(SUSPEND, nodes)

    def failed(self, nodes: Sequence[str]) -> None:
        """Tell ResumeFailProgram of nodes that have not come up in time."""
        if self.runs(FAILED):
            self._run(FAILED, nodes)

    def registered(self, nodes: Sequence[str]) -> list[Fact]:
        """Return what the core is told when the slurmd of these nodes registers; a rule may keep it from that."""
        heard = self.troubles.that_boot(nodes)
        return [NodesRegister(heard)] if heard else []

    def _run(self, kind: str, nodes: Sequence[str], told: str = "") -> None:
        cluster = self._cluster
        self.last += 1
        self.pending[self.last] = (kind, cluster.controller.state.cluster.compress(nodes), told)
        if cluster.real is not None:
            cluster.real.switch_power(self.last)

    def ended(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take the news that a program is over. Raises Refusal for one that is not awaited."""
        number = int(arguments["restarts"])
        kind, nodes, _ = self.pending.get(number, ("", "", ""))
        if kind != arguments["kind"]:
            raise Refusal(INVALID_JOB)
        del self.pending[number]
        if kind == RESUME and int(arguments["status"]) == NOT_THERE:
            alone = self.troubles.that_boot(expand(nodes))
            if alone:
                self._cluster.network.boot_by_itself(alone, self.troubles.boot_s(alone))
        return {}

    def end_all(self) -> None:
        """Let all programs be over: in a copy of a cluster none runs, and its nodes come up by themselves."""
        power = self._cluster.controller.power
        if power is not None and power.nodes.coming and self.runs(RESUME):
            names = self._cluster.controller.state.table.names
            self._cluster.network.boot_by_itself(tuple(names[i] for i in to_indices(power.nodes.coming).tolist()))
        self.pending.clear()

    # -- what a program is told ---------------------------------------------------------------------------------------

    def spec(self, number: int, folder: str, commands: str) -> dict[str, Any]:
        """Return what a supervisor runs: its own files lie in `folder`, the cluster's commands in `commands`."""
        cluster = self._cluster
        kind, nodes, told = self.pending[number]
        options = cluster.spec.options
        environment = {"SLURM_CONF": cluster.conf_path, "PATH": f"{commands}:{PATH}"}
        if told:
            environment["SLURM_RESUME_FILE"] = f"{folder}/{RESUME_FILE}"
        longest = max(int(options.get("ResumeTimeout") or 0), int(options.get("SuspendTimeout") or 0))
        return {"programs": [str(options.get(OPTIONS[kind]))], "arguments": [nodes], "timeout": longest,
                "environment": environment, "files": {RESUME_FILE: told} if told else {}}  # fmt: skip

    def _resume_file(self, nodes: Bitmap) -> str:
        """Return for which jobs these nodes boot, as JSON text."""
        cluster = self._cluster
        power = cluster.controller.power
        jobs = [] if power is None else power.waiting_for(nodes)
        all_nodes = "all_nodes_resume" if since(cluster.release, "resume_file_of_jobs") else "all_nodes"
        return json.dumps({
            all_nodes: self._shown(nodes), "jobs": [self._of_job(job, mask) for job, mask in jobs],
        })  # fmt: skip

    def _of_job(self, core: Job, nodes: Bitmap) -> dict[str, Any]:
        live = self._cluster.network.live.get(core.id) or self._cluster.network.entering.get(core.id)
        asked = {} if live is None else live.asked
        job_id = core.id if live is None else live.id
        if not since(self._cluster.release, "resume_file_of_jobs"):
            return {"job_id": job_id, "nodes": self._shown(nodes)}
        found: dict[str, Any] = {
            "extra": asked.get("extra"), "job_id": job_id, "features": asked.get("features"),
            "nodes_alloc": self._shown(core.nodes), "nodes_resume": self._shown(nodes),
            "partition": core.partition.name, "reservation": core.reservation_name or None,
        }  # fmt: skip
        if live is None:
            return found
        row = Row(live)
        if not since(self._cluster.release, "job_told_to_programs"):
            return found | {"oversubscribe": FIELDS["shared"](row, self._cluster)}
        told = {name: FIELDS[name](row, self._cluster) for name in ("oversubscribe", "exclusive")}
        return found | {"priority": core.priority, **told}

    def _shown(self, nodes: Bitmap) -> str:
        state = self._cluster.controller.state
        return state.cluster.compress([state.table.names[i] for i in to_indices(nodes).tolist()])
