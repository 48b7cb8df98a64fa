"""GRES that jobs ask for: how they are written, whether their counts agree with those of tasks and nodes.

sbatch asks this before it sends a request, slurmctld before it takes one. Mirrors gres_job_state_validate and
_test_gres_cnt (common/gres.c, 22.05). GRES that nodes have are written in another way (`slurmsim.tres.parse_gres`).
"""

from __future__ import annotations

from types import MappingProxyType

from slurmsim.fast_imports import dataclass, field
from slurmsim.numerals import is_number
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


BAD_GRES = "Invalid generic resource (gres) specification"
BOTH_KINDS = "Invalid GRES specification (with and without type identification)"


class Disagreement(ValueError):
    """The counts contradict each other; the text is what Slurm logs, `refusal` what it answers."""

    def __init__(self, text: str = "", refusal: str = BAD_GRES) -> None:
        super().__init__(text)
        self.refusal = refusal


@dataclass
class Counts:
    """The counts a job asks for; None is a count it does not give."""

    tasks: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    tasks_per_node: int | None = None
    sockets_per_node: int | None = None
    cpus_per_task: int | None = None
    cpus_per_gpu: int = 0
    mem_per_gpu: int = 0
    tasks_per_gpu: int = 0
    gres: list[tuple[str, str, int, str]] = field(default_factory=list)
    """Name, type, count and scope (job, node, socket or task) of each."""


def agree(asked: Counts, *, client: str = "") -> None:
    """Set what follows from the GRES asked for: tasks, nodes, sockets. Raises Disagreement.

    A `client`, of the release it names, refuses ``-c`` beside ``--cpus-per-gpu``, too.

    >>> both = Counts(gres=[("gpu", "", 4, "job"), ("gpu", "", 2, "node")])
    >>> agree(both)
    >>> both.min_nodes, both.max_nodes
    (2, 2)
    """
    if asked.tasks is None and asked.min_nodes is not None and asked.min_nodes == asked.max_nodes:
        asked.tasks = _tasks_of_nodes(asked, asked.min_nodes)
    if asked.tasks_per_gpu:
        _tasks_per_gpu(asked)
    if asked.mem_per_gpu and not any(name == "gpu" for name, *_ in asked.gres):
        raise Disagreement(f"Requested mem_per_tres=gres:gpu:{asked.mem_per_gpu} but did not request any GPU.")
    judged = client and since(client, "cpus_per_gpu_need_gpus")
    if judged and asked.cpus_per_gpu and not any(name == "gpu" for name, *_ in asked.gres):
        raise Disagreement(f"Requested cpus_per_tres=gres/gpu:{asked.cpus_per_gpu} but did not request any GPU.")
    kinds = _by_kind(asked.gres)
    for (name, kind), counts in kinds.items():
        _one(asked, name, counts, client, 0 if kind or name != "gpu" else asked.cpus_per_gpu)
    if mixed(asked):
        raise Disagreement(refusal=BOTH_KINDS)


def mixed(asked: Counts) -> bool:
    """Return True if GRES of one name are asked for with and without a type."""
    kinds = _by_kind(asked.gres)
    return any(kind and (name, "") in kinds for name, kind in kinds)


UNITS = {"k": 1024, "m": 1024 * 1024}  # suffixes of a count, in small letters


def bare(item: str) -> str:
    """Return an item of a request without the ``gres:`` or ``gres/`` before its name."""
    return item.removeprefix("gres:").removeprefix("gres/")


def kind_of(item: str) -> str:
    """Return the kind of TRES of an item of ``--tres-per-task``, in small letters: cpu, gres, license."""
    for separator in "/:=":
        item = item.partition(separator)[0]
    return item.lower()


