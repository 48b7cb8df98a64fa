"""Resources of sacctmgr, and the licenses that a cluster has of them, as real Slurm printed them.

A recording is a list of commands (``.commands``; ``sleep N`` between them) and what each release printed: stderr, then
stdout, then the exit code. Jobs that start in one second may be listed in any order.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from golden.oracle_cluster import COMMANDS, CONF
from unit.commands.engine_client import Cluster

FOLDER = Path(__file__).parent / "resources"
_MOMENT = re.compile(r"LastUpdate=\S+")


def _recorded(text: str) -> list[tuple[str, str]]:
    """Return each command line and what it printed."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return [(line, said) for line, said in zip(parts[1::2], parts[2::2], strict=True)]


def _plain(line: str, text: str) -> str:
    text = _MOMENT.sub("LastUpdate", text)
    return "\n".join(sorted(text.splitlines())) if line.startswith("squeue") else text


def _typed(live: Cluster, line: str) -> str:
    user = re.match(r"su (\w+) -c '(.*)'$", line)
    code, out, error = live.run(user[2] if user else line, user[1] if user else "root", SLURM_TIME_FORMAT="standard")
    return f"{error}{out}rc={code}\n"


def _same_licenses(ours: str, said: str) -> None:
    """Compare documents but for the instants: each license alike, in any order."""
    told = [sorted(json.loads(text.rpartition("rc=")[0])["licenses"], key=lambda one: str(one["LicenseName"]))
            for text in (ours, said)]  # fmt: skip
    for one in (one for licenses in told for one in licenses):
        one["LastUpdate"] = bool(one["LastUpdate"])
    assert told[0] == told[1]


@pytest.mark.parametrize("recording", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_commands_print_what_real_slurm_printed(recording: str, tmp_path: Path) -> None:
    name, release = recording.split("-")
    live = Cluster(tmp_path, CONF, accounting=COMMANDS, release=release)
    recorded = _recorded((FOLDER / f"{name}-{release}.txt").read_text())
    wrong = []
    for line in (FOLDER / f"{name}.commands").read_text().splitlines():
        if line.startswith("sleep"):
            live.now += int(line.split()[1])
            live.engine.network.advance(live.now)
            continue
        shown, said = recorded.pop(0)
        ours = _typed(live, line)
        if "--json show lic" in line and release != "22.05":
            _same_licenses(ours, said)
        elif _plain(line, ours) != _plain(line, said):
            wrong.append(f"$ {shown}\n{said}--- ours\n{ours}")
    assert not wrong, "\n".join(wrong)
    assert not recorded
    assert live.again().database.resources == live.engine.database.resources
