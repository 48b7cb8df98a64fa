"""Comparing runs."""

from __future__ import annotations

import json

import pytest
from fake_traces import job_row, make_trace, write_trace

from slurmsim.cli import build_parser
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.report.compare import compare
from slurmsim.report.compare_view import as_text, figures, write_comparison
from slurmsim.trace.writer import TraceWriter


def run_of(path, starts, summary=None, **more):
    """A run whose job i (submitted at 0) starts at starts[i], None for never; 10 s each."""
    with TraceWriter(path) as writer:
        for i, start in starts.items():
            end = None if start is None else start + 10
            state = "PENDING" if start is None else "COMPLETED"
            fields = {"node_list": "n1" if start is not None else ""} | more
            writer.jobs.append(job_row(job_id=i, submit=0, start=start, end=end, state=state, **fields))
        writer.write_json("summary.json", summary or {"jobs": len(starts)})
    return path


@pytest.fixture
def pair(tmp_path):
    first = run_of(
        tmp_path / "a", {1: 100, 2: 200, 3: 300, 4: 400, 5: 500, 6: None, 7: 700},
        {"jobs": 7, "mean_wait_s": 10.0, "utilization": 0.5, "policy": "easy", "seed": 1, "max_wait_s": None},
    )  # fmt: skip
    other = run_of(
        tmp_path / "b", {1: 100, 2: 150, 3: 350, 4: 100, 5: 530, 6: 5, 8: 1},
        {"jobs": 7, "mean_wait_s": 12.5, "utilization": 0.52, "policy": "fcfs", "seed": 1, "max_wait_s": 3},
    )  # fmt: skip
    return first, other


def test_jobs_are_joined_on_their_id(pair):
    (diff,) = compare(pair).differences
    assert (diff.common, diff.only_first, diff.only_other) == (6, 1, 1)
    assert (diff.started_both, diff.started_only_first, diff.started_only_other) == (5, 0, 1)
    assert (diff.same, diff.earlier, diff.later) == (1, 2, 2)
    shifts = [0, -50, 50, -300, 30]
    assert diff.mean_shift_s == sum(shifts) / 5
    assert (diff.median_abs_shift_s, diff.max_abs_shift_s) == (50, 300)
    assert (diff.other_nodes, diff.other_state, diff.other_submit) == (0, 1, 0)


def test_the_biggest_movers_are_named_biggest_first(pair):
    (diff,) = compare(pair).differences
    assert [(m.job_id, m.shift_s, m.wait_first_s, m.wait_s) for m in diff.most_earlier] == [
        (4, -300, 400, 100), (2, -50, 200, 150),
    ]  # fmt: skip
    assert [(m.job_id, m.shift_s) for m in diff.most_later] == [(3, 50), (5, 30)]
    (one,) = compare(pair, movers=1).differences
    assert [m.job_id for m in one.most_earlier + one.most_later] == [4, 3]


def test_movers_of_equal_shift_come_by_job_id(tmp_path):
    a, b = run_of(tmp_path / "a", dict.fromkeys((9, 3, 5), 100)), run_of(tmp_path / "b", dict.fromkeys((5, 9, 3), 90))
    assert [m.job_id for m in compare([a, b]).differences[0].most_earlier] == [3, 5, 9]


def test_summary_differences(pair):
    found = compare(pair)
    assert found.delta("mean_wait_s", 1) == 2.5 and found.delta("jobs", 1) == 0
    assert [found.delta(key, 1) for key in ("policy", "seed", "max_wait_s")] == [None, None, None]
    lines = {line.split("  ")[0]: line.split() for line in as_text(found).splitlines() if line}
    assert lines["mean wait"] == ["mean", "wait", "10", "s", "12", "s", "+2.5", "s", "(+25.0", "%)"]
    assert lines["utilization"][-2:] == ["+2.0", "points"]
    assert lines["jobs"][-1] == "=" and lines["policy"] == ["policy", "easy", "fcfs"]


def test_each_further_run_is_compared_with_the_first(tmp_path, pair):
    third = run_of(tmp_path / "c", {1: 90})
    found = compare([*pair, third])
    assert found.names == ["a", "b", "c"]
    assert [d.common for d in found.differences] == [6, 1] and found.differences[1].earlier == 1


def test_runs_of_one_name_are_told_apart_by_their_parents(tmp_path):
    folders = [run_of(tmp_path / parent / "out", {1: 1}) for parent in ("easy", "fcfs")]
    assert compare(folders).names == ["easy/out", "fcfs/out"]


def test_other_nodes_and_other_submits_are_counted(tmp_path):
    a = run_of(tmp_path / "a", {1: 5, 2: 5})
    jobs = [job_row(job_id=i, submit=i - 1, start=5, end=15, node_list=f"n{i}") for i in (1, 2)]
    (diff,) = compare([a, write_trace(tmp_path / "b", jobs=jobs)]).differences
    assert (diff.other_nodes, diff.other_submit, diff.same) == (1, 1, 2)


