# %% [markdown]
# # The same log under five policies
# Each policy gets the same cluster and the same jobs. Only the order of starts differs.

# %%
import pandas as pd

import slurmsim
from slurmsim_workloads.samples import sample_path

found = {}
for policy in ("fcfs", "easy", "conservative", "spf", "backfill"):
    trace = slurmsim.run(
        sample_path("sample.parquet"), conf=sample_path("sample.conf"), jobs=300, policy=policy, report=False
    )
    found[policy] = trace.summary

# %% [markdown]
# Waits in hours. A policy with a short mean may let some jobs wait very long: look at the last column, too.

# %%
table = pd.DataFrame(found).T[["mean_wait_s", "median_wait_s", "max_wait_s"]].astype(float) / 3600
print(table.round(2).sort_values("mean_wait_s").to_string())
assert table["mean_wait_s"].idxmax() == "fcfs"
