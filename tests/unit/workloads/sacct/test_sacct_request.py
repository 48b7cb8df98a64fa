"""sacct dumps: what a job asked for, and what SubmitLine and dependency expressions tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_sacct import HEADER, NEVER, dump, read, record
from workload_helpers import given as told

from slurmsim_workloads.dependencies import clean_dependency, first_in_a_loop, loop_in_graph
from slurmsim_workloads.sacct.submit_line import CUTS, SubmitLine, parse_submit_line


def request(tmp_path: Path, header: str = HEADER, **fields: str) -> dict[str, int | str]:
    names = "nodes nodes_max tasks cpus_per_task tasks_per_node mem_per_node mem_per_cpu exclusive gres gpus"
    w = read(tmp_path, dump(record(**fields), header=header))
    return {k: v for k, v in told(w).items() if k in names.split(" ")}


OLD = HEADER.replace("ReqTRES|AllocTRES", "ReqCPUS|ReqNodes|NNodes|ReqMem")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # the job got just the nodes it asked for: they count as asked for
        ({"ReqTRES": "cpu=8,mem=16G,node=2", "AllocTRES": "cpu=8,mem=16G,node=2"},
         {"nodes": 2, "tasks": 8, "mem_per_node": 8192}),
        # more nodes than recorded: -n without -N; memory was per CPU, as the total stayed the same
        ({"ReqTRES": "cpu=8,mem=8G,node=1", "AllocTRES": "cpu=8,mem=8G,node=3"}, {"tasks": 8, "mem_per_cpu": 1024}),
        # … or per node, as the total grew with the nodes
        ({"ReqTRES": "cpu=8,mem=8G,node=1", "AllocTRES": "cpu=8,mem=24G,node=3"}, {"tasks": 8, "mem_per_node": 8192}),
        # GPUs: per node when they divide, typed over untyped, usage is no request
        ({"ReqTRES": "cpu=4,node=2,gres/gpu=4,gres/gpu:a100=4,gres/gpumem=1G", "AllocTRES": "cpu=4,node=2"},
         {"nodes": 2, "tasks": 4, "gres": "gpu:a100:2"}),
        ({"ReqTRES": "cpu=4,node=2,gres/gpu=3", "AllocTRES": "cpu=4,node=2,gres/gpu=3"},
         {"nodes": 2, "tasks": 4, "gpus": "3"}),
        ({"ReqTRES": "cpu=4,node=1,gres/nvme=1,gres/gpu=1,billing=9,license/x=2", "AllocTRES": "cpu=4,node=1"},
         {"nodes": 1, "tasks": 4, "gres": "gpu:1,nvme:1"}),
        # nothing asked for is recorded: what was given stands in
        ({"ReqTRES": "", "AllocTRES": "cpu=6,mem=3G,node=3,gres/gpu=3"},
         {"nodes": 3, "tasks": 6, "mem_per_node": 1024}),
    ],
)  # fmt: skip
def test_requests_from_tres(tmp_path: Path, fields: dict[str, str], expected: dict[str, int | str]) -> None:
    assert request(tmp_path, **fields) == expected


def test_one_requested_node_does_not_pin_a_job_that_never_ran(tmp_path: Path) -> None:
    fields = {"State": "CANCELLED by 1", "Start": "Unknown", "ElapsedRaw": "0", "ReqTRES": "cpu=64,node=1", **NEVER}
    assert request(tmp_path, header=HEADER + "|ElapsedRaw", **fields) == {"tasks": 64}


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("4Gn", {"mem_per_node": 4096}), ("2000Mc", {"mem_per_cpu": 2000}), ("8G", {"mem_per_node": 4096}),
        ("1048576K", {"mem_per_node": 512}), ("0.5Tn", {"mem_per_node": 524288}), ("", {}), ("0n", {}),
    ],
)  # fmt: skip
def test_requested_memory_old_and_new(tmp_path: Path, memory: str, expected: dict[str, int]) -> None:
    got = request(tmp_path, header=OLD, ReqCPUS="4", ReqNodes="2", NNodes="2", ReqMem=memory)
    assert got == {"nodes": 2, "tasks": 4, **expected}


def test_zero_memory_means_all_of_it_when_others_ask_for_some(tmp_path: Path) -> None:
    rows = [record(ReqCPUS="1", ReqMem="0n"), record(JobIDRaw="13", ReqCPUS="1", ReqMem="1Gn")]
    assert read(tmp_path, dump(*rows, header=OLD)).ints["mem_per_node"].tolist() == [0, 1024]


def test_the_old_gres_field_is_per_node(tmp_path: Path) -> None:
    header = OLD + "|ReqGRES"
    assert request(tmp_path, header=header, ReqCPUS="4", ReqGRES="gpu:tesla:2")["gres"] == "gpu:tesla:2"
    assert "gres" not in request(tmp_path, header=header, ReqCPUS="4", ReqGRES="gpu:0")


def test_allocated_cpus_alone(tmp_path: Path) -> None:
    header = HEADER.replace("ReqTRES|AllocTRES", "NCPUS|NNodes")
    assert request(tmp_path, header=header, NCPUS="32", NNodes="2") == {"nodes": 2, "tasks": 32}


def test_the_submit_line_refines_a_request(tmp_path: Path) -> None:
    header = HEADER + "|SubmitLine"
    fields = {"ReqTRES": "cpu=8,mem=16G,node=2", "AllocTRES": "cpu=16,mem=16G,node=2"}
    line = "sbatch -N 2-4 -c4 --mem-per-cpu=2G --exclusive --ntasks-per-node=1 --gres=gpu:1 job.sh --mem=1"
    assert request(tmp_path, header=header, SubmitLine=line, **fields) == {
        "nodes": 2, "nodes_max": 4, "tasks": 2, "cpus_per_task": 4, "tasks_per_node": 1, "mem_per_cpu": 2048,
        "exclusive": 1,
    }  # fmt: skip
    w = read(tmp_path, dump(record(SubmitLine=line, **fields), header=header), submit_line="no")
    assert told(w)["mem_per_node"] == 8192 and "exclusive" not in told(w)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sbatch -J a -t 5 --wrap srun -n2 -N9", {}),
        ("sbatch job.sh -N 4", {}),
        ("srun -n4 -N1 -w n[1-2] ./a.out -x 3", {"nodes": 1, "node_list": "n[1-2]"}),
        ("salloc --nodes=3 -x n4 --nice", {"nodes": 3, "exclude": "n4", "nice": 100}),
        ("sbatch -s --no-requeue --contiguous --nice=-5 -a 1-9%3 a", {"oversubscribe": 1, "requeue": 0,
         "contiguous": 1, "nice": -5, "array_limit": 3}),
        ("sbatch --dependency=afterok:7 -d singleton x", {"dependency": "singleton"}),
        ("sbatch --mem 2G -N x --exclusive=user -c zero y", {"mem_per_node": 2048, "options": " --exclusive=user"}),
        ("sbatch --spread-job --switches=2@5:00 --switches=x y", {"options": " --spread-job --switches=2@5:00"}),
        ("sbatch --hint=nomultithread --ntasks-per-core=1 --mincpus 0 --threads-per-core=2 y",
         {"options": " --hint=nomultithread --ntasks-per-core=1 --threads-per-core=2"}),
        ("sbatch", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_submit_lines(line: str, expected: dict[str, int | str]) -> None:
    found, plain = parse_submit_line(line), SubmitLine()
    assert {n: getattr(found, n) for n in SubmitLine.__slots__ if getattr(found, n) != getattr(plain, n)} == expected


words = st.sampled_from(["-N", "4", "-N2", "--mem=2G", "--mem", "1G", "-c", "-", "x.sh", "--wrap", "-s", "--exclusive",
                         "-J", "-Jx", "-J b", "-o", "--output=a", "--comment", "--export=ALL", "-so"])  # fmt: skip


@given(st.lists(words, max_size=8))
def test_what_is_cut_off_a_line_does_not_count(line: list[str]) -> None:
    text = cut = " ".join(["sbatch", *line])
    for pattern, place in CUTS:
        cut = re.sub(pattern, place, cut)
    assert parse_submit_line(cut) == parse_submit_line(text)


def test_jobs_that_differ_in_names_and_files_have_one_line() -> None:
    text = "sbatch -J job_{0} --output=out.{0} -N 2 --mem=4G -e err.{0} --exclusive --job-name {0} run_{0}.sh {0}"
    cuts = set()
    for number in range(3):
        cut = text.format(number)
        for pattern, place in CUTS:
            cut = re.sub(pattern, place, cut)
        cuts.add(cut)
    assert cuts == {"sbatch -N 2 --mem=4G --exclusive"}


def test_dependency_and_throttle_from_the_submit_line(tmp_path: Path) -> None:
    rows = [
        record(JobIDRaw="11"),
        record(SubmitLine="sbatch -d afterok:11 x"),
        record(JobIDRaw="14", JobID="13_1", SubmitLine="sbatch --array=1-4%2 x"),
    ]
    w = read(tmp_path, dump(*rows, header=HEADER + "|SubmitLine"))
    assert [told(w, i).get("dependency") for i in range(3)] == [None, "afterok:11", None]
    assert w.ints["array_limit"].tolist() == [-1, -1, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("afterok:1:2,afterany:3", ("afterok:1:2,afterany:3", 0, 0)),
        ("afterok:1?afternotok:2", ("afterok:1?afternotok:2", 0, 0)),
        ("aftercorr:1_*,after:2+5", ("aftercorr:1,after:2+5", 0, 0)),
        ("afterok:1_4(failed)", ("afterok:1_4", 0, 0)),
        ("2", ("afterany:2", 0, 0)),
        ("singleton,afterok:9", ("singleton", 1, 0)),
        ("expand:1", ("", 0, 1)),
        ("whenever:2,afterok:1:8", ("afterok:1", 1, 1)),
        ("whenever:8", ("", 0, 1)),
        ("afterok:x", ("", 0, 1)),
        ("nonsense", ("", 0, 1)),
    ],
)
def test_cleaning_dependencies(text: str, expected: tuple[str, int, int]) -> None:
    assert clean_dependency(text, {1, 2, 3}.__contains__) == expected


def test_loops_are_found_whatever_their_length() -> None:
    import numpy as np

    chain = np.arange(1, 2000)
    before = np.where(chain > 1, chain - 1, -1)
    assert first_in_a_loop(chain, before) is None
    before[0] = 1999
    assert first_in_a_loop(chain, before) == 0
    before[0], before[1500] = -1, 1600
    assert first_in_a_loop(chain, before) == 1500
    assert loop_in_graph({1: [2], 2: [3], 3: []}) is None
    assert loop_in_graph({1: [7], 5: [4, 9], 4: [5]}) == 4


def test_options_nobody_models_are_named(tmp_path: Path) -> None:
    lines = ("sbatch -S 2 --hint=compute_bound -N1 a.sh --tmp=5", "srun --core-spec=1 b", "sbatch --prefer gpu c.sh")
    header = HEADER + "|SubmitLine"
    rows = [record(JobIDRaw=str(10 + i), SubmitLine=line) for i, line in enumerate(lines)]
    w = read(tmp_path, dump(*rows, header=header))
    said = {reason: n for reason, n in w.quality.repaired.items() if "not modelled" in reason}
    assert said == {
        "submitted with --hint, which is not modelled: replayed without": 1,
        "submitted with --prefer, which is not modelled: replayed without": 1,
    }


def test_cores_kept_from_a_job_are_read() -> None:
    assert parse_submit_line("sbatch -S 2 -N1 a.sh").options == " --core-spec=2"
    assert parse_submit_line("srun --thread-spec=1 b").options == " --thread-spec=1"


def test_what_becomes_of_a_dependency_that_fails_is_read(tmp_path: Path) -> None:
    assert parse_submit_line("sbatch --kill-on-invalid-dep=yes a.sh").options == " --kill-on-invalid-dep=yes"
    assert parse_submit_line("sbatch --sockets-per-node 2 --gres-flags enforce-binding -N3 a.sh").nodes == 3
