"""Sessions of personas: what they draw, on which clusters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unseen.life import COMMANDS, PERSONAS, SCRIPTS, SITES, WORDS, cluster_of, draw_life
from unseen.score import Answer, by_kind, by_persona, judge, table

from slurmsim.config.accounting.load import load_accounting
from slurmsim.config.load import load_cluster


@pytest.mark.parametrize("kind", SITES)
def test_a_session_is_drawn_of_the_habits_of_its_site(kind: str) -> None:
    drawn, again = draw_life(5, kind), draw_life(5, kind)
    assert drawn.cases() == again.cases() != draw_life(6, kind).cases()
    assert COMMANDS <= len(drawn.commands) < COMMANDS + 3
    assert {command.persona for command in drawn.commands} <= SITES[kind]["personas"].keys()
    shapes = {text for persona in PERSONAS.values() for habit in persona["habits"] for text in habit[2:]}
    assert {command.option for command in drawn.commands} <= shapes
    assert not re.search(r"\{(?!print)\w+\}", drawn.cases())


def test_every_word_of_a_habit_can_be_drawn_where_it_is_typed() -> None:
    for site in SITES.values():
        known = {"last", "job", "any", "script", *WORDS, *site["words"]}
        habits = [habit for persona in PERSONAS.values() for habit in persona["habits"]]
        texts = [text for habit in habits if habit[1] in ("", *site["has"]) for text in habit[2:]]
        texts += [script["text"] for script in SCRIPTS.values() if script.get("needs", "") in ("", *site["has"])]
        texts += site["words"]["ask"]
        words = {word.removesuffix("0") for text in texts for word in re.findall(r"\{(\w+)\}", text)}
        assert words <= known


@pytest.mark.parametrize("kind", SITES)
def test_kinds_are_clusters_slurmsim_reads(kind: str, tmp_path: Path) -> None:
    folder = cluster_of(kind).write(tmp_path)
    cluster, _ = load_cluster(folder / "slurm.conf")
    assert {partition.name for partition in cluster.partitions} == set(SITES[kind]["words"]["part"])
    if "db" in SITES[kind]["has"]:
        names = {association.user for association in load_accounting([folder / "sacctmgr.txt"]).associations}
        assert names >= {"alice", "bob", "carol", "dave"}


def test_figures_are_told_by_persona_and_kind() -> None:
    step = {"n": 1, "verb": "squeue", "option": "", "cmd": "squeue", "persona": "pi"}
    found = judge("s00-gpu", [(step, Answer(0, ["JOBID", "1"], []), Answer(0, ["JOBID", "1"], []), True)])
    assert "| pi | 1 | 1 | 100.0% |" in table(found, by_persona)
    assert "| gpu | 1 | 1 | 100.0% |" in table(found, by_kind)
