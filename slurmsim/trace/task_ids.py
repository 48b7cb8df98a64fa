"""The id of a job as commands show it."""


def task_id(job_id: int, array: int, task: int) -> str:
    """Return ``2218_25`` for task 25 of array 2218, else the job's id; `array` is negative for no array."""
    return str(job_id) if array < 0 else f"{array}_{task}"
