# %% [markdown]
# # A cluster in the notebook
# `sbatch`, `squeue` and their family are on PATH as long as the cluster lives. Its clock stands still until you
# step it.

# %%
import slurmsim

cluster = slurmsim.cluster(nodes=4, frozen=True, start="2026-01-05T08:00:00Z", users={"alice": 2001})
c = cluster.__enter__()
c.run("sbatch -J big -N4 --exclusive -t 2:00:00 --wrap 'sleep 3600'", user="alice", check=True)
c.run("sbatch -J next -N2 --exclusive -t 10 --wrap 'sleep 300'", user="alice", check=True)
c.step("1m")
print(c.run("squeue -o '%.4i %.5j %.8T %.10r'").stdout)

# %% [markdown]
# A node fails, and the job on it waits again:

# %%
c.fail_node("n2")
c.step("1m")
print(c.run("sinfo -p batch -N -o '%N %T'").stdout)
assert c.job(1).restarts == 1

# %%
c.resume_node("n2")
c.until_idle()
print(c.run("sacct -X -o jobid,jobname,state,elapsed").stdout)
assert [job.state for job in c.jobs()] == ["COMPLETED", "COMPLETED"]
cluster.__exit__(None, None, None)
