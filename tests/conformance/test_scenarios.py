"""The scenarios of slurm-conformance: their format, how answers are compared, and slurmsim against real Slurm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from slurm_conformance import answers
from slurm_conformance.__main__ import chosen, main
from slurm_conformance.answers import Answer, expected, join
from slurm_conformance.judging import alike, normal, placed, submitted
from slurm_conformance.report import Verdict, differences, judge, table
from slurm_conformance.runner import Run, run
from slurm_conformance.scenario import HERE, FormatError, Step, read, read_all
from slurm_conformance.target import Said, Slurmsim
from slurm_conformance.target import _run as target_run
from slurm_conformance.target import read as read_target

RELEASES = ("22.05", "24.11", "26.05")
BAR = 0.98  # of the scenarios that real Slurm answers alike each time
KNOWN = {
    "refusals: scontrol answers [show step 999]",
    "arrays: a task depends on the task of its own number",  # here a record is split with the next pass
    "gpus: a job asks for GPUs by [--gpus-per-task=1 -n 2]",
    "gpus: a job asks for GPUs by [--gpus-per-socket=1 --sockets-per-node=2]",
}
"""What slurmsim answers otherwise on one release at least: a list that only gets shorter."""


def test_every_scenario_has_a_cluster_and_a_name_of_its_own() -> None:
    found = read_all()
    assert len(found) >= 300
    assert {one.cluster for one in found} == {path.name for path in (HERE / "clusters").iterdir()}


def test_every_scenario_has_answers_of_real_slurm() -> None:
    for area in sorted({one.area for one in read_all()}):
        known = answers.read(area)
        for one in (each for each in read_all() if each.area == area):
            assert len(known[one.name]) == sum(step.compared for step in one.steps), one.key
            assert all(set(entry) <= set(RELEASES) for entry in known[one.name])


def test_no_answer_stands_for_no_scenario() -> None:
    for path in (HERE / "answers").glob("*.json"):
        assert set(answers.read(path.stem)) <= {one.name for one in read_all() if one.area == path.stem}


def scenario_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "one.toml"
    path.write_text(text)
    return path


def test_lines_are_steps(tmp_path: Path) -> None:
    text = """cluster = "site"