def test_runs_of_different_logs_are_refused(tmp_path):
    """They were joined on the job id: 1996 against 2017, and "waits are 58.9 % longer"."""
    one = run_of(tmp_path / "a", {i: i for i in range(1, 9)}, user="ann")
    other = run_of(tmp_path / "b", {i: i for i in range(1, 9)}, user="bob")
    larger = run_of(tmp_path / "c", {i: i for i in range(1, 9)}, user="ann", req_nodes=2, req_cpus=2)
    far = run_of(tmp_path / "d", {i: i for i in range(101, 109)}, user="ann")
    for unlike, same in ((other, "8 have the number"), (larger, "8 have"), (far, "0 have the number")):
        with pytest.raises(ConfigError, match=f"different logs: of 8 jobs {same}.* and 0 its user and size"):
            compare([one, unlike])


def test_a_few_other_jobs_are_said(tmp_path):
    one = run_of(tmp_path / "a", {i: i for i in range(1, 9)}, user="ann")
    with TraceWriter(tmp_path / "b") as writer:
        for i in range(1, 9):
            row = job_row(job_id=i, submit=0, start=i, end=i + 10, user="bob" if i < 3 else "ann", node_list="n1")
            writer.jobs.append(row)
        writer.write_json("summary.json", {"jobs": 8})
    found = compare([one, tmp_path / "b"])
    line = "b: 2 of 8 jobs have another user or size than in a: the logs differ"
    assert as_text(found).startswith(line) and found.as_dict()["headline"] == [line]


def test_errors(tmp_path, pair):
    with pytest.raises(ConfigError, match=r"nothing to compare \(expected two or more trace folders\)"):
        compare(pair[:1])
    with pytest.raises(ConfigError, match="folder given twice"):
        compare([pair[0], pair[0] / "." / ".." / "a"])
    with pytest.raises(WorkloadError, match="no such folder"):
        compare([pair[0], tmp_path / "nowhere"])
    twice = write_trace(tmp_path / "twice", jobs=[job_row(job_id=1, submit=0, start=1, end=2)] * 2)
    with pytest.raises(WorkloadError, match=r"twice/jobs.parquet: job_id: a job id appears twice"):
        compare([pair[0], twice])


def test_overlaid_pictures_have_a_curve_for_each_run(tmp_path):
    folders = [make_trace(tmp_path / str(load), n_jobs=200, n_nodes=16, load=load) for load in (0.7, 1.2)]
    drawn = {name: figure for name, _, figure in figures(compare(folders))}
    assert list(drawn) == ["compare-waits", "compare-usage", "compare-losses", "compare-shifts"]
    assert [line.get_label() for line in drawn["compare-waits"].axes[0].lines] == ["0.7", "1.2"]
    assert [line.get_ydata()[-1] for line in drawn["compare-waits"].axes[0].lines] == [100, 100]
    top, bottom = drawn["compare-usage"].axes
    assert [len(ax.lines) for ax in (top, bottom)] == [2, 2]
    left, right = drawn["compare-shifts"].axes
    heights = [ax.lines[0].get_ydata()[0] if ax.lines else 0 for ax in (left, right)]
    (diff,) = compare(folders).differences
    assert heights == pytest.approx([100 * diff.earlier / 200, 100 * diff.later / 200])


def test_equal_runs_have_nothing_to_show_as_moved(tmp_path):
    folders = [run_of(tmp_path / name, {1: 1, 2: 2}) for name in "ab"]
    found = compare(folders)
    assert [name for name, _, _ in figures(found)] == ["compare-waits", "compare-usage"]
    assert "Moved most" not in as_text(found)


def test_written_comparison(tmp_path, pair):
    files = write_comparison(compare(pair), tmp_path / "out")
    assert [str(f.relative_to(tmp_path / "out")) for f in files] == [
        "compare.html", "compare.json", "plots/compare-waits.png", "plots/compare-usage.png",
        "plots/compare-shifts.png",
    ]  # fmt: skip
    page = files[0].read_text()
    assert page.count("data:image/png;base64,") == 2 and 'src="http' not in page  # use over time is drawn by the page
    assert page.count('class="run-data"') == 2
    assert "Moved most, earlier" in page


def command(*args):
    parser = build_parser("compare")
    parsed = parser.parse_args(["compare", *map(str, args)])
    return parsed.func(parsed)


def test_command_prints_tables_or_json(tmp_path, pair, capsys):
    assert command(*pair) == 0
    text = capsys.readouterr().out
    assert "Moved most, earlier in b" in text and "started at the same time" in text
    assert command(*pair, "--json", "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "out" / "compare.json").read_text()
    found = json.loads(printed)
    assert [run["name"] for run in found["runs"]] == ["a", "b"]
    assert found["differences"][0]["summary"]["mean_wait_s"] == 2.5
    assert found["differences"][0]["jobs"]["most_earlier"][0]["job_id"] == 4


def test_submissions_refused_in_one_run_only_are_counted(tmp_path):
    ran = [job_row(job_id=i, submit=0, start=1, end=2) for i in (1, 2)]
    refused = job_row(job_id=2, submit=0, start=None, end=None, state="REFUSED", reason="Invalid account")
    a, b = write_trace(tmp_path / "a", jobs=ran), write_trace(tmp_path / "b", jobs=[ran[0], refused])
    (diff,) = compare([a, b]).differences
    assert (diff.refused_only_first, diff.refused_only_other, diff.started_only_first) == (0, 1, 1)
    text = as_text(compare([a, b]))
    assert "refused only in the other" in text and "refused only in the first" not in text
