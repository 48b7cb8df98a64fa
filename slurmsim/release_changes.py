"""What Slurm does in one of two ways depending on its release: one row a difference, by name.

Options, fields and texts with a column of releases stand in tables beside the code that prints them, decisions of the
scheduler in `slurmsim.core.records.release_rules`. Here is what is left: places that do one thing before a release
and another from it on. They ask `since`, never for the release itself.
"""

REFUSED = "refused"  # what was taken is refused, or fails
OTHERWISE = "done otherwise"  # jobs get something else, or programs read something else in its place
SHOWN = "shown otherwise"  # texts, columns and messages; and what there was not before


def Change(since: str, command: str, text: str, harm: str = SHOWN) -> tuple[str, str, str, str]:
    """Return one difference, as a plain tuple: all commands load this table, and a class takes long to make.

    Parameters
    ----------
    since
        The first release that behaves so. One that is imitated is only the first that we have seen behave so, unless
        `slurmsim.upgrade.sources` has the name.
    command
        Where a user meets it; several are joined by commas.
    text
        What is different from then on, a sentence.
    harm
        What that may do to users: `REFUSED`, `OTHERWISE` or `SHOWN`.
    """
    return since, command, text, harm


_SUBMITTING = "sbatch, srun, salloc"
_DUMPING = "sacct, sacctmgr, sdiag, sshare"

