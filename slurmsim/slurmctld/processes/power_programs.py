"""ResumeProgram, SuspendProgram, ResumeFailProgram and RebootProgram of clusters that run programs.

Mirrors power_save.c and slurmscriptd. A program gets the nodes as a hostlist; ResumeProgram also finds in the file
SLURM_RESUME_FILE for which jobs they boot. Where ResumeProgram runs, no node comes up by itself: its slurmd registers
(the command ``slurmd -N NODE``, or `Cluster.register_node`), or ResumeTimeout takes it down. A program that is not
there is passed over, so that the slurm.conf of another machine can be tried: its nodes boot as in other clusters.

The end of a program is a request, ``program_ended``, as that of a prolog is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from slurmsim.bitmap import Bitmap, from_indices, to_indices
from slurmsim.core.records.messages import NodesRegister
from slurmsim.hostlist import expand
from slurmsim.model.power_action import PowerAction
from slurmsim.protocol import INVALID_JOB, Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.live_job import Row
from slurmsim.slurmctld.fields.job_fields import FIELDS
from slurmsim.slurmctld.fields.node_fields import UNTOLD_COMING, UNTOLD_OFF
from slurmsim.slurmctld.fields.used_features import placed_by
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
Program = tuple[str, str, str, str]
"""A kind, the nodes, the text of the resume file (none for other kinds), and the PowerAction ("" for the default)."""
NEVER = frozenset({"halt", "init", "kexec", "poweroff", "reboot", "shutdown", "systemctl", "telinit"})
"""Programs that would end this machine, which is no node: they are taken as not there."""


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
        return self._cluster.runs_programs and self._cluster.runs_jobs and self.action(kind) is not None

    def action(self, kind: str, name: str = "") -> PowerAction | None:
        """Return the action of that name, or the one that is taken when none is asked for; None for none."""
        cluster = self._cluster
        if name:
            return next((one for one in cluster.spec.power_actions if one.name == name), None)
        words = tuple(str(cluster.spec.options.get(OPTIONS[kind]) or "").split())
        if not words or not words[0].startswith("/"):
            return None
        parameters = str(cluster.spec.options.get("SlurmctldParameters") or "").lower()
        return PowerAction(OPTIONS[kind], words, kind == REBOOT and "reboot_from_controller" not in parameters)

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
            other = []
        if coming and self.runs(RESUME):
            self._run(RESUME, coming)
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

    def is_valid(self, kind: str, name: str = "") -> bool:
        """Return True if that action may be taken: a node that is off runs nothing."""
        action = self.action(kind, name)
        return action is not None and not (kind == RESUME and action.on_nodes)

    def ask(self, nodes: Sequence[str], name: str | None) -> None:
        """Note which action is to be taken for nodes the next time; None for the default."""
        index = self._cluster.controller.state.table.index
        for node in nodes:
            texts = self._cluster.node_texts.setdefault(index[node], {})
            texts["power_action"] = name or None

    def _run(self, kind: str, nodes: Sequence[str]) -> None:
        """Run the programs: one for all nodes with the same action, or one on each node."""
        index = self._cluster.controller.state.table.index
        asked: dict[str, list[str]] = {}
        for node in nodes:
            texts = self._cluster.node_texts.get(index[node], {})
            asked.setdefault(texts.pop("power_action", None) or "", []).append(node)
        for name, those in asked.items():
            action = self.action(kind, name)
            if action is None:
                continue
            for some in [[node] for node in those] if action.on_nodes else [those]:
                self._begin(kind, some, name)

    def _begin(self, kind: str, nodes: Sequence[str], name: str) -> None:
        cluster = self._cluster
        index = cluster.controller.state.table.index
        mask = from_indices(sorted(index[node] for node in nodes))
        told = self._resume_file(mask) if kind == RESUME else ""
        self.last += 1
        self.pending[self.last] = (kind, cluster.controller.state.cluster.compress(nodes), told, name)
        if cluster.real is not None:
            cluster.real.switch_power(self.last)

    def ended(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take the news that a program is over. Raises Refusal for one that is not awaited."""
        number = int(arguments["restarts"])
        kind, nodes, _, _ = self.pending.get(number, ("", "", "", ""))
        if kind != arguments["kind"]:
            raise Refusal(INVALID_JOB)
        del self.pending[number]
        if kind in (RESUME, REBOOT) and int(arguments["status"]) == NOT_THERE:
            alone = self.troubles.that_boot(expand(nodes))
            if alone:
                self._cluster.network.boot_by_itself(alone, self.troubles.boot_s(alone))
        return {}

    def end_all(self) -> None:
        """Let all programs be over: in a copy of a cluster none runs, and its nodes come up by themselves."""
        controller = self._cluster.controller
        waits = controller.state.power.coming if self.runs(RESUME) else 0
        waits |= controller.node_states.booting if self.runs(REBOOT) else 0
        if waits:
            names = controller.state.table.names
            self._cluster.network.boot_by_itself(tuple(names[i] for i in to_indices(waits).tolist()))
        self.pending.clear()

    # -- what a program is told ---------------------------------------------------------------------------------------

    def spec(self, number: int, folder: str, commands: str) -> dict[str, Any]:
        """Return what a supervisor runs: its own files lie in `folder`, the cluster's commands in `commands`."""
        cluster = self._cluster
        kind, nodes, told, name = self.pending[number]
        options = cluster.spec.options
        action = self.action(kind, name) or PowerAction("", ("",))
        environment = {"SLURM_CONF": cluster.conf_path, "PATH": f"{commands}:{PATH}"}
        arguments = [*action.words[1:], nodes]
        if action.on_nodes:
            environment = {"SLURM_NODE_NAME": nodes, "PATH": environment["PATH"]}
            arguments = arguments[:-1] if kind == REBOOT else arguments
        if told:
            environment["SLURM_RESUME_FILE"] = f"{folder}/{RESUME_FILE}"
        program = action.words[0] if os.path.basename(os.path.realpath(action.words[0])) not in NEVER else ""
        longest = max(int(options.get("ResumeTimeout") or 0), int(options.get("SuspendTimeout") or 0))
        return {"programs": [program], "arguments": arguments, "timeout": longest,
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
            "extra": asked.get("extra"), "job_id": job_id,
            "features": None if live is None else placed_by(live, self._cluster),
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
