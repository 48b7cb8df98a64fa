"""Why nodes are down or drained, as scontrol said or as slurmctld says when they reboot."""

from collections.abc import Sequence

from slurmsim.core.controller.controller import Controller

_REBOOTS = "reboot issued"


class NodeReasons:
    """Reasons of nodes, each with its instant and the uid that gave it.

    A node without a text has an entry if its uid is told all the same: 0, since records of nodes were made anew.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.reasons: dict[int, tuple[str | None, int, int]] = {}

    def of(self, i: int) -> tuple[str | None, int, int]:
        """Why node `i` is down or drained, since when, and who said so."""
        found = self.reasons.get(i, (None, 0, 0))
        states = self._controller.node_states
        if (found[0] or "").endswith(_REBOOTS) and not (
            states.booting | states.drained | states.failing | self._controller.state.table.down
        ) >> i & 1:
            del self.reasons[i]  # it is back
            return None, 0, 0
        return found

    def note(self, i: int, text: str | None, now: int, uid: int) -> None:
        """Note why node `i` is down or drained; None: it is not any more."""
        if text is None:
            self.reasons.pop(i, None)
        else:
            self.reasons[i] = (text, now, uid)

    def forget_users(self) -> None:
        """Let nodes without a reason have uid 0, as their new records do; launches of jobs take it away again."""
        for i in range(self._controller.state.table.n):
            self.reasons.setdefault(i, (None, 0, 0))

    def launched(self, nodes: int) -> None:
        """Note that a job starts on these nodes: those without a reason have no uid any more."""
        for i in [i for i, (text, *_) in self.reasons.items() if text is None and nodes >> i & 1]:
            del self.reasons[i]

    def user(self, i: int) -> int | None:
        """Return the uid that gave node `i` its reason; None where there is none."""
        _, _, uid = self.of(i)
        return uid if i in self.reasons else None

    def note_reboots(self, names: Sequence[str], now: int, uid: int) -> None:
        """Note that these nodes are rebooted now, or come back from being powered down."""
        for name in names:
            i = self._controller.state.table.index[name]
            text = self.reasons.get(i, ("", 0, 0))[0] or ""
            if self._controller.node_states.booting >> i & 1:
                self.note(i, f"{text} : {_REBOOTS}" if text and _REBOOTS not in text else _REBOOTS, now, uid)
