"""Who starts now: the main scheduler's passes, what a submission may start at once, and the host of policies.

A policy sees the cluster through `policy_view` and `pool_view`; what it decides is checked and carried out by
`policy_host`. Mirrors job_scheduler.c; sched/backfill itself is a policy.
"""
