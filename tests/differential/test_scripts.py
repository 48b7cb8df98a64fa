"""Public batch scripts: how they are made the site's, how answers are judged, and the corpus where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import both, corpus, engine, mapping, score
from unseen.oracle import VARIABLE as ORACLE
from unseen.oracle import kit

from slurmsim.config.accounting.load import load_accounting
from slurmsim.config.load import load_cluster
from slurmsim.releases import RECORDED_RELEASES

ALIKE = 0.95
"""The least share of scripts whose fields and messages are equal."""
ENOUGH = 20
"""So many scripts are asked by the test; the command asks all."""


@pytest.mark.parametrize(
    ("told", "mapped"),
    [
        ("#SBATCH --partition=gpu,cpu", "#SBATCH --partition=gpu,cpu"),
        ("#SBATCH -p batch # a comment -p x", "#SBATCH -p {batch} # a comment -p x"),
        ("#SBATCH -C 'rome&[hdr|edr*2]'", "#SBATCH -C '{rome}&[{hdr}|{edr}*2]'"),
        ("#SBATCH --gres=gpu:p100:2,lscratch:10", "#SBATCH --gres=gpu:{p100}:2,{lscratch}:10"),
        ("#SBATCH --gpus=p100:2 -o /a/b.out", "#SBATCH --gpus={p100}:2 -o a/b.out"),
        ("#SBATCH --mem=4G -n8", "#SBATCH --mem=4G -n8"),
        ("#!/bin/bash -l\n  . ~/x.sh && y", "#!/bin/bash\n  source /dev/null&& y"),
        ("srun --mpi=pmix_v3 ./x", "srun --mpi=none ./x"),
    ],
)
def test_names_become_those_of_the_site(told: str, mapped: str) -> None:
    kinds = {"batch": "partition", "rome": "feature", "hdr": "feature", "edr": "feature", "p100": "type"}
    names = {name: mapping.own(kind, name) for name, kind in kinds.items()}
    assert mapping.mapped(told) == mapped.format(**names, lscratch=mapping.own("type", "lscratch"))


@pytest.mark.parametrize("kind", mapping.OWN)
def test_one_name_in_eight_stays(kind: str) -> None:
    names = [f"name{k}" for k in range(800)]
    stay = sum(mapping.own(kind, name) == name for name in names)
    assert 60 < stay < 140
    assert {mapping.own(kind, name) for name in names} >= set(mapping.OWN[kind])
    assert all(mapping.own(kind, name) == name for name in mapping.OWN[kind])


def test_the_site_has_what_names_become() -> None:
    cluster, _ = load_cluster(both.SITE / "slurm.conf")
    assert {one.name for one in cluster.partitions} == set(mapping.OWN["partition"])
    known = load_accounting([both.SITE / "sacctmgr.txt"])
    assert {one.account for one in known.associations if one.user == "alice"} == set(mapping.OWN["account"])
    conf = (both.SITE / "slurm.conf").read_text("utf-8")
    for kind in ("feature", "type", "license"):
        assert all(name in conf for name in mapping.OWN[kind])


def test_a_script_sleeps_where_its_directives_end() -> None:
    head = "#!/bin/sh\n#SBATCH -n1\n\n# x\n#SBATCH -n2\n"
    assert corpus.with_a_sleep(head.rstrip()) == corpus.with_a_sleep(head) == f"{head}exec /bin/sleep 60\n"
    assert corpus.with_a_sleep(f"{head}ls\n#SBATCH -n4") == f"{head}exec /bin/sleep 60\nls\n#SBATCH -n4"


def _answer(job: int, cpus: int, text: str) -> dict[str, object]:
    submitted = [0, f"Submitted batch job {job}\n", ""]
    shown = [
        0,
        f"JobId={job} JobName=x\n   SubmitTime=2026-01-05T08:00:{job % 60:02} NumCPUs={cpus} AllocNode:Sid=h:{job}",
        "",
    ]
    return {
        "submit": {"held": submitted, "held_shown": shown, "free": submitted, "free_shown": shown},
        "run": {"submitted": submitted, "ended": True, "shown": shown, "files": {f"slurm-{job}.out": text}},
    }


def test_what_two_clusters_cannot_have_in_common_does_not_count() -> None:
    real = {"a": _answer(100001, 2, "SLURM_TASK_PID=7\nx 100001\ny\n"), "b": _answer(100003, 2, "z\n")}
    ours = {
        "a": _answer(100004, 2, "y\nx 100004\nSLURM_TASK_PID=9\nSLURMSIM_USER=alice\n"),
        "b": _answer(100003, 4, "q\n"),
    }
    one, other = score.judge(real, ours)
    assert (one.taken, one.fields, one.ran, one.told()) == (True, True, True, "")
    assert (other.taken, other.fields, other.ran) == (True, False, False)
    assert "-NumCPUs=2" in other.told()
    assert "1/2 = 50.0%" in score.table("22.05", [one, other])


def test_a_refusal_of_one_side_counts() -> None:
    refused = {"submit": {"held": [1, "", "sbatch: error: no\n"]}}
    (one,) = score.judge({"a": _answer(100001, 1, "")}, {"a": refused})
    assert (one.taken, one.fields) == (False, False)


@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_scripts_of_the_corpus_are_answered_alike(release: str, tmp_path: Path) -> None:
    place = corpus.folder()
    if place is None:
        pytest.skip(f"{corpus.VARIABLE} names no folder of batch scripts: none is compared with real Slurm")
    if kit(release) is None:
        pytest.skip(f"{ORACLE} names no oracle kit that can run {release} here: no script is compared")
    every = corpus.questions(place)
    jobs = {"scripts": every[:: max(len(every) // ENOUGH, 1)]}
    real = both.ask_real(jobs, release)["answers"]
    ours = engine.ask_engine(jobs, release)
    judged = score.judge(real, ours["answers"])
    differences = tmp_path / "differences"
    differences.write_text("".join(one.told() for one in judged), "utf-8")
    assert sum(one.fields for one in judged) >= ALIKE * len(judged), f"{score.table(release, judged)} {differences}"


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        ("+ x=$'c1\\nit\\'s \\\\$4'", "+ x='c1\nit'\\''s \\$4'"),
        ("a b A=1", "a b A=1 SLURMSIM_USER=alice"),
        ("c1/job7/slurm_script: line 1: kill: (12) - no", "c1/job7/slurm_script: line 1: kill: (9) - no"),
        ("[2026-11-29T10:26:14.122] error: x", "[2026-01-05T08:00:00.000] error: x"),
    ],
)
def test_what_shells_and_clusters_write_in_their_own_ways_is_alike(real: str, ours: str) -> None:
    assert score.normal(real, None) == score.normal(ours, None)
