"""Batch scripts as sbatch reads them, and what other schedulers' lines mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.commands.submit.scripts.batch_script import (
    BadScript,
    check_script,
    directives,
    exported,
    find_script,
    read_script,
    split_line,
    wrapped,
)
from slurmsim.commands.submit.scripts.foreign_script import translate
from slurmsim.commands.text.option_reader import OptionError


def words(text: str) -> list[str]:
    return directives("#!/bin/sh\n" + text, "job.sh").words


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("#SBATCH -N 2 -J x", ["-N", "2", "-J", "x"]),
        ('#SBATCH --comment="a # b" -c2 # -N 9', ["--comment=a # b", "-c2"]),
        ("#SBATCH -J it\\'s 'x y'", ["-J", "it's", "x y"]),
        ("#SBATCH -N2\\ 3", ["-N2", "3"]),  # an escaped blank still ends a word outside quotes
        ("#SBATCH-N2", ["-N2"]),
        ('#SBATCH -J "" -N 2', ["-J"]),  # an empty word ends the line
        ("#SLURM -N 2", ["-N", "2"]),
        ("#SLURMSIM runtime=90 exit=3\n#SBATCH -N 2", ["-N", "2"]),
        ("#SLURMSIM\truntime=90\n#SBATCH -N 2", ["-N", "2"]),
        ("#SLURMSIMPLE", ["SIMPLE"]),
        (" #SBATCH -N 2", []),
        ("##SBATCH -N 2", []),
        ("# SBATCH -N 2", []),
    ],
)
def test_words_of_a_line(line: str, found: list[str]) -> None:
    assert words(line) == found


def test_the_first_command_ends_the_options() -> None:
    assert words("\n   \n  # x\n#SBATCH -N 1\necho\n#SBATCH -N 2\n") == ["-N", "1"]


def test_old_word_is_noticed() -> None:
    assert directives("#!/bin/sh\n#SLURM -N 2\n", "x").old_word


def test_components() -> None:
    script = "#!/bin/sh\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2\n#SBATCH packjob\n#SBATCH -N 3\n"
    found = [directives(script, "x", i) for i in range(3)]
    assert [(part.words, part.more) for part in found] == [
        (["-N", "1"], True),
        (["-N", "2"], True),
        (["-N", "3"], False),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('#SBATCH -J "a', 'job.sh: line 2: Unmatched `"` in [ "a]'),
        ("#SBATCH -N2 : -n3", "job.sh: line 2: Unexpected `:` in [ : -n3]"),
    ],
)
def test_lines_that_cannot_be_read(line: str, said: str) -> None:
    with pytest.raises(BadScript) as caught:
        words(line)
    assert caught.value.lines == (said,) and caught.value.fatal


@given(st.lists(st.text(alphabet="abc #\"'\\:-=", min_size=1), max_size=4))
def test_quoted_words_come_back(wanted: list[str]) -> None:
    line = " ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in wanted)
    assert split_line(line, "x", 1) == wanted


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "Batch script is empty!"),
        (b" \n\t", "Batch script contains only whitespace!"),
        (b"sleep 1\n", "This does not look like a batch script.  The first"),
        (b"#", "This does not look like a batch script.  The first"),
        (b"\n#!/bin/sh\n", "This does not look like a batch script.  The first"),
        (b"#!/bin/sh\n\0", "The Slurm controller does not allow scripts that"),
        (b"#!/bin/sh\r\nx\n", "Batch script contains DOS line breaks (\\r\\n)"),
    ],
)
def test_what_is_no_script(body: bytes, said: str) -> None:
    with pytest.raises(BadScript) as caught:
        check_script(body)
    assert caught.value.lines[0] == said


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_bytes(b"#!/bin/sh\n\xff\n")
    assert read_script("x.sh", str(tmp_path), bytes).encode("utf-8", "surrogateescape") == b"#!/bin/sh\n\xff\n"
    assert read_script(None, "/", lambda: b"#!/bin/sh") == "#!/bin/sh"
    for missing in ("y.sh", ""):
        with pytest.raises(BadScript, match=f"Unable to open file {missing}"):
            read_script(missing, str(tmp_path), bytes)
    with pytest.raises(BadScript, match="empty"):
        read_script(".", str(tmp_path), bytes)


def test_where_scripts_are_found(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool.sh").touch()
    (tmp_path / "bin" / "folder").mkdir()
    here, search = str(tmp_path / "here"), str(tmp_path / "bin")
    assert find_script("tool.sh", here, search) == f"{search}/tool.sh"
    assert find_script("folder", here, search) == "folder"
    assert find_script("./tool.sh", here, search) == "./tool.sh"
    (tmp_path / "here" / "tool.sh").touch()
    assert find_script("tool.sh", here, search) == f"{here}/tool.sh"


def test_wrap() -> None:
    assert wrapped("echo a\necho b").splitlines()[-2:] == ["echo a", "echo b"]
    check_script(wrapped("").encode())


def test_export() -> None:
    environ = {"A": "1", "B": "2", "SLURM_X": "3", "SLURMD": "4"}
    assert exported("ALL", environ) == environ
    assert exported("none", environ) == {"SLURM_X": "3", "SLURMD": "4"}
    assert exported("A,C=5,D='x,y',E", environ) == {"A": "1", "C": "5", "D": "'x,y'", "SLURM_X": "3"}
    assert exported('"F=1,2",ALL', environ) == {**environ, "F": "1,2"}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "#PBS -l nodes=2:ppn=3,walltime=1:00:00,mem=2gb",
            [("nodes", "2"), ("ntasks", "6"), ("time", "1:00:00"), ("mem", "2g")],
        ),
        (
            "#PBS -N pj -q debug -t 1-3 -h",
            [("job-name", "pj"), ("partition", "debug"), ("array", "1-3"), ("hold", None)],
        ),
        ("#PBS -m abe -M me", [("mail-type", "BEGIN,END,FAIL"), ("mail-user", "me")]),
        ("#PBS -m n -j oe -V", [("mail-type", "NONE")]),
        (
            "#PBS -l select=2:ncpus=8:mpiprocs=2",
            [("nodes", "2"), ("mincpus", "8"), ("ntasks-per-node", "2"), ("cpus-per-task", "4")],
        ),
        ("#PBS -l nodes=n01:ppn=2+n02:ppn=2", [("ntasks", "4"), ("nodelist", "n[01-02]")]),
        ("#PBS -l pmem=3gb,foo=nodes=3", [("nodes", "3")]),
        ("#PBS -W umask=022 -W depend=afterok:1 -W x=y", [("umask", "022"), ("dependency", "afterok:1")]),
        ("#BSUB -n 2,4 -M 1000 -x", [("ntasks", "4"), ("mem-per-cpu", "1000K"), ("exclusive", None)]),
        ('#BSUB -cwd /tmp -m "a b" -W 1:00', [("chdir", "/tmp"), ("nodelist", "a,b"), ("time", "1:00")]),
    ],
)
def test_other_schedulers(line: str, wanted: list[tuple[str, str | None]]) -> None:
    assert translate(f"#!/bin/sh\n{line}\n", "x") == wanted


def test_only_one_other_scheduler_counts() -> None:
    assert translate("#!/bin/sh\n#PBS -N a\n#BSUB -J b\n", "x") == [("job-name", "b")]


def test_what_other_schedulers_may_not_say() -> None:
    with pytest.raises(OptionError) as caught:
        translate("#!/bin/sh\n#PBS -x\n", "x")
    assert caught.value.args == ("invalid option -- 'x'", "Unrecognized command line parameter ?")
    with pytest.raises(BadScript, match="Invalid argument: foo"):
        translate("#!/bin/sh\n#PBS foo -N x\n", "x")
