"""Ask real Slurm and slurmsim what nobody has asked: ``python -m unseen`` in tests/differential (`make unseen`).

``sessions`` and ``workloads`` draw, record and compare; ``compare`` looks again at what was recorded;
``shorten`` leaves commands (or jobs) out while a session (or workload) differs. All need a seed and a folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from unseen import oracle, ours, score
from unseen.sessions import Command, Drawer, Drawn
from unseen.shorten import shortest
from unseen.workloads import draw_workload

SESSIONS, WORKLOADS = 33, 20
COMMAND_TRIES, WORKLOAD_TRIES = 40, 12


def record_session(drawn: Drawn) -> dict[str, Any]:
    """What real Slurm answers; each command with its verb and option."""
    recording = oracle.record_session(drawn.cluster, drawn.cases(), drawn.name)
    steps = [step for step in recording["steps"] if "cmd" in step]
    for command, step in zip([*drawn.scene, *drawn.commands], steps, strict=True):
        step["verb"], step["option"] = command.verb, command.option
    return recording


def sessions(seed: int, folder: Path, count: int) -> None:
    """Draw and record `count` sessions, those already there left alone, and compare them all."""
    drawer = Drawer(seed)
    for index in range(count):
        drawn = drawer.draw(index)
        path = folder / f"{drawn.name}.json"
        if not path.exists():
            recording = record_session(drawn)
            drawn.cluster.write(folder / "conf" / drawn.name)
            path.write_text(json.dumps(recording), "utf-8")
            print(f"{drawn.name}: recorded", file=sys.stderr, flush=True)
    compare(folder)


def workloads(seed: int, folder: Path, count: int) -> None:
    """Draw, record and compare `count` workloads."""
    for index in range(count):
        name = f"w{index:02}"
        if not (folder / f"{name}.json").exists():
            cluster, workload = draw_workload(seed, index)
            try:
                recording = oracle.record_workload(cluster, workload, name)
            except (RuntimeError, TimeoutError) as error:
                print(f"{name}: not recorded: {error}", file=sys.stderr, flush=True)
                continue
            (folder / f"{name}.workload.json").write_text(json.dumps(workload), "utf-8")
            if "sacctmgr.txt" in cluster.files:
                (folder / f"{name}.sacctmgr.txt").write_text(cluster.files["sacctmgr.txt"], "utf-8")
            (folder / f"{name}.json").write_text(json.dumps(recording), "utf-8")
            print(f"{name}: recorded", file=sys.stderr, flush=True)
    compare_workloads(folder)


def compare(folder: Path) -> None:
    """Every difference of the recorded sessions, then the table by verb."""
    judged = []
    for path in sorted(folder.glob("s*.json")):
        recording = json.loads(path.read_text("utf-8"))
        again = folder / "again" / path.name
        second = json.loads(again.read_text("utf-8")) if again.exists() else None
        found = ours.compare(path.stem, recording, folder / "conf" / path.stem / "slurm.conf", second)
        judged += found
        for one in found:
            if one.verdict == "different":
                print(f"--- {one.session} {one.number} {one.verb}: {one.command}\n{one.difference()}", flush=True)
    print(score.table(judged))


def compare_workloads(folder: Path) -> None:
    """Locked and in step, a row a workload."""
    from slurmsim.cli import main as command

    files = sorted(str(path) for path in folder.glob("w??.json"))
    if files:
        command(["fidelity", "--markdown", *files])


def shorten_session(seed: int, index: int, number: int) -> None:
    """The shortest session in which the command `number` of a session still differs."""
    drawer = Drawer(seed)
    for k in range(index):
        drawer.draw(k)
    drawn = drawer.draw(index)
    before = [*drawn.scene, *drawn.commands]
    last = before[number - 1]

    def differs(commands: list[Command]) -> bool:
        asked = replace(drawn, scene=commands, steps=[last])
        recording = record_session(asked)
        conf = asked.cluster.write(Path(oracle.scratch()) / asked.name) / "slurm.conf"
        return ours.compare(asked.name, recording, conf)[-1].verdict == "different"

    for command in [*shortest(before[: number - 1], differs, COMMAND_TRIES), last]:
        print(f"{command.user}$ {command.text}")


def shorten_workload(seed: int, index: int) -> None:
    """The smallest part of a workload in which a recorded start is still missed."""
    from slurmsim.fidelity import read_recording
    from slurmsim.fidelity.locked import replay_locked

    cluster, workload = draw_workload(seed, index)

    def differs(jobs: list[dict[str, Any]]) -> bool:
        names = {job["id"] for job in jobs}
        if any(job.get("dependency", "").partition(":")[2] not in names | {""} for job in jobs):
            return False
        folder = Path(oracle.scratch())
        part = {**workload, "jobs": jobs}
        recording = oracle.record_workload(cluster, part, "w")
        (folder / "w.workload.json").write_text(json.dumps(part), "utf-8")
        (folder / "w.json").write_text(json.dumps(recording), "utf-8")
        if "sacctmgr.txt" in cluster.files:
            (folder / "w.sacctmgr.txt").write_text(cluster.files["sacctmgr.txt"], "utf-8")
        return replay_locked(read_recording(folder / "w.json")).share_agreed < 1

    for job in shortest(workload["jobs"], differs, WORKLOAD_TRIES):
        print(json.dumps(job))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("all", "sessions", "workloads", "compare", "shorten"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("unseen-recordings"))
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--workloads", type=int, default=WORKLOADS)
    parser.add_argument("--session", type=int, help="shorten: which session")
    parser.add_argument("--number", type=int, help="shorten: which of its commands")
    parser.add_argument("--workload", type=int, help="shorten: which workload")
    args = parser.parse_args()
    if args.what != "compare" and oracle.kit() is None:
        print(f"SKIPPED: {oracle.VARIABLE} names no oracle kit that can run here (root, Slurm's programs)")
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.what in ("all", "sessions"):
        sessions(args.seed, args.folder, args.sessions)
    if args.what in ("all", "workloads"):
        workloads(args.seed, args.folder, args.workloads)
    if args.what == "compare":
        compare(args.folder)
        compare_workloads(args.folder)
    if args.what == "shorten" and args.workload is not None:
        shorten_workload(args.seed, args.workload)
    elif args.what == "shorten":
        if args.session is None or args.number is None:
            parser.error("shorten needs --session and --number, or --workload")
        shorten_session(args.seed, args.session, args.number)
    return 0


if __name__ == "__main__":
    sys.exit(main())
