"""Command lines of srun and salloc: options from the same table as sbatch's, then a command.

Mirrors their option processing (22.05): environment first, then the command line, then the checks of each. What
becomes of the request is for the commands themselves.
"""

from __future__ import annotations

import os

from slurmsim.commands.submit.component import Part
from slurmsim.commands.submit.het.groups import Colon, check_groups, het_groups, of_group, with_commands
from slurmsim.commands.submit.job_request import Builder
from slurmsim.commands.submit.options import sbatch_usage
from slurmsim.commands.submit.options.chosen_options import Chosen, error_code, said
from slurmsim.commands.submit.options.display import show_options
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.release import version_of
from slurmsim.commands.text.values import Context
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.submit.cli_filter import SiteFilter
    from slurmsim.commands.text.cluster_facts import Cluster
    from slurmsim.commands.text.messages import Messages


_TOO_MANY_NODES = (
    "Required nodelist includes more nodes than permitted by max-node count ({count} > {most}). "
    "Eliminating nodes from the nodelist."
)
_PER_NODE_IGNORED = {
    "22.05": "Warning: can't honor --ntasks-per-node set to {per_node} which doesn't match the requested tasks {tasks} "
    "with the number of requested nodes {nodes}. Ignoring --ntasks-per-node.",
    "24.05": "warning: can't honor --ntasks-per-node set to {per_node} which doesn't match the requested tasks {tasks} "
    "with the maximum number of requested nodes {nodes}. Ignoring --ntasks-per-node.",
}


def read_allocation(
    name: str, argv: list[str], io: Io, say: Messages, cluster: Cluster, script: SiteFilter | None = None
) -> list[Part]:
    """Return what the command line of srun or salloc asks for: one part, or those of a heterogeneous job.

    Raises
    ------
    Stop
        Everything was said: a complaint, the help, the version.
    """
    reader = _Reader(name, argv, io, say, cluster, script)
    found = Colon(argv, in_commands=name == "srun")
    while found.more:
        reader.read(found)
    parts = reader.parts
    say.adjust(int(parts[0].chosen.get("verbose", 0)), int(parts[0].chosen.get("quiet", 0)))
    if name == "srun":
        check_groups(parts, say, error_code(io, say))
        parts = with_commands(parts, say)
    return parts


class _Reader:
    """Reads one component after the other; those of srun may be for several groups each."""

    def __init__(
        self, name: str, argv: list[str], io: Io, say: Messages, cluster: Cluster, script: SiteFilter | None
    ) -> None:
        self._script = script
        self._name, self._argv, self._say, self._cluster = name, argv, say, cluster
        self._failure = error_code(io, say)
        self._environ = dict(io.environ)
        if name == "srun" and ":" in argv and "SLURM_HET_SIZE" not in self._environ:
            self._environ.pop("SLURM_JOB_NUM_NODES", None)  # components share an ordinary allocation
        self._context = Context(name, cluster.release, cluster.now, cluster.uid, io.cwd, self._environ)
        self._components = 0
        self.parts: list[Part] = []

    def read(self, words: Colon) -> None:
        """Take the next component's words away from `words`. Raises Stop."""
        place, self._components = self._components, self._components + 1
        asked, rest = self._read(words.left, place)
        command = words.take(rest)
        text = asked.get("het_group")
        if text is None:
            self._part(asked, command, place or None)
            return
        for group in het_groups(str(text), self._say, self._failure):
            self._part(self._read(words.last, group)[0], command, group)

    def _read(self, words: list[str], group: int) -> tuple[Chosen, list[str]]:
        chosen = self.parts[-1].chosen.next_component() if self.parts else Chosen(self._context)
        if self._script is not None and "SLURM_JOB_ID" not in self._environ:  # a step takes what its job has
            self._script.setup_defaults(chosen)
        environ = of_group(self._environ, chosen, group) if self._name == "srun" else self._environ
        who = ":" if self._components > 1 else self._name  # what getopt takes for the command's name
        return chosen, _options(chosen, words, environ, self._say, self._failure, who)

    def _part(self, chosen: Chosen, command: list[str], group: int | None) -> None:
        if self._script is not None:
            self._script.pre_submit(chosen, len(self.parts), command)
        kind = SallocBuilder if self._name == "salloc" else SrunBuilder
        builder = kind(chosen, self._say, self._failure, self._cluster.configured)
        builder.verify(command[0] if command else None)
        if chosen.get("verbose"):
            show_options(chosen, self._say)
        self.parts.append(Part(chosen, builder, _request(builder, self._name, self._argv), command, group))


