"""The accounting side as data: associations, QOS and their limits, as slurmdbd keeps them.

Names and meanings are those of sacctmgr's table (22.05). Times are seconds, memory is MiB, counts of TRES-minutes stay
minutes, because Slurm compares them as integers. What is None or absent is not limited.
"""

from collections.abc import Mapping

from slurmsim.data_classes import dataclass, field

Tres = Mapping[str, int]  # by lower-cased name: cpu, mem (MiB), node, billing, gres/gpu, gres/gpu:a100, license/x …
NOTHING: Tres = {}


@dataclass(frozen=True, slots=True)
class Limits:
    """What associations and QOS have in common."""

    # grp_tres, grp_tres_mins, grp_tres_run_mins: of all running jobs together: TRES in use; TRES-minutes used
    # (decayed); TRES-minutes still owed
    grp_tres: Tres = field(default_factory=dict)
    grp_tres_mins: Tres = field(default_factory=dict)
    grp_tres_run_mins: Tres = field(default_factory=dict)
    # grp_jobs, grp_jobs_accrue, grp_submit_jobs, grp_wall_s: of all jobs together: running, accruing age, pending or
    # running, wall time used (decayed)
    grp_jobs: int | None = None
    grp_jobs_accrue: int | None = None
    grp_submit_jobs: int | None = None
    grp_wall_s: int | None = None
    # max_tres, max_tres_per_node, max_tres_mins: of one job
    max_tres: Tres = field(default_factory=dict)
    max_tres_per_node: Tres = field(default_factory=dict)
    max_tres_mins: Tres = field(default_factory=dict)
    # max_jobs, max_jobs_accrue, max_submit_jobs: of one user in the association (or QOS: `Qos.max_jobs_pu` and so on)
    max_jobs: int | None = None
    max_jobs_accrue: int | None = None
    max_submit_jobs: int | None = None
    max_wall_s: int | None = None  # time limit of one job
    min_prio_thresh: int | None = None  # a pending job below this priority reserves nothing (MinPrioThreshold)


@dataclass(frozen=True, slots=True)
class Qos:
    """One quality of service.

    Attributes
    ----------
    flags
        As sacctmgr spells them: DenyOnLimit, NoReserve, OverPartQOS, PartitionMaxNodes, UsageFactorSafe, NoDecay, …
    preempt
        Names of the QOS that jobs of this QOS may preempt.
    preempt_mode
        ``""`` (the cluster's), CANCEL, REQUEUE, SUSPEND, OFF or WITHIN.
    usage_factor
        Usage of its jobs counts that many times.
    usage_threshold
        Lowest fair-share factor that may start jobs.
    max_*_pu, max_*_pa
        Of one user, of one account, within the QOS.
    """

    name: str
    priority: int = 0
    flags: frozenset[str] = frozenset()
    preempt: tuple[str, ...] = ()
    preempt_mode: str = ""
    preempt_exempt_time_s: int | None = None
    grace_time_s: int = 0
    usage_factor: float = 1.0
    usage_threshold: float | None = None
    limit_factor: float | None = None
    limits: Limits = field(default_factory=Limits)
    max_tres_pu: Tres = field(default_factory=dict)
    max_tres_pa: Tres = field(default_factory=dict)
    max_tres_run_mins_pu: Tres = field(default_factory=dict)
    max_tres_run_mins_pa: Tres = field(default_factory=dict)
    max_jobs_pu: int | None = None
    max_jobs_pa: int | None = None
    max_submit_pu: int | None = None
    max_submit_pa: int | None = None
    max_jobs_accrue_pu: int | None = None
    max_jobs_accrue_pa: int | None = None
    min_tres: Tres = field(default_factory=dict)


PARENT_SHARES = -1  # Fairshare=parent


@dataclass(frozen=True, slots=True)
class Association:
    """An account, or a user in an account (and, if `partition` is set, only in that partition).

    The root is the account ``root`` with an empty `parent`. Accounts have an empty `user`. Max limits that are not
    set are inherited from the accounts above; group limits are not, they hold at every level.
    """

    account: str
    user: str = ""
    parent: str = ""
    partition: str = ""
    shares: int = 1  # fairshare, `PARENT_SHARES` for ``parent``
    priority: int | None = None
    limits: Limits = field(default_factory=Limits)
    qos: tuple[str, ...] | None = None  # names it may use; None: those of the account above (all of them at the root)
    default_qos: str = ""  # ``""``: that of the account above
    is_default: bool = False  # whether this account is its user's default account


@dataclass(frozen=True, slots=True)
class Accounting:
    """All that slurmdbd knows of one cluster, already validated.

    `associations` in order of creation, parents before children, the root first; that order decides ties of the fair
    tree. Every QOS they name exists. `source` says where it was read, for messages and the manifest.
    """

    associations: tuple[Association, ...]
    qos: tuple[Qos, ...] = ()
    source: str = ""
