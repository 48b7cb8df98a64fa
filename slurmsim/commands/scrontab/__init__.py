"""scrontab: a user's table of recurring jobs."""
