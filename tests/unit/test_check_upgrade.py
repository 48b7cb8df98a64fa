"""What an upgrade of Slurm changes: for a slurm.conf, for commands, for one script."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.config.load import load_cluster
from slurmsim.core.records.release_rules import ReleaseRules, rules_of
from slurmsim.errors import ConfigError
from slurmsim.release_changes import CHANGES, OTHERWISE, REFUSED, SHOWN, since
from slurmsim.releases import RECORDED_RELEASES, RELEASES
from slurmsim.upgrade.behaviour import NEEDS, SCHEDULED, differences
from slurmsim.upgrade.scripts import compared, submit
from slurmsim.upgrade.sources import SHOWN as SHOWN_BY_SOURCES

CONF = """ClusterName=c
SlurmctldHost=h
SchedulerAuth=x
SchedulerParameters=preempt_strict_order,bf_interval=60
NodeName=n[1-4] CPUs=8
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    return tmp_path / "slurm.conf"


def test_each_row_that_differs_is_told_and_no_other():
    for old, new in pairwise(RECORDED_RELEASES):
        texts = {one.text for one in differences(old, new)}
        for name, (_, _, text, harm) in CHANGES.items():
            assert (text in texts) == (since(new, name) and not since(old, name)) and harm in (
                REFUSED,
                OTHERWISE,
                SHOWN,
            )
        before, after = rules_of(old), rules_of(new)
        told = {one.text for one in differences(old, new) if one.harm == SCHEDULED}
        for each in fields(ReleaseRules):
            if each.metadata:
                differs = getattr(before, each.name) != getattr(after, each.name)
                said = each.metadata["says"]
                assert (said in told or f"no longer: {said}" in told) == differs, each.name
                assert said.endswith(".") and each.metadata["of"] in ("", *NEEDS)


def test_steps_add_up():
    """What came between two releases came in one of the steps between them."""
    whole = {(one.since, one.text) for one in differences("22.05", "26.05") if not one.text.startswith(("New", "The "))}
    steps = {(one.since, one.text) for old, new in pairwise(RECORDED_RELEASES) for one in differences(old, new)}
    assert whole <= steps
    for old, new in pairwise(RELEASES):
        assert {one.since for one in differences(old, new)} <= set(RELEASES)


def test_what_is_known_to_have_come_stands_apart_from_what_may_have():
    found = differences("23.11", "24.05")
    known = {one.text: one.since for one in found if one.sure}
    assert known[CHANGES["qos_lists_stay"][2]] == "24.05" and set(known.values()) == {"24.05"}
    assert "The options that are gone: `--power`." in known
    assert "New options: `--export-file`, `--resv-ports`, `--segment`, `--stepmgr`." in known
    maybe = {one.text: one.since for one in found if not one.sure}
    assert maybe[CHANGES["amounts_cut"][2]] == "24.11" and set(maybe.values()) == {"24.11"}
    assert CHANGES["lineage_of_associations"][2] not in known | maybe  # 23.11 has it already
    assert CHANGES["sacctmgr_ping"][2] not in known | maybe  # the sources of 24.05 lack it
    assert all(one.sure for old, new in pairwise(RECORDED_RELEASES) for one in differences(old, new))


def test_a_rule_that_came_and_went_is_told_while_its_releases_are_not_known():
    says = ReleaseRules.__dataclass_fields__["deals_tasks"].metadata["says"]
    assert says not in {one.text for one in differences("22.05", "26.05")}
    told = {one.text: one.sure for one in differences("22.05", "25.05")}
    assert told[says] and not told[f"no longer: {says}"]


def test_rows_known_from_sources_are_rows_that_need_it():
    first = {name: row[0] for name, row in CHANGES.items()}
    first |= {each.name: each.metadata["span"][0] for each in fields(ReleaseRules) if each.metadata}
    assert {name for name in SHOWN_BY_SOURCES if first.get(name) not in RECORDED_RELEASES} == set()


def test_rules_that_decide_nothing_here_are_left_out(conf):
    cluster, _ = load_cluster(conf)
    texts = {one.text for one in differences("22.05", "26.05", cluster)}
    everywhere = {one.text for one in differences("22.05", "26.05")}
    assert texts < everywhere and not any("switch" in text for text in texts)
    assert any("A switch has to hold" in text for text in everywhere)


def test_keys_that_go_are_told_first(conf, capsys):
    assert main(["check", "--from", "22.05", "--to", "26.05", str(conf)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "slurmctld does not start (1)" and "SchedulerAuth" in lines[3]
    assert "decided otherwise, for the default is another (3)" in lines
    assert "PreemptParameters=strict_order is in its place" in "\n".join(lines)
    assert not any("SchedulerAuth" in line for line in lines[4:])
    assert main(["check", "--from", "24.11", "--to", "26.05", str(conf)]) == 0  # 24.11 refused it, too
    assert "slurmctld does not start" not in capsys.readouterr().out
    assert main(["check", "--from", "23.11", "--to", "24.05", "--json", str(conf)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["key"] for one in told["does_not_start"]] == ["SchedulerAuth"]
    assert "23.11 and 24.05: known from Slurm's sources" in told["unsure"][0]
    assert {one["sure"] for one in told["differences"]} == {True, False}
    assert main(["check", "--from", "23.11", "--to", "24.05", str(conf)]) == 1
    said = capsys.readouterr().out
    assert "\nrefused that was taken (" in said and "\nrefused that was taken, if it came between the two (" in said


def test_a_script_is_submitted_to_both(tmp_path, capsys):
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=4 --exclusive --oversubscribe\ntouch never\n")
    assert main(["check", "--from", "22.05", "--to", "24.11", "--script", str(script)]) == 1
    assert "refused: sbatch: fatal: --exclusive and --oversubscribe" in capsys.readouterr().out
    script.write_text("#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=4\ntouch never\n")
    assert compared(submit(script, "22.05"), submit(script, "24.11")) == ["num_tasks: 8 -> not set"]
    script.write_text("#!/bin/sh\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2 --ntasks-per-node=4 --wait\n")
    assert compared(submit(script, "22.05"), submit(script, "24.11")) == ["component 1: num_tasks: 8 -> not set"]
    script.write_text("#!/bin/sh\n#SBATCH --wait\n#SBATCH -n 3 -t 10\n")
    assert main(["check", "--script", str(script), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["submission"] == []
    assert not list(tmp_path.glob("never"))


def test_bad_input_is_one_line(tmp_path, conf, capsys):
    with pytest.raises(ConfigError, match="is not later than 26"):
        differences("26.05", "24.11")
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"\x00\xff" * 50)
    for words in (
        ["check"],
        ["check", "--from", "26.05", "--to", "22.05", str(conf)],
        ["check", "--script", str(tmp_path / "none.sh")],
        ["check", "--to", "24.11", str(tmp_path / "none.conf")],
        ["check", "--to", "24.11", str(wrong)],
    ):
        assert main(words) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("slurmsim: error: ")
    assert main(["check", "--script", str(wrong)]) == 0  # both refuse it in the same words
