"""The line grammar: continuation, comments, quotes, Include."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.config.slurm_conf import ConfLine, parse_conf, read_conf
from slurmsim.errors import ConfigError


def flat(lines: list[ConfLine]) -> list[list[tuple[str, str]]]:
    return [[(pair.key, pair.value) for pair in line.pairs] for line in lines]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("A=1", [[("A", "1")]]),
        ("  A = 1\tB= 2 C =3  ", [[("A", "1"), ("B", "2"), ("C", "3")]]),
        ('A="one two" B=""', [[("A", "one two"), ("B", "")]]),
        ("A=1 # a comment\n#B=2\n\n   \nC=3#x", [[("A", "1")], [("C", "3")]]),
        (r"A=a\#b # c", [[("A", "a#b")]]),
        ("A=bf_interval=30,defer", [[("A", "bf_interval=30,defer")]]),
        ("NodeName=n[1-\\\n4] CPUs=2 \\\n  Weight=3\nB=1",
         [[("NodeName", "n[1-4]"), ("CPUs", "2"), ("Weight", "3")], [("B", "1")]]),
        ("# a comment \\\nA=1\nB=2", [[("B", "2")]]),  # the comment swallows the line joined to it
        ("A=1\\", [[("A", "1")]]),
        ("\\\nA=1", [[("A", "1")]]),
        ("A=1\r\nB=2\r\n", [[("A", "1")], [("B", "2")]]),
    ],
)  # fmt: skip
def test_lines(text: str, pairs: list[list[tuple[str, str]]]) -> None:
    assert flat(parse_conf(text, "x.conf")) == pairs


def test_line_numbers_are_those_of_the_first_physical_line() -> None:
    lines = parse_conf("A=1\n\n# c\nB=\\\n2\nC=3", "x.conf")
    assert [(line.place.file, line.place.line) for line in lines] == [("x.conf", 1), ("x.conf", 4), ("x.conf", 6)]


def test_operators_are_kept() -> None:
    (line,) = parse_conf("A+=1 B -= 2", "x.conf")
    assert [(pair.key, pair.operator, pair.value) for pair in line.pairs] == [("A", "+", "1"), ("B", "-", "2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nnonsense", "x.conf:2: cannot parse 'nonsense' (expected Key=value)"),
        ("A=1 B", "x.conf:1: cannot parse 'B' (expected Key=value)"),
        ("A=", "x.conf:1: cannot parse 'A=' (expected Key=value)"),
        ('A="open', "x.conf:1: cannot parse 'A=\"open' (expected Key=value)"),
        ("=5", "x.conf:1: cannot parse '=5' (expected Key=value)"),
        (
            "Include other.conf",
            "x.conf:1: Include: cannot include 'other.conf' into a configuration that is not a file",
        ),
    ],
)
def test_bad_lines(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_conf(text, "x.conf")
    assert str(caught.value) == message


def test_include_is_relative_to_the_main_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "slurm.conf").write_text("ClusterName=c1\ninclude sub/nodes.conf\nINCLUDE\t%c.conf # more\nZ=9\n")
    (tmp_path / "sub" / "nodes.conf").write_text("A=1\nInclude deep.conf\n")
    (tmp_path / "deep.conf").write_text("\ufeffB=2\n", encoding="utf-8")
    (tmp_path / "c1.conf").write_text("C=3\n")
    lines = read_conf(tmp_path / "slurm.conf")
    assert flat(lines) == [[("ClusterName", "c1")], [("A", "1")], [("B", "2")], [("C", "3")], [("Z", "9")]]
    assert lines[2].place.file == str(tmp_path / "deep.conf")


def test_include_of_an_absolute_path(tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text("A=1\n")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "slurm.conf").write_text(f"Include {tmp_path}/more.conf\n")
    assert flat(read_conf(tmp_path / "conf" / "slurm.conf")) == [[("A", "1")]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nInclude no.conf\n", ":2: Include: cannot read 'no.conf': no such file or directory"),
        ("Include .\n", ":1: Include: cannot read '.': is a directory"),
        ("Include %c.conf\n", ":1: Include: %c in '%c.conf' stands for a ClusterName not set yet (expected ClusterName "
                              "above the Include)"),
        ("Include slurm.conf\n", ":1: Include: 'slurm.conf' is nested more than 10 deep: do files include each other?"),
    ],
)  # fmt: skip
def test_bad_includes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_conf(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    with pytest.raises(ConfigError) as caught:
        read_conf(path)
    assert str(caught.value) == f"{path}: cannot read the file: no such file or directory"


def test_bytes_that_are_no_text_do_not_matter_in_comments(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_bytes(b"# caf\xe9\nA=1\n")
    assert flat(read_conf(path)) == [[("A", "1")]]
