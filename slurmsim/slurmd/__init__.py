"""Jobs that really run on this machine: environment, processes, and the supervisor that outlives the daemon."""
