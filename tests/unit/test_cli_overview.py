"""``slurmsim --help`` says what the whole parser would, and loads none of the subcommands' modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slurmsim.cli import COMMANDS, MODULE_OF, build_parser, main, overview
from slurmsim.cli.helps import GROUPS, HELPS
from slurmsim.errors import ConfigError
from slurmsim.faults.kinds import kind_of

LOADED = """
import sys
before = set(sys.modules)
{code}
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def loaded(code: str) -> list[str]:
    command = [sys.executable, "-P", "-c", LOADED.format(code=code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()


def test_the_overview_is_the_whole_parsers() -> None:
    assert overview().format_help() == build_parser().format_help()
    assert set(HELPS) == {*COMMANDS, *MODULE_OF} - {*MODULE_OF.values()}


@pytest.mark.parametrize("words", [["wrong"], []])
def test_words_without_a_command_are_refused_as_before(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for parse in (main, build_parser().parse_args):
        with pytest.raises(SystemExit) as ended:
            parse(words)
        told.append((ended.value.code, capsys.readouterr().err))
    assert told[0] == told[1] and told[0][0] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["whatiff"], "COMMAND: no 'whatiff'; did you mean whatif? (slurmsim --help lists them)"),
        (["run", "--out", "x", "--work", "y"], "unrecognized arguments: --work y; did you mean --workload?"),
        (["clock", "stp"], "action: no 'stp'; did you mean step? (expected show, freeze, "),
        (["policies", "esay"], "no policy is called 'esay'; did you mean easy? (expected "),
        (["generate", "lubin", "--jobs", "3", "--out", "x"], "MODEL: no workload model 'lubin'; did you mean lublin?"),
    ],
)  # fmt: skip
def test_a_misspelt_word_gets_a_hint(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(words)
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2 and capsys.readouterr().err.startswith(f"slurmsim: error: {said}")


def test_a_fault_gets_a_hint() -> None:
    with pytest.raises(ConfigError, match="no such fault: 'timeot'; did you mean TIMEOUT"):
        kind_of("timeot")


def test_every_command_is_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(HELPS)


def test_the_overview_loads_no_subcommand() -> None:
    found = loaded("from slurmsim.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass")
    ours = [name for name in found if name.startswith("slurmsim.cli.")]
    assert ours and {name.rpartition(".")[2] for name in ours} & {*COMMANDS} == set()
    assert not {name.partition(".")[0] for name in found} & {"numpy", "simpy", "pandas", "pyarrow"}


def test_the_package_alone_loads_nothing_of_others() -> None:
    found = {name.partition(".")[0] for name in loaded("import slurmsim")}
    assert "slurmsim" in found and found - {"slurmsim"} <= set(sys.stdlib_module_names)


def test_a_manual_page_for_every_command() -> None:
    from slurmsim.cli.man import pages

    found = pages()
    assert set(found) == {"slurmsim.1", *(f"slurmsim-{name}.1" for name in HELPS)}
    assert all(text.startswith(".TH ") and ".SH OPTIONS" in text for name, text in found.items() if "-" in name)
    assert ".B \\-\\-workload FILE, \\-\\-log FILE" in found["slurmsim-run.1"]
    assert not [line for text in found.values() for line in text.splitlines() if line.startswith("'")]


@pytest.mark.parametrize(("line", "word"), [("run --policy con", "conservative"), ("inject fla", "flap")])
def test_values_are_completed(line: str, word: str, tmp_path: Path) -> None:
    typed, answer = f"slurmsim {line}", tmp_path / "answer"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": typed, "COMP_POINT": str(len(typed)), "_ARGCOMPLETE_IFS": "|",
             "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}  # fmt: skip
    code = "from slurmsim.cli import main; main(['x'])"
    subprocess.run([sys.executable, "-P", "-c", code], env={**os.environ, **asked}, check=False)
    assert answer.read_text().strip() == word
