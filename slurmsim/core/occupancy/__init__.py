"""What happens to nodes, and to jobs on them: states and power of nodes, preemption, gang scheduling, suspension.

Each module is one subsystem that a cluster may lack; the life cycle tells it of starts and ends. Mirrors
node_mgr.c, power_save.c, preempt.c and gang.c.
"""
