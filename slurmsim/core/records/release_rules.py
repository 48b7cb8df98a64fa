"""Where releases of Slurm decide differently: one rule a field, looked up once by who decides."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

from slurmsim.core.records.value import Value
from slurmsim.releases import has
from slurmsim.states import Reason

_PARTITION_LIMITS: Final = frozenset({Reason.PARTITION_CONFIG, Reason.PARTITION_NODE_LIMIT})


def _rule(*span: str) -> Any:
    """Return the field of a rule that came with the first release of `span` and went with the second, if any."""
    return field(default=False, metadata={"span": span})  # Any: compiled code takes it for no bool then


@dataclass(frozen=True, slots=True)
class ReleaseRules(Value):
    """One release."""

    # sched/builtin has no queue of its own making but walks the table of jobs, so that what a job's start lets go
    # starts in the same pass (_schedule, job_scheduler.c)
    walks_job_table: bool = _rule("", "24.11")
    # a submission looks for nodes also in a partition with limits that keep the job out, and refuses a job that no
    # nodes could ever serve (_select_nodes_base, job_mgr.c). `but_limits` are the limits with which it does not.
    tries_over_limits: bool = _rule("24.11")
    but_limits: frozenset[str] = frozenset()
    # ``afterok`` and ``afternotok`` of an unknown job are refused (job_scheduler.c)
    unknown_refused: bool = _rule("24.11")
    # of a node list longer than the nodes asked for as many as needed are taken, and no others (_job_create)
    list_may_be_longer: bool = _rule("24.11")
    # a job with -n and --ntasks-per-node gets CPUs for its tasks, not for as many as its nodes may have (dist_tasks.c)
    deals_tasks: bool = _rule("24.11", "26.05")
    # a node offers CPUs for --ntasks-per-node tasks and no more, so nodes of all sizes fit such a job alike
    offers_for_tasks: bool = _rule("24.11")
    # what has more tasks (-n) than its CPUs can take gets no nodes; it got them and the tasks shared CPUs. An update of
    # the CPUs or tasks of a job may lead there (_dist_tasks_compute_c_b, dist_tasks.c).
    tasks_need_cpus: bool = _rule("24.11")
    # tasks of --overcommit with -c need CPUs of their own, as -c is a TRES of each task; they shared those of one
    deals_overcommitted: bool = _rule("24.11")
    # only tasks a job gives itself keep it from more nodes, not those that follow from its fewest nodes
    tasks_reach_beyond: bool = _rule("24.11")
    # CPUs of a node that are not enough for one more task are not counted where memory is asked for a node either; so
    # `-n 6 -c 3 --mem=N` gets 18 CPUs of three nodes of eight, not 17 (_select_cores, job_test.c)
    serves_whole_tasks: bool = _rule("24.11")
    # of required nodes that are not available only those that are down are named (select_nodes)
    drained_unnamed: bool = _rule("24.11")
    license_equals: bool = _rule("24.11")  # ``-L a=2`` is ``-L a:2``
    license_choice: bool = _rule("26.05")  # ``-L a|b`` asks for any one of them
    one_separator: bool = _rule("26.05")  # dependencies joined by both ``,`` and ``?`` are refused
    # the priority thread runs without slurmdbd as well (priority_p_thread_start). What it finds then is that a job with
    # nodes of its own, once backfill has tried it, counts with all their CPUs.
    recalculates_always: bool = _rule("24.11")
    # the priority thread begins before backfill's does, and so is before it in every second both have something to do;
    # it began behind slurmctld's loops
    recalculates_first: bool = _rule("24.11")
    # Backfill's future test is about the instant it tries: jobs that end before are gone from the beginning, and none
    # are taken away that end after the next try. Plans end with a slot of bf_resolution, rounded up, and there is one
    # more try where the node space goes on (will_run_data, _attempt_backfill).
    tests_from_try: bool = _rule("24.11")
    # backfill leaves out nodes that others have to themselves at the instant it tries, not those of the present
    # (_filter_exclusive_user_nodes, backfill.c)
    owners_from_try: bool = _rule("24.11")
    # a plan of backfill's for nodes that are all in use is news to the next cycle, too (_handle_planned)
    marks_busy_nodes: bool = _rule("24.11")
    # a start found by the future test is the last end on the nodes chosen, not the last one supposed; and a job that
    # ends with the instant tried is gone (_get_last_relevant_job, since 25.11)
    ends_where_chosen: bool = _rule("26.05")
    # what backfill starts with a minimum time gets as long a limit as the plans leave it; it got the minimum
    # (_set_backfill_timelimits, _reset_job_time_limit)
    minimum_extended: bool = _rule("26.05")
    # backfill plans no more tasks of an array than its ``%N`` lets run; it planned all as long as one could start
    # (_attempt_backfill)
    plans_within_throttle: bool = _rule("24.11")
    # a number of tasks below the nodes, also those of a partition's MinNodes, is refused (_job_create, job_mgr.c)
    tasks_reach_nodes: bool = _rule("26.05")
    # if GPUs bring CPUs, a node gives no others; and where GPUs are counted for the job or its tasks, it gives those of
    # all GPUs it could give (gres_select_filter_sock_core)
    gpu_cpus_by_node: bool = _rule("24.11")
    # a job that may have one node only gets the first of the lightest that can serve it, not the tightest fit
    # (_get_one_res, job_test.c)
    first_node_serves: bool = _rule("26.05")
    # a switch has to hold the CPUs a job still misses, not only the nodes; one that does comes before a tighter one
    # farther away (_topo_compare_switches, topology/tree)
    switches_hold_cpus: bool = _rule("24.11")
    # --segment may be larger than a base block, and one larger than the job does not count (eval_nodes_block)
    any_segment: bool = _rule("26.05")
    # the thread of power saving looks once more than 10 seconds have gone by, not after 10 (_power_save_thread)
    power_scans_later: bool = _rule("24.11")
    # --spread-job takes nodes of every weight, one each at least (_eval_nodes_spread)
    spreads_by_weight: bool = _rule("26.05")
    # without EnforcePartLimits AllowGroups is asked about when a job is to start, not at its submission
    groups_late: bool = _rule("24.11")
    # a partition's AllowAccounts and DenyAccounts are lists of associations: those below them count, and no job is kept
    # out where associations are not enforced. The reason is PartitionConfig, told at submission only. They were names
    # of accounts, and the reason a sentence (part_policy_valid_acct, partition_mgr.c).
    lists_associations: bool = _rule("24.11")
    # a new job has to wait for pending jobs of higher partition tiers first, if their partitions share nodes with its
    # own; before, priorities alone decided (_top_priority, job_mgr.c)
    tops_by_tier: bool = _rule("24.11")
    # a submission to a partition that is down waits there; whether its nodes could ever serve it was asked at once
    waits_where_down: bool = _rule("24.11")
    # a reservation gets the nodes and cores a job would: the lightest, of neighbours the tightest fit. It got the first
    # ones of the table (_pick_node_cnt, reservation.c).
    reserves_as_for_jobs: bool = _rule("24.11")
    # what is idle now is reserved as long as it is enough, then what running jobs leave first (_will_run_test), before
    # what is free once the reservation begins
    reserves_idle_first: bool = _rule("24.11", "26.05")
    # cores without a number of nodes are spread over as many nodes as there are
    reserves_core_a_node: bool = _rule("26.05")
    # a reservation without a partition that gets more nodes has the default one from then on (_resize_resv); 22.05 does
    # not tell of it
    reserves_of_partition: bool = _rule("24.11")
    # a job that is requeued gets its priority anew, under priority/basic the next one, as a new job does
    ranks_requeued_anew: bool = _rule("24.11")
    # a reservation may meet no period of a recurring one, however far off (_resv_time_overlap, from 23.02 on)
    all_periods_collide: bool = _rule("24.11")
    # maintenance that begins more than a week later takes no nodes from a recurring reservation
    far_maintenance_apart: bool = _rule("26.05")
    # root and SlurmUser may use any reservation (_valid_job_access_resv)
    reservations_open_to_root: bool = _rule("24.11")
    # an update may not shut out a job that runs in the reservation or waits for it (update_resv)
    reservations_keep_users: bool = _rule("24.11")
    # a magnetic reservation without FLEX takes no job that may run beyond its end (job_test_resv, from 25.11 on)
    attracts_what_fits: bool = _rule("26.05")
    # a waiting job without a time limit of its own gets that of a QOS it is given (update_job, from 25.05 on)
    limits_of_another_qos: bool = _rule("26.05")
    # ``--test-only`` asks for each partition which jobs may be preempted there and what reservations mean to it; it
    # asked that for the first one that the job names (_foreach_job_start_data_part)
    tests_each_partition: bool = _rule("26.05")
    # the memory a job asks for has that of DefMemPerGPU for its GPUs; it was the whole memory of a node
    default_gpu_memory_asked: bool = _rule("26.05")


def rules_of(release: str) -> ReleaseRules:
    """Return what holds for `release`, which may be any; older ones are as our first.

    >>> [rules_of(release).unknown_refused for release in ("21.08", "22.05", "25.05")]
    [False, False, True]
    """
    ruled = {each.name: has(release, *each.metadata["span"]) for each in fields(ReleaseRules) if each.metadata}
    return ReleaseRules(**ruled, but_limits=_PARTITION_LIMITS if has(release, "26.05") else frozenset())
