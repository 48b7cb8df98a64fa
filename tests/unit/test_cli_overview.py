"""``slurmsim --help`` says what the whole parser would, and loads none of the subcommands' modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from slurmsim.cli import COMMANDS, MODULE_OF, build_parser, main, overview
from slurmsim.cli.helps import HELPS

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


def test_the_overview_loads_no_subcommand() -> None:
    found = loaded("from slurmsim.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass")
    ours = [name for name in found if name.startswith("slurmsim.cli.")]
    assert ours and {name.rpartition(".")[2] for name in ours} & {*COMMANDS} == set()
    assert not {name.partition(".")[0] for name in found} & {"numpy", "simpy", "pandas", "pyarrow"}


def test_the_package_alone_loads_nothing_of_others() -> None:
    found = {name.partition(".")[0] for name in loaded("import slurmsim")}
    assert "slurmsim" in found and found - {"slurmsim"} <= set(sys.stdlib_module_names)
