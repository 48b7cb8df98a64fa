# %% [markdown]
# # Waits against load
# Lublin and Feitelson's model makes jobs of a parallel machine. The same jobs come closer together as the load rises.

# %%
import slurmsim
from slurmsim_workloads.generators import generate

waits = {}
for load in (0.5, 0.7, 0.9):
    jobs = generate("lublin", {"jobs": "1000", "nodes": "128", "load": str(load)}, seed=3)
    print(load, "span in days:", round((jobs.ints["submit"][-1] - jobs.ints["submit"][0]) / 86_400, 1))
    trace = slurmsim.run(
        f"generate:lublin:jobs=1000,nodes=128,load={load}", nodes=128, seed=3, policy="easy", report=False
    )
    waits[load] = trace.summary["mean_wait_s"] / 3600

# %%
for load, hours in waits.items():
    print(f"load {load}: mean wait {hours:5.2f} h  {'#' * round(10 * hours)}")
assert waits[0.5] < waits[0.9]
