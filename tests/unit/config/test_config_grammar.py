"""The line grammar: continuation, comments, quotes, Include."""

from __future__ import annotations

import re
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
        ("# a comment \\\nA=1\nB=2", [[("A", "1")], [("B", "2")]]),  # a comment does not continue
        ("A=1\\", [[("A", "1")]]),
        ("\\\nA=1", [[("A", "1")]]),
        ("A=1\r\nB=2\r\n", [[("A", "1")], [("B", "2")]]),
    ],
)  # fmt: skip
def test_lines(text: str, pairs: list[list[tuple[str, str]]]) -> None:
    assert flat(parse_conf(text, "x.conf")) == pairs


# What slurmctld 22.05.8, 24.11.5 and 26.05.5 made of such a NodeName line; the three agree. \\f is a form feed.
SEEN = (
    ('Reason="a b c" Weight=3', [("Reason", "a b c"), ("Weight", "3")]),
    ('Reason="abc Weight=3', [("Reason", '"abc'), ("Weight", "3")]),
    ('Reason=a"b Weight=3', [("Reason", 'a"b'), ("Weight", "3")]),
    ('Reason="a"b Weight=3', [("Reason", '"a"b'), ("Weight", "3")]),
    ('Reason="a""b" Weight=3', [("Reason", '"a""b"'), ("Weight", "3")]),
    ("Feature='a,b' Weight=3", [("Feature", "'a,b'"), ("Weight", "3")]),
    ('Reason="a\\"b" Weight=3', [("Reason", '"a"b"'), ("Weight", "3")]),
    ("Reason=a\\b Weight=3", [("Reason", "ab"), ("Weight", "3")]),
    ("Reason=a\\\\b Weight=3", [("Reason", "a\\b"), ("Weight", "3")]),
    ('Reason="a # b" Weight=3', [("Reason", '"a')]),
    ("Reason=a\\\\#b Weight=3", [("Reason", "a\\")]),
    ("Reason= Weight=3", [("Reason", "Weight=3")]),
    ('Reason="" Weight=3', [("Reason", ""), ("Weight", "3")]),
    ("Reason=abc\fWeight=3", [("Reason", "abc"), ("Weight", "3")]),
    ("Reason=abc\u00a0Weight=3", [("Reason", "abc\u00a0Weight=3")]),
    ("Reason=a=b Weight=3", [("Reason", "a=b"), ("Weight", "3")]),
    ("Wei\\\nght=3", [("Weight", "3")]),
    ("CPUs=1 \\  \n Weight=3", [("CPUs", "1"), ("Weight", "3")]),
    ("CPUs=1 \\ # hello\n Weight=3", [("CPUs", "1"), ("Weight", "3")]),
    ("CPUs=1 \\\r\n Weight=3\r", [("CPUs", "1"), ("Weight", "3")]),
)


@pytest.mark.parametrize(("text", "pairs"), SEEN, ids=[text for text, _ in SEEN])
def test_what_slurmctld_reads(text: str, pairs: list[tuple[str, str]]) -> None:
    assert flat(parse_conf(f"NodeName=n1 {text}\n", "x.conf")) == [[("NodeName", "n1"), *pairs]]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("A=1 \\\n# hello \\\n B=2\n", [[("A", "1")], [("B", "2")]]),  # a comment ends the continuation
        ("A=1 \\\n\n B=2\n", [[("A", "1")], [("B", "2")]]),  # and so does an empty line
        ("A=x\\\\\nB=2\n", [[("A", "x\\")], [("B", "2")]]),  # the backslash is escaped
        ("A=1\u2028B=2\n", [[("A", "1\u2028B=2")]]),  # only a line feed ends a line
    ],
)
def test_where_slurmctld_ends_a_line(text: str, lines: list[list[tuple[str, str]]]) -> None:
    assert flat(parse_conf(text, "x.conf")) == lines


@pytest.mark.parametrize(
    "rest", ['Reason="a b Weight=3', 'Reason="a b"c Weight=3', "Reason='a b'", "Reason=a\\ b", "W 3"]
)
def test_what_slurmctld_refuses(rest: str) -> None:
    with pytest.raises(ConfigError, match="cannot parse"):
        parse_conf(f"NodeName=n1 {rest}\n", "x.conf")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('include "more"', "cannot read '\"more\"': no such file or directory"),  # quotes belong to the name
        ("  include more", "cannot parse 'include more'"),  # a blank before it
        ("include more even", "cannot parse 'even'"),
        ("include mor*", "Slurm does not expand patterns"),
    ],
)
def test_includes_that_slurmctld_refuses(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("KillWait=9\n")
    (tmp_path / "slurm.conf").write_text(f"ClusterName=c\n{line}\n")
    with pytest.raises(ConfigError, match=re.escape(message)):
        read_conf(tmp_path / "slurm.conf")


def test_the_name_of_the_cluster_in_an_include_is_in_small_letters(tmp_path: Path) -> None:
    (tmp_path / "more.cl").write_text("KillWait=9\n")
    (tmp_path / "slurm.conf").write_text("ClusterName=CL\ninclude more.%c # for this cluster\n")
    assert flat(read_conf(tmp_path / "slurm.conf")) == [[("ClusterName", "CL")], [("KillWait", "9")]]


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
        ('A="open wide', "x.conf:1: cannot parse 'wide' (expected Key=value)"),
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
