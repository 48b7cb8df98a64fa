"""Submits scripts to the Slurm on PATH, whichever it is, and writes down what came: ``asker.py JOBS.json OUT.json``.

It runs as the user who submits, with any Python from 3.9 on and nothing else: inside real Slurm's namespaces and ours.
JOBS.json has `scripts`: a list of {name, submitted, run}; `submitted` has its body replaced by a sleep, `run` has its
own body for the stand-ins, or None. `asked` names those to run; without it they are chosen here. `runs`: no more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = Path("/home/alice")
TOOLS = HOME / "bin"
LINKED = (
    "awk basename bash cat chmod cp cut dirname echo env expr false find grep head hostname ln ls mkdir mv paste "
    "printenv printf pwd readlink realpath rm rmdir sed seq sh sort split tail tee test touch tr true uniq wc xargs "
    "sbatch squeue scontrol scancel srun sacct sinfo salloc sacctmgr sattach sprio sstat "
)
STARTED_S, SURE_S, LAUNCHED_S, ENDED_S, COMMAND_S = 8.0, 4.0, 0.7, 20.0, 40.0
MOST_CPUS, MOST_TASKS, MOST_ARRAY, MOST_BYTES = 800, 24, 4, 400_000
LEFT = ("PATH", "TZ", "LANG", "SLURM_CONF", "LD_PRELOAD", "ORACLE_CLOCK", "PYTHONPATH")
STANDIN = r"""#!/bin/bash
# Prints what it was called with and finds, all at once.
name=${0##*/}
case $name in
module|ml|conda|spack|sleep) echo "[$name] $*"; [ "$name" != sleep ] || @SLEEP@ 0.5; exit 0;;
esac
text=$(echo "[$name] $*"
  env | grep '^[A-Za-z_0-9]*=' | sort | sed "/^SLURMSIM_/d; s/^/[$name ${SLURM_PROCID:--}] /")