def _options(
    chosen: Chosen, words: list[str], environ: dict[str, str], say: Messages, failure: int, who: str
) -> list[str]:
    """Set the options; the words after them."""

    def told(option: str) -> None:
        name = chosen.context.command
        if option == "version":
            say.io.out(version_of(say.io))
        elif option in ("help", "usage"):
            rows = [(row.short, row.name, row.argument) for row in chosen.listed()]
            text = sbatch_usage.usage_text if option == "usage" else sbatch_usage.help_text
            say.io.out(text(name, rows, "[command [args...]]" if name == "salloc" else "executable [args...]"))
        else:
            return
        raise Stop(0)

    said(say, failure, lambda: chosen.read_variables(environ))
    found: list[str] = said(say, failure, lambda: chosen.parse(words, told), who)
    return found


def _request(builder: Builder, name: str, argv: list[str]) -> dict[str, Any]:
    request = builder.request()
    request.update(
        alloc_node=os.uname().nodename, alloc_sid=os.getsid(0), submit_line=" ".join([name, *argv]),
        submit_dir=builder.chosen.context.cwd,
    )  # fmt: skip
    immediate = builder.chosen.get("immediate")
    if immediate is not None:
        request["immediate"] = immediate
    return request


class SallocBuilder(Builder):
    def verify(self, command: str | None) -> None:
        """Everything salloc checks before it asks. Raises Stop."""
        chosen = self.chosen
        self._check_first()
        chosen.values.setdefault("work_dir", chosen.context.cwd)
        self._node_lists()
        per_node, sizes = chosen.get("ntasks_per_node"), self.sizes
        if per_node and not sizes.tasks_set:
            sizes.tasks, sizes.tasks_set = sizes.min_nodes * per_node, True
        self._counts()
        self._plane()
        self._guess_tasks()
        self._arbitrary()
        if chosen.get("container") is not None:
            self.say.error("--container requires LaunchParameters=use_interactive_step")
            raise Stop(self.error_code)
        self._check_last()
        if chosen.get("name") is None:
            chosen.values["name"] = "no-shell" if chosen.get("no_shell") else "interactive"


