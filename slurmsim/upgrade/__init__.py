"""What another release of Slurm changes: for a configuration, for those who type commands, for one script.

`configuration` reads a slurm.conf under both releases, `behaviour` collects the rows of all tables of releases that
differ between them, `scripts` submits a script to both, and `text` says it, the worst first.
"""
