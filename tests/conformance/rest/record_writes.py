"""Ask slurmrestd anew what a recording asked it: python record_writes.py RECORDING VERSION OUT, inside the oracle.

RECORDING is ``writes-RELEASE.json.xz`` or a list of requests for a new one: name, user, method, path, body.
Run as root.
The cluster (configuration `acct`) needs ``AuthAltTypes=auth/jwt`` and a key, in slurm.conf and slurmdbd.conf, and a
clock that was set (`--date`). One job runs when the requests begin. Who asks is told by a token.
"""

from __future__ import annotations

import json
import lzma
import os
import pwd
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SUBMITTED = "sbatch -J run -t 60 --wrap 'sleep 900'"
PORT = "127.0.0.1:6820"
KEPT = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "LD_PRELOAD", "ORACLE_CLOCK") if name in os.environ}


def _run(user: str, command: str) -> str:
    person = pwd.getpwnam(user)
    environ = {**KEPT, "HOME": person.pw_dir, "USER": user, "LOGNAME": user, "SHELL": "/bin/bash"}
    who: dict[str, Any] = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []} if user != "root" else {}
    done = subprocess.run(["bash", "-c", command], env=environ, cwd=person.pw_dir, capture_output=True, text=True,
                          timeout=60, check=False, **who)  # fmt: skip
    return done.stdout.strip()


def _now() -> int:
    return int(_run("root", "date +%s"))


def _recorded(path: Path, version: int, began: int) -> list[dict[str, Any]]:
    """The requests of a recording; instants in them are as far from the beginning as they were."""
    data = path.read_bytes()
    found = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    if isinstance(found, list):
        return found
    shift = began - found[str(version)]["began"]
    asked: list[dict[str, Any]] = json.loads(
        re.sub(r"\b17\d{8}\b", lambda one: str(int(one[0]) + shift), json.dumps(found[str(version)]["requests"]))
    )
    return asked


def _ask(asked: dict[str, Any], token: str) -> dict[str, Any]:
    name, user, method, path, body = (asked[key] for key in ("name", "user", "method", "path", "body"))
    command = ["curl", "-sS", "-i", "--max-time", "30", "-X", method, f"http://{PORT}{path}",
               "-H", f"X-SLURM-USER-NAME: {user}", "-H", f"X-SLURM-USER-TOKEN: {token}"]  # fmt: skip
    if body is not None:
        text = body if isinstance(body, str) else json.dumps(body)
        command += ["-H", "Content-Type: application/json", "--data-binary", text]
    at = _now()
    done = subprocess.run(command, capture_output=True, text=True, env=KEPT, check=False)
    head, _, answer = done.stdout.replace("\r\n", "\n").partition("\n\n")
    while head.startswith("HTTP/1.1 100"):
        head, _, answer = answer.partition("\n\n")
    words = head.partition("\n")[0].split()
    return {"name": name, "at": at, "user": user, "method": method, "path": path, "body": body,
            "status": int(words[1]) if len(words) > 1 else 0, "answer": answer}  # fmt: skip


def main(recording: Path, version: int, out: Path) -> None:
    release = _run("root", "scontrol -V").split()[-1]
    began = _now()
    _run("alice", SUBMITTED)
    setup = [{"at": _now(), "user": "alice", "cmd": SUBMITTED}]
    tokens = {user: _run("root", f"scontrol token lifespan=36000 username={user}").partition("=")[2]
              for user in ("root", "alice", "bob")}  # fmt: skip
    nobody = pwd.getpwnam("nobody")
    plugins = "slurmctld,slurmdbd,util" if release >= "26" else "slurmctld,slurmdbd"
    server = subprocess.Popen(
        ["slurmrestd", "-a", "rest_auth/jwt", "-s", plugins, "-d", f"v0.0.{version}", PORT], user=nobody.pw_uid,
        group=nobody.pw_gid, extra_groups=[], stdin=subprocess.DEVNULL, cwd="/",
        env={**KEPT, "HOME": "/", "SLURM_JWT": "daemon"},
    )  # fmt: skip
    time.sleep(3)
    requests = []
    for one in _recorded(recording, version, began):
        if one["path"].startswith("/slurmdb") and not any(r["path"].startswith("/slurmdb") for r in requests):
            _run("root", "scancel -n alloc -n imm -n scr -n arr -n het0 -n hs0")
            time.sleep(1)
        requests.append(_ask(one, tokens[one["user"]]))
    text = json.dumps({"slurm": release, "version": version, "began": began, "setup": setup, "requests": requests})
    for token in tokens.values():
        text = text.replace(token, "TOKEN")
    out.write_text(text, "utf-8")
    server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
