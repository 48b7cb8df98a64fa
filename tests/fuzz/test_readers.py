"""The parsers on damaged files: refused in one line with file and field, or read; never a traceback, never a hang."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from readers import READERS, SACCT, fuzz

import slurmsim
from slurmsim.errors import SlurmSimError, WorkloadError
from slurmsim.trace import schema
from slurmsim.validate.columns import read_table
from slurmsim_workloads import read_workload

COUNT = int(os.environ.get("SLURMSIM_MUTATIONS", "20"))
"""Files a parser; 100,000 in `make nightly`."""
SEED = int(os.environ.get("SLURMSIM_FUZZ_SEED", "0"))


@pytest.mark.parametrize("name", READERS)
def test_no_damage_breaks_a_parser(tmp_path: Path, name: str) -> None:
    broken = fuzz(name, COUNT, SEED, tmp_path)
    assert not broken, f"{broken[0][0]!r}\n{broken[0][1]}"


CONF_OF_A_RUN = "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-64] CPUs=64\nPartitionName=p Nodes=ALL Default=YES\n"
HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    "field", ["NCPUS", "ReqCPUS", "NNodes", "ReqNodes", "ElapsedRaw", "TimelimitRaw", "Submit", "JobIDRaw"]
)
def test_numbers_beyond_64_bits_in_a_dump(tmp_path: Path, field: str) -> None:
    lines = SACCT.decode().splitlines()
    names, first = lines[0].split("|"), lines[1].split("|")
    first[names.index(field)] = HUGE
    path = tmp_path / "dump.txt"
    path.write_text("\n".join([lines[0], "|".join(first), *lines[2:]]) + "\n")
    try:
        read_workload(path, "sacct")
    except WorkloadError as error:
        assert str(path) in str(error) and "\n" not in str(error)


def test_a_dump_with_numbers_alone_beyond_64_bits(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    for field, value in (("NCPUS", HUGE), ("NCPUS", "9" * 5000), ("AllocTRES", f"cpu={HUGE}"), ("ReqMem", f"{HUGE}G")):
        path.write_text(f"JobID|Submit|Start|End|State|{field}\n1|1000|1010|1070|COMPLETED|{value}\n")
        try:
            read_workload(path, "sacct")
        except WorkloadError as error:
            assert str(path) in str(error) and len(str(error)) < 500


def _each_byte_wrong(path: Path) -> Iterator[None]:
    """The file at `path` with one byte wrong, then with another one."""
    good = path.read_bytes()
    for at in range(0, len(good), max(1, len(good) // max(COUNT, 1))):
        data = bytearray(good)
        data[at] ^= 0xFF
        path.write_bytes(data)
        yield


def _refused_in_one_line(read: Callable[[], object]) -> None:
    try:
        read()
    except SlurmSimError as error:
        assert "\n" not in str(error)


def test_every_byte_of_a_parquet_file_may_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(READERS["parquet"].seed())
    for _ in _each_byte_wrong(path):
        _refused_in_one_line(lambda: READERS["parquet"].read(path))


def test_every_byte_of_a_trace_may_be_wrong(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF_OF_A_RUN)
    (tmp_path / "log.swf").write_bytes(READERS["swf"].seed())
    slurmsim.run(workload=tmp_path / "log.swf", conf=tmp_path / "slurm.conf", out=tmp_path / "run")
    path = tmp_path / "run" / "jobs.parquet"
    for _ in _each_byte_wrong(path):
        _refused_in_one_line(lambda: slurmsim.read_trace(path.parent).jobs_frame())
        _refused_in_one_line(lambda: read_table(path, schema.JOBS))
