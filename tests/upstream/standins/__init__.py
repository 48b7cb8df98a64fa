"""Programs that the suite starts and that are not slurmsim's own: each a few lines, and none knows a test."""
