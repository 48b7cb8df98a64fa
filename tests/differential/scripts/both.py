"""Runs the asker on real Slurm, inside the oracle kit's cluster, and on `slurmsim up` in namespaces like it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from unseen.oracle import kit

HERE = Path(__file__).resolve().parent
SITE = HERE / "site"
RESERVATION = ("create", "reservation", "reservationname=class", "users=alice", "nodes=c11,c12,g05", "starttime=now",
               "duration=10-00:00:00")  # fmt: skip
MOST_S = 7200
UID = 2001
INSIDE = r"""
set -e
hostname head
ip link set lo up
mount --make-rprivate /
work=$1 prefix=$2; shift 2
mkdir -p "$work/python"
mount --bind "$prefix" "$work/python"
mount -t tmpfs tmpfs /root
chmod 755 /root
mkdir -p "$prefix"
mount --bind "$work/python" "$prefix"
mkdir -p /etc/slurm; mount -t tmpfs tmpfs /etc/slurm
cp "$work"/site/* /etc/slurm
mount --bind "$work/home" /home
mount --bind "$work/passwd" /etc/passwd
mount --bind "$work/group" /etc/group
printf '127.0.0.1 localhost head\n' > "$work/hosts"
mount --bind "$work/hosts" /etc/hosts
exec setpriv --reuid 1999 --regid 1999 --clear-groups bash -ec "$1"
"""
OURS = """
export HOME={work}/owner XDG_STATE_HOME={work}/owner TZ=UTC LANG=C.UTF-8
slurmsim={bin}/slurmsim
$slurmsim up --conf /etc/slurm/slurm.conf --accounting /etc/slurm/sacctmgr.txt --slurm-version {release} \\
  --user alice={uid} --clock real --jobs run --state {work}/owner/c >&2
eval "$($slurmsim env --state {work}/owner/c)"
scontrol {reservation} >&2
export SLURMSIM_USER=alice
{bin}/python -B {work}/asker.py {work}/jobs.json {work}/out.json >&2 || true
unset SLURMSIM_USER
$slurmsim down --state {work}/owner/c >&2
"""


def _release(log: str) -> str:
    found = re.search(r"slurmctld version (\S+) started", log)
    return found[1] if found else ""


def ask_real(jobs: dict[str, Any], release: str) -> dict[str, Any]:
    """What real Slurm answers."""
    asked = kit(release)
    if asked is None:
        raise SystemExit(f"SLURMSIM_ORACLE names no oracle kit that can run {release} here")
    with tempfile.TemporaryDirectory(prefix="scripts-") as top:
        shared = Path(top)
        shared.chmod(0o777)
        shutil.copytree(SITE, shared / "site")
        shutil.copy(HERE / "asker.py", shared)
        (shared / "jobs.json").write_text(json.dumps(jobs), "utf-8")
        run, run_here = asked.run_folder(shared)
        environment = {**os.environ, "ORACLE_SHARE": top}

        def tell(*words: str) -> None:
            subprocess.run([*asked.command, *words], check=True, timeout=MOST_S, env=environment)

        try:
            tell("start", asked.place(shared, "site"), "--dir", run)
            tell("exec", "--dir", run, "--user", "root", "--", "scontrol", *RESERVATION)
            place = {name: asked.place(shared, name) for name in ("asker.py", "jobs.json", "out.json")}
            tell("exec", "--dir", run, "--user", "alice", "--", "python3", *place.values())
            found: dict[str, Any] = json.loads((shared / "out.json").read_text("utf-8"))
            found["slurm"] = _release((run_here / "log" / "slurmctld.log").read_text("utf-8", "replace"))
        finally:
            subprocess.run([*asked.command, "stop", "--dir", run], check=False, env=environment)
            shutil.rmtree(run_here, ignore_errors=True)
    return found


def ask_ours(jobs: dict[str, Any], release: str) -> dict[str, Any]:
    """What `slurmsim up` answers, run by a user of its own in namespaces without a network."""
    with tempfile.TemporaryDirectory(prefix="scripts-") as top:
        work = Path(top)
        work.chmod(0o755)
        shutil.copytree(SITE, work / "site")
        shutil.copy(HERE / "asker.py", work)
        (work / "jobs.json").write_text(json.dumps(jobs), "utf-8")
        for folder in ("home/alice", "owner"):
            (work / folder).mkdir(parents=True)
            os.chown(work / folder, 1999, 1999)
        os.chown(work, 1999, 1999)
        for file, user in (("passwd", f"alice:x:{UID}:{UID}::/home/alice:/bin/bash\nowner:x:1999:1999::/:/bin/sh\n"),
                           ("group", f"alice:x:{UID}:\nowner:x:1999:\n")):  # fmt: skip
            (work / file).write_text(Path("/etc", file).read_text("utf-8") + user, "utf-8")
        told = OURS.format(work=work, bin=Path(sys.executable).parent, release=release, uid=UID,
                           reservation=" ".join(RESERVATION))  # fmt: skip
        argv = ["unshare", "-u", "-n", "-m", "-p", "-i", "-f", "--mount-proc", "bash", "-c", INSIDE, "scripts",
                str(work), sys.base_prefix, told]  # fmt: skip
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "PYTHON"))}
        subprocess.run(argv, check=True, timeout=MOST_S, env=clean)
        found: dict[str, Any] = json.loads((work / "out.json").read_text("utf-8"))
    return found
