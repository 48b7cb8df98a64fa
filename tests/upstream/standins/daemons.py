"""slurmctld, slurmd and slurmdbd as the suite calls them: the keeper starts what they stand for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from slurmsim.releases import VERSIONS
from tests.upstream.standins.asking import ask


def register(words: list[str], prefix: str) -> int:
    """Let slurmsim's own slurmd register a dynamic node; what it says goes into the node's log."""
    node = words[words.index("-N") + 1] if "-N" in words else socket.gethostname()
    command = [f"{prefix}/var/cluster/bin/slurmd", *words]
    with open(f"{prefix}/var/log/slurmd.{node}.log", "ab") as log:
        return subprocess.run(command, stdout=log, stderr=log, check=False).returncode


def main(name: str, prefix: str) -> int:
    """Be the daemon `name`."""
    words = sys.argv[1:]
    if "-V" in words or "--version" in words:
        print(f"slurm {VERSIONS['26.05']}")
        return 0
    if name == "slurmd" and "-C" in words:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        cpus = os.cpu_count()
        print(f"NodeName={socket.gethostname()} CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus}"
              f" ThreadsPerCore=1 RealMemory={memory}\nUpTime=0-00:00:01")  # fmt: skip
        return 0
    if name == "slurmd" and "-Z" in words and (code := register(words, prefix)):
        return code
    if name == "slurmd":
        node = words[words.index("-N") + 1] if "-N" in words else socket.gethostname()
        return ask(prefix, "slurmd", node, *words)
    return ask(prefix, name, *(["clean"] if "-c" in words else []))
