"""The rules of one cluster, and which of them a call of a command meets.

Injections, their ends and the calls of commands that were counted are requests in the journal, so the same rules strike
the same calls after a restart, and in every run of the same session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slurmsim.errors import ConfigError
from slurmsim.faults.kinds import COMMAND, JOB, KINDS, drawn
from slurmsim.faults.rule import FaultRule, make_rule
from slurmsim.protocol import DENIED, Refusal
from slurmsim.slurmctld.faults.job_outcomes import JobOutcomes
from slurmsim.slurmctld.faults.node_troubles import NodeTroubles
from slurmsim.states import JobState

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.live_job import LiveJob
    from slurmsim.slurmctld.base.people import Person

MOST = 1000  # rules at a time
_JUMP = "clock-jump"
_ALIVE = (JobState.RUNNING, JobState.SUSPENDED)
_AT_LAUNCH = (JobState.BOOT_FAIL, "LAUNCH_FAILED")  # what can only become of a job that has not begun


class Faults:
    """All rules of one cluster."""

    CHANGES = frozenset({"inject", "end_fault", "meet_faults"})

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self.rules: dict[int, FaultRule] = {}  # those there are, by id
        self.last_id = 0  # the number of the latest one
        self.nodes: NodeTroubles = NodeTroubles(cluster, self.rules)  # what the rules of nodes do
        self.outcomes: JobOutcomes = JobOutcomes(cluster, self.nodes)

    def calls(self) -> dict[str, Callable[[dict[str, Any], Person], dict[str, Any]]]:
        """Return the requests by name."""
        return {"inject": self.inject, "end_fault": self.end, "faults": self.listed, "meet_faults": self.meet}

    # -- rules --------------------------------------------------------------------------------------------------------

    def _owner_only(self, person: Person) -> None:
        if person.uid not in (self._cluster.owner, 0):
            raise Refusal(DENIED, 2002)

    def inject(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Add a rule; it. Raises Refusal in our own words."""
        self._owner_only(person)
        if len(self.rules) >= MOST:
            raise Refusal(f"there are {MOST} faults already")
        try:
            rule = make_rule(self.last_id + 1, arguments["what"], arguments.get("given") or {}, self._cluster.now)
            self.nodes.check(rule)
        except ConfigError as error:
            raise Refusal(str(error)) from None
        self.last_id = rule.id
        self.rules[rule.id] = rule
        self.nodes.begin(rule)
        self._befall_present(rule)
        return {"fault": rule.shown()}

    def end(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Remove a rule, or all of them, and put right what it did to nodes; those removed. Raises Refusal."""
        self._owner_only(person)
        wanted = arguments.get("id")
        if wanted is not None and wanted not in self.rules:
            raise Refusal(f"no such fault: {wanted}")
        gone = [self.rules.pop(one) for one in ([wanted] if wanted is not None else list(self.rules))]
        for rule in gone:
            self.nodes.end(rule)
        return {"faults": [rule.shown() for rule in gone]}

    def listed(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """All rules, also those that are spent or over, with how many they met."""
        self._owner_only(person)
        return {"faults": [rule.shown() for rule in self.rules.values()], "now": self._cluster.now}

    @property
    def for_commands(self) -> bool:
        """True if commands have to ask what they meet."""
        return any(KINDS[rule.what].of == COMMAND for rule in self.rules.values())

    # -- commands -----------------------------------------------------------------------------------------------------

    def meet(self, arguments: dict[str, Any], person: Person) -> dict[str, Any]:
        """Return what a call of a command meets: effects for it to carry out, and whether to ask again about its job.

        Without ``job`` (a name) or ``job_id`` the call has only begun: rules for jobs of some names wait until it
        names one.
        """
        command, now = arguments["command"], self._cluster.now
        names = self._names(arguments)
        effects: list[dict[str, Any]] = []
        asks_again = False
        for rule in self.rules.values():
            kind = KINDS[rule.what]
            if kind.of != COMMAND or (kind.commands and command not in kind.commands) or not rule.lasts(now):
                continue
            if not names:
                asks_again |= rule.job != "*" and rule.is_by(command, person.name)
                concerned = rule.concerns(command, person.name, None)
            else:
                concerned = rule.job != "*" and any(rule.concerns(command, person.name, name) for name in names)
            if concerned and rule.strikes():
                effects.append(self._effect(rule))
        return {"effects": effects, "jobs_too": asks_again}

    def _names(self, arguments: dict[str, Any]) -> list[str]:
        """Names of the jobs a call is about."""
        if arguments.get("job") is not None:
            return [arguments["job"]]
        if arguments.get("job_id") is not None:
            found = self._cluster.job_table.find(str(arguments["job_id"]))
            return [str(live.asked.get("name") or "") for live in found]
        return []

    def _effect(self, rule: FaultRule) -> dict[str, Any]:
        found = {"id": rule.id, "what": rule.what, **rule.parameters}
        if isinstance(found.get("seconds"), list):
            found["seconds"] = drawn(found["seconds"], rule.chance("seconds"))
        if rule.what == _JUMP:
            found["at"] = rule.since
        return found

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def submitted(self, live: LiveJob) -> None:
        """Note that a job was submitted."""
        self._befall(live, at_submission=True)

    def launched(self, live: LiveJob) -> None:
        """Note that a run of a job begins."""
        self._befall(live, at_submission=False)

    def _befall_present(self, rule: FaultRule) -> None:
        """Jobs that run meet a new rule as if they began now; those that wait do where it counts from submission."""
        if KINDS[rule.what].of != JOB or rule.what in _AT_LAUNCH:
            return
        for live in self._cluster.jobs.values():
            there = rule.what == JobState.DEADLINE or live.core.state in _ALIVE
            if not live.over and there and rule.lasts(self._cluster.now) and matches_job(rule, live) and rule.strikes():
                self.outcomes.plan(live, rule.what, rule.parameters)

    def _befall(self, live: LiveJob, *, at_submission: bool) -> None:
        """Let the first rule that strikes say what becomes of the job, or of its run."""
        for rule in self.rules.values():
            if KINDS[rule.what].of != JOB or (rule.what == "DEADLINE") != at_submission:
                continue
            if not (rule.lasts(self._cluster.now) and matches_job(rule, live)):
                continue
            if rule.strikes():
                self.outcomes.plan(live, rule.what, rule.parameters)
                return


def matches_job(rule: FaultRule, live: LiveJob) -> bool:
    return rule.concerns("", live.person.name, str(live.asked.get("name") or ""))
