# %% [markdown]
# # Replay a log and look at its waits
# The bundled log is a day and a half of a made-up site. Put the path of your own dump, and of your `slurm.conf`, in
# its place.

# %%
import slurmsim
from slurmsim_workloads.samples import sample_path

trace = slurmsim.run(sample_path("sample.parquet"), conf=sample_path("sample.conf"), jobs=400, report=False)
jobs = trace.jobs_frame()
print(f"{len(jobs)} jobs, utilization {trace.summary['utilization']:.0%}")

# %% [markdown]
# Who waits? `wait_s` are seconds; array tasks count as jobs.

# %%
hours = jobs.assign(hours=jobs["wait_s"] / 3600).groupby("partition")["hours"]
print(hours.describe()[["count", "mean", "50%", "max"]].round(1).to_string())

# %% [markdown]
# Does the hour of the submission matter?

# %%
by_hour = jobs.set_index("submit")["wait_s"].resample("6h").mean() / 3600
print(by_hour.round(1).to_string())
assert jobs["wait_s"].dropna().ge(0).all()
