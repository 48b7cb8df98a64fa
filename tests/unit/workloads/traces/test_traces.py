"""Public traces: a small sample of each format of our own making, with the jobs and the report beside it."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from workload_helpers import given

import slurmsim
from slurmsim.errors import WorkloadError
from slurmsim.validate import validate_trace
from slurmsim.workload import Workload
from slurmsim_workloads import read_workload
from slurmsim_workloads.kit import check_reader
from slurmsim_workloads.traces import TRACES

HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,uA,vc1,16,32,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:42:01,2020-06-09 18:52:01,600,60
8,uB,vc2,0,4,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
9,uB,vc2,1,4,1,CANCELLED,2020-06-09 18:41:28,None,None,0,0
10,uB,vc2,-1,4,1,COMPLETED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:41:38,10,0
"""
PAI = """a1,worker,4.0,Terminated,100.0,700.0,600.0,29.3,50.0,V100
a2,tensorflow,1.0,Running,100.0,,600.0,29.3,100.0,T4
a3,ps,2.0,Failed,150.0,200.0,400.0,,,
"""
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,12000,16384,1,460,,LS,Running,10,110,20
p1,1500,1024,8,1000,V100M16|V100M32,BE,Succeeded,30,90,30
p2,6000,12288,1,1000,,LS,Pending,40,90,
"""
DLRM = """instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,\
memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time
i0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,
i1,CN,app_1,64,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,1435629.0,1435630.0,1435760.0
"""
SPOT = """job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
11,13,A10,20,1,1,0,2764799,HP
12,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot
"""
CLOUD = """id_job,id_array_job,id_user,nodes_alloc,cpus_req,partition,state,timelimit,time_submit,time_start,time_end,\
tres_req
21,0,5,2,80,normal,3,1440,1600000000,1600000060,1600003660,"1=80,2=170000,4=2,1002=4"
22,0,5,1,8,normal,6,4294967295,1600000000,1600000060,1600000160,"1=8,4=1"
23,0,5,1,8,normal,4,60,1600000000,0,1600000160,"1=8,4=x"
"""


def attempt(start: str | None, end: str | None, gpus: int, servers: int = 1) -> dict[str, Any]:
    one = [{"ip": f"m{k}", "gpus": [f"gpu{i}" for i in range(gpus)]} for k in range(servers)]
    return {"start_time": start, "end_time": end, "detail": one}


PHILLY = [
    {"status": "Pass", "vc": "ee9", "jobid": "app_1", "user": "ce2", "submitted_time": "2017-10-07 01:11:39",
     "attempts": [attempt("2017-10-07 01:12:09", "2017-10-07 01:13:09", 8, 2),
                  attempt("2017-10-07 01:20:00", "2017-10-07 01:30:00", 8, 2)]},
    {"status": "Killed", "vc": "ee9", "jobid": "app_2", "user": "ce2", "submitted_time": "2017-10-07 01:11:39",
     "attempts": []},
    {"status": "Failed", "vc": "6c7", "jobid": "app_3", "user": "ce3", "submitted_time": "2017-10-07 02:00:00",
     "attempts": [attempt("2017-10-07 02:00:00", None, 1)]},
]  # fmt: skip
SQUEUE = {
    "jobs": [
        {"job_id": 31, "user_name": "ann", "account": "phys", "partition": "batch", "qos": "normal", "name": "a",
         "job_state": ["COMPLETED"], "submit_time": {"set": True, "infinite": False, "number": 1000},
         "start_time": {"set": True, "infinite": False, "number": 1060},
         "end_time": {"set": True, "infinite": False, "number": 1360}, "cpus": {"set": True, "number": 8},
         "node_count": {"set": True, "number": 2}, "time_limit": {"set": True, "infinite": False, "number": 60},
         "tres_req_str": "cpu=8,mem=4G,node=2,billing=8,gres/gpu=4"},
        {"job_id": 32, "user_name": "bob", "job_state": "RUNNING", "submit_time": 1000, "start_time": 1100,
         "end_time": 4700, "cpus": 4, "node_count": 1, "time_limit": 60},
    ]
}  # fmt: skip


def parquet(path: Path, **columns: list[Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content, "utf-8")
    return path


def report(workload: Workload) -> tuple[int, int, dict[str, int]]:
    return workload.quality.records, len(workload), workload.quality.dropped


def sample(name: str, folder: Path) -> Path:
    """A file of that format, as its public loaders describe it."""
    times = [datetime(2020, 5, 1, 0, 0, 0), datetime(2020, 5, 1, 0, 10, 0), datetime(2020, 5, 1, 1, 10, 0)]
    first, second, third = ([one] * 2 for one in times)
    match name:
        case "philly":
            return text(folder / "cluster_job_log", json.dumps(PHILLY))
        case "pm100":
            return parquet(
                folder / "job_table.parquet", job_id=[1, 2], submit_time=first, start_time=second, end_time=third,
                run_time=[3600, 3600], time_limit=[120.0, 120.0], num_nodes_alloc=[2, 0], num_cores_alloc=[256, 0],
                num_gpus_alloc=[8, 0], mem_alloc=[475.0, 0.0], user_id=[3, 4], group_id=[5, 5], partition=["1", "1"],
                qos=["0", "0"], job_state=["COMPLETED", "TIMEOUT"],
                node_power_consumption=[[900.0] * 14 + [None] + [1800.0] * 15 + [float("nan")] * 15, [1.0]],
            )  # fmt: skip
        case "fdata":
            return parquet(
                folder / "21_04.parquet", jid=["j1", "j2"], usr=["u1", "u2"], jnam=["n1", "n2"],
                adt=["2021-04-01 00:00:00+09:00", None], sdt=["2021-04-01 00:05:00+09:00", None],
                edt=["2021-04-01 01:05:00+09:00", None], duration=[3600.0, 5.0], elpl=[1800, 60], nnumr=[384, 1],
                avgpcon=[38400.25, None],
                **{"exit state": ["completed", "failed"]},
            )  # fmt: skip
        case "frontier":
            return parquet(
                folder / "jobs.parquet", job_id=["1001", "1002"], user=["a", "b"], account=["x", "y"],
                name=["n", "m"], time_submission=first, time_start=second, time_end=third, time_limit=[120, 120],
                node_count=[9000, 2], partition=["batch", "batch"], state_current=["COMPLETED", "RUNNING"],
            )  # fmt: skip
        case "squeue":
            return text(folder / "jobs.json", json.dumps(SQUEUE))
    plain = {"helios": HELIOS, "pai2020": PAI, "openb2023": OPENB, "dlrm2025": DLRM, "spot2026": SPOT,
             "supercloud": CLOUD}  # fmt: skip
    return text(folder / f"{name}.csv", plain[name])


JOBS: dict[str, dict[str, Any]] = {
    "philly": {
        "run_time": 600,
        "time_limit": 600,
        "failed_runs": "60",
        "nodes": 2,
        "tasks": 2,
        "gpus": "16",
        "user": "ce2",
        "account": "ee9",
        "name": "app_1",
    },
    "helios": {"job_id": 7, "run_time": 600, "nodes": 2, "tasks": 32, "gpus": "16", "user": "uA", "account": "vc1"},
    "pm100": {
        "job_id": 1,
        "run_time": 3600,
        "time_limit": 7200,
        "nodes": 2,
        "tasks": 256,
        "gpus": "8",
        "user": "3",
        "watts": "300:900,1800,1800",
    },
    "fdata": {
        "run_time": 1800,
        "time_limit": 1800,
        "nodes": 384,
        "tasks": 384,
        "user": "u1",
        "name": "n1",
        "watts": "38400.2",
    },
    "pai2020": {"submit": 100, "run_time": 600, "nodes": 4, "tasks": 24, "gpus": "4", "name": "worker"},
    "openb2023": {"submit": 10, "log_start": 20, "run_time": 90, "tasks": 12, "gpus": "1", "account": "LS"},
    "dlrm2025": {"submit": 1435629, "log_start": 1435630, "run_time": 130, "tasks": 64, "account": "app_1"},
    "spot2026": {"job_id": 11, "run_time": 2764799, "tasks": 20, "gpus": "1", "account": "13", "qos": "HP"},
    "supercloud": {"job_id": 21, "run_time": 3600, "time_limit": 86400, "nodes": 2, "tasks": 80, "gpus": "4"},
    "frontier": {"job_id": 1001, "run_time": 3600, "time_limit": 7200, "nodes": 9000, "account": "x"},
    "squeue": {"job_id": 31, "run_time": 300, "time_limit": 3600, "nodes": 2, "tasks": 8, "gpus": "4", "user": "ann"},
}
REPORTS = {
    "philly": (3, 1, {"never started": 1, "no end": 1}),
    "helios": (4, 2, {"run time zero": 1, "gpu_num cannot be read": 1}),
    "pm100": (2, 1, {"no size": 1}),
    "fdata": (2, 1, {"no time of submission": 1}),
    "pai2020": (3, 2, {"still RUNNING when the log ends": 1}),
    "openb2023": (3, 2, {"still PENDING when the log ends": 1}),
    "dlrm2025": (2, 1, {"no time of submission": 1}),
    "spot2026": (2, 2, {}),
    "supercloud": (3, 2, {"tres_req cannot be read": 1}),
    "frontier": (2, 1, {"still RUNNING when the log ends": 1}),
    "squeue": (2, 1, {"still RUNNING when the log ends": 1}),
}


@pytest.mark.parametrize("name", TRACES)
def test_a_sample(name: str, tmp_path: Path) -> None:
    """The first job has what the file says of it, and every record is kept or counted."""
    path = sample(name, tmp_path)
    workload = read_workload(path, name)
    assert given(workload) | JOBS[name] == given(workload)
    assert report(workload) == REPORTS[name]
    assert check_reader(name, path) == []


@pytest.mark.parametrize("name", [name for name, trace in TRACES.items() if trace.sniffed and not trace.heads])
def test_tables_are_told_by_their_columns(name: str, tmp_path: Path) -> None:
    assert read_workload(sample(name, tmp_path)).header.format == name


def test_gzip_and_options(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(SPOT.encode()))
    workload = read_workload(path, "spot2026", {"gpus": "typed"})
    assert [workload.texts["gpus"][i] for i in range(2)] == ["a10:1", "a100-sxm4-80gb:16"]
    assert read_workload(path, "spot2026", {"gpus": "no"}).texts["gpus"][0] == ""


def test_failures_of_a_trace(tmp_path: Path) -> None:
    """A job of Philly fails as often as it did, and then runs as long as its last attempt; or all of it is one run."""
    path = sample("philly", tmp_path)
    workload = read_workload(path, "philly", {"failures": "no"})
    assert (workload.ints["run_time"][0], workload.texts["failed_runs"][0]) == (660, "")
    trace = slurmsim.run(path, format="philly", option={"gpus": "no"}, nodes=2, policy="easy", out=tmp_path / "out")
    row = trace.jobs_frame(dates=False).iloc[0]
    assert (row["restarts"], row["run_time_s"], row["state"]) == (1, 600, "COMPLETED")
    assert trace.summary["lost_cpu_s"] == 2 * 60
    assert validate_trace(tmp_path / "out").valid


@pytest.mark.parametrize(("power", "watts"), [("series", "300:900,1800,1800"), ("mean", "1365.5"), ("no", "")])
def test_power_of_a_trace(power: str, watts: str, tmp_path: Path) -> None:
    workload = read_workload(sample("pm100", tmp_path), "pm100", {"power": power})
    assert workload.texts["watts"][0] == watts


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("helios", "a,b\n1,2\n", "no such column"), ("helios", "", "no job that ran"),
        ("philly", "{}", "'{' where"), ("philly", '[{"attempts": 3}]', "no job with attempts"),
        ("philly", "[" * 100_000, "nests too deeply"), ("squeue", '{"jobs": [3]}', "is no job"),
        ("pm100", "no parquet", "cannot be read|Parquet"),
        ("supercloud", 'id_job,tres_req,time_submit\n"', "CSV|column"),
    ],
)  # fmt: skip
def test_what_is_none_of_it(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=message):
        read_workload(text(tmp_path / "log", content), name)


@pytest.mark.parametrize("cell", ["9" * 5000, "-1", "²", "1e400", "nan?", "0x10", "a" * 2000])
def test_bad_cells_drop_their_record(cell: str, tmp_path: Path) -> None:
    path = text(tmp_path / "log.csv", HELIOS + f"11,u,v,{cell},1,1,COMPLETED,1,2,3,1,0\n")
    assert read_workload(path).quality.dropped["gpu_num cannot be read"] == 2
