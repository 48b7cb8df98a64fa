"""Ask real Slurm and slurmsim what nobody has asked: ``python -m unseen`` in tests/differential (`make unseen`).

``sessions`` and ``workloads`` draw, record and compare; ``record`` only records, ``compare`` only compares, ``keep``
compresses what was recorded; ``shorten`` leaves commands (or jobs) out while a session (or workload) differs. All need
a seed and a folder; a newer release than 22.05 (``--release``) needs a root of its own as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

from unseen import documents, kept, oracle, ours, score
from unseen.clusters import Cluster
from unseen.documents import with_documents
from unseen.life import SITES, draw_life
from unseen.ours import replay
from unseen.sessions import Command, Drawer, Drawn
from unseen.shorten import shortest
from unseen.site_workloads import KINDS, draw_site_workload
from unseen.workloads import draw_workload

SESSIONS, WORKLOADS, TIMES = 33, 20, 3
COMMAND_TRIES, WORKLOAD_TRIES = 40, 12


def record_session(drawn: Drawn, release: str) -> dict[str, Any]:
    """What real Slurm answers; each command with its verb and option."""
    recording = oracle.record_session(drawn.cluster, drawn.cases(), drawn.name, release)
    steps = [step for step in recording["steps"] if "cmd" in step]
    for command, step in zip([*drawn.scene, *drawn.commands], steps, strict=True):
        step["verb"], step["option"], step["persona"] = command.verb, command.option, command.persona
    return recording


def draw_by_grammar(seed: int, count: int) -> list[Drawn]:
    """So many sessions of the grammar, one after the other."""
    drawer = Drawer(seed)
    return [drawer.draw(index) for index in range(count)]


def draw_lives(seed: int, kinds: list[str]) -> list[Drawn]:
    """A session of personas on each kind of cluster."""
    return [draw_life(seed, kind) for kind in kinds or SITES]


def record_sessions(seed: int, folder: Path, args: argparse.Namespace) -> None:
    """Draw sessions and record each some times, those already there left alone; they mostly wait, so some go at once.

    What real Slurm itself answers differently another time is not asked of slurmsim (its loops have another phase).
    """
    drawn = draw_lives(seed, args.kinds) if args.personas else draw_by_grammar(seed, args.sessions)
    if args.documents:
        drawn = [with_documents(one, args.release) for one in drawn]
    places = [folder, *(folder / f"{kept.AGAIN}{k}" for k in range(1, args.times))]
    for place in places:
        place.mkdir(exist_ok=True)
    with ThreadPoolExecutor(args.at_once) as pool:
        asked = [(one, place) for place in places for one in drawn]
        list(pool.map(_keep_session, *zip(*asked, strict=True), repeat(args.release)))


def _keep_session(drawn: Drawn, folder: Path, release: str) -> None:
    path = folder / f"{drawn.name}.json"
    if path.exists():
        return
    try:
        recording = record_session(drawn, release)
    except (RuntimeError, TimeoutError) as error:
        print(f"{drawn.name}: not recorded: {error}", file=sys.stderr, flush=True)
        return
    drawn.cluster.write(folder / "conf" / drawn.name)
    path.write_text(json.dumps(recording), "utf-8")
    print(f"{drawn.name}: recorded", file=sys.stderr, flush=True)


def record_workloads(seed: int, folder: Path, count: int, at_once: int, release: str) -> None:
    """Draw and record `count` workloads, those already there left alone."""
    drawn = ((f"w{index:02}", *draw_workload(seed, index)) for index in range(count))
    _keep_workloads(drawn, folder, at_once, release)


def record_site_workloads(seed: int, folder: Path, kinds: list[str], at_once: int, release: str) -> None:
    """Draw and record a workload for each kind of cluster that has some."""
    drawn = ((f"w-{kind}", *draw_site_workload(seed, kind)) for kind in KINDS if kind in (kinds or KINDS))
    _keep_workloads(drawn, folder, at_once, release)


def _keep_workloads(
    drawn: Iterable[tuple[str, Cluster, dict[str, Any]]], folder: Path, at_once: int, release: str
) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda one: _keep_workload(*one, folder, release), drawn))


def _keep_workload(name: str, cluster: Cluster, workload: dict[str, Any], folder: Path, release: str) -> None:
    if (folder / f"{name}.json").exists():
        return
    try:
        recording = oracle.record_workload(cluster, workload, name, release)
    except (RuntimeError, TimeoutError) as error:
        print(f"{name}: not recorded: {error}", file=sys.stderr, flush=True)
        return
    (folder / f"{name}.workload.json").write_text(json.dumps(workload), "utf-8")
    if "sacctmgr.txt" in cluster.files:
        (folder / f"{name}.sacctmgr.txt").write_text(cluster.files["sacctmgr.txt"], "utf-8")
    (folder / f"{name}.json").write_text(json.dumps(recording), "utf-8")
    print(f"{name}: recorded", file=sys.stderr, flush=True)


def compare(folder: Path, figures: Path | None = None, release: str = "", kinds: Sequence[str] = ()) -> None:
    """Every difference of the recorded sessions, then tables, and those of real Slurm against itself.

    What the documentation tells of personas goes to the file `figures`, under the release.
    """
    judged, itself, read = [], [], []
    for path in sorted(folder.glob("s*.json")):
        if kinds and path.stem.partition("-")[2] not in kinds:
            continue
        recording = json.loads(path.read_text("utf-8"))
        others = kept.other_times(folder, path.name)
        conf = folder / "conf" / path.stem / "slurm.conf"
        answers = ours.answers(recording, conf, ours.up_s_of(recording))
        found = ours.judged(path.stem, recording, others, answers)
        judged += found
        if len(others) > 1:
            itself += ours.compare_itself(path.stem, recording, others)
        for one in found:
            if one.verdict == "different":
                print(f"--- {one.session} {one.number} {one.verb}: {one.command}\n{one.difference()}", flush=True)
        for document in ours.compare_documents(path.stem, recording, others, answers):
            read.append(document)
            for line in document.unlike:
                print(f"=== {document.session} {document.number} {document.what} {line}", flush=True)
    if figures is not None:
        told = json.loads(figures.read_text("utf-8")) if figures.exists() else {}
        figures.write_text(
            json.dumps(told | {release: score.figures(judged, itself, documents.counted(read))}, indent=1) + "\n",
            "utf-8",
        )
    for key in (score.by_verb, score.by_persona, score.by_kind):
        print(f"{score.table(judged, key)}\n")
        if itself:
            print(f"Real Slurm, recorded once more:\n\n{score.table(itself, key)}\n")
    if read:
        print(f"{documents.table(read)}\n")


def compare_workloads(folder: Path) -> None:
    """Locked and in step, a row a workload."""
    from slurmsim.cli import main as command

    files = sorted(str(path) for path in folder.glob("w*.json") if not path.name.endswith(".workload.json"))
    if files:
        command(["fidelity", "--markdown", *files])


def shorten_session(seed: int, index: int, number: int, release: str) -> None:
    """The shortest session in which the command `number` of a session still differs."""
    drawer = Drawer(seed)
    for k in range(index):
        drawer.draw(k)
    drawn = drawer.draw(index)
    before = [*drawn.scene, *drawn.commands]
    last = before[number - 1]

    def differs(commands: list[Command]) -> bool:
        asked = replace(drawn, scene=commands, steps=[last])
        recording = record_session(asked, release)
        conf = asked.cluster.write(Path(oracle.scratch()) / asked.name) / "slurm.conf"
        return ours.compare(asked.name, recording, conf)[-1].verdict == "different"

    for command in [*shortest(before[: number - 1], differs, COMMAND_TRIES), last]:
        print(f"{command.user}$ {command.text}")


def shorten_workload(seed: int, index: int, release: str) -> None:
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
        recording = oracle.record_workload(cluster, part, "w", release)
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
    parser.add_argument("what", choices=("all", "sessions", "workloads", "record", "compare", "shorten", "keep"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("unseen-recordings"))
    parser.add_argument("--into", type=Path, default=Path("unseen-kept"), help="keep: where the compressed files go")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--personas", action="store_true", help="sessions of personas, one on each kind of cluster")
    parser.add_argument("--documents", action="store_true", help="ask for --json and slurmrestd, too, now and then")
    parser.add_argument("--kinds", nargs="*", default=[], choices=list(SITES), help="with --personas: these alone")
    parser.add_argument("--figures", type=Path, help="compare: keep the figures by persona and kind in this file")
    parser.add_argument("--workloads", type=int, default=WORKLOADS)
    parser.add_argument("--times", type=int, default=TIMES, help="how often each session is recorded")
    parser.add_argument("--at-once", type=int, default=1, help="how many clusters of real Slurm side by side")
    parser.add_argument("--release", default=oracle.OWN_RELEASE, help="which Slurm is asked: 22.05, 24.11, 26.05")
    parser.add_argument("--session", type=int, help="shorten: which session")
    parser.add_argument("--number", type=int, help="shorten: which of its commands")
    parser.add_argument("--workload", type=int, help="shorten: which workload")
    args = parser.parse_args()
    if args.what == "keep":
        kept.pack(args.folder, args.into)
        return 0
    if args.what != "compare" and oracle.kit(args.release) is None:
        print(f"SKIPPED: {oracle.VARIABLE} names no oracle kit that can run {args.release} here (root, its programs)")
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.what in ("all", "sessions", "record"):
        record_sessions(args.seed, args.folder, args)
    if args.what in ("all", "workloads", "record") and args.personas:
        record_site_workloads(args.seed, args.folder, args.kinds, args.at_once, args.release)
    elif args.what in ("all", "workloads", "record"):
        record_workloads(args.seed, args.folder, args.workloads, args.at_once, args.release)
    if args.what in ("all", "sessions", "compare"):
        replay.go_on_with_a_home_of_our_own()
        compare(args.folder, args.figures, args.release, args.kinds)
    if args.what in ("all", "workloads", "compare"):
        compare_workloads(args.folder)
    if args.what == "shorten" and args.workload is not None:
        shorten_workload(args.seed, args.workload, args.release)
    elif args.what == "shorten":
        if args.session is None or args.number is None:
            parser.error("shorten needs --session and --number, or --workload")
        shorten_session(args.seed, args.session, args.number, args.release)
    return 0


if __name__ == "__main__":
    sys.exit(main())
