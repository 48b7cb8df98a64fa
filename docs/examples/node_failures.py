# %% [markdown]
# # What failing nodes cost
# Each node fails on average every `mtbf` seconds and is back after about an hour. Its jobs start again from the
# beginning.

# %%
import pandas as pd

import slurmsim
from slurmsim_workloads.samples import sample_path

rows = []
for days in (None, 30, 7, 2):
    failing = {} if days is None else {"mtbf": days * 86_400, "mttr": 3_600, "seed": 1}
    trace = slurmsim.run(
        sample_path("sample.parquet"), conf=sample_path("sample.conf"), jobs=300, report=False, **failing
    )
    found = trace.summary
    lost = found["requeued_cpu_s"] / 3600
    rows.append({"days between failures": days or "never", "requeues": found["requeues"], "CPU hours lost": lost,
                 "mean wait, h": found["mean_wait_s"] / 3600})  # fmt: skip

# %%
table = pd.DataFrame(rows)
print(table.round(1).to_string(index=False))
assert table["requeues"].iloc[0] == 0 < table["requeues"].iloc[-1]
