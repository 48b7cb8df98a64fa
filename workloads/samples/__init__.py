"""Small files to try slurmsim on, found with `sample_path`.

===================  ===============================================================================================
``sample.parquet``   5,000 jobs of 30 users in 4 accounts over a week, 29 % of them tasks of 121 job arrays, for two
                     partitions at an offered load of 90 %: queues form and drain again. Made by our generator
                     ``mix`` with a fixed seed (`SAMPLE_OPTIONS`, `SAMPLE_SEED`); no real user's data.
``sample.conf``      The cluster: 64 nodes of 32 cores and 128 GB in partition ``batch``, 8 with 4 GPUs each in
                     ``gpu``; Slurm's backfill with age, job size and partition priority.
===================  ===============================================================================================

To make the log again: ``slurmsim generate mix --seed 1 -o KEY=VALUE … --out sample.parquet`` with `SAMPLE_OPTIONS`;
a test compares every column.
"""

from importlib.resources import files
from pathlib import Path

from slurmsim.errors import ConfigError
from slurmsim.workload import Workload

SAMPLE_SEED = 1
SAMPLE_OPTIONS: dict[str, str] = {
    "jobs": "5000",
    "load": "0.9",
    "users": "30",
    "accounts": "4",
    "median": "2400",
    "arrays": "0.05",
    "partitions": "batch:weight=0.85:nodes=64,gpu:weight=0.15:nodes=8:gpus=4",
}
"""What ``sample.parquet`` is made with, as ``slurmsim generate mix -o`` takes it."""


def sample_path(name: str) -> Path:
    """Return where the sample file `name` (``"sample.conf"``) is installed.

    Raises
    ------
    ConfigError
        When there is no such sample; it names those there are.
    """
    folder = files(__name__)
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("_"))
    if name not in names:
        raise ConfigError(f"no sample {name!r}", expected="one of " + ", ".join(n for n in names if "." in n))
    return Path(str(folder.joinpath(name)))


def make_sample() -> Workload:
    """Return the jobs of ``sample.parquet``, made anew."""
    from slurmsim_workloads.generators import generate

    return generate("mix", SAMPLE_OPTIONS, SAMPLE_SEED)
