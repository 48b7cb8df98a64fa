"""``slurmsim lua test`` of a cli_filter.lua: the commands themselves run it, and cases are judged by what it left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("lupa", reason="NOT TESTED: cli_filter.lua: the extra lua is not installed")

from slurmsim.cli import main

SCRIPT = """\
function slurm_cli_setup_defaults(options, early)
  options["time"] = "30"
  return slurm.SUCCESS
end
function slurm_cli_pre_submit(options, offset)
  if options["type"] == "srun" then options["comment"] = options.argv[1] .. " of " .. os.getenv("USER") end
  if os.getenv("BROKEN") then error("boom") end
  if options["partition"] == nil then
    slurm.log_error("please name a partition")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, job_id, step_id)
  slurm.log_info("job %s step %s", job_id, tostring(step_id))
  return slurm.SUCCESS
end
"""
GOOD = """\
[[case]]
name = "refused"
expect = {refused = "name a partition"}
[[case]]
name = "defaults"
options = "-p short -n 3"
expect = {time = "00:30:00", ntasks = 3, partition = "short", account = false, says = "job 1 step 4294967294"}
[[case]]
name = "its own time stays"
options = "-p short -t 5"
expect = {time = "00:05:00"}
[[case]]
command = "srun"
user = "ann"
options = "-p short"
argv = "./train --epochs 3"
expect = {comment = "./train of ann", says = "job 1 step 0"}
[[case]]
command = "salloc"
options = "-p short -n1 : -p long -n2"
expect = {refused = false, partition = "short", says = "job 1"}
[[case]]
name = "an error in the script does not refuse"
options = "-p short"
environ = {BROKEN = "1"}
expect = {says = "boom"}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.chdir(tmp_path)
    script, cases = tmp_path / "cli_filter.lua", tmp_path / "cli_filter.toml"
    script.write_text(SCRIPT)
    return script, cases


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_cases_hold(release: str, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    script, cases = files
    cases.write_text(GOOD)
    assert main(["lua", "test", str(script), "--release", release]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1)[1] for line in shown if line.startswith("ok")] == [
        "refused", "defaults", "its own time stays", "case 4", "case 5"
    ]  # fmt: skip
    assert shown[5] == "FAILED  an error in the script does not refuse" and "error: sbatch: error: " in shown[6]
    assert shown[-1].endswith("5 of 6 cases hold") and len(shown) == 8


def test_what_does_not_hold(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    script, cases = files
    cases.write_text(
        '[[case]]\noptions = "-p short"\nexpect = {refused = true}\n'
        '[[case]]\nexpect = {partition = "short"}\n'
        '[[case]]\noptions = "-p short"\nexpect = {partition = "long", account = "a", comment = false, says = "x"}\n'
    )
    assert main(["lua", "test", str(script), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    wrong = [case["wrong"] for case in found["cases"]]
    assert found["failed"] == 3 and wrong[0] == ["refused: expected True, not refused"]
    assert wrong[1][0].startswith("refused: expected False, refused: sbatch: error: lua: please name a partition")
    assert wrong[1][1] == "partition: expected 'short', is None"
    assert [line.partition(",")[0] for line in wrong[2]] == [
        "says: expected 'x'", "partition: expected 'long'", "account: expected 'a'"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "cases", "words"),
    [
        (SCRIPT, '[[case]]\noptions = "--nosuch"\nexpect = {time = "x"}\n', "unrecognized option '--nosuch'"),
        (SCRIPT, '[[case]]\ncommand = "sattach"\nexpect = {time = "x"}\n', "command is 'sattach'"),
        (SCRIPT, '[[case]]\nenviron = {A = 1}\nexpect = {time = "x"}\n', "a variable is no text"),
        (SCRIPT, '[[case]]\noptions = "\'"\nexpect = {time = "x"}\n', "No closing quotation"),
        (SCRIPT, "[[case]]\ncommand = 3\nexpect = {a = 1}\n", "command is no str"),
        ("function slurm_cli_pre_submit() end", GOOD, "missing required function slurm_cli_setup_defaults"),
        ("function slurm_cli_pre_submit( end", GOOD, "cli_filter.lua"),
        ("slurm_cli_pre_submit = io.open", GOOD, "io"),
    ],
)
def test_what_cannot_be_tried(
    script: str, cases: str, words: str, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text(script)
    files[1].write_text(cases)
    assert main(["lua", "test", str(files[0])]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and words in said.err


def test_it_sees_no_partitions(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    files[1].write_text(GOOD)
    assert main(["lua", "test", str(files[0]), "--conf", "slurm.conf"]) == 2
    assert "--conf: is for job_submit.lua" in capsys.readouterr().err
