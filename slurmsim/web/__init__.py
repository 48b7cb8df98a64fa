"""A page to watch a live cluster: queue, nodes, plans, shares, and why a job waits, as it happens.

A process of its own, which asks the daemon as any client of its user does. Needs the extra ``web``.
"""
