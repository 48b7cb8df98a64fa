"""Heterogeneous jobs on the command line and in the environment."""