CHANGES: dict[str, tuple[str, str, str, str]] = {
    # -- nodes ------------------------------------------------------------------------------------------------------
    "cloud_nodes_shown": Change(
        "23.02",
        "sinfo, scontrol",
        "Nodes of State=CLOUD are shown while they are off; that took PrivateData=cloud.",
    ),
    "text_after_brackets": Change(
        "23.11", "scontrol, squeue, sinfo", "A host list may go on behind the last bracket of a name: `n[1-2]-ib`."
    ),
    "metrics_port": Change(
        "25.11",
        "up",
        "Where MetricsType is set, slurmctld tells metrics and its health over HTTP at SlurmctldPort.",
    ),
    "shares_told_of_each_gpu": Change(
        "24.11",
        "scontrol, sinfo",
        "Shards and MPS are told of each GPU, `shard:3(3/4,0/4)`; that was `shard:3(IDX:0)`, and of a node the GPUs.",
    ),
    "no_null_types": Change(
        "26.05",
        "scontrol, sinfo",
        "Where gres.conf gives Cores, GresUsed has `gpu:3(IDX:0-2)` for devices without a type; it had `gpu:(null):3`.",
    ),
    # -- reservations -----------------------------------------------------------------------------------------------
    "contradicting_flags": Change(
        "23.02",
        "scontrol",
        "A reservation may not have REPLACE or REPLACE_DOWN beside STATIC_ALLOC or MAINT, nor two times to come again.",
        REFUSED,
    ),
    "lua_errors_refuse": Change(
        "26.05",
        "sbatch, srun, salloc, scontrol",
        "An error in job_submit.lua refuses the submission, with Lua's words; the job was taken as the script left it.",
        REFUSED,
    ),
    "lua_speaks_of_updates": Change(
        "23.02", "scontrol", "`update job` prints what job_submit.lua says to the user; it was lost."
    ),
    # -- accounting -------------------------------------------------------------------------------------------------
    "relative_qos": Change("23.11", "sacctmgr", "The limits of a QOS with the flag `Relative` are percentages."),
    "start_received": Change("23.11", "sacct", "The flag of a job is spelt StartReceived.", OTHERWISE),
    "flags_of_qos_by_prefix": Change(
        "25.05",
        "sacctmgr",
        "Flags of a QOS may be cut short, have another order, and none of them may be unknown.",
        OTHERWISE,
    ),
    "factors_to_their_end": Change(
        "25.05", "sacctmgr", "Factors of a QOS are read to their end: `UsageFactor=1x` is refused; it was 1.", REFUSED
    ),
    "numbers_to_their_end": Change("25.11", "sacctmgr", "`MaxJobs=5x` is refused; it was 5.", REFUSED),
    "relative_tres": Change("25.11", "sacctmgr", "`MaxTRES=cpu+=2,mem-=500` changes a limit of TRES by that much."),
    # -- submission and what jobs are told --------------------------------------------------------------------------
    "exclusive_or_oversubscribe": Change(
        "23.02", _SUBMITTING, "`--exclusive` and `--oversubscribe` together are refused.", REFUSED
    ),
    "node_count_lists": Change("23.02", _SUBMITTING, "`-N` takes lists of counts, `2,4-8:2`."),
    "tasks_per_node_make_no_count": Change(
        "24.11", _SUBMITTING, "`-N` with `--ntasks-per-node` sets no number of tasks; it set their product.", OTHERWISE
    ),
    "arbitrary_without_nodes": Change(
        "23.11",
        _SUBMITTING,
        "`-m arbitrary` does not go with `-N`; a node has a task, and stands in ReqNodeList, as often as it was named.",
        REFUSED,
    ),
    "arbitrary_names_every_task": Change(
        "25.11", _SUBMITTING, "`-m arbitrary` needs a node named for each task of `-n`.", REFUSED
    ),
    "node_list_longer_than_tasks": Change(
        "24.11",
        _SUBMITTING,
        "A node list with more names than tasks is sent whole; it was cut to the number of tasks.",
        OTHERWISE,
    ),
    "tasks_beside_tasks_per_node": Change(
        "24.11",
        "sbatch, salloc",
        "With both `-n` and `--ntasks-per-node` SLURM_NTASKS and SLURM_TASKS_PER_NODE count the tasks of `-n`; they"
        " counted as many on every node as it may have.",
        OTHERWISE,
    ),
    "cpu_bind_read_once": Change(
        "24.11",
        "srun",
        "SLURM_CPU_BIND_LIST of `--cpu-bind=cores` is empty; it had the whole option; nothing is said where TaskPlugin"
        " binds nothing, and `rank` is ignored.",
        OTHERWISE,
    ),
    "controller_counts_tasks": Change(
        "24.11",
        "srun",
        "The tasks of a step that only has CPUs per task are counted by slurmctld, so their distribution is `block`.",
        OTHERWISE,
    ),
    "job_told_to_programs": Change(
        "26.05", "slurmctld", "PrologSlurmctld and EpilogSlurmctld are told the SLUID, QOS and sharing of a job."
    ),
    "resume_file_of_jobs": Change(
        "23.02",
        "slurmctld",
        "SLURM_RESUME_FILE tells of a job's partition, features, reservation and all its nodes.",
        OTHERWISE,
    ),
    "stepmgr": Change(
        "24.05", _SUBMITTING, "`--stepmgr` and SlurmctldParameters=enable_stepmgr: `scontrol show job` tells of it."
    ),
    "job_cpus_compared": Change(
        "24.11", "srun", "A `--cpus-per-task` of a step that is more than that of its job is told."
    ),
    "gpus_override_those_of_nodes": Change(
        "24.11", "srun", "`--gpus` of a step overrides SLURM_GPUS_PER_NODE, which its job has put there."
    ),
    "features_before_partitions": Change(
        "23.02", _SUBMITTING, "Unknown features are refused before a partition, its limits or an account.", OTHERWISE
    ),
    "partition_of_allocation": Change(
        "24.11",
        "salloc, srun",
        "SLURM_JOB_PARTITION of an allocation in one of several partitions is that one; it was the list.",
        OTHERWISE,
    ),
    "steps_have_cpus_of_gpus": Change(
        "23.11", "srun", "A step with `--cpus-per-gpu` has the CPUs of its GPUs; it had all of its job.", OTHERWISE
    ),
    "step_threads_counted": Change(
        "26.05",
        "srun",
        "Only the threads that `--threads-per-core` and `--hint` of a step leave it count as its CPUs, also where its"
        " nodes have different numbers of CPUs.",
        OTHERWISE,
    ),
    "gpu_options_told_to_steps": Change(
        "24.11", "srun", "Tasks see the options about GPUs in SLURM_GPUS, SLURM_CPUS_PER_GPU and their like.", OTHERWISE
    ),
    "no_sorted_memory": Change("26.05", _SUBMITTING, "`--mem-bind=sort` is refused.", REFUSED),
    "matching_tasks_not_asked": Change(
        "24.11",
        "srun",
        "`--ntasks-per-node` of a new allocation stays beside `-n`; it was ignored, with a warning, if they differed.",
        OTHERWISE,
    ),
    "single_binding_told": Change(
        "26.05", "srun", "Tasks see `--gpu-bind=single:2` in SLURMD_TRES_BIND, as they do other bindings.", OTHERWISE
    ),
    "lone_tasks_bound": Change(
        "25.11", "srun", "The only task of a node sees in SLURMD_TRES_BIND how it is bound, as several do.", OTHERWISE
    ),
    "missing_gres_not_named": Change(
        "23.02", "srun", "Of GRES that a step wants and its job does not have the name is not told; it was."
    ),
    "steps_take_turns": Change(
        "24.11", "srun", "A step takes the nodes after those of the step before; all began with the first.", OTHERWISE
    ),
    "steps_in_order_of_network": Change(
        "26.05",
        "srun",
        "Steps take nodes, and number their tasks, block by block, along rings and through tori; it was by name.",
        OTHERWISE,
    ),
    "existing_jobs_tested": Change(
        "26.05",
        "srun",
        "`--test-only --jobid` tells when that job would start, which waits; it was another.",
        OTHERWISE,
    ),
    "files_named_by_node": Change(
        "25.11", "sbatch", "`%N` in the name of a file is the name of the node; it was its NodeHostname.", OTHERWISE
    ),
    "gpus_per_socket_of_jobs": Change("23.11", "srun", "`--gpus-per-socket` of a step in a job is warned about."),
    "frequency_by_userspace": Change(
        "23.11",
        _SUBMITTING,
        "`--cpu-freq` with one frequency has the governor UserSpace; a range needs one named.",
        OTHERWISE,
    ),
    "deadline_after_limit": Change(
        "23.02",
        _SUBMITTING,
        "A job that could not end before its `--deadline` within its time limit is refused.",
        REFUSED,
    ),
    "epilog_exit_codes": Change(
        "24.11", "srun", "A task epilog that fails is told with its exit code; it was its wait status.", OTHERWISE
    ),
    "export_nil": Change(
        "23.02", "sbatch", "`--export=NIL` starts a job with SLURM_ variables alone, without a login.", OTHERWISE
    ),
    "pty_of_input": Change("23.02", "srun", "`--pty` needs a terminal at its input; it was its output.", OTHERWISE),
    "output_folders_made": Change("23.02", "sbatch, srun", "Folders of output files are made.", OTHERWISE),
    "counts_in_brackets": Change(
        "23.02", _SUBMITTING, "Counts of several features, `a*1&b*2`, are refused outside of brackets.", REFUSED
    ),
    "reservations_preempt": Change(
        "24.11", _SUBMITTING, "`--signal=R:…` is refused where PreemptMode is OFF.", REFUSED
    ),
    "tasks_fit_threads": Change(
        "23.02", _SUBMITTING, "More `--ntasks-per-core` than `--threads-per-core` are refused.", REFUSED
    ),
    "gpus_in_one_way": Change(
        "26.05", _SUBMITTING, "`--gpus-per-node` together with `--gres=gpu` is refused.", REFUSED
    ),
    "cpus_by_task_or_gpu": Change(
        "23.11",
        _SUBMITTING,
        "`--cpus-per-gpu` beside `--cpus-per-task` is refused before GRES are looked at, and what is written beats"
        " a variable of the other.",
        REFUSED,
    ),
    "cpus_per_gpu_need_gpus": Change(
        "23.02", _SUBMITTING, "`--cpus-per-gpu` of a request without GPUs is refused by name.", REFUSED
    ),
    "tres_per_task_in_refusals": Change(
        "23.02", _SUBMITTING, "What refuses GPUs of tasks without a number of tasks names `--tres-per-task`, too."
    ),
    "gres_with_slash": Change(
        "23.11",
        "sbatch, scontrol, squeue",
        "GRES of jobs are written as TRES, `gres/gpu:2`, of tasks `gres/gpu=2`, and tasks are bound to theirs; it was"
        " `gres:gpu:2`.",
        OTHERWISE,
    ),
    "mpi_launchers_told": Change(
        "23.11", _SUBMITTING, "Launchers of MPI programs find variables that make them start ranks by srun.", OTHERWISE
    ),
    "last_mail_type_holds": Change(
        "25.05", _SUBMITTING, "Of several `--mail-type` the last one holds; they were added up.", OTHERWISE
    ),
    "jobid_names_tasks": Change("23.02", "srun", "`--jobid` takes a task of an array, as 12_3; numbers alone were."),
    "expedited_requeue": Change(
        "25.11", "sbatch", "`--requeue=expedite` has a meaning; any value was ignored.", OTHERWISE
    ),
    # -- squeue, sinfo ----------------------------------------------------------------------------------------------
    "negated_states": Change(
        "25.05", "sinfo", "`-t` takes `+` as `&`, `~` and `!` before a state, and REBOOT_REQUESTED and REBOOT_ISSUED."
    ),
    "new_options_of_verbose": Change(
        "24.11", "squeue, sinfo", "`-v` tells of `only_job_state` and of the reservation's column, too."
    ),
    "state_names_in_lower_case": Change("24.05", "squeue", "Job states a filter accepts are listed in lower case."),
    "sort_by_group_name": Change("23.11", "squeue", "`-S g` orders by group name; it ordered nothing.", OTHERWISE),
    "whole_field_names": Change(
        "24.05",
        "squeue",
        "`NumTasks` and `Container` of `-O` are written out; anything that began like them was taken.",
    ),
    "last_task_in_brackets": Change(
        "26.05", "squeue, scontrol", "The last waiting task of an array is shown as `7_[5%2]`; it was `7_5`."
    ),
    "job_id_ends_there": Change(
        "26.05", "squeue", "A job id of `-j` with anything but a task or step after it is refused.", REFUSED
    ),
    "held_job_loses_its_start": Change(
        "24.11",
        "squeue, scontrol",
        "A job that is held has no expected start; it kept it until the next backfill cycle.",
        OTHERWISE,
    ),
    "all_is_no_field": Change("24.05", "sinfo", "`-O all` complains about the word `all`, and still shows all fields."),
    "documents_apart_by_gres": Change(
        "24.05", "sinfo", "`--json` and `--yaml` have nodes in groups by how their GRES are used."
    ),
    "ten_digits": Change("24.11", "sinfo", "Disk space and weight are cut after ten digits; it was after seven."),
    "memory_makes_mixed": Change(
        "23.11",
        "sinfo, scontrol",
        "A node is MIXED where jobs have memory alone, as a suspended one; it was IDLE.",
        OTHERWISE,
    ),
    "mixed_fails": Change(
        "26.05", "sinfo", "A node in state FAIL is `failing` also with jobs on a part of it; it was `fail`."
    ),
    # -- sprio, sdiag, sreport --------------------------------------------------------------------------------------
    "table_without_jobs": Change(
        "23.02",
        "sprio",
        "`-j` without a match prints an empty table, unless no job waits; it said that there are none.",
    ),
    "one_job_of_sprio": Change("23.11", "sprio", "`-j` takes one id; a list of them is refused.", REFUSED),
    "many_jobs_of_sprio": Change("25.11", "sprio", "`-j` takes a list of ids again."),
    "moved_accounts_tell_users": Change(
        "24.11", "sacctmgr", "An account that gets another parent is told of with its users; it was alone."
    ),
    "new_parents_are_not_looked_up": Change(
        "24.11",
        "sacctmgr",
        "`modify account … set parent=` is answered by slurmdbd also where no such account is there.",
        OTHERWISE,
    ),
    "root_may_be_a_group": Change("23.02", "scontrol", "A group of root alone may have a reservation.", OTHERWISE),
    "qos_lists_stay": Change(
        "24.05",
        "sacctmgr",
        "A deleted QOS leaves the lists it was in as they are; the one behind it was lost, too.",
        OTHERWISE,
    ),
    "default_qos_is_an_error": Change(
        "23.11", "sacctmgr", "A default QOS that may not be used is an error of the request; it was only told.", REFUSED
    ),
    "accounts_above_hidden": Change(
        "24.11", "sacctmgr", "`show association` with PrivateData=users leaves out accounts above those a user sees."
    ),
    "coordinators_once": Change(
        "24.11", "sacctmgr", "Who coordinates an account and one above it is shown once; it was twice."
    ),
    "associations_by_account": Change(
        "24.11",
        "sacctmgr",
        "`add user` of several accounts gives numbers account by account; it went by user.",
        OTHERWISE,
    ),
    "dumps_hold_qos": Change(
        "26.05",
        "sacctmgr",
        "`dump` writes the QOS, too, and says less under `-Q`; `load` reads and tells them.",
        OTHERWISE,
    ),
    "flush_advises": Change("24.11", "sacctmgr", "`load … clean` advises to stop slurmctld before it asks."),
    "default_account_of_another_partition": Change(
        "26.05",
        "sacctmgr, slurmrestd",
        "A user's association may be deleted where another partition's keeps the default account; it was refused.",
        OTHERWISE,
    ),
    "coordinator_of_new_parent": Change(
        "26.05",
        "sacctmgr",
        "A coordinator gives an account below his own another parent only if that is his, too.",
        REFUSED,
    ),
    "one_active_job_told": Change(
        "26.05", "sacctmgr", "`delete` tells of one job that keeps it from going, with its QOS; it told of all."
    ),
    "qos_of_jobs_stays": Change("25.05", "sacctmgr", "A QOS is not deleted while a job has it.", REFUSED),
    "helpformat_of_sprio": Change("24.05", "sprio", "`--helpformat` lists the columns."),
    "rpc_queue": Change("24.05", "sdiag", "Tells of the RPC queue, and says where no RPCs were recorded."),
    "exits_of_cycles": Change(
        "23.11", "sdiag", "Tells how often scheduling and backfill cycles ended for which reason."
    ),
    "steps_wait_unsaid": Change(
        "24.11",
        "srun",
        "That a step waits for the end of another is told after two minutes; it was when that one ended.",
    ),
    "sbcast_warns": Change("23.02", "sbcast", "That a file is empty is a warning, no longer an error that says so."),
    "sbcast_tells_tree_width": Change(
        "23.11", "sbcast", "`-v` calls the width of the tree `treewidth`; it was `fanout`."
    ),
    "sbcast_tells_het_job": Change("25.05", "sbcast", "`-v` tells HetJobId."),
    "sbcast_empty_file_fails": Change("26.05", "sbcast", "An empty file is copied, and ends with an error.", REFUSED),
    "sbcast_loads_job": Change(
        "26.05", "sbcast", "An unknown job ends with another error, and exit code 1.", OTHERWISE
    ),
    "failing_nodes_trigger": Change(
        "25.11", "strigger", "`--fail` triggers run when a node is set to FAIL; nothing pulled them.", OTHERWISE
    ),
    "triggers_disabled": Change(
        "23.11", "strigger", "`--set` is refused with SlurmctldParameters=disable_triggers.", REFUSED
    ),
    "triggers_by_kind": Change("23.02", "strigger", "The error of `--set` without a trigger names none."),
    "seff_of_allocated_memory": Change(
        "24.11",
        "seff",
        "Efficiency is of the memory a job has; it was of what it asked for, and called an estimate.",
        OTHERWISE,
    ),
    "associations_by_name": Change(
        "24.11", "sreport", "`user TopUsage group` lists accounts by name; those that came last were first."
    ),
    "amounts_cut": Change("24.11", "sreport", "An amount that does not fit into its column ends in `+`."),
    "total_count_of_jobs": Change("24.11", "sreport", "Reports of jobs have the column `Total Count`."),
    "usage_by_qos": Change(
        "24.11", "sreport", "There is `cluster AccountUtilizationByQOS`; reports of associations take `qoslevel=`."
    ),
    "hours_begun": Change(
        "25.05",
        "sreport",
        "The end of a report's period is rounded up to a whole hour, its start down; both went to the nearest.",
        OTHERWISE,
    ),
    # -- JSON and YAML ----------------------------------------------------------------------------------------------
    "data_parsers": Change(
        "23.11",
        "sacct, sacctmgr, scontrol, sdiag, sinfo, squeue, sshare",
        "`--json` and `--yaml` take a data parser's name and write its form, in sacctmgr, scontrol, sdiag and sshare,"
        " too.",
        OTHERWISE,
    ),
    "data_parser_v0_0_45": Change(
        "26.05",
        _DUMPING,
        "JSON and YAML have the form of `data_parser/v0.0.45`, with some fields more and some less.",
        OTHERWISE,
    ),
    "meta_tells_whole_command": Change(
        "26.05", _DUMPING, "`meta.command` is the whole command line; its last word was missing, in sacctmgr all of it."
    ),
    "infinity_as_number": Change(
        "26.05", "sshare", "An infinite `level_fs` is a very large number in JSON and YAML, with a warning.", OTHERWISE
    ),
    # -- sacct ------------------------------------------------------------------------------------------------------
    "script_without_heading": Change(
        "24.11",
        "sacct",
        "`-n` leaves out the heading of `-B` and `--env-vars`; no empty line follows a script.",
        OTHERWISE,
    ),
    "no_cpus_before_start": Change(
        "23.02", "sacct", "A job that has no CPUs yet shows 0 of them; it showed its request.", OTHERWISE
    ),
    "reason_told_with_start": Change(
        "24.11", "sacct", "Reason is None until the job starts; what it waits for was told some seconds after it came."
    ),
    "planned_without_start": Change(
        "23.02", "sacct", "The planned time of a job that never started lasts until its end; it was INVALID.", OTHERWISE
    ),
    "no_memory_is_zero": Change("24.11", "sacct", "ReqMem without a request is 0; it was 16777216.00T.", OTHERWISE),
    "lost_script_counts": Change(
        "24.11", "sacct", "The highest exit code of a job that lost its node is not known; it was 0.", OTHERWISE
    ),
    "exit_code_above_127": Change(
        "25.11", "sacct", "Exit codes from 128 on are told as they are; 128 was taken off.", OTHERWISE
    ),
    "streams_of_steps": Change("25.05", "sacct", "StdErr, StdIn and StdOut are told of steps, too."),
    "reason_by_letter": Change("25.11", "sacct", "`-R` is short for `--reason`; only the long form was known."),
    "ended_rows_stay": Change(
        "26.05",
        "sacct",
        "The row of a job that is requeued after its end stays as it was; it became REQUEUED, ended by the requeue.",
        OTHERWISE,
    ),
    # -- sacctmgr ---------------------------------------------------------------------------------------------------
    "existing_accounts_named": Change(
        "23.11", "sacctmgr", "`add account` names accounts that exist; it said that nothing new was added."
    ),
    "account_checked_first": Change(
        "23.11",
        "sacctmgr",
        "`add account` shows what it adds once that is known to be allowed, and words refusals otherwise.",
    ),
    "cluster_before_account": Change(
        "23.11", "sacctmgr", "`add` lists associations with the cluster first, and has wider columns."
    ),
    "account_or_wckey": Change("23.11", "sacctmgr", "`add user` without an account asks for an account or WCKey."),
    "add_accounts_first": Change(
        "23.11", "sacctmgr", "`add user` to nothing that exists says `Nothing added`, and to add accounts first."
    ),
    "user_associations_refused": Change(
        "23.11", "sacctmgr", "A refused `add user` speaks of a problem with user associations; it spoke of users."
    ),
    "unknown_accounts_skipped": Change(
        "23.11", "sacctmgr", "`add user` says on standard output that it skips an unknown account; it was an error."
    ),
    "settings_of_new_users": Change(
        "23.11", "sacctmgr", "`add user` prints the line `Settings` for every new user; it stood where there were any."
    ),
    "no_empty_settings": Change(
        "23.11", "sacctmgr", "`add user` prints `Non Default Settings` only where it has some."
    ),
    "new_users_checked_first": Change(
        "23.11", "sacctmgr", "`add user` shows what it adds once that is known to be allowed."
    ),
    "default_qos_named_twice": Change(
        "25.05", "sacctmgr", "`add user` gives the reason of a refusal for the default QOS twice."
    ),
    "default_account_of_coordinators": Change(
        "23.11",
        "sacctmgr",
        "`add user` of a coordinator takes DefaultAccount, for new users alone; it was refused.",
    ),
    "problems_of_own_users": Change(
        "24.11",
        "sacctmgr",
        "`show problem` names accounts without users of their own; one with accounts below it was left out.",
    ),
    "who_may_add_told": Change("26.05", "sacctmgr", "A refused `add user` says who may add."),
    "nothing_modified_is_an_error": Change(
        "24.11",
        "sacctmgr",
        "`modify` of unknown accounts and users is an error; it said `Nothing modified`.",
        REFUSED,
    ),
    "modified_told_first": Change(
        "25.05", "sacctmgr", "`modify` of accounts and users says what it modifies before it is known to be allowed."
    ),
    "indented_nothing_modified": Change(
        "25.05", "sacctmgr", "`Nothing modified` is indented by two blanks; it was one."
    ),
    "resources_consumed": Change("23.02", "sacctmgr", "`list resource` has the columns LastConsumed and Flags, too."),
    "shared_pools": Change("26.05", "sacctmgr", "Resources have the flag SharedPool, too."),
    "unset_cluster_flags": Change("24.11", "sacctmgr", "The flags of a cluster are not set; they were an empty text."),
    "booleans_in_lower_case": Change("24.05", "sacctmgr", "`show config` writes `no`; it wrote `No`."),
    "commit_delay_in_seconds": Change("25.11", "sacctmgr", "`show config` writes CommitDelay as 0; it wrote `no`."),
    "no_storage_user": Change("25.11", "sacctmgr", "`show config` has no AccountingStorageUser."),
    "nothing_deleted_deeper": Change("25.05", "sacctmgr", "`Nothing deleted` is indented by two blanks; it was one."),
    # -- scontrol show ----------------------------------------------------------------------------------------------
    "refusals_are_unprocessable": Change(
        "26.05", "slurmrestd", "What Slurm refuses is status 422; it was 500.", OTHERWISE
    ),
    "unknown_partition_is_a_warning": Change(
        "26.05", "slurmrestd", "A partition there is not makes a warning; it was an error of status 422.", OTHERWISE
    ),
    "configuration_as_document": Change("26.05", "scontrol", "`show config --json` writes a document; it wrote text."),
    "select_parameters_listed": Change(
        "24.11", "scontrol", "`show config` lists SelectTypeParameters where it is not set, too."
    ),
    "use_of_gpus_counted": Change(
        "23.02",
        "scontrol, sacctmgr",
        "gres/gpumem and gres/gpuutil are TRES where gres/gpu is: `show config`, `show assoc_mgr`, `show tres`.",
    ),
    "gres_of_other_nodes_hidden": Change(
        "24.05", "scontrol, sinfo", "GresUsed lists no GRES that the node has none of; it had them with 0."
    ),
    "unkillable_follows_messages": Change(
        "24.05",
        "scontrol",
        "`show config` has UnkillableStepTimeout at least five times as long as MessageTimeout.",
        OTHERWISE,
    ),
    "no_plugin_is_null": Change("23.11", "scontrol", "`show config` writes `(null)` for plugins that are `none`."),
    "lineage_of_associations": Change("23.11", "scontrol", "`show assoc_mgr` has Lineage; it had Lft."),
    "comment_of_associations": Change("23.02", "scontrol", "`show assoc_mgr` has the comments of associations."),
    "limited_users_by_name": Change(
        "23.02", "scontrol", "`show assoc_mgr` names the users of a QOS, with their ids; it had the ids alone."
    ),
    "run_minutes_in_qos": Change(
        "24.05", "scontrol", "`show assoc_mgr` has TRES run minutes by user and account of a QOS."
    ),
    "typed_tres_loaded": Change("26.05", "sacctmgr", "`load` reads types of TRES, as in `gres/gpu:a100=1`."),
    "case_of_resources": Change(
        "26.05", "sacctmgr", "Names of resources keep their case with PreserveCaseResource in slurmdbd.conf."
    ),
    "private_data_of_the_client": Change(
        "26.05", "sacctmgr", "`show config` has slurm.conf's PrivateData for slurmdbd's as well."
    ),
    "external_nodes": Change(
        "26.05", "scontrol", "`create nodename` makes EXTERNAL nodes as well, which have no slurmd."
    ),
    "slurmd_finds_gpus": Change("26.05", "slurmd", "`-Z` finds GPUs by itself where gres.conf has none."),
    "archive_by_configured_age": Change(
        "26.05", "sacctmgr", "`archive dump` of rows without an age takes that of slurmdbd.conf; it failed before."
    ),
    "sacctmgr_ping": Change("24.11", "sacctmgr", "`ping` tells whether slurmdbd is there."),
    "short_names_of_limits": Change(
        "24.05", "sacctmgr", "An association's limits may be set as MaxTRESPJ, MaxTRESPN and MaxTRESMinsPJ."
    ),
    "shares_once_started": Change(
        "24.11",
        "scontrol, squeue",
        "Of a job that waits OverSubscribe tells what it asks for, also after it was tried.",
    ),
    "container_ids": Change("23.02", "scontrol", "`show job` tells the id of a job's container."),
    "files_of_steps": Change(
        "25.05", "scontrol, squeue", "The files of a step's input and output are shown, those that srun was told."
    ),
    "container_types": Change("26.05", "scontrol", "`show job` tells the kind of a job's container."),
    "memory_per_tres": Change("24.11", "scontrol", "`show job` has MinMemoryTRES for `--mem-per-gpu`."),
    "cpus_per_task_as_tres": Change("24.11", "scontrol", "`show job` tells `--cpus-per-task` in TresPerTask, too."),
    "most_nodes_of_held_jobs": Change(
        "24.11", "scontrol", "`show job` has NumNodes of a job no nodes were looked for yet as a range, `2-2`."
    ),
    "nodes_of_last_run_forgotten": Change(
        "24.11",
        "scontrol",
        "`show job` has NumNodes of a requeued job as a range, `2-2`, until `reconfigure`; it was the last run's.",
    ),
    "long_jobs_tried": Change(
        "24.11", "scontrol", "`show job` has one number as NumNodes of a job that is too long for its partition."
    ),
    "batch_host_when_launched": Change(
        "26.05", "scontrol, squeue", "The BatchHost of a job is told once its nodes have booted."
    ),
    "tasks_limit_nodes": Change(
        "26.05", "scontrol", "`show job` has the tasks of `-n` as the most of NumNodes, where `-N` says nothing."
    ),
    "command_alone": Change("24.11", "scontrol", "Command in `show job` is without the script's arguments."),
    "flags_between_commas": Change(
        "23.11", "scontrol", "Flags in a line of `show job` have commas between them; there was nothing."
    ),
    "flags_between_blanks": Change("25.11", "scontrol", "Flags in a line of `show job` have blanks between them."),
    "invalid_dependent_spelled": Change(
        "25.11", "scontrol", "`show job` writes KillOnInvalidDependent; it wrote KillOInInvalidDependent."
    ),
    "no_blanks_at_line_ends": Change("25.11", "scontrol", "Lines of `show job` have no spare blanks at their ends."),
    "licenses_allocated": Change(
        "25.05",
        "scontrol, squeue",
        "LicensesAlloc is what a job has, between semicolons, as a reservation's; it was what it had asked for.",
    ),
    "error_file_as_asked": Change(
        "25.11", "scontrol", "StdErr in `show job` is empty where `-e` was not given.", OTHERWISE
    ),
    "job_not_found_is_an_error": Change(
        "26.05",
        "scontrol",
        "`show job` says on standard error that there is no such job; it was standard output.",
        OTHERWISE,
    ),
    "steps_by_what_was_asked": Change(
        "24.11", "scontrol", "When `show step` fails its message names the step asked for."
    ),
    "threads_known_of_jobs": Change(
        "24.11", "scontrol", "`-d show job` asks for no nodes, so it does not let slurmctld count their CPUs anew."
    ),
    "busy_nodes_planned": Change(
        "24.11", "scontrol, sinfo", "Nodes with jobs and idle CPUs are marked PLANNED, too, where backfill keeps them."
    ),
    "arrays_start_with_their_first": Change(
        "23.02",
        "scontrol, squeue",
        "The estimate of an array's record is that of its first waiting task; it was that of the last one planned.",
    ),
    "resume_after": Change("23.02", "scontrol", "`show node` has ResumeAfterTime."),
    "suspend_time_of_nodes": Change("26.05", "scontrol", "`show node` has SuspendTime."),
    "exclusive_topology": Change("24.05", "scontrol", "`show partition` has ExclusiveTopo."),
    "exclusive_of_partitions": Change(
        "26.05",
        "scontrol",
        "`show partition` has `Exclusive=NODE|USER|NO`; it was in ExclusiveUser and OverSubscribe=EXCLUSIVE.",
        OTHERWISE,
    ),
    "reconfigure_begins_anew": Change(
        "23.11",
        "slurmctld",
        "`scontrol reconfigure` is a restart: usage and fair shares are worked out, backfill waits bf_interval.",
        OTHERWISE,
    ),
    "all_is_a_node_set": Change(
        "24.11", "scontrol", "`show partition` has NodeSets=ALL where slurm.conf has Nodes=ALL.", OTHERWISE
    ),
    "cpus_per_socket_limit": Change("23.02", "scontrol", "`show partition` has MaxCPUsPerSocket."),
    "power_saving_of_partitions": Change(
        "23.02",
        "scontrol",
        "`show partition` tells power times where nodes are suspended at all, with PowerDownOnIdle; it told them where"
        " the partition has any of its own.",
    ),
    "unknown_qos_kept": Change(
        "24.11", "scontrol, squeue", "Without accounting a job tells the QOS that was asked for; it told none."
    ),
    "partitions_once": Change(
        "24.11", "scontrol, squeue", "A partition named twice by a job is told once, as soon as nodes were looked for."
    ),
    "partitions_by_tier": Change(
        "24.11",
        "scontrol, squeue",
        "A waiting job tells its partitions by tier; the one its submission had found nodes in came first.",
    ),
    "partition_qos_lists_known": Change(
        "25.11", "scontrol", "QOS a partition allows or denies must be known; any were taken.", REFUSED
    ),
    "partition_qos_known": Change(
        "26.05", "scontrol", "A partition's QOS must be known; without accounting, any was taken.", REFUSED
    ),
    "whom_a_reservation_is_for": Change(
        "25.11", "scontrol", "The error of a reservation without users names AllowedPartitions and QOS, too."
    ),
    "no_weighted_tres": Change("25.05", "scontrol, sinfo, slurmrestd", "tres_weighted of a node is 0 in documents."),
    "no_watts_of_reservations": Change("24.05", "scontrol", "`show reservation` has no Watts."),
    "unknown_license_is_an_error": Change(
        "26.05", "scontrol", "`show license` of an unknown one fails; it was silent.", REFUSED
    ),
    "segments_counted_by_commands": Change(
        "25.11", "sbatch", "`--segment` that does not divide `-N` is refused by the command.", REFUSED
    ),
    "topology_with_options": Change("25.05", "scontrol", "`show topology` takes more than one word."),
    "no_topology_is_silent": Change("23.11", "scontrol", "`show topology` says nothing where there is none."),
    "invalid_entity_without_blank": Change(
        "25.05", "scontrol", "The message about an unknown entity ends without a blank."
    ),
    # -- scontrol otherwise -----------------------------------------------------------------------------------------
    "lists_of_who_may_not": Change(
        "24.05",
        "scontrol",
        "`users-=` and `accounts-=` of a reservation refuse who is not in its list, and `+=` takes out of a list of who"
        " may not use it.",
        REFUSED,
    ),
    "reservations_users_delete": Change(
        "24.05",
        "scontrol",
        "A reservation with the flag USER_DELETE, and all with `SlurmctldParameters=user_resv_delete`, is deleted by"
        " its users, too.",
        OTHERWISE,
    ),
    "updated_tasks_reach_cpus": Change(
        "24.11", "scontrol", "`update job NumTasks=N` sets NumCPUs to N, too; it left it.", OTHERWISE
    ),
    "updated_tasks_reach_nodes": Change(
        "26.05", "scontrol", "An update to fewer tasks than nodes is refused.", REFUSED
    ),
    "colon_without_blank": Change(
        "25.05", "scontrol", "Errors that `-Q` hides have no blank after the colon, or nothing if nothing failed."
    ),
    "unknown_cluster_is_fatal": Change(
        "24.05", "most commands", "`-M` of an unknown cluster ends with a fatal error, too.", REFUSED
    ),
    "debug_of_nodes": Change(
        "23.02", "scontrol", "`setdebug` and `setdebugflags` take nodes, the latter several flags as well."
    ),
    "token_disabled": Change("23.02", "scontrol", "`token` says why there is none: no plugin makes them."),
    "lua_functions_counted": Change(
        "26.05", _SUBMITTING, "A cli_filter.lua without a function it must have is told of in one more line."
    ),
    "spec_cores_of_tasks": Change(
        "24.11", "scontrol", "CPU_IDs of a job with --core-spec are of no more cores than its tasks use."
    ),
    "reserved_cores_dealt": Change(
        "24.11", "scontrol", "CoreIDs of a reservation are taken from one socket after the other.", OTHERWISE
    ),
    "why_cores_stay": Change("24.11", "scontrol", "An update of reserved cores that is refused says why."),
    "refused_reservation_once": Change(
        "23.11", "scontrol", "A refused `update reservation` says so in one line; a first spoke of the reservation."
    ),
    "note_without_nodes": Change(
        "24.11", "scontrol", "Only a refused reservation that names no nodes is told of partitions; any was."
    ),
    "nodes_of_reservations_signed": Change("23.02", "scontrol", "`update reservation` knows `Nodes+=` and `Nodes-=`."),
    "owner_asked_first": Change(
        "24.11",
        "scontrol",
        "`update job`, `hold` and `release` look who asks before anything else; a job that has ended came first.",
    ),
    "updated_tasks_unnamed": Change(
        "24.11", "scontrol", "`update job` of an array names the tasks it could not update only; it named all then."
    ),
    "throttle_of_arrays_alone": Change(
        "24.11",
        "scontrol",
        "`update job ArrayTaskThrottle=` is refused but for an array as a whole; it was ignored.",
        REFUSED,
    ),
    "memory_of_running_jobs": Change(
        "26.05", "scontrol", "`update job` could change the memory of a running job that has an extern step.", OTHERWISE
    ),
    "bindings_of_gres": Change(
        "24.11",
        "scontrol",
        "`update job TresBind=` names GRES, as `gres/gpu:closest`; it was `gpu:closest`.",
        OTHERWISE,
    ),
    "weight_is_a_number": Change(
        "23.02", "scontrol", "A node's weight is a plain number; `k` and UNLIMITED were taken.", REFUSED
    ),
    "error_creating_nodes": Change("23.11", "scontrol", "The error of `create node` is worded otherwise."),
    "reservation_lacks_tres": Change(
        "23.11", "scontrol", "A reservation of nothing is told to name TRES; burst buffers and licenses were named."
    ),
    "node_range_refused": Change(
        "24.11",
        "scontrol",
        "A range of NumNodes that runs backwards is refused by the command; slurmctld refused it.",
        REFUSED,
    ),
    "reserved_cores_at_once": Change(
        "24.11", "scontrol", "CoreIDs of a new reservation are told at once; they were after the next look, every 5 s."
    ),
    "most_nodes_after_requeue": Change(
        "24.11", "scontrol", "NumNodes of a job that was requeued is a range again; it was the number of its last run."
    ),
    "most_nodes_beside_names": Change(
        "26.05", "scontrol", "NumNodes of a waiting job that names nodes is a range as well, where its tasks limit it."
    ),
    "tasks_raise_cpus_a_node": Change(
        "24.11",
        "scontrol",
        "`update job TasksPerNode=N` raises MinCPUsNode to N where it is less; it left it.",
        OTHERWISE,
    ),
    "one_node_count": Change(
        "24.11", "scontrol", "`update job NumNodes=N` sets the most nodes, too; it left them.", OTHERWISE
    ),
    "sign_before_equals": Change("23.02", "scontrol", "`update` knows what is updated by `NAME+=` and `NAME-=`, too."),
    "suspend_exceptions": Change(
        "23.02", "scontrol", "`update` knows SuspendExcNodes, SuspendExcParts, SuspendExcStates."
    ),
    "admin_comment_as_a_whole": Change("24.11", "scontrol", "`AdminComment+=` is refused; it added.", REFUSED),
    "one_record_is_the_one": Change("23.11", "scontrol", "`TimeLimit+=` finds a task of an array by its own id, too."),
    "unlimited_stays": Change("23.11", "scontrol", "`TimeLimit+=` is refused where the limit is UNLIMITED.", REFUSED),
    "duplicate_partition": Change("24.11", "scontrol", "`create partition` says that there is one of that name."),
    "nodes_being_rebooted": Change("24.05", "scontrol", "`reboot` says that the nodes are already being rebooted."),
    "power_actions": Change(
        "26.05",
        "scontrol",
        "`reboot` and `power` take `action=NAME` of a PowerAction, and their words in other places.",
    ),
    "invalid_power_action": Change(
        "26.05",
        "scontrol",
        "`update node State=POWER_UP` and the like are an invalid power action without programs.",
        REFUSED,
    ),
    "heading_of_processes": Change("24.11", "scontrol", "`listpids` prints no heading where there are no processes."),
    "no_error_is_silent": Change(
        "24.11",
        "scontrol",
        "`update` says no more of a word it cannot read; it said `slurm_update error: No error`.",
        OTHERWISE,
    ),
    "invalid_transition": Change("25.11", "scontrol", "An impossible state of a node is an invalid transition."),
    "invalid_group": Change("24.11", "scontrol", "A reservation's unknown group is named so; it was an invalid user."),
    "unspecified_user_error": Change("26.05", "scontrol", "A new reservation's unknown user is an unspecified error."),
    "owners_suspend": Change(
        "26.05", "scontrol", "`suspend` and `resume` are for the owner of a job, too; only operators could.", OTHERWISE
    ),
    "het_limits_together": Change(
        "26.05", "sbatch, salloc, srun", "The components of a heterogeneous job have to keep limits together.", REFUSED
    ),
    "nodes_of_tasks": Change(
        "24.11",
        "sbatch",
        "With `-n` and `--ntasks-per-node` the nodes follow from the tasks; one was asked for.",
        OTHERWISE,
    ),
    "tasks_as_asked": Change(
        "24.11",
        "scontrol",
        "NumTasks of a job with `-n` and `--ntasks-per-node` stays as asked when it starts.",
        OTHERWISE,
    ),
    "nodes_of_whole_tasks": Change(
        "24.11", "scontrol", "A job never tried shows the nodes that whole tasks of several CPUs fill; it was one more."
    ),
    "child_as_parent_is_told": Change(
        "25.05", "sacctmgr", "An account that would be below itself is an error of its own; it was skipped."
    ),
    "task_ids_in_brackets": Change("26.05", "scontrol", "Errors name tasks of an array in brackets, `5_[1,4]`."),
    "recurring_jobs": Change("24.11", "scrontab", "The command is there; Debian's packages of 22.05 have none."),
    "task_by_its_own_id": Change("23.02", "scancel", "A task of an array is found by its own job id, too."),
    "sluids_and_restarts_in_file_names": Change(
        "25.11", "sbatch, srun", "`%S` in the name of a file is the SLUID of the job, `%r` how often it was requeued."
    ),
    "no_default_wckey_asked": Change(
        "25.05", "sbatch, srun, salloc", "A WCKey that begins with `*` is refused.", REFUSED
    ),
    "admin_comment_of_cancels": Change("25.11", "scancel", "`--admin-comment` says why jobs are cancelled."),
    "long_lists_of_sdiag": Change("25.11", "sdiag", "`--no-trunc` is known."),
    "quiet_or_verbose": Change("26.05", "sacctmgr", "`-Q` together with `-v` is refused.", REFUSED),
    "partition_of_reservation_stays": Change(
        "26.05", "scontrol", "`update reservation PartitionName=` is refused; it was done.", REFUSED
    ),
}
"""Name -> the difference; `tests/docs/coverage_tables.py` makes a table of docs/coverage.md from it."""


def since(release: str, name: str) -> bool:
    """Return True if `release` behaves as the change called `name` says. Raises KeyError for a name that is not there.

    >>> [since(release, "lineage_of_associations") for release in ("22.05", "24.11", "26.05")]
    [False, True, True]
    """
    return release >= CHANGES[name][0]
