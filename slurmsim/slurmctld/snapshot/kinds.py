"""The kinds of records an engine holds, and which of their attributes are state.

Snapshots on users' disks have these names of kinds and attributes. To change a name, or what an attribute means, raise
`SCHEMA` and teach `upgrades` to convert older snapshots. Do so for a new field of a dataclass, too, unless it is a
record of `slurmsim.model`. A test compares this table with the classes, and another opens old folders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from slurmsim.config.accounting.draft import Draft, Item
from slurmsim.config.findings import Place, Report
from slurmsim.core.accounting.accounts import Accounts
from slurmsim.core.accounting.accrual import Accrual
from slurmsim.core.accounting.fairshare import Classic, FairTree, ShareTree, Siblings
from slurmsim.core.accounting.limit_compiler import LimitCompiler
from slurmsim.core.accounting.limit_counters import Held
from slurmsim.core.accounting.limit_rules import Rules, Used
from slurmsim.core.accounting.usage_counters import TrackedTres, UsageCounters
from slurmsim.core.accounting.usage_decay import UsageBook, _Run
from slurmsim.core.placement.compiled_request import CompiledRequest
from slurmsim.core.placement.gres import Demand, PerGpu
from slurmsim.core.placement.memory_limits import Fitted, MemoryBounds
from slurmsim.core.queue.columns import QueueColumns
from slurmsim.core.queue.dependency import Term
from slurmsim.core.queue.job_array import JobArray
from slurmsim.core.records.allocation import Allocation, Hold, Share
from slurmsim.core.records.associations import AssociationTree, Branch, Ledger
from slurmsim.core.records.barred_partitions import Bar
from slurmsim.core.records.enforcement import Enforcement
from slurmsim.core.records.job import Job
from slurmsim.core.records.job_queue import PoolQueue, Record
from slurmsim.core.records.partition import Partition
from slurmsim.core.records.reservation import Reservation
from slurmsim.core.records.shape import Shape
from slurmsim.core.records.shared_cores import SharedCores
from slurmsim.core.records.usage_totals import Totals
from slurmsim.core.reservations.licenses import Remote
from slurmsim.core.scheduling.pool_view import PoolView
from slurmsim.energy.application import Application
from slurmsim.energy.profile import Profile
from slurmsim.faults.rule import FaultRule
from slurmsim.model.accounting import Association, Limits, Qos
from slurmsim.model.node import Gres, NodeSpec
from slurmsim.model.partition import PartitionSpec
from slurmsim.model.request import GresRequest, ResourceRequest
from slurmsim.model.reservation import ReservationSpec
from slurmsim.model.submission import Submission
from slurmsim.sim.network import Behaviour
from slurmsim.slurmctld.base.association_database import AccountFacts, Transaction, UserFacts
from slurmsim.slurmctld.base.event_trigger import EventTrigger
from slurmsim.slurmctld.base.job_record import First, JobRecord
from slurmsim.slurmctld.base.live_job import Array, LiveJob
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.base.resource import Resource
from slurmsim.slurmctld.base.step import Step
from slurmsim.slurmctld.snapshot.graph import Kind

SCHEMA = 24  # of kinds and parts together


def _none() -> None:
    return None


def _whole(name: str, cls: Any, **reset: Callable[[], Any]) -> Kind:
    """Return the kind of a dataclass: all its fields are state, but those that are reset."""
    return Kind(name, cls, tuple(field.name for field in dataclasses.fields(cls) if field.name not in reset), reset)


def _model(name: str, cls: Any) -> Kind:
    """Return the kind of a record, as those of `slurmsim.model`: all fields are state; missing ones have defaults."""
    fields = dataclasses.fields(cls)
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    return dataclasses.replace(_whole(name, cls), defaults=defaults)


def _kind(name: str, cls: type, fields: str, **reset: Callable[[], Any]) -> Kind:
    return Kind(name, cls, tuple(fields.split()), reset)


KINDS: tuple[Kind, ...] = (
    _kind(
        "job",
        Job,
        """
        account accrue_time alloc array_key array_limit bars begin branch claims corrections deadline depth
        eligible_time end_limit end_time exit_code first_submit forced foremost held_since id key licenses likely_nodes
        limit_fixed n_cpus n_nodes name nodes order partition partitions planned_nodes planned_start predicted_s
        preempt_start preempt_time priority qos qos_spec queued rank reason request requests reservation
        reservation_name reservations restarts scheduler special start_time state sub submit_time suspended_at
        suspended_s threshold time_limit_s time_min_s tried_cpus turn user waits_for within_limits
    """,
    ),
    _kind(
        "queue entry",
        Record,
        """
        alone job need partition place priority rank request reservation rest single slot tier unreserved
    """,
        standing=_none,
    ),
    _kind("pool", PoolQueue, "gone new per_partition records watched"),
    _kind("pool view", PoolView, "_queue _requests_seen _test index mask name partitions pending state units"),
    _kind(
        "allocation",
        Allocation,
        "cpus gres held idx layout mask mem n_cpus n_nodes names quota runs share whole",
        _columns=_none,
    ),
    _whole("share", Share),
    _whole("hold", Hold),
    _kind(
        "shape",  # what it was called when snapshots began
        CompiledRequest,
        """
        all_cores apart asked asked_cpus by_count candidates contiguous counted cpus_each cpus_per_task
        exclusive
        gpus_asked gres kinds lead least_cpus least_loaded least_memory lifted limits_met max_cpus_per_node max_nodes
        mem_all mem_cpu mem_gpu mem_node memory memory_asked min_cpus min_nodes n_tasks node_need own_cpus
        part_max_nodes
        part_max_time_s
        part_min_nodes partition per_gpu possible preferred required sharing spread strict_one switches target_nodes
        task_cpus tasks_per_node tasks_short tree uniform unit_need units whole
    """,
        cpus_when_empty=_none,
        job_units=_none,
        _columns=_none,
    ),
    _kind("partition", Partition, "index mask name pool qos spec state tier total_cpus total_nodes"),
    _kind("job array", JobArray, "active ended later limit live tasks waiting"),
    _whole("dependency", Term),
    _kind(
        "reservation",
        Reservation,
        """
        accounts allowed_partitions began core_bits cores end flags idle_since licenses name nodes opened order over
        partition purge_comp_s qos spec start users
    """,
    ),
    _kind("shared cores", SharedCores, "table partitions by_tier n_rows size rows sole_jobs sole", kept=dict),
    _kind("totals", Totals, "cpus gpus mask mem name nodes pending running size touched"),
    _whole("bar", Bar),
    _kind("accounts", Accounts, "_by_partition tree enforce", _found=dict),
    _kind("association tree", AssociationTree, "branches _accounts _users _default_account root qos qos_ledgers"),
    _kind("branch", Branch, "children ledger parent path row spec"),
    _kind("ledger", Ledger, "_book _row"),
    _kind(
        "usage book",
        UsageBook,
        """
        factor names amounts _n_branches _rates _running _stays _row_of_qos _any_stays _paths _runs _young last
        _reset_now _reset _next_reset tree billing limits
    """,
    ),
    _kind("usage run", _Run, "rate rows since"),
    _kind("share tree", ShareTree, "tree shares is_user parent children level_shares n_users"),
    _kind(
        "fair tree",
        FairTree,
        """
        _shares _count _siblings _part _parent _fixed _fixed_fs factors level_fs effective seen
    """,
    ),
    _kind("fair tree level", Siblings, "rows above starts users is_user"),
    _kind(
        "classic shares",
        Classic,
        """
        _oblivious _root _down _users _product _effective _norm factors _shares _damping
    """,
    ),
    _kind(
        "queue columns",
        QueueColumns,
        """
        _nobody _records _free _weighted _since _branch _priority _fixed _several plugin queue
    """,
    ),
    _kind("accrual", Accrual, "_counts _counted _waiting _granted _room"),
    _kind("held", Held, "claim mask owed_s tres"),
    _whole("used", Used),
    _kind("in use", UsageCounters, "_more jobs nodes owed_s submitted tres tres_node"),
    _kind("tracked tres", TrackedTres, "billing index names node"),
    _kind("limit rules", Rules, "tracked safe"),
    _kind("limit compiler", LimitCompiler, "rules"),
    _model("fitted memory", Fitted),
    _whole("memory bounds", MemoryBounds),
    _whole("behaviour", Behaviour),
    _model("submission", Submission),
    _whole("profile", Profile, _found=dict),
    _whole("application", Application),
    _kind(
        "power shape",
        Shape,
        """
        by_budget cap_mw charged_mw done_s drawn_mw limit_s lost_s lowered moving_until nodes own_drawn_mw own_mw paused
        phase_since profile resized_at since slowdown
    """,
    ),
    _model("request", ResourceRequest),
    _model("gres request", GresRequest),
    _model("reservation spec", ReservationSpec),
    _model("gres", Gres),
    _model("association", Association),
    _model("limits", Limits),
    _model("qos", Qos),
    _model("node spec", NodeSpec),
    _model("partition spec", PartitionSpec),
    _kind(
        "live job",
        LiveJob,
        """
        asked own_id person order array task cancelled_by steps next_step mail entered_after edited_at resized_at
        requeued_at ran_with_priority
        planned_before_hold suspended_or_resumed ran_before_suspension record_of emptied client_gone held_with stopped
        programs expedited _core
    """,
    ),
    _whole("live array", Array, _left=_none),
    _whole("step", Step),
    _whole("event trigger", EventTrigger),
    _whole("fault", FaultRule),
    _whole("person", Person),
    _whole("first", First),
    _whole("job record", JobRecord),
    _whole("account facts", AccountFacts),
    _whole("user facts", UserFacts),
    _whole("transaction", Transaction),
    _whole("resource", Resource),
    _whole("remote licenses", Remote),
    _whole("draft", Draft, report=Report),
    _whole("draft item", Item),
    _whole("place", Place),
    _whole("gres demand", Demand),
    _whole("brought by a gpu", PerGpu),
    _whole("enforcement", Enforcement),
)
