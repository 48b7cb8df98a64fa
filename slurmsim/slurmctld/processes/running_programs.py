"""Programs of slurm.conf that really run: what their supervisors are told, and news that came while none listened."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slurmsim.slurmctld.base.live_job import LiveJob
from slurmsim.slurmctld.processes import controller_programs, node_programs
from slurmsim.slurmd.script_runner import Executor

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster


class RunningPrograms:
    """The link between one cluster and the programs that run for its jobs."""

    def __init__(self, cluster: LiveCluster, executor: Executor) -> None:
        self.cluster, self._executor = cluster, executor

    def begin(self, live: LiveJob, kind: str, run: int, node: int) -> None:
        """Run a program on a node, unless that has begun; a full disk lets it wait until `tend`."""
        told = {
            **controller_programs.spec(self.cluster, live, kind, run, node), "core_id": live.core.id, "restarts": run,
            "kind": kind, "node": node, "socket": str(self._executor.folder.parent / "slurmctld.sock"),
        }  # fmt: skip
        with suppress(OSError):
            self._executor.start_program(_name(live.core.id, run, kind, node), told)

    def switch_power(self, number: int) -> None:
        """Run a program that switches nodes on or off, unless that has begun."""
        programs = self.cluster.power_programs
        if number not in programs.pending:
            return
        kind = programs.pending[number][0]
        name = _name(0, number, kind, 0)
        folder = self._executor.folder.parent
        told = {
            **programs.spec(number, str(self._executor.programs / name), str(folder / "bin")), "core_id": 0,
            "restarts": number, "kind": kind, "node": 0, "socket": str(folder / "slurmctld.sock"),
        }  # fmt: skip
        with suppress(OSError):
            self._executor.start_program(name, told)

    def over(self, arguments: Mapping[str, Any]) -> None:
        """Forget a program: its end was taken in."""
        self._executor.forget_program(
            _name(int(arguments["core_id"]), int(arguments["restarts"]), str(arguments["kind"]), int(arguments["node"]))
        )

    def tend(self) -> list[dict[str, int | str]]:
        """Begin what could not be so far; return the ends that were not told, as arguments of ``program_ended``."""
        started = self._executor.programs_started()
        for number, (kind, _, _, _) in self.cluster.power_programs.pending.items():
            if _name(0, number, kind, 0) not in started:
                self.switch_power(number)
        for live in self._with_programs():
            for kind, run, node in live.programs:
                if kind != node_programs.READY and _name(live.core.id, run, kind, node) not in started:
                    self.begin(live, kind, run, node)
        found: list[dict[str, int | str]] = []
        for name, status in started.items():
            if status is not None:
                core_id, restarts, what, place = name.split(".")
                found.append({"core_id": int(core_id), "restarts": int(restarts), "kind": what, "node": int(place),
                              "status": status})  # fmt: skip
        return found

    def _with_programs(self) -> list[LiveJob]:
        """Return jobs that wait for programs; none are looked at in a cluster without."""
        options = self.cluster.spec.options
        if not any(options.get(name) for name in node_programs.OPTIONS.values()):
            return []
        return [live for live in self.cluster.jobs.values() if live.programs]


def _name(core_id: int, run: int, kind: str, node: int) -> str:
    return f"{core_id}.{run}.{kind}.{node}"
