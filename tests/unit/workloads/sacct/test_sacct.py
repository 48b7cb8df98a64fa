"""sacct dumps: which rows are jobs, and what their times, states and ids become."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from workload_helpers import assert_equal, given, ints, texts

from slurmsim.workload import Workload
from slurmsim_workloads import read_workload
from slurmsim_workloads.sacct.fields import parse_req_mem
from slurmsim_workloads.sacct.reading import TIMEOUT_SLACK_S

HEADER = "JobIDRaw|JobID|Submit|Eligible|Start|End|Timelimit|State|ExitCode|ReqTRES|AllocTRES|NodeList|User|JobName"
BASE = {
    "JobIDRaw": "12", "JobID": "12", "Submit": "1000", "Eligible": "1000", "Start": "1010", "End": "1070",
    "Timelimit": "00:10:00", "State": "COMPLETED", "ExitCode": "0:0", "ReqTRES": "cpu=2,mem=4G,node=1",
    "AllocTRES": "cpu=2,mem=4G,node=1", "NodeList": "n1", "User": "ann", "JobName": "job",
}  # fmt: skip
NEVER = {"NodeList": "None assigned", "AllocTRES": ""}


def record(**fields: str) -> dict[str, str]:
    values = BASE | fields
    if "JobIDRaw" in fields and "JobID" not in fields:
        values["JobID"] = fields["JobIDRaw"]
    return values


def dump(*records: dict[str, str], header: str = HEADER, delimiter: str = "|") -> str:
    names = header.split("|")
    rows = [names, *([r.get(n, "") for n in names] for r in records)]
    return "".join(delimiter.join(r) + "\n" for r in rows)


def read(tmp_path: Path, text: str, **options: str) -> Workload:
    path = tmp_path / "dump.txt"
    path.write_text(text)
    return read_workload(path, options=options)


def test_an_ordinary_job(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record()))
    assert given(w) == {
        "job_id": 12, "submit": 1000, "run_time": 60, "time_limit": 600, "nodes": 1, "tasks": 2, "mem_per_node": 4096,
        "log_eligible": 1000, "log_start": 1010, "log_end": 1070, "name": "job", "user": "ann",
        "log_state": "COMPLETED", "log_nodes": "n1",
    }  # fmt: skip
    assert w.quality.repaired == w.quality.dropped == {}
    assert w.header.format == "sacct"


def test_any_field_order_letter_case_delimiter_and_trailing_delimiter(tmp_path: Path) -> None:
    wanted = read(tmp_path, dump(record()))
    backwards = "|".join(reversed(HEADER.split("|")))
    assert_equal(wanted, read(tmp_path, dump(record(), header=backwards)))
    text = dump(record())
    assert_equal(wanted, read(tmp_path, text.replace("JobIDRaw", "jobidraw").replace("|Submit", "|SUBMIT")))
    assert_equal(wanted, read(tmp_path, text.replace("\n", "|\n")))
    assert_equal(wanted, read(tmp_path, text.replace("\n", "\r\n")))
    assert_equal(wanted, read(tmp_path, dump(record(), delimiter="\x1f")))
    assert_equal(wanted, read(tmp_path, dump(record(), delimiter="@@"), delimiter="@@"))
    assert_equal(wanted, read(tmp_path, dump(record(), delimiter="\t"), delimiter="tab"))


def test_iso_times_are_taken_as_they_are_or_in_a_zone(tmp_path: Path) -> None:
    local = {"Submit": "2024-07-01T12:00:00", "Start": "2024-07-01T12:00:10", "End": "2024-07-01T12:01:00"}
    text = dump(record(**local, Eligible="Unknown"))
    assert ints(read(tmp_path, text), "submit") == [1719835200]
    w = read(tmp_path, text, timezone="Europe/Paris")
    assert ints(w, "submit") == [1719835200 - 7200] and ints(w, "run_time") == [50]
    assert ints(w, "log_eligible") == [-1]


def test_elapsed_survives_the_change_of_the_clocks(tmp_path: Path) -> None:
    times = {"Submit": "2024-10-27T01:50:00", "Start": "2024-10-27T02:50:00", "End": "2024-10-27T02:10:00"}
    text = dump(record(**times, Eligible="", ElapsedRaw="500"), header=HEADER + "|ElapsedRaw")
    assert ints(read(tmp_path, text, timezone="Europe/Paris"), "run_time") == [500]
    w = read(tmp_path, dump(record(**times, Eligible=""), record(JobIDRaw="13")))
    assert w.quality.dropped == {"ends before it starts, or no times": 1}


def test_suspended_time_is_not_run_time(tmp_path: Path) -> None:
    text = dump(record(Suspended="00:00:20"), header=HEADER + "|Suspended")
    assert ints(read(tmp_path, text), "run_time") == [40]


def test_steps_are_skipped_and_counted(tmp_path: Path) -> None:
    steps = [record(JobIDRaw=f"12.{s}", User="", Timelimit="", State="FAILED") for s in ("batch", "extern", "0")]
    w = read(tmp_path, dump(record(), *steps))
    assert len(w) == 1
    assert w.quality.dropped == {"record of a step, its job's record counts": 3}
    assert w.quality.records == 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("UNLIMITED", -2), ("Partition_Limit", -1), ("", -1), ("1-00:00:00", 86400), ("00:05:00", 300)],
)
def test_time_limits(tmp_path: Path, text: str, seconds: int) -> None:
    assert ints(read(tmp_path, dump(record(Timelimit=text))), "time_limit") == [seconds]


def test_raw_time_limits_are_minutes(tmp_path: Path) -> None:
    header = HEADER.replace("Timelimit", "TimelimitRaw")
    rows = [record(JobIDRaw=str(i), TimelimitRaw=v) for i, v in enumerate(["90", "UNLIMITED", "Partition_Limit"], 1)]
    assert ints(read(tmp_path, dump(*rows, header=header)), "time_limit") == [5400, -2, -1]


@pytest.mark.parametrize("state", ["CANCELLED", "CANCELLED by 1000", "CANCELLED+"])
def test_cancelled_while_pending_is_cancelled_at_that_time(tmp_path: Path, state: str) -> None:
    for start in ("Unknown", "None", "1400"):
        w = read(tmp_path, dump(record(State=state, Start=start, End="1400", **NEVER)))
        got = [ints(w, n)[0] for n in ("cancel_at", "run_time", "log_start", "log_end")]
        assert got == [1400, -1, -1, 1400]
        assert texts(w, "log_state") == ["CANCELLED"] and texts(w, "outcome") == [""]


def test_cancelled_while_running_ends_after_its_run_time(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(State="CANCELLED by 0", ExitCode="0:15")))
    assert given(w)["outcome"] == "CANCELLED" and ints(w, "run_time") == [60] and ints(w, "cancel_at") == [-1]
    assert ints(w, "exit_signal") == [0]


def test_timeouts_run_beyond_the_limit_so_that_it_ends_them_again(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(State="TIMEOUT", End="1620"), record(JobIDRaw="13", State="TIMEOUT", End="1610")))
    assert ints(w, "run_time") == [610 + TIMEOUT_SLACK_S, 600 + TIMEOUT_SLACK_S]
    assert w.quality.repaired["ended by its limit, run time set one day beyond it"] == 2


def test_timeouts_that_no_known_limit_explains_keep_their_run_time(tmp_path: Path) -> None:
    """Such as those at the end of a reservation, or of a group's minutes."""
    w = read(
        tmp_path,
        dump(
            record(State="TIMEOUT", Timelimit=""),
            record(JobIDRaw="13", State="TIMEOUT", Timelimit="UNLIMITED"),
            record(JobIDRaw="14", State="TIMEOUT"),
        ),
    )
    assert ints(w, "run_time") == [60, 60, 60]
    assert w.quality.repaired == {
        "TIMEOUT without a limit, ends after its recorded run time": 2,
        "TIMEOUT before its limit, ends after its recorded run time": 1,
    }


