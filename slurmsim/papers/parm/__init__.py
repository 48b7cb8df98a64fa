"""PARM: moldable and malleable jobs under a power budget (docs/systems/parm.md)."""
