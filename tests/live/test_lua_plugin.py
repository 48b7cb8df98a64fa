"""job_submit.lua of a live cluster: what it changes, refuses and says, and that a restart asks no script again.

Expectations as 24.11 and 26.05 printed them with the same script.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import slurmsim
from slurmsim.errors import SlurmSimError
from slurmsim.protocol import Client, Refusal

pytest.importorskip("lupa", reason="NOT TESTED: job_submit.lua: the extra lua is not installed")

CONF = """ClusterName=c
SlurmctldHost=h
JobSubmitPlugins=lua
NodeName=n[1-2] CPUs=4
PartitionName=batch Nodes=ALL Default=YES DefaultTime=10
PartitionName=debug Nodes=n1 MaxTime=30
"""
SCRIPT = """
function slurm_job_submit(job_desc, part_list, submit_uid)
  local n = job_desc.name
  if n == "refuse" then slurm.log_user("first line") slurm.log_user("second %s", "line") return slurm.ERROR end
  if n == "warn" then slurm.log_user("be careful: %d", 3) end
  if n == "boom" then local x = nil return x.y end
  if n == "change" then
    job_desc.partition = "debug" job_desc.time_limit = 7 job_desc.comment = "by lua" job_desc.name = "renamed"
  end
  if n == "count" then
    local jobs = 0
    for id, job in pairs(slurm.jobs) do jobs = jobs + job.job_state end
    slurm.log_user("%d running, limit of debug %d", jobs, part_list.debug.max_time)
  end
  return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if job_desc.comment == "no" then
    slurm.log_user("not that: %s %d", job_rec.name, job_rec.time_limit)
    return slurm.ERROR
  end
  if job_desc.comment == "yes" then job_desc.comment = "made " .. modify_uid slurm.log_user("modified") end
  return slurm.SUCCESS
end
"""
START = 1_767_600_000


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "job_submit.lua").write_text(SCRIPT)
    return tmp_path / "slurm.conf"


def test_a_script_changes_refuses_and_says(conf: Path) -> None:
    with slurmsim.cluster(
        conf=conf, frozen=True, start=START, users={"alice": 2001, "bob": 2002}, slurm_version="26.05"
    ) as c:

        def said(command: str) -> tuple[int, str, str]:
            done = c.run(command, user="alice")
            return done.returncode, done.stdout, done.stderr

        assert said("sbatch -J plain --wrap 'sleep 300'")[0] == 0
        c.step(5)
        assert said("sbatch -J refuse --wrap true") == (
            1, "",
            "sbatch: error: first line\nsbatch: error: second line\n"
            "sbatch: error: Batch job submission failed: Unspecified error\n",
        )  # fmt: skip
        assert said("sbatch -J warn --wrap true") == (0, "Submitted batch job 2\n", "sbatch: be careful: 3\n")
        assert said("sbatch --test-only -J refuse --wrap true")[2].endswith("allocation failure: Unspecified error\n")
        assert said("sbatch -J boom --wrap true")[2] == (
            "sbatch: error: job_submit.lua:6: attempt to index local 'x' (a nil value)\n"
            "sbatch: error: Batch job submission failed: Lua function execution failed due to runtime error\n"
        )
        assert said("sbatch -J warn : -J refuse --wrap true")[2].splitlines()[:2] == [
            "sbatch: error: 0: be careful: 3", "sbatch: error: 1: first line",
        ]  # fmt: skip
        assert said("sbatch -J count --wrap true")[2] == "sbatch: 1 running, limit of debug 30\n"
        assert said("sbatch -J change -H --wrap 'sleep 100'")[0] == 0
        shown = "squeue -h -n renamed -o '%j %P %l %k'"
        assert c.run(shown).stdout == "renamed debug 7:00 by lua\n"
        assert said("scontrol update job=4 comment=no") == (
            1, "", "scontrol: error: not that: renamed 7\nUnspecified error for job 4\n"
        )  # fmt: skip
        stranger = c.run("scontrol update job=4 comment=no", user="bob")
        assert "not that" not in stranger.stderr and stranger.returncode == 1  # judged before any script is asked
        assert said("scontrol update job=4 comment=yes") == (0, "", "scontrol: error: modified\n")
        (c.folder / "job_submit.lua").write_text("function slurm_job_submit() return -1 end\n"
                                                "function slurm_job_modify() return -1 end")  # fmt: skip
        assert said("sbatch -J plain --wrap true")[0] == 0  # until it is read anew
        c.stop()
        c.start()
        assert c.run(shown).stdout == "renamed debug 7:00 made 2001\n"  # as the script had made it
        assert (
            said("sbatch -J plain --wrap true")[2] == "sbatch: error: Batch job submission failed: Unspecified error\n"
        )
        (c.folder / "job_submit.lua").write_text("os.execute('touch never')")
        assert "os.execute" in c.run("scontrol reconfigure").stderr
        assert not list(Path(c.folder).glob("**/never"))


@pytest.mark.parametrize(
    ("script", "named"),
    [
        (None, "cannot be read"),
        ("x = io.open('a')", "io.open"),
        ("function (", "expected near"),
        ("x = 1", "slurm_job_submit"),
    ],
)
def test_a_script_that_cannot_be_loaded_starts_no_cluster(conf: Path, script: str | None, named: str) -> None:
    lua = conf.with_name("job_submit.lua")
    lua.unlink() if script is None else lua.write_text(script)
    with pytest.raises(SlurmSimError, match=named) as failed, slurmsim.cluster(conf=conf, frozen=True, start=START):
        pass
    assert "\n" not in str(failed.value)


SETS = """
local function set(d)
  local name, value = string.match(d.comment or "", "^([%a_]+)=(.*)$")
  if name then d[name] = tonumber(value) end
  return slurm.SUCCESS
