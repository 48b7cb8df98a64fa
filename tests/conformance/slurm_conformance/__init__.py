"""Scenarios of Slurm's commands, and what real Slurm answered: a neutral definition of "behaves like Slurm".

`scenario` reads what is asked, `answers` what real Slurm said by release, `target` starts what is judged, `runner` asks
it, `judging` compares, `report` tells. Only the standard library is used.
"""
