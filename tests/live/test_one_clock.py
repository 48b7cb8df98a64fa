"""The cluster's clock is the only one: no command tells the machine's date."""

from __future__ import annotations

import datetime
from pathlib import Path

import slurmsim

COMMANDS = """
sacctmgr show stats | sacctmgr show event | sacctmgr show event format=all%-300 | sacctmgr show tran
sacctmgr show problem | sacctmgr show runaway | sacct -a | sacct -a --json | sreport cluster utilization
sreport user top | sreport -T cpu cluster AccountUtilizationByUser start=now-1day | sdiag | sdiag --json
scontrol show config | scontrol show job | scontrol show node | scontrol show step | scontrol show res | scontrol ping
scontrol show partition | scontrol show assoc_mgr | squeue -o %all | squeue --start | squeue --json | sinfo -R
sinfo -o %all | sinfo --json | sprio -l | sshare -l | sstat -a -j 1 | sbatch --test-only --wrap true | sbatch -V
sacctmgr show config | srun --overlap --jobid 1 /no/such/program
"""


def test_no_command_tells_the_date_of_the_machine(tmp_path: Path) -> None:
    today = datetime.datetime.now(tz=datetime.UTC).date()
    days = [today + datetime.timedelta(days=n) for n in (-1, 0, 1)]
    dates = [form for day in days for form in (day.isoformat(), f"{day:%m/%d/%y}", f"{day:%b %d}", f"{day:%m/%d-}")]
    with slurmsim.cluster(nodes=2, frozen=True, jobs="simulate", start="2031-07-05T08:00:00") as cluster:
        cluster.run(["sbatch", "-t1:00:00", "--wrap", "sleep 3000"], check=True)
        cluster.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=looked at"], check=True)
        cluster.step(60)
        told = ""
        for line in COMMANDS.replace("\n", "|").split("|"):
            if line.strip():
                done = cluster.run(line.split(), env={"SLURM_TIME_FORMAT": "standard"})
                text = done.stdout + done.stderr
                assert not [date for date in dates if date in text], f"{line}\n{text}"
                told += text
        assert told.count("2031-07-0") > 30
