"""Workloads made from another workload: names taken out, times jittered, loads changed, sessions inferred."""
