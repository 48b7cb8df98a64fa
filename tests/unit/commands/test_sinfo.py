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

from slurmsim.commands.sinfo import sinfo
from slurmsim.protocol import Unreachable
from slurmsim.releases import VERSIONS


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


# ---- rule by rule; what is odd was seen on a real sinfo 22.05.8 ----

NOW = 1767600000


def node(name: str, state: str = "IDLE", *flags: str, **more: Any) -> Record:
    """A node record of 8 CPUs."""
    plain = {
        "name": name, "node_hostname": name, "node_addr": name, "state": state, "state_flags": list(flags),
        "cpus": 8, "cpus_efctv": 8, "alloc_cpus": 8 if state == "ALLOCATED" else 0, "sockets": 2, "cores": 4,
        "threads": 1, "real_memory": 1000, "tmp_disk": 0, "weight": 1, "features": "std", "reason_time": 0,
    }  # fmt: skip
    return {**plain, **more}


BATCH = partition("batch", "n[1-9]", default=True)


def told(words: str, *nodes: Record, partitions: tuple[Record, ...] = (BATCH,), release: str = "22.05",
         **environ: str) -> tuple[int, str, str]:  # fmt: skip
    client = FakeClient(NOW, nodes=[dict(one) for one in nodes], partitions=list(partitions))
    client.release = release
    return call(sinfo.run, words, client, **environ)


def printed(words: str, *nodes: Record, **more: Any) -> list[str]:
    code, out, err = told(words, *nodes, **more)
    assert (code, err) == (0, "")
    return out.splitlines()


def test_no_daemon() -> None:
    class Away:
        folder, patience_s = "/nowhere", 0.0

        def call(self, name: str, **_: Any) -> Any:
            raise Unreachable("no socket")

    text = "Unable to contact slurm controller (connect failure)\n"
    assert call(sinfo.run, "", Away()) == (1, "", f"slurm_load_partitions: {text}")
    assert call(sinfo.run, "-T", Away()) == (1, "", f"slurm_load_reservations: {text}")


def test_only_what_is_printed_is_asked_for() -> None:
    client = FakeClient(NOW, nodes=[node("n1")], partitions=[BATCH])
    call(sinfo.run, "-h -o %P", client)
    fields = {name: arguments["fields"] for name, arguments in client.asked if name != "hello"}
    assert "features" not in fields["nodes"] and "max_time" not in fields["partitions"]


@pytest.mark.parametrize(
    ("state", "flags", "compact", "long"),
    [
        ("IDLE", (), "idle", "idle"), ("IDLE", ("NOT_RESPONDING",), "idle*", "idle*"),
        ("DOWN", ("NOT_RESPONDING",), "down*", "down*"), ("IDLE", ("DRAIN",), "drain", "drained"),
        ("ALLOCATED", ("DRAIN",), "drng", "draining"), ("IDLE", ("DRAIN", "COMPLETING"), "drng", "draining"),
        ("IDLE", ("COMPLETING",), "comp", "completing"), ("ALLOCATED", ("COMPLETING",), "alloc+", "allocated+"),
        ("IDLE", ("POWERED_DOWN",), "idle~", "idle~"), ("IDLE", ("POWERING_UP",), "idle#", "idle#"),
        ("IDLE", ("POWERING_DOWN",), "idle%", "idle%"), ("IDLE", ("POWER_DOWN",), "idle!", "idle!"),
        ("IDLE", ("RESERVED",), "resv", "reserved"), ("IDLE", ("PLANNED",), "plnd", "planned"),
        ("IDLE", ("MAINTENANCE", "RESERVED"), "maint", "maint"),
        ("ALLOCATED", ("MAINTENANCE",), "alloc$", "allocated$"),
        ("IDLE", ("DRAIN", "MAINTENANCE"), "drain$", "drained$"), ("IDLE", ("REBOOT_REQUESTED",), "boot", "reboot"),
        ("DOWN", ("REBOOT_ISSUED",), "boot^", "reboot^"), ("ALLOCATED", ("REBOOT_REQUESTED",), "alloc@", "allocated@"),
        ("IDLE", ("FAIL",), "fail", "fail"), ("ALLOCATED", ("FAIL",), "failg", "failing"),
        ("FUTURE", (), "futr", "future"), ("UNKNOWN", (), "unk", "unknown"),
    ],
)  # fmt: skip
def test_states(state: str, flags: tuple[str, ...], compact: str, long: str) -> None:
    assert printed("-h -o %t|%T", node("n1", state, *flags)) == [f"{compact}|{long}"]


