"""What is judged: slurmsim, or anything that a file of commands starts, or what stands on PATH.

A target's file is TOML. `{cluster}` is the folder with slurm.conf, `{run}` an empty folder, `{user}` who asks::

    name = "Slurm 24.11 of a package"
    release = "24.11"
    start = ["./cluster", "start", "{cluster}", "--dir", "{run}"]   # optional: without it clusters are not started
    stop = ["./cluster", "stop", "--dir", "{run}"]
    as = ["./cluster", "exec", "--dir", "{run}", "--user", "{user}", "--"]
    rate = 10                                                      # cluster seconds a real second
    clusters = ["site"]                                            # optional: the clusters it can be
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from slurm_conformance.scenario import HERE, FormatError, release_number

LIMIT_S = 120  # real seconds a command may take
USERS = {"alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004}


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    status: int
    output: str
    errors: str


class Target(Protocol):
    """A Slurm that scenarios are run on."""

    name: str
    release: str

    def can_be(self, cluster: str) -> bool:
        """Return True if it can be given that cluster's configuration."""

    def start(self, cluster: str) -> None:
        """Start a new cluster."""

    def stop(self) -> None:
        """End it, and what runs there."""

    def ask(self, user: str, command: str) -> Said:
        """Return what the shell command printed for that user."""

    def wait(self, seconds: int) -> None:
        """Let so many seconds of the cluster's clock go by."""


def _run(argv: list[str], *, slice_s: float = LIMIT_S, meanwhile: Callable[[], None] = lambda: None) -> Said:
    """Run a command; `meanwhile` is called after each `slice_s` real seconds that it takes."""
    try:
        running = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)  # fmt: skip
    except OSError as error:
        raise FormatError(f"{argv[0]}: {error.strerror}") from None
    end = time.monotonic() + LIMIT_S
    with running:
        while True:
            try:
                output, errors = running.communicate(timeout=slice_s)
                break
            except subprocess.TimeoutExpired:
                meanwhile()
                if time.monotonic() > end:
                    os.killpg(running.pid, signal.SIGKILL)  # others of a pipeline would keep its output open
                    running.communicate()
                    return Said(124, "", f"no answer within {LIMIT_S} s\n")
    return Said(running.returncode, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))


def _must(argv: list[str]) -> None:
    said = _run(argv)
    if said.status:
        last = (said.errors or said.output).strip().splitlines()[-1:] or ["no word"]
        raise FormatError(f"{' '.join(argv[:4])} …: exit {said.status}: {last[0]}")


def _step(folder: str, seconds: int) -> None:
    try:
        from slurmsim.protocol import Client  # a quarter of the time of a command
    except ImportError:
        _must(["slurmsim", "clock", "step", str(seconds), "--state", folder])
    else:
        Client(folder).call("clock", action="step", seconds=seconds)


@dataclass
class Slurmsim:
    """A cluster of slurmsim with its clock in hand; where scripts have to run, with the machine's clock."""

    release: str
    command: str = "slurmsim"
    name: str = "slurmsim"
    _folder: Path | None = None
    _stepped: bool = True

    def can_be(self, cluster: str) -> bool:
        """Return True: it reads any slurm.conf."""
        return bool(cluster)

    def start(self, cluster: str) -> None:
        """Start a cluster in a folder of its own."""
        self._folder = Path(tempfile.mkdtemp(prefix="conformance-"))
        self._stepped = cluster != "scripts"
        users = [word for name, uid in USERS.items() for word in ("--user", f"{name}={uid}")]
        accounting = ["--accounting"] if "slurmdbd" in (HERE / "clusters" / cluster / "slurm.conf").read_text() else []
        _must([self.command, "up", "--conf", str(HERE / "clusters" / cluster / "slurm.conf"), *accounting, *users,
               "--release", self.release, "--flavour", "debian", "--state", str(self._folder),
               *(["--frozen", "--start", "2026-01-05T08:00:00"] if self._stepped else [])])  # fmt: skip

    def stop(self) -> None:
        """End the cluster and remove its folder."""
        if self._folder is not None:
            _run([self.command, "down", "--state", str(self._folder), "--force"])
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def ask(self, user: str, command: str) -> Said:
        """Return what the shell command printed for that user."""
        folder = str(self._folder)
        path = f"PATH={folder}/bin:{os.environ['PATH']}"
        argv = ["env", f"SLURMSIM_CLUSTER_DIR={folder}", f"SLURMSIM_USER={user}", path, "bash", "-c", command]
        if not self._stepped:
            return _run(argv)
        said = _run(argv, slice_s=3, meanwhile=lambda: self.wait(1))  # a command may wait for the cluster
        self.wait(1)  # a real command takes its time too
        return said

    def wait(self, seconds: int) -> None:
        """Step the clock, or let real seconds go by where scripts run."""
        if self._stepped:
            _step(str(self._folder), seconds)
        else:
            time.sleep(seconds)


@dataclass
class Commands:
    """A Slurm that commands of a file start, ask and end."""

    name: str
    release: str
    asking: list[str]
    starting: list[str] = field(default_factory=list)
    stopping: list[str] = field(default_factory=list)
    rate: float = 1.0
    clusters: list[str] = field(default_factory=list)
    _run_folder: str = ""
    _cluster: str = ""

    def can_be(self, cluster: str) -> bool:
        """Return True if the file says so, or if it can start clusters and names none."""
        return cluster in self.clusters or (bool(self.starting) and not self.clusters)

    def _filled(self, words: list[str], user: str = "root") -> list[str]:
        places = {"{cluster}": self._cluster, "{run}": self._run_folder, "{user}": user, "{python}": sys.executable}
        for place, value in places.items():
            words = [word.replace(place, value) for word in words]
        return words

    def start(self, cluster: str) -> None:
        """Start a cluster, if the file says how."""
        self._cluster = str(HERE / "clusters" / cluster)
        if self.starting:
            self._run_folder = tempfile.mkdtemp(prefix="conformance-", dir="/var/tmp")
            _must(self._filled(self.starting))

    def stop(self) -> None:
        """End it, if the file says how."""
        if self.stopping and self._run_folder:
            _run(self._filled(self.stopping))
        if self._run_folder:
            shutil.rmtree(self._run_folder, ignore_errors=True)
        self._run_folder = ""

    def ask(self, user: str, command: str) -> Said:
        """Return what the shell command printed for that user."""
        return _run([*self._filled(self.asking, user), "bash", "-c", command])

    def wait(self, seconds: int) -> None:
        """Let the cluster's seconds go by."""
        time.sleep(seconds / self.rate)


def read(path: Path) -> Commands:
    """Return the target of a file. Raises FormatError."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        asking, starting, stopping = (_texts(table.get(key, [])) for key in ("as", "start", "stop"))
        release = str(table["release"])
        release_number(release)
        rate = float(table.get("rate", 1))
        if rate <= 0:
            raise ValueError("rate: expected a number over 0")
        return Commands(str(table["name"]), release, asking, starting, stopping, rate,
                        _texts(table.get("clusters", [])))  # fmt: skip
    except KeyError as error:
        raise FormatError(f"{path.name}: no {error.args[0]}") from None
    except (OSError, ValueError, TypeError, FormatError) as error:
        raise FormatError(f"{path.name}: {error}") from None


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"{value!r}: expected a list of texts")
    return value
