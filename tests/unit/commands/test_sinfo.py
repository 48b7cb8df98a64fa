"""sinfo against the recordings of real Slurm, and rule by rule."""

from __future__ import annotations

import json
import re
import shlex
import time
from calendar import timegm
from typing import Any

import pytest
from fake_cluster import FakeClient, Record, call, golden, node_record

from slurmsim.commands import sinfo
from slurmsim.commands.releases import VERSIONS


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def partition(name: str, nodes: str, **more: Any) -> Record:
    """A partition record as slurmctld would send it."""
    plain = {
        "state_up": "UP", "default": False, "max_time": None, "default_time": -1, "min_nodes": 1, "max_nodes": None,
        "priority_tier": 10, "priority_job_factor": 1, "over_subscribe": "NO", "max_share": 1,
        "preempt_mode": "REQUEUE", "root_only": False, "max_cpus_per_node": None,
    }  # fmt: skip
    return {"name": name, "nodes": nodes, **plain, **more}


def recorded_partitions() -> list[Record]:
    """The partitions of the recorded cluster."""
    return [
        partition("batch", "n[01-14]", default=True, max_time=1440, default_time=10),
        partition("debug", "n[01-04]", max_time=30, default_time=5, max_nodes=2, priority_job_factor=20),
        partition("fast", "n[15-16]", max_time=720, default_time=30),
        partition("scav", "n[01-16]", priority_tier=1),
        partition("closed", "n[01-16]", max_time=60, priority_tier=1, allow_groups="root", hidden=True),
        partition("down", "n[05-06]", max_time=60, priority_tier=1, state_up="DOWN"),
    ]


def recorded_nodes(entries: list[Record], step: int, since: float, start: int, version: str) -> list[Record]:
    """The nodes when command `step` ran; reservations began `since` seconds before."""
    nodes = {entry["name"]: node_record(entry) for entry in entries}
    set_at = start
    for name in ("n10", "n11"):
        nodes[name]["state_flags"] = ["MAINTENANCE", "RESERVED"] if since > 0 else []
        nodes[name]["resv_name"] = "maint" if since > 0 else None
    nodes["n12"]["state_flags"] = ["RESERVED"] if since > 0 else []
    nodes["n12"]["resv_name"] = "class" if since > 0 else None
    for node in nodes.values():
        node["version"] = version
    for name, state, flags, reason in (
        ("n04", "IDLE", ["DRAIN"], "bad disk"), ("n08", "IDLE", ["DRAIN"], "memory errors seen"),
        ("n05", "DOWN", [], "power"), ("n06", "DOWN", [], "power"), ("n07", "IDLE", [], None),
    ):  # fmt: skip
        nodes[name].update(state=state, state_flags=flags, reason=reason)
        nodes[name].update(reason_time=set_at if reason else 0, reason_user="root" if reason else None)
        nodes[name]["reason_uid"] = 0 if reason else None
    if step > 160:
        nodes["n04"].update(state_flags=[], reason=None, reason_time=0, reason_user=None, reason_uid=None)
        nodes["n05"].update(state="IDLE", reason=None, reason_time=0, reason_user=None, reason_uid=None)
        nodes["n07"].update(
            state_flags=["FAIL"], reason="flaky", reason_time=FLAKY_AT[version] + set_at, reason_user="root"
        )
    return list(nodes.values())


FLAKY_AT = {"22.05.8": 8, "24.11.5": 4, "26.05.5": 5}
# seconds after which sinfo shows the reservations
_FIRST_RESERVED = {"22.05": 3.455, "24.11": 0.0, "26.05": 4.115}
_VOLATILE = (re.compile(r"\b\d\.\d\d(-\d\.\d\d)?\b *"), re.compile(r"\b1[2-6]\d\d\d(-1[2-6]\d\d\d)?\b(?!\+) *"))
# Slurm makes the lines of several partitions at once: their order before sorting is a matter of luck
_LUCK = re.compile(r"sinfo .*-N|sinfo -N|sinfo -S zz")
# the later JSON layouts
_NOT_COMPARED = {"22.05": set(), "24.11": {"sinfo --json"}, "26.05": {"sinfo --json"}}


def _plain(text: str) -> str:
    """Free memory and load without their numbers."""
    for pattern in _VOLATILE:
        text = pattern.sub("V", text)
    return text


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_recording(release: str) -> None:
    first = golden("sinfo.json")
    recording = first if release == "22.05" else golden(f"slurm-{release}/sinfo.json")
    start = timegm(time.strptime(recording["start"], "%Y-%m-%dT%H:%M:%S"))
    steps = [step for step in recording["steps"] if step.get("cmd") and not step.get("setup")]
    last = next(step for step in first["steps"] if step.get("cmd") == "sinfo --json")
    entries = json.loads(last["stdout"])["nodes"]
    wrong = []
    for step in steps:
        if step["cmd"] not in _NOT_COMPARED[release] and not same(step, entries, start, release):
            wrong.append(step["cmd"])
    assert wrong == []
    assert len(steps) > 150


def same(step: Record, entries: list[Record], start: int, release: str) -> bool:
    """Whether the command prints what was recorded; the time it was set down at may be a second off."""
    expected = (step["rc"], step["stdout"], step["stderr"])
    luck = _LUCK.match(step["cmd"]) is not None
    return any(
        _settled(call_recorded(step, entries, start + offset, release), luck) == _settled(expected, luck)
        for offset in (0, 1)
    )


def _settled(result: tuple[int, str, str], unordered: bool) -> Any:
    code, out, err = result
    lines = _plain(out).splitlines(keepends=True)
    return code, sorted(lines) if unordered else lines, err


def call_recorded(step: Record, entries: list[Record], start: int, release: str) -> tuple[int, str, str]:
    """The command, called on the cluster as it was then."""
    since = step["t"] - _FIRST_RESERVED[release]
    nodes = recorded_nodes(entries, step["n"], since, start, VERSIONS[release])
    partitions = recorded_partitions()
    if step["n"] > 160:
        partitions[2]["state_up"], partitions[1]["state_up"] = "INACTIVE", "DRAIN"
    reservation = {"start_time": start, "end_time": start + 3600}
    client = FakeClient(
        int(start + step["t"]), nodes=nodes, partitions=partitions,
        reservations=[{"name": "maint", "node_list": "n[10-11]", **reservation},
                      {"name": "class", "node_list": "n12", **reservation}],
    )  # fmt: skip
    client.release = release
    words = shlex.split(step["cmd"])
    environ = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    return call(sinfo.run, words[1:], client, **environ)
