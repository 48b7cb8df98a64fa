"""What runs, or is as if it ran: jobs and steps, real ones as processes, simulated ones by what their script says."""
