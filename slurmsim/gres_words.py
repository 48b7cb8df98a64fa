"""GRES of a request as its job tells of them: ``gres:gpu:2`` of old, ``gres/gpu:2`` and ``gres/gpu=2`` since."""

from slurmsim.gres_counts import bare, gres_items, kind_of
from slurmsim.release_changes import since


def told(text: str | None, release: str) -> str | None:
    """Return the GRES of a node, a job or a socket, and counts for each GPU, as `release` writes them.

    >>> told("gres:gpu:a100:2,gres:nvme", "22.05"), told("gres:gpu:a100:2,gres:nvme", "24.11")
    ('gres:gpu:a100:2,gres:nvme', 'gres/gpu:a100:2,gres/nvme')
    """
    if not text or not since(release, "gres_with_slash"):
        return text or None
    return ",".join(f"gres/{bare(item)}" if item.startswith("gres:") else item for item in text.split(","))


def told_per_task(text: str | None, release: str, cpus: int | None = None) -> str | None:
    """Return what each task is given; newer releases tell the CPUs of ``--cpus-per-task`` (`cpus`) among it.

    What ``--tres-per-task`` said stays as it was written; GPUs of ``--gpus-per-task`` come as ``gres:gpu:2``.

    >>> told_per_task("gres:gpu:a100:2", "22.05", 4), told_per_task("gres:gpu:a100:2,gres:nvme", "24.11", 4)
    ('gres:gpu:a100:2', 'cpu=4,gres/gpu:a100=2,gres/nvme=1')
    >>> told_per_task("cpu:4,gres/gpu:2,license/mat", "24.11", 4)
    'cpu:4,gres/gpu:2,license/mat'
    """
    if not since(release, "gres_with_slash"):
        return text or None
    items = [item for item in (text or "").split(",") if item]
    told_already = any(kind_of(item) == "cpu" for item in items)
    found = [f"cpu={cpus}"] if cpus and not told_already and since(release, "cpus_per_task_as_tres") else []
    for item in items:
        if not item.startswith("gres:"):
            found.append(item)
            continue
        for name, kind, count, _ in gres_items(item, "task"):
            found.append(f"gres/{name}:{kind}={count}" if kind else f"gres/{name}={count}")
    return ",".join(found) or None


def told_binding(gpu_bind: str | None, per_task: str | None, release: str) -> str | None:
    """Return TresBind: ``--gpu-bind``, in newer releases else as many of each GRES a task as a task asks for.

    >>> told_binding("closest", None, "22.05"), told_binding(None, "gres:gpu:a:1,gres:gpu:b:2", "22.05")
    ('gpu:closest', None)
    >>> told_binding("closest", None, "24.11"), told_binding(None, "gres:gpu:a:1,gres:gpu:b:2", "24.11")
    ('gres/gpu:closest', 'gres/gpu:per_task:3')
    """
    newer = since(release, "gres_with_slash")
    if gpu_bind:
        return f"gres/gpu:{gpu_bind}" if newer else f"gpu:{gpu_bind}"
    items = gres_items(per_task or "", "task") if newer else []
    found = [f"gres/{name}:per_task:{count}" for name, _, count, _ in items if name != "gpu"]
    gpus = sum(count for name, _, count, _ in items if name == "gpu")
    return "+".join([*found, *([f"gres/gpu:per_task:{gpus}"] if gpus else [])]) or None
