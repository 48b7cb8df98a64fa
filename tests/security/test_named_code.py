"""Files name registered policies, never code: docs/security.md."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from slurmsim.campaign.grid import read_grid
from slurmsim.cli import main
from slurmsim.core.records.messages import AskSolver
from slurmsim.errors import ConfigError
from slurmsim.live.settings import Settings, make_folder
from slurmsim.policy import configured_policy, load_policy
from slurmsim.sessions.code import check_no_code, harmless
from slurmsim.sessions.normalising import Answer
from slurmsim.sessions.session_file import Command, Session
from slurmsim.slurmctld.history.reconfiguration import read_configuration
from slurmsim.slurmctld.processes.solver import Solver

CONF = """ClusterName=c
SlurmctldHost=h
SchedulerType=sched/{policy}
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
LOG = "job_id,submit,run_time,nodes\n1,0,10,1\n2,1,10,2\n3,1,10,1\n"
EVIL = "import pathlib\npathlib.Path({mark!r}).write_text('ran')\ndef go(request):\n    return None\n"
REFUSED = "option solver of policy .* names code, which a file may not"
POLICIES = ["cp_eurora:solver=evil:go", "pcp20:solver=evil:go", "titan:base=hcp19,solver=evil:go"]


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that exists once the module ``evil`` has been imported."""
    found = tmp_path / "ran"
    code = tmp_path / "code"
    code.mkdir()
    (code / "evil.py").write_text(EVIL.format(mark=str(found)), "utf-8")
    monkeypatch.syspath_prepend(str(code))
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "w.csv"
    file.write_text(LOG, "utf-8")
    return file


def conf_of(folder: Path, policy: str) -> Path:
    file = folder / "slurm.conf"
    file.write_text(CONF.format(policy=policy), "utf-8")
    return file


@pytest.mark.parametrize("policy", POLICIES)
def test_a_configuration_names_no_code(policy: str, tmp_path: Path, mark: Path, log: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    conf = str(conf_of(tmp_path, policy))
    for words in (["run", "--workload", str(log), "--conf", conf, "--out", str(tmp_path / "out")], ["check", conf]):
        assert main(words) == 2, words
        said = capsys.readouterr()
        assert "names code, which a file may not" in said.out + said.err, words
    with pytest.raises(ConfigError, match=REFUSED):
        configured_policy(f"sched/{policy}")
    assert not mark.exists()


def test_set_writes_into_the_configuration(tmp_path: Path, mark: Path, log: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    conf = str(conf_of(tmp_path, "easy"))
    words = ["run", "--workload", str(log), "--conf", conf, "--out", str(tmp_path / "out"), "--set"]
    assert main([*words, f"SchedulerType=sched/{POLICIES[0]}"]) == 2
    assert "names code" in capsys.readouterr().err and not mark.exists()


def test_the_command_line_names_code(tmp_path: Path, mark: Path, log: Path) -> None:
    conf = str(conf_of(tmp_path, "easy"))
    words = ["run", "--workload", str(log), "--conf", conf, "--policy", POLICIES[0]]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert mark.exists()
    assert load_policy("cp_eurora")({"solver": "evil:go"}).solvers == {"evil:go"}


def test_the_name_of_the_own_solver_is_no_strange_code() -> None:
    own = "slurmsim_policies.cp.solve:solve"
    assert configured_policy(f"sched/pcp20:solver={own}").solvers == {own}
    assert configured_policy("sched/titan:base=pcp20").solvers == {own}
    assert configured_policy("sched/parm").solvers == {"slurmsim_policies.parm.solver:solve"}


def test_a_live_cluster_is_not_made(tmp_path: Path, mark: Path) -> None:
    """Nor is one taken up again from a journal, a snapshot or a recorded session, which carry the texts."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    header = make_folder(folder, Settings(conf=str(conf_of(tmp_path, POLICIES[0])), mode="frozen"))
    for texts in (None, {"slurm.conf": CONF.format(policy=POLICIES[0])}):
        with pytest.raises(ConfigError, match=REFUSED):
            read_configuration(header, folder, texts)
    assert not mark.exists()


