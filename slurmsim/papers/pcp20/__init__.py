"""PCP'20: dispatchers by constraint programming (docs/systems/pcp20.md)."""
