"""The page of a run in a real Chromium: clicked, filtered, zoomed, hovered; by day and by night; and it asks nobody.

Needs the package playwright (extra ``browser``) and the distribution's Chromium, named by CHROMIUM or on the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from fake_traces import job_row, make_trace, write_trace

import slurmsim
from slurmsim.report.build import build_report
from slurmsim.report.text import duration

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
HOSTILE = "</script><img src=x onerror=\"document.title='run'\"><b>&amp;\u2028'\"`${1}"
SEEN = HOSTILE.replace("\u2028", "\\u2028")
"""As pages show it (`slurmsim.shown`)."""
N_JOBS = 120


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("NOT TESTED: pages in a browser: the package playwright is not installed (extra browser)")
    if CHROMIUM is None:
        pytest.skip("NOT TESTED: pages in a browser: there is no chromium (apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return build_report(make_trace(tmp_path_factory.mktemp("browser") / "t", n_jobs=N_JOBS, n_nodes=8))[0]


class Shown:
    """A page that is ready, and what it said, asked for and was refused meanwhile."""

    def __init__(self, browser, file: Path, **options: object) -> None:
        from playwright.sync_api import expect

        self.expect = expect
        self.context = browser.new_context(viewport={"width": 1300, "height": 900}, **options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = file.as_uri()
        self.page.goto(self.url)
        self.page.wait_for_selector("html[data-ready=yes]", timeout=20_000)

    def rows(self) -> list[list[str]]:
        """Texts of the cells of the table of jobs."""
        script = "rows => rows.map(r => [...r.querySelectorAll('.tabulator-cell')].map(c => c.textContent))"
        found: list[list[str]] = self.page.eval_on_selector_all("#jobs-table .tabulator-row", script)
        return found

    def count(self, n: int) -> None:
        """Wait until so many jobs pass the filters."""
        self.expect(self.page.locator("#count")).to_have_text(f"{n} of {N_JOBS} jobs")

    def filter(self, field: str, value: str) -> None:
        """Type a filter of the table."""
        self.page.get_by_label(f"filter jobs by {field}", exact=True).press_sequentially(value)

    def story(self, button, text: str) -> None:
        """Click until the panel's title has that text: a row may be drawn anew while it is clicked."""
        button.click()
        title = self.page.locator("#job-title")
        try:
            self.expect(title).to_contain_text(text, timeout=3_000)
        except AssertionError:
            button.click()
            self.expect(title).to_contain_text(text)

    def close(self) -> None:
        self.context.close()
        assert self.said == [] and self.asked == [self.url]


@pytest.fixture
def shown(browser, report):
    made = Shown(browser, report)
    yield made
    made.close()


def test_every_job_is_in_the_table_and_filters_and_sorts(shown, report):
    from slurmsim.trace.reader import read_trace

    frame = read_trace(report.parent).jobs_frame()
    shown.count(N_JOBS)
    longest = frame.sort_values(["wait_s"], ascending=False)["job_id"].iloc[0]
    rows = shown.rows()
    assert rows[0][0] == str(longest) and len(rows) == 15
    user = frame["user"].iloc[0]
    shown.filter("user", f"={user}")
    shown.count((frame["user"] == user).sum())
    shown.filter("nodes", ">= 2")
    shown.count(((frame["user"] == user) & (frame["nodes"] >= 2)).sum())
    shown.page.click("#clear")
    shown.count(N_JOBS)
    shown.filter("run time", "> 1h")
    shown.count((frame["run_time_s"] > 3600).sum())
    shown.page.locator(".tabulator-col[tabulator-field=run] .tabulator-col-sorter").click()
    most = frame.sort_values(["run_time_s"], ascending=False)["job_id"].iloc[0]
    shown.expect(shown.page.locator("#jobs-table .tabulator-row").first).to_contain_text(str(most))
    shown.filter("job", "no such job")
    shown.count(0)


