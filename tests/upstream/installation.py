"""What the suite takes for an installed Slurm: a prefix with bin, sbin, etc and var, all of it ours."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from slurmsim.live.programs import NAMES

HERE = Path(__file__).resolve().parent
STANDINS = HERE / "standins"
DAEMONS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurmstepd")
TOOLS = ("sudo", "mysql", "mysqldump", "openapi-generator-cli")
RELEASE = "26.05"
MODELS = "pydantic>=1.10.5,<2"  # what the suite's generated clients are written for
SLURM_UID, TESTER_UID = 64030, 1000
TESTER = "atf"  # the name the suite's own machines have for the user who runs it
OTHERS = ("nobody",)
_PROGRAM = """#!{python} {options}
import sys
sys.path[:0] = {path!r}
from tests.upstream.standins.{module} import main
sys.exit(main({name!r}, {prefix!r}))
"""
_CONF = """\
ClusterName=atf
SlurmctldHost={host}
SlurmUser=slurm
AuthType=auth/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={prefix}/etc/jwt_hs256.key
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmctldPort=6817
SlurmdPort=6818
SlurmctldDebug=debug3
SlurmdDebug=debug3
SlurmctldLogFile={prefix}/var/log/slurmctld.log
SlurmdLogFile={prefix}/var/log/slurmd.%n.log
SlurmctldPidFile={prefix}/var/run/slurmctld.pid
SlurmdPidFile={prefix}/var/run/slurmd.%n.pid
SlurmdSpoolDir={prefix}/var/spool/%n
StateSaveLocation={prefix}/var/state
TmpFS={prefix}/var/tmp/%n
SlurmdParameters=config_overrides
ReturnToService=1
NodeName=node0 NodeHostname={host} Port=6819
PartitionName=primary Nodes=ALL Default=YES State=UP
"""
"""A minimal configuration, as the suite says it begins with; auto-config adds what a test wants."""
_DATABASE = "DbdHost=localhost\nSlurmUser=slurm\nStorageType=accounting_storage/mysql\nStorageLoc=slurm_acct_db\n"
_PROFILE = "export PATH={path}\n"


@dataclass(frozen=True, slots=True)
class Installation:
    """The folders of one prefix, and a suite that is run with it."""

    prefix: Path
    suite: Path  # the folder `testsuite` of Slurm's sources

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the suite's own process."""
        home = self.prefix / "home" / TESTER
        return {
            "PATH": self.path, "HOME": str(home), "USER": TESTER, "LOGNAME": TESTER, "LANG": "C.UTF-8",
            "SLURMSIM_USER": TESTER, "SLURM_TESTSUITE_CONF": str(self.prefix / "testsuite.conf"),
            "PYTHONPYCACHEPREFIX": str(self.prefix / "var" / "pycache"), "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(self.prefix / "python"), "UPSTREAM_PREFIX": str(self.prefix),
            "TERM": "dumb", "UPSTREAM_GENERATOR": _generator(),
        }  # fmt: skip

    @property
    def path(self) -> str:
        """PATH of all users: ours before the machine's."""
        ours = [str(self.prefix / name) for name in ("bin", "sbin", "tools")]
        return os.pathsep.join([*ours, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"])

    def make(self) -> None:
        """Write it all anew."""
        shutil.rmtree(self.prefix, ignore_errors=True)
        for name in ("bin", "sbin", "tools", "etc.orig", "namespace", "var/log", "var/run", "var/spool", "var/state",
                     "var/tmp", *(f"home/{user}" for user in (TESTER, "slurm", "root", *OTHERS))):  # fmt: skip
            (self.prefix / name).mkdir(parents=True)
        for name in (name for name in NAMES if name != "slurmd"):
            self._program(
                "bin" if name != "slurmrestd" else "sbin", name, "commands", "-P" if name == "slurmrestd" else "-IS"
            )  # the server needs installed packages
        for name in DAEMONS[:-2]:
            self._program("sbin", name, "daemons")
        for name in TOOLS:
            shutil.copy(STANDINS / f"{name}.sh", self.prefix / "tools" / name)
            (self.prefix / "tools" / name).chmod(0o755)
        self._install_models()
        facts = {"prefix": self.prefix, "host": socket.gethostname(), "path": self.path}
        _write(self.prefix / "etc.orig" / "slurm.conf", _CONF.format(**facts))
        _write(self.prefix / "etc.orig" / "slurmdbd.conf", _DATABASE)
        (self.prefix / "etc.orig" / "jwt_hs256.key").write_bytes(os.urandom(32))
        shutil.copytree(self.prefix / "etc.orig", self.prefix / "etc")
        _write(self.prefix / "namespace" / "profile", _PROFILE.format(**facts))
        _write(self.prefix / "namespace" / "passwd", self._users(
            "{name}:x:{uid}:{uid}:{name}:{home}:/bin/bash\n"))  # fmt: skip
        _write(self.prefix / "namespace" / "group", self._users("{name}:x:{uid}:\n"))
        _write(self.prefix / "testsuite.conf", "".join(f"{key}={value}\n" for key, value in (
            ("SlurmSourceDir", self.suite.parent), ("SlurmBuildDir", self.suite.parent),
            ("SlurmInstallDir", self.prefix), ("SlurmConfigDir", self.prefix / "etc"))))  # fmt: skip

    def _install_models(self) -> None:
        """Install what generated clients are made for, for the suite alone; without it their tests fail, and say so."""
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run([*command, "--target", str(self.prefix / "python"), MODELS], check=False,
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode:
            print(f"{MODELS} cannot be installed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)

    def _program(self, folder: str, name: str, module: str, options: str = "-IS") -> None:
        path = [str(HERE.parents[1]), str(Path(sys.modules["slurmsim"].__path__[0]).parent)]
        target = self.prefix / folder / name
        facts = {"module": module, "name": name, "prefix": str(self.prefix)}
        _write(target, _PROGRAM.format(python=sys.executable, options=options, path=path, **facts))
        target.chmod(0o755)

    def _users(self, line: str) -> str:
        known = {"root": 0, TESTER: TESTER_UID, "slurm": SLURM_UID, "nobody": 65534}
        return "".join(line.format(name=name, uid=uid, home=self.prefix / "home" / name) for name, uid in known.items())


def _generator() -> str:
    """Return the path of the generator of REST clients, a Java archive; empty if it is not installed."""
    package = importlib.util.find_spec("openapi_generator_cli")
    folder = Path(package.origin).parent if package is not None and package.origin else None
    return next((str(path) for path in folder.rglob("*.jar")), "") if folder is not None else ""


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
