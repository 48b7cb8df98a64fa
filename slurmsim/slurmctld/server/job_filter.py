"""The site's job_submit.lua before each submission and each update of a job.

What the script makes of a request is what is carried out and written down, so a restart asks no script again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.errors import SubmitError
from slurmsim.lua import FILE, names_lua
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.people import Person
from slurmsim.slurmctld.engine.engine import Engine
from slurmsim.slurmctld.requests.jobs.ids import records_of
from slurmsim.slurmctld.requests.jobs.rights import is_stranger
from slurmsim.slurmctld.requests.submit.refusals import check_nice
from slurmsim.states import COMPACT

if TYPE_CHECKING:
    from slurmsim.lua.job_submit import Caller, JobSubmit, Verdict

_STATES = tuple(COMPACT)  # by Slurm's number
_JOB = (
    "account", "admin_comment", "array_job_id", "array_task_id", "batch_host", "comment", "end_time", "extra",
    "features", "group_id", "job_id", "licenses", "max_cpus", "max_nodes", "name", "nice", "nodes", "num_cpus",
    "num_tasks", "partition", "priority", "qos", "req_nodes", "restart_cnt", "start_time", "submit_time", "time_limit",
    "time_min", "tres_per_node", "user_id", "wckey", "work_dir",
)  # fmt: skip
_RESERVATION = ("name", "accounts", "users", "partition", "start_time", "end_time", "node_cnt", "core_cnt")


class JobFilter:
    """The script of a cluster, if its configuration has one; loaded anew when its text changes."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._script: JobSubmit | None = None
        self._engine: Engine | None = None  # the present one, which tells scripts the time

    def of(self, engine: Engine, texts: Mapping[str, str]) -> JobSubmit | None:
        """Return the script; None where JobSubmitPlugins names none. Raises ConfigError."""
        text = texts.get(FILE) if names_lua(engine.spec.options.get("JobSubmitPlugins")) else None
        self._engine = engine
        if text != self._text:
            script = None if text is None else self._loaded(text, engine)
            self._text, self._script = text, script
        return self._script

    def _loaded(self, text: str, engine: Engine) -> JobSubmit:
        from slurmsim.lua.job_submit import JobSubmit  # only who has a script waits for Lua

        return JobSubmit(text, engine.release, engine.spec.name, self._now)

    def _now(self) -> int:
        return 0 if self._engine is None else self._engine.now

    def filtered(
        self, engine: Engine, texts: Mapping[str, str], call: str, arguments: dict[str, Any], person: Person
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the request as the script left it, and what the user is told.

        Raises
        ------
        Refusal
            The script refuses it; its text has what the user is told in lines before Slurm's words.
        """
        script = self.of(engine, texts) if call in ("submit", "update_job") else None
        if call == "submit":
            for job in (arguments["job"], *(arguments.get("components") or ())):
                job.pop("by_site", None)  # which no client may claim
        if script is None:
            return arguments, []
        if call == "update_job":
            return self._update(script, engine, arguments, person)
        jobs = [arguments["job"], *(arguments.get("components") or ())]
        said: list[str] = []
        for number, job in enumerate(jobs):
            verdict = script.submit(_allowed(engine, job, person), *_who(engine, job, person))
            verdict.request["by_site"] = True
            self._log(engine, verdict)
            said += [f"{number}: {line}" for line in verdict.said] if len(jobs) > 1 else verdict.said
            _refuse(verdict, said)
            jobs[number] = verdict.request
        more = {"components": jobs[1:]} if "components" in arguments else {}
        return {**arguments, "job": jobs[0], **more}, said

    def _update(
        self, script: JobSubmit, engine: Engine, arguments: dict[str, Any], person: Person
    ) -> tuple[dict[str, Any], list[str]]:
        job = _job_of(engine, str(arguments["job_id"]), person)
        if job is None:  # what is wrong is told when the update is carried out
            return arguments, []
        caller, site = _who(engine, {}, person)
        verdict = script.modify(arguments["job"], job, caller, site)
        self._log(engine, verdict)
        said = verdict.said if since(engine.release, "lua_speaks_of_updates") else []
        _refuse(verdict, said)
        return {**arguments, "job": verdict.request}, said

    def _log(self, engine: Engine, verdict: Verdict) -> None:
        for level, text in verdict.logged:
            if level in ("error", "info"):
                print(f"job_submit/lua: {level}: {text!a}", flush=True)


def _allowed(engine: Engine, job: Mapping[str, Any], person: Person) -> Mapping[str, Any]:
    """Return a request without a priority that its user may not set. Raises Refusal for such a nice value.

    Rights are looked at before the script; what the script sets needs none.
    """
    operator = engine.database.is_operator(person)
    try:
        check_nice(job, operator=operator)
    except SubmitError as error:
        raise Refusal(error.text) from None
    return job if operator or not job.get("priority") else {**job, "priority": None}


def _refuse(verdict: Verdict, said: list[str]) -> None:
    if verdict.refused is not None:
        number, text = verdict.refused
        raise Refusal("\n".join([*said, text]), number)


def _who(engine: Engine, job: Mapping[str, Any], person: Person) -> tuple[Caller, _Site]:
    """Return who submits, and what he may see."""
    from slurmsim.lua.job_submit import Caller

    if job.get("user_name") and person.uid in (engine.owner, 0):
        person = engine.people.by_name(str(job["user_name"]))
    return Caller(person.uid, person.gid, person.name), _Site(engine, person)


def _job_of(engine: Engine, text: str, person: Person) -> Mapping[str, Any] | None:
    """Return the job an update is of, as scripts see it; None where there is none that `person` may update."""
    try:
        found = [live for record in records_of(engine, text, split=False).records for live in record.jobs]
    except Refusal:
        return None
    if not found or is_stranger(engine, person, found[0]):
        return None
    return next(_jobs(engine, str(found[0].core.id)), None)


def _jobs(engine: Engine, job_id: str | None = None) -> Iterator[Mapping[str, Any]]:
    asked: dict[str, Any] = {"fields": [*_JOB, "job_state"], "show_all": True}
    if job_id is not None:
        asked["job_id"] = job_id
    root = engine.people.by_uid(0)
    for row in _rows(engine.calls["jobs"](asked, root)):
        state = str(row["job_state"])
        yield {**row, "job_state": _STATES.index(state) if state in _STATES else 0, "min_nodes": row["max_nodes"] or 1}


def _rows(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = answer["columns"]
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


class _Site:
    """The cluster as its script sees it, for one person."""

    def __init__(self, engine: Engine, person: Person) -> None:
        self._engine, self._person = engine, person

    def partitions(self) -> Iterator[Mapping[str, Any]]:
        """Return the partitions that the person may use."""
        from slurmsim.lua.partitions import FIELDS, for_scripts

        asked = {"fields": list(FIELDS), "show_all": True}
        access, name = self._engine.controller.access, self._person.name
        shut = {p.name for p in self._engine.controller.state.partitions if access.denial(name, p, reserved=True)}
        for row in _rows(self._engine.calls["partitions"](asked, self._engine.people.by_uid(0))):
            if row["name"] not in shut:
                yield for_scripts(row)

    def jobs(self) -> Iterator[Mapping[str, Any]]:
        """Return all jobs."""
        return _jobs(self._engine)

    def reservations(self) -> Iterator[Mapping[str, Any]]:
        """Return all reservations."""
        asked = {"fields": list(_RESERVATION)}
        return _rows(self._engine.calls["reservations"](asked, self._engine.people.by_uid(0)))

    def of_user(self, what: str, request: Mapping[str, Any]) -> str | None:
        """Return the default account, and what the association of the submission has."""
        account = str(self._engine.database.draft.defaults.get(self._person.name, ("",))[0])
        if what == "default_account":
            return account or None
        tree = self._engine.controller.state.tree
        branch = None if tree is None else tree.find(self._person.name, str(request.get("account") or account), "")
        if branch is None:
            return None
        return {"default_qos": branch.spec.default_qos, "assoc_qos": ",".join(branch.spec.qos or ())}.get(what) or None
