"""``scontrol update partition ... Exclusive=``, as 26.05.5 answered one update after the other."""

from __future__ import annotations

import re
from pathlib import Path

from script_cluster import Scripts

STEPS = [
    ("exclusive=NODE", "NODE", "NO"), ("exclusive=USER", "USER", "NO"), ("exclusive=NO", "NO", "NO"),
    ("exclusive=node", "NODE", "NO"), ("oversubscribe=FORCE:4 exclusive=USER", "USER", "FORCE:4"),
    ("exclusive=NO", "NO", "FORCE:4"), ("exclusiveuser=yes", "USER", "FORCE:4"), ("exclusive=NODE", "NODE", "NO"),
    ("exclusive=NO", "NO", "NO"),
]  # fmt: skip


def test_exclusive(tmp_path: Path) -> None:
    cluster = Scripts(tmp_path, "26.05")
    for words, exclusive, shared in STEPS:
        assert cluster.run(f"scontrol update partitionname=defq {words}", "root") == (0, "", ""), words
        text = cluster.text("scontrol show partition defq")
        assert re.findall(r"\b(?:Exclusive|OverSubscribe)=(\S+)", text) == [exclusive, shared], words
    code, _, error = cluster.run("scontrol update partitionname=defq exclusive=foo", "root")
    assert (code, error) == (
        1,
        "scontrol: error: Invalid input: exclusive=foo\n"
        "scontrol: error: Acceptable Exclusive values are NO, NODE, USER, TOPO\n",
    )


def test_before(tmp_path: Path) -> None:
    cluster = Scripts(tmp_path, "24.11")
    code, _, error = cluster.run("scontrol update partitionname=defq exclusive=USER", "root")
    assert code == 1 and "Invalid input" in error
