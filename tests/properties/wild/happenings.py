"""What happens to a wild world beside its jobs: node events, account changes, reservations, budgets, options."""

from __future__ import annotations

import random
from typing import Any

from wild.machine import SOLVING, Machine

ACTIONS = (
    "down",
    "down",
    "resume",
    "resume",
    "resume",
    "drain",
    "undrain",
    "fail",
    "register",
    "reboot",
    "reboot-asap",
)
FLAGS = (
    (), (), ("MAINT", "IGNORE_JOBS"), ("IGNORE_JOBS",), ("FLEX", "IGNORE_JOBS"), ("MAGNETIC",), ("OVERLAP",),
    ("DAILY",), ("HOURLY", "IGNORE_JOBS"), ("PURGE_COMP",), ("NO_HOLD_JOBS_AFTER",), ("REPLACE_DOWN",),
    ("STATIC", "IGNORE_JOBS"), ("MAGNETIC", "FLEX", "IGNORE_JOBS"),
)  # fmt: skip
COMMANDS = (
    "modify qos normal set MaxJobsPU=2", "modify account a set GrpTRES=cpu=4", "modify user bob set MaxJobs=1",
    "modify account b set Fairshare=30", "modify qos high set GrpJobs=2",
)  # fmt: skip


def draw_events(draw: random.Random, machine: Machine, first: int, last: int) -> list[tuple[str, ...]]:
    """Rows of ``--node-events``."""
    if draw.random() < 0.45:
        return []
    rows = []
    for _ in range(draw.randint(1, 8)):
        when, node = draw.randint(first, last + 900), draw.choice(machine.nodes)
        if draw.random() < 0.1:
            rows.append((str(when), "maintenance", node, str(when + draw.choice((60, 600))), "m", ""))
        elif machine.accounted and draw.random() < 0.15:
            rows.append((str(when), "sacctmgr", "", "", "", draw.choice(COMMANDS)))
        else:
            rows.append((str(when), draw.choice(ACTIONS), node, "", "x", ""))
    return rows


def draw_reservations(draw: random.Random, machine: Machine, first: int, last: int) -> list[str]:
    """Tables of ``--reservations``, r1, r2, …; some of which Slurm refuses when it is asked."""
    if draw.random() < 0.6:
        return []
    tables = [_reservation(draw, machine, k, first, last) for k in range(1, draw.choice((2, 3)))]
    if draw.random() < 0.2:
        tables.append(
            f'[[update]]\ntime = {draw.randint(first, last + 1)}\nname = "r1"\nduration = {draw.choice((2, 20))}'
        )
    if draw.random() < 0.1:
        tables.append(f'[[delete]]\ntime = {draw.randint(first, last + 1)}\nname = "r1"')
    return tables


def _reservation(draw: random.Random, machine: Machine, number: int, first: int, last: int) -> str:
    start = draw.randint(first, last + 300)
    whose = draw.choice(('users = ["ann", "bob"]', 'users = ["root"]', 'users = ["-eve"]', 'users = ["eve"]'))
    if machine.accounted and draw.random() < 0.3:
        whose = 'accounts = ["a"]'
    kinds = [f'nodes = "{draw.choice(machine.nodes)}"', f"node_count = {draw.randint(1, len(machine.nodes))}",
             'nodes = "ALL"']  # fmt: skip
    if machine.select != "select/linear" and machine.like_slurm:
        kinds += [f"core_count = {draw.randint(1, machine.cores)}",
                  f'nodes = "{machine.nodes[0]}"\ncore_count = {draw.randint(1, machine.cores)}']  # fmt: skip
    if machine.licensed:
        kinds.append('licenses = "mat:2"')
    lines = ["[[reservation]]", f'name = "r{number}"', f"start = {start}",
             f'duration = "00:{draw.choice((1, 5, 20)):02}:00"', draw.choice(kinds), whose,
             f"flags = [{', '.join(repr(flag) for flag in draw.choice(FLAGS))}]"]  # fmt: skip
    if draw.random() < 0.3:
        lines.append(f"created = {draw.randint(first, start)}")
    return "\n".join(lines)


def draw_options(draw: random.Random, machine: Machine) -> dict[str, Any]:
    """Keywords of the run beside its files."""
    options: dict[str, Any] = {"unknown_accounts": "refuse", "impossible_jobs": "drop"}
    if machine.policy != "backfill":
        options["policy"] = machine.policy
    if draw.random() < 0.1:
        options |= {
            "mtbf": draw.choice((20_000, 200_000)),
            "mttr": draw.choice((100, 2000)),
            "seed": draw.randint(0, 99),
        }
    if machine.power:
        options["boot_time"] = draw.choice((1, 20, 60, 100))
    if machine.like_slurm and draw.random() < 0.25:
        options |= draw.choice(({"epilog_time": 4}, {"epilog_time": 90, "term_time": 30}, {"term_time": 60}))
    if machine.policy_name in SOLVING and draw.random() < 0.2 and machine.policy_name != "parm":
        options["solver_latency"] = draw.choice((1, 20))
    if machine.like_slurm and draw.random() < 0.15:
        options["as_live"] = True
    if draw.random() < 0.08 and machine.policy_name != "parm":
        idle = 10 * len(machine.nodes)
        options |= {"idle_w": "10", "power_budget": draw.choice(
            (str(idle + 240), str(idle + 110 * len(machine.nodes)), "@watts.csv"))}  # fmt: skip
    return options


def draw_watts(draw: random.Random, machine: Machine, first: int, last: int) -> list[str]:
    """A budget that falls and rises, as a series of ``--power-budget``."""
    idle = 10 * len(machine.nodes)
    times = sorted({first, *(draw.randint(first, last + 100) for _ in range(3))})
    return ["time,watts", *(f"{at},{idle + draw.choice((120, 240, 1200))}" for at in times)]


BINS = (
    ("limit = 2", "[[bin]]", "nodes = [2, 99]", "hours = 1", "boost_days = 1", "[[bin]]", "nodes = [1, 1]"),
    ("limit = 1", "[[bin]]", "nodes = [1, 2]", "hours = 1", "[[bin]]", "nodes = [3, 99]", "boost_days = 5"),
    ("[[bin]]", "nodes = [1, 3]"),
)
