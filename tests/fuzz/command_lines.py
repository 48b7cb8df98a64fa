"""Command lines that were typed on real clusters, and what becomes of them by slips of the hand."""

from __future__ import annotations

import gzip
import json
import random
import shlex
from functools import cache
from pathlib import Path

SESSIONS = Path(__file__).resolve().parents[1] / "conformance" / "commands"
SHELL = set("$;|<>`&*?~(){}\\\n")
COMMANDS = (
    "sacct", "sacctmgr", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "scrontab", "scrun", "sdiag", "seff",
    "sinfo", "slurmd", "sprio", "squeue", "sreport", "sshare", "sstat", "strigger", "swait",
)  # fmt: skip
UNRECORDED = {"sattach", "sbcast", "scrontab", "scrun", "seff", "slurmd", "strigger", "swait"}
LAUNCHERS = ("salloc", "srun")
WAITS = {"sbatch": ("-W", "--wait"), "squeue": ("-i", "--it"), "sinfo": ("-i", "--it"), "slurmd": ("-D",)}
ODD = (
    "", "0", "-1", "1-", "99999999999999999999", "9" * 5000, "[", "]", "[]", "[1-99999999]", "n[1-99999999]",
    "1_[1-99999999]",
    "1_", "_1", "1.", ".", ",", ",,", "=", "==", "+", "-", "--", "%", "%99999999999i", "%.", "%j%", ":", "::", "a:b:c",
    "@",
    "²", "٣", "é", "\udcff", "x" * 3000, "now+99999999999days", "9999-12-31", "0000-00-00", "2026-13-45T99:99",
    "99:99:99",
    "1-99999999:0", "infinite", "UNLIMITED", "nan", "1e999", "0x10", "gpu:99999999999999999999", "gpu:-1", "all", "ALL",
    "'", '"', "\t", " ", "\x1b[31m", "--format", "--help", "--usage", "--json", "--yaml", "where", "set", "id=5,1-5",
)  # fmt: skip


@cache
def recorded() -> tuple[tuple[str, ...], ...]:
    """Every line of the recordings that needs no shell, in order, without repetition."""
    found: dict[tuple[str, ...], None] = {}
    for path in sorted(SESSIONS.glob("2*/*.json.gz")):
        with gzip.open(path) as file:
            steps = json.load(file)["steps"]
        for step in steps:
            line = str(step.get("cmd") or "")
            if set(line) & SHELL:
                continue
            try:
                words = tuple(shlex.split(line))
            except ValueError:
                continue
            if words and words[0] in COMMANDS + LAUNCHERS:
                found[words] = None
    return tuple(found)


def slip(words: tuple[str, ...], rng: random.Random) -> list[str]:
    """The command with one to three words of it changed."""
    found = list(words)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(1, len(found) + 1)
        match rng.randrange(8):
            case 0:
                found.insert(at, rng.choice(ODD))
            case 1 if at < len(found):
                del found[at]
            case 2 if at < len(found):
                found.insert(at, found[at])
            case 3:
                other = rng.choice(recorded())
                found.insert(at, rng.choice(other[1:] or ODD))
            case 4 if at < len(found):
                head, equals, _ = found[at].partition("=")
                found[at] = f"{head}={rng.choice(ODD)}" if equals else rng.choice(ODD)
            case 5 if at < len(found):
                where = rng.randrange(len(found[at]) + 1)
                found[at] = found[at][:where] + rng.choice(ODD) + found[at][where:]
            case 6 if at < len(found) and found[at]:
                where = rng.randrange(len(found[at]))
                found[at] = found[at][:where] + found[at][where + 1 :]
            case _ if at < len(found) and found[at]:
                where = rng.randrange(len(found[at]))
                found[at] = found[at][:where] + chr(rng.randrange(32, 127)) + found[at][where + 1 :]
    return found
