"""Modules in the working folder are not imported by our programs, whatever they are called."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from slurmsim.live.programs import NAMES, write_programs
from slurmsim.live.web import start_page
from slurmsim.protocol import PATIENCE_VARIABLE
from slurmsim.safe_path import is_program
from slurmsim.sessions import clock_programs
from slurmsim.slurmctld.processes.solver import WORKER

TRAPS = (
    "argparse", "asyncio", "bisect", "configparser", "csv", "dataclasses", "datetime", "decimal", "email", "evil",
    "gzip", "html", "http", "inspect", "ipaddress", "jinja2", "json", "jwt", "logging", "matplotlib",
    "multiprocessing", "numpy",
    "ortools", "pandas", "pathlib", "pickle", "platform", "pyarrow", "random", "scipy", "select", "selectors", "shlex",
    "simpy", "slurmsim_policies", "slurmsim_workloads", "socket", "sortedcontainers", "sqlite3", "ssl", "starlette",
    "subprocess", "tempfile", "threading", "tomllib", "tqdm", "traceback", "typing", "urllib", "uvicorn", "uuid",
    "yaml", "_slurmsim_rows", "_slurmsim_picking",
)  # fmt: skip
TRAP = "import os\nos.write(os.open({mark!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), __name__.encode() + b' ')\n"
SLURMSIM = str(Path(sysconfig.get_path("scripts")) / "slurmsim")
PYTHON = sys.executable
GRID = 'workloads = ["log.csv"]\npolicies = ["easy", "fcfs"]\n[run]\nnodes = 2\n'
LOG = "job_id,submit,run_time,nodes\n1,0,10,1\n2,1,10,2\n"


@cache
def _loaded_at_start() -> set[str]:
    """What Python itself loads before any program of ours; an editable installation adds some."""
    words = [PYTHON, "-c", "import sys; print(*{name.partition('.')[0] for name in sys.modules})"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


class Trap:
    """A working folder full of modules, and what ran in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder / "strange", folder / "ran"
        self.folder.mkdir()
        for name in set(TRAPS) - _loaded_at_start():
            (self.folder / f"{name}.py").write_text(TRAP.format(mark=str(self.mark)), "utf-8")
        (self.folder / "grid.toml").write_text(GRID, "utf-8")
        (self.folder / "log.csv").write_text(LOG, "utf-8")

    @property
    def sprung(self) -> str:
        return self.mark.read_text("utf-8") if self.mark.exists() else ""

    def run(self, *words: str, path: str | None = None, stdin: str = "", good: bool = True, **more: str) -> str:
        """Run a program in the folder; what it printed. `path` is PYTHONPATH, `more` are other variables."""
        ours = ("PYTHONPATH", "PYTHONSAFEPATH", "SLURM")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        environ["XDG_STATE_HOME"] = str(self.folder.parent / "state")
        environ |= more
        if path is not None:
            environ["PYTHONPATH"] = path
        done = subprocess.run(
            words, cwd=self.folder, env=environ, input=stdin, capture_output=True, text=True, check=False
        )
        assert not self.sprung, f"{words} imported {self.sprung}"
        assert done.returncode == 0 or not good, done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def test_a_trap_springs(trap: Trap) -> None:
    """The folder is on the path of an ordinary ``python -m``: what follows would be found."""
    with pytest.raises(AssertionError, match="imported json"):
        trap.run(PYTHON, "-m", "timeit", "-n", "1", "-r", "1", "import json")


ENTRIES = {"slurmsim": [SLURMSIM], "python -m slurmsim": [PYTHON, "-m", "slurmsim"]}


@pytest.mark.parametrize("path", [None, "/nowhere::"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_command_line(entry: str, path: str | None, trap: Trap) -> None:
    assert "backfill" in trap.run(*ENTRIES[entry], "policies", path=path)


def test_workers_of_a_sweep(trap: Trap) -> None:
    """With all that is loaded late."""
    trap.run(
        *ENTRIES["python -m slurmsim"], "sweep", "grid.toml", "--out", "swept", "--workers", "1", "--quiet", path=":"
    )


def test_a_folder_that_is_named_stays(trap: Trap) -> None:
    """PYTHONPATH with a name in it is the user's word."""
    with pytest.raises(AssertionError, match="imported"):
        trap.run(*ENTRIES["slurmsim"], "policies", path=".")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_programs(tmp_path_factory.mktemp("cluster"))
    clock_programs.install(folder)
    return folder


@pytest.mark.parametrize("name", [*NAMES, "sleep", "date"])
def test_programs_of_a_cluster(name: str, programs: Path, trap: Trap) -> None:
    word = {"sleep": "0", "slurmrestd": "-V"}.get(name, "--version")
    no_wait = {PATIENCE_VARIABLE: "1"}  # for a controller that will never answer
    trap.run(str(programs / name), word, path=":", good=name in ("sleep", "squeue"), **no_wait)


def test_the_worker_of_a_solver(trap: Trap) -> None:
    asked = '{"number": 1, "solver": "json:loads", "request": "\\"[1]\\""}\n'
    trap.run(PYTHON, "-P", "-m", WORKER, stdin=asked, good=False)


def test_daemon_supervisor_and_page(trap: Trap) -> None:
    folder = trap.folder.parent / "c"
    trap.run(SLURMSIM, "up", "--state", str(folder), "--nodes", "1", path=":")
    try:
        script = ["sbatch", "--wait", "-o", "/dev/null", "--wrap", "true"]
        trap.run(str(folder / "bin" / script[0]), *script[1:], path=":")
        with start_page(folder) as page:
            assert page.url
    finally:
        trap.run(SLURMSIM, "down", "--state", str(folder), path=":")


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("python -m slurmsim run", True),
        ("python -P -m slurmsim.slurmctld /folder", True),
        ("python /usr/bin/slurmsim run", True),
        ("python study.py -m slurmsim", False),
        ("python -m pytest slurmsim", False),
        ("python -m slurmsimilar", False),
        ("python -m", False),
        ("python", False),
    ],
)
def test_whose_program(line: str, ours: bool) -> None:
    assert is_program(line.split()) is ours


def test_settings_of_matplotlib_in_the_folder() -> None:
    """It reads ./matplotlibrc, which could have every text go through LaTeX."""
    import matplotlib

    from slurmsim.report.style import RC, styled

    @styled
    def drawn() -> tuple[object, ...]:
        return tuple(matplotlib.rcParams[key] for key in ("text.usetex", "path.simplify", *RC))

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        expected = drawn()
    with matplotlib.rc_context({"text.usetex": True, "path.simplify": False}):
        assert drawn() == expected and expected[:2] == (False, True)
        assert matplotlib.rcParams["text.usetex"] is True
