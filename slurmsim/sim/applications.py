"""Applications of a workload's jobs, from its columns ``app``, ``min_nodes``, ``max_nodes`` and ``malleable``."""

from math import ceil

import numpy as np

from slurmsim.energy.profile import Profile, read_profile
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.model.power import SCALE, PowerSpec
from slurmsim.model.submission import Submission
from slurmsim.workload import Workload


def has_applications(workload: Workload) -> bool:
    """Return True if a job of `workload` says what its application is."""
    return not workload.texts["app"].is_silent()


class Applications:
    """Gives submissions their profiles, equal ones shared, and limits that are meant for them.

    Raises
    ------
    WorkloadError
        A size without an application, a range that is none, an application that is none: job and field are named.
    """

    def __init__(self, workload: Workload, power: PowerSpec | None) -> None:
        self._workload, self._power = workload, power
        self._known: dict[tuple[int, int, int, int], Profile] = {}
        sized = np.zeros(len(workload), np.bool_)
        for name, silent in (("min_nodes", -1), ("max_nodes", -1), ("malleable", 0)):
            sized |= workload.ints[name] != silent
        column = workload.texts["app"]
        named = column.said()
        if (lost := np.flatnonzero(sized & ~named)).size:
            raise self._wrong(int(lost[0]), "app", "sizes, and no application", "one, as in docs/workloads.md")
        if power is None and named.any():
            raise self._wrong(int(np.flatnonzero(named)[0]), "app", "applications", "a run that knows power")
        self.told = bool(named.any())  # whether there is anything to give
        for row in np.flatnonzero(named).tolist() if self.told else ():
            self.of(row)

    @property
    def known(self) -> list[Profile]:
        """All profiles there are, each once."""
        return list(self._known.values())

    def of(self, row: int) -> Profile | None:
        """Return the profile of a row's job; None where it says nothing."""
        ints, column = self._workload.ints, self._workload.texts["app"]
        code = int(column.codes[row])
        if not column.values[code]:
            return None
        asked = int(ints["nodes"][row])
        least, most = int(ints["min_nodes"][row]), int(ints["max_nodes"][row])
        if asked < 1:
            raise self._wrong(row, "nodes", f"{asked} nodes of a job with an application", "how many it asks for")
        if int(ints["nodes_max"][row]) not in (-1, asked):
            raise self._wrong(row, "nodes_max", "a range beside min_nodes and max_nodes", "one number of nodes")
        if int(ints["tasks"][row]) != -1:
            raise self._wrong(row, "tasks", "tasks of a job with an application", "nodes alone: its size may change")
        least, most = asked if least < 0 else least, asked if most < 0 else most
        if not least <= asked <= most:
            raise self._wrong(row, "min_nodes", f"{asked} nodes, sizes from {least} to {most}", "one of its sizes")
        key = code, least, most, int(ints["malleable"][row])
        found = self._known.get(key)
        if found is None:
            try:
                found = self._known[key] = read_profile(column.values[code], least, most, bool(key[3]))
            except ConfigError as error:
                raise self._wrong(row, "app", error.message, error.expected or "") from None
        return found

    def add(self, row: int, sub: Submission) -> None:
        """Give `sub`, of that row, its profile; its limit is meant for its most nodes at full power."""
        profile = sub.profile = self.of(row)
        power = self._power
        if profile is None or power is None or power.limit != SCALE or sub.time_limit_s is None:
            return
        if int(self._workload.ints["time_limit"][row]) >= 0:
            slower = profile.slowdown(sub.request.min_nodes, power.default_cap(profile.lowest_mw))
            sub.time_limit_s = ceil(sub.time_limit_s * slower - 1e-6)

    def _wrong(self, row: int, field: str, message: str, expected: str) -> WorkloadError:
        job, source = int(self._workload.ints["job_id"][row]), self._workload.header.source
        return WorkloadError(f"job {job}: {message}", file=source or None, field=field, expected=expected)
