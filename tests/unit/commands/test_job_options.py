"""The table of job options, and what is chosen with it."""

from __future__ import annotations

import pytest

from slurmsim.commands.submit.options.chosen_options import Chosen
from slurmsim.commands.submit.options.job_options import ALL, OPTIONS, REFUSED, Option, options_of
from slurmsim.commands.submit.options.job_variables import variables_of
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, OptionError, Parser
from slurmsim.commands.text.values import BadValue, Context
from slurmsim.releases import RECORDED_RELEASES


def chosen(release: str = "22.05", command: str = "sbatch") -> Chosen:
    return Chosen(Context(command, release))


@pytest.mark.parametrize("command", ALL)
@pytest.mark.parametrize("release", RECORDED_RELEASES)
def test_the_table_is_sound(command: str, release: str) -> None:
    rows = options_of(command, release)
    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    letters = [row.short for row in rows if row.short]
    assert len(letters) == len(set(letters))
    known = set(names)
    assert {option for _, option in variables_of(command, release)} <= known


def test_rows_of_a_release() -> None:
    assert "power" in {row.name for row in options_of("sbatch", "22.05")}
    assert "power" not in {row.name for row in options_of("sbatch", "24.11")}
    later = {row.name for row in options_of("sbatch", "26.05")}
    assert {"tres-per-task", "spread-segments", "container-type"} <= later
    assert ("SBATCH_SEGMENT_SIZE", "segment") in variables_of("sbatch", "26.05")
    assert ("SBATCH_SEGMENT_SIZE", "segment") not in variables_of("sbatch", "24.11")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bogus"], "unrecognized option '--bogus'"),
        (["--bogus=3"], "unrecognized option '--bogus=3'"),
        (["-t"], "option requires an argument -- 't'"),
        (["-Hz"], "invalid option -- 'z'"),
        (["--chdir"], "option '--chdir' requires an argument"),
        (["--hold=3"], "option '--hold' doesn't allow an argument"),
        (
            ["--clust=1"],
            "option '--clust=1' is ambiguous; possibilities: '--cluster-constraint' '--cluster' '--clusters'",
        ),
        (
            ["--ntask=1"],
            "option '--ntask=1' is ambiguous; possibilities: '--ntasks' '--ntasks-per-core' '--ntasks-per-gpu' "
            "'--ntasks-per-node' '--ntasks-per-socket' '--ntasks-per-tres'",
        ),
        (
            ["--co=2"],
            "option '--co=2' is ambiguous; possibilities: '--comment' '--container' '--context' '--contiguous' "
            "'--constraint' '--core-spec' '--cores-per-socket'",
        ),
    ],
)
def test_what_cannot_be_read(words: list[str], said: str) -> None:
    with pytest.raises(OptionError) as caught:
        chosen().parse(words)
    assert str(caught.value) == said


_REFUSED = [row for row in OPTIONS if row.status == REFUSED and "sbatch" in row.commands]


@pytest.mark.parametrize("option", _REFUSED, ids=lambda option: option.name)
def test_what_is_not_modelled_is_refused_by_name(option: Option) -> None:
    release = option.since or "22.05"
    word = f"--{option.name}=1" if option.argument != NO else f"--{option.name}"
    with pytest.raises(OptionError, match=f"unrecognized option '--{option.name}'"):
        chosen(release).parse([word, "x.sh"])


def test_words_are_read_up_to_the_script() -> None:
    options = chosen()
    assert options.parse(["-Hpdebug", "--time=5", "-kno", "x.sh", "-n", "3"]) == ["x.sh", "-n", "3"]
    assert options.values == {"hold": True, "partition": "debug", "time_limit": 5, "no_kill": False}
    assert options.parse(["--", "-n"]) == ["-n"]


def test_later_wins_and_some_add_up() -> None:
    options = chosen()
    options.parse(["-J", "a", "--mail-type=END", "--signal=B:USR1@5", "--no-requeue", "-s"])
    options.read_variables({"SBATCH_JOB_NAME": "b", "SBATCH_REQUEUE": "", "SBATCH_PARTITION": "fast"})
    options.parse(["-p", "debug", "--mail-type=BEGIN", "--signal=USR2@10", "--exclusive"])
    assert options.values == {
        "name": "b", "mail_type": 3, "warn_signal": 12, "warn_time": 10, "warn_flags": "B", "requeue": 1,
        "shared": "exclusive", "partition": "debug",
    }  # fmt: skip
    assert options.from_variable("job-name") and options.written("partition")


@pytest.mark.parametrize(
    ("text", "there"), [("", True), ("yes", True), ("2", True), ("no", False), ("0", False), ("2x", False)]
)
def test_variables_that_stand_for_flags(text: str, there: bool) -> None:
    options = chosen()
    options.parse(["--overcommit"])
    options.read_variables({"SBATCH_OVERCOMMIT": text})
    assert options.is_set("overcommit") is there


def test_components_keep_what_is_not_theirs() -> None:
    options = chosen()
    options.parse(["-N1", "-A", "a", "-p", "debug", "--signal=USR1", "-B", "2:2"])
    following = options.next_component()
    assert following.values == {"account": "a", "warn_signal": 10, "warn_time": 60, "warn_flags": ""}
    assert options.get("partition") == "debug"


def test_reader_of_letters_and_names() -> None:
    parser = Parser(
        [LongOption("all", NO, "a"), LongOption("step", OPTIONAL, "s"), LongOption(None, REQUIRED, "n")], permute=True
    )
    assert list(parser.parse(["x", "-as3", "-n", "4", "--step", "y", "--", "-a"])) == [
        ("a", None), ("s", "3"), ("n", "4"), ("s", None),
    ]  # fmt: skip
    assert parser.rest == ["x", "y", "-a"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cpu=2", {"cpus_per_task": 2}),
        ("cpu:3,gres/gpu:a100=1", {"cpus_per_task": 3, "gpus_per_task": "a100:1"}),
        ("gres:gpu:2", {"gpus_per_task": "2", "tres_per_task": "gres/gpu:2"}),
        ("gres/gpu:a100", {"gpus_per_task": "a100:1"}),
        ("gres/gpu", {"gpus_per_task": "1"}),
        (
            "gres/mic=2,gres/gpu=1,gres/nvme:fast:3",
            {"gpus_per_task": "1", "tres_per_task": "gres/mic=2,gres/gpu=1,gres/nvme:fast:3"},
        ),
    ],
)
def test_resources_of_a_task(text: str, found: dict[str, object]) -> None:
    options = chosen("24.11")
    options.set_by_name("tres-per-task", text)
    assert {name: options.get(name) for name in found} == found


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("segment", "x", "Invalid --segment specification"),
        ("oom-kill-step", "2", "Invalid --oom-kill-step specification"),
    ],
)
def test_values_newer_options_do_not_take(name: str, text: str, said: str) -> None:
    with pytest.raises(BadValue) as bad:
        chosen("26.05").set_by_name(name, text)
    assert bad.value.errors == (said,)
