"""Claim: the page of a run of 100,000 jobs is smaller than 25 MB, opens in Chromium within 2 s and asks nobody."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from live_cluster import judge

import slurmsim

JOBS = 100_000
OPENED = 5
ZOOM = """async () => {
  const spent = [];
  for (const id of ['zoom-in', 'zoom-in', 'later', 'zoom-in', 'earlier', 'zoom-out', 'zoom-out', 'whole']) {
    const began = performance.now();
    document.getElementById(id).click();
    await new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)));
    spent.push(performance.now() - began);
  }
  return spent;
}"""


def test_report_page(tmp_path: Path) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="NOT MEASURED: the extra browser is not installed")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("NOT MEASURED: there is no chromium")
    slurmsim.run(f"generate:mix:jobs={JOBS},nodes=128", nodes=128, cpus_per_node=64, out=tmp_path / "run")
    page_file = tmp_path / "run" / "report.html"
    opened, asked = [], []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(OPENED):
            page = browser.new_context(viewport={"width": 1360, "height": 900}).new_page()
            page.on("request", lambda request: asked.append(request.url))
            began = time.perf_counter()
            page.goto(page_file.as_uri())
            page.wait_for_selector("#jobs-table .tabulator-row")
            opened.append(time.perf_counter() - began)
        zooms = sorted(page.evaluate(ZOOM))
        browser.close()
    assert asked == [page_file.as_uri()] * OPENED
    judge(
        "report_page",
        {
            "size, MB": (page_file.stat().st_size / 1e6, "<=", 25),
            "opened, median, s": (sorted(opened)[OPENED // 2], "<=", 2),
            "a zoom, median, ms": (zooms[len(zooms) // 2], "<=", 100),
        },
    )
