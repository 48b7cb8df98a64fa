"""sbatch, srun and salloc: options, scripts, environments, requests, steps and their tasks.

The table of options is `options.job_options`; what is chosen becomes a request in `job_request`.
"""
