"""Faults on request: the rules somebody injects into a live cluster, as plain data.

`kinds` is the table of what can go wrong, `rule` one injected rule with whom it strikes and how often, `draws` its
seeded chance. The daemon decides by them (`slurmsim.slurmctld.faults`), commands carry out what it decided
(`slurmsim.commands.faulty`).
"""
