"""Write the measured results into README.md: ``python benchmarks/table.py`` after ``make bench``."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- results: written by table.py -->\n", "<!-- end of results -->\n"
ORDER = (
    "sdsc_blue_easy", "ctc_easy", "theta_easy", "curie_easy", "kth_conservative", "lublin_conservative",
    "kth_easy", "kth_backfill", "demo", "titan_backfill", "titan_fairshare", "empty_run_easy", "empty_run_backfill",
)  # fmt: skip
HEAD = (
    "| workload | policy | CPU s, median (spread) | wall s | jobs per CPU s | peak MB | runs | target | met "
    "| others, CPU s |\n"
    "|---|---|---|---|---|---|---|---|---|---|\n"
)


def row(result: dict[str, Any]) -> str:
    """One claim as a line of the table."""
    claim, runs = result["claim"], result["runs"]
    cpu = sorted(run["cpu_s"] for run in runs)
    median = statistics.median(cpu)
    wall = statistics.median(run["wall_s"] for run in runs)
    rss = statistics.median(run["rss_bytes"] for run in runs) / 1e6
    bounds = ((claim["cpu_s"], median, "CPU s"), (claim["wall_s"], wall, "s wall"), (claim["rss_mb"], rss, "MB"))
    given = [(target, value, unit) for target, value, unit in bounds if target is not None]
    title = claim["title"] + (", compiled" if result["machine"].get("compiled") else "")
    cells = [
        title, claim["policy"], f"{median:.2f} ({cpu[0]:.2f}–{cpu[-1]:.2f})", f"{wall:.2f}",
        f"{result['summary']['jobs'] / median:,.0f}", f"{rss:,.0f}", str(len(runs)),
        ", ".join(f"≤ {target:g} {unit}" for target, _, unit in given),
        "yes" if all(value <= target for target, value, _ in given) else "**no**", claim["peers"] or "–",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def exponent(series: str, points: Sequence[Mapping[str, Any]]) -> float:
    """To which power of its series CPU time grows from the first point of a policy to its last."""
    first, last = points[0], points[-1]
    if first[series] == last[series]:
        return 0.0
    return math.log(last["cpu_s"] / first["cpu_s"]) / math.log(last[series] / first[series])


def growth(result: dict[str, Any]) -> str:
    """One series as a table: a line for each point."""
    series = result["series"]
    lines = [f"| {series} | policy | CPU s | jobs per CPU s | peak MB |\n|---|---|---|---|---|\n"]
    for p in result["points"]:
        rate, memory = p["jobs"] / p["cpu_s"], p["rss_bytes"] / 1e6
        cells = [f"{p[series]:,}", p["policy"], f"{p['cpu_s']:.1f}", f"{rate:,.0f}", f"{memory:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |\n")
    powers = []
    for policy in dict.fromkeys(p["policy"] for p in result["points"]):
        grown = exponent(series, [p for p in result["points"] if p["policy"] == policy])
        powers.append(f"{policy} {grown:.2f}")
    lines.append(f"\nFrom the first to the last CPU time grows to the power: {', '.join(powers)}.\n")
    return "".join(lines)


def main() -> int:
    """Rewrite the part between the marks; names what was not measured."""
    results = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "results").glob("*.json"))
    }
    wanted = (*ORDER, "growth_jobs", "growth_nodes")
    missing = [name for name in wanted if not {name, f"{name}-compiled"} & results.keys()]
    if missing:
        print(f"not measured yet, left out: {', '.join(missing)}", file=sys.stderr)
    text = HEAD + "".join(row(results[n]) for name in ORDER for n in (name, f"{name}-compiled") if n in results)
    machines = {
        f"{m['cpu']}, {m['cores']} cores, Python {m['python']}" for m in (r["machine"] for r in results.values())
    }
    text += f"\nMeasured on: {'; '.join(sorted(machines)) or 'nothing yet'}.\n"
    for series in ("jobs", "nodes"):
        name = f"growth_{series}"
        found = results.get(f"{name}-compiled", results.get(name))
        if found is not None:
            shutil.copy(HERE / "results" / f"{name}.png", HERE / f"{name}.png")
            text += f"\n![growth with {series}]({name}.png)\n\n{growth(found)}"
    readme = HERE / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(before + BEGIN + "\n" + text + "\n" + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
