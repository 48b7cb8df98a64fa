"""An advance reservation as ``scontrol create reservation`` describes it."""

from slurmsim.data_classes import dataclass

# Flags by Slurm's names (22.05). Those of the second set the core refuses by name.
FLAGS = frozenset({
    "MAINT", "OVERLAP", "IGNORE_JOBS", "FLEX", "MAGNETIC", "HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY",
    "SPEC_NODES", "ALL_NODES", "ANY_NODES", "PART_NODES", "REPLACE", "REPLACE_DOWN", "STATIC", "PURGE_COMP",
    "NO_HOLD_JOBS_AFTER", "FIRST_CORES", "USER_DELETE",
})  # fmt: skip
NOT_MODELLED = frozenset({"TIME_FLOAT"})
REPEATING = frozenset({"HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY"})
# other spellings scontrol reads or prints
SYNONYMS = {
    "IGN_JOBS": "IGNORE_JOBS", "STATIC_ALLOC": "STATIC", "LICENSE_ONLY": "ANY_NODES",
    "NO_HOLD_JOBS": "NO_HOLD_JOBS_AFTER", "NO_HOLD_JOBS_AFTER_END": "NO_HOLD_JOBS_AFTER",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReservationSpec:
    """One request for a reservation. Times are absolute seconds."""

    name: str  # empty: the first account or user and a number
    start: int
    end: int  # when it ends; a repeating one's first period
    # names, or ``("ALL",)`` for every node (with the flag PART_NODES: those of `partition`)
    nodes: tuple[str, ...] = ()
    node_counts: tuple[int, ...] = ()  # how many nodes Slurm shall choose, in the partition
    core_counts: tuple[int, ...] = ()  # cores instead of whole nodes: one count for each of `nodes`, or one in all
    partition: str = ""
    features: str = ""
    licenses: tuple[tuple[str, int], ...] = ()  # (name, count) kept for it
    # users, accounts: the users and accounts that may use it; a name with a leading ``-`` may not
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()  # Canonical names, a subset of `FLAGS`
    purge_comp_s: int = 300  # with PURGE_COMP: seconds without a job after which it ends
    # qos, allowed_partitions: those of its jobs, sorted; names with a leading ``-``: any other ones (26.05)
    qos: tuple[str, ...] = ()
    allowed_partitions: tuple[str, ...] = ()


def canonical_flag(word: str) -> str:
    """Return the one spelling of a flag. Raises ValueError for a word that is none."""
    flag = SYNONYMS.get(word.strip().upper(), word.strip().upper())
    if flag not in FLAGS and flag not in NOT_MODELLED:
        raise ValueError(f"unknown reservation flag {word!r}")
    return flag
