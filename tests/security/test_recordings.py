"""A recorded session runs what it says, as the user who replays it: not what others of the machine wrote into it.

Row "a recorded session" of docs/security.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from as_another import OTHER, as_another, theirs
from asking import ask, opened

import slurmsim
from slurmsim.cli import main
from slurmsim.live.cluster import Cluster
from slurmsim.sessions.session_file import read


def kept(c: Cluster, number: int, **more: Any) -> dict[str, Any]:
    return {"n": number, "began": c.now, "cwd": "/", "umask": 0o22, "stdin": "", "stdout": "", "stderr": "",
            "cut": False, "environ": {}, "files": {}, **more}  # fmt: skip


@pytest.mark.parametrize("jobs", ["simulate", "run"])
def test_what_others_wrote_does_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], jobs: str) -> None:
    left = tmp_path / "left"
    (tmp_path / "evil.py").write_text(f"open({str(left)!r}, 'w')\n")
    path = tmp_path / "session.rec"
    with slurmsim.cluster(nodes=1, frozen=True, jobs="simulate") as c:
        assert main(["record", "--state", str(c.folder), str(path)]) == 0
        c.run(["squeue", "-h"], check=True)
        calls = [{"argv": words, "rc": 0, "seconds": 0.1, "kept": kept(c, number, **more)}
                 for number, (words, more) in enumerate((
            (["srun", "touch", str(left)], {}), (["salloc", "touch", str(left)], {}),
            (["sbatch", "x.sh"], {"files": {"x.sh": f"#!/bin/sh\ntouch {left}\n"}}),
            (["scontrol"], {"stdin": f"write config {left}\n"}), (["scontrol", "write", "config", str(left)], {}),
            (["sacctmgr", "dump", "cluster", f"File={left}"], {}), (["scrontab", "-"], {"stdin": "* * * * * id\n"}),
            (["squeue"], {"environ": {"PYTHONPATH": str(tmp_path), "LD_PRELOAD": "/tmp/evil.so", "SQUEUE_ALL": "1"}}),
        ), 10)]  # fmt: skip
        opened(c.folder)
        as_another(lambda: [ask(c.folder, "log_call", **call) for call in calls])
        assert main(["record", "--stop", "--state", str(c.folder)]) == 0
    session = read(path)
    assert [one.of_other for one in session.commands] == [False] + [True] * 8
    assert main(["replay", str(path), "--jobs", jobs, *(["--allow-code"] if jobs == "run" else [])]) == 0
    not_asked = 6 if jobs == "simulate" else 7
    assert f"{not_asked} of other users of the machine not asked, as they would run as you" in capsys.readouterr().out
    assert not left.exists()


def test_a_recording_of_another_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(theirs(place / "theirs.rec", "{}\n"))]) == 2
    assert f"belongs to uid {OTHER}, and what it says would run as you" in capsys.readouterr().err