def bare_items(text: str, scope: str) -> list[str]:
    """Return the GRES of a request as `bare` items.

    What a task is given has CPUs and licenses among it, and may have ``=`` before a count.

    >>> bare_items("cpu=2,gres/gpu=1,license/mat:2", "task"), bare_items("gres:gpu:2,mic", "node")
    (['gpu:1'], ['gpu:2', 'mic'])
    """
    items = filter(None, text.split(","))
    if scope != "task":
        return [bare(item) for item in items]
    return [bare(item).replace("=", ":") for item in items if kind_of(item) not in ("cpu", "license")]


def read_item(item: str, units: Mapping[str, int] = MappingProxyType({})) -> tuple[str, str, int] | None:
    """Name, type and count of a `bare` item: ``gpu``, ``gpu:2``, ``gpu:a100``, ``gpu:a100:2``. None for anything else.

    `units` are the suffixes a count may have: slurmctld takes `UNITS`, commands and logs none, to which ``2k`` is a
    type.

    >>> read_item("gpu:a100:2"), read_item("nvme"), read_item("gpu:2k", UNITS), read_item("a:b:c")
    (('gpu', 'a100', 2), ('nvme', '', 1), ('gpu', '', 2048), None)
    """
    name, *rest = item.split(":")
    count = 1
    if rest:
        unit = units.get(rest[-1][-1:].lower(), 0)
        digits = rest[-1][:-1] if unit else rest[-1]
        if is_number(digits):
            count = int(digits) * (unit or 1)
            rest.pop()
    return (name, rest[0] if rest else "", count) if name and len(rest) <= 1 else None


def gres_items(text: str, scope: str) -> list[tuple[str, str, int, str]]:
    """Return what of ``gres:gpu:a:2,gres:nvme`` can be read, as `Counts` has it.

    >>> gres_items("gres:gpu:a:2,nvme", "node")
    [('gpu', 'a', 2, 'node'), ('nvme', '', 1, 'node')]
    """
    found = []
    for item in bare_items(text, scope):
        asked = read_item(item)
        if asked is not None and asked[2]:
            found.append((*asked, scope))
    return found


def _by_kind(gres: Iterable[tuple[str, str, int, str]]) -> dict[tuple[str, str], dict[str, int]]:
    found: dict[tuple[str, str], dict[str, int]] = {}
    for name, kind, count, scope in gres:
        found.setdefault((name, kind), {})[scope] = count
    return found


def _tasks_of_nodes(asked: Counts, nodes: int) -> int | None:
    """Return the tasks that so many nodes imply, None for none."""
    if asked.tasks_per_gpu:
        return nodes * asked.tasks_per_gpu
    if not any(scope == "task" for *_, scope in asked.gres):
        return None
    if asked.tasks_per_node:
        return nodes * asked.tasks_per_node
    return nodes if asked.cpus_per_task is None else None


