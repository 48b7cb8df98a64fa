"""The read-only commands a twin is made of, as a shell script for any POSIX shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from slurmsim.errors import OutputError

DAYS = 28
MOST_DAYS = 3650
NEEDED = "scontrol"  # without it there is nothing to ask
_SACCT = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,ExitCode,Submit,Eligible,Start,End,Timelimit,ReqCPUS,"
    "ReqMem,ReqTRES,AllocTRES,NNodes,NCPUS,NodeList,Reservation"
)


class Question(NamedTuple):
    """A command and the file its answer goes to; `document`: it prints JSON, where its release can."""

    file: str
    command: str
    document: bool = False


QUESTIONS = (
    Question("job.txt", "scontrol -a -d show job"),
    Question("node.txt", "scontrol -a -d show node"),
    Question("partition.txt", "scontrol -a show partition"),
    Question("config.txt", "scontrol show config"),
    Question("reservation.txt", "scontrol -a show reservation"),
    Question("step.txt", "scontrol -a show step"),
    Question("topology.txt", "scontrol show topology"),
    Question("license.txt", "scontrol show licenses"),
    Question("assoc_mgr.txt", "scontrol show assoc_mgr"),
    Question("sprio.txt", "sprio -h -o '%i|%r|%u|%Y|%S|%A|%B|%F|%J|%P|%Q|%N'"),
    Question("sshare.txt", "sshare -a -l -P"),
    Question("sdiag.txt", "sdiag"),
    Question("job.json", "squeue -a --json", document=True),
    Question("assoc.txt", "sacctmgr -P show assoc"),
    Question("qos.txt", "sacctmgr -P show qos"),
    Question("user.txt", "sacctmgr -P show user"),
    Question("sacct.txt", "sacct -a -X -D -P -S now-{days}days -o " + _SACCT),
)
"""In this order: what changes fastest is asked first, so that the answers are of one moment as far as can be."""
FILES = (*(question.file for question in QUESTIONS), "about.txt", "slurm.conf", "gres.conf")
"""All files of a dump that are read; `slurm.conf` and `gres.conf` may be put beside the rest."""

_HEAD = """#!/bin/sh
# Asks a Slurm cluster what it has and does, for slurmsim twin load. Every command only reads.
# Usage: sh collect.sh [FOLDER]        the answers go to FOLDER (default: slurm-dump), which must not exist
out=${1:-slurm-dump}
umask 077
mkdir "$out" || exit 1
LC_ALL=C; SLURM_BITSTR_LEN=0; export LC_ALL SLURM_BITSTR_LEN
for name in $(env | sed -n 's/^\\(S[A-Z]*_[A-Z_]*\\)=.*/\\1/p'); do
    case $name in
        SLURM_CONF|SLURM_JWT|SLURM_BITSTR_LEN) ;;
        SLURM_*|SQUEUE_*|SINFO_*|SACCT_*|SPRIO_*) unset "$name" ;;
    esac
done
SLURM_TIME_FORMAT=%s; export SLURM_TIME_FORMAT
ask() {
    file=$1; shift
    "$@" > "$out/$file" 2> "$out/.said" || echo "$file: $* failed: $(head -n 1 "$out/.said")" >> "$out/failed.txt"
}
{ echo "begin=$(date +%s)"; echo "offset=$(date +%z)"; echo "user=$(id -un)"; scontrol --version; } > "$out/about.txt"
"""
_TAIL = """echo "end=$(date +%s)" >> "$out/about.txt"
rm -f "$out/.said"
echo "$out: $(ls "$out" | wc -l) files"
"""


def script(days: int = DAYS) -> str:
    """Return the script; `days` of accounting records are asked for."""
    lines = []
    for question in QUESTIONS:
        command = question.command.format(days=days)
        prefix = "env -u SLURM_TIME_FORMAT " if question.document else ""
        lines.append(f"ask {question.file} {prefix}{command}\n")
    return _HEAD + "".join(lines) + _TAIL


def collect(folder: Path, days: int = DAYS) -> str:
    """Run the script here, where Slurm's commands are on PATH; what it said. Raises OutputError."""
    if shutil.which(NEEDED) is None:
        raise OutputError(f"{NEEDED} is not on PATH: slurmsim twin collect --print writes the script to run elsewhere")
    if os.path.lexists(folder):
        raise OutputError(f"{folder}: is there already")
    with tempfile.TemporaryDirectory(prefix="slurmsim-twin-") as scratch:
        path = Path(scratch) / "collect.sh"
        path.write_text(script(days), "utf-8")
        ran = subprocess.run(["sh", str(path), str(folder)], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OutputError(f"{folder}: {ran.stderr.strip().splitlines()[-1:] or 'the script failed'}")
    return ran.stdout.strip()