[[scenario]]
name = "two"
since = "24.11"
each = ["a", "b"]
run = '''
root# sbatch {each}
wait 5
until 'R': alice$ squeue -j {job}
'''
"""
    first, second = read(scenario_of(tmp_path, text))
    assert (first.name, second.name) == ("two [a]", "two [b]")
    assert first.steps == (
        Step("root", "sbatch a"), Step(seconds=5), Step("alice", "squeue -j {job}", True, "R"),
    )  # fmt: skip
    assert not first.holds_for("23.11")
    assert first.holds_for("24.11")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[scenario]]\nname = 'x'\n", "no name or run"),
        ("[[scenario]]\nname = 'x'\nrun = 'squeue'\n", "expected USER$ COMMAND"),
        ("[[scenario]]\nname = 'x'\nrun = ''\nsice = 1\n", "sice"),
        ("[[scenario]]\nname = 'x'\nrun = ''\nsince = 'old'\n", "expected one like 24.11"),
        ("[[scenario", "one.toml"),
    ],
)
def test_a_file_that_is_wrong_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FormatError, match=told.replace("$", r"\$")) as raised:
        read(scenario_of(tmp_path, text))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "name='x'", "name='x'\nrelease='y'", "name='x'\nrelease='24.11'\nas='sudo'",
                                  "name='x'\nrelease='24.11'\nrate=0"])  # fmt: skip
def test_a_target_that_is_wrong_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match=r"one\.toml: "):
        read_target(scenario_of(tmp_path, text))


def test_ids_of_jobs_are_replaced_in_commands_and_answers() -> None:
    assert submitted("sbatch x", "Submitted batch job 5001\n") == ["5001"]
    assert submitted("sbatch --parsable x", "5002;site\n") == ["5002"]
    assert submitted("sinfo -o %m", "16000\n") == []
    assert submitted("salloc true", "salloc: Granted job allocation 5003") == ["5003"]
    assert placed("squeue -j {job},{job1} {job9}", ["5001", "5002"]) == "squeue -j 5002,5001 {job9}"
    assert normal(0, "5001_2 15001\n", "2026-01-05T08:00:00", ["5001"]) == Answer(0, ("{job1}_2 15001",), ("<time>",))


def test_blanks_count_where_a_scenario_is_exact() -> None:
    one, other = Answer(0, ("a  b",), ()), Answer(0, ("a b",), ())
    assert alike(one, other, exact=False)
    assert not alike(one, other, exact=True)
    assert not alike(one, Answer(1, ("a  b",), ()), exact=False)


def test_a_release_inherits_the_answer_of_the_one_before() -> None:
    old, new = Answer(0, ("old",), ()), Answer(0, ("new",), ())
    entry = join(join(join({}, "26.05", new), "22.05", old), "24.11", old)
    assert entry == {"22.05": old, "26.05": new}
    assert expected(entry, "25.11") == old
    assert expected(entry, "26.05") == new
    assert expected(entry, "20.11") is None


def test_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept: answers.Answers = {"x": [{"22.05": Answer(1, ("é",), ("no",)), "24.11": None}]}
    answers.write("area", kept, tmp_path)
    assert answers.read("area", tmp_path) == kept
    (tmp_path / "area.json").write_text('{"x": [3]}')
    with pytest.raises(FormatError, match=r"area\.json"):
        answers.read("area", tmp_path)


class Parrot:
    """A target that answers the same to everything."""

    name, release = "a parrot", "24.11"

    def can_be(self, cluster: str) -> bool:
        return bool(cluster)

    def start(self, cluster: str) -> None:
        self.waited = 0

    def stop(self) -> None:
        pass

    def ask(self, user: str, command: str) -> Said:
        return Said(0, "idle\n" if "sinfo" in command else "left\n", "")

    def wait(self, seconds: int) -> None:
        self.waited += seconds


def test_a_parrot_does_not_pass() -> None:
    wanted = [one for one in read_all() if one.area == "dependencies"][:5]
    verdicts = [judge(one, answers.read("dependencies"), "24.11") for one in run(Parrot(), wanted, lambda _line: None)]
    assert [one.outcome for one in verdicts] == ["differs"] * 5
    assert any("this one: exit 0" in line for line in differences(verdicts))
    assert list(table(verdicts, "x"))[-1].split() == ["all", "0", "5", "5"]


class Gone(Parrot):
    """A target whose cluster ends after its first scenario."""

    def ask(self, user: str, command: str) -> Said:
        return super().ask(user, command) if "sinfo" in command else Said(1, "", "no cluster\n")


def test_a_cluster_that_is_gone_is_told() -> None:
    wanted = [one for one in read_all() if one.area == "dependencies"][:2]
    with pytest.raises(FormatError, match="do not go: no cluster"):
        list(run(Gone(), wanted, lambda _line: None))


def test_a_run_that_compares_nothing_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "t.toml"
    target.write_text("name='none'\nrelease='24.11'\nclusters=['other']\n")
    assert main(["--target", str(target)]) == 2
    assert "nothing could be compared" in capsys.readouterr().err


def test_a_pipeline_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slurm_conformance.target.LIMIT_S", 0)
    said = target_run(["bash", "-c", "sleep 600 | cat"], slice_s=0.1)
    assert (said.status, said.output) == (124, "")


def test_what_real_slurm_did_not_repeat_is_no_difference() -> None:
    scenario = next(one for one in read_all() if sum(step.compared for step in one.steps) == 1)
    given = Run(scenario, (Answer(9, (), ()),))
    unsaid = Verdict(scenario.area, scenario.name, "no answers")
    assert judge(given, {scenario.name: [{"22.05": None}]}, "24.11") == unsaid
    assert judge(given, {}, "24.11") == unsaid


def test_the_command_line_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--area", "none"]) == 2
    assert main(["run", "--release", "old"]) == 2
    assert main(["run", "--target", "/does/not/exist"]) == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["slurm-conformance"] * 3
    assert main(["list", "--area", "tiers"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(chosen(["tiers"], "", 1))


def test_slurmsim_has_it_as_a_command() -> None:
    def asked(area: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        command = [str(Path(sys.executable).with_name("slurmsim")), "conformance", "list", "--area", area]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    assert len(asked("tiers").stdout.splitlines()) == len(chosen(["tiers"], "", 1))
    wrong = asked("none")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


def slurmsim_against_real(release: str, every: int) -> list[Verdict]:
    wanted = [one for one in chosen(None, "", every) if one.cluster != "scripts" or every == 1]
    known = {area: answers.read(area) for area in {one.area for one in wanted}}
    target = Slurmsim(release, command=str(Path(sys.executable).with_name("slurmsim")))
    return [judge(one, known[one.scenario.area], release) for one in run(target, wanted, lambda _line: None)]


def unknown(verdicts: list[Verdict]) -> list[Verdict]:
    return [one for one in verdicts if one.outcome == "differs" and f"{one.area}: {one.name}" not in KNOWN]


@pytest.mark.parametrize("release", RELEASES)
def test_a_sample_is_answered_as_real_slurm_answers(release: str) -> None:
    differing = unknown(slurmsim_against_real(release, 43))
    assert not differing, "\n".join(differences(differing))


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_all_but_the_known_are_answered_as_real_slurm_answers(release: str) -> None:
    verdicts = slurmsim_against_real(release, 1)
    judged = [one for one in verdicts if one.outcome != "no answers"]
    assert sum(one.outcome == "passes" for one in judged) >= BAR * len(judged)
    assert not unknown(verdicts), "\n".join(differences(unknown(verdicts)))


def test_known_differences_are_scenarios() -> None:
    assert {one.key for one in read_all()} >= KNOWN
