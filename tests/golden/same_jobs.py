"""Job ids of a recording and of its replay: where one side refused a job, all later ids are shifted.

What a command names by its id is then another job on either side, and everything asked of it differs. So ids are
taken for what they were given to: the replay asks about the job that the same submission made.
"""

from __future__ import annotations

import re

_SUBMITTED = re.compile(r"(?:Submitted batch job |\bJobId=)(\d+)")
_NAMING = re.compile(
    r"jobid=\S+|-j \S+|show job \S+|batch_script \S+|after\w*:[\d:]+|^scancel [^;]*"
    r"|\b(?:u?hold|release|requeue|requeuehold|suspend|resume|top|notify)(?: incomplete)?(?: \d[\d_,]*)+"
)
_ID = re.compile(r"(?<![\w.+])(?<!-s )\d+(?=[_,.:;\s]|$)")


class SameJobs:
    """Which of our ids is which recorded one."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}

    def learn(self, command: str, recorded: str, ours: str) -> None:
        """Both sides' answers to a submission."""
        real, mine = _SUBMITTED.search(recorded), _SUBMITTED.search(ours)
        if "sbatch" in command and real and mine:
            self._ours[real[1]] = mine[1]

    def ours(self, command: str) -> str:
        """`command` with our ids.

        >>> jobs = SameJobs()
        >>> jobs.learn("sbatch x", "Submitted batch job 8", "Submitted batch job 7")
        >>> jobs.ours("scontrol update jobid=8 nice=8 && scontrol show job 8")
        'scontrol update jobid=7 nice=8 && scontrol show job 7'
        >>> jobs.ours("scancel -s 8 8_8 n08; sleep 8")
        'scancel -s 8 7_8 n08; sleep 8'
        """
        return _NAMING.sub(lambda part: _ID.sub(lambda found: self._ours.get(found[0], found[0]), part[0]), command)