@pytest.mark.parametrize("state", ["REQUEUED", "RESIZING", "RUNNING", "COMPLETING", "SUSPENDED", "SPECIAL_EXIT"])
def test_a_record_with_an_end_keeps_its_run_time_whatever_its_state(tmp_path: Path, state: str) -> None:
    """sacct -D of 22.05, 24.11 and 26.05 prints ends for REQUEUED and RESIZING."""
    w = read(tmp_path, dump(record(State=state)))
    assert (ints(w, "run_time"), ints(w, "log_start"), ints(w, "log_end")) == ([60], [1010], [1070])
    assert texts(w, "outcome") == [""] and texts(w, "log_state") == [state]
    assert w.quality.repaired == {"has an end, and a state that goes on: ends after its recorded run time": 1}


@pytest.mark.parametrize(
    ("state", "exit_code", "outcome", "code", "signal"),
    [
        ("FAILED", "3:0", "FAILED", 3, 0),
        ("FAILED", "0:9", "FAILED", 0, 9),
        ("OUT_OF_ME+", "0:125", "OUT_OF_MEMORY", 0, 125),
        ("OUT_OF_MEMORY", "", "OUT_OF_MEMORY", 0, 0),
        ("NODE_FAIL", "1:0", "NODE_FAIL", 1, 0),
        ("BOOT_FAIL", "0:0", "NODE_FAIL", 0, 0),
        ("PREEMPTED", "0:0", "", 0, 0),
        ("COMPLETED", "0:0", "", 0, 0),
    ],
)
def test_final_states(tmp_path: Path, state: str, exit_code: str, outcome: str, code: int, signal: int) -> None:
    w = read(tmp_path, dump(record(State=state, ExitCode=exit_code)))
    assert (texts(w, "outcome"), ints(w, "exit_code"), ints(w, "exit_signal")) == ([outcome], [code], [signal])
    assert ints(w, "run_time") == [60]


