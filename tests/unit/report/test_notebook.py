"""Traces and comparisons show themselves in a notebook."""

from __future__ import annotations

from fake_traces import make_trace, write_trace

from slurmsim.report.compare import compare
from slurmsim.trace.reader import read_trace


def test_a_trace_shows_its_summary_with_dates(tmp_path):
    trace = read_trace(make_trace(tmp_path / "t", n_jobs=20, n_nodes=4))
    shown = trace._repr_html_()
    assert "mean wait" in shown and "20" in shown and "2011-0" in shown  # first_submit is a date
    assert repr(trace).replace("'", "&#39;") in shown and "<html" not in shown and "<style" not in shown


def test_a_trace_without_a_summary_and_with_a_hostile_name(tmp_path):
    folder = write_trace(tmp_path / "<b>t")
    assert "<b>t" not in read_trace(folder)._repr_html_()


def test_a_comparison_shows_its_differences(tmp_path):
    folders = [make_trace(tmp_path / name, n_jobs=20, n_nodes=4, seed=1) for name in "ab"]
    shown = compare(folders)._repr_html_()
    assert "a against b" in shown and "jobs in both runs" in shown and "mean wait" in shown
