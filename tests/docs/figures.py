"""Figures in README and docs that follow from the source: each is marked in its page and computed here.

A figure stands between ``<!-- figure: NAME -->`` and ``<!-- end -->``, which nobody sees in the page. `test_figures`
compares them; ``python tests/docs/figures.py`` writes them anew. A number or a list that a reader could look up in the
source belongs here; what was measured once belongs into a table that says when.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"<!-- figure: (?P<name>[^>]+?) -->(?P<value>.*?)<!-- end -->")
_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def refusing() -> list[str]:
    """Slurm's commands that a live cluster has in order to refuse: the first line of their module says so."""
    from slurmsim.commands import MODULES

    first = {name: (import_module(MODULES[name]).__doc__ or "").partition("\n")[0] for name in MODULES}
    return sorted(name for name, line in first.items() if line.startswith((f"{name}: refused.", f"{name}: triggers")))


def answering() -> int:
    """Slurm's commands that do something in a live cluster; slurmrestd is a server."""
    from slurmsim.live.programs import NAMES

    return len(set(NAMES) - set(refusing()) - {"slurmrestd"})


def rooms(layer: str) -> int:
    """Packages right below a layer of slurmsim."""
    return sum((found / "__init__.py").is_file() for found in (ROOT / "slurmsim" / layer).iterdir())


def _kernels() -> list[str]:
    return sorted(found.stem for found in (ROOT / "slurmsim" / "kernel").glob("*.pxd"))


def _schema(module: str, name: str) -> Callable[[], str]:
    return lambda: str(getattr(import_module(module), name))


def _releases() -> str:
    from slurmsim.releases import RECORDED_RELEASES

    *others, last = RECORDED_RELEASES
    return f"{', '.join(others)} or {last}"


def _made_up() -> str:
    from slurmsim.live.settings import Settings, made_up_conf

    settings = Settings()
    partitions = made_up_conf(settings).count("PartitionName=")
    nodes, cpus, parts = (_WORDS[n] for n in (settings.nodes, settings.cpus_per_node, partitions))
    return f"{nodes} nodes of {cpus} CPUs in {parts} partitions"


def _titan() -> str:
    """Moments of the generated year of Titan, as cells of a row."""
    from slurmsim_workloads.generators import generate

    titan = generate("titan", {}, 1).ints
    n, h, t = titan["nodes"], titan["run_time"] / 3600, titan["submit"]
    load = (n * h).sum() / (18_688 * (t[-1] - t[0]) / 3600)
    cells = (
        f"{n.mean():.1f} ± {n.std():.1f}",
        f"{h.mean():.3f} ± {h.std():.3f}",
        f"{(n * h).mean():.1f}",
        f"{load:.3f}",
    )
    return " | ".join(cells)


def _regular4() -> str:
    """Moments of the generated four weeks of Lomonosov's regular4."""
    from slurmsim_workloads.generators import generate

    i = generate("lomonosov-regular4", {}, 1).ints
    held = i["run_time"].clip(max=i["time_limit"])
    hours = (i["nodes"] * held).sum() / 3600
    return (
        f"{i['nodes'].mean():.2f} nodes, {held.mean() / 3600:.2f} h and {hours / len(held):.2f} node-hours a job, "
        f"load {hours / (2000 * 28 * 24):.4f}, {100 * (i['run_time'] > i['time_limit']).mean():.1f} % over the limit, "
        f"{100 * i['exit_code'].mean():.1f} % failed"
    )


FIGURES: dict[str, Callable[[], str]] = {
    "answering commands": lambda: str(answering()),
    "refusing commands": lambda: " and ".join(f"`{name}`" for name in refusing()),
    "releases": _releases,
    "made-up cluster": _made_up,
    "trace schema": _schema("slurmsim.trace.schema", "SCHEMA_VERSION"),
    "oldest trace schema": _schema("slurmsim.trace.schema", "OLDEST"),
    "workload schema": _schema("slurmsim_workloads.parquet", "SCHEMA_VERSION"),
    "snapshot schema": _schema("slurmsim.slurmctld.snapshot.kinds", "SCHEMA"),
    "titan moments": _titan,
    "regular4 moments": _regular4,
    "kernels": lambda: ", ".join(f"`{name}`" for name in _kernels()),
    **{f"rooms of {layer}": lambda layer=layer: _WORDS[rooms(layer)] for layer in ("core", "slurmctld", "commands")},
}  # fmt: skip


def pages() -> Iterator[Path]:
    """All pages that may have figures."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def written(text: str) -> str:
    """`text` with every figure as it is now. Raises KeyError for one that is not computed here."""

    def anew(found: re.Match[str]) -> str:
        return f"<!-- figure: {found['name']} -->{FIGURES[found['name']]()}<!-- end -->"

    return MARK.sub(anew, text)


def main() -> int:
    """Write all pages anew."""
    for page in pages():
        text = page.read_text("utf-8")
        if (now := written(text)) != text:
            page.write_text(now, "utf-8")
            print(page.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
