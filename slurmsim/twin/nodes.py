"""The states of a dump's nodes, on the twin: down, drained, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from slurmsim.bitmap import from_indices
from slurmsim.protocol import Refusal
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.twin.findings import Findings, Weight
from slurmsim.twin.moments import Moments
from slurmsim.twin.shown import Shown

_REASON = re.compile(r"(.*?)(?: \[([^@\]]*)@([^\]]*)\])?\Z", re.DOTALL)
_GONE = ("DOWN", "NO_RESPOND", "NOT_RESPONDING", "ERROR")
_UNTOLD = ("REBOOT_ISSUED", "REBOOT_REQUESTED", "BLOCKED")
_POWER = ("POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN")


def settle_nodes(engine: Engine, nodes: list[Shown], moments: Moments, file: str, findings: Findings) -> None:
    """Bring the nodes of `engine` into the states of the dump. Raises WorkloadError."""
    owner = engine.people.by_uid(engine.owner)
    for one in nodes:
        name = one.get("NodeName")
        words = _words(one)
        if one.get("State").rstrip("$#!%@^~-").endswith("*"):
            words.add("NOT_RESPONDING")
        if words & set(_POWER):
            words.discard("NOT_RESPONDING")  # it is not expected to
        state = "DOWN" if words & set(_GONE) else "DRAIN" if "DRAIN" in words else "FAIL" if "FAIL" in words else ""
        for word in sorted(words & set(_UNTOLD)):
            findings.add(Weight.MIDDLE, f"{word} is not taken over: the node counts as up", name)
        match = _REASON.match(one.fields.get("Reason", ""))
        assert match is not None
        reason = match[1] if match[1] not in ("", "(null)", "none") else ""
        try:
            if state:
                asked = {"names": name, "state": state, "reason": reason or "unknown"}
                engine.execute(engine.now, "update_node", asked, owner)
                if "DRAIN" in words and state == "DOWN":
                    engine.execute(engine.now, "update_node", {**asked, "state": "DRAIN"}, owner)
        except Refusal as refusal:
            findings.add(Weight.HEAVY, f"its state {one.get('State')} is not taken over ({refusal.text})", name)
        index = engine.controller.state.table.index.get(name)
        if reason and index is not None:
            at = moments.read(match[3] or "", file, one.line, "Reason") or 0
            uid = engine.people.by_name(match[2]).uid if match[2] else engine.owner
            engine.node_reasons.note(index, reason, at, uid)
        _texts(engine, index, one, moments, file)
    _settle_power(engine, nodes, moments, file, findings)


@contextmanager
def awake(engine: Engine) -> Iterator[None]:
    """Have all nodes on, and power none down, within this block: jobs that have started need no boot."""
    power = engine.controller.power
    if power is None:
        yield
        return
    usual = power.suspend_time.copy()
    power.suspend_time[:] = -1
    power.take(0)
    yield
    power.suspend_time[:] = usual


def _settle_power(engine: Engine, nodes: list[Shown], moments: Moments, file: str, findings: Findings) -> None:
    """Let nodes be off, or on their way, as in the dump, and idle ones be so since they were busy last."""
    power, index = engine.controller.power, engine.controller.state.table.index
    by_word: dict[str, list[int]] = {word: [] for word in _POWER}
    for one in nodes:
        at = index.get(one.get("NodeName"))
        for word in _words(one) & set(_POWER):
            if power is None or at is None:
                findings.add(Weight.MIDDLE, f"{word} is not taken over: the node counts as up", one.get("NodeName"))
            else:
                by_word[word].append(at)
        busy = moments.read(one.get("LastBusyTime"), file, one.line, "LastBusyTime")
        if power is not None and at is not None and busy is not None:
            power.since[at] = busy
    if power is not None:
        states = [from_indices(sorted(by_word[word])) for word in _POWER]
        engine.network.act(engine.now, lambda: power.take(*states))


def _words(one: Shown) -> set[str]:
    return set(one.get("State").rstrip("*$#!%@^~-").split("+"))


_TIMES = (("BootTime", "boot_time"), ("SlurmdStartTime", "slurmd_start_time"), ("LastBusyTime", "last_busy"))
_SHOWN = (("OS", "os"), ("Arch", "arch"), ("Version", "version"), ("Comment", "comment"), ("Extra", "extra"))
_NUMBERS = (("FreeMem", "free_mem"),)


def _texts(engine: Engine, index: int | None, one: Shown, moments: Moments, file: str) -> None:
    """Keep what is only shown of a node."""
    if index is None:
        return
    kept = engine.node_texts.setdefault(index, {})
    for theirs, ours in _TIMES:
        at = moments.read(one.get(theirs), file, one.line, theirs)
        if at is not None:
            kept[ours] = at
    for theirs, ours in _SHOWN:
        if one.get(theirs):
            kept[ours] = one.get(theirs).strip()
