"""The page of a live cluster in a real Chromium: it follows what happens, tells whys, draws, and does what it may.

Needs the package playwright (extra ``browser``) and the distribution's Chromium, named by CHROMIUM or on the PATH.
"""

from __future__ import annotations

import os
import shutil

import pytest

import slurmsim

pytest.importorskip("starlette", reason="NOT TESTED: the page's server: the extra web is not installed")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
NAMED = "e => Boolean(e.ariaLabel || e.textContent.trim() || e.labels?.length || e.title)"
HOSTILE = "<img src=x onerror=document.title=1>"


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


class Shown:
    """The page of a cluster, and what it said and asked for meanwhile."""

    def __init__(self, browser, url: str, **options: object) -> None:
        from playwright.sync_api import expect

        self.expect = expect
        self.context = browser.new_context(viewport={"width": 1300, "height": 900}, **options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready=yes]", timeout=20_000)
        self.home = url.partition("?")[0]

    def tile(self, name: str, value: str) -> None:
        """Wait until a tile shows that."""
        tile = self.page.locator(".tile", has_text=name).locator("b")
        self.expect(tile).to_have_text(value)

    def close(self) -> None:
        self.context.close()
        assert self.said == [] and all(url.startswith((self.home, "data:")) for url in self.asked)


@pytest.fixture
def cluster():
    with slurmsim.cluster(nodes=6, frozen=True, start=1_767_600_000) as c:
        yield c


def test_a_cluster_is_watched_and_changed(browser, cluster):
    cluster.run(["sbatch", "-J", HOSTILE, "-N", "6", "--exclusive", "-t", "60", "--wrap", "sleep 1800"], check=True)
    cluster.run("sbatch -J second -N 2 -t 30 --wrap 'sleep 600'", check=True)
    with cluster.web(control=True) as served:
        shown = Shown(browser, served.url)
        page, expect = shown.page, shown.expect
        assert page.url == shown.home  # the key is not left in the address
        shown.tile("waiting", "2")
        page.fill("#step-by", "2m")
        page.get_by_role("button", name="Step").click()
        shown.tile("running", "1")
        cluster.run("sbatch -J third --hold --wrap true", check=True)
        shown.tile("waiting", "2")  # nobody touched the page
        expect(page.locator("#count")).to_have_text("3 of 3 jobs")
        page.get_by_label("filter by name").press_sequentially("second")
        expect(page.locator("#count")).to_have_text("1 of 3 jobs")
        page.get_by_role("button", name="show 2", exact=True).click()
        expect(page.locator("#why")).to_contain_text("Planned start")
        expect(page.locator("#facts")).to_contain_text("PENDING")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Clear filters").click()
        expect(page.locator("#jobs-table")).to_contain_text(HOSTILE)
        assert page.title() == "cluster: slurmsim"

        page.get_by_role("tab", name="Plan").click()
        box = page.locator("#plan").bounding_box()
        page.mouse.move(box["x"] + 84 + (box["width"] - 84) / 2 + 8, box["y"] + 10)  # just after now
        expect(page.locator("#tip")).to_contain_text("Job 1")
        page.mouse.down()
        page.mouse.up()
        expect(page.locator("#job-title")).to_contain_text("Job 1")
        page.get_by_role("button", name="Close").click()

        page.get_by_role("tab", name="Nodes").click()
        page.get_by_role("button", name="show n3", exact=True).click()
        page.get_by_role("button", name="Drain").click()
        expect(page.locator("#facts")).to_contain_text("DRAIN")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#facts")).not_to_contain_text("DRAIN")
        page.keyboard.press("Escape")

        page.get_by_role("tab", name="Faults").click()
        page.select_option("#fault-what", "slow")
        page.fill("#fault-given", "command=squeue seconds=1s")
        page.get_by_role("button", name="Switch on").click()
        expect(page.locator("#faults-body")).to_contain_text("command=squeue")
        page.get_by_role("button", name="Switch off fault 1").click()
        expect(page.locator("#faults-body")).to_have_text("None.")
        page.fill("#fault-given", "nonsense=1")
        page.get_by_role("button", name="Switch on").click()
        expect(page.locator("#said")).to_contain_text("nonsense")
        shown.said.clear()  # the browser notes the refusal
        page.get_by_role("tab", name="Partitions").click()
        expect(page.locator("#partitions-body")).to_contain_text("batch")
        page.get_by_role("tab", name="Fair share").click()
        expect(page.locator("#shares-body")).to_contain_text("root")
        cluster.stop()
        expect(page.locator("#away")).to_contain_text("does not answer")
        cluster.start()
        expect(page.locator("#away")).to_be_hidden()
        shown.close()


def test_who_only_watches_has_no_switches_and_every_control_has_a_name(browser, cluster):
    cluster.run("sbatch -N 2 -a 0-3 --wrap 'sleep 60'", check=True)
    with cluster.web() as served:
        shown = Shown(browser, served.url, color_scheme="dark")
        page = shown.page
        for name in ("Plan", "Nodes", "Partitions", "Fair share", "Faults", "Queue"):
            page.get_by_role("tab", name=name).click()
            for role in ("button", "combobox", "textbox", "checkbox"):
                for one in page.get_by_role(role).all():
                    assert not one.is_visible() or one.evaluate(NAMED), name
        assert not page.get_by_role("button", name="Step").is_visible()
        page.locator("#tab-queue").press("ArrowRight")
        shown.expect(page.locator("#plan")).to_be_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        shown.close()