def _tasks_per_gpu(asked: Counts) -> None:
    """Set the tasks that the GPUs make, whatever was said of tasks; or the GPUs that the tasks need."""
    most: dict[str, int] = {}
    for name, kind, count, scope in asked.gres:
        if name == "gpu":
            most[kind] = max(most.get(kind, 0), count * (asked.min_nodes or 1) if scope == "node" else count)
    if most:
        asked.tasks = sum(most.values()) * asked.tasks_per_gpu
    elif asked.tasks:
        asked.gres = [*asked.gres, ("gpu", "", asked.tasks // asked.tasks_per_gpu, "job")]
    else:
        raise Disagreement(
            "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask "
            "specification"
        )


def _one(asked: Counts, name: str, counts: dict[str, int], client: str, cpus_per_gpu: int) -> None:
    """Judge one kind; `cpus_per_gpu` is known of GPUs without a type only."""
    total, node = counts.get("job", 0), counts.get("node", 0)
    socket, task = counts.get("socket", 0), counts.get("task", 0)
    per_node = f"--gres={name}/--{name}s-per-node"
    _levels(asked, name, counts, per_node)
    if asked.tasks_per_gpu and asked.tasks is not None and asked.tasks % asked.tasks_per_gpu:
        raise Disagreement(f"Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-{name}.")
    if client and asked.cpus_per_gpu and name == "gpu" and asked.cpus_per_task is not None:
        raise Disagreement(f"--cpus-per-{name} is mutually exclusive with --cpus-per-task")
    if total and node:
        _nodes(asked, name, total, node, per_node)
    if node and socket and node % socket:
        raise Disagreement(f"Failed to validate job spec, {per_node} not multiple of --{name}s-per-socket.")
    if task:
        total = _tasks(asked, name, total, task, client)
    if node and task:
        _tasks_per_node(asked, name, node, task, per_node)
    needed = cpus_per_gpu * task
    if needed and asked.cpus_per_task is not None and asked.cpus_per_task != needed:
        raise Disagreement(
            f"Failed to validate job spec. Based on --cpus-per-{name} and --{name}s-per-task requested number of cpus "
            "differ from -c/--cpus-per-task."
        )
    if total and asked.min_nodes is not None and total < asked.min_nodes:
        raise Disagreement(f"Failed to validate job spec, --{name}s < -N")
    if total and asked.max_nodes is not None:
        asked.max_nodes = min(asked.max_nodes, total)


def _levels(asked: Counts, name: str, counts: dict[str, int], per_node: str) -> None:
    """Raise Disagreement if a part of the job asks for more than the whole."""
    total, node = counts.get("job", 0), counts.get("node", 0)
    socket, task = counts.get("socket", 0), counts.get("task", 0)
    if total and max(node, task, socket) > total:
        raise Disagreement(f"Failed to ensure --{name}s >= {per_node} >= --{name}s-per-socket")
    if node and max(task, socket) > node:
        raise Disagreement(f"Failed to ensure --{name}s >= --{name}s-per-task")
    if socket and asked.sockets_per_node is None:
        raise Disagreement(f"--{name}s-per-socket option requires --sockets-per-node specification")


def _nodes(asked: Counts, name: str, total: int, node: int, per_node: str) -> None:
    """So many nodes as the total makes with so many on each."""
    if total % node:
        raise Disagreement(f"Failed to validate job spec, --{name}s is not multiple of {per_node}")
    nodes = total // node
    low, high = asked.min_nodes, asked.max_nodes
    if (low is not None and nodes < low) or (high is not None and nodes > high):
        raise Disagreement(
            f"Failed to validate job spec. Based on --{name} and {per_node} required nodes ({nodes}) doesn't fall "
            f"between min_nodes ({_number(low)}) and max_nodes ({_number(high)}) boundaries."
        )
    asked.min_nodes = asked.max_nodes = nodes


def _tasks(asked: Counts, name: str, total: int, task: int, client: str) -> int:
    """So many tasks as the total makes; the total that so many tasks make where there was none."""
    if total:
        if total % task:
            raise Disagreement(f"Failed to validate job spec, --{name}s not multiple of --{name}s-per-task")
        if asked.tasks is None:
            asked.tasks = total // task
        elif asked.tasks != total // task:
            raise Disagreement(
                f"Failed to validate job spec. Based on --{name}s and --{name}s-per-task number of requested tasks "
                "differ from -n/--ntasks."
            )
        return total
    if asked.tasks is None:
        option = f"--{name}s-per-task"
        if client and since(client, "tres_per_task_in_refusals"):
            option += " or --tres-per-task"
        raise Disagreement(
            f"Failed to validate job spec. {option} used without either --{name}s or -n/--ntasks is not allowed."
        )
    return asked.tasks * task


def _tasks_per_node(asked: Counts, name: str, node: int, task: int, per_node: str) -> None:
    if node % task:
        raise Disagreement(f"Failed to validate job spec, {per_node} not multiple of --{name}s-per-task.")
    if not asked.tasks_per_node:
        asked.tasks_per_node = node // task
    elif asked.tasks_per_node != node // task:
        raise Disagreement(
            f"Failed to validate job spec. Based on {per_node} and --{name}s-per-task requested number of tasks per "
            "node differ from --ntasks-per-node."
        )


def _number(count: int | None) -> int:
    return 0xFFFFFFFE if count is None else count
