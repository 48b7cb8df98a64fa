"""A command call that meets faults: the daemon says which, here they are carried out.

What a real command finds in slurm.conf or the password file is never at fault: those questions are answered.
"""

from __future__ import annotations

import time

from slurmsim.protocol import Client, Refusal, TimedOut, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Effect = dict[str, Any]

_LOCAL = frozenset(
    {"hello", "config", "users", "groups", "user_names", "accounting_enabled", "log_call", "meet_faults"}
)
_LOOKS = frozenset({
    "account_check", "account_list", "accounting_jobs", "allocation", "assoc_mgr", "batch_script", "job_ready", "jobs",
    "licenses", "nodes", "partitions", "ping", "priority_factors", "qos_ids", "reservations", "shares", "show_config",
    "statistics", "step_layout", "steps", "topology", "usage",
})  # fmt: skip
"""Calls that change nothing: an answer to one of them that is lost is as good as one that was never asked for."""
_LATE = ("jobs", "accounting_jobs")
_NO_ROOM = (2019, "I/O error writing script/environment to file")
_AGAIN = (11, "Resource temporarily unavailable")
_TIMES = frozenset({
    "accrue_time", "deadline", "eligible", "eligible_time", "end", "end_time", "last_sched_eval", "preempt_time",
    "resize_time", "start", "start_time", "submit", "submit_time", "suspend_time",
})  # fmt: skip
_OF_OUTPUT = ("cut", "malformed", "warning")


class FaultyClient(Client):
    """A connection on which some calls fail, or are answered otherwise.

    Parameters
    ----------
    told
        Names of the faults it met go here.
    """

    def __init__(self, client: Client, command: str, told: list[str]) -> None:
        super().__init__(client.folder, client.user, client.timeout_s, client.patience_s, asks=client.asks)
        self._command, self._told = command, told
        self.effects: dict[str, Effect] = {}
        self.jobs_too = False  # there are rules for jobs of some names
        self._named: list[dict[str, Any]] = []  # jobs that have been asked about

    def meet(self, **about: Any) -> None:
        """Ask the daemon which faults this call meets, as it begins or names a job; errors show in the call itself."""
        try:
            answer = super().call("meet_faults", command=self._command, **about)
        except (Refusal, Unreachable):
            return
        self.jobs_too |= bool(answer["jobs_too"])
        for effect in answer["effects"]:
            self.effects.setdefault(effect["what"], effect)
            self._told.append(f"{effect['what']} #{effect['id']}")
            if effect["what"] == "slow":
                time.sleep(effect["seconds"])

    @property
    def hurts_output(self) -> bool:
        """True if a fault may change the output, so that it is kept back."""
        return self.jobs_too or any(what in self.effects for what in _OF_OUTPUT)

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """As every client's, but for what is at fault."""
        if name in _LOCAL:
            return super().call(name, **arguments)
        about = _job_of(arguments) if self.jobs_too else {}
        if about and about not in self._named:
            self._named.append(about)
            self.meet(**about)
        self._fail_before(name)
        late = self.effects.get("late")
        if late is not None and name in _LATE:
            arguments["late"] = late["seconds"]
        answer = super().call(name, **arguments)
        if "timeout" in self.effects and name not in _LOOKS:
            self._time_out()
        jump = self.effects.get("clock-jump")
        return _shifted(answer, jump["at"], jump["seconds"]) if jump is not None else answer

    def post(self, name: str, **arguments: Any) -> int:
        """As every client's; calls that are waited for elsewhere fail before they are sent."""
        if name not in _LOCAL and ("unreachable" in self.effects or "away" in self.effects):
            self._fail_before(name)
        return super().post(name, **arguments)

    def patient(self) -> Client:
        """Another connection; what is waited for there is told as it is."""
        return Client(self.folder, self.user, None, self.patience_s, asks=self.asks)

    def _fail_before(self, name: str) -> None:
        """Raise what a call ends with that is never carried out."""
        for what in ("unreachable", "away"):
            if what in self.effects:
                time.sleep(self.effects[what].pop("seconds", 0))  # the command has tried as long as it will
                raise Unreachable("a fault", "connect")
        timeout = self.effects.get("timeout")
        if timeout is not None and (name in _LOOKS or timeout["lost"] == "request"):
            self._time_out()
        if name == "submit":
            if "disk-full" in self.effects:
                raise Refusal(_NO_ROOM[1], _NO_ROOM[0])
            busy = self.effects.get("busy")
            if busy is not None and busy["tries"]:
                busy["tries"] -= 1
                raise Refusal(_AGAIN[1], _AGAIN[0])

    def _time_out(self) -> None:
        time.sleep(self.effects["timeout"].pop("seconds", 0))
        raise TimedOut


class Kept:
    """Standard output that is held back until faults have been applied."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._parts: list[str] = []

    def write(self, text: str) -> int:
        """Keep `text`."""
        self._parts.append(text)
        return len(text)

    def take(self) -> str:
        """All that was kept."""
        found = "".join(self._parts)
        self._parts.clear()
        return found

    def flush(self) -> None:
        """Do nothing: the output is kept until `take`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def hurt(text: str, effects: dict[str, Effect]) -> tuple[str, str]:
    """Return what becomes of an output, and what stands on standard error."""
    if "malformed" in effects:
        half = len(text) // 2
        middle = text.rfind("\n", 0, half) + 1 or text.find("\n", half, -1) + 1 or half
        text = f"{text[:middle]}{effects['malformed']['text']}\n{text[middle:]}"
    if "cut" in effects:
        text = text[: int(len(text) * effects["cut"]["keep"])]
    warning = effects.get("warning")
    if warning is None:
        return text, ""
    line = f"{warning['text']}\n"
    return (text, line) if warning["stream"] == "stderr" else (line + text, "")


def _job_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the name or id of the job a call is about; empty where it is about none."""
    job = arguments.get("job")
    if "job_id" in arguments:
        return {"job_id": arguments["job_id"]}
    return {"job": str(job.get("name") or "")} if isinstance(job, dict) else {}


def _shifted(value: Any, at: int, seconds: int) -> Any:
    """Return an answer with its instants since `at` moved later by so many seconds."""
    if isinstance(value, list):
        return [_shifted(one, at, seconds) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _moved(one, at, seconds) if name in _TIMES or name == "now" else _shifted(one, at, seconds)
            for name, one in value.items()}  # fmt: skip


def _moved(value: Any, at: int, seconds: int) -> Any:
    if isinstance(value, list):
        return [_moved(one, at, seconds) for one in value]
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return value + seconds if known and value >= at else value
