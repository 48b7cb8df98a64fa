"""The daemon as a process: its loop, connections, clock and logs. `start` is the composition root."""
