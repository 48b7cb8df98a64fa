"""What commands tell of themselves: the log of calls, and recorded sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurmsim.protocol import Refusal
from slurmsim.slurmctld.base.clock import Clock
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.history.history import History
from slurmsim.slurmctld.history.state_folder import StateFolder
from slurmsim.slurmctld.server.call_log import CallLog
from slurmsim.slurmctld.server.recorder import Recorder


class CommandBook:
    """Of one cluster.

    Parameters
    ----------
    last_id
        Tells the id that was given to a job last.
    """

    def __init__(self, folder: StateFolder, clock: Clock, history: History, last_id: Callable[[], int]) -> None:
        self._clock, self._history, self._last_id = clock, history, last_id
        self._log, self._recorder = CallLog(folder), Recorder(folder)

    def log_call(self, arguments: dict[str, Any], person: Person, *, other: bool = False) -> dict[str, Any]:
        """Note that a command has ended; `other`: of another user of the machine. Raises Refusal for bad words."""
        words = arguments.get("argv")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise Refusal("argv is a list of words")
        code, now, faults = int(arguments.get("rc") or 0), self._clock.now(), arguments.get("faults")
        seconds = float(arguments.get("seconds") or 0.0)
        self._log.add(
            {"user": person.name, "at": now, "argv": words, "rc": code, "seconds": seconds,
             **({"faults": faults} if faults else {})}
        )  # fmt: skip
        if arguments.get("kept"):
            self._recorder.add(
                {**arguments["kept"], "user": person.name, "argv": words, "rc": code, "ended": now,
                 "faults": faults or [], **({"other": True} if other else {})}
            )  # fmt: skip
        return {}

    def calls(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the log, or one command's part of it."""
        found, damaged = self._log.calls(arguments.get("command"))
        return {"calls": found, "damaged": damaged}

    def record(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Begin to record a session, end it, or say what has been recorded. Raises Refusal."""
        if arguments["action"] == "start":
            history = self._history
            self._recorder.start(arguments["path"], self._clock.now(), person.name, self._last_id(), history.header,
                                 history.configuration.texts)  # fmt: skip
        found = {"path": self._recorder.path, "commands": self._recorder.count, "jobs": self._last_id()}
        if arguments["action"] == "stop":
            self._recorder.stop()
        return found

    def record_begin(self) -> dict[str, Any]:
        """Note that a command to be recorded begins."""
        return self._recorder.begin(self._clock.now())

    def close(self) -> None:
        """Give the files back."""
        self._log.close()
        self._recorder.close()