def test_unfinished_jobs_run_to_their_limit_or_are_left_out(tmp_path: Path) -> None:
    live = {"End": "Unknown"}
    text = dump(
        record(),
        record(JobIDRaw="13", State="RUNNING", ElapsedRaw="700", **live),
        record(JobIDRaw="14", State="PENDING", Start="Unknown", **live, **NEVER),
        record(JobIDRaw="15", State="RUNNING", Timelimit="UNLIMITED", **live),
        header=HEADER + "|ElapsedRaw",
    )
    text = text.replace("\n12|", "\n12|", 1)
    w = read(tmp_path, text)
    assert ints(w, "job_id") == [12, 13, 14] and ints(w, "run_time") == [60, 700, 600]
    assert ints(w, "log_start") == [1010, 1010, -1] and ints(w, "log_end") == [1070, -1, -1]
    assert w.quality.dropped == {"not finished when the log was taken, and no time limit to assume": 1}
    assert ints(read(tmp_path, text, unfinished="drop"), "job_id") == [12]


def test_failed_without_a_start_is_dropped_by_name(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(), record(JobIDRaw="13", State="FAILED", Start="1000", End="1000", **NEVER)))
    assert len(w) == 1 and w.quality.dropped == {"ended without having started": 1}


def test_a_job_of_no_time_is_a_job(tmp_path: Path) -> None:
    assert ints(read(tmp_path, dump(record(End="1010"))), "run_time") == [0]


@pytest.mark.parametrize(("rule", "run", "limit"), [("cap", 600, 600), ("extend", 630, 660), ("keep", 630, 600)])
def test_run_time_above_the_limit(tmp_path: Path, rule: str, run: int, limit: int) -> None:
    w = read(tmp_path, dump(record(End="1640")), overrun=rule)
    assert (ints(w, "run_time"), ints(w, "time_limit")) == ([run], [limit])


def test_array_tasks_and_pending_arrays(tmp_path: Path) -> None:
    text = dump(
        record(JobIDRaw="21", JobID="20_1"),
        record(JobIDRaw="20", JobID="20_[2-3,7%2]", State="CANCELLED by 5", Start="None", End="1500", **NEVER),
    )
    w = read(tmp_path, text)
    assert ints(w, "array_job_id") == [20] * 4 and ints(w, "array_limit") == [2] * 4
    assert dict(zip(ints(w, "array_task_id"), ints(w, "job_id"), strict=True)) == {1: 21, 2: 22, 3: 23, 7: 20}
    assert ints(w, "cancel_at").count(1500) == 3
    assert w.quality.repaired["pending array taken apart into its tasks"] == 1
    assert (w.quality.records, w.quality.jobs) == (2, 4)


