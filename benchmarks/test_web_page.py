"""Claim: the page of 10,000 nodes and 10,000 jobs stays fluid, and costs an idle daemon at most 1 % of a core."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from pathlib import Path

import pytest
from live_cluster import Live, judge, live

from slurmsim.live.web import start_page

NODES, JOBS = 10_000, 10_000
IDLE_S = 20
_TICKS = os.sysconf("SC_CLK_TCK")
# Milliseconds until the next picture: the table, the plan and the squares drawn anew.
DRAWN = """async () => {
  const spent = [];
  const ids = ['tab-gantt', 'later', 'earlier', 'tab-nodes', 'tab-queue'];
  for (const id of [...ids, ...ids, ...ids]) {
    const began = performance.now();
    document.getElementById(id).click();
    await new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)));
    spent.push(performance.now() - began);
  }
  return spent;
}"""


def _cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS


def _idle(c: Live, pid: int) -> tuple[float, float]:
    """Per cent of a core that the daemon and the page's server take while nothing happens."""
    before = c.cpu_s(), _cpu_s(pid)
    time.sleep(IDLE_S)
    return (c.cpu_s() - before[0]) / IDLE_S * 100, (_cpu_s(pid) - before[1]) / IDLE_S * 100


def test_web_page(tmp_path: Path) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="NOT MEASURED: the extra browser is not installed")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("NOT MEASURED: there is no chromium")
    with live(tmp_path, mode="frozen", nodes=NODES) as c, start_page(c.folder, may_change=True) as served:
        pid = served._process.pid
        c.submit(JOBS // 2, num_tasks=8)
        c.client.call("clock", action="step", seconds=30)
        c.submit(JOBS // 2, num_tasks=8, min_nodes=4000)
        c.client.call("clock", action="step", seconds=5)
        alone = _idle(c, pid)
        with api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 1360, "height": 900}).new_page()
            began = time.perf_counter()
            page.goto(served.url)
            page.wait_for_selector("#jobs-table .tabulator-row")
            opened = time.perf_counter() - began
            time.sleep(2)
            watched = _idle(c, pid)
            drawn = page.evaluate(DRAWN)
            news = []
            for k in range(5):
                job = {"name": f"news{k}", "script": "#!/bin/sh\n", "work_dir": "/tmp", "num_tasks": 1, "hold": True}
                tile = page.locator(".tile", has_text="waiting").locator("b")
                old = tile.inner_text()
                began = time.perf_counter()
                c.client.call("submit", job=job | {"priority": 0})
                while tile.inner_text() == old:
                    time.sleep(0.01)
                news.append(time.perf_counter() - began)
                time.sleep(2)
            browser.close()
    judge("web_page", {
        f"opened, {NODES:,} nodes and {JOBS:,} jobs, s": (opened, "<=", 3),
        "drawn anew, median, ms": (statistics.median(drawn), "<=", 100),
        "drawn anew, the longest, ms": (max(drawn), "<=", 400),
        "a submission shows, median, s": (statistics.median(news), "<=", 2),
        "idle, nobody looks: daemon and server, % of a core": (sum(alone), "<=", 1),
        "idle, a page is open: daemon and server, % of a core": (sum(watched), "<=", 1),
    })  # fmt: skip
