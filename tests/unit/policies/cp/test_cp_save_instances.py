"""``--save-instances``: what a solver is asked for is a file that dispatches alike; the checker judges its answer."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from cp_cases import plan_from
from plan_checker import problems

import slurmsim
from slurmsim.cli import main
from slurmsim.cli.problem_file import read_problem
from slurmsim.errors import ConfigError
from slurmsim.replaying.instances import InstanceSaver
from slurmsim_policies.cp.plain import instance_from, plain_from
from slurmsim_policies.cp.policy import Pcp20

HEAD = "; MaxNodes: 4\n; MaxProcs: 16\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Jobs of one to 16 CPUs that come faster than they go: queues on 4 nodes of 4 CPUs."""
    rows = [f"{n} {20 * n} -1 {60 + 37 * n % 90} {1 + 7 * n % 16} -1 -1 {1 + 7 * n % 16} 200" for n in range(1, 31)]
    file = tmp_path / "log.swf"
    file.write_text(HEAD + "".join(f"{row} -1 1 1 1 1 1 1 -1 -1\n" for row in rows))
    return file


def test_saved_instances_are_dispatched_and_judged(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    trace = slurmsim.run(log, out=tmp_path / "out", policy="pcp20:limit=0.01", save_instances=folder, report=False)
    files = sorted(folder.iterdir())
    assert len(files) > 3 and trace.summary["unfinished"] == 0
    for file in files:
        data = read_problem(file, "now")
        instance = instance_from(data)
        assert instance_from(plain_from(instance)) == instance and len(instance.waiting) > 0
        answer = Pcp20({"limit": "0.01"}).dispatch(data)
        assert problems(instance, plan_from(answer), queued=answer["queued"]) == []
        assert answer["asked"] or answer["queued"], "contested: a list schedule does not start all that waits"
    assert main(["dispatch", str(files[0]), "--policy", "cp_classes", "--json"]) == 0


def test_a_bounded_number_evenly_spread_and_always_the_same(log: Path, tmp_path: Path) -> None:
    kept = []
    for turn in ("a", "b"):
        slurmsim.run(log, out=tmp_path / turn, policy="pcp20:limit=0.01", save_instances=tmp_path / f"i-{turn}",
                     max_instances=3, report=False)  # fmt: skip
        kept.append({file.name: file.read_bytes() for file in (tmp_path / f"i-{turn}").iterdir()})
    assert kept[0] == kept[1] and 2 <= len(kept[0]) <= 3
    numbers = [int(name.removesuffix(".json")) for name in sorted(kept[0])]
    assert numbers[0] == 0 and len({b - a for a, b in pairwise(numbers)}) == 1


def test_every_second_goes_when_there_are_too_many(tmp_path: Path) -> None:
    saver = InstanceSaver(tmp_path / "i", 4)
    for number in range(21):
        saver.save(json.dumps({"instance": {"now": number}}))
    assert [file.name for file in saver.kept] == ["000000.json", "000008.json", "000016.json"]
    assert sorted((tmp_path / "i").iterdir()) == saver.kept and saver.seen == 21
    with pytest.raises(ConfigError, match="no instance"):
        InstanceSaver(tmp_path / "j").save("[1]")


def test_a_policy_that_asks_no_solver_is_warned_about(log: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="asked no solver"):
        slurmsim.run(log, out=tmp_path / "out", policy="easy", save_instances=tmp_path / "i", report=False)
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize(("folder", "most", "said"), [(".", "5", "there already"), ("new", "0", "0 instances")])
def test_refused_in_one_line(
    log: Path, tmp_path: Path, folder: str, most: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    options = ["--save-instances", str(tmp_path / folder), "--max-instances", most, "--out", str(tmp_path / "out")]
    assert main(["run", "--workload", str(log), "--policy", "pcp20", *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
