"""An anonymised dump: no name of a person is left, and its twin does the same."""

from __future__ import annotations

import re
from pathlib import Path

import small_dump as small

from slurmsim.cli import main
from slurmsim.twin.build import build
from slurmsim.twin.dump import Dump, read_dump

RECORDED = Path(__file__).parents[2] / "golden" / "twin" / "preempt-26.05.tar.xz"
NAMES = (
    "alice",
    "bob",
    "carol",
    "dave",
    "physics",
    "chem",
    "bio",
    "2001",
    "2002",
    "2003",
    "2004",
    "127.0.0.1",
    "/home",
)


def future(dump: Dump, scratch: Path) -> list[tuple[object, ...]]:
    """Return what becomes of the jobs in two hours."""
    scratch.mkdir()
    engine = build(dump, scratch).engine
    engine.network.advance(engine.now + 7200)
    return sorted((live.id, live.core.state, live.core.start_time, live.core.priority) for live in engine.jobs.values())


def test_no_name_is_left_and_the_twin_does_the_same(tmp_path: Path) -> None:
    file = tmp_path / "shared.tar.gz"
    assert main(["twin", "anonymize", str(RECORDED), str(file)]) == 0
    dump, shared = read_dump(RECORDED), read_dump(file)
    everything = "\n".join(shared.texts.values())
    before = "\n".join(dump.texts.values())
    for name in NAMES:
        assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", before), name
        assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", everything), name
    assert future(shared, tmp_path / "a") == future(dump, tmp_path / "b") != []


def test_texts_of_jobs_and_nodes_go(tmp_path: Path) -> None:
    file = tmp_path / "shared.tgz"
    assert main(["twin", "anonymize", str(small.write(tmp_path / "dump")), str(file)]) == 0
    everything = "\n".join(read_dump(file).texts.values())
    assert not re.search("ann|job.sh|bad disk|j2", everything)
    assert "UserId=user1(60000)" in everything


def test_it_is_written_as_a_tar_alone(tmp_path: Path) -> None:
    assert main(["twin", "anonymize", str(small.write(tmp_path / "dump")), str(tmp_path / "shared.zip")]) == 2
