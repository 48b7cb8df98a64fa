"""Submissions and allocations: a job, or the components of a heterogeneous one.

A submission's ``#SBATCH`` lines are not read, as in Slurm. An allocation is answered when it is granted: until then the
service does what others ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.rest import job_description
from slurmsim.rest.messages import BAD_QUERY, NOT_MODELLED, Found, Rejected

if TYPE_CHECKING:
    from slurmsim.rest.calls import Call

Job = dict[str, Any]
_NO_FOLDER = (2063, "Job cannot be submitted without the current working directory specified.")
_FAILED, _SUBMIT = "Batch job submission failed", "slurm_submit_batch_job()"
_ALLOCATION, _ALLOCATE = "Job allocation request failed", "slurm_allocate_resources_blocking()"


def fields(call: Call, body: Any, source: str) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise Rejected("Rejecting request. Failure parsing body", *BAD_QUERY, source, 400)
    return body


def description(call: Call, body: Any, source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a job's fields as a request, and warnings of unknown fields. Raises Rejected."""
    try:
        job, refused, unknown = job_description.read(fields(call, body, source))
    except job_description.Wrong as wrong:
        raise Rejected(f'Unable to parse field "{wrong}"', *BAD_QUERY, source, 400) from None
    if refused:
        raise Rejected(f"{', '.join(sorted(refused))}: not modelled by slurmsim", *NOT_MODELLED, source)
    warnings = [
        {"description": f'Ignoring unknown field "{name}" of type {kind} in DATA_PARSER_JOB_DESC_MSG',
         "source": f"#/job/{name}/"}
        for name, kind in unknown
    ]  # fmt: skip
    return job, warnings


def refused(call: Call, refusal: Refusal, description: str, source: str, **entries: Any) -> Rejected:
    return Rejected(description, *call.error_of(refusal), source, entries=entries)


def _request(call: Call, described: Any, script: str | None, failed: tuple[str, str]) -> tuple[Job, list[Any]]:
    """Return the request of one job or component, and warnings. Raises Rejected."""
    job, warnings = description(call, {} if described is None else described, "_job_post")
    if not job.get("work_dir"):
        raise Rejected(failed[0], *_NO_FOLDER, failed[1])
    job.setdefault("environment", {})
    job |= {"alloc_node": "localhost", "submit_line": job.get("submit_line", "")}
    if script is not None:
        job["script"] = script
    job.setdefault("name", "")
    job.setdefault("argv", [])
    if job.get("num_tasks"):
        job.setdefault("min_cpus", job["num_tasks"] * (job.get("cpus_per_task") or 1))
    return job, warnings


def submit(call: Call) -> Found:
    """POST job/submit: a batch job, or in `jobs` the components of a heterogeneous one."""
    body = fields(call, call.body, "_job_post")
    components = body.get("jobs")
    described = components if isinstance(components, list) and components else [body.get("job")]
    script = body.get("script") or (described[0].get("script") if isinstance(described[0], dict) else None)
    if not script or not isinstance(script, str):
        raise Rejected('Populated "script" field is required for job submission', *BAD_QUERY, "_job_post", 422)
    jobs, warnings = [], []
    for one in described:
        job, more = _request(call, one, script, (_FAILED, _SUBMIT))
        jobs.append(job)
        warnings += more
    asked: Job = {"job": jobs[0], "will_run": False}
    if components:
        asked["components"] = jobs[1:]
    try:
        answer = call.client.call("submit", **asked)
    except Refusal as refusal:
        raise refused(call, refusal, _FAILED, _SUBMIT) from None
    entries = {
        "job_id": answer["job_id"], "step_id": "batch", "job_submit_user_msg": answer.get("job_submit_user_msg") or ""
    }  # fmt: skip
    if call.version < 42:
        entries["result"] = {**entries, "error_code": 0, "error": "No error"}
    return Found(entries, warnings=warnings)


def allocate(call: Call) -> Found:
    """POST job/allocate: nodes without a script, kept until the job is cancelled or its time is over."""
    source = "op_handler_alloc_job"
    body = fields(call, {} if call.body is None else call.body, source)
    described, components = body.get("job"), body.get("hetjob")
    if described is not None and components is not None:
        raise Rejected('Specify only one "job" or "hetjob" fields but never both', *BAD_QUERY, source, 422)
    if components is not None:
        raise Rejected("hetjob: heterogeneous allocations are not modelled by slurmsim over REST", *NOT_MODELLED,
                       source, 501)  # fmt: skip
    if described is None:
        word = "Specifying" if since(call.release, "refusals_are_unprocessable") else "Specifing"
        text = f'{word} either "job" or "hetjob" fields are required to allocate job'
        raise Rejected(text, *BAD_QUERY, source, 422)
    if not isinstance(described, dict):
        raise Rejected("Rejecting list when dictionary expected", 9209,
                       "Data parser expected a dictionary or object", "#/job/", 500)  # fmt: skip
    immediate = described.get("immediate") is True
    asked = {key: value for key, value in described.items() if key != "immediate"}
    job, warnings = _request(call, asked, None, (_ALLOCATION, _ALLOCATE))
    if job.get("array_inx"):
        raise Rejected(_ALLOCATION, 2081, "Invalid job array specification", _ALLOCATE)
    job |= {"allocate": True, "immediate": int(immediate)}
    try:
        answer = call.client.call("submit", job=job, will_run=False)
        if "refused" in answer:
            raise Refusal(str(answer["refused"]))
        if not answer.get("granted"):
            _wait(call, int(answer["job_id"]))
    except Refusal as refusal:
        raise refused(call, refusal, _ALLOCATION, _ALLOCATE) from None
    entries = {"job_id": answer["job_id"], "job_submit_user_msg": answer.get("job_submit_user_msg") or ""}
    return Found(entries, warnings=warnings)


def _wait(call: Call, job_id: int) -> None:
    """Until it is granted, or over. Raises Refusal."""
    patient = call.client.patient()
    try:
        with call.meanwhile():
            answer = patient.call("wait_allocation", job_id=job_id, hold=True, until=None)
    finally:
        patient.close()
    if answer.get("over"):
        raise Refusal("Job/step already completing or completed", 2021)
