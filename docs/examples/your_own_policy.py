# %% [markdown]
# # A policy of your own
# A policy is a class with one method. It sees the queue and yields decisions; slurmsim carries them out and refuses
# what cannot be.

# %%
import slurmsim
from slurmsim.policy import Policy, Start
from slurmsim_workloads.samples import sample_path


class SmallFirst(Policy):
    """Start the jobs with the fewest CPUs first, whatever waits."""

    name = "small-first"

    def schedule(self, view, now):
        for job in sorted(view.pending, key=lambda job: job.n_cpus):
            yield Start(job)


# %%
log, conf = sample_path("sample.parquet"), sample_path("sample.conf")
means = {}
for policy in (SmallFirst, "fcfs"):
    jobs = slurmsim.run(log, conf=conf, jobs=300, policy=policy, report=False).jobs_frame()
    wide = jobs["req_cpus"] >= 64
    waits = [jobs.loc[which, "wait_s"].mean() / 3600 for which in (wide, ~wide)]
    means[policy if isinstance(policy, str) else policy.name] = waits
    print(f"{policy if isinstance(policy, str) else policy.name:12} wide {waits[0]:5.2f} h, narrow {waits[1]:5.2f} h")

# %% [markdown]
# Narrow jobs gain. Wide ones may pay: nothing is kept free for them. [Writing a policy](../writing-a-policy.md)
# shows how to plan for them.

# %%
assert means["small-first"][1] < means["fcfs"][1]
