"""sdiag: what the controller has been doing.

Mirrors sdiag 22.05 (later lines from 24.11 and 26.05). Counters that are not kept here are 0.
"""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.text.clock_text import date_line
from slurmsim.commands.text.cluster_facts import reach
from slurmsim.commands.text.messages import Stop, stoppable
from slurmsim.commands.text.option_reader import DOCUMENTS, NO, REQUIRED, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("all", NO, "a"), ("help", NO, "h"), ("reset", NO, "r"), ("sort-by-id", NO, "i"),
    ("cluster", REQUIRED, "M"), ("clusters", REQUIRED, "M"), ("sort-by-time", NO, "t"),
    ("sort-by-time2", NO, "T"), ("usage", NO, "usage"), ("version", NO, "V"),
)  # fmt: skip
_LONG = options(("no-trunc", NO, "no_trunc"))
"""Where lists of hosts are printed whole, which none of ours is as long as."""
_USAGE = "Usage: sdiag [-M cluster] [-aritT]\n"
_HELP = """\
Usage: sdiag [OPTIONS]
  -a              all statistics
  -r              reset statistics
  -i              sort requests by their numbers
  -M, --cluster   the cluster by its name
  -t              sort requests by their time
  -T              sort requests by their mean time
  -V              the release

Help options:
  --help          this text
  --usage         a shorter one
"""
_STARS = "*" * 55
_MAIN_EXIT = ("End of job queue", "Hit default_queue_depth", "Hit sched_max_job_start", "Blocked on licenses",
              "Hit max_rpc_cnt", "Timeout (max_sched_time)")  # fmt: skip
_BF_EXIT = ("End of job queue", "Hit bf_max_job_start", "Hit bf_max_job_test", "System state changed",
            "Hit table size limit (bf_node_space_size)", "Timeout (bf_max_time)")  # fmt: skip


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sdiag call in the world `io`; the exit code."""
    release = release_of(io)
    on, dump, parser = _read(argv, io, release)
    try:
        if "r" in on:
            io.client.call("reset_statistics")
            io.out("Reset scheduling statistics\n")
            return 0
        found = io.client.call("statistics")
    except FAILED_CALLS as error:
        io.error(f"{'slurm_reset_statistics' if 'r' in on else 'slurm_get_statistics'}: {text_of(error)}")
        return 255  # the call's -1
    if dump:
        from slurmsim.commands.json.statistics import dump_statistics

        return dump_statistics(found, dump, io, release, argv, parser)
    io.out(_text(found, release, on))
    return 0


def _read(argv: list[str], io: Io, release: str) -> tuple[set[str], str, str]:
    on: set[str] = set()
    dump = told = ""
    known = _OPTIONS + (DOCUMENTS if since(release, "data_parsers") else ())
    parser = Parser(known + (_LONG if since(release, "long_lists_of_sdiag") else ()), permute=True)
    for key, value in parser.parse_for("sdiag", argv, io):
        on.add(key)
        if key == "V":
            io.out(version_of(io))
            raise Stop(0)
        if key in ("h", "usage"):
            io.out(_HELP if key == "h" else _USAGE)
            raise Stop(0)
        if key == "M":
            reach("sdiag", value or "", io)
        if key in ("json", "yaml"):
            dump, told = key, value or ""
    return on, dump, told


def _when(seconds: int) -> str:
    return f"{date_line(seconds)} ({seconds})"


def _text(s: Mapping[str, Any], release: str, on: set[str]) -> str:
    queue = since(release, "rpc_queue")
    lines = [_STARS, f"sdiag output at {_when(s['now'])}", f"Data since      {_when(s['since'])}", _STARS]
    lines.append(f"Server thread count:  {1 if queue else 3}")
    lines += ["RPC queue enabled:    0"] if queue else []
    lines += ["Agent queue size:     0", "Agent count:          0", "Agent thread count:   0"]
    lines += ["DBD Agent queue size: 0", ""]
    lines += [f"Jobs submitted: {s['submitted']}", f"Jobs started:   {s['started']}"]
    lines += [
        f"Jobs completed: {s['completed']}",
        f"Jobs canceled:  {s['canceled']}",
        f"Jobs failed:    {s['failed']}",
        "",
    ]
    lines += [f"Job states ts:  {_when(s['states_at'])}", f"Jobs pending:   {s['pending']}",
              f"Jobs running:   {s['running']}", ""]  # fmt: skip
    lines += [*_main(s, release), "", *_backfill(s, release), ""]
    lines += ["Latency for 1000 calls to gettimeofday(): 0 microseconds", ""]
    lines.append("Remote Procedure Call statistics by message type")
    order = (lambda one: one[1]) if "i" in on else (lambda one: -one[2])
    for name, number, count in sorted(s["rpcs"], key=order):
        lines.append(f"\t{name:<40}({number:5d}) count:{count:<6d} ave_time:{0:<6d} total_time:0")
    if queue and not s["rpcs"]:
        lines.append("\tNo RPCs recorded yet.")
    lines += ["", "Remote Procedure Call statistics by user"]
    for name, uid, count in sorted(s["users"], key=order):
        lines.append(f"\t{name:<16}({uid:8d}) count:{count:<6d} ave_time:{0:<6d} total_time:0")
    lines += ["", "Pending RPC statistics", "\tNo pending RPCs"]
    return "\n".join(lines) + "\n"


def _main(s: Mapping[str, Any], release: str) -> list[str]:
    cycles = s["main_cycles"]
    lines = [
        "Main schedule statistics (microseconds):",
        "\tLast cycle:   0",
        "\tMax cycle:    0",
        f"\tTotal cycles: {cycles}",
    ]
    if cycles:
        lines += ["\tMean cycle:   0", "\tMean depth cycle:  0"]
    minutes = (s["now"] - s["since"]) / 60
    if minutes > 1:
        lines.append(f"\tCycles per minute: {int(cycles / minutes)}")
    lines.append(f"\tLast queue length: {s['queue_length']}")
    if since(release, "exits_of_cycles"):
        lines += ["", "Main scheduler exit:"]
        lines += [f"\t{name}:{cycles if at == 0 else 0:2d}" for at, name in enumerate(_MAIN_EXIT)]
    return lines


def _backfill(s: Mapping[str, Any], release: str) -> list[str]:
    cycles = s["bf_cycles"]
    lines = ["Backfilling stats", f"\tTotal backfilled jobs (since last slurm start): {s['backfilled']}"]
    lines.append(f"\tTotal backfilled jobs (since last stats cycle start): {s['backfilled']}")
    lines += [f"\tTotal backfilled heterogeneous job components: {s['backfilled_het']}", f"\tTotal cycles: {cycles}"]
    lines.append(f"\tLast cycle when: {_when(s['bf_last']) if s['bf_last'] else 'N/A'}")
    lines += ["\tLast cycle: 0", "\tMax cycle:  0"]
    lines += ["\tMean cycle: 0"] if cycles else []
    lines += ["\tLast depth cycle: 0", "\tLast depth cycle (try sched): 0"]
    lines += ["\tDepth Mean: 0", "\tDepth Mean (try depth): 0"] if cycles else []
    lines.append("\tLast queue length: 0")
    lines += ["\tQueue length mean: 0"] if cycles else []
    lines.append("\tLast table size: 0")
    lines += ["\tMean table size: 0"] if cycles else []
    if since(release, "exits_of_cycles"):
        lines += ["", "Backfill exit"]
        lines += [f"\t{name}:{cycles if at == 0 else 0:2d}" for at, name in enumerate(_BF_EXIT)]
    return lines