class SrunBuilder(Builder):
    def verify(self, command: str | None) -> None:
        """Everything srun checks before it asks for an allocation or a step. Raises Stop."""
        chosen = self.chosen
        self._check_first()
        self._check_step()
        chosen.values.setdefault("work_dir", chosen.context.cwd)
        self._node_lists()
        self._trim_list()
        self._arbitrary()
        self._counts()
        self._guess_srun_tasks()
        per_node, sizes = chosen.get("ntasks_per_node"), self.sizes
        if per_node and not sizes.tasks_set:
            sizes.tasks, sizes.tasks_set = sizes.min_nodes * per_node, True
        self._check_last()
        self._job_name(command)
        if chosen.get("pty") and any(chosen.get(field) is not None for field in ("std_err", "std_in", "std_out")):
            self.say.error("--error/--input/--output are incompatible with --pty")
            raise Stop(self.error_code)

    def _judge_tasks_per_node(self, per_node: int) -> None:
        """Leave ``--ntasks-per-node`` out where ``-n`` and ``-N`` contradict it, or ``-n`` if that is older."""
        chosen, sizes = self.chosen, self.sizes
        words: str = row(_PER_NODE_IGNORED, self.release)
        if not since(self.release, "matching_tasks_not_asked"):
            if sizes.min_nodes and per_node != sizes.tasks // sizes.min_nodes:
                if sizes.tasks > per_node:
                    self.say.info(words.format(per_node=per_node, tasks=sizes.tasks, nodes=sizes.min_nodes))
                chosen.reset("ntasks-per-node")
        elif chosen.from_variable("ntasks") and not chosen.from_variable("nodes"):
            sizes.tasks_set = False
        elif chosen.get("job_id") is not None and 0 < sizes.max_nodes * per_node < sizes.tasks:
            self.say.info(words.format(per_node=per_node, tasks=sizes.tasks, nodes=sizes.max_nodes))
            chosen.reset("ntasks-per-node")

    def _check_step(self) -> None:
        chosen = self.chosen
        if chosen.get("exact") and chosen.get("whole"):
            self._wrong("--exact and --whole are mutually exclusive.")
        if chosen.get("relative") is not None and (chosen.get("req_nodes") or chosen.get("exc_nodes")):
            self._wrong("-r,--relative not allowed with -w,--nodelist or -x,--exclude.")
        if chosen.written("exclusive") and chosen.written("overlap"):
            self._wrong("--exclusive and --overlap are mutually exclusive")
        self._check_async()

    def _check_async(self) -> None:
        """Refuse what does not go with a step that no srun waits for."""
        chosen = self.chosen
        if chosen.get("async") and chosen.get("pty"):
            self._wrong("--async and --pty are mutually exclusive.")
        if chosen.get("async") and chosen.get("immediate"):
            self._wrong("--immediate and --async are mutually exclusive.")
        if chosen.get("async") and (chosen.get("job_id") is None or chosen.get("no_allocate")):
            self._wrong("--async is only valid for steps submitted within an existing job allocation.")
        if chosen.get("parsable") and not chosen.get("async"):
            self._wrong("--parsable requires --async.")

    def _arbitrary(self) -> None:
        if (self.chosen.get("distribution") or "").startswith("arbitrary") and self.chosen.get("req_nodes") is None:
            self._wrong("invalid number of tasks (-n 0)")
        else:
            super()._arbitrary()

    def _wrong(self, text: str) -> None:
        self.say.error(text)
        self._good = False

    def _trim_list(self) -> None:
        most = int(self.chosen.get("max_nodes", 0))
        if 0 < most < len(self.names) and not (self.chosen.get("distribution") or "").startswith("arbitrary"):
            self.say.error(_TOO_MANY_NODES.format(count=len(self.names), most=most))
            self.names = self.names[:most]
            self.chosen.values["req_nodes"] = ",".join(self.names)
            self.sizes.min_nodes = max(most, int(self.chosen.get("min_nodes", 1)))

    def _guess_srun_tasks(self) -> None:
        chosen, sizes = self.chosen, self.sizes
        asked = sizes.nodes_set or chosen.is_set("extra-node-info")
        if asked and sizes.max_nodes in (0, sizes.min_nodes) and not sizes.tasks_set:
            sizes.tasks = sizes.min_nodes
            shape = [chosen.get(field) for field in ("sockets_per_node", "cores_per_socket", "threads_per_core")]
            if None not in shape:
                sizes.tasks *= shape[0] * shape[1] * shape[2]
                sizes.tasks_set = True
                if chosen.get("verbose"):
                    self.say.info(f"Number of tasks implicitly set to {sizes.tasks}")
            elif chosen.get("ntasks_per_node") is not None:
                sizes.tasks *= int(chosen.get("ntasks_per_node"))
                sizes.tasks_set = True
        elif sizes.nodes_set and sizes.tasks_set:
            self._fit_nodes()
            if chosen.get("ntasks_per_node") is not None:
                self._judge_tasks_per_node(int(chosen.get("ntasks_per_node")))
