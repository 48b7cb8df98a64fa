"""Parameters of the simple mix: what it can be asked for, and what is refused."""

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim_workloads.models.draws import ESTIMATES
from slurmsim_workloads.parameters import check, check_load_or_rate, check_population, param, parse

MEM_STEP_MIB = 256


@dataclass(frozen=True)
class PartitionMix:
    """A partition's share of sessions and the nodes its jobs are made for."""

    name: str = param("", "partition name; empty: the default partition")
    weight: float = param(1.0, "share of sessions, relative", above=0)
    nodes: int = param(64, "nodes", "nodes", low=1)
    cpus: int = param(32, "CPUs a node", "CPUs", low=1)
    gpus: int = param(0, "GPUs a node", "GPUs", low=0)
    mem: int = param(128_000, "memory a node", "MiB", low=MEM_STEP_MIB)
    hours: float = param(24.0, "longest job", "h", low=0.1)

    def __post_init__(self) -> None:
        check(self)
        if self.gpus > self.cpus:
            raise ConfigError(f"bad value {self.gpus}", field="gpus", expected="at most one GPU a CPU")
        if self.mem < self.cpus * MEM_STEP_MIB:
            raise ConfigError(f"bad value {self.mem}", field="mem", expected=f"at least {MEM_STEP_MIB} MiB a CPU")


def parse_partitions(text: str) -> tuple[PartitionMix, ...]:
    """Partitions from ``batch:nodes=64:weight=0.9,gpu:nodes=8:gpus=4:weight=0.1``.

    Raises
    ------
    ConfigError
        Naming ``partitions`` or the key in it that is wrong.
    """
    made = []
    for part in text.split(","):
        name, *pairs = part.split(":")
        options = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or key == "name":
                raise ConfigError(f"bad part {pair!r}", field="partitions", expected="name:key=value:key=value,name…")
            options[key] = value
        if not name or "=" in name:
            raise ConfigError(f"no partition name in {part!r}", field="partitions", expected="name:key=value,name…")
        try:
            made.append(parse(PartitionMix, {"name": name, **options}))
        except ConfigError as error:
            raise ConfigError(
                error.message, field=f"partitions, {name}: {error.field}", expected=error.expected
            ) from error
    return tuple(made)


@dataclass(frozen=True)
class MixParams:
    """Parameters of `slurmsim_workloads.models.mix.generate`.

    Raises
    ------
    ConfigError
        For a value outside its bounds, both a load and a rate, or a cluster described twice.
    """

    jobs: int = param(5_000, "jobs to make, counting array tasks", "jobs", low=1)
    nodes: int | None = param(None, "nodes of the one partition; none: 64", "nodes", kind=int, low=1)
    cpus_per_node: int | None = param(None, "CPUs a node of it; none: 32", "CPUs", kind=int, low=1)
    partitions: tuple[PartitionMix, ...] | None = param(
        None,
        "several: NAME:weight=1:nodes=64:cpus=32:gpus=0:mem=128000:hours=24,NAME… (mem in MiB)",
        kind=parse_partitions,
    )
    load: float | None = param(None, "offered load (dominant share of nodes); none: 0.85", kind=float, above=0)
    jobs_per_hour: float | None = param(None, "rate of submissions, in place of a load", "1/h", kind=float, above=0)
    daily_cycle: float = param(0.6, "amplitude of the daily cosine of the rate", low=0, below=1)
    peak_hour: float = param(14.0, "hour of the highest rate", "h", low=0, below=24)
    weekend: float = param(0.5, "rate on Saturday and Sunday over that of the week", above=0)

    users: int = param(40, "users", "users", low=1)
    user_exponent: float = param(1.0, "Zipf exponent of the users' shares of sessions", low=0)
    accounts: int = param(6, "accounts", "accounts", low=1)
    session_length: float = param(4.0, "mean submissions of a session", "submissions", low=1)
    concurrent: int = param(8, "sessions that go on side by side", "sessions", low=1)

    multinode: float = param(0.3, "share of sessions with jobs of several nodes", low=0, high=1)
    largest: float = param(0.25, "largest job over its partition's nodes", above=0, high=1)
    pow2: float = param(0.75, "share of sizes that are powers of two", low=0, high=1)
    threaded: float = param(0.5, "share of single-node sessions that are one task with threads", low=0, high=1)
    gpu_share: float = param(1.0, "share of sessions in partitions with GPUs that ask for them", low=0, high=1)
    exclusive: float = param(0.05, "share of sessions that ask for exclusive nodes", low=0, high=1)
    mem_share: float = param(0.6, "share of sessions that say how much memory", low=0, high=1)
    mem_median: float = param(0.5, "median memory asked for a CPU over an even share of the node", above=0)
    mem_sigma: float = param(0.8, "sigma of its logarithm", low=0)

    median: float = param(1200.0, "median run time", "s", low=1)
    sigma: float = param(1.5, "sigma of ln(run time)", low=0)
    alike: float = param(0.7, "share of the variance of ln(run time) that is between sessions", low=0, high=1)
    estimate: str = param("popular", "requested times: " + ", ".join(ESTIMATES), choices=ESTIMATES)
    overestimate: float = param(3.0, "uniform, popular: requested over run time is U(1, this)", low=1)
    at_max: float = param(0.05, "popular: share of submissions that ask for the longest time", low=0, high=1)
    timeouts: float = param(0.03, "share of jobs that want to run past their limit", low=0, high=1)
    failures: float = param(0.06, "share of jobs that fail (exit code 1) somewhere on the way", low=0, high=1)
    cancels: float = param(0.03, "share of jobs the user cancels", low=0, high=1)
    cancel_after: float = param(3600.0, "mean time from submit to cancel", "s", above=0)

    arrays: float = param(0.1, "share of single-node submissions that are job arrays", low=0, high=1)
    array_length: float = param(12.0, "mean tasks of an array (2 and more, geometric)", "tasks", low=2)
    array_longest: int = param(200, "most tasks of an array", "tasks", low=2, high=1000)
    throttled: float = param(0.3, "share of arrays with a limit (%N) of U(1, half their length)", low=0, high=1)

    def __post_init__(self) -> None:
        check(self)
        check_load_or_rate(self)
        if self.partitions is not None:
            for name in ("nodes", "cpus_per_node"):
                if getattr(self, name) is not None:
                    raise ConfigError("given together with partitions", field=name, expected="one of the two")
            names = [p.name for p in self.partitions]
            if len(set(names)) != len(names) or not names:
                raise ConfigError("no or repeated names", field="partitions", expected="a different name each")
        check_population(self)
        if self.failures + self.timeouts > 1:
            raise ConfigError(
                f"failures + timeouts is {self.failures + self.timeouts:g}",
                field="failures",
                expected="at most 1 in all",
            )
        _ = self.cluster  # its own checks

    @property
    def cluster(self) -> tuple[PartitionMix, ...]:
        """The partitions jobs are made for."""
        if self.partitions is not None:
            return self.partitions
        cpus = self.cpus_per_node or 32
        return (PartitionMix(nodes=self.nodes or 64, cpus=cpus, mem=4_000 * cpus),)