def test_zoom_by_dragging_buttons_and_keys_and_the_jobs_in_view(shown):
    page = shown.page
    whole = page.inner_text("#shown")
    page.locator("#gantt").scroll_into_view_if_needed()
    box = page.locator("#gantt .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 52, steps=3)
    page.mouse.up()
    zoomed = page.inner_text("#shown")
    assert zoomed != whole
    page.check("#in-view")
    shown.expect(page.locator("#count")).not_to_have_text(f"{N_JOBS} of {N_JOBS} jobs")
    acts = (lambda: page.click("#later"), lambda: page.locator("#gantt").press("+"), lambda: page.click("#whole"))
    for act in acts:
        before = page.inner_text("#shown")
        act()
        assert page.inner_text("#shown") != before
    assert page.inner_text("#shown") == whole
    shown.count(N_JOBS)


def test_hover_names_a_job_and_a_click_tells_its_why(shown):
    page = shown.page
    page.locator("#gantt").scroll_into_view_if_needed()
    box = page.locator("#gantt .u-over").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.move(box["x"] + 3, box["y"] + 4)
    tip = page.inner_text("#tip")
    assert tip.startswith("Job ") and "waited" in tip and "on n1" in tip
    page.mouse.down()
    page.mouse.up()
    assert page.inner_text("#job-title").replace("(", "").replace(")", "") == tip.splitlines()[0]
    assert "slurmsim why" in page.inner_text("#job-body")
    page.keyboard.press("Escape")
    shown.expect(page.locator("#job")).to_be_hidden()
    button = page.get_by_role("button", name="show job").first
    button.scroll_into_view_if_needed()  # the table draws its rows when it is scrolled to
    shown.expect(button).to_be_in_viewport()
    button.click()
    shown.expect(page.locator("#job")).to_be_visible()
    shown.expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Enter")
    shown.expect(page.locator("#job")).to_be_hidden()
    shown.expect(page.get_by_role("button", name="show job").first).to_be_focused()


def test_the_story_of_a_job_is_that_of_why(browser, tmp_path):
    from slurmsim.why import explain
    from slurmsim.why.text import as_text

    log = "; MaxNodes: 4\n; MaxProcs: 8\n" + "".join(
        f"{job} {submit} -1 {run} {procs} -1 -1 {procs} {asked} -1 1 {job} 1 -1 1 1 -1 -1\n"
        for job, submit, run, procs, asked in (
            (1, 0, 1000, 6, 1200), (2, 1, 500, 8, 600), (3, 20, 100, 2, 3600), (4, 31, 60, 2, 60), (5, 40, 90, 8, 90),
        )
    )  # fmt: skip
    (tmp_path / "log.swf").write_text(log)
    trace = slurmsim.run(tmp_path / "log.swf", out=tmp_path / "t")
    shown = Shown(browser, tmp_path / "t" / "report.html")
    for job in (1, 2, 3, 4, 5):
        shown.story(shown.page.get_by_role("button", name=f"show job {job}", exact=True), f"Job {job}")
        told, said = shown.page.inner_text("#job-body"), as_text(explain(trace, job))
        for span in explain(trace, job).spans:
            assert span.reason in told and duration(span.end - span.begin) in told and span.rule in told
            for other in span.first_in_line:
                assert f"job {other.job_id} of {other.user}" in told
        for sentence in re.findall(r"While it stood in line .*", said):
            assert sentence in told
        shown.page.keyboard.press("Escape")
    assert "First in line meanwhile: job 2" in told
    shown.close()


def test_a_user_is_one_click_from_their_jobs(shown):
    row = shown.page.locator("#classes-table .tabulator-row").first
    user, jobs = row.locator(".tabulator-cell").all_inner_texts()[:2]
    row.get_by_role("button").click()
    shown.count(int(jobs))
    assert all(user in cells for cells in shown.rows())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_by_day_by_night_and_at_a_click(browser, report, scheme):
    shown = Shown(browser, report, color_scheme=scheme)
    page = shown.page
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('figure')).backgroundColor"
    first = page.evaluate(paper)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate(ink) == "rgb(255, 255, 255)"  # pictures are not inverted
    page.click("#theme")
    assert page.evaluate(paper) != first
    assert page.evaluate("document.documentElement.dataset.theme") != scheme
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    shown.close()


def test_everything_one_can_use_has_a_name(shown):
    unnamed = shown.page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, [tabindex="0"], img')].filter(e =>
             !(e.getAttribute('aria-label') || e.alt || e.title || e.textContent.trim() || e.labels?.length)
             && e.offsetParent !== null && !e.closest('.tabulator-col, .tabulator-tableholder')
           ).map(e => e.outerHTML)"""
    )
    assert unnamed == []
    assert shown.page.get_by_role("grid", name="All jobs").count() == 1
    assert shown.page.get_by_role("group", name="Gantt chart").count() == 1
    assert shown.page.get_by_role("searchbox", name="filter jobs by user").count() == 1


def test_a_grid_holds_rows_only_and_what_scrolls_can_be_reached(shown):
    """What axe-core asks: no controls among the rows of a grid, no scrolled card without the keyboard's focus."""
    footers = "[...document.querySelectorAll('[role=grid] > .tabulator-footer')].length"
    assert shown.page.evaluate(footers) == 0
    assert shown.page.locator("#jobs-section .tabulator.foot .tabulator-page").count() > 3
    lost = (
        "[...document.querySelectorAll('.card')].filter((c) => c.scrollWidth > c.clientWidth && c.tabIndex < 0).length"
    )
    assert shown.page.evaluate(lost) == 0
    assert shown.page.evaluate("[...document.querySelectorAll('th')].filter((h) => !h.textContent).length") == 0


