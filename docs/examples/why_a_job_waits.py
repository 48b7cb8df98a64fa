# %% [markdown]
# # Why does this job wait?
# Three jobs on two nodes. The third is small enough to run beside the first, but too long: it would delay the second.

# %%
import slurmsim

c = slurmsim.cluster(nodes=2, cpus_per_node=8, frozen=True, start="2026-01-05T08:00:00Z").__enter__()
c.run("sbatch -N1 --exclusive -t 60 --wrap 'sleep 3600'", check=True)
c.run("sbatch -N2 --exclusive -t 60 --wrap 'sleep 600'", check=True)
c.run("sbatch -N1 -t 120 --wrap 'sleep 600'", check=True)
c.step("2m")

# %%
for job in (2, 3):
    found = c.why(job)
    print(f"job {job}: {found['reason']}: {found['rule']}")
    for offer in found["offers"]:
        print(f"  with {offer['option']} it would start after {offer['after_s']} s")
assert c.job(3).state == "PENDING"

# %% [markdown]
# The offer is right: with a shorter limit the job fits into the gap.

# %%
c.run("scontrol update jobid=3 timelimit=30", check=True)
c.step("2m")
print("with a limit of 30 minutes:", c.job(3).state)
assert c.job(3).state == "RUNNING"
c.__exit__(None, None, None)
