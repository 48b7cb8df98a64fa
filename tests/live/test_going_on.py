"""``slurmsim up`` on a stopped cluster: options that say another thing than it was made of are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import slurmsim
from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.live.going_on import check_going_on
from slurmsim.live.settings import Settings
from slurmsim.releases import DEFAULT_VARIABLE

CONF = "ClusterName=old\nSlurmctldHost=h\nSelectType=select/linear\nNodeName=old[1-2] CPUs=4\n"
OLD = CONF + "PartitionName=p Nodes=ALL Default=YES\n"
NEW = OLD.replace("old", "new").replace("[1-2]", "[1-9]")
START = 1_700_000_000


def made(folder: Path, conf: str = OLD) -> Path:
    """A stopped cluster of `conf`, release 24.11, frozen at `START`, with one user."""
    (folder / "old.conf").write_text(conf)
    with slurmsim.cluster(conf=folder / "old.conf", frozen=True, start=START, slurm_version="24.11",
                          users={"eve": 4711}, folder=folder / "c"):  # fmt: skip
        pass
    return folder / "c"


def settings(folder: Path, **more: object) -> Settings:
    return Settings(conf=str(folder / "old.conf"), mode="frozen", start=START, **more)  # type: ignore[arg-type]


def test_the_same_again_goes_on(tmp_path: Path) -> None:
    folder = made(tmp_path)
    asked = settings(tmp_path, users={"eve": "4711"}, release="24.11")
    check_going_on(folder, asked, ["--conf", "--frozen", "--start", "--user", "--slurm-version"])
    with slurmsim.cluster(conf=tmp_path / "old.conf", frozen=True, folder=folder) as c:
        assert [node.name for node in c.nodes()] == ["old1", "old2"]


def test_a_folder_keeps_its_release_under_another_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path)  # of 24.11
    monkeypatch.delenv(DEFAULT_VARIABLE)
    assert settings(tmp_path).release == "26.05"
    with slurmsim.cluster(conf=tmp_path / "old.conf", frozen=True, folder=folder) as c:
        assert c.run(["sinfo", "--version"]).stdout == "slurm 24.11.5\n"


def test_the_environment_names_another_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEFAULT_VARIABLE, "24.11")
    assert settings(tmp_path).release == "24.11"
    monkeypatch.setenv(DEFAULT_VARIABLE, "9.9")
    with pytest.raises(ConfigError, match=r"no release '9.9'"):
        settings(tmp_path)


def test_a_conf_that_got_a_database_goes_on(tmp_path: Path) -> None:
    (tmp_path / "old.conf").write_text(OLD)
    with slurmsim.cluster(conf=tmp_path / "old.conf", frozen=True, accounting=[""], folder=tmp_path / "c"):
        pass
    check_going_on(tmp_path / "c", settings(tmp_path, accounting=("",)), ["--conf", "--accounting"])
    check_going_on(tmp_path / "c", settings(tmp_path), ["--conf"])


@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("--nodes", {"conf": None, "nodes": 3}),
        ("--accounting", {}),
        ("--no-accounting", {"storage": False}),
        ("--user", {"users": {"adam": "1"}}),
        ("--operator", {"operators": ("eve",)}),
        ("--slurm-version", {"release": "26.05"}),
        ("--idle-w", {"power": {"idle_w": "5"}}),
        ("--fast", {"mode": "fast"}),
        ("--rate", {"mode": "running", "rate": 4.0}),
        ("--clock", {"mode": "real", "start": None}),
        ("--start", {"start": START + 1}),
        ("--jobs", {"jobs": "run"}),
        ("--streams", {}),
    ],
)
def test_what_would_be_dropped_is_refused(option: str, more: dict[str, object], tmp_path: Path) -> None:
    folder = made(tmp_path)
    (tmp_path / "a.txt").write_text("Cluster - 'old'\n")
    files: dict[str, dict[str, object]] = {"--accounting": {"accounting": (str(tmp_path / "a.txt"),)},
                                           "--streams": {"streams": str(tmp_path / "a.txt")}}  # fmt: skip
    asked = Settings(**{"conf": str(tmp_path / "old.conf"), **more, **files.get(option, {})})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=f"{option}: the cluster in .* was made otherwise and goes on as it is"):
        check_going_on(folder, asked, [option])


def changed(folder: Path, name: str) -> None:
    (folder / name).write_text(NEW)


def included(folder: Path, name: str) -> None:
    (folder / name).write_text(OLD.replace("PartitionName", "Include part.conf\n#"))
    (folder / "part.conf").write_text("PartitionName=p Nodes=ALL Default=YES\n")


def beside(folder: Path, name: str) -> None:
    (folder / name).write_text(OLD)
    (folder / "gres.conf").write_text("Name=gpu Count=1\n")


@pytest.mark.parametrize("change", [changed, included, beside])
def test_another_conf_is_refused(
    change: Callable[[Path, str], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made(tmp_path)
    change(tmp_path, "new.conf")
    assert main(["up", "--conf", str(tmp_path / "new.conf"), "--state", str(folder), "--frozen"]) == 2
    assert "--conf: the cluster in" in (said := capsys.readouterr().err)
    assert "up without --conf, or --reconfigure, which takes the new files" in said
    with pytest.raises(ConfigError, match="--conf: the cluster in"):
        slurmsim.cluster(conf=tmp_path / "new.conf", folder=folder).__enter__()


def test_reconfigure_takes_the_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path)
    state = ["--state", str(folder)]
    (tmp_path / "new.conf").write_text(NEW)
    assert main(["up", "--reconfigure", "--conf", str(tmp_path / "new.conf"), *state]) == 1
    assert "node old1 is gone" in capsys.readouterr().err
    assert (folder / "slurm.conf").read_text() == OLD  # as it was
    (tmp_path / "new.conf").write_text("nonsense")
    assert main(["up", "--reconfigure", "--conf", str(tmp_path / "new.conf"), *state]) == 2
    assert (folder / "slurm.conf").read_text() == OLD
    assert main(["up", "--reconfigure", *state]) == 2
    (tmp_path / "new.conf").write_text(OLD + "PartitionName=q Nodes=ALL MaxTime=5\n")
    try:
        assert main(["up", "--reconfigure", "--conf", str(tmp_path / "new.conf"), *state]) == 0
    finally:
        main(["down", *state])
    with slurmsim.cluster(folder=folder) as c:
        assert c.run("sinfo -h -o %P").stdout == "p*\nq\n"


def test_reconfigure_takes_the_file_in_the_folder_itself(tmp_path: Path) -> None:
    """The new files are copied before the old ones go: the source may be one of these."""
    folder = made(tmp_path)
    (folder / "slurm.conf").write_text(OLD + "PartitionName=q Nodes=ALL MaxTime=5\n")
    state = ["--state", str(folder)]
    try:
        assert main(["up", "--reconfigure", "--conf", str(folder / "slurm.conf"), *state]) == 0
    finally:
        main(["down", *state])
    assert "PartitionName=q" in (folder / "slurm.conf").read_text()
    assert not list(folder.glob(".conf-*"))
