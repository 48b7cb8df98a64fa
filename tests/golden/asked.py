"""Recordings made for one rule: tests/conformance/recordings/rules, slurmctld 22.05.8 at clock rate 10.

A recording holds slurm.conf and every command with its second, its user and what it printed. `replayed` submits what
its sbatch commands submitted at the seconds they did, to a bare controller.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unit.core.world import World

FOLDER = Path(__file__).parents[1] / "conformance" / "recordings" / "rules"
LATER = 3  # a start costs one to three seconds at that clock rate
_SBATCH = re.compile(r'sbatch (.*?) -o /dev/null (?:--wrap "sleep (\d+)"|stay.sh)')
_FAILED = "sbatch: error: Batch job submission failed: "


@dataclass
class Asked:
    """What was asked of slurmctld and what it answered."""

    conf: str
    commands: list[str]  # sacctmgr's
    submitted: list[tuple[int, str, str, int | None]] = field(default_factory=list)  # second, user, options, run time
    refused: dict[str, str] = field(default_factory=dict)
    looks: list[tuple[int, dict[str, dict[str, str]]]] = field(default_factory=list)
    squeues: list[list[dict[str, str]]] = field(default_factory=list)  # rows of squeue by column
    squeue_times: list[int] = field(default_factory=list)
    others: list[tuple[int, str]] = field(default_factory=list)  # second, command


def load(name: str) -> Asked:
    """The recording of that name."""
    text: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    found = Asked("\n".join(text["slurm_conf"]), text.get("sacctmgr", []))
    for time, user, command, code, out in text["steps"]:
        second = int(time) + LATER
        submission = _SBATCH.match(command)
        lines = [out] if isinstance(out, str) else out
        if submission:
            found.submitted.append((second, user, submission[1], int(submission[2]) if submission[2] else None))
            if code:
                name = re.search(r"-J (\S+)", submission[1])[1]  # type: ignore[index]
                found.refused[name] = lines[-1].removeprefix(_FAILED)
        elif "show job" in command:
            rows = [dict(word.split("=", 1) for word in line.split(" ") if "=" in word) for line in lines]
            found.looks.append((second, {row["JobName"]: row for row in rows}))
        elif command.startswith("squeue"):
            found.squeue_times.append(second)
            found.squeues.append([dict(zip(lines[0].split(), line.split(" "), strict=False)) for line in lines[1:]])
        else:
            found.others.append((second, command))
    return found


def replayed(asked: Asked, shift: int = 0, launch: int = 0, **options: Any) -> World:
    """A world to which all of it has been submitted, `shift` seconds later, before the first second.

    Jobs last `launch` seconds longer than their scripts work.
    """
    w = World(asked.conf, "backfill", **options)
    for second, user, line, run in asked.submitted:
        w.sbatch(line, None if run is None else run + launch, at=second + shift, user=user)
    return w