end
function slurm_job_submit(d, parts, uid) return set(d) end
function slurm_job_modify(d, job, parts, uid) return set(d) end
"""


def test_what_a_script_sets_of_a_priority_needs_no_rights(tmp_path: Path) -> None:
    """Nice is a number of 32 bits with an offset of 2^31; as 22.05, 24.11 and 26.05 answered."""
    (tmp_path / "slurm.conf").write_text(f"{CONF}PriorityType=priority/multifactor\nPriorityWeightPartition=10085\n")
    (tmp_path / "job_submit.lua").write_text(SETS)
    sets = {
        "nice=2147483698": (50, 10035), "nice=2147483598": (-50, 10135), "nice=50": (-2147483598, 2147493683),
        "nice=-50": (2147483598, 1), "nice=4294967294": (0, 10085), "nice=4294967293": (2147483645, 1),
        "nice=4294967300": (-2147483644, 2147493729), "nice=1e12": (1420103680, 1), "priority=700": (0, 700),
        "site_factor=50": (0, 10135), "site_factor=-50": (0, 10035),
    }  # fmt: skip
    conf = tmp_path / "slurm.conf"
    with slurmsim.cluster(conf=conf, frozen=True, start=START, users={"alice": 2001}) as c:

        def said(command: str) -> str:
            done = c.run(command, user="alice")
            return done.stdout + done.stderr

        found = {}
        for comment in sets:
            job = said(f"sbatch --parsable --begin=now+1hour --comment={comment} --wrap true").strip()
            nice, priority = said(f"squeue -h -j {job} -o '%y %Q'").split()
            found[comment] = (int(nice), int(priority))
        assert found == sets
        assert said("sbatch --nice=-5 --comment=nice=2147483648 --wrap true").endswith("Invalid --nice value\n")
        assert said("sbatch --parsable --priority=9 --wrap true --begin=now+1hour").strip() == "12"
        assert said("squeue -h -j 12 -o %Q") == "10085\n"
        assert said("scontrol update job 12 comment=nice=50") == "Access/permission denied for job 12\n"


def test_no_client_can_say_that_the_site_set_its_priority(conf: Path) -> None:
    job = {"name": "j", "script": "#!/bin/sh\n", "work_dir": "/", "environment": {}, "nice": -5, "by_site": True}
    conf.write_text(CONF.replace("JobSubmitPlugins=lua\n", ""))
    with slurmsim.cluster(conf=conf, frozen=True, start=START, users={"alice": 2001}) as c:
        client = Client(str(c.folder), "alice", 20.0, asks=True)
        try:
            with pytest.raises(Refusal, match="Invalid --nice value"):
                client.call("submit", job=job)
        finally:
            client.close()
