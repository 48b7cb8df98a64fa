"""What snapshots of older schemas lack, and how it is made good.

An attribute an older release did not know is added to its tables with the value that release acted by; records of
`slurmsim.model` take the default of the class. An attribute of a part of the engine stays what it is in a new one. What
refers to other records is made when all of them are there.

| schema | releases | what the next one added |
|---|---|---|
| 1 | 0.2.0 | what GPUs bring, CPUs of a request, requeues of this second, nodes that do not answer |
| 2 | 0.3.0 | limits operators have lifted of a job |
| 3 | 0.4.0 | partitions that take no jobs of root, features that are active |
| 4 | 0.5.0 | layouts, solves, predictions, faults; objects' state lies with their part; shapes are requests |
| 5 | 0.6.0 | recurring jobs, whole tasks of a node |
| 6 | before 0.7.0 | WCKeys |
| 7 | before 0.7.0 | how jobs were held, their foremost partition, whether they share; forgotten tasks of arrays |
| 8 | before 0.7.0 | tasks of a socket and of a core, shapes with more tasks than CPUs |
| 9 | before 0.7.0 | priorities of runs that are requeued, reasons told again in the next pass |
| 10 | before 0.7.0 | records of the queue keep the parts of their key |
| 11 | before 0.7.0 | a fair tree knows all siblings together |
| 12 | before 0.7.0 | which cores lower tiers cannot have; how many jobs each active row had; untracked memory |
| 13 | before 0.7.0 | what one part alone decides by lies with that part |
| 14 | before 0.7.0 | the job table and the reasons of nodes are parts of their own |
| 15 | before 0.7.0 | CPUs that tasks take beside their GRES |
| 16 | before 0.7.0 | QOS and partitions that may use a reservation; GRES on the first node of a run |
| 17 | before 0.7.0 | nodes that jobs exclude for themselves, of those that a policy migrated |
| 18 | before 0.7.0 | jobs that were sent STOP |
| 19 | before 0.7.0 | prologs and epilogs that run, jobs that are expedited |
| 20 | before 0.7.0 | which cores and devices jobs have, where it matters |
| 21 | before 0.7.0 | what jobs prefer |
| 22 | before 0.7.0 | cores that jobs keep from themselves |
| 23 | before 0.7.0 | nodes that are to register |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.core.accounting.fairshare import FairTree
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.gres import GpuDefaults
from slurmsim.core.placement.sharing import preempts_by_tier
from slurmsim.errors import WorkloadError
from slurmsim.slurmctld.snapshot.kinds import SCHEMA

if TYPE_CHECKING:
    from slurmsim.slurmctld.engine.engine import Engine

LATER = object()  # what `complete` makes of other records
_ADDED: dict[int, dict[str, dict[str, Any]]] = {
    1: {
        "live job": {"requeued_at": -1},
        "gres demand": {"cpus": 0, "reserved": False, "total": 0},
        "shape": {"per_gpu": LATER},
    },
    2: {},
    3: {},
    4: {
        "job": {"predicted_s": None, "corrections": 0, "turn": None},
        "pool view": {"state": ["p", "controller"], "_test": ["p", "start test"]},
        "allocation": {"layout": None},
        "live job": {"client_gone": False},
        "job record": {"het": None},
        "reservation": {"core_bits": LATER},
        "queue entry": {"single": False},  # looked at one by one
    },
    5: {"shape": {"task_cpus": LATER}},
    6: {},
    7: {
        "job": {"foremost": None, "forced": False},
        "live job": {"held_with": ""},
        "live array": {"gone": 0},
    },
    8: {"shape": {"tasks_short": 0}},
    9: {"live job": {"ran_with_priority": 0}},
    10: {},
    11: {"fair tree": {"_siblings": LATER}},
    12: {"shared cores": {"by_tier": LATER}, "shape": {"least_memory": 0}},
    13: {},
    14: {},
    15: {"gres demand": {"task_cpus": 0}},
    16: {"reservation": {"qos": ["t"], "allowed_partitions": ["t"]}, "job record": {"first_gres": None}},
    17: {},
    18: {"live job": {"stopped": False}},
    19: {"live job": {"programs": ["t"], "expedited": ""}},
    20: {"allocation": {"held": None}},
    21: {"shape": {"lead": 0, "preferred": None}},
    22: {"shape": {"own_cpus": None}},
    23: {},
}
"""By the schema that lacks them: columns of kinds of records, with the value all records have, as it is written."""
_RENAMED: dict[str, dict[str, str]] = {
    "job": {"shape": "request", "shapes": "requests"},
    "queue entry": {"shape": "request"},
    "pool view": {"_shapes_seen": "_requests_seen"},
    "shape": {"request": "asked"},
}
"""Up to schema 4: columns of kinds of records that have another name now."""
_TRIGGERS = {
    "dirty": "dirty", "_came": "came_since", "_begun": "begun", "_asked_at": "asked_at", "_requested": "requested",
    "_since": "since", "_now": "at_once", "_last_loop_pass": "last_loop_pass",
}  # fmt: skip
_MOVED = {
    "main scheduler": {name: ("triggers", new) for name, new in _TRIGGERS.items()},
    "policy host": {"_changed": ("triggers", "_changed"), "_changed_at": ("triggers", "_changed_at")},
    "suspension": {"jobs": ("controller", "suspended"), "_parked": ("controller", "parked")},
    "licenses": {"total": ("controller", "license_totals")},
    "controller": {
        "accounts": ("accounting", "accounts"), "book": ("accounting", "book"), "accrual": ("accounting", "accrual"),
        "_begin_heap": ("controller", "begin_heap"),
    },
    "reservations": {name: ("reservation lists", name) for name in ("all", "partial", "magnetic")},
    "reserved jobs": {"_serve_due": ("reserved jobs", "serve_due")},
    "power": {name: ("power states", name) for name in ("off", "going", "coming")},
    "preemption": {"_part_modes": ("preempt modes", "_part_modes")},
    "cluster": {"known_shapes": ("cluster", "known_requests")},
}  # fmt: skip
"""Up to schema 4: by part and attribute, the part and attribute it was up to schema 13."""
_MOVED_LATER = {
    "controller": {
        "parked": ("holders", "parked"), "limited": ("waiting", "limited"), "backfilled": ("life cycle", "backfilled"),
        "begin_heap": ("begin times", "heap"),
    },
    "engine": {
        **{name: ("job table", name) for name in ("arrays", "last_id", "_shown", "_order")},
        "_node_reasons": ("node reasons", "reasons"),
    },
}  # fmt: skip
"""The same up to schema 14: what is there is moved."""


def check(schema: object) -> int:
    """Return `schema` if this release can go on from it. Raises WorkloadError."""
    if schema != SCHEMA and schema not in _ADDED:
        known = ", ".join(map(str, [*_ADDED, SCHEMA]))
        raise WorkloadError(f"the snapshot has schema {schema}", expected=f"one of {known}")
    assert isinstance(schema, int)
    return schema


def lead_over(table: dict[str, Any], schema: int) -> dict[str, Any]:
    """Return a table of records as the present schema has it."""
    for older in range(schema, SCHEMA):
        for column, value in _ADDED[older].get(table["kind"], {}).items():
            table["columns"][column] = {"later": True} if value is LATER else _column(value, table["n"])
    if schema < 11 and table["kind"] == "queue entry":
        keys = [coded[1:] for coded in table["columns"].pop("key")["x"]]
        tiers, places, times, arrays, ranks, lasts = zip(*keys, strict=True)
        table["columns"] |= {
            "tier": {"v": list(tiers)}, "place": {"v": list(places)}, "rank": {"v": list(ranks)},
            "rest": {"x": [["t", *rest] for rest in zip(times, arrays, ranks, lasts, strict=True)]},
        }  # fmt: skip
    if schema < 5:
        for old, new in _RENAMED.get(table["kind"], {}).items():
            table["columns"][new] = table["columns"].pop(old)
    return table


def _column(value: Any, n: int) -> dict[str, Any]:
    return {"x": [value] * n} if isinstance(value, list) else {"=": value}


def lead_parts_over(parts: dict[str, dict[str, Any]], now: int, schema: int) -> None:
    """Lead the parts of an engine over to the names they have now."""
    if schema < 2:
        host = parts["policy host"]
        host["_changed"], host["_changed_at"] = host.pop("changed"), now
        parts["tried jobs"] = {}
    if schema < 5:
        for name in (
            "accounting",
            "triggers",
            "power states",
            "reservation lists",
            "qos flags",
            "start test",
            "solves",
            "faults",
            "job outcomes",
            "node troubles",
        ):
            parts[name] = {}
        if "preemption" in parts:
            parts["preempt modes"] = {}
        _move(parts, _MOVED)
        parts["triggers"]["now"] = now
        parts.setdefault("completing", {})
    if schema < 6:
        parts["completing"].pop("_left", None)  # always empty: no process took time to die
    if schema < 15:
        for name in ("holders", "waiting", "life cycle", "begin times", "job table", "node reasons"):
            parts.setdefault(name, {})
        _move(parts, _MOVED_LATER)
    for name in ("cluster history", "event triggers", "job decisions", "purges", "power programs"):
        parts.setdefault(name, {})
    if "_asked" in parts.get("power", {}):
        parts["power states"]["asked"] = parts["power"].pop("_asked")
    for part, name in (("reservations", "_rounds"), ("controller", "period_wanted"), ("recalculation", "wanted")):
        parts[part].pop(name, None)  # worked out anew


def _move(parts: dict[str, dict[str, Any]], moved: dict[str, dict[str, tuple[str, str]]]) -> None:
    """Move attributes of `parts` to the parts and names that `moved` gives them."""
    for part, names in moved.items():
        kept = parts.get(part, {})
        for name, (other, new) in names.items():
            if name in kept:
                parts[other][new] = kept.pop(name)


def complete(requests: list[CompiledRequest], trees: list[FairTree], schema: int) -> None:
    """Complete records with what follows from other records."""
    if schema < 12:
        for tree in trees:
            tree.find_siblings()
    if schema < 2:
        for request in requests:
            request.per_gpu = GpuDefaults().complete(request.asked)
    if schema < 6:
        for request in requests:
            request.whole_tasks(whatever_memory=False)  # as it was compiled then


def settle(engine: Engine, schema: int) -> None:
    """Settle what older releases only showed or refused and now decides: active features, reserved cores.

    Older releases did not count idle nodes, and did not know if cores are preempted by the tier of partitions.
    """
    state = engine.controller.state
    if state.table.local is not None:
        jobs = [entry[2] for entry in (*state.running, *state.suspended)]
        parked = state.holders.parked
        held = (parked.get(job.id, job.alloc) for job in jobs)
        state.table.local.take_anew(a for a in held if a is not None)
    if schema < 13 and state.table.cores is not None:
        state.table.cores.by_tier = preempts_by_tier(state.spec)
    if schema < 11:
        state.table.count_anew()
    if schema < 5:
        for reservation in engine.controller.state.reserved.all:
            reservation.core_bits = {}
    if schema < 4:
        active = engine.controller.state.table.active
        for node, texts in engine.node_texts.items():
            if "features_act" in texts:
                active[node] = tuple(filter(None, str(texts["features_act"] or "").split(",")))
        if active:
            engine.controller.cluster_updates.recompile()
