"""The report folder and its page."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from fake_traces import job_row, make_trace, write_trace

from slurmsim.cli import build_parser
from slurmsim.errors import ConfigError, OutputError, WorkloadError
from slurmsim.report.build import build_report
from slurmsim.report.plots import FIGURES
from slurmsim.trace.writer import TraceWriter

NAMES = [kind.name for kind in FIGURES]


class Checked(HTMLParser):
    """Collects tags and text; fails on tags that do not match."""

    VOID = frozenset({"meta", "img", "br", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_trace(tmp_path_factory.mktemp("report") / "t", n_jobs=80, n_nodes=10)


@pytest.fixture(scope="module")
def files(folder):
    return build_report(folder, formats=("png", "svg"))


@pytest.fixture(scope="module")
def page(files):
    return files[0].read_text(encoding="utf-8")


def test_files(folder, files):
    wanted = [f"plots/{name}.{kind}" for name in NAMES for kind in ("png", "svg")]
    assert [str(f.relative_to(folder)) for f in files] == ["report.html", *wanted]
    for file in files[1:]:
        head = file.read_bytes()[:200]
        assert head.startswith(b"\x89PNG") if file.suffix == ".png" else b"<?xml" in head
    assert not list(folder.glob("**/*.partial"))


def test_a_run_has_the_pictures_of_its_page_as_files(tmp_path):
    folder = make_trace(tmp_path / "t", n_jobs=80, n_nodes=10)
    page, *files = build_report(folder, formats=())
    assert [file.parent for file in files] == 3 * [folder / "plots"]
    inside = re.findall(r"<svg [^>]*font-family.*?</svg>", page.read_text("utf-8"), re.DOTALL)
    for file, element in zip(files, inside, strict=True):
        root = ElementTree.parse(file).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert file.read_text("utf-8").partition(">")[2] == element.partition(">")[2]


def test_the_page_is_whole_and_needs_no_network(page):
    found = Checked(page)
    captions = [attrs["aria-label"] for _, attrs in found.tags if attrs.get("role") == "img"]
    assert len(captions) == 3 and set(captions) <= set(found.cells)
    assert not {"img", "link", "iframe", "base", "form", "object", "embed"} & {tag for tag, _ in found.tags}
    assert not [attrs for tag, attrs in found.tags if tag == "script" and "src" in attrs]
    assert not re.search(
        r"(src|href)=\"(?!data:)|url\(|@import", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    )
    # The only addresses are a name space and a home page in a comment of a library.
    assert set(re.findall(r"https?://[^\s\"'`)]*", page)) <= {
        "http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"
    }  # fmt: skip
    assert "prefers-color-scheme: dark" in page


def test_the_content_policy_names_the_scripts_by_their_hashes_and_nothing_else(page):
    (policy,) = [a["content"] for tag, a in Checked(page).tags if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    assert not {"connect-src", "font-src", "frame-src"} & set(rules)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert rules["script-src"] == " ".join(f"'sha256-{one}'" for one in hashes) and len(hashes) == 5


def test_the_page_has_numbers_quality_findings_and_what_it_takes_to_repeat(page):
    cells = Checked(page).cells
    for text in (
        "made-up.swf under easy", "Cluster fake: 10 nodes, 160 CPUs", "mean bounded slowdown",
        "run time longer than requested", "12", "size is zero", "line 17: job 12",
        "slurm.conf:7", "PreemptType=preempt/qos", "preemption is not modelled",
        "workload_sha256", "cd" * 32, "seed", "options: policy",
    ):  # fmt: skip
        assert text in cells, text


def test_the_longest_waits_are_named_longest_first(folder, page):
    from slurmsim.report.breakdown import longest_waits
    from slurmsim.report.rundata import RunData
    from slurmsim.trace.reader import read_trace

    data = RunData(read_trace(folder))
    lines = longest_waits(data)
    waits = sorted(data.waits.tolist(), reverse=True)
    assert [line.wait_s for line in lines] == waits[:10]
    table = page.split("Longest waits")[1].split("<h3>")[0]
    assert re.findall(r'<td class="l w">(\d+)</td>', table) == [str(line.job_id) for line in lines]


def test_the_longest_wait_of_each_width(folder, page):
    from slurmsim.report.breakdown import longest_wait_by_width
    from slurmsim.report.rundata import RunData
    from slurmsim.trace.reader import read_trace

    data = RunData(read_trace(folder))
    found = longest_wait_by_width(data)
    started = data.jobs.started
    assert sum(n for _, n, _ in found) == int(started.sum())
    for name, n, wait in found:
        first, last = (int(x) for x in (name.split("-") * 2)[:2])
        inside = started & (data.jobs.nodes >= first) & (data.jobs.nodes <= last)
        assert first == last == 1 or last == 2 * first - 1
        assert (n, wait) == (int(inside.sum()), int(data.waits[inside].max()))
    assert "<h3>By width</h3>" in page


def test_a_task_has_one_name_everywhere(tmp_path):
    from slurmsim.report.compare import compare
    from slurmsim.report.compare_view import as_text

    task = {"job_id": 7, "array_job_id": 3, "array_task_id": 25, "submit": 0, "end": 9000}
    for name, start in (("a", 100), ("b", 900)):
        write_trace(tmp_path / name, jobs=[job_row(**task, start=start), job_row(job_id=8, submit=0, start=0, end=9)])
    page = build_report(tmp_path / "a")[0].read_text("utf-8").split("Longest waits")[1]
    assert '<td class="l w">3_25</td>' in page and '<td class="l w">8</td>' in page
    assert "\n3_25  " in as_text(compare([tmp_path / "a", tmp_path / "b"]))


def test_measures_by_class(tmp_path):
    from slurmsim.report.breakdown import by_class
    from slurmsim.report.rundata import RunData
    from slurmsim.trace.reader import read_trace

    jobs = [
        job_row(job_id=1, submit=0, start=10, end=10 + 3600, cpus=2, user="a"),
        job_row(job_id=2, submit=0, start=30, end=30 + 3600, cpus=1, user="a"),
        job_row(job_id=3, submit=0, start=0, end=7200, cpus=8, user="b"),
        job_row(job_id=4, submit=0, start=None, end=5, cpus=8, user="c"),
    ]
    data = RunData(read_trace(write_trace(tmp_path / "t", jobs=jobs)))
    b, a, c = by_class(data, data.labels("user"))
    assert (b.name, b.jobs, b.cpu_hours) == ("b", 1, 16)
    assert (a.name, a.jobs, a.cpu_hours, a.mean_wait_s, a.median_wait_s, a.p95_wait_s) == ("a", 2, 3, 20, 20, 29)
    assert (c.name, c.jobs, c.started, c.mean_wait_s) == ("c", 1, 0, None)


def test_the_same_trace_gives_the_same_bytes(folder, files):
    before = [f.read_bytes() for f in files]
    assert [f.read_bytes() for f in build_report(folder, formats=("png", "svg"))] == before


def test_names_from_the_log_cannot_break_the_page(tmp_path):
    jobs = [
        job_row(job_id=i, submit=0, start=0, end=9, user="<script>alert(1)</script>", node_list="n1") for i in (1, 2)
    ]
    text = build_report(write_trace(tmp_path / "t", jobs=jobs, policy="<b>"))[0].read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text and "\\u003cscript\\u003ealert" in text
    Checked(text)


def test_a_partial_trace_says_so(tmp_path):
    writer = TraceWriter(tmp_path / "t")
    writer.jobs.append(job_row(job_id=1, submit=0, start=0, end=None, state="RUNNING"))
    page = build_report(writer.close(partial=True))[0].read_text()
    assert "The run was interrupted" in page


LOADED = (
    "import sys; from slurmsim.report.build import build_report\n"
    "print([f.name for f in build_report(sys.argv[1]{})], [m for m in ('matplotlib', 'pandas') if m in sys.modules])"
)


def loaded(folder, more=""):
    """Files of a report made in a process of its own, and the heavy modules that took."""
    command = [sys.executable, "-c", LOADED.format(more), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_one_job_needs_no_picture_and_no_matplotlib(tmp_path):
    write_trace(tmp_path / "t", jobs=[job_row(job_id=1, submit=0, start=0, end=5, node_list="n1")])
    assert loaded(tmp_path / "t") == "['report.html'] []"


def test_what_a_run_draws_needs_no_matplotlib_and_the_page_is_the_same(tmp_path, folder, page):
    shutil.copytree(folder, tmp_path / "t")
    (tmp_path / "t" / "report.html").unlink()
    shutil.rmtree(tmp_path / "t" / "plots")
    assert loaded(tmp_path / "t", ", formats=()") == "['report.html', 'waits.svg', 'backfill.svg', 'slowdown.svg'] []"
    assert (tmp_path / "t" / "report.html").read_text(encoding="utf-8") == page


def test_an_empty_trace_has_a_page(tmp_path):
    text = build_report(write_trace(tmp_path / "t"))[0].read_text()
    Checked(text)
    assert "<img" not in text and "run-data" not in text


def test_errors(tmp_path, folder):
    with pytest.raises(WorkloadError, match="no such folder"):
        build_report(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"unknown picture format 'gif' \(expected png or svg\)"):
        build_report(folder, formats=("gif",))
    blocked = write_trace(tmp_path / "t")
    (blocked / "report.html").mkdir()
    with pytest.raises(OutputError, match=r"report.html: cannot write: Is a directory"):
        build_report(blocked)


def test_command(folder, capsys):
    parser = build_parser("report")
    args = parser.parse_args(["report", str(folder)])
    assert args.func(args) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(folder / "report.html"), *(str(folder / "plots" / f"{name}.png") for name in NAMES)
    ]  # fmt: skip
