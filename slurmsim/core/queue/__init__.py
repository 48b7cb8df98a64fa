"""Who waits and in which order: eligibility, priorities, the queue itself, and what jobs wait for beside nodes.

From outside: `job_queue.JobQueue` and its records, `eligibility.Eligibility`, `priority.make_priority`. Nodes are
no subject here; a job that leaves the queue to start is the life cycle's.
"""