def test_four_screens_and_all_parts_on_paper(shown):
    """What most readers want is on four screens; a part is opened by a click, and all are for the printer."""
    assert shown.page.evaluate("document.documentElement.scrollHeight") <= 4 * shown.page.viewport_size["height"]
    parts = "[...document.querySelectorAll('details.more')].filter((part) => part.open).length"
    total = shown.page.locator("details.more").count()
    assert total >= 4 and shown.page.evaluate(parts) == 0
    shown.page.get_by_text("Longest waits", exact=True).click()
    assert shown.page.evaluate(parts) == 1
    shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.page.evaluate(parts) == total
    shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert shown.page.evaluate(parts) == 1


def test_hostile_names_stay_text(browser, tmp_path):
    jobs = [
        job_row(job_id=i, submit=0, start=10 * i, end=10 * i + 9, node_list="n1", user=HOSTILE, account=HOSTILE,
                name=HOSTILE, partition=HOSTILE, reason=HOSTILE, qos=HOSTILE)
        for i in (1, 2, 3)
    ]  # fmt: skip
    shown = Shown(browser, build_report(write_trace(tmp_path / "t", jobs=jobs, policy=HOSTILE))[0])
    page = shown.page
    shown.story(page.get_by_role("button", name="show job").first, "Job ")
    assert SEEN in page.text_content("#job-title") and SEEN in page.text_content("#job-body")
    assert SEEN in shown.rows()[0] and SEEN in page.text_content("h1") and page.title() != "run"
    assert SEEN in page.text_content("#classes-table .tabulator-row")
    assert page.locator("#workbench img, #job img, #job b").count() == 0
    shown.close()


def test_earlier_runs_are_in_the_gantt_chart(browser, tmp_path):
    jobs = [job_row(job_id=7, submit=0, start=600, end=1000, node_list="n1", restarts=1, state="COMPLETED"),
            job_row(job_id=8, submit=0, start=0, end=1000, node_list="n3", state="COMPLETED")]  # fmt: skip
    earlier = [job_row(job_id=7, submit=0, start=100, end=400, node_list="n2", state="NODE_FAIL"),
               job_row(job_id=8, submit=0, start=0, end=500, node_list="n[3-4]", state="RESIZING")]  # fmt: skip
    shown = Shown(browser, build_report(write_trace(tmp_path / "t", jobs=jobs, requeued=earlier))[0])
    page = shown.page
    page.locator("#gantt").scroll_into_view_if_needed()
    box = page.locator("#gantt .u-over").bounding_box()

    def at(t, row):
        page.mouse.move(box["x"] + box["width"] * t / 1000, box["y"] + box["height"] * (row + 0.5) / 4, steps=3)

    tip = page.locator("#tip")
    at(250, 1)
    shown.expect(tip).to_contain_text("Job 7")
    shown.expect(tip).to_contain_text("earlier run, NODE_FAIL, on n2")
    shown.expect(tip).to_contain_text("ran 5 min")
    at(800, 0)
    shown.expect(tip).to_contain_text("COMPLETED, on n1")
    at(250, 3)
    shown.expect(tip).to_contain_text("earlier size, on n4")
    at(250, 2)
    shown.expect(tip).to_contain_text("earlier size, on n3")  # where the last size has not begun
    at(700, 2)
    shown.expect(tip).to_contain_text("COMPLETED, on n3")
    at(700, 1)
    shown.expect(tip).to_be_hidden()
    shown.expect(page.locator("#legend")).to_contain_text("pale: earlier runs and sizes")
    at(250, 1)
    page.mouse.down()
    page.mouse.up()
    shown.expect(page.locator("#job-body")).to_contain_text("earlier run")
    shown.expect(page.locator("#job-body")).to_contain_text("for 5 min, NODE_FAIL")
    shown.close()


@pytest.mark.slow
def test_a_comparison_has_the_same_parts_for_each_run(browser, tmp_path):
    from slurmsim.report.compare import compare
    from slurmsim.report.compare_view import write_comparison

    folders = [
        make_trace(tmp_path / name, n_jobs=N_JOBS, n_nodes=8, load=load) for name, load in (("a", 0.7), ("b", 1.2))
    ]
    found = compare(folders)
    shown = Shown(browser, write_comparison(found, tmp_path / "out")[0])
    page = shown.page
    shown.count(N_JOBS)
    assert page.locator("#series h3").all_inner_texts() == ["CPUs in use, of 128", "Pending jobs", "Running jobs"]
    shown.filter("earlier in b", "> 0")
    shown.count(found.differences[0].earlier)
    page.click("#clear")
    shown.filter("later in b", "> 0")
    shown.count(found.differences[0].later)
    page.select_option("#which", label="b")
    page.wait_for_url("**#run=1")
    page.wait_for_selector("html[data-ready=yes]", timeout=20_000)
    shown.filter("earlier in a", "> 0")
    shown.count(found.differences[0].later)
    assert page.locator("#which option:checked").inner_text() == "b"
    shown.asked = shown.asked[:1]  # the page itself, again
    shown.close()
