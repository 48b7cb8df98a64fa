"""Faults on request, as the daemon keeps them.

`registry` has the rules and counts what they strike. `job_outcomes` and `node_troubles` strike jobs and nodes.
`behind` shows accounting as it was a while ago.
"""
