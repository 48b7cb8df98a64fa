"""sacct dumps whose lines are not the header's width: made whole where one way is left, named where not.

`REAL` is what sacct of 22.05.8, 24.11.5 and 26.05.5 printed (the same but for times) for

    sbatch -J or -t 5 -C 'bigmem|fast' --wrap 'true'
    sbatch -J 'pi|pe' -t 5 --wrap 'module load x<newline>./run<newline>echo done'
    sbatch -J 'two<newline>lines' -t 5 --comment='com|ment<newline>more' --wrap 'true'

with the command that docs/sacct.md recommended up to 0.6.0; all three take ``--delimiter=$'\\x1f'``, too.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from test_sacct import HEADER, dump, record
from workload_helpers import assert_equal, ints, texts

from slurmsim.errors import WorkloadError
from slurmsim.workload import Workload
from slurmsim_workloads import read_workload
from slurmsim_workloads.sacct.header import find_delimiter

OLD = "JobIDRaw|JobID|Submit|Eligible|Start|End|ElapsedRaw|Suspended|Timelimit|State|ExitCode|ReqTRES|AllocTRES|\
ReqNodes|NNodes|ReqMem|Partition|QOS|Account|User|Reservation|Constraints|NodeList|JobName|SubmitLine\n"
_COMMON = "|1795863147|1795863147|1795863150|1795863150|0|00:00:00|00:05:00|COMPLETED|0:0|\
billing=1,cpu=1,mem=100M,node=1|billing=1,cpu=1,mem=100M,node=1|1|1|100M|batch|normal|physics|alice||"
_TAILS = (
    "bigmem|fast|n13|or|sbatch -J or -t 5 -C bigmem|fast --wrap true",
    "|n02|pi|pe|sbatch -J pi|pe -t 5 --wrap module load x\n./run\necho done",
    "|n02|two\nlines|sbatch -J two\nlines -t 5 --comment=com|ment\nmore --wrap true",
    "|n01|cancelrun|sbatch -J cancelrun -t 30 -n3 --mem-per-cpu=300 --wrap sleep 100",
)
REAL = OLD + "".join(f"{i}|{i}{_COMMON}{tail}\n" for i, tail in enumerate(_TAILS, 1))
INSIDE = "delimiter inside {}, told by the fields around it"
RECORDED = Path(__file__).parent / "recorded"
JOINED = "record over several lines, joined"


def read(tmp_path: Path, text: str, **options: str) -> Workload:
    path = tmp_path / "jobs.sacct"
    path.write_text(text)
    return read_workload(path, options=options)


def test_what_real_slurm_printed_is_read_as_it_was_asked_for(tmp_path: Path) -> None:
    w = read(tmp_path, REAL)
    assert texts(w, "constraint") == ["bigmem|fast", "", "", ""]
    assert texts(w, "log_nodes") == ["n13", "n02", "n02", "n01"]
    assert texts(w, "name") == ["or", "pi|pe", "two\nlines", "cancelrun"]
    assert ints(w, "mem_per_cpu") == [-1, -1, -1, 300]
    assert w.quality.repaired == {INSIDE.format("Constraints"): 1, INSIDE.format("JobName"): 1, JOINED: 2}
    assert w.quality.examples[JOINED] == ["line 3", "line 6"] and w.quality.dropped == {}


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_both_delimiters_give_the_same_rows(tmp_path: Path, release: str) -> None:
    unit = (RECORDED / f"sacct-{release}-requeues.txt").read_text()
    w = read(tmp_path, unit)
    assert w.quality.repaired[JOINED] == 2 and len(w) == 13
    assert_equal(w, read(tmp_path, unit.replace("\x1f", "|")))


def test_a_constraint_with_the_delimiter_does_not_shift_the_columns_behind_it(tmp_path: Path) -> None:
    tails = (
        "intel|n1|relax|sbatch -C intel relax.sh",
        "intel|amd|n2|relax|sbatch -C intel|amd --exclusive relax.sh",
        "[rack1|rack2]|n3|relax|sbatch -C [rack1|rack2] relax.sh",
        "|n3|a | b|sbatch job.sh x | y | z",
    )
    w = read(tmp_path, OLD + "".join(f"{i}|{i}{_COMMON}{tail}\n" for i, tail in enumerate(tails, 1)))
    assert texts(w, "constraint") == ["intel", "intel|amd", "[rack1|rack2]", ""]
    assert texts(w, "log_nodes") == ["n1", "n2", "n3", "n3"]
    assert texts(w, "name") == ["relax", "relax", "relax", "a | b"]
    assert ints(w, "exclusive") == [0, 1, 0, 0]


def test_the_last_column_does_not_get_what_is_not_its_own(tmp_path: Path) -> None:
    text = (
        "Account|Constraints|Group|JobID|Submit|Start|End|ElapsedRaw|Timelimit|State|NCPUS|Partition|WorkDir\n"
        "acc||users|41|1000|1005|1065|60|02:00:00|COMPLETED|4|batch|/home/ann\n"
        "acc|cpu-a|cpu-b|users|42|1000|1005|1065|60|02:00:00|COMPLETED|4|batch|/home/a|nn\n"
        "acc||users|43|1000|1005|1065|60|02:00:00|COMPLETED|4|batch|/home/ann\n"
    )
    w = read(tmp_path, text)
    assert ints(w, "job_id") == [41, 42, 43] and texts(w, "constraint") == ["", "cpu-a|cpu-b", ""]
    assert w.quality.repaired == {INSIDE.format("Constraints"): 1}


AMBIGUOUS = dump(
    record(JobIDRaw="11", Constraints="intel|amd"), record(), header=HEADER.replace("Node", "Constraints|Node")
)


def test_a_line_with_two_ways_to_read_it_is_refused_or_dropped(tmp_path: Path) -> None:
    text = AMBIGUOUS.replace("|n1|", "|amd1|")  # amd may be a node too, and amd1 a user
    with pytest.raises(
        WorkloadError, match=r":2: 16 fields for 15 names: a '\|' in Constraints or JobName does this; "
    ):
        read(tmp_path, text)
    w = read(tmp_path, text, bad_lines="drop")
    assert ints(w, "job_id") == [12] and w.quality.dropped == {"line with a wrong number of fields": 1}


def test_the_nodes_of_other_lines_tell_which_way_is_right(tmp_path: Path) -> None:
    w = read(tmp_path, AMBIGUOUS)
    assert texts(w, "constraint") == ["intel|amd", ""] and texts(w, "log_nodes") == ["n1", "n1"]


@pytest.mark.parametrize("last", ["SubmitLine", "Comment", "AdminComment", "JobName"])
def test_lines_behind_a_whole_record_are_part_of_its_last_text(tmp_path: Path, last: str) -> None:
    header = HEADER.removesuffix("|JobName") + f"|{last}"
    rows = [record(JobIDRaw="11", **{last: "sbatch a\nb | c\n\n12\nd"}), record(**{last: "sbatch e"})]
    w = read(tmp_path, dump(*rows, header=header))
    assert ints(w, "job_id") == [11, 12] and w.quality.repaired == {JOINED: 1}
    if last == "JobName":
        assert texts(w, "name") == ["sbatch a\nb | c\n\n12\nd", "sbatch e"]


def test_texts_over_several_lines_before_other_columns_and_under_p(tmp_path: Path) -> None:
    header = HEADER.replace("|User", "|Comment|User")
    rows = [record(JobIDRaw="11", Comment="one\ntwo | 2\nthree", JobName="a\nb"), record(Comment="four")]
    for ending in ("\n", "|\n"):
        text = dump(*rows, header=header)
        text = "".join(line + ending for line in _records(text))
        w = read(tmp_path, text)
        assert ints(w, "job_id") == [11, 12] and texts(w, "user") == ["ann", "ann"]
        assert texts(w, "name") == ["a\nb", "job"]


def _records(text: str) -> list[str]:
    """The text cut in front of each record, so that an ending can be put behind each."""
    return text.removesuffix("\n").replace("\n11|", "\x00" + "11|").replace("\n12|", "\x00" + "12|").split("\x00")


def test_a_truncated_record_is_no_text_of_the_one_before(tmp_path: Path) -> None:
    text = dump(record(JobIDRaw="11")) + "12|12|1000|1000\n" + dump(record(JobIDRaw="13")).partition("\n")[2]
    with pytest.raises(WorkloadError, match=r":3: 4 fields for 14 names: a line break in JobName does this; "):
        read(tmp_path, text)
    w = read(tmp_path, text, bad_lines="drop")
    assert ints(w, "job_id") == [11, 13] and texts(w, "name") == ["job", "job"]


def test_a_carriage_return_inside_a_name_is_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sacct"
    path.write_bytes(dump(record(JobIDRaw="11", JobName="a\rb"), record()).encode())
    assert texts(read_workload(path), "name") == ["a\rb", "job"]


@pytest.mark.parametrize("delimiter", ["\x1f", "\t", ";", ",", "@@", "::", "¦", "^", "~|~", " | ", "\x01"])
def test_any_delimiter_is_told_by_the_header(tmp_path: Path, delimiter: str) -> None:
    rows = [record(JobIDRaw="11", JobName="a|b"), record(JobName=f"c{delimiter}d")]
    header = HEADER.replace("|ReqTRES|AllocTRES", "|NCPUS")  # a TRES list has commas of its own
    rows = [row | {"NCPUS": "2"} for row in rows]
    w = read(tmp_path, dump(*rows, header=header, delimiter=delimiter))
    assert texts(w, "name") == ["a|b", f"c{delimiter}d"] and ints(w, "tasks") == [2, 2]


def test_what_is_no_header_has_no_delimiter() -> None:
    assert find_delimiter("12|13|1000") == find_delimiter("JobID JobName State") == find_delimiter("") == ""


def test_a_gzipped_dump_with_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sacct.gz"
    path.write_bytes(gzip.compress(REAL.encode()))
    assert_equal(read(tmp_path, REAL), read_workload(path))
