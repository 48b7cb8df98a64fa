"""EURORA 2014: constraint programming on three batches of jobs (docs/systems/eurora.md)."""
