"""The directives docs/live.md shows, through sbatch."""

from __future__ import annotations

from pathlib import Path

import slurmsim


def test_a_script_says_how_long_it_lasts(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(
        "#!/bin/sh\n#SBATCH -J x\n#SLURMSIM runtime=90 exit=3\n#SBATCH --nodes=2\nmake all\n"
    )
    with slurmsim.cluster(frozen=True) as c:
        assert c.run(["sbatch", "job.sh"], cwd=tmp_path).stderr == ""
        c.until_idle()
        job = c.job(1)
        assert (job.name, job.num_nodes, job.exit_code, job.end_time - job.start_time) == ("x", 2, "3:0", 90)
        refused = c.run("sbatch --wrap true", env={"SLURMSIM_RUNTIME": "soon"})
        expected = "(runtime=TIME exit=STATUS term=TIME app=APPLICATION malleable=yes|no)\n"
        assert refused.stderr.endswith(f"failed: Invalid SLURMSIM_RUNTIME=soon {expected}")
