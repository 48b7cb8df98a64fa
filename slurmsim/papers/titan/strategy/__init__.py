"""Which way of submitting jobs uses up an allocation: categories of a log, a ranking, a check (docs/strategy.md)."""
