"""Policies that no package offers: a class, an instance, a class in a file."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
import slurmsim.policy
from slurmsim.campaign.grid import read_grid
from slurmsim.campaign.keys import Keys
from slurmsim.cli import main
from slurmsim.errors import ConfigError, OutputError, PolicyError
from slurmsim.policy import (
    GivenPolicy,
    NamedCodeError,
    Policy,
    PolicyOption,
    Start,
    choose_policy,
    configured_policy,
)
from slurmsim.policy.base import without_code
from slurmsim.policy.registry import installed_policies, load_policy
from slurmsim.validate import validate_trace

FILE = """
from slurmsim.policy import Policy, PolicyOption, Start
from beside_the_policy import turn


class Longest(Policy):
    OPTIONS = {"sign": PolicyOption(int, -1, "1 or -1")}

    def schedule(self, view, now):
        for job in sorted(view.pending, key=lambda job: self.options["sign"] * turn(job)):
            if not (yield Start(job)):
                break
"""


class Shortest(Policy):
    """Shortest limit first, with an option and with something it counts."""

    OPTIONS = {"most": PolicyOption(int, 100, "jobs started in one pass")}  # noqa: RUF012

    def __init__(self, options: Any = None, sign: int = 1) -> None:
        super().__init__(options)
        self.sign, self.passes = sign, 0

    def schedule(self, view: Any, now: int) -> Any:
        self.passes += 1
        for job in sorted(view.pending, key=lambda job: self.sign * job.time_limit_s)[: self.options["most"]]:
            if not (yield Start(job)):
                break


def jobs() -> pd.DataFrame:
    """Return three jobs for one node, and what starts first says by which rule."""
    return pd.DataFrame({
        "job_id": [1, 2, 3, 4], "submit": [0, 1, 1, 1], "run_time": [10, 20, 30, 40], "time_limit": [60, 180, 120, 240],
        "nodes": 1, "user": "ann",
    })  # fmt: skip


def order(policy: Any, **more: Any) -> list[int]:
    """Return the jobs by their start under `policy`."""
    trace = slurmsim.run(jobs(), nodes=1, policy=policy, **more)
    found = trace.jobs_frame(dates=False).sort_values("start")
    return [int(one) for one in found["job_id"]]


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    (tmp_path / "beside_the_policy.py").write_text("def turn(job):\n    return job.time_limit_s\n")
    file = tmp_path / "longest.py"
    file.write_text(FILE)
    return file


@pytest.fixture(autouse=True)
def path_as_before(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take back what loading a file adds to the path and to the modules."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("longest", "beside_the", "mended", "easy_")):
            del sys.modules[name]


def test_a_class_an_instance_and_a_file_are_policies(policy_file: Path) -> None:
    assert order("fcfs") == [1, 2, 3, 4]
    assert order(Shortest) == [1, 3, 2, 4]
    assert order(Shortest(sign=-1)) == [1, 4, 2, 3]
    assert order(f"{policy_file}:Longest") == [1, 4, 2, 3]
    assert order(f"{policy_file}:Longest:sign=1") == [1, 3, 2, 4]


def test_a_run_never_changes_the_instance_it_was_given() -> None:
    given = Shortest({"most": "1"})
    assert order(given) == order(given)
    assert given.passes == 0


def test_a_trace_says_which_policy_it_was_and_lives_as_long_as_it_is_held(policy_file: Path) -> None:
    trace = slurmsim.run(jobs(), nodes=1, policy=f"{policy_file}:Longest:sign=1")
    assert trace.summary["policy"] == trace.manifest["policy"] == "Longest"
    assert trace.manifest["policy_options"] == {"sign": "1"}
    assert len(trace.manifest["policy_sha256"]) == 64
    place = trace.path
    assert place.is_dir() and not (place / "report.html").exists()
    del trace
    assert not place.parent.exists()


def test_a_run_that_fails_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ConfigError, match="no policy is called"):
        slurmsim.run(jobs(), nodes=1, policy="nothing")
    assert not list(tmp_path.iterdir())


def test_the_schedule_of_a_policy_from_python_is_valid(tmp_path: Path) -> None:
    slurmsim.run(jobs(), nodes=1, policy=Shortest, out=tmp_path / "run", report=False)
    report = validate_trace(tmp_path / "run")
    assert report.valid, report


class Named(Shortest):
    name = "easy"


class Spaced(Shortest):
    name = "my own"


class Breaks(Shortest):
    def __init__(self, options: Any = None) -> None:
        raise RuntimeError("not\ntoday")


class NoOption(Shortest):
    OPTIONS = {"a": 1}  # type: ignore[dict-item]  # noqa: RUF012


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Named, "calls itself 'easy', which is an installed policy"),
        (Spaced, "calls itself 'my own' .expected a name of letters, digits"),
        (int, "<class 'int'> is no slurmsim.policy.Policy"),
        (3, "3 is no slurmsim.policy.Policy"),
        (Breaks, "policy Breaks: cannot be made: RuntimeError: not today"),
        (NoOption, "policy NoOption: .* has OPTIONS that are no slurmsim.policy.PolicyOption"),
        (":a=1", "no policy is named"),
    ],
)
def test_what_is_no_policy_is_one_line(policy: Any, said: str) -> None:
    with pytest.raises((ConfigError, PolicyError), match=said) as raised:
        order(policy)
    assert "\n" not in str(raised.value)


def test_a_class_with_the_name_of_its_base_gets_its_own() -> None:
    """A name is not inherited: a class made of `fcfs` is not `fcfs`."""

    class Mine(load_policy("fcfs")):  # type: ignore[misc]
        pass

    assert GivenPolicy(Mine).name == Mine.name == "Mine"
    assert load_policy("fcfs").name == "fcfs"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}:Shorter", "longest.py: --policy: has no policy class 'Shorter' .expected .*longest.py:Longest"),
        ("{}:", "has no policy class ''"),
        ("{}x.py:Longest", "longest.pyx.py: --policy: cannot be read: No such file"),
        ("{}:Longest:sigh=1", "unknown option 'sigh' of policy Longest"),
        ("{}:Longest:sign", "'sign' is not an option"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(
    text: str, said: str, policy_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swf = tmp_path / "one.swf"
    swf.write_text("; MaxProcs: 4\n1 0 -1 600 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n")
    words = ["run", "--workload", str(swf), "--out", str(tmp_path / "out"), "--policy", text.format(policy_file)]
    assert main(words) != 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error
    assert re.search(said, error)


def test_a_file_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mended.py"
    for text, said in (
        ("import slurmsim\n\nraise SystemExit('go')\n", r"mended.py:3 cannot be loaded: SystemExit: go"),
        ("x = (\n", r"mended.py:1 cannot be loaded: SyntaxError"),
    ):
        file.write_text(text)
        with pytest.raises(PolicyError, match=said):
            choose_policy(f"{file}:Mine")
    file.write_text("from slurmsim.policy import Policy\n\n\nclass Mine(Policy):\n    label = 'a'\n")
    assert choose_policy(f"{file}:Mine").make().label == "a"
    file.write_text(file.read_text().replace("'a'", "'b'"))
    assert choose_policy(f"{file}:Mine").make().label == "b"


def test_a_file_called_like_a_module_takes_no_place_of_it(tmp_path: Path) -> None:
    file = tmp_path / "easy_-1.py"
    json = tmp_path / "json.py"
    for one in (file, json):
        one.write_text("from slurmsim.policy import Policy\nclass Mine(Policy):\n    pass\n")
        assert choose_policy(f"{one}:Mine").name == "Mine"
    import json as standard

    assert hasattr(standard, "loads")


def test_an_error_in_a_file_says_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mended.py"
    file.write_text("from slurmsim.policy import Policy\n\n\nclass Mine(Policy):\n    def schedule(self, view, now):\n"
                    "        view.pending[0].time_limit_s = 1\n        return ()\n")  # fmt: skip
    with pytest.raises(PolicyError, match=r"mended.py:6"):
        order(f"{file}:Mine")


class WrongTimes(Policy):
    event_driven = False

    def next_time(self, view: Any, now: int, changed: bool) -> Any:
        if now == 0:
            return 1.5
        raise ValueError("late")


class WrongConfiguration(Policy):
    def configure(self, scheduler_parameters: Any, start_time: int) -> None:
        raise KeyError("bf_what")


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            WrongTimes,
            r"wants to be called at 1.5 \(expected whole seconds|TypeError: .*float",
        ),  # as compiled code says it
        (WrongConfiguration, "KeyError: 'bf_what'"),
    ],
)
def test_what_goes_wrong_beside_schedule_is_one_line_too(policy: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said) as raised:
        order(policy)
    assert "\n" not in str(raised.value)


# -- what a file may name -----------------------------------------------------------------------------------------


def test_a_file_cannot_name_a_file_of_code(policy_file: Path, tmp_path: Path) -> None:
    text = f"{policy_file}:Longest"
    with pytest.raises(ConfigError, match=r"SchedulerType: .*longest.py:Longest names code, which a file may not"):
        configured_policy(f"sched/{text}")
    with without_code(), pytest.raises(NamedCodeError):
        choose_policy(text)
    with pytest.raises(ConfigError, match="no policy is called"):
        load_policy(text)
    grid = tmp_path / "grid.toml"
    grid.write_text(f'policies = ["fcfs", "longest.py:Longest"]\nworkloads = ["{tmp_path / "x.swf"}"]\n')
    with pytest.raises(ConfigError, match=r"policies\[2\]: .*longest.py:Longest names code"):
        read_grid(grid)
    assert "longest" not in sys.modules
    policies = read_grid(grid, allow_code=True).policies
    assert policies[1].name == "longest.py:Longest" and policies[1].options["policy"] == text


# -- many runs ----------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import slurmsim
from slurmsim.policy import Policy, Start

SIGN = 1


class Mine(Policy):
    def schedule(self, view, now):
        for job in sorted(view.pending, key=lambda job: SIGN * job.time_limit_s):
            if not (yield Start(job)):
                break


def swept():
    return slurmsim.sweep({"workloads": [{"workload": sys.argv[1], "nodes": 1}], "policies": ["fcfs", Mine]}, out="sw")


one = swept()
assert not one.failed, one.failed
means = dict(zip(one.frame()["policy"], one.frame()["mean_wait_s"]))
two = swept()
SIGN = -1
three = swept()
changed = dict(zip(three.frame()["policy"], three.frame()["mean_wait_s"]))
print(one.ran, two.ran, three.ran, means["fcfs"] == changed["fcfs"], means["Mine"] < changed["Mine"])
"""