printf '%s\n' "$text"
"""


def environment() -> dict[str, str]:
    """What a login of alice has, and nothing of the machine; what points to our cluster stays."""
    kept = {k: v for k, v in os.environ.items() if k in LEFT[1:] or k.startswith("SLURMSIM_")}
    return {**kept, "PATH": str(TOOLS), "HOME": str(HOME), "USER": "alice", "LOGNAME": "alice", "SHELL": "/bin/bash"}


def tell(folder: Path, *words: str) -> list[Any]:
    """A command's exit code, output and errors."""
    try:
        done = subprocess.run(
            list(words),
            cwd=folder,
            env=environment(),
            timeout=COMMAND_S,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [None, "", "timeout"]
    return [done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")]


def shown(job: str) -> list[Any]:
    """What the job shows."""
    return tell(HOME, "scontrol", "show", "job", job)


def states(text: str) -> list[str]:
    """The state of each job."""
    return re.findall(r"JobState=(\w+)", text)


def job_of(answer: list[Any]) -> str | None:
    """The job that was submitted."""
    found = re.search(r"Submitted batch job (\d+)", answer[1])
    return found[1] if found else None


def until(seconds: float, done: Callable[[], bool]) -> bool:
    """Wait until it is done, but not for ever."""
    end = time.time() + seconds
    while time.time() < end:
        if done():
            return True
        time.sleep(0.1)
    return False


def gone() -> bool:
    """Whether no job is there."""
    return not tell(HOME, "squeue", "-h")[1].strip()


def end(job: str) -> None:
    """Cancel it and wait."""
    tell(HOME, "scancel", job)
    until(30, gone)


def array_size(text: str) -> int:
    """How many tasks the array has."""
    found = re.search(r"ArrayTaskId=(\S+)", text)
    if not found:
        return 1
    parts = re.findall(r"(\d+)(?:-(\d+)(?::(\d+))?)?", found[1].split("%")[0])
    return sum(1 if not b else (int(b) - int(a)) // int(c or 1) + 1 for a, b, c in parts)


def small(text: str) -> bool:
    """Whether two cores can bear to run it."""
    if array_size(text) > MOST_ARRAY:
        return False
    cpus = sum(int(n) for n in re.findall(r"NumCPUs=(\d+)", text))
    tasks = sum(int(n) for n in re.findall(r"NumTasks=(\d+)", text))
    return cpus <= MOST_CPUS and tasks <= MOST_TASKS


def fresh(name: str, text: str) -> Path:
    """A new folder with the script in it."""
    folder = HOME / "jobs" / name
    shutil.rmtree(str(folder), ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "job.sh").write_text(text)
    return folder


def submit(script: dict[str, Any]) -> dict[str, Any]:
    """Held, then as it is: what sbatch says, and what the job shows before and after it starts."""
    folder = fresh(script["name"], script["submitted"])
    found: dict[str, Any] = {"held": tell(folder, "sbatch", "-H", "job.sh")}
    job = job_of(found["held"])
    if job is None:
        return found
    found["held_shown"] = shown(job)
    end(job)
    if array_size(found["held_shown"][1]) > MOST_ARRAY:
        return found
    found["free"] = tell(folder, "sbatch", "job.sh")
    job = job_of(found["free"])
    if job is None:
        return found
    answer: list[Any] = []
    since = time.time()

    def started() -> bool:
        """Whether it runs, or has a reason, and a pass has come since (batch_sched_delay)."""
        answer[:] = shown(job)
        waits = "PENDING" in states(answer[1])
        return not waits or ("Reason=None" not in answer[1] and time.time() - since > SURE_S)

    until(STARTED_S, started)
    if "RUNNING" in states(answer[1]):  # one whose output cannot be opened fails at once
        until(LAUNCHED_S, lambda: False)
        answer[:] = shown(job)
    found["free_shown"] = list(answer)
    end(job)
    return found


def stand_ins(folder: Path, script: dict[str, Any]) -> None:
    """Programs that print what they were called with, under every name the script has."""
    text = script["run"]
    for word in set(re.findall(r"(?<![\w./$-])[A-Za-z_][\w.+-]*", text)):
        place = TOOLS / word
        if not (place.exists() or place.is_symlink()):
            place.symlink_to(TOOLS / "stand-in")
    for word in set(re.findall(r"(?<![\w./$-])\./([\w.-]+(?:/[\w.-]+)*)", text)):
        place = folder / word
        if not place.exists() and ".." not in word:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(TOOLS / "stand-in"), str(place))


def files(folder: Path) -> dict[str, str]:
    """What the job left there, by name."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name != "job.sh" and path.stat().st_size < MOST_BYTES:
            try:
                text = path.read_bytes().decode("utf-8", "replace")
            except OSError:
                text = "(not to be read)"
            if not text.startswith("#!/bin/bash\n# Prints"):
                found[str(path.relative_to(folder))] = text
    return found


def run(script: dict[str, Any]) -> dict[str, Any]:
    """With stand-ins for its programs, to the end; what it wrote, and what the job shows then."""
    folder = fresh(script["name"], script["run"])
    stand_ins(folder, script)
    found: dict[str, Any] = {"submitted": tell(folder, "sbatch", "job.sh")}
    job = job_of(found["submitted"])
    if job is None:
        return found
    found["ended"] = until(ENDED_S, gone)
    if not found["ended"]:
        end(job)
        until(5, gone)
    found["shown"] = shown(job)
    found["files"] = files(folder)
    return found


def prepare() -> None:
    """The folder that is on PATH."""
    TOOLS.mkdir(exist_ok=True)
    for name in LINKED.split():
        found = shutil.which(name)
        if found and not (TOOLS / name).exists():
            (TOOLS / name).symlink_to(found)
    (TOOLS / "stand-in").write_text(STANDIN.replace("@SLEEP@", shutil.which("sleep") or ""))
    (TOOLS / "stand-in").chmod(0o755)


def main() -> None:
    """Ask every script."""
    asked, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    prepare()
    answers: dict[str, Any] = {}
    out.write_text(json.dumps({"answers": answers}))
    for script in asked["scripts"]:
        begun = time.time()
        found: dict[str, Any] = {} if asked.get("runs") else {"submit": submit(script)}
        chosen = asked.get("asked")
        held, free = (found.get("submit", {}).get(what, [0, "", ""])[1] for what in ("held_shown", "free_shown"))
        if script["name"] in chosen if chosen is not None else "RUNNING" in states(free) and small(held):
            found["run"] = run(script)
        answers[script["name"]] = found
        print(f"{script['name']:60} {time.time() - begun:5.1f} s", flush=True)
        out.write_text(json.dumps({"answers": answers}))


if __name__ == "__main__":
    main()
