"""From chosen options to the request the controller gets: fields of Slurm's job_desc_msg_t under their names there.

Mirrors the option verification of sbatch and the filling in of the description (22.05, 24.11). Differences to the C
structure: what was not asked for is absent or None, flags are booleans, texts stay texts (`shared`, `open_mode`,
`distribution`, `profile`), `environment` is a mapping, `argv` begins after the script, which is `command`.
"""

from __future__ import annotations

import os

from slurmsim.commands.submit.options.checks import check_together, hint_counts
from slurmsim.commands.submit.options.layout_values import ANY_TASKS, HINT_HELP, hint_settings
from slurmsim.commands.submit.options.task_tres import asked_per_task
from slurmsim.commands.text.messages import Stop
from slurmsim.commands.text.values import BadValue
from slurmsim.gres_counts import BAD_GRES, BOTH_KINDS, Counts, Disagreement, agree, gres_items, mixed
from slurmsim.records.job import CARRIED
from slurmsim.records.request import REQUEST
from slurmsim.release_changes import since
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from slurmsim.commands.submit.options.chosen_options import Chosen
    from slurmsim.commands.text.messages import Messages


_HOST_FILE_MOST = 1 << 20
_TOO_WIDE = {
    "22.05": "Warning: can't run {tasks} processes on {nodes} nodes, setting nnodes to {tasks}",
    "23.02": "warning: can't run {tasks} processes on {nodes} nodes, setting nnodes to {tasks}",
}
_LIST_RAISES_COUNT = {"22.05": True, "24.11": False}
"""Whether a node list asks for as many nodes even beside ``--nodes``."""
_BAD_NAMES = {"22.05": "memory allocation failure", "24.05": "Invalid node list specified"}
_COPIED = (*(row.name for row in REQUEST if not row.ruled), *(row.name for row in CARRIED if row.option))
_GPU_SCOPES = (
    ("tres_per_job", "gpus"),
    ("tres_per_node", "gpus_per_node"),
    ("tres_per_socket", "gpus_per_socket"),
)
_SCOPES = (("tres_per_job", "job"), ("tres_per_node", "node"), ("tres_per_socket", "socket"), ("tres_per_task", "task"))
_OF_GPUS = ("mem_per_gpu", "cpus_per_gpu", "ntasks_per_tres")
_NO_NAMES = "Failure getting NodeNames from hostfile"
_COUNTS = ("num_tasks", "min_nodes", "max_nodes", "ntasks_per_node", "sockets_per_node", "cpus_per_task")
"""What counts of GRES have to agree with, in the order of `Counts`."""
_BASE = ("block", "cyclic", "arbitrary", "plane")


class Sizes:
    """How many nodes and tasks, after Slurm's guesses; what was not said stays 0 with its flag off."""

    def __init__(self, chosen: Chosen) -> None:
        self.min_nodes = int(chosen.get("min_nodes", 1))
        self.max_nodes = int(chosen.get("max_nodes", 0))
        self.nodes_set = chosen.is_set("nodes")
        self.tasks = int(chosen.get("num_tasks", 1))
        self.tasks_set = chosen.is_set("ntasks")


