"""The sandbox: every task is solved by its script, by nothing else, and copies share nothing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmsim.assistant.sandbox import MOST_WAIT_S
from slurmsim.assistant.tasks import KINDS, Attempt, Sandbox, listed, tasks
from slurmsim.errors import ConfigError

SOLUTIONS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("solutions.toml").read_text(encoding="utf-8")
)["solution"]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def solve(attempt: Attempt) -> None:
    found = SOLUTIONS[attempt.task.name]
    for line in found["do"]:
        code, said = attempt.command(line)
        assert code == 0, said
    attempt.answer(found.get("answer", ""))


def test_there_are_fifty_tasks_of_three_kinds_and_a_solution_of_each() -> None:
    assert len(tasks()) >= 50
    assert {task.kind for task in tasks().values()} == set(KINDS)
    assert SOLUTIONS.keys() == tasks().keys()
    assert [one["task"] for one in listed()] == list(tasks())


@pytest.mark.parametrize("name", tasks())
def test_a_task_is_solved_by_its_script_and_not_by_nothing(name: str, sandbox: Sandbox) -> None:
    nothing = sandbox.begin(name).grade()
    assert not nothing.solved and nothing.missing
    attempt = sandbox.begin(name)
    solve(attempt)
    assert attempt.grade().missing == ()


@pytest.mark.parametrize("name", [name for name, task in tasks().items() if task.kind == "diagnose"])
def test_another_answer_is_not_taken(name: str, sandbox: Sandbox) -> None:
    for wrong in ("", "nothing", "0", "-1", "job"):
        attempt = sandbox.begin(name)
        attempt.answer(wrong)
        assert not attempt.grade().solved


@pytest.mark.parametrize("name", [name for name, task in tasks().items() if task.kind == "tune"])
def test_who_cancels_what_waits_has_tuned_nothing(name: str, sandbox: Sandbox) -> None:
    attempt = sandbox.begin(name)
    assert attempt.command("scancel -t PENDING")[0] == 0
    assert "never starts" in " ".join(attempt.grade().missing)


def test_copies_share_nothing(sandbox: Sandbox) -> None:
    one, other = sandbox.begin("cancel-one"), sandbox.begin("cancel-one")
    before = other.command("squeue -o '%i %j %T'")
    solve(one)
    one.copy.wait(3600)
    assert one.command("squeue -h") == (0, [])
    assert other.command("squeue -o '%i %j %T'") == before
    assert sandbox.begin("cancel-one").command("squeue -o '%i %j %T'") == before


def test_users_have_their_own_rights(sandbox: Sandbox) -> None:
    attempt = sandbox.begin("why-resources")  # as bob
    code, said = attempt.command("scancel 1")
    assert code != 0 and said == ["scancel: error: Kill job error on job id 1: Access/permission denied"]


@pytest.mark.parametrize(
    "line",
    [
        "", "rm -rf /", "'", "sbatch /etc/passwd", "sbatch --wrap=x --export-file=/etc/passwd", "scontrol write config",
        "scontrol reconfigure", "sacctmgr dump lab file=x", "sacctmgr load x", "sacct --file=x", "squeue\0",
        "squeue " + "x" * 3000, "srun hostname", "slurmsim down",
    ],
)  # fmt: skip
def test_what_is_no_command_of_the_sandbox_is_one_line(line: str, sandbox: Sandbox) -> None:
    attempt = sandbox.begin("submit-one")
    with pytest.raises(ConfigError) as caught:
        attempt.command(line)
    assert "\n" not in str(caught.value)


def test_what_is_out_of_bounds_is_one_line(sandbox: Sandbox) -> None:
    attempt = sandbox.begin("submit-one")
    for seconds in (-1, MOST_WAIT_S + 1):
        with pytest.raises(ConfigError, match="up to 31 days"):
            attempt.copy.wait(seconds)
    with pytest.raises(ConfigError, match="up to 200"):
        attempt.answer("x" * 201)
    with pytest.raises(ConfigError, match="a name that tasks lists"):
        sandbox.begin("nothing")


def test_commands_that_fail_say_what_slurm_says(sandbox: Sandbox) -> None:
    attempt = sandbox.begin("submit-one")
    code, said = attempt.command("sbatch -p nowhere --wrap='sleep 1'")
    assert code == 1 and said == [
        "sbatch: error: invalid partition specified: nowhere",
        "sbatch: error: Batch job submission failed: Invalid partition name specified",
    ]
    assert attempt.command("squeue --nothing")[0] != 0
