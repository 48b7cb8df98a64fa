"""Steps of srun: what is asked for, launched and waited for."""
