"""Texts of strangers: our commands and pages show escapes, Slurm's commands print what Slurm prints."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError, WorkloadError
from slurmsim.live.cluster import Cluster
from slurmsim.live.daemon import environment
from slurmsim.report import page, text
from slurmsim.shown import Stream, all_shown, cell, shown
from slurmsim.web.watch import Watch
from slurmsim.workload import TextColumn, Workload
from slurmsim_workloads import write_workload

EVIL = "a\x1b[2J\x07\rb\x9bc\u202ed\udcff"
ESCAPED = "a\\u001b[2J\\u0007\\u000db\\u009bc\\u202ed\\udcff"


def test_escapes() -> None:
    assert shown(EVIL) == ESCAPED and shown("plain ÄÖ \t\n 漢字 é") == "plain ÄÖ \t\n 漢字 é"
    assert cell("a\tb\nc") == "a\\tb\\nc"
    assert json.loads(f'"{shown(chr(0x202E) + chr(0xE0041))}"') == "\u202e\U000e0041"
    assert all_shown({EVIL: [EVIL, 1, None, (EVIL,)]}) == {ESCAPED: [ESCAPED, 1, None, [ESCAPED]]}


@pytest.mark.parametrize("category", ["Cc", "Cs"])
def test_whole_categories(category: str) -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == category]
    assert [one for one in every if shown(one) == one] == (["\t", "\n"] if category == "Cc" else [])
    turning = [chr(c) for c in range(0x3000) if unicodedata.bidirectional(chr(c)) in
               ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")]  # fmt: skip
    assert len(turning) == 9 and all(shown(one) != one for one in turning)


def test_streams(capsys: pytest.CaptureFixture[str]) -> None:
    print(EVIL, file=Stream(sys.stdout))
    assert capsys.readouterr().out == ESCAPED + "\n"


def test_tables_and_pages() -> None:
    assert text.table([["name", "n"], ["a\nb\x1b", "1"]]).splitlines()[2:] == ["a\\nb\\u001b  1"]
    made = page.page(EVIL, [page.paragraph(EVIL), page.table([EVIL], [[EVIL]])])
    assert ESCAPED in made and not re.search("[\x07\x1b\x9b\u202e\udcff]", made)
    assert "<b>" not in page.paragraph("<b>")  # markup is still escaped


def test_errors_are_bounded() -> None:
    word = "x" * 10_000_000
    for error in (ConfigError(f"{word!r}", field=word, expected=word), WorkloadError(word, file="f", line=1)):
        assert len(str(error)) < 5000 and "(10,000,00" in str(error)
    assert str(ConfigError("short", field="f")) == "f: short"


CONF = "ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=1 {}\nPartitionName=p Nodes=ALL Default=YES\n"


@pytest.mark.parametrize("value", ["\x1b[2J", "x" * 1_000_000, "\u202e", "\x07" * 3])
def test_check(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(f"Weight={value}"), "utf-8")
    assert main(["check", str(conf)]) == 2
    assert main(["run", "--conf", str(conf), "--workload", "generate:lublin", "--out", str(tmp_path / "o")]) == 2
    said = "".join(capsys.readouterr())
    assert not re.search("[\x07\x1b\u202e]", said) and len(said) < 20_000
    assert main(["check", "--json", str(conf)]) == 2
    json.loads(capsys.readouterr().out)


def test_run_report_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of jobs, users and partitions of a log."""
    ints = {name: np.array([1, 2], np.int64) for name in ("job_id", "submit", "run_time", "nodes")}
    name = EVIL.replace("\udcff", "")
    texts = {key: TextColumn.from_list([name, name]) for key in ("user", "name", "account")}
    log, out = tmp_path / "log.parquet", tmp_path / "out"
    write_workload(Workload(ints=ints, texts=texts), str(log))
    assert main(["run", "--nodes", "2", "--workload", str(log), "--policy", "easy", "--out", str(out)]) == 0
    assert main(["why", str(out), "2"]) == 0
    assert main(["report", str(out)]) == 0
    assert not re.search("[\x07\x1b\x9b\u202e]", "".join(capsys.readouterr()))
    made = list(out.rglob("*.html"))
    assert made and not any(re.search("[\x07\x1b\x9b\u202e]", file.read_text("utf-8")) for file in made)


NAMES = [b"e\x1bx", b"b\ax", b"r\rx", b"t\tx", b"n\nx", b"d\x7fx", b"c\xc2\x85x", b"o\xe2\x80\xaex", b"f\xffx", b'q"x',
         b"k\\x"]  # fmt: skip
JSON = [b"e\\u001bx", b"b\\u0007x", b"r\\rx", b"t\\tx", b"n\\nx", b"d\x7fx", b"c\xc2\x85x", b"o\xe2\x80\xaex", None,
        b'q\\"x', b"k\\\\x"]  # fmt: skip
"""The names as real Slurm has them in --json (22.05, 24.11, 26.05); the one that is no UTF-8 it writes as it is, so no
parser takes the document. Ours has U+FFFD."""


def test_slurms_commands_print_what_slurm_prints() -> None:
    """Seen of 22.05.8, 24.11.5 and 26.05.5: ``sbatch -H -J NAME --comment NAME --wrap true``, then as below.

    Every byte comes out as it went in, and widths count bytes.
    """
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        environ = environment(c.folder, os.environ)

        def run(*words: str | bytes) -> bytes:
            return subprocess.run(words, env=environ, capture_output=True, check=False).stdout

        for name in NAMES:
            run("sbatch", "-H", "-J", name, "--comment", name, "--wrap", "true")
        assert run("squeue", "-h", "-S", "i", "-o", "%j|%k") == b"".join(b"%s|%s\n" % (one, one) for one in NAMES)
        assert run("squeue", "-h", "-S", "i", "-o", "%.8j;") == b"".join(one.rjust(8) + b";\n" for one in NAMES)
        shown_ = run("scontrol", "show", "job")
        for name in NAMES:
            assert b"JobName=%s\n" % name in shown_ and b"   Comment=%s" % name in shown_
        document = run("squeue", "--json")
        for coded in filter(None, JSON):
            assert b'"name": "%s"' % coded in document
        assert {job["name"] for job in json.loads(document)["jobs"]} >= {"f\ufffdx", "o\u202ex"}
        assert (
            b"Invalid job id 99\x1b"
            in subprocess.run(["scancel", "99\x1b"], env=environ, capture_output=True, check=False).stderr
        )


def test_the_live_page_is_told_escapes() -> None:
    """Both in what a page gets when it is opened, and in what is told of changes."""
    strange = "a\x1b[2J\u202eb"

    async def told(c: Cluster) -> list[str]:
        pages = Watch(c.folder, may_change=False).pages()
        found = [await anext(pages)]
        await asyncio.to_thread(c.run, ["sbatch", "-H", "-J", strange, "--comment", strange, "--wrap", "x"], check=True)
        found.append(await anext(pages))
        await pages.aclose()
        return found

    with slurmsim.cluster(nodes=1, frozen=True) as c:
        c.run(["sbatch", "-H", "-J", strange, "--wrap", "x"], check=True)
        first, change = asyncio.run(asyncio.wait_for(told(c), 60))
    assert json.loads(first)["all"] and "all" not in json.loads(change)
    for told_text, times in ((first, 1), (change, 2)):
        names = json.dumps(json.loads(told_text)["jobs"]["set"], ensure_ascii=False)
        assert names.count("a\\\\u001b[2J\\\\u202eb") == times
        assert "\x1b" not in names and "\u202e" not in names
