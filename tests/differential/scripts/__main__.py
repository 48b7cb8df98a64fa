"""``SLURM_SCRIPTS=folder python -m scripts record|ours|compare --folder ANSWERS`` in tests/differential.

``record`` asks real Slurm (SLURMSIM_ORACLE). ``ours`` asks slurmsim: an engine in this process what is said and shown
(``--submissions``: that alone), `slurmsim up` what runs (``--runs``). ``compare`` prints what differs, then figures;
with ``--totals`` only the figures.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from scripts import both, corpus, engine, score
from slurmsim.releases import RECORDED_RELEASES


def _add(found: dict[str, Any], more: dict[str, Any]) -> None:
    for name, answer in more["answers"].items():
        found["answers"].setdefault(name, {}).update(answer)


def _is_over(submission: dict[str, Any]) -> bool:
    """True if the job did not run on: an engine in this process cannot know that."""
    shown = submission.get("free_shown", [0, "", ""])[1]
    return bool(shown) and not re.search(r"JobState=(PENDING|RUNNING|CONFIGURING)", shown)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "ours", "compare"))
    parser.add_argument("--folder", type=Path, default=Path("script-answers"))
    parser.add_argument("--release", choices=RECORDED_RELEASES, default=RECORDED_RELEASES[0])
    parser.add_argument("--only", default="", help="scripts whose name has this part")
    parser.add_argument("--submissions", action="store_true", help="ours: only what is said and shown, much faster")
    parser.add_argument("--runs", action="store_true", help="ours: only what scripts print and find")
    parser.add_argument("--most", type=int, default=0, help="ours: run so many scripts at most, spread evenly")
    parser.add_argument("--totals", action="store_true", help="compare: figures without differences")
    args = parser.parse_args()
    place = corpus.folder()
    if place is None:
        print(f"SKIPPED: {corpus.VARIABLE} names no folder of batch scripts")
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    real, ours = (args.folder / f"{side}-{args.release}.json" for side in ("real", "ours"))
    jobs = {"scripts": corpus.questions(place, args.only)}
    if args.what == "record":
        real.write_text(json.dumps(both.ask_real(jobs, args.release) | jobs), "utf-8")
    if args.what == "ours":
        recorded = json.loads(real.read_text("utf-8"))
        jobs["scripts"] = [one for one in recorded["scripts"] if args.only in one["name"]]
        ran = [one["name"] for one in jobs["scripts"] if recorded["answers"][one["name"]].get("run", {}).get("ended")]
        jobs["asked"] = ran[:: -(-len(ran) // args.most)] if args.most else ran
        found = json.loads(ours.read_text("utf-8")) if ours.exists() else {"answers": {}}
        if not args.runs:
            _add(found, engine.ask_engine(jobs, args.release))
        if not args.submissions:
            over = [name for name, found in recorded["answers"].items() if _is_over(found["submit"])]
            _add(found, both.ask_ours({"scripts": [one for one in jobs["scripts"] if one["name"] in over], "asked": []},
                                      args.release))  # fmt: skip
            jobs["scripts"] = [one for one in jobs["scripts"] if one["name"] in jobs["asked"]]
            _add(found, both.ask_ours(jobs | {"runs": True}, args.release))
        ours.write_text(json.dumps(found), "utf-8")
    if args.what == "compare":
        left, right = (json.loads(path.read_text("utf-8"))["answers"] for path in (real, ours))
        judged = score.judge(left, right, args.only)
        for one in [] if args.totals else judged:
            print(one.told(), end="", flush=True)
        print(score.table(args.release, judged))
    return 0


if __name__ == "__main__":
    sys.exit(main())
