"""What an engine always has, and which attributes of it are state: one row a part.

All other attributes follow from the configuration, lead to other parts, or remember what can be worked out again.
"""

from collections.abc import Iterator
from typing import NamedTuple

from slurmsim.slurmctld.engine.engine import Engine


class Part(NamedTuple):
    """One part: its name in snapshots, the object, and its attributes that are state."""

    name: str
    what: object
    fields: tuple[str, ...]


def parts(engine: Engine) -> list[Part]:
    """All parts of `engine`, always in the same order."""
    return [
        Part(name, what, tuple(fields.split()))
        for name, what, fields in [*_daemon(engine), *_core(engine)]
        if what is not None
    ]


def _daemon(engine: Engine) -> Iterator[tuple[str, object, str]]:
    yield "engine", engine, (
        "jobs node_texts partition_texts reservation_texts given_cpus given_gres last_end _seen_pass crontabs told_cpus"
    )  # fmt: skip
    yield "job table", engine.job_table, "arrays last_id _shown _order"
    yield "node reasons", engine.node_reasons, "reasons"
    yield "people", engine.people, "_by_name _by_uid"
    yield (
        "database",
        engine.database,
        "draft ids qos_ids accounts users wckeys resources next_resource other_clusters transactions "
        "_next_id _next_qos _next_wckey",
    )
    yield "storage", engine.storage, "earlier _first _metered _next_index _last_ms changed"
    yield "cluster history", engine.storage.history, "reservations outages"
    yield "purges", engine.storage.purges, "spans"
    yield "completion log", engine.storage.completed, "written"
    yield (
        "statistics",
        engine.statistics,
        "since submitted started completed canceled failed het_started requests users",
    )
    yield "timers", engine.timers, ""
    yield "event triggers", engine.event_triggers, "records last_id happened reread seen due began"
    yield "power programs", engine.power_programs, "pending last"
    yield "faults", engine.faults, "rules last_id"
    yield "job outcomes", engine.faults.outcomes, ""
    yield "node troubles", engine.faults.nodes, ""
    streams = engine.network.streams
    if streams is not None:
        yield "stream jobs", streams, ""
        yield "streams", streams.sources, "open armed _queued _turns _heads _pending _running"
        for source in streams.sources.sources:
            yield f"stream {source.number}", source, (
                "following queued submitted dropped refused waits chains broken _passed _second _within"
            )  # fmt: skip
    yield "network", engine.network, (
        "refused refused_reservations refused_edits behaviour n_told entering live _over _armed _voided _ends _left"
    )  # fmt: skip
    yield "saved work", engine.network.saved_work, "saved"


def _core(engine: Engine) -> Iterator[tuple[str, object, str]]:
    c = engine.controller
    state = c.state
    yield "controller", state, (
        "now tree created jobs running suspended unusable generation edits license_totals relative_qos"
    )  # fmt: skip
    yield "holders", state.holders, "parked"
    yield "waiting", c.waiting, "limited"
    yield "life cycle", c.life_cycle, "backfilled"
    yield "begin times", c.begin_times, "heap"
    yield "accounting", c.accounting, "accounts book accrual"
    yield "triggers", state.triggers, (
        "now dirty came_since begun asked_at requested since at_once last_loop_pass _changed _changed_at"
    )  # fmt: skip
    yield "power states", state.power, "off going coming asked"
    yield "reservation lists", state.reserved, "all partial magnetic"
    yield "cluster", state.cluster, "partitions by_name default known_requests n_compiled gone n_pools"
    yield "nodes", c.state.table, (
        "specs mem weight gres free_cpus free_mem free_gres n_jobs idle _n_idle mixed up down total_cpus alloc_cpus"
        " used_by cores active past_features"
    )  # fmt: skip
    yield "topology", state.cluster.tree, ""
    for name, network in state.cluster.networks.items():
        if network is not state.cluster.tree:
            yield f"topology {name}", network, ""
    yield "selector", c.state.selector, "asleep"
    yield "access", c.access, "privileged closed edited"
    yield "queue", c.state.queue, "pools jobs fresh unasked watcher"
    yield "buffers", c.buffers, "places held inside entries _last"
    yield "tried jobs", c.found_cpus, "news"
    yield "billing", c.state.billing, ""
    plain = c.priority.period_s is None and hasattr(c.priority, "_next")
    yield "priority", c.priority, (
        "_next _array" if plain else
        "limited_accrual part_factor shares _capacity _qos_factor _assoc_factor _book"
    )  # fmt: skip
    yield "usage", c.state.usage, "whole parts _alone"
    yield "eligibility", c.eligibility, (
        "left dependents _terms _never _singletons _ended _forgotten_at _ages"
    )  # fmt: skip
    yield "arrays", c.eligibility.arrays, "by_id"
    yield "reservations", c.reservations, (
        "_created _next _seen _quiet_since _revise _lingering"
    )  # fmt: skip
    yield "reserved jobs", c.reservations.jobs, "waiting inside serve_due"
    yield "licenses", c.licenses, "used earmarked lacking remote dropped"
    yield "layers", c.licenses.layers, "used held"
    yield "deadlines", c.deadlines, "jobs _lost"
    yield "qos flags", c.qos_flags, ""
    yield "start test", c.start_test, ""
    yield "alarms", c.state.timers, "heap _count"
    yield "completing", c.completing, "nodes _left"
    yield "owners", c.state.exclusive_users, "_jobs _unshared _units"
    yield "switch waits", c.switch_wait, "_waiting"
    yield "suspension", c.suspension, "_unchecked"
    yield (
        "node states",
        c.node_states,
        ("down silent mute registering registered_at pinged drained failing booting to_reboot asap"),
    )
    yield "requeues", c.requeues, "_failed_launches"
    yield "power", c.power, (
        "since suspend_time _suspended _resumed _last_scan _to_boot _booting_for _scan_at"
        " _scanned"
    )  # fmt: skip
    yield "recalculation", c.recalculation, (
        "next_at shares columns on_period on_shares _thresholds _left"
    )  # fmt: skip
    yield "main scheduler", c.main, (
        "passes last_pass _last_pass _full_due"
    )  # fmt: skip
    yield "obstacles", c.main.walk.pending_reasons, "_hidden"
    yield "preempt modes", c.modes, "_part_modes"
    yield "preemption", c.preemption, "in_progress freed _doomed _lapses"
    yield "watts", c.watts, "shapes charged_mw drawn_mw spent_mj joint_s at_once _wanted"
    yield "reshaping", c.reshaping, ""
    yield "shortage", c.shortage, "_took"
    yield "gang", c.gang, "finds _lists _order _place _home _row _cores _all _stopped _beside _sliced_at _built"
    yield "policy host", c.host, "passes wake planned planned_busy"
    yield "job decisions", c.job_decisions, "_excluded"
    yield "solves", c.solves, "asked solver request answer"
    yield "view", c.view, "pools"
    policy = c.host.policy
    yield "policy", policy, " ".join(policy.STATE)
    if policy.predictor is not None:
        yield "predictor", policy.predictor, " ".join(policy.predictor.STATE)
    base = getattr(policy, "base", None)  # of one that stands on another
    yield "base policy", base, " ".join(base.STATE) if base is not None else ""
    limits = c.accounting.limits
    yield "limits", limits, "waiting narrowed _capped _arrays _refused_arrays _swept"
    if limits is not None:
        yield "limit counters", limits.counters, (
            "tree tracked version owes spendable held _compiler _branches _qos _within _met _submitted"
        )  # fmt: skip
        yield "limit enforcement", limits.enforcement, "next_scan _watched"