GRID = 'workloads = ["w.csv"]\npolicies = ["easy", "{policy}"]\n[run]\nnodes = 2\n'


def test_a_grid_names_code_only_if_it_is_allowed(tmp_path: Path, mark: Path, log: Path,
                                                 capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    file = tmp_path / "grid.toml"
    file.write_text(GRID.format(policy=POLICIES[0]), "utf-8")
    words = ["sweep", str(file), "--dry-run"]
    assert main(words) == 2
    assert "policies[2]: option solver of policy cp_eurora names code" in capsys.readouterr().err
    assert main([*words, "--allow-code"]) == 0
    assert not mark.exists()  # it was planned, and not run
    table = {"workloads": [str(log)], "policies": [POLICIES[0]], "run": {"nodes": 2}}
    assert len(read_grid(table)) == 1  # a mapping is Python


@pytest.mark.parametrize("known", [False, True])
def test_a_snapshot_names_no_solver(known: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """What it still awaits is asked of the policy's own solvers only; the answer of another one is "none"."""
    told: list[str] = []

    async def ask() -> None:
        solver = Solver(lambda asked, answer: told.append(answer))
        solver.tend(AskSolver(1, "json:loads", '"[1]"'), {"json:loads"} if known else {"other:one"})
        while not told:
            await asyncio.sleep(0.01)
        await solver.close()

    asyncio.run(asyncio.wait_for(ask(), 30))
    assert told == ["[1]" if known else "null"]
    assert ("is no solver of the policy" in capsys.readouterr().err) is not known


HARMFUL = {"LD_PRELOAD": "/tmp/evil.so", "PYTHONPATH": "/tmp", "EDITOR": "/tmp/evil", "SLURM_JWT": "t", "TZ": "UTC",
           "SQUEUE_FORMAT": "%i"}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "scripts", "said"),
    [
        (["squeue"], False, None),
        (["sbatch", "a.sh"], False, None),
        (["sbatch", "a.sh"], True, "runs its batch scripts"),
        (["srun", "sh", "-c", "evil"], False, "command 1 runs a program or writes a file: srun sh -c evil"),
        (["/usr/bin/salloc", "evil"], False, "command 1 runs a program"),
        (["sbcast", "evil", "/home/ann/.profile"], False, "or writes a file"),
        (["scontrol", "write", "config", "/home/ann/.profile"], False, "command 1 writes a file"),
        (["scontrol", "-M", "c", "wr", "config", "x"], False, "command 1 writes a file"),
        (["sacctmgr", "-i", "Dump", "c", "file=x"], False, "command 1 writes a file"),
        (["scontrol", "show", "job"], False, None),
        (["sacctmgr", "-i", "delete", "user", "ann"], False, None),
        ([], False, None),
    ],
)
def test_a_session_runs_no_programs(words: list[str], scripts: bool, said: str | None) -> None:
    command = Command(1, "ann", tuple(words), "/", 0, 0, "", HARMFUL, {}, Answer(0, "", ""), False, 0, ())
    session = Session({}, "", "", {}, 0, [command], False)
    if said is None:
        check_no_code(session, scripts=scripts)
    else:
        with pytest.raises(ConfigError, match=said):
            check_no_code(session, scripts=scripts)
    typed = Command(
        1, "ann", ("scontrol",), "/", 0, 0, "show job\nwrite config x\n", {}, {}, Answer(0, "", ""), False, 0, ()
    )
    with pytest.raises(ConfigError, match="writes a file"):
        check_no_code(Session({}, "", "", {}, 0, [typed], False), scripts=False)
    assert harmless(HARMFUL) == {"TZ": "UTC", "SQUEUE_FORMAT": "%i"}
