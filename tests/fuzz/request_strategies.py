"""Requests made up by Hypothesis from the daemon's own table of shapes: well-formed, nearly so, and junk."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from slurmsim.slurmctld.requests.shapes.requests import REQUESTS
from slurmsim.slurmctld.requests.shapes.values import (
    Absent,
    AnyObject,
    Digits,
    Either,
    Fields,
    Flag,
    ListOf,
    OneOf,
    Real,
    Row,
    Shape,
    Tagged,
    Text,
    Whole,
)

START = 1_767_600_000
TIMES = tuple(START + delta for delta in (-3600, 0, 1, 60, 3600, 86400))
WORDS = (
    "", "1", "2", "3", "1_0", "2_1", "1_[0-3]", "2_*", "2_1,3", "1.0", "0", "-1", "n1", "n[1-2]", "n[1-4],n2", "ALL",
    "+n1", "-n2", "p", "q", "p,q", "nosuch", "root", "alice", "bob", "normal", "high", "chem", "afterok:1",
    "afterany:2:3,after:1+5", "afterok:1?afternotok:2", "singleton", "expand:1", "gpu", "gpu:2", "gres:gpu:1",
    "gres/gpu:a100:1", "a&b", "[a|b]", "a*2", "[a*1&b*2]", "matlab:2", "matlab", "0-3", "1-9:2%2", "%3", ",", "[", "]",
    "block", "cyclic", "arbitrary", "plane", "exclusive", "ok", "user", "append", "truncate", "none", "yes", "B",
    "res1", "MAINT", "+MAINT", "-DAILY", "+PURGE_COMP", "cpu=1", "cpu=1,mem=1G", "DefCpuPerGPU=2", "1000", "1K", "é",
    "\udcff", "%j %a", "/tmp/x%j", "a b", "99999999999999999999", "²", "٣", "-", "1-", "name", "DRAIN", "DOWN",
    "RESUME",
    "IDLE", "FAIL", "UNDRAIN", "POWER_DOWN", "CANCEL_REBOOT", "CANCEL", "REQUEUE", "OFF", "FORCE", "GrpTRES", "MaxJobs",
    "Parent", "Priority", "Fairshare", "QosLevel", "Flags", "Preempt", "+", "job_id", "job_state", "name", "state",
    "COMPLETED", "PENDING", "RUNNING", "CANCELLED", "association", "user", "account", "qos", "cluster", "transaction",
)  # fmt: skip
_NODES = ("n1", "n2", "n[1-2]", "n[1-4]", "n3,n4", "ALL", "n[1-4],n2", "x")
_PARTITIONS, _PEOPLE = ("p", "q", "r", "p,q"), ("alice", "bob", "root", "+alice", "-alice", "nosuch")
_ACCOUNTS = ("root", "chem", "bio", "physics")
MEANT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("node_list", "req_nodes", "exc_nodes", "task_nodes"), _NODES),
    **dict.fromkeys(
        ("account", "accounts", "parent", "default_account", "organization", "default_accounts"), _ACCOUNTS
    ),
    "partition": _PARTITIONS,
    "partitions": _PARTITIONS,
    "users": _PEOPLE,
    "user_name": _PEOPLE,
    "qos": ("normal", "high"),
    "array_inx": ("0-3", "1,3%1", "0-9:3", ","),
    "reservation": ("res1", "x"),
    "target": ("res1", "x", "p", "q", "r"),
    "features": ("a", "b", "a&b", "[a*1&b*1]", "c"),
    "licenses": ("matlab", "matlab:2", "matlab:9"),
    "dependency": ("afterok:1", "afterany:2", "singleton", "aftercorr:3", "after:1+2"),
    "flags": ("+MAINT", "+DAILY", "+OVERLAP", "-DAILY", "+IGNORE_JOBS", "+FLEX", "+ANY_NODES"),
    "begin_time": TIMES,
    "start_time": TIMES,
    "end_time": TIMES,
    "deadline": TIMES,
    "state": ("DOWN", "DRAIN", "RESUME", "IDLE", "FAIL", "UNDRAIN"),
    "min_nodes": (1, 1, 2, 4),
    "num_tasks": (1, 2, 4),
    "cpus_per_task": (1, 2),
    "pn_min_memory": (0, 100, 4000),
    "tres_per_node": ("gres:gpu:1", "gpu:2"),
    "gres": ("gpu:2", "gpu:1"),
    "what": ("timeout", "slow", "late", "OUT_OF_MEMORY", "LAUNCH_FAILED", "flap", "drain", "DEADLINE"),
    "command": ("sbatch", "squeue"),
    "name": ("res1", "p", "q", "r", "job"),
}
SCRIPTS = ("#!/bin/sh\nsleep 60\n", "#!/bin/sh\nexit 3\n", "#!/bin/sh\n#SLURMSIM runtime=90 exit=3\ntrue\n", "")
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 10, 60, 1000, 65535, 0x7FFFFFFF, 0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF)
JUNK: tuple[Any, ...] = (
    None, True, False, -1, 1 << 64, -(1 << 70), 1e308, 0.5, "", "x", "\0", "\ud800", "x" * 70_000, "9" * 5000, [], {},
    [[]], {"a": {}}, [None], [1, 2], ["n1"], {"job_id": 1}, "1_[1-99999999]", "n[1-99999999]", "[" * 100,
)  # fmt: skip


def value_of(shape: Shape) -> st.SearchStrategy[Any]:
    """Values of a shape, small and meaningful ones more often."""
    return _MAKERS[type(shape)](shape)


def _text(shape: Text) -> st.SearchStrategy[str]:
    free = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
        min_size=shape.least,
        max_size=min(shape.most, 12),
    )
    return st.one_of(st.sampled_from([w for w in WORDS if shape.least <= len(w) <= shape.most]), free)


def _whole(shape: Whole) -> st.SearchStrategy[int]:
    likely = [n for n in (*NUMBERS, *TIMES, shape.low, shape.high) if shape.low <= n <= shape.high]
    return st.one_of(
        st.sampled_from(likely), st.integers(shape.low, min(shape.high, 20)), st.integers(shape.low, shape.high)
    )


def _fields(shape: Fields) -> st.SearchStrategy[dict[str, Any]]:
    if not shape.known:
        return (
            st.just({})
            if shape.others is None
            else st.dictionaries(
                st.sampled_from(("A", "SLURM_X", "PATH", "RLIMIT_CPU")), value_of(shape.others), max_size=2
            )
        )
    needed = {name: _field(name, shape.known[name]) for name in sorted(shape.needed)}
    free = sorted(name for name in set(shape.known) - shape.needed if not isinstance(shape.known[name], Absent))
    some = st.lists(st.sampled_from(free), max_size=6, unique=True) if free else st.just([])
    return some.flatmap(
        lambda names: st.fixed_dictionaries({**needed, **{name: _field(name, shape.known[name]) for name in names}})
    )


def _field(name: str, shape: Shape) -> st.SearchStrategy[Any]:
    if name == "script":
        return st.sampled_from(SCRIPTS)
    if name in ("job_id", "core_id"):
        ids = st.integers(0, 12)
        return ids if not isinstance(shape, Either) else st.one_of(ids, ids.map(str), value_of(shape))
    if name == "seconds":
        return st.integers(0, 600)
    if name == "limit_s":
        return st.integers(0, 3600)
    if name in ("duration", "time_limit", "time_min", "max_time", "default_time"):
        return st.one_of(st.integers(0, 120), value_of(shape))
    if name in ("min_nodes", "max_nodes", "num_tasks", "cpus_per_task", "cpu_count", "signal"):
        return st.one_of(st.integers(0, 6), st.integers(0, 6), value_of(shape))
    if name in MEANT and not isinstance(shape, (Row, Fields)):
        words = st.sampled_from(MEANT[name])
        one = st.lists(words, max_size=3) if isinstance(shape, ListOf) else words
        return st.one_of(one, one, one, value_of(shape))
    if name == "wait":
        return st.just(False)  # a client of its own would wait for the answer
    return value_of(shape)


def _tagged(shape: Tagged) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        [
            value_of(fields).map(lambda found, word=word: {shape.tag: word, **found})
            for word, fields in shape.kinds.items()
        ]
    )


_MAKERS: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    Text: _text, Whole: _whole, Fields: _fields, Tagged: _tagged,
    OneOf: lambda s: st.sampled_from(s.words),
    Digits: lambda s: st.integers(0, 10**s.most - 1).map(str),
    Real: lambda s: st.floats(s.low, s.high),
    Flag: lambda s: st.booleans(),
    Either: lambda s: st.one_of([value_of(one) for one in s.shapes]),
    ListOf: lambda s: st.lists(value_of(s.shape), min_size=s.least, max_size=3),
    Row: lambda s: st.tuples(*(value_of(one) for one in s.shapes)).map(list),
    AnyObject: lambda s: st.just({}),
}  # fmt: skip
WAITING = ("news", "wait_allocation", "wait_over", "wait_mail", "wait_until")
LEFT_OUT = ("down", *WAITING)
"""Whoever sends `down` wants it; those who wait get no answer. `test_those_who_wait` asks for them one by one."""
CALLS = tuple(sorted(set(REQUESTS) - set(LEFT_OUT)))
OFTEN = ("submit", "submit", "submit", "update_job", "kill", "clock")


def _damaged(found: tuple[str, dict[str, Any]], draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[str, Any]:
    """The request with one value of it replaced, left out, or beside something that does not belong there."""
    call, arguments = found[0], copy.deepcopy(found[1])
    at: Any = arguments
    for _ in range(draw(st.integers(0, 3))):
        inner = [one for one in (at.values() if isinstance(at, dict) else at) if isinstance(one, (dict, list)) and one]
        if not inner:
            break
        at = draw(st.sampled_from(inner))
    keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
    if not keys or draw(st.integers(0, 5)) == 0:
        if isinstance(at, dict):
            at[draw(st.sampled_from(("x", "_to", "job_id", "fields", "name", "")))] = draw(st.sampled_from(JUNK))
        return call, arguments
    key = draw(st.sampled_from(keys))
    if draw(st.integers(0, 3)) == 0:
        del at[key]
    else:
        at[key] = draw(st.sampled_from(JUNK))
    return call, arguments


@st.composite
def requests(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[str, Any]:
    """A call and its arguments."""
    call = draw(st.sampled_from(CALLS + OFTEN))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        junk = st.sampled_from(JUNK)
        return call, draw(st.dictionaries(st.sampled_from(("job", "job_id", "fields", "names", "action")), junk))
    found = call, draw(value_of(REQUESTS[call]))
    return _damaged(found, draw) if kind < 4 else found