def workload(tmp_path: Path) -> str:
    """Write three jobs as a log; return its name."""
    from slurmsim_workloads import write_workload
    from slurmsim_workloads.parquet import from_frame

    file = tmp_path / "jobs.parquet"
    write_workload(from_frame(jobs(), "jobs"), file)
    return str(file)


@pytest.mark.parametrize("how", [("study.py",), pytest.param(("-m", "study"), marks=pytest.mark.slow)])
def test_a_class_of_a_script_runs_in_processes_by_value(how: tuple[str, ...], tmp_path: Path) -> None:
    """What is in the class and what it refers to counts: a cell is run again when that has changed, else not."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "study.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, *how, workload(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONSAFEPATH": ""},  # `-m study` is found in the working folder
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "0", "1", "True", "True"]


def test_a_class_another_process_cannot_have_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Shortest):
        pass

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(
        ConfigError, match=r"Mine is defined in .*, where no other process finds it .expected cloudpickle"
    ):
        pickle.dumps(GivenPolicy(Mine))
    monkeypatch.undo()
    pytest.importorskip("cloudpickle")
    Mine.held = (one for one in ())  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="policy Mine cannot be sent to another process: TypeError"):
        pickle.dumps(GivenPolicy(Mine))


def test_a_class_that_can_be_imported_is_sent_by_name() -> None:
    given = pickle.loads(pickle.dumps(GivenPolicy(Shortest)))
    assert given.policy is Shortest and not given.content()
    again = pickle.loads(pickle.dumps(GivenPolicy(Shortest(sign=-1)))).policy
    assert type(again) is Shortest and again.sign == -1


def test_the_key_of_a_cell_knows_its_policy(policy_file: Path, tmp_path: Path) -> None:
    def key(policy: Any) -> str:
        (cell,) = read_grid({"workloads": [{"workload": log, "nodes": 1}], "policies": [policy]}).cells()
        return Keys().of(cell)

    log = workload(tmp_path)
    text = f"{policy_file}:Longest"
    first = key(text)
    assert first == key(text) != key(text + ":sign=1")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    assert len({key(Shortest), key(Shortest(sign=-1)), key(Shortest({"most": "1"})), first}) == 4
    policy_file.write_text(FILE.replace("-1", "-2", 1))
    assert key(text) != first


# -- names that are taken -----------------------------------------------------------------------------------------


def test_another_package_cannot_take_the_name_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = EntryPoint("fcfs", "slurmsim_policies.fcfs:Fcfs", slurmsim.policy.GROUP)
    claim = EntryPoint("fcfs", f"{__name__}:Shortest", slurmsim.policy.GROUP)
    monkeypatch.setattr("slurmsim.policy.registry.entry_points", lambda *, group: [claim, real])
    assert load_policy("fcfs").__module__ == "slurmsim_policies.fcfs"
    good, refused = installed_policies()
    assert good.policy is load_policy("fcfs")
    assert (
        refused.policy is None
        and refused.problem == f"{claim.value}: refused: the name is that of a policy of slurmsim"
    )
    assert main(["policies"]) == 0 and claim.value in capsys.readouterr().out
    assert main(["policies", "fcfs"]) == 0
    with pytest.warns(UserWarning, match=f"{claim.value} is refused"):
        assert order("fcfs") == [1, 2, 3, 4]


# -- live clusters ------------------------------------------------------------------------------------------------


class FewerNodesFirst(Policy):
    def schedule(self, view: Any, now: int) -> Any:
        for job in sorted(view.pending, key=lambda job: job.n_nodes):
            if not (yield Start(job)):
                break


class Other(FewerNodesFirst):
    name = "FewerNodesFirst"


def started(cluster: slurmsim.Cluster) -> list[str]:
    """Return the names of what runs once a full cluster is free again."""
    for line in ("-J full -N2 -t 1 --wrap 'sleep 60'", "-J two -N2 -t 5 --wrap 'sleep 60'",
                 "-J one -N1 -t 5 --wrap 'sleep 60'"):  # fmt: skip
        assert cluster.run(f"sbatch --exclusive {line}").returncode == 0
    cluster.step(61)
    return sorted(job.name for job in cluster.jobs() if job.state == "RUNNING")


@pytest.mark.parametrize("how", ["class", "instance", "file", "installed", "conf"])
def test_a_live_cluster_has_the_policy_it_is_given(how: str, tmp_path: Path) -> None:
    policy: Any = {"class": FewerNodesFirst, "instance": FewerNodesFirst(), "installed": "fcfs"}.get(how)
    conf = None
    if how in ("file", "conf"):
        file = tmp_path / "mended.py"
        file.write_text("from slurmsim.policy import Policy, Start\n\n\nclass Mine(Policy):\n"
                        "    def schedule(self, view, now):\n"
                        "        few = sorted(view.pending, key=lambda job: job.n_nodes)\n"
                        "        return [Start(job) for job in few[:1]]\n")  # fmt: skip
        policy = f"{file}:Mine"
    if how == "conf":
        conf = tmp_path / "slurm.conf"
        conf.write_text("ClusterName=t\nSlurmctldHost=h\nSchedulerType=sched/fcfs\nNodeName=n[1-2] CPUs=8\n"
                        "PartitionName=p Nodes=ALL Default=YES\n")  # fmt: skip
    with slurmsim.cluster(nodes=2, frozen=True, policy=policy, conf=conf) as c:
        assert started(c) == (["two"] if how == "installed" else ["one"])
        said = c.run("scontrol show config").stdout
        name = {"file": "Mine", "conf": "Mine", "installed": "fcfs"}.get(how, "FewerNodesFirst")
        assert re.search(rf"SchedulerType\s+= sched/{name}\n", said)
        with c.fork() as copy:
            assert copy.run("sbatch -N1 --wrap true").returncode == 0


def test_who_goes_on_with_a_cluster_gives_its_policy_again(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with slurmsim.cluster(nodes=2, frozen=True, policy=FewerNodesFirst, folder=folder) as c:
        assert started(c) == ["one"]
        with pytest.raises(ConfigError, match="another policy called 'FewerNodesFirst' is in use in this process"):
            slurmsim.cluster(nodes=2, frozen=True, policy=Other).__enter__()
        c.snapshot(tmp_path / "copy")
    with slurmsim.cluster(nodes=2, frozen=True, policy=FewerNodesFirst, folder=folder) as c:
        assert [job.name for job in c.jobs() if job.state == "RUNNING"] == ["one"]
    with slurmsim.restore(tmp_path / "copy", frozen=True, policy=FewerNodesFirst) as c:
        assert [job.name for job in c.jobs() if job.state == "RUNNING"] == ["one"]
    with pytest.raises((ConfigError, OutputError), match="no policy is called 'FewerNodesFirst'"):
        slurmsim.restore(tmp_path / "copy", frozen=True).__enter__()


def test_a_daemon_of_its_own_has_installed_policies_only(
    policy_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--state", str(tmp_path / "a"), "--policy", f"{policy_file}:Longest"]) != 0
    assert "names code, which a file may not" in capsys.readouterr().err
    assert main(["up", "--state", str(tmp_path / "a"), "--policy", "easier"]) != 0
    assert "no policy is called 'easier'" in capsys.readouterr().err
    assert not (tmp_path / "a" / "journal").exists()
