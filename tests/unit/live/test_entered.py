"""The environment of a process in clusters and after them: a cluster takes away what it brought, and nothing else."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.live.daemon import environment
from slurmsim.live.entered import Entered

FIRST, SECOND = Path("/clusters/first"), Path("/clusters/second")


@pytest.fixture(autouse=True)
def _environment_put_back():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        patch.delenv("SLURMSIM_CLUSTER_DIR", raising=False)
        patch.setenv("SLURMSIM_USER", "ann")
        yield


def _seen() -> tuple[str | None, str | None, str | None]:
    return os.environ.get("PATH"), os.environ.get("SLURMSIM_CLUSTER_DIR"), os.environ.get("SLURMSIM_USER")


def test_the_cluster_entered_last_is_talked_to_and_then_the_one_before() -> None:
    clusters = Entered()
    clusters.enter(FIRST)
    clusters.enter(SECOND)
    assert _seen() == ("/clusters/second/bin:/clusters/first/bin:/usr/bin:/bin", str(SECOND), None)
    clusters.leave(SECOND)
    assert _seen() == ("/clusters/first/bin:/usr/bin:/bin", str(FIRST), None)
    clusters.leave(FIRST)
    assert _seen() == ("/usr/bin:/bin", None, "ann")


def test_what_the_program_puts_on_path_stays_when_clusters_come_and_go() -> None:
    clusters = Entered()
    clusters.enter(FIRST)
    os.environ["PATH"] = "/tools:" + os.environ["PATH"]
    clusters.enter(SECOND)
    assert os.environ["PATH"] == "/clusters/second/bin:/tools:/clusters/first/bin:/usr/bin:/bin"
    clusters.leave(FIRST)
    assert _seen() == ("/clusters/second/bin:/tools:/usr/bin:/bin", str(SECOND), None)
    clusters.leave(SECOND)
    assert _seen() == ("/tools:/usr/bin:/bin", None, "ann")


def test_a_cluster_entered_twice_is_there_until_it_is_left_twice() -> None:
    clusters = Entered()
    clusters.enter(FIRST)
    clusters.enter(FIRST)
    clusters.leave(FIRST)
    assert _seen() == ("/clusters/first/bin:/usr/bin:/bin", str(FIRST), None)
    clusters.leave(FIRST)
    clusters.leave(FIRST)
    assert _seen() == ("/usr/bin:/bin", None, "ann")


def test_a_cluster_that_the_shell_had_named_is_named_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(FIRST, {"PATH": "/usr/bin"}).items():
        monkeypatch.setenv(name, value)
    before = _seen()
    clusters = Entered()
    clusters.enter(FIRST)
    clusters.enter(SECOND)
    clusters.leave(FIRST)
    clusters.leave(SECOND)
    assert _seen() == before


def test_no_path_before_is_no_path_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    clusters = Entered()
    clusters.enter(FIRST)
    assert os.environ["PATH"] == f"/clusters/first/bin:{os.defpath}"
    clusters.leave(FIRST)
    assert "PATH" not in os.environ


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([FIRST, SECOND])), max_size=12))
def test_in_any_order_the_commands_found_first_are_those_of_a_cluster_that_is_entered(steps) -> None:
    clusters, inside = Entered(), []
    for comes, folder in steps:
        if comes:
            clusters.enter(folder)
            inside.append(folder)
        else:
            clusters.leave(folder)
            if folder in inside:
                inside.reverse()
                inside.remove(folder)
                inside.reverse()
        if inside:
            assert os.environ["SLURMSIM_CLUSTER_DIR"] in {str(each) for each in inside}
            assert os.environ["PATH"].split(":")[0] == os.environ["SLURMSIM_CLUSTER_DIR"] + "/bin"
        else:
            assert _seen() == ("/usr/bin:/bin", None, "ann")
    for folder in inside:
        clusters.leave(folder)