def test_array_tasks_without_raw_ids_get_new_ones(tmp_path: Path) -> None:
    header = HEADER.removeprefix("JobIDRaw|")
    w = read(tmp_path, dump(record(JobID="20_5"), record(JobID="20_1"), record(JobID="30"), header=header))
    assert sorted(zip(ints(w, "job_id"), ints(w, "array_task_id"), strict=True)) == [(30, -1), (31, 1), (32, 5)]


def test_a_task_list_cut_short_is_dropped_by_name(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(), record(JobIDRaw="20", JobID="20_[1,3,5,...]", State="PENDING", **NEVER)))
    assert w.quality.dropped == {
        "pending array with a task list that sacct cut short (SLURM_BITSTR_LEN=0 avoids it)": 1
    }


def test_het_components_are_dropped_by_name(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(), record(JobIDRaw="40", JobID="40+0"), record(JobIDRaw="41", JobID="40+1")))
    assert w.quality.dropped == {"component of a heterogeneous job, not modelled": 2}


def test_the_last_record_of_a_requeued_job_counts(tmp_path: Path) -> None:
    text = dump(
        record(State="NODE_FAIL", End="1050"),
        record(Submit="1050", Eligible="1171", Start="1180", End="1300", Restarts="1"),
        header=HEADER + "|Restarts",
    )
    w = read(tmp_path, text)
    assert [ints(w, n) for n in ("submit", "run_time", "begin")] == [[1050], [120], [1171]]
    assert w.quality.dropped == {"earlier run of a requeued job, the last run counts": 1}
    assert w.quality.repaired["restarted (Restarts > 0), only its last run is replayed"] == 1


def test_dumps_that_overlap_can_be_put_together(tmp_path: Path) -> None:
    january = dump(record(), record(JobIDRaw="13", State="RUNNING", End="Unknown"))
    february = dump(record(JobIDRaw="13", End="1200"))
    w = read(tmp_path, january + february)
    assert ints(w, "run_time") == [60, 190]
    assert w.quality.dropped == {"record repeated, the last one counts": 1}
    assert w.quality.repaired == {"header line repeated inside the file, passed over": 1}


def test_late_eligible_times_become_begin_times_unless_explained(tmp_path: Path) -> None:
    header = HEADER + "|Dependency"
    rows = [record(JobIDRaw="11", Eligible="1005"), record(Eligible="1008", Dependency="afterok:11(unfulfilled)")]
    w = read(tmp_path, dump(*rows, header=header))
    assert ints(w, "begin") == [1005, -1]
    assert texts(w, "dependency") == ["", "afterok:11"]
    assert ints(read(tmp_path, dump(*rows, header=header), eligible="ignore"), "begin") == [-1, -1]


def test_dependencies_on_jobs_that_are_not_in_the_log_are_left_out(tmp_path: Path) -> None:
    rows = [record(JobIDRaw="11"), record(Dependency="afterok:11:99,afterany:98_*")]
    w = read(tmp_path, dump(*rows, header=HEADER + "|Dependency"))
    assert texts(w, "dependency") == ["", "afterok:11"]
    assert w.quality.repaired == {"dependency on a job that is not in the log left out": 1}


def test_dependencies_of_strange_kinds_are_left_out_under_their_own_reason(tmp_path: Path) -> None:
    rows = [record(JobIDRaw="11"), record(Dependency="whenever:11")]
    rows.append(record(JobIDRaw="13", Dependency="expand:11,after:9"))
    w = read(tmp_path, dump(*rows, header=HEADER + "|Dependency"))
    assert texts(w, "dependency") == ["", "", ""]
    assert w.quality.repaired == {
        "dependency on a job that is not in the log left out": 1,
        "dependency of a kind that is not modelled, or not understood, left out": 2,
    }


def test_what_a_replay_leaves_out_is_named(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(Restarts="2"), header=HEADER + "|Restarts"))
    assert set(w.quality.repaired) == {"restarted (Restarts > 0), only its last run is replayed"}


def test_reservations_licenses_and_minimum_times(tmp_path: Path) -> None:
    header = HEADER + "|Reservation|Licenses|SubmitLine"
    line = "sbatch --time-min=10 job.sh"
    w = read(tmp_path, dump(record(Reservation="maint", Licenses="matlab:2", SubmitLine=line), header=header))
    assert (texts(w, "reservation"), texts(w, "licenses")) == (["maint"], ["matlab:2"])
    assert w.ints["time_min"].tolist() == [600]
    assert not w.quality.repaired


