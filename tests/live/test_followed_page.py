"""A page at one address shows the twin of the last dump, and is gone when nothing is followed any more."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.live.followed import FollowedPage
from slurmsim.twin.build import build
from slurmsim.twin.dump import read_dump
from slurmsim.twin.folder import write

pytest.importorskip("starlette", reason="NOT TESTED: the page's server: the extra web is not installed")


def dumps(folder: Path) -> Iterator[Path]:
    """Yield a dump with a job that waits, and one of a minute later in which another came."""
    with slurmsim.cluster(nodes=2, frozen=True, start=1_767_600_000) as cluster:
        cluster.run("sbatch -N2 --exclusive -t 60 --wrap 'sleep 600'", check=True)
        for number in (2, 3):
            cluster.run(f"sbatch -N2 --exclusive -t 60 -J waits{number} --wrap 'sleep 600'", check=True)
            cluster.step(60)
            path = folder / f"dump{number}"
            cluster.run(f"{sys.executable} -m slurmsim twin collect --days 1 {path}", check=True)
            yield path


def look(url: str) -> dict[str, Any]:
    """Return what a page that is opened is told first."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    connection.request("GET", f"/?{parts.query}", headers={"Host": parts.netloc})
    answer = connection.getresponse()
    answer.read()
    cookie = answer.getheader("set-cookie", "").partition(";")[0]
    connection.request("GET", "/events", headers={"Host": parts.netloc, "Cookie": cookie})
    try:
        for line in connection.getresponse():
            if line.startswith(b"data: "):
                told = json.loads(line[6:])
                if "jobs" in told:
                    return dict(told)
    finally:
        connection.close()
    raise AssertionError("the page is told nothing")


def test_one_address_shows_twin_after_twin(tmp_path: Path) -> None:
    page = FollowedPage()
    try:
        urls, told = [], []
        for path in dumps(tmp_path):
            scratch = tmp_path / f"scratch of {path.name}"
            scratch.mkdir()
            twin = build(read_dump(path), scratch)
            page.show(lambda folder, twin=twin: write(twin, folder))  # type: ignore[misc]
            urls.append(page.url)
            due = time.monotonic() + 20  # the page takes a moment to find the new cluster
            while f"waits{path.name[-1]}" not in (shown := str(look(page.url)["jobs"])) and time.monotonic() < due:
                time.sleep(0.1)
            told.append(shown)
    finally:
        page.close()
    assert urls[0] == urls[1]
    assert "waits2" in told[0] and "waits3" not in told[0]
    assert "waits2" in told[1] and "waits3" in told[1]
    with pytest.raises(ConnectionError):
        look(page.url)


def test_follow_prints_the_address_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(dumps(tmp_path))
    with tarfile.open(tmp_path / "dump.tar", "w") as tar:
        tar.add(path, "dump")
    words = ["twin", "follow", "--web", "--every", "1s", "--rounds", "2", "--", "cat", str(tmp_path / "dump.tar")]
    assert main(words) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.startswith("page at http://127.0.0.1:") for line in said] == [True, False, False]
    assert sum("1 running, 1 waiting" in line for line in said) == 2


def test_the_page_ends_with_a_follower_that_is_killed(tmp_path: Path) -> None:
    path = next(dumps(tmp_path))
    with tarfile.open(tmp_path / "dump.tar", "w") as tar:
        tar.add(path, "dump")
    words = ["twin", "follow", "--web", "--every", "600s", "--", "cat", str(tmp_path / "dump.tar")]
    with subprocess.Popen([sys.executable, "-m", "slurmsim", *words], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        url = follower.stdout.readline().split()[-1]
        assert "jobs" in look(url)
        follower.kill()
    due = time.monotonic() + 20
    while time.monotonic() < due:
        try:
            look(url)
        except (OSError, AssertionError):  # it is going, or gone
            time.sleep(0.1)
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", int(urlsplit(url).port or 0))):
                return
    raise AssertionError("the page outlives who started it")


def test_a_page_without_its_packages_is_refused_before_a_round(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["twin", "follow", "--web", "--rounds", "1", "--", "false"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "uvicorn is not installed" in said[0]
