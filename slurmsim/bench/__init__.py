"""Experiments: published systems beside our runs of them, one module a system (``slurmsim bench NAME``)."""
