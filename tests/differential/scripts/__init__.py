"""Public batch scripts, submitted to real Slurm and to slurmsim on the same made-up site: ``python -m scripts``."""
