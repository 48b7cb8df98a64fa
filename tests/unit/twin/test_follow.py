"""Dump after dump: what the last twin missed, what fails without an end, and the gauges."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import small_dump as small
from prometheus_client.parser import text_string_to_metric_families

from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.twin.drift import Drift
from slurmsim.twin.dump import Dump
from slurmsim.twin.follow import MOST_REASONS, OTHER, Follower, Round, Totals, as_gauges, as_line
from slurmsim.twin.gauge_port import GAUGES, GaugePort

LATER = small.NOW + 60
WHOLE = {"NumCPUs": "4", "NumTasks": "4"}
BEFORE = Dump("now", {**small.FILES, "job.txt": small.RUNNING + small.job(2, **WHOLE) + small.job(3, **WHOLE)})


def _later(*jobs: str, at: int = LATER) -> Dump:
    """Return the dump a minute later, or `at` another instant, with these jobs."""
    texts = {**small.FILES, "job.txt": "".join(jobs)}
    texts["about.txt"] = texts["about.txt"].replace(str(small.NOW), str(at)).replace(str(small.NOW + 1), str(at + 1))
    return Dump("later", texts)


def _ran(number: int, end: str) -> str:
    return small.job(number, JobState="COMPLETED", Reason="None", NodeList="a1", StartTime="2026-01-05T08:05:00",
                     EndTime=end, **WHOLE)  # fmt: skip


def _runs(number: int, start: str) -> str:
    return small.job(number, JobState="RUNNING", Reason="None", NodeList="a1", StartTime=start,
                     EndTime="2026-01-05T09:10:00", NumNodes="1", **WHOLE)  # fmt: skip


def test_a_start_that_ours_makes_too_is_foreseen() -> None:
    follower = Follower()
    first = follower.round(BEFORE)
    assert (first.drift, first.running, first.waiting, first.nodes) == (None, 1, 2, 2)
    later = _later(_ran(1, "2026-01-05T08:10:20"), _runs(2, "2026-01-05T08:10:21"), small.job(3, **WHOLE))
    found = follower.round(later).drift
    assert found is not None
    assert (found.starts, found.foreseen, found.same_nodes, found.missed, found.early) == (1, 1, 1, {}, {})


def test_another_order_is_told_with_both_reasons() -> None:
    follower = Follower()
    follower.round(BEFORE)
    waits = small.job(2, Reason="Licenses", **WHOLE)
    one = follower.round(_later(_ran(1, "2026-01-05T08:10:05"), waits, _runs(3, "2026-01-05T08:10:06")))
    assert one.drift is not None
    assert one.drift.missed in ({"Resources": ["3"]}, {"Priority": ["3"]})
    assert one.drift.early == {"Licenses": ["2"]}
    assert "2 waits, and started in ours: Licenses" in as_line(one)


@pytest.mark.parametrize("apart", [-3600, 400 * 86_400])
def test_a_dump_of_another_time_is_as_the_first(apart: int) -> None:
    """Nothing is foreseen over years, whatever a dump says of its instant."""
    follower = Follower()
    follower.round(BEFORE)
    assert follower.round(_later(small.job(2, **WHOLE), at=small.NOW + apart)).drift is None
    assert follower.round(_later(small.job(2, **WHOLE), at=small.NOW + apart + 60)).drift is not None


def test_reasons_of_all_rounds_are_bounded() -> None:
    totals = Totals()
    for k in range(3 * MOST_REASONS):
        totals.add(Round(k, 0, 0, 0, 0, 0.0, Drift(starts=1, missed={f"reason {k}": ["1"]}), 0))
    assert len(totals.reasons) <= MOST_REASONS + 1
    assert totals.reasons["missed", OTHER] == 2 * MOST_REASONS


def test_gauges_are_read_by_prometheus() -> None:
    totals = Totals(failed=2)
    one = Round(3, small.NOW, 4, 5, 6, 0.25, Drift(starts=3, foreseen=2, missed={'say "\\hi"\n': ["1"]}), 0)
    totals.add(one)
    families = text_string_to_metric_families(as_gauges(one, totals))
    samples = [sample for family in families for sample in family.samples]
    found = {sample.name + str(sorted(sample.labels.items())): sample.value for sample in samples}
    assert found["slurmsim_twin_time_seconds[]"] == small.NOW
    assert found["slurmsim_twin_jobs[('state', 'pending')]"] == 5
    assert found["slurmsim_twin_starts_total[]"] == 3
    assert found["slurmsim_twin_rounds_total[('result', 'failed')]"] == 2
    assert found["slurmsim_twin_drift_total" + str(sorted({"kind": "missed", "reason": 'say "\\hi"\n'}.items()))] == 1


def test_a_round_that_fails_is_a_line_and_the_next_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write(tmp_path / "dump")
    with tarfile.open(tmp_path / "good.tar", "w") as tar:
        tar.add(tmp_path / "dump", "dump")
    (tmp_path / "bad.tar").write_text("no tar\n" * 100)
    script = (
        "import pathlib, sys; p = pathlib.Path('n'); n = int(p.read_text()) if p.exists() else 0; "
        "p.write_text(str(n + 1)); n == 2 and sys.exit('gone'); "
        "sys.stdout.buffer.write(pathlib.Path('bad.tar' if n == 1 else 'good.tar').read_bytes())"
    )
    gauges = tmp_path / "twin.prom"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        words = ["twin", "follow", "--every", "1s", "--rounds", "4", "--metrics", str(gauges)]
        assert main([*words, "--", sys.executable, "-c", script]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    wrong = said.err.splitlines()
    assert len(wrong) == 2
    assert "is no dump" in wrong[0]
    assert wrong[1].endswith("ended with 1: gone")
    assert 'slurmsim_twin_rounds_total{result="failed"} 2' in gauges.read_text()


def test_gauges_are_served_on_a_port() -> None:
    port = GaugePort(0)
    address = f"http://127.0.0.1:{port.number}"
    try:
        port.tell("slurmsim_twin_jobs 3\n")
        with urlopen(f"{address}/metrics") as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (b"slurmsim_twin_jobs 3\n", GAUGES)
        with urlopen(f"{address}/healthz") as answer:
            assert answer.read() == b"ok\n"
        for target, method, status in (("/etc/passwd", "GET", 404), ("/metrics", "POST", 405)):
            with pytest.raises(HTTPError) as refused:
                urlopen(Request(address + target, method=method))
            assert refused.value.code == status
        with pytest.raises(ConfigError, match="--port"):
            GaugePort(port.number)
    finally:
        port.close()


def test_follow_serves_its_gauges_while_it_runs(tmp_path: Path) -> None:
    small.write(tmp_path / "dump")
    with tarfile.open(tmp_path / "good.tar", "w") as tar:
        tar.add(tmp_path / "dump", "dump")
    words = ["-m", "slurmsim", "twin", "follow", "--every", "600s", "--port", "0", "--", "cat", "good.tar"]
    with subprocess.Popen([sys.executable, *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        process.stdout.readline()  # of the first round
        with urlopen(address) as answer:
            assert 'slurmsim_twin_rounds_total{result="read"} 1' in answer.read().decode()
        process.terminate()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "70000"], "--port"),
        (["--every", "0"], "--every"),
        (["--every", "soon"], "--every"),
        (["--rounds", "0"], "--rounds"),
        (["--rounds", "1", "--", "no-such-command"], "no-such-command: No such file or directory"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["twin", "follow", *words]) != 0
    wrong = capsys.readouterr().err
    assert said in wrong
    assert wrong.count("\n") == 1
