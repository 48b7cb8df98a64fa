"""What the daemon is about: people, requests, jobs and the cluster as all its other rooms see it."""
