"""The SimPy network around the core: arrivals, running jobs, wake-ups, node events."""
