"""The key of tokens: whole or not there, whoever starts at the same time or is killed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from slurmsim import jwt_key
from slurmsim.jwt_key import KEY_FILE, UnusableKey, key_of


def test_it_is_made_once(tmp_path: Path) -> None:
    key = key_of(str(tmp_path))
    assert len(key) == 32 and key_of(str(tmp_path)) == key
    assert os.listdir(tmp_path) == [KEY_FILE] and (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_two_starts_have_one_key(tmp_path: Path) -> None:
    found: list[bytes] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        found.append(key_of(str(tmp_path)))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8 and set(found) == {(tmp_path / KEY_FILE).read_bytes()}
    assert os.listdir(tmp_path) == [KEY_FILE]


def test_one_that_is_cut_off_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made at its place and then written: a kill, or a full disk, left an empty key, which signs for all."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(jwt_key.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            key_of(str(tmp_path))
    assert os.listdir(tmp_path) == []
    assert len(key_of(str(tmp_path))) == 32


@pytest.mark.parametrize("data", [b"", b"x", b"k" * 31, b"k" * 5000])
def test_one_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / KEY_FILE).write_bytes(data)
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(UnusableKey) as refused:
        key_of(str(tmp_path))
    text = f"{tmp_path / KEY_FILE}: {len(data)} bytes are no key of tokens (expected 32 or more; without the file a new"
    assert str(refused.value).startswith(text) and "\n" not in str(refused.value)
    assert (tmp_path / KEY_FILE).read_bytes() == data


def test_one_that_others_read_or_that_is_no_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / KEY_FILE
    path.write_bytes(b"k" * 32)
    path.chmod(0o640)
    with pytest.raises(UnusableKey, match="others can read the key of tokens"):
        key_of(str(tmp_path))
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(UnusableKey, match="no file"):
        key_of(str(tmp_path))
