"""A trigger's program really runs where jobs do, is told what happened, and runs once."""

from __future__ import annotations

from pathlib import Path

from processes import wait_until

import slurmsim


def test_a_triggers_program_runs_once_where_jobs_run(tmp_path: Path) -> None:
    program, told = tmp_path / "program", tmp_path / "told"
    program.write_text(f'#!/bin/sh\necho "$@" >> {told}\n', "utf-8")
    program.chmod(0o755)
    with slurmsim.cluster(nodes=3, jobs="run", frozen=True) as c:
        c.run(["strigger", "--set", "--burst_buffer", "-p", str(program)], check=True)
        c.run(["strigger", "--set", "--down", "-p", f"{program} now"], check=True)
        nodes = c.run(["sinfo", "-h", "-N", "-o", "%N"], check=True).stdout.split()
        c.run(["scontrol", "update", f"node={nodes[1]}", "state=down", "reason=x"], check=True)
        for _ in range(3):
            c.step(20)
        left = c.run(["strigger", "--get", "-N"], check=True).stdout.split()
        wait_until(lambda: told.exists() and told.read_text("utf-8"))
    assert left[0] == "1" and "burst_buffer" in left
    assert told.read_text("utf-8") == f"now {nodes[1]}\n"