def test_lines_of_the_wrong_width_by_option(tmp_path: Path) -> None:
    text = dump(record()) + "13|half a li\nne|of text\n"
    w = read(tmp_path, text, bad_lines="drop")
    assert len(w) == 1 and w.quality.dropped == {"line with a wrong number of fields": 2}
    assert w.quality.examples["line with a wrong number of fields"] == ["line 3: 2 fields", "line 4: 2 fields"]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"JobID": "users"}, "JobID: 'users' is not a job id"),
        ({"JobID": "12_[5-1]", "State": "PENDING"}, "JobID: '[5-1]' is not an array of tasks"),
        ({"JobIDRaw": "0", "JobID": "12"}, "JobIDRaw: '0' is not a job id"),
        ({"State": "DONE"}, "State: 'DONE' is not understood"),
        ({"Submit": "yesterday"}, "Submit: 'yesterday' is not a time"),
        ({"End": "2024-02-31T00:00:00"}, "End: '2024-02-31T00:00:00' is not a time"),
        ({"Timelimit": "two days"}, "Timelimit: 'two days' is not understood"),
        ({"ExitCode": "one"}, "ExitCode: 'one' is not understood"),
        ({"ReqTRES": "cpu"}, "ReqTRES: 'cpu' is not understood"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_lines_with_a_value_that_is_not_understood_by_option(
    tmp_path: Path, wrong: dict[str, str], reason: str
) -> None:
    text = dump(record(JobIDRaw="11"), record(**wrong), record(JobIDRaw="13"))
    w = read(tmp_path, text, bad_lines="drop")
    assert ints(w, "job_id") == [11, 13] and w.quality.records == 3
    assert w.quality.dropped == {"line with a value that is not understood": 1}
    assert w.quality.examples["line with a value that is not understood"] == [f"line 3: {reason}"]


def test_a_free_text_in_the_last_column_may_hold_the_delimiter(tmp_path: Path) -> None:
    w = read(tmp_path, dump(record(JobName="a | b||c"), record(JobIDRaw="13", JobName="d")))
    assert texts(w, "name") == ["a | b||c", "d"]


def test_names_in_another_encoding_do_not_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_bytes(dump(record(JobName="caf\u00e9")).encode("latin-1"))
    assert texts(read_workload(path), "name") == ["caf\ufffd"]


def test_uid_stands_in_for_a_missing_user(tmp_path: Path) -> None:
    header = HEADER.replace("User", "UID")
    assert texts(read(tmp_path, dump(record(UID="1000"), header=header)), "user") == ["uid1000"]


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_everything_real_slurm_prints(release: str, tmp_path: Path) -> None:
    folder = os.environ.get("SLURMSIM_GOLDEN")
    if not folder:
        pytest.skip("set SLURMSIM_GOLDEN to the folder with the recordings of real Slurm")
    steps = json.loads((Path(folder) / f"slurm-{release}/versions/displays.json").read_text())["steps"]
    text = next(s["stdout"] for s in steps if s.get("cmd") == "sacct -a -p -o ALL")
    w = read(tmp_path, text)
    assert ints(w, "job_id") == [1, 2, 3, 4, 5, 6, 7, 12]
    assert texts(w, "log_state") == [
        "RUNNING",
        "COMPLETED",
        "FAILED",
        "RUNNING",
        "RUNNING",
        "RUNNING",
        "CANCELLED",
        "PENDING",
    ]
    assert ints(w, "tasks") == [4, 1, 1, 1, 12, 1, 1, 14] and ints(w, "cpus_per_task") == [1, 1, 1, 4, 1, 8, 1, 1]
    assert ints(w, "exit_code") == [0, 0, 3, 0, 0, 0, 0, 0] and ints(w, "exclusive")[-1] == 1
    assert w.quality.dropped == {"record of a step, its job's record counts": 8}


@pytest.mark.parametrize(("text", "mib"), [("16777216.00T", -1), ("0", 0), ("8G", 8192), ("16777215T", 16777215 << 20)])
def test_memory_that_was_not_asked_for(text: str, mib: int) -> None:
    """22.05 prints 16777216.00T for a job without a request where no memory is tracked."""
    assert parse_req_mem(text).mib == mib
