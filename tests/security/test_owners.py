"""A cluster that another user started: its owner and root may do all, a third user of the machine may not.

Rows "the owner" and "root of the machine" of docs/security.md. The tests are root, and the owner is the user `OTHER`.
"""

from __future__ import annotations

import os
import pwd
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from as_another import OTHER, THIRD, as_another, goes_on_as, refusal
from asking import DENIED, SIMULATED, ask, job, opened

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.slurmctld.history.state_folder import StateFolder

PYTHONS = (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")
OWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("node_action", {"action": "fail", "nodes": "n2"}), ("node_action", {"action": "resume", "nodes": "n2"}),
    ("update_node", {"names": "n2", "state": "DRAIN", "reason": "x"}),
    ("account_change", {"action": "add_account", "names": ["x"], "settings": []}),
    ("calls", {}), ("reconfigure", {}), ("kill", {"job_id": "1"}),
)  # fmt: skip
"""Calls that other users are refused."""


def python_of_all() -> str:
    """A Python that the owner can start. The supervisor of a script needs no modules but Python's own."""
    for path in PYTHONS:
        if as_another(lambda path=path: os.access(path, os.X_OK)):
            return path
    pytest.skip("NOT TESTED: scripts of another owner: that user can start no Python here")


@pytest.fixture
def folder(place: Path) -> Iterator[Path]:
    """The cluster of the user `OTHER`, with a job of another user in it."""
    python = python_of_all()
    with slurmsim.cluster(nodes=1, jobs="run") as c:  # loads the modules, which the owner may not be able to read
        c.run(["sbatch", "-o", "/dev/null", "--wrap", "true"], check=True)
        c.until_idle()

    def run() -> Iterator[None]:
        sys.executable = python
        with slurmsim.cluster(nodes=2, jobs="run", folder=place / "c", users={"alice": 2001}):
            yield

    with goes_on_as(OTHER, run):
        ask(place / "c", "submit", "alice", job=job(SIMULATED))
        yield place / "c"


def ran(path: Path) -> tuple[str, int]:
    """The uid that a script wrote into its file, and whose file it is."""
    last = time.monotonic() + 20
    while not (path.exists() and path.read_text()) and time.monotonic() < last:
        time.sleep(0.05)
    return path.read_text().strip(), path.stat().st_uid


@pytest.mark.parametrize("uid", [OTHER, 0], ids=["owner", "root"])
def test_the_owner_and_root_may_do_all(folder: Path, uid: int) -> None:
    """Act as the cluster's users, have scripts run under their names, and change what is the owner's."""
    owner = pwd.getpwuid(OTHER).pw_name

    def acts() -> list[Any]:
        for user in (owner, "alice"):
            ask(folder, "submit", user, job=job(f"#!/bin/sh\nid -u > {folder.parent}/ran-{user}\n"))
        done = [refusal(lambda call=call, given=given: ask(folder, call, **given)) for call, given in OWN]
        return [ask(folder, "ping")["operator"], ask(folder, "ping", "alice")["uid"], *done]

    assert as_another(acts, uid) == [True, 2001, *[""] * len(OWN)]
    for user in (owner, "alice"):
        assert ran(folder.parent / f"ran-{user}") == (str(OTHER), OTHER)


def test_a_script_runs_under_the_owners_own_name_and_not_as_root(folder: Path) -> None:
    """It would run as the owner, which is less than root expects of a script of its own."""
    script = job(f"#!/bin/sh\nid -u > {folder.parent}/ran\n")
    assert as_another(lambda: refusal(lambda: ask(folder, "submit", job=script)), 0) == (
        f"{DENIED}: scripts run as {pwd.getpwuid(OTHER).pw_name} here, and not as root"
    )
    assert as_another(lambda: refusal(lambda: ask(folder, "submit", job=script))) == ""
    assert ran(folder.parent / "ran") == (str(OTHER), OTHER)


def test_a_third_user_may_not(folder: Path) -> None:
    assert as_another(lambda: refusal(lambda: ask(folder, "ping")), THIRD)
    opened(folder)

    def acts() -> list[str]:
        texts = [refusal(lambda call=call, given=given: ask(folder, call, **given)) for call, given in OWN]
        texts.append(refusal(lambda: ask(folder, "ping", "alice")))
        texts.append(refusal(lambda: ask(folder, "submit", job=job("#!/bin/sh\nid\n"))))
        return [text for text in texts if not text.startswith((DENIED, "Invalid user id"))]

    assert as_another(acts, THIRD) == []


def test_root_starts_no_daemon_in_the_folder_of_another(folder: Path) -> None:
    """Root would run scripts of that owner's as root."""
    with pytest.raises(ConfigError, match=rf"{folder}: it belongs to .*, not to root"):
        StateFolder.take(folder)
