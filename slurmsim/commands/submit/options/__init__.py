"""Options of sbatch, srun and salloc: the table, what was chosen, what may not be chosen together."""
