"""Faults on request: the rules that a user injects into a live cluster, as plain data.

`kinds` is the table of what can go wrong. `rule` is one injected rule: what it strikes, and how often. `draws` is its
seeded chance. The daemon decides by the rules (`slurmsim.slurmctld.faults`), and commands carry out its decisions
(`slurmsim.commands.faulty`).
"""
