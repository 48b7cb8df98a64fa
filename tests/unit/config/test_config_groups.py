"""Groups of users from getent's output."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.config.groups import read_groups
from slurmsim.errors import ConfigError

GROUP = "root:x:0:\nphysics:x:500:alice, bob\n\n# a comment\nchem:x:501:bob\nusers:x:100:\n"
PASSWD = "alice:x:1001:100:Alice:/home/alice:/bin/bash\ndave:x:1002:500::/home/dave:/bin/sh\neve:x:1003:999:::/bin/sh\n"


def test_no_files_are_no_groups() -> None:
    assert read_groups(()) is None


def test_members_and_own_groups(tmp_path: Path) -> None:
    """A user's own group counts when the group of that number is known; the order of the files does not matter."""
    (tmp_path / "passwd").write_text(PASSWD)
    (tmp_path / "group").write_text(GROUP)
    expected = {
        "alice": frozenset({"physics", "users"}), "bob": frozenset({"physics", "chem"}), "dave": frozenset({"physics"}),
    }  # fmt: skip
    for names in (("passwd", "group"), ("group", "passwd")):
        assert read_groups([str(tmp_path / name) for name in names]) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("physics:x:500\n", ":1: 'physics:x:500' is no group and no user"),
        ("physics:x:500:alice\n:x:1:bob\n", ":2: ':x:1:bob' is no group and no user"),
        ("physics:x:many:alice\n", ":1: 'physics:x:many:alice' is no group and no user"),
        ("", "--groups: no group in it"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "group"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_groups([str(file)])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_groups([str(tmp_path / "none")])
