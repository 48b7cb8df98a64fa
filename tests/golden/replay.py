"""Run recorded command sessions of real Slurm against the live cluster: ``python tests/golden/replay.py FILE…``.

Each file (the oracle's golden format) gets a fresh cluster with its configuration on a frozen clock, which is stepped
to the second each command ran at. Commands run as they were typed, under ``bash -c``, each user in a home of his own.
Where scripts really run, the clock goes on second by second, each time when all their processes wait; ``sleep`` and
``timeout`` go by that clock. A command that waits lets it go on in the same way.
Output and exit code are compared after replacing what the file calls volatile. Prints passed/total a group and, with
``--verbose``, every difference; ``--json`` for programs.

How long slurmctld had been up when a recording began is not in it, and passes and scans keep that phase: it is guessed,
or given (``--up``), and where the guess leaves more than one command in twenty unequal the other three are tried.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import slurmsim
from slurmsim.sessions.normalising import Answer, difference
from slurmsim.sessions.player import Player
from slurmsim.slurmctld.base.simulated import behaviour

sys.path.insert(0, str(Path(__file__).resolve().parent))
import known
from fake_machine import install
from same_jobs import SameJobs

UIDS = {"alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004}
_RUNS = re.compile(r"\b(?:srun|salloc)\b|\bcat \S*\.(?:out|txt)|\btrap\b")
"""A recording with such a command shows what scripts did: they have to run."""
UNKNOWN_S = -7  # no script lasts so long
TIMEOUT_S = 300  # of this machine, which may be busy
GIVEN_UP_S = 90  # when a recording gives a command up, by its own clock
OWN_HOME = "SLURMSIM_GOLDEN_OWN_HOME"  # set where /home is ours
UP_S = (1, 2, 3, 4)
SLURMCTLD_AT_S = 3
"""When slurmctld comes up on a recording machine that has no database to start before it."""


@dataclass
class Outcome:
    """What became of one command."""

    n: int
    cmd: str
    ok: bool
    difference: str = ""


@dataclass
class Group:
    """One recording."""

    name: str
    up_s: int
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def passed(self) -> int:
        return sum(o.ok for o in self.outcomes)

    @property
    def good(self) -> bool:
        """Whether no more than one command in twenty differs."""
        return self.passed >= 0.95 * len(self.outcomes)


def boot_time(program: Path) -> list[str]:
    """Return the option that makes nodes boot as long as the recorded ResumeProgram lets them."""
    found = re.search(r"^ *sleep (\d+)$", program.read_text("utf-8"), re.MULTILINE) if program.is_file() else None
    return ["--boot-time", found[1]] if found else []


class Session:
    """One live cluster and the users' homes."""

    def __init__(self, recording: dict[str, Any], conf: Path, jobs: str, up_s: int) -> None:
        self.recording = recording
        self.top = Path(tempfile.mkdtemp(prefix="slurmsim-golden-"))
        self.start = start_of(recording)
        began = datetime.fromtimestamp(self.start - up_s, UTC)
        self.homes = self.top / "home"
        for user in UIDS:
            self.home(user).mkdir(parents=True)
        self.home("root").mkdir()
        if OWN_HOME in os.environ:
            subprocess.run(["mount", "--bind", str(self.homes), "/home"], check=True)
            self.homes = Path("/home")
        self.folder = self.top / "cluster"
        command = [
            sys.executable, "-m", "slurmsim", "up", "--state", str(self.folder), "--frozen", "--conf", str(conf),
            "--flavour", "debian",
            "--start", f"{began:%Y-%m-%dT%H:%M:%S}Z", "--jobs", jobs,
            "--slurm-version", recording["slurm"][:5],
        ]  # fmt: skip
        for user, uid in UIDS.items():
            command += ["--user", f"{user}={uid}:{user}:{uid}:/home/{user}"]
        sacctmgr = conf.parent / "sacctmgr.txt"
        if sacctmgr.is_file():
            command += ["--accounting", str(sacctmgr)]
        command += boot_time(conf.parent / "resume.sh")
        environment = {**os.environ, "TZ": "UTC", "XDG_STATE_HOME": str(self.top / "state")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise SystemExit(f"{recording['group']}: {done.stderr.strip()}")
        install(str(self.folder / "bin"), [str(Path(slurmsim.__file__).parents[1])])
        self.player = Player(self.folder, real=jobs == "run")
        if self.player.now < self.start:
            self.player.step(self.start - self.player.now)

    def home(self, user: str) -> Path:
        return self.homes / user if user != "root" else self.top / "root"

    def until(self, seconds: float, *, late: bool = False) -> None:
        """Step the clock to `seconds` after the recording began."""
        self.player.until(int(self.start + seconds), late=late)

    def run(self, user: str, command: str, given_up: bool = False) -> tuple[int | None, str, str]:
        """Run one command as `user`; the clock goes on while it waits.

        One that the recording has `given_up` is given up here after as long: its shell alone is killed, and what it
        was told by then is not in the recording.
        """
        home = self.home(user)
        command = re.sub(r"(?<![\w/])/home/(?=alice|bob|carol|dave)", f"{self.homes}/", command)
        command = re.sub(r"(?<![\w/])/var/log/", f"{self.folder / 'var' / 'log'}/", command)
        environment = {
            "PATH": f"{self.folder / 'bin'}:{self._safe()}", "HOME": str(home), "USER": user,
            "LOGNAME": user, "SHELL": "/bin/bash", "TZ": "UTC", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
            "SLURMSIM_CLUSTER_DIR": str(self.folder), "SLURMSIM_USER": user, "HOSTNAME": "head",
            "SLURM_CONF": "/etc/slurm/slurm.conf",
        }  # fmt: skip
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            command_run = subprocess.Popen(
                ["bash", "-c", command], cwd=home, env=environment, stdout=out, stderr=error, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            last, last_s = time.monotonic() + TIMEOUT_S, self.player.now + GIVEN_UP_S
            while not self.player.ended(command_run):
                if given_up and self.player.now >= last_s:
                    command_run.kill()
                    command_run.wait()
                    return None, "", ""
                if time.monotonic() > last and not given_up:
                    os.killpg(command_run.pid, signal.SIGKILL)
                    return -1, "", f"no end after {TIMEOUT_S} s"
                self.player.step(1)
            out.seek(0)
            error.seek(0)
            texts = [self._as_recorded(file.read().decode("utf-8", "replace")) for file in (out, error)]
        return command_run.returncode, texts[0], texts[1]

    def _safe(self) -> str:
        """The usual folders of programs, without any that has a real Slurm."""
        places = ("/usr/local/bin", "/usr/bin", "/bin")
        real = [place for place in places if os.path.exists(f"{place}/sbatch")]
        if not real:
            return ":".join(places)
        shadow = self.top / "programs"
        if not shadow.exists():
            shadow.mkdir()
            for place in reversed(places):
                for name in os.listdir(place):
                    if not os.path.exists(f"/usr/bin/{name}") or name not in _SLURM:
                        (shadow / name).unlink(missing_ok=True)
                        (shadow / name).symlink_to(f"{place}/{name}")
        return str(shadow)

    def _as_recorded(self, text: str) -> str:
        for ours, theirs in (
            (self.homes, "/home"), (self.top / "root", "/root"), (self.folder / "spool", "/var/spool/slurmd"),
            (self.folder / "slurm.conf", "/etc/slurm/slurm.conf"), (self.folder / "var" / "log", "/var/log"),
        ):  # fmt: skip
            text = text.replace(str(ours), theirs).replace(str(ours).replace("/", "\\/"), theirs.replace("/", "\\/"))
        text = re.sub(rf"\b{re.escape(os.uname().nodename)}\b", "head", text)
        return re.sub(r"^(?:\d+: )?SLURMSIM_\w+(?:=.*)?\n", "", text, flags=re.MULTILINE)

    def exceptions(self) -> list[str]:
        """The last line of each exception in the daemon's log: bugs of ours."""
        log = (self.folder / "log").read_text("utf-8", "replace")
        return re.findall(r"^Traceback .*\n(?:\s.*\n)*(\S.*)$", log, re.MULTILINE)

    def close(self) -> None:
        subprocess.run([sys.executable, "-m", "slurmsim", "down", "--state", str(self.folder)],
                       capture_output=True, check=False)  # fmt: skip
        self._end_scripts()
        if OWN_HOME in os.environ:
            subprocess.run(["umount", "--lazy", "/home"], check=False)
        shutil.rmtree(self.top, ignore_errors=True)

    def _end_scripts(self) -> None:
        """Kill what still runs of this session: scripts outlive the daemon."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.fsencode(self.folder) in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue


def start_of(recording: dict[str, Any]) -> int:
    """When it began, in seconds since the epoch."""
    return int(datetime.fromisoformat(recording["start"]).replace(tzinfo=UTC).timestamp())


def guess_up_s(start: int) -> int:
    """Seconds slurmctld had been up when a recording began.

    The clock of a recording machine is set to a full hour, and slurmctld is started at once or, where there is a
    database, some seconds before the recording: two, or three to four on a clock that runs ten times as fast.
    """
    since = start % 3600
    if since < 10:
        return max(since - SLURMCTLD_AT_S, 1)
    return 2 if since < 30 else 3 if since < 60 else 4


def read(path: Path) -> dict[str, Any]:
    """A recording; it may be compressed."""
    data = path.read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return found


def find_conf(path: Path, recording: dict[str, Any]) -> Path:
    """The slurm.conf a recording was made with."""
    name = recording["conf"]
    near = path.resolve().parent
    places = [near / "conf" / name, near / "conf", near.parent / "conf" / name]
    for top in (near, *near.parents[:3]):
        places += [top / "oracle" / "conf" / name, top / "oracle" / "conf" / "rules" / name]
    for place in places:
        if (place / "slurm.conf").is_file():
            return place / "slurm.conf"
    raise SystemExit(f"{path}: no configuration {name!r} found near it")


_SLURM = frozenset(
    ("sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "scrontab", "sdiag", "sinfo",
     "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger")
)  # fmt: skip


def replay(path: Path, jobs: str, times: bool = False, up_s: int | None = None, search: bool = False) -> Group:
    """Run one recording; with `search` again and again, until few commands differ or every phase was tried."""
    recording = read(path)
    first = guess_up_s(start_of(recording)) if up_s is None else up_s
    best = play(path, recording, jobs, times, first)
    for other in UP_S if search and up_s is None else ():
        if not best.good and other != first:
            again = play(path, recording, jobs, times, other)
            best = again if again.passed > best.passed else best
    return best


def play(path: Path, recording: dict[str, Any], jobs: str, times: bool, up_s: int) -> Group:
    """Run it once, slurmctld having been up for `up_s`."""
    group = Group(recording["group"], up_s)
    began = time.monotonic()
    for step, code, out, error in asked(recording, find_conf(path, recording), jobs, up_s):
        group.outcomes.append(compare(step, code, out, error, recording["volatile"]))
        if times:
            print(f"{time.monotonic() - began:6.2f} {step['n']}: {step['cmd'][:80]}", file=sys.stderr)
        began = time.monotonic()
    return group


def has_to_run(recording: dict[str, Any]) -> bool:
    """Return True if the recording shows what scripts did, or one is submitted of which no length can be read."""
    steps = recording["steps"]
    if any(_RUNS.search(str(step.get("cmd", "")) + str(step.get("text", ""))) for step in steps):
        return True
    submitted = {word for step in steps for word in str(step.get("cmd", "")).split() if "sbatch" in step.get("cmd", "")}
    scripts = (step["text"] for step in steps if step.get("file") in submitted)
    return any(behaviour({"script": text}, UNKNOWN_S).run_time == UNKNOWN_S for text in scripts)


def asked(
    recording: dict[str, Any], conf: Path, jobs: str = "auto", up_s: int = SLURMCTLD_AT_S, same: SameJobs | None = None,
    sooner: Callable[[float], float] = lambda at: 0.0, late: Callable[[float], bool] = lambda at: False,
) -> Iterator[tuple[dict[str, Any], int | None, str, str]]:  # fmt: skip
    """Ask a fresh cluster everything the recording asked: each command's step, and our exit code, output and errors.

    With `same`, what a command names by its id is the job of the same submission. A command is asked as much
    `sooner` as slurmctld's seconds begin later than ours, and `late` if its loop had gone round for that second.
    """
    mode = jobs if jobs != "auto" else "run" if has_to_run(recording) else "simulate"
    session = Session(recording, conf, mode, up_s)
    at = 0.0
    try:
        for step in recording["steps"]:
            if "file" in step:
                target = session.home(step["user"]) / step["file"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(step["text"], "utf-8")
                target.chmod(0o755)
            elif "sleep" in step:
                at += step["sleep"]
                session.until(at - sooner(at))
            else:
                at = max(at, step["t"])
                session.until(at - sooner(at), late=late(at))
                command = step["cmd"] if same is None else same.ours(step["cmd"])
                code, out, error = session.run(step["user"], command, given_up=step["rc"] is None)
                if same is not None:
                    same.learn(step["cmd"], step["stdout"], out)
                yield step, code, out, error
    finally:
        for line in session.exceptions():
            print(f"{recording['group']}: the daemon logged an exception: {line}", file=sys.stderr)
        session.close()


def compare(step: dict[str, Any], code: int | None, out: str, error: str, volatile: list[list[str]]) -> Outcome:
    """One command's outcome against the recording."""
    found = difference(Answer(code, out, error), Answer(step["rc"], step["stdout"], step["stderr"]), volatile)
    return Outcome(step["n"], step["cmd"], not found, found)


def go_on_with_a_home_of_our_own() -> None:
    """Start again where this process may mount what it likes on /home, if the machine lets it.

    Paths have their recorded length then, which columns cut at a width show.
    """
    needed = (sys.prefix, sys.base_prefix, slurmsim.__file__, __file__, tempfile.gettempdir())
    if OWN_HOME in os.environ or any(Path(path).resolve().is_relative_to("/home") for path in needed):
        return
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--mount", "--propagation", "private"]
    with suppress(OSError):
        test = [*command, "mount", "--bind", tempfile.gettempdir(), "/home"]
        if subprocess.run(test, capture_output=True, check=False).returncode == 0:
            os.execvpe(command[0], [*command, sys.executable, *sys.orig_argv[1:]], {**os.environ, OWN_HOME: "1"})


def main() -> int:
    """Run all files of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--jobs", choices=("auto", "run", "simulate"), default="auto")
    parser.add_argument("--times", action="store_true", help="show how long each command took, seconds")
    parser.add_argument("--verbose", "-v", action="store_true", help="show every difference")
    parser.add_argument(
        "--check", action="store_true", help="fail on a difference without a reason in known.toml; tell reasons"
    )
    parser.add_argument("--once", action="store_true", help="do not try other phases where many commands differ")
    parser.add_argument("--up", type=int, metavar="SECONDS", help="how long slurmctld had been up at the first command")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    args = parser.parse_args()
    groups, new = [], 0
    for path in args.files:
        group = replay(path, args.jobs, args.times, args.up, search=not (args.check or args.once))
        groups.append(group)
        if not args.json:
            show(group, verbose=args.verbose)
        if args.check:
            new += check(known.session_of(path), group)
    passed, total = sum(g.passed for g in groups), sum(len(g.outcomes) for g in groups)
    if args.json:
        rows = [
            {"group": g.name, "passed": g.passed, "total": len(g.outcomes), "up_s": g.up_s,
             "failed": [vars(o) for o in g.outcomes if not o.ok]}
            for g in groups
        ]  # fmt: skip
        print(json.dumps(rows, indent=1))
        return 0
    print(f"{'all':24} {passed:4}/{total}")
    return int(new > 0) if args.check else int(passed < total)


def check(session: str, group: Group) -> int:
    """Say how a recording's differences compare with the list; how many of them have no reason."""
    new, gone = known.compare(session, (o.n for o in group.outcomes if not o.ok))
    for number in new:
        print(f"{session} {number}: differs, and known.toml gives no reason")
    for number in gone:
        print(f"{session} {number}: is equal, but known.toml lists it ({known.known().of(session)[number]})")
    return len(new)


def show(group: Group, *, verbose: bool) -> None:
    """Print what became of one recording."""
    for o in group.outcomes if verbose else ():
        if not o.ok:
            print(f"--- {group.name} {o.n}: {o.cmd}\n{o.difference}")
    print(f"{group.name:24} {group.passed:4}/{len(group.outcomes)}", flush=True)


if __name__ == "__main__":
    go_on_with_a_home_of_our_own()
    sys.exit(main())
