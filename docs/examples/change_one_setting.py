# %% [markdown]
# # One setting, and how sure the answer is
# A single pair of replays says little. Here both replays are repeated with submit times moved by up to a minute,
# the same in both. What stays the same in all pairs is the effect.

# %%
import numpy as np

import slurmsim
from slurmsim_workloads.samples import sample_path


def mean_wait(interval, seed):
    parameters = f"bf_continue,bf_interval={interval},bf_window=2880,bf_max_job_test=1000"
    trace = slurmsim.run(
        sample_path("sample.parquet"),
        conf=sample_path("sample.conf"),
        jobs=300,
        set={"SchedulerParameters": parameters},
        jitter=60,
        seed=seed,
        report=False,
    )
    return trace.summary["mean_wait_s"] / 60


# %%
differences = np.array([mean_wait(600, seed) - mean_wait(60, seed) for seed in range(5)])
print("minutes longer, pair by pair:", differences.round(1))
print(f"mean {differences.mean():.1f}, standard error {differences.std(ddof=1) / np.sqrt(5):.1f}")
assert differences.mean() > 0
