"""Sessions of personas: what they draw, on which clusters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from unseen.documents import DOCUMENTS, MOMENTS, compared, values, with_documents
from unseen.documents import table as documents_table
from unseen.life import COMMANDS, PERSONAS, SCRIPTS, SITES, WORDS, cluster_of, draw_life
from unseen.ours import replay
from unseen.score import Answer, by_kind, by_persona, judge, table
from unseen.seconds import late
from unseen.sessions import Command

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


def test_a_command_comes_late_once_the_loop_has_gone_round_for_its_second() -> None:
    """Seconds begin with cycles of backfill, here at .6; since 24.11 the loop goes round at whole seconds."""
    events = [[3.6, "cycle", ""], [4.1, "submit", "1"], [4.8, "main", "1"], [8.6, "cycle", ""], [20.3, "main", "9"]]
    found = late({"slurm": "26.05.5", "events": events})
    assert [found(at) for at in (3.7, 3.95, 4.1, 4.5, 4.7, 9.2)] == [False, False, True, True, False, True]
    found = late({"slurm": "22.05.8", "events": events})  # here at .8
    assert [found(at) for at in (3.7, 3.85, 4.5, 4.7, 9.2)] == [False, True, True, False, True]
    assert not late({"slurm": "22.05.8", "events": [[3.6, "cycle", ""]]})(4.5)


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


def test_documents_are_asked_for_between_what_is_typed() -> None:
    plain, asked = draw_life(5, "gpu"), with_documents(draw_life(5, "gpu"), "26.05")
    typed = [step for step in asked.steps if not isinstance(step, Command) or step.verb not in DOCUMENTS]
    assert typed == plain.steps
    texts = [step.text for step in asked.commands if step.verb == "json"]
    assert len(texts) == MOMENTS * len(set(texts)) == MOMENTS * 6
    assert asked.commands[-1].verb == "rest"
    assert "slurmdb/" not in with_documents(draw_life(5, "lab"), "24.11").commands[-1].text
    assert {step.verb for step in with_documents(draw_life(5, "lab"), "22.05").commands} & DOCUMENTS == {"json"}


def test_values_of_documents_count_where_all_recordings_have_them() -> None:
    step = {"n": 3, "option": "squeue"}
    first, second = ({"a": 1, "b": 2, "c": "start+5"}, {"a": 1, "b": 3, "c": "start+9"})
    found = compared("s00-gpu", step, [first, second], {"a": 2, "b": 9, "c": "start+7", "d": 4})
    assert found.asked == 3  # a, c, and d that only ours has
    assert found.unlike == ["a: real 1, ours 2", "d: only ours, 4"]
    assert "| squeue | 3 | 1 | 33.3% |" in documents_table([found])


def test_an_item_of_a_list_is_known_by_its_name() -> None:
    one = values('{"jobs": [{"job_id": 3, "f": ["A", "B"]}, {"job_id": 3}]}', 0)
    assert list(one) == [".jobs[3].job_id", ".jobs[3].f[A]", ".jobs[3].f[B]", ".jobs[3#2].job_id"]


def test_scripts_really_run_where_no_length_can_be_read() -> None:
    def steps(script: str) -> dict[str, Any]:
        lost = {"file": "lost.sh", "user": "alice", "text": "#!/bin/sh\ncat /no/such/file\n"}
        file = {"file": "job.sh", "user": "alice", "text": script}
        return {"steps": [lost, file, {"cmd": "sbatch -n1 job.sh"}, {"cmd": "squeue"}]}

    assert not replay.has_to_run(steps("#!/bin/sh\nsleep 5\n"))  # one that is not submitted does not count
    assert replay.has_to_run(steps("#!/bin/sh\nmake\n"))
    assert replay.has_to_run({"steps": [{"cmd": "srun hostname"}]})
