"""Clusters one can talk to: their folders, daemons and programs, and the Python interface to all of it."""
