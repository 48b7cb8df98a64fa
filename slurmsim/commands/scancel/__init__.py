"""scancel: jobs and steps cancelled or signalled."""
