"""Where releases of Slurm decide differently: one rule a field, looked up once by who decides."""

from __future__ import annotations

from typing import Any, Final

from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass, field, fields
from slurmsim.releases import has
from slurmsim.states import Reason

_PARTITION_LIMITS: Final = frozenset({Reason.PARTITION_CONFIG, Reason.PARTITION_NODE_LIMIT})


def _rule(*span: str, says: str, of: str = "") -> Any:
    """Return the field of a rule that came with the first release of `span` and went with the second, if any.

    Parameters
    ----------
    says
        What is so while the rule holds, and if that helps, what was before.
    of
        What a cluster must have for the rule to decide anything: a key of `slurmsim.upgrade.behaviour.NEEDS`.
    """
    return field(default=False, metadata={"span": span, "says": says, "of": of})  # Any: no bool to compiled code


@dataclass(frozen=True, slots=True)
class ReleaseRules(Value):
    """One release."""

    # _schedule, job_scheduler.c
    walks_job_table: bool = _rule(
        "",
        "24.11",
        says="sched/builtin has no queue of its own making but walks the table of jobs, so that what a job's start"
        " lets go starts in the same pass.",
        of="sched/builtin",
    )
    # _select_nodes_base, job_mgr.c
    tries_over_limits: bool = _rule(
        "24.11",
        says="A submission looks for nodes also in a partition with limits that keep the job out, and refuses a"
        " job that no nodes could ever serve.",
    )
    # the limits with which it does not
    but_limits: frozenset[str] = frozenset()
    # job_scheduler.c
    unknown_refused: bool = _rule("23.02", says="`afterok` and `afternotok` of an unknown job are refused.")
    # _job_create
    list_may_be_longer: bool = _rule(
        "23.02",
        says="Of a node list longer than the nodes asked for as many as needed are taken, and no others.",
    )
    # dist_tasks.c
    deals_tasks: bool = _rule(
        "24.11",
        "26.05",
        says="A job with -n and --ntasks-per-node gets CPUs for its tasks, not for as many as its nodes may have.",
    )
    deals_asked_tasks: bool = _rule(
        "24.11",
        says="--mincpus picks the nodes of a job with -n, which gets CPUs for its tasks; each node gave so many.",
    )
    offers_for_tasks: bool = _rule(
        "24.11",
        says="A node offers CPUs for --ntasks-per-node tasks and no more, so nodes of all sizes fit such a job alike.",
    )
    # _dist_tasks_compute_c_b, dist_tasks.c
    tasks_need_cpus: bool = _rule(
        "24.11",
        says="What has more tasks (-n) than its CPUs can take gets no nodes; it got them and the tasks shared"
        " CPUs. An update of the CPUs or tasks of a job may lead there.",
    )
    deals_overcommitted: bool = _rule(
        "24.11",
        says="Tasks of --overcommit with -c need CPUs of their own, as -c is a TRES of each task; they shared"
        " those of one.",
    )
    tasks_reach_beyond: bool = _rule(
        "24.11",
        says="Only tasks a job gives itself keep it from more nodes, not those that follow from its fewest nodes.",
    )
    # _select_cores, job_test.c
    serves_whole_tasks: bool = _rule(
        "24.11",
        says="CPUs of a node that are not enough for one more task are not counted where memory is asked for a"
        " node either; so `-n 6 -c 3 --mem=N` gets 18 CPUs of three nodes of eight, not 17.",
    )
    # select_nodes
    drained_unnamed: bool = _rule(
        "24.11",
        says="Of required nodes that are not available only those that are down are named.",
    )
    license_equals: bool = _rule("23.11", says="`-L a=2` is `-L a:2`.", of="licenses")
    license_choice: bool = _rule("25.05", says="`-L a|b` asks for any one of them.", of="licenses")
    one_separator: bool = _rule("26.05", says="Dependencies joined by both `,` and `?` are refused.")
    # priority_p_thread_start
    recalculates_always: bool = _rule(
        "23.11",
        says="The priority thread runs without slurmdbd as well. What it finds then is that a job with nodes of"
        " its own, once backfill has tried it, counts with all their CPUs.",
        of="no accounting",
    )
    recalculates_first: bool = _rule(
        "23.11",
        says="The priority thread begins before backfill's does, and so is before it in every second both have"
        " something to do; it began behind slurmctld's loops.",
    )
    # will_run_data, _attempt_backfill
    tests_from_try: bool = _rule(
        "24.11",
        says="Backfill's future test is about the instant it tries: jobs that end before are gone from the"
        " beginning, and none are taken away that end after the next try. Plans end with a slot of"
        " bf_resolution, rounded up, and there is one more try where the node space goes on.",
    )
    # _filter_exclusive_user_nodes, backfill.c
    owners_from_try: bool = _rule(
        "24.11",
        says="Backfill leaves out nodes that others have to themselves at the instant it tries, not those of the"
        " present.",
    )
    # _handle_planned
    marks_busy_nodes: bool = _rule(
        "24.11",
        says="A plan of backfill's for nodes that are all in use is news to the next cycle, too.",
    )
    # _get_last_relevant_job
    ends_where_chosen: bool = _rule(
        "25.11",
        says="A start found by the future test is the last end on the nodes chosen, not the last one supposed; and"
        " a job that ends with the instant tried is gone.",
    )
    # _set_backfill_timelimits, _reset_job_time_limit
    minimum_extended: bool = _rule(
        "26.05",
        says="What backfill starts with a minimum time gets as long a limit as the plans leave it; it got the minimum.",
    )
    # _rebuild_suspend_exempt_cores of select/cons_tres
    exempt_from_turns: bool = _rule(
        "26.05",
        says="PreemptExemptTime keeps a job's CPUs from jobs that would suspend it, and from those of its turns.",
    )
    # _attempt_backfill
    plans_within_throttle: bool = _rule(
        "23.02",
        says="Backfill plans no more tasks of an array than its `%N` lets run; it planned all as long as one could"
        " start.",
    )
    # _job_create, job_mgr.c
    tasks_reach_nodes: bool = _rule(
        "26.05",
        says="A number of tasks below the nodes, also those of a partition's MinNodes, is refused.",
    )
    # gres_sock_list.c, _reduce_res_cores
    binds_every_socket: bool = _rule(
        "25.11",
        says="A GPU beside several sockets counts for each of them, and a job bound to its GPUs' cores may use as many"
        " sockets as it needs, but no cores beyond those of its tasks; it counted for the first, a job of one CPU"
        " could use one socket, and one of several tasks got all cores there.",
        of="GRES",
    )
    # _allocate_sc, job_test.c
    deals_cores_to_tasks: bool = _rule(
        "24.11",
        says="Of a node only the first cores are dealt out that the tasks can take which the job may have there.",
    )
    # gres_select_filter_sock_core
    gpu_cpus_by_node: bool = _rule(
        "24.11",
        says="If GPUs bring CPUs, a node gives no others; and where GPUs are counted for the job or its tasks, it"
        " gives those of all GPUs it could give.",
        of="GRES",
    )
    # _estimate_cpus_per_gres
    guesses_cpus_of_gres: bool = _rule(
        "23.11",
        says="Nodes are tried first as if each GRES of `--gpus` brought the CPUs of its tasks, where those can be"
        " spread evenly; a node then gives no others.",
        of="GRES",
    )
    # _get_one_res, job_test.c
    first_node_serves: bool = _rule(
        "26.05",
        says="A job that may have one node only gets the first of the lightest that can serve it, not the tightest"
        " fit. GRES of a job are counted over the nodes tried, and it does not start where the node that completes"
        " the count has too few.",
    )
    gres_of_full_nodes: bool = _rule(
        "26.05",
        says="A job with GRES and fewer tasks (-n) than --ntasks-per-node is refused, as one with GRES of tasks was.",
        of="GRES",
    )
    # _topo_compare_switches, topology/tree
    switches_hold_cpus: bool = _rule(
        "23.02",
        says="A switch has to hold the CPUs a job still misses, not only the nodes; one that does comes before a"
        " tighter one farther away.",
        of="switches",
    )
    # eval_nodes_block
    any_segment: bool = _rule(
        "26.05",
        says="--segment may be larger than a base block, and one larger than the job does not count.",
        of="blocks",
    )
    # _do_power_work
    reboots_looked_for: bool = _rule(
        "23.02",
        says="Nodes are rebooted by the next look of power saving, not when their last job ends.",
        of="power saving",
    )
    # power_save_valid_action_default
    powers_by_hand: bool = _rule(
        "26.05",
        says="Nodes are powered down and up by hand also where SuspendTime is -1.",
        of="power saving",
    )
    # _power_save_thread
    power_scans_later: bool = _rule(
        "24.05",
        says="The thread of power saving looks once more than 10 seconds have gone by, not after 10.",
        of="power saving",
    )
    # _eval_nodes_spread
    spreads_by_weight: bool = _rule("25.05", says="--spread-job takes nodes of every weight, one each at least.")
    groups_late: bool = _rule(
        "23.02",
        says="Without EnforcePartLimits AllowGroups is asked about when a job is to start, not at its submission.",
    )
    # part_policy_valid_acct, partition_mgr.c
    lists_associations: bool = _rule(
        "23.02",
        says="A partition's AllowAccounts and DenyAccounts are lists of associations: those below them count, and"
        " no job is kept out where associations are not enforced. The reason is PartitionConfig, told at"
        " submission only. They were names of accounts, and the reason a sentence.",
        of="accounting",
    )
    # _top_priority, job_mgr.c
    tops_by_tier: bool = _rule(
        "24.11",
        says="A new job has to wait for pending jobs of higher partition tiers first, if their partitions share"
        " nodes with its own; before, priorities alone decided.",
    )
    # _allocate_sc, job_test.c
    socket_tasks_by_cpu: bool = _rule(
        "24.11",
        says="--ntasks-per-socket counts the CPUs of tasks; it counted the cores they need, so that one task a socket"
        " was one a thread of it.",
    )
    # _schedule, job_scheduler.c
    preferred_blocks: bool = _rule(
        "",
        "25.11",
        says="A job that finds its preferred nodes (--prefer) busy keeps the main scheduler from the nodes of its"
        " partition, for itself too: backfill alone starts it on others.",
    )
    # sort_job_queue2
    prefers_in_all: bool = _rule(
        "23.11",
        says="A job looks for the features it prefers in all its partitions before it does without them.",
    )
    # _attempt_backfill
    tries_arrays_twice: bool = _rule(
        "23.02",
        says="Backfill tries tasks of an array without the features they prefer when it found none with them.",
    )
    waits_where_down: bool = _rule(
        "24.11",
        says="A submission to a partition that is down waits there; whether its nodes could ever serve it was"
        " asked at once.",
    )
    # _pick_node_cnt, reservation.c
    reserves_as_for_jobs: bool = _rule(
        "23.11",
        says="A reservation gets the nodes and cores a job would: the lightest, of neighbours the tightest fit. It"
        " got the first ones of the table.",
    )
    # _will_run_test
    reserves_idle_first: bool = _rule(
        "24.11",
        "26.05",
        says="What is idle now is reserved as long as it is enough, then what running jobs leave first, before"
        " what is free once the reservation begins.",
    )
    reserves_core_a_node: bool = _rule(
        "26.05",
        says="Cores without a number of nodes are spread over as many nodes as there are.",
    )
    # _resize_resv
    reserves_of_partition: bool = _rule(
        "24.11",
        says="A reservation without a partition that gets more nodes has the default one from then on; 22.05"
        " does not tell of it.",
    )
    ranks_requeued_anew: bool = _rule(
        "24.05",
        says="A job that is requeued gets its priority anew, under priority/basic the next one, as a new job does.",
    )
    # _resv_time_overlap
    all_periods_collide: bool = _rule(
        "23.02",
        says="A reservation may meet no period of a recurring one, however far off.",
    )
    far_maintenance_apart: bool = _rule(
        "26.05",
        says="Maintenance that begins more than a week later takes no nodes from a recurring reservation.",
    )
    # purge_old_job
    purges_deadlines: bool = _rule(
        "23.11",
        says="Held jobs end, too, when they can no longer keep their deadline; slurmctld looks once a minute.",
    )
    # select_nodes
    names_network: bool = _rule(
        "26.05",
        says="A job for which enough nodes are idle, but not in one block, ring or box of a torus, says so.",
    )
    # _validate_node_choice
    maintenance_keeps_nodes: bool = _rule("23.02", says="Nodes of maintenance that cannot be used are not replaced.")
    # _valid_job_access_resv
    reservations_open_to_root: bool = _rule("23.11", says="Root and SlurmUser may use any reservation.")
    # update_resv
    reservations_keep_users: bool = _rule(
        "23.11",
        says="An update may not shut out a job that runs in the reservation or waits for it.",
    )
    # job_test_resv
    attracts_what_fits: bool = _rule(
        "25.11",
        says="A magnetic reservation without FLEX takes no job that may run beyond its end.",
    )
    # update_job
    limits_of_another_qos: bool = _rule(
        "25.05",
        says="A waiting job without a time limit of its own gets that of a QOS it is given.",
        of="accounting",
    )
    # _foreach_job_start_data_part
    tests_each_partition: bool = _rule(
        "26.05",
        says="`--test-only` asks for each partition which jobs may be preempted there and what reservations mean"
        " to it; it asked that for the first one that the job names.",
    )
    default_gpu_memory_asked: bool = _rule(
        "26.05",
        says="The memory a job asks for has that of DefMemPerGPU for its GPUs; it was the whole memory of a node.",
        of="GRES",
    )


def rules_of(release: str) -> ReleaseRules:
    """Return what holds for `release`, which may be any; older ones are as our first.

    >>> [rules_of(release).unknown_refused for release in ("21.08", "22.05", "25.05")]
    [False, False, True]
    """
    ruled = {each.name: has(release, *each.metadata["span"]) for each in fields(ReleaseRules) if each.metadata}
    return ReleaseRules(**ruled, but_limits=_PARTITION_LIMITS if has(release, "26.05") else frozenset())