@pytest.mark.parametrize(("release", "says"), [("22.05", "fail"), ("24.11", "fail"), ("26.05", "failing")])
def test_a_node_that_fails_with_jobs_on_a_part_of_it(release: str, says: str) -> None:
    assert printed("-h -o %T", node("n1", "MIXED", "FAIL", alloc_cpus=3), release=release) == [says]


def test_partly_used_nodes_are_mixed_unless_drained() -> None:
    used = node("n1", "ALLOCATED", alloc_cpus=3)
    planned = node("n2", "ALLOCATED", "PLANNED", alloc_cpus=3)
    drained = node("n3", "ALLOCATED", "DRAIN", alloc_cpus=3)
    assert printed("-h -N -o %N%t%C", used, planned, drained) == ["n1mix3/5/0/8", "n2mix-3/5/0/8", "n3drng3/0/5/8"]


def test_lines_come_in_order_of_partitions_then_of_state_numbers_backwards() -> None:
    nodes = [node("n1"), node("n2", "ALLOCATED"), node("n3", "DOWN"), node("n4", "IDLE", "DRAIN"),
             node("n5", alloc_cpus=1), node("n6", "IDLE", "PLANNED")]  # fmt: skip
    other = partition("a", "n1")
    lines = printed("-h", *nodes, partitions=(BATCH, other))
    assert [line.split()[0] + line.split()[4] for line in lines] == [
        "batch*plnd", "batch*drain", "batch*mix", "batch*alloc", "batch*idle", "batch*down", "aidle",
    ]  # fmt: skip


def test_sizes_are_put_together_unless_exact() -> None:
    nodes = [node("n1"), node("n2", cpus=16, real_memory=2000, cores=8, weight=2), node("n3", features="gpu")]
    assert printed("-h -o %c|%m|%z|%w|%D", *nodes) == ["8+|1000+|2:4+:1|1+|3"]
    assert printed("-h -e -S N -o %c|%m|%z|%w|%N", *nodes) == ["8|1000|2:4:1|1|n[1,3]", "16|2000|2:8:1|2|n2"]
    assert printed("-h -S N -o %f|%c", *nodes) == ["std|8+", "gpu|8"]


def test_partitions_without_nodes_have_a_line_where_their_name_is_printed() -> None:
    empty = partition("empty", "", state_up="DRAIN")
    assert printed("-h -o %P|%a|%D|%t|%N|", node("n1"), partitions=(BATCH, empty)) == [
        "batch*|up|1|idle|n1|",
        "empty|drain|0|n/a||",
    ]
    assert printed("-h -o %a|%D", node("n1"), partitions=(BATCH, empty)) == ["up|1"]


def test_partitions_that_print_alike_share_a_line_where_no_name_is_printed() -> None:
    twice = partition("twice", "n[1-2]")
    assert printed("-h -o %D|%N", node("n1"), node("n2"), partitions=(BATCH, twice)) == ["2|n[1-2]"]
    assert printed("-h -N -o %N", node("n1"), partitions=(BATCH, twice)) == ["n1", "n1"]


def test_the_default_partitions_star_is_never_cut() -> None:
    assert printed("-h -o %P|%5P|%.5P|%8P|%R|%3R", node("n1")) == ["batch*|batc*|batc*|batch*  |batch|bat"]


def test_columns_are_fitted() -> None:
    long = partition("a_long_partition", "n1", default=True)
    assert printed("", node("n1"), partitions=(long,))[0].startswith("PARTITION         AVAIL")
    assert printed("-N", node("a_long_node_name"), partitions=(partition("p", "a_long_node_name"),)) == [
        "NODELIST          NODES PARTITION STATE ",
        "a_long_node_name      1         p idle  ",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-t idle", "n[1,4]"), ("-t drain", "n[2,4]"), ("-t drained", "n4"), ("-t drng", "n2"), ("-t alloc", "n2"),
        ("-t down,drained", "n[3-4]"), ("-t 'idle&drain'", "n4"), ("-d", "n3"), ("-r", "n[1-2,4]"),
        ("-n n1,n3", "n[1,3]"), ("-t d", "n3"), ("-t all", "n[1-4]"), ("-n zz", ""), ("-n 'n[1'", ""),
    ],
)  # fmt: skip
def test_filters(words: str, expected: str) -> None:
    nodes = (
        node("n1"),
        node("n2", "ALLOCATED", "DRAIN"),
        node("n3", "DOWN", "NOT_RESPONDING"),
        node("n4", "IDLE", "DRAIN"),
    )
    assert printed(f"-h -o %P%N {words}", *nodes) == [f"batch*{expected}"]


@pytest.mark.parametrize(("release", "names"), [("22.05", ",?,mixed"), ("24.11", ",blocked,"), ("26.05", ",external,")])
def test_bad_state(release: str, names: str) -> None:
    code, out, err = told("-t bogus", release=release)
    first, second = err.splitlines()
    assert (code, out, first) == (1, "", 'sinfo: error: Bad state string: "bogus"')
    assert second.startswith("sinfo: error: valid states: unknown,down,idle") and names in second


