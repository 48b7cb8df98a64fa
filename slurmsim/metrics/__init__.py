"""Measures of a schedule: pure functions over columns, each with its equation and source (``docs/metrics.md``)."""
