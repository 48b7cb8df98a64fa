"""The fake commands: thin programs that ask the daemon and print what Slurm prints."""