def test_limits_and_sizes() -> None:
    p = partition("p", "n1", max_time=90, default_time=None, min_nodes=2, max_nodes=2048, max_cpus_per_node=4,
                  over_subscribe="FORCE", max_share=3)  # fmt: skip
    q = partition("q", "n1", max_time=None, min_nodes=0, max_nodes=1, over_subscribe="EXCLUSIVE", max_share=0)
    r = partition("r", "n1", max_nodes=3, min_nodes=3, over_subscribe="YES", max_share=4, root_only=True)
    lines = printed("-h -o %l|%L|%s|%B|%h|%r|%g|%S", node("n1"), partitions=(p, q, r))
    assert lines == [
        "1:30:00|infinite|2-2K|4|FORCE:3|no|all|all",
        "infinite|n/a|1|UNLIMITED|EXCLUSIVE|no|all|all",
        "infinite|n/a|3|UNLIMITED|YES:4|yes|all|all",
    ]
    assert printed("--noconvert -h -o %s", node("n1"), partitions=(p,)) == ["2-2048"]


def test_partitions_that_share_in_several_ways_have_a_line_each_if_asked_for_by_the_old_word() -> None:
    parts = (partition("p", "n1", over_subscribe="FORCE", max_share=2), partition("q", "n1"))
    for release, apart in (("22.05", True), ("24.11", False), ("26.05", False)):
        for words in ("-h -o %h", "-h -O OverSubscribe:.8", "-h -O share:.8"):
            lines = printed(words, node("n1"), partitions=parts, release=release)
            assert len(lines) == 1 + (apart or "share" in words), (release, words)


def test_reasons() -> None:
    nodes = (
        node("n1", "IDLE", "DRAIN", reason="bad disk", reason_time=NOW, reason_user="root", reason_uid=0),
        node("n2", "DOWN", reason="power", reason_time=NOW, reason_user="alice", reason_uid=2001),
        node("n3"),
    )
    lines = printed("-R", *nodes)
    assert lines == [
        "REASON               USER      TIMESTAMP           NODELIST",
        "bad disk             root      2026-01-05T08:00:00 n1",
        "power                alice     2026-01-05T08:00:00 n2",
    ]
    assert printed("-h -N -o %E|%u|%U|%H", *nodes)[1:] == [
        "power|alice|alice(2001)|2026-01-05T08:00:00",
        "none|Unknown|Unknown|Unknown",
    ]


def test_formats_variables_and_their_quarrels() -> None:
    assert printed("-h", node("n1"), SINFO_FORMAT="%P") == ["batch*"]
    assert printed("-h -N", node("n1"), SINFO_FORMAT="%P") == ["n1             1    batch* idle  "]
    assert told("", SINFO_ALL="1", SINFO_PARTITION="x")[0] == 1
    assert told("-a -p x")[2].startswith("sinfo: error: Conflicting options, -a and -p, specified.")
    assert told("-l -o %P")[2].startswith("sinfo: fatal: Options -o(--format) and -l(--long)")
    assert told("-h -o %j", node("n1"))[1:] == ("%j\n", "Invalid node format specification: j\n")
    assert told("-i 0")[2] == "sinfo: error: Error: invalid entry for --iterate=0\n"
    assert printed("-h -O partition:-5,nodes:0", node("n1")) == ["1"]


def test_hidden_partitions() -> None:
    hidden = partition("hid", "n1", hidden=True)
    assert printed("-h -o %P", node("n1"), partitions=(BATCH, hidden)) == ["batch*"]
    assert printed("-h -o %P -a", node("n1"), partitions=(BATCH, hidden)) == ["batch*", "hid"]
    assert printed("-h -o %P -p hid", node("n1"), partitions=(BATCH, hidden)) == ["hid"]


def test_reservation_column_came_later() -> None:
    one = node("n1", "IDLE", "RESERVED", resv_name="r1")
    assert told("-h -o %i", one)[2] == "Invalid node format specification: i\n"
    assert printed("-h -o %i|%N", one, node("n2"), release="24.11") == ["r1|n1", "|n2"]


def test_no_reservations() -> None:
    assert told("-T") == (0, "No reservations in the system\n", "")


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_help_names_every_option(release: str) -> None:
    from slurmsim.commands.sinfo.options import ROWS

    code, out, _ = told("--help", release=release)
    assert code == 0
    for name, _, _, since, until in ROWS:
        if since <= release and (not until or release < until) and name != "clusters":
            assert f"--{name}" in out
