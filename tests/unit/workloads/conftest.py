"""Puts `workload_helpers` on the path of the tests in the folders below."""
