"""PARM: which jobs run on how many nodes at which power cap, under a strict budget (docs/systems/parm.md)."""
