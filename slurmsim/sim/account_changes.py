"""Associations and QOS that change during a run: sacctmgr commands at given times, worked out before it begins."""

from collections.abc import Callable, Sequence
from copy import deepcopy

from slurmsim.config.accounting.build import build
from slurmsim.config.accounting.commands import do_command
from slurmsim.config.accounting.draft import Draft
from slurmsim.config.accounting.load import check_partitions
from slurmsim.config.findings import Place
from slurmsim.core.records.messages import ReplaceAccounting
from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting
from slurmsim.model.cluster import ClusterSpec
from slurmsim.sim.simulation import Timed


@dataclass(frozen=True, slots=True)
class AccountCommand:
    """A sacctmgr command, when it is given, and where it was read."""

    time: int
    command: str
    file: str
    line: int


def account_changes(
    commands: Sequence[AccountCommand], draft: Draft | None, cluster: ClusterSpec,
    fitted: Callable[[Accounting], Accounting],
) -> list[Timed]:  # fmt: skip
    """Return what the controller is told of them, in order of time; commands of one time in the order of the file.

    Parameters
    ----------
    draft
        The accounting data as they are at the beginning, unchanged afterwards; None when there are none.
    fitted
        Makes accounting data go with the log, as those of the beginning do.

    Raises
    ------
    ConfigError
        There are no accounting data, or a command is wrong, or leaves data that contradict themselves or lack the QOS
        of a partition; with file and line.
    """
    if not commands:
        return []
    if draft is None:
        first = commands[0]
        raise ConfigError("there are no accounting data to change", file=first.file, line=first.line, field="action",
                          expected="--accounting FILE with sacctmgr commands")  # fmt: skip
    draft = deepcopy(draft)
    found: list[Timed] = []
    for given in sorted(commands, key=lambda given: given.time):
        do_command(given.command, Place(given.file, given.line), draft)
        try:
            accounting = build(deepcopy(draft), given.file)
            check_partitions(accounting, cluster)
        except ConfigError as error:
            if error.line is not None:
                raise
            raise ConfigError(error.message, file=given.file, line=given.line, field=error.field,
                              expected=error.expected) from None  # fmt: skip
        found.append(Timed(given.time, ReplaceAccounting(fitted(accounting))))
    return found
