"""What the difference between two configurations means: what changed (`changes`), and its words (`words`)."""