class Builder:
    """Checks the options of one job and makes its request.

    Parameters
    ----------
    chosen
        The options; some are filled in or forgotten here.
    say
        Where complaints go.
    error_code
        Exit code of most failures (SLURM_EXIT_ERROR changes it).
    configured
        Value of an option of slurm.conf, asked for when needed.
    checks
        Whether options are held against each other here; scrontab leaves that to the controller.
    """

    def __init__(
        self, chosen: Chosen, say: Messages, error_code: int, configured: Callable[[str], str | None], *,
        checks: bool = True,
    ) -> None:  # fmt: skip
        self.chosen, self.say, self.error_code, self.configured = chosen, say, error_code, configured
        self._checks = checks
        self.release = chosen.context.release
        self.sizes = Sizes(chosen)
        self.names: list[str] = []
        self.all_names: list[str] = []  # some more than once
        self._good = True

    # -- checks -----------------------------------------------------------------------------------------------------

    def verify(self, command: str | None) -> None:
        """Everything sbatch checks before it sends. Raises Stop.

        Parameters
        ----------
        command
            The script's path, None for standard input and ``--wrap``.
        """
        if self._checks:
            self._check_first()
        self._file_names()
        self._node_lists()
        self._job_name(command)
        self._tasks_per_node()
        self._counts()
        self._plane()
        self._guess_tasks()
        self._arbitrary()
        self._check_last()

    def _check_first(self) -> None:
        chosen, say = self.chosen, self.say
        check_together(chosen, say, lambda: (self.configured("AllowSpecResourcesUsage") or "").lower() in _YES)
        if chosen.get("quiet") and chosen.get("verbose"):
            say.error("don't specify both --verbose (-v) and --quiet (-Q)")
            self._good = False
        if chosen.is_set("hint") and hint_counts(chosen, say):
            self._obey_hint()
        if "one-task-per-sharing" in (chosen.get("gres_flags") or "").split(","):
            self._check_sharing()

    def _check_sharing(self) -> None:
        """Raise Stop if tasks are to have no GPU together where they could not have several, or ask for no share."""
        words = (self.configured("SelectTypeParameters") or "").upper().split(",")
        if "MULTIPLE_SHARING_GRES_PJ" not in words:
            self.say.error(
                "In order to use --gres-flags=one-task-per-sharing you must also have "
                "SelectTypeParameters=MULTIPLE_SHARING_GRES_PJ in your slurm.conf"
            )
            raise Stop(self.error_code)
        asked = (self.chosen.get("tres_per_task") or "").replace("gres:", "gres/")
        if not any(f"gres/{name}" in asked for name in ("shard", "mps")):
            self.say.fatal(
                "--gres-flags=one-task-per-sharing requested, but that shared gres needs to appear in --tres-per-task "
                "as well."
            )

    def _check_last(self) -> None:
        chosen, say = self.chosen, self.say
        if chosen.get("deadline") and chosen.get("begin_time") and chosen.get("deadline") < chosen.get("begin_time"):
            say.error("Incompatible begin and deadline time specification")
            raise Stop(self.error_code)
        tasks, threads = chosen.get("ntasks_per_core"), chosen.get("threads_per_core")
        if tasks and threads and tasks > threads and since(self.release, "tasks_fit_threads"):
            say.error(f"--ntasks-per-core ({tasks}) can not be bigger than --threads-per-core ({threads})")
            self._good = False
        if not self._good:
            raise Stop(self.error_code)
        if chosen.get("resv_ports") is not None and self._needs_stepmgr():
            say.error("Slurmstepd step management must be enabled to use --resv-ports for job allocations")
            raise Stop(self.error_code)
        sizes = self.sizes
        chosen.values.update(min_nodes=sizes.min_nodes, max_nodes=sizes.max_nodes, num_tasks=sizes.tasks)

    def _needs_stepmgr(self) -> bool:
        """Return True if ports of a job are asked for, which a step manager gives out, and there is none."""
        if self.chosen.context.command == "srun" or self.chosen.get("stepmgr"):
            return False
        return "enable_stepmgr" not in (self.configured("SlurmctldParameters") or "").lower()

    def _obey_hint(self) -> None:
        try:
            settings = hint_settings(self.chosen.get("hint"))
        except KeyError:
            self.say.io.out(HINT_HELP)
            raise Stop(self.error_code) from None
        except BadValue as bad:
            self.say.error(str(bad))
            raise Stop(self.error_code) from None
        self.chosen.values.update(settings)

    def _file_names(self) -> None:
        chosen = self.chosen
        chosen.values.setdefault("std_in", "/dev/null")
        chosen.values.setdefault("work_dir", chosen.context.cwd)
        for field in ("std_err", "std_in", "std_out"):
            name = chosen.get(field)
            if name is not None and not name.startswith("/"):
                chosen.values[field] = f"{chosen.get('work_dir')}/{name}"

    def _node_lists(self) -> None:
        chosen = self.chosen
        if "/" in (chosen.get("exc_nodes") or ""):
            chosen.values["exc_nodes"] = self._host_file(chosen.get("exc_nodes"))
        if chosen.get("nodefile") and not self._checks:
            return
        if chosen.get("nodefile"):
            chosen.values["req_nodes"] = self._host_file(
                chosen.get("nodefile"), "Invalid --nodefile node file", code=255
            )
        elif "/" in (chosen.get("req_nodes") or ""):
            chosen.values["req_nodes"] = self._host_file(chosen.get("req_nodes"))
        elif chosen.get("req_nodes") is None and chosen.context.environ.get("SLURM_HOSTFILE"):
            path = chosen.context.environ["SLURM_HOSTFILE"]
            told = self._host_file(path if "/" in path else f"./{path}", _NO_NAMES)
            chosen.values["req_nodes"] = self._one_line_a_task(told)
            chosen.values["distribution"] = "arbitrary"
        if chosen.get("req_nodes"):
            self._count_names(chosen.get("req_nodes"))

    def _one_line_a_task(self, told: str) -> str:
        """Return the names of SLURM_HOSTFILE that tasks go to: so many as -n says, or all of them, a task each."""
        from slurmsim.commands.text.typed_hosts import TextAfterBrackets, typed_hosts  # rarely wanted
        from slurmsim.hostlist import BadRange, HostlistError

        try:
            names = typed_hosts(told, self.say.error, self.release)
        except (BadRange, TextAfterBrackets, HostlistError):
            return told
        if not self.chosen.written("ntasks"):
            self.sizes.tasks, self.sizes.tasks_set = len(names), True
        elif len(names) < self.sizes.tasks:
            self.say.error("Too few NodeNames in Slurm Hostfile")
            self.say.error(_NO_NAMES)
            raise Stop(self.error_code)
        return ",".join(names[: self.sizes.tasks])

    def _count_names(self, text: str) -> None:
        from slurmsim.commands.text.typed_hosts import TextAfterBrackets, typed_hosts  # rarely wanted
        from slurmsim.hostlist import BadRange, HostlistError

        try:
            self.all_names = typed_hosts(text, self.say.error, self.release)
            self.names = list(dict.fromkeys(self.all_names))
        except (BadRange, TextAfterBrackets):
            self.say.error(row(_BAD_NAMES, self.release))
            raise Stop(self.error_code) from None
        except HostlistError:
            return  # the controller refuses it in its own words
        sizes = self.sizes
        if not sizes.nodes_set:
            sizes.min_nodes = len(self.names)
        elif row(_LIST_RAISES_COUNT, self.release):
            sizes.min_nodes = max(len(self.names), sizes.min_nodes)
        sizes.nodes_set = True

    def _host_file(self, path: str, complaint: str | None = None, code: int | None = None) -> str:
        """Return the node names in a file as one expression."""
        try:
            with open(os.path.join(self.chosen.context.cwd, path), encoding="utf-8", errors="surrogateescape") as file:
                text = file.read(_HOST_FILE_MOST)
        except OSError as error:
            self.say.error(f"slurm_allocate_resources error opening file {path}, {error.strerror}")
        else:
            lines = [line.partition("#")[0].strip() for line in text.split("\n")]
            found = ",".join(line for line in lines if line)
            if found:
                return found
        if complaint:
            self.say.error(complaint)
        raise Stop(self.error_code if code is None else code)

    def _job_name(self, command: str | None) -> None:
        chosen = self.chosen
        if chosen.get("name") is None:
            if chosen.get("wrap") is not None:
                chosen.values["name"] = "wrap"
            elif command is not None:
                chosen.values["name"] = command.rsplit("/", 1)[-1]

    def _tasks_per_node(self) -> None:
        sizes = self.sizes
        per_node = self.chosen.get("ntasks_per_node")
        if since(self.release, "tasks_per_node_make_no_count"):
            return
        if per_node and not sizes.tasks_set and sizes.max_nodes in (0, sizes.min_nodes):
            sizes.tasks, sizes.tasks_set = sizes.min_nodes * per_node, True

    def _counts(self) -> None:
        chosen, sizes = self.chosen, self.sizes
        if chosen.is_set("cpus-per-task"):
            least = max(int(chosen.get("pn_min_cpus", -1)), int(chosen.get("cpus_per_task")))
            chosen.values["pn_min_cpus"] = least
        if sizes.min_nodes < 0 or sizes.max_nodes < 0 or 0 < sizes.max_nodes < sizes.min_nodes:
            self.say.error(f"invalid number of nodes (-N {sizes.min_nodes}-{sizes.max_nodes})")
            self._good = False

    def _plane(self) -> None:
        size, sizes = self.chosen.get("plane_size"), self.sizes
        if not size or self.chosen.get("distribution") != "plane":
            return
        few = sizes.min_nodes <= 0 or sizes.tasks // size < sizes.min_nodes
        if few and (sizes.min_nodes - 1) * size >= sizes.tasks:
            self.say.error("Too few processes for the requested {plane,node} distribution")
            raise Stop(self.error_code)

    def _guess_tasks(self) -> None:
        chosen, sizes = self.chosen, self.sizes
        fixed = sizes.max_nodes in (0, sizes.min_nodes)
        guess = not since(self.release, "tasks_per_node_make_no_count") or chosen.get("ntasks_per_node") is None
        if (sizes.nodes_set or chosen.is_set("extra-node-info")) and fixed and guess and not sizes.tasks_set:
            sizes.tasks = max(sizes.min_nodes, 1)
            for field in ("sockets_per_node", "cores_per_socket", "threads_per_core"):
                if chosen.get(field) is not None:
                    sizes.tasks *= int(chosen.get(field))
                    sizes.tasks_set = True
            if sizes.tasks_set and chosen.get("verbose"):
                self.say.info(f"Number of tasks implicitly set to {sizes.tasks}.")
        elif sizes.nodes_set and sizes.tasks_set:
            self._fit_nodes()

    def _fit_nodes(self) -> None:
        """No more nodes than tasks."""
        sizes = self.sizes
        sizes.max_nodes = min(sizes.max_nodes, sizes.tasks)
        if sizes.tasks < sizes.min_nodes:
            words: str = row(_TOO_WIDE, self.release)
            self.say.info(words.format(tasks=sizes.tasks, nodes=sizes.min_nodes))
            sizes.min_nodes = sizes.max_nodes = sizes.tasks
            if len(self.names) > sizes.tasks and not since(self.release, "node_list_longer_than_tasks"):
                self.names = self.names[: sizes.tasks]
                self.chosen.values["req_nodes"] = ",".join(self.names)

    def _arbitrary(self) -> None:
        chosen, sizes = self.chosen, self.sizes
        if not (chosen.get("distribution") or "").startswith("arbitrary"):
            return
        if chosen.written("nodes") and since(self.release, "arbitrary_without_nodes"):
            self.say.error("--nodes is incompatible with --distribution=arbitrary")
            raise Stop(1)
        if chosen.get("req_nodes") is None:
            self.say.error("With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option")
            raise Stop(self.error_code)
        if not sizes.tasks_set:
            every = since(self.release, "arbitrary_without_nodes")
            sizes.tasks, sizes.tasks_set = len(self.all_names if every else self.names), True

    # -- the request ------------------------------------------------------------------------------------------------

    def request(self) -> dict[str, Any]:
        """Return the description, without script, arguments and environment."""
        chosen, sizes = self.chosen, self.sizes
        job = {field: chosen.values[field] for field in _COPIED if chosen.values.get(field) is not None}
        if job.get("ntasks_per_core") == ANY_TASKS:
            del job["ntasks_per_core"]
        if sizes.nodes_set:
            job["min_nodes"] = sizes.min_nodes
            if sizes.max_nodes:
                job["max_nodes"] = sizes.max_nodes
        elif chosen.get("ntasks_per_node") and sizes.tasks_set and since(self.release, "nodes_of_tasks"):
            job["min_nodes"] = -(-sizes.tasks // int(chosen.get("ntasks_per_node")))
        if sizes.tasks_set:
            job["num_tasks"] = sizes.tasks
        job["min_cpus"] = self._least_cpus()
        job["hold"] = bool(chosen.get("hold"))
        if chosen.get("priority") and not job["hold"]:
            job["priority"] = chosen.get("priority")
        if int(chosen.get("pn_min_cpus", -1)) > -1:
            job["pn_min_cpus"] = chosen.get("pn_min_cpus")
        self._memory(job)
        self._tres(job)
        if chosen.get("resources"):  # another word for licenses
            job["licenses"] = ",".join(filter(None, (job.get("licenses"), chosen.get("resources"))))
        if chosen.get("no_kill"):
            job["kill_on_node_fail"] = 0
        if chosen.get("req_nodes"):
            job["req_nodes"] = self._names_text() if self.names else chosen.get("req_nodes")
        elif chosen.get("req_nodes") is not None:
            job["req_nodes"] = ""
        if chosen.get("exc_nodes") is not None:
            job["exc_nodes"] = _as_set(chosen.get("exc_nodes"))
        if chosen.get("open_mode"):
            job["open_mode"] = {"a": "append", "t": "truncate"}[chosen.get("open_mode")]
        tasks_per_gpu = chosen.get("ntasks_per_tres") or chosen.get("ntasks_per_gpu")
        if tasks_per_gpu:
            job["ntasks_per_tres"] = tasks_per_gpu
        if chosen.get("user_id") is not None:
            job["user_name"] = chosen.get("user_id")
        self._gres_counts(job)
        return job

    def _names_text(self) -> str:
        """Return the node list, sorted; for -m arbitrary since 23.11 in order, a name as often as it has tasks."""
        from slurmsim.hostlist import compress, compress_in_order  # loaded already, to read the names

        arbitrary = (self.chosen.get("distribution") or "").startswith("arbitrary")
        if arbitrary and since(self.release, "arbitrary_without_nodes"):
            return compress_in_order(self.all_names)
        return compress(self.names)

    def _least_cpus(self) -> int:
        chosen, sizes = self.chosen, self.sizes
        if chosen.get("overcommit"):
            return max(sizes.min_nodes, 1)
        tasks, per_node = sizes.tasks, int(chosen.get("ntasks_per_node") or 0)
        if per_node and not sizes.tasks_set and sizes.max_nodes in (0, sizes.min_nodes):
            tasks = sizes.min_nodes * per_node  # the request itself leaves them to the controller
        if chosen.is_set("cpus-per-task"):
            return tasks * int(chosen.get("cpus_per_task"))
        if sizes.nodes_set and sizes.min_nodes == 0:
            return 0
        return tasks

    def _memory(self, job: dict[str, Any]) -> None:
        if self.chosen.get("mem") is not None:
            job["pn_min_memory"], job["mem_per_cpu"] = self.chosen.get("mem"), False
        elif self.chosen.get("mem_per_cpu") is not None:
            job["pn_min_memory"], job["mem_per_cpu"] = self.chosen.get("mem_per_cpu"), True

    def _tres(self, job: dict[str, Any]) -> None:
        for field, source in _GPU_SCOPES:
            items = [item for item in (self.chosen.get(source) or "").split(",") if item]
            if items:
                job[field] = ",".join(f"gres:gpu:{item}" for item in items)
        gres = self.chosen.get("gres")
        if gres and gres.lower() != "none":
            if "/" in gres and not since(self.chosen.context.release, "gres_with_slash"):
                self._bad_gres(BAD_GRES)
            job["tres_per_node"] = f"{job['tres_per_node']},{gres}" if "tres_per_node" in job else gres
        job.pop("tres_per_task", None)
        per_task = asked_per_task(self.chosen)
        if per_task:
            job["tres_per_task"] = per_task
        for field, source in (("cpus_per_tres", "cpus_per_gpu"), ("mem_per_tres", "mem_per_gpu")):
            if self.chosen.get(source) is not None:
                job[field] = f"gres:gpu:{self.chosen.get(source)}"

    def _bad_gres(self, text: str) -> NoReturn:
        self.say.error(text)
        raise Stop(self.error_code) from None

    def _step_may(self, counts: Counts) -> bool:
        """Return True if a step may ask for GRES that would contradict each other in a job. Raises Stop.

        Of a step only types are compared, and tasks of GPUs (gres_step_state_validate); slurmctld finds first that its
        job has no GPUs.
        """
        if "SLURM_GPUS_ON_NODE" not in self.chosen.context.environ:
            return True
        if mixed(counts) and not counts.tasks_per_gpu:
            self._bad_gres(BOTH_KINDS)
        return not counts.tasks_per_gpu

    def _gres_counts(self, job: dict[str, Any]) -> None:
        """Refuse GRES that contradict the rest; what follows from them is asked for, too."""
        in_job = self.chosen.get("job_id") is not None  # GPUs by socket, and what GPUs bring, are of the job
        scopes = [(field, scope) for field, scope in _SCOPES if not (in_job and scope == "socket")]
        gres = [item for field, scope in scopes for item in gres_items(job.get(field) or "", scope)]
        if not self._checks or not (gres or (not in_job and any(name in job for name in _OF_GPUS))):
            return
        of_job = in_job and self.chosen.from_variable("cpus-per-task")
        counts = Counts(
            job.get("num_tasks"), job.get("min_nodes"), job.get("max_nodes"), job.get("ntasks_per_node"),
            job.get("sockets_per_node"), None if of_job else job.get("cpus_per_task"),
            0 if in_job else job.get("cpus_per_gpu") or 0, 0 if in_job else job.get("mem_per_gpu") or 0,
            job.get("ntasks_per_tres") or 0, gres,
        )  # fmt: skip
        try:
            agree(counts, client=self.chosen.context.release)
        except Disagreement as wrong:
            if in_job and self._step_may(counts):
                return
            if str(wrong):
                self.say.error(str(wrong))
            self._bad_gres(wrong.refusal)
        for field, value in zip(_COUNTS, (counts.tasks, counts.min_nodes, counts.max_nodes, counts.tasks_per_node),
                                strict=False):  # fmt: skip
            if value is not None:
                job[field] = value


def _as_set(text: str) -> str:
    """Return a node list as slurmctld keeps it: sorted, in brackets, each name once; an unreadable one as it is."""
    if not text:
        return text
    from slurmsim.hostlist import HostlistError, compress, expand  # rarely wanted

    try:
        return compress(expand(text))
    except HostlistError:
        return text  # the controller refuses it in its own words


_YES = ("yes", "true", "up", "1")
