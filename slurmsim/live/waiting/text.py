"""An explanation as sentences for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from slurmsim.duration import format_duration
from slurmsim.numerals import counted
from slurmsim.states import JobState

Fact = dict[str, Any]
_UNITS = {"cpu": "CPUs", "node": "nodes", "mem": "MiB of memory", "time": "minutes"}


def as_text(told: dict[str, Any]) -> str:
    """Return what `slurmsim.live.waiting.explain` found, for people."""
    owner = "/".join(part for part in (told["user"], told["account"]) if part)
    name = f" ({told['name']})" if told["name"] else ""
    size = f"{counted(told['nodes'], 'node')}, {counted(told['cpus'], 'CPU')}"
    lines = [f"Job {told['job']}{name} of {owner}: {size}, limit {format_duration(told['time_limit_s'])}, "
             f"partition {told['partition']}"]  # fmt: skip
    if told["state"] != JobState.PENDING:
        since = f" since {_moment(told['start'])}" if told["start"] is not None else ""
        return "\n".join([*lines, f"{told['state']}{since}; it waited {format_duration(told['waited_s'])}."])
    lines += [f"Submitted {_moment(told['submit'])}, waits for {format_duration(told['waited_s'])} now.", "",
              f"{told['reason']}{': ' if told['rule'] else ''}{told['rule']}."]  # fmt: skip
    lines += [_SENTENCES[fact["kind"]](fact) for fact in told["facts"]]
    if told["ahead_n"]:
        more = "" if told["ahead_n"] <= len(told["ahead"]) else f" and {told['ahead_n'] - len(told['ahead'])} more"
        lines.append(f"Before it: {_jobs(told['ahead'])}{more}.")
    if told["policy"]:
        lines.append(f"Its scheduler says: {told['policy']}")
    if told["planned_start"] is not None:
        lines.append(f"Planned start: {_moment(told['planned_start'])}, if running jobs take all their time.")
    if told["interval"]:
        lines.append(_interval(told["interval"], told["now"]))
    if told["starts_by_itself"]:
        lines.append("It starts by itself when the scheduler looks the next time.")
    for offer in told["offers"]:
        how = f"with {offer['option']}" if offer["option"] else "as it is"
        lines.append(f"Submitted anew {how} it would start after {offer['after_s']} s.")
    return "\n".join(lines)


def _interval(found: Fact, now: int) -> str:
    ends = f"of {found['copies']} copies of the cluster, with run times of {counted(found['ended'], 'ended job')}"
    if found["low"] is None:
        return f"In four of five such cases it starts in two weeks or later, by the lives {ends}."
    low = f"{_moment(found['low'])} (in {format_duration(max(0, found['low'] - now))})"
    if found["high"] is None:
        return f"In four of five such cases it starts after {low}, perhaps not within two weeks, by the lives {ends}."
    high = f"{_moment(found['high'])} (in {format_duration(max(0, found['high'] - now))})"
    return f"In four of five such cases it starts between {low} and {high}, by the lives {ends}."


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).isoformat(" ")


def _jobs(names: Sequence[str]) -> str:
    return f"job{'' if len(names) == 1 else 's'} {', '.join(names)}"


def _by(fact: Fact) -> str:
    if not fact["by"]:
        return ""
    more = fact["by_n"] - len(fact["by"])
    return f" by {_jobs(fact['by'])}{f' and {more} more' if more else ''}"


def _limit(fact: Fact) -> str:
    owner = f" of {fact['whose']}" if fact["whose"] else ""
    if fact["used"] is None:
        most = "" if fact["limit"] is None else f" {fact['limit']:,}"
        return f"Limit {fact['reason']}{owner}:{most} {_unit(fact)}, and it asks for {fact['asked']:,}."
    return (f"{fact['used']:,} of {fact['limit']:,} {_unit(fact)}{owner} in use{_by(fact)}, and it asks for "
            f"{fact['asked']:,} (limit {fact['reason']}).")  # fmt: skip


def _unit(fact: Fact) -> str:
    return _UNITS.get(fact["of"], str(fact["of"]))


def _nodes(fact: Fact) -> str:
    gres = "".join(f", {free} of {of} {name}" for name, (free, of) in fact["gres"].items())
    ends = "; ".join(f"job {one['job']} by {_moment(one['ends'])} ({counted(one['nodes'], 'node')})"
                     for one in fact["first_ends"][:3])  # fmt: skip
    return (
        f"It asks for {counted(fact['asked_nodes'], 'node')} and {counted(fact['asked_cpus'], 'CPU')}; of partition "
        f"{fact['partition']} {fact['up']:,} of {counted(fact['of'], 'node')} are up, {fact['idle']:,} idle, "
        f"{fact['free_cpus']:,} of {counted(fact['cpus'], 'CPU')} free{gres}."
        + (f" Next to end, at the latest: {ends}." if ends else "")
    )


def _partition(fact: Fact) -> str:
    limit = "none" if fact["max_time_s"] is None else format_duration(fact["max_time_s"])
    most = "any number" if fact["max_nodes"] is None else f"{fact['max_nodes']:,}"
    return (f"Partition {fact['partition']}: time limit {limit} (it asks for {format_duration(fact['time_limit_s'])}), "
            f"{fact['min_nodes']:,} to {most} of nodes (it asks for {fact['nodes']:,}).")  # fmt: skip


_SENTENCES: dict[str, Callable[[dict[str, Any]], str]] = {
    "limit": _limit,
    "nodes": _nodes,
    "partition": _partition,
    "license": lambda fact: (
        f"{fact['used']:,} of {fact['of']:,} licenses {fact['name']} in use{_by(fact)}, and it asks for "
        f"{fact['asked']:,}."
    ),
    "dependency": lambda fact: f"It depends on {fact['text']}.",
    "begin": lambda fact: f"It may start at {_moment(fact['at'])}.",
    "array": lambda fact: f"{fact['running']:,} of {fact['limit']:,} tasks of its array run.",
    "reservation": lambda fact: f"Reservation {fact['name']}: {_moment(fact['start'])} to {_moment(fact['end'])}.",
}
