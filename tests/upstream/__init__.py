"""SchedMD's own Python test suite, unmodified and where it lies, against `slurmsim up` (README.md)."""
