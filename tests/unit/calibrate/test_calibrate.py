"""A doctor for a site's data: the setting its log was made with is found, and a copy to share replays to its grade."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from calibrate_support import run_site

from slurmsim.calibrate import calibrate
from slurmsim.calibrate.bundle import bundle_options, write_bundle
from slurmsim.calibrate.causes import distance
from slurmsim.cli import main
from slurmsim.fidelity.log import assess_log
from slurmsim.replaying.options import RunOptions

NAN = float("nan")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log made under bf_max_job_test=10; slurm.conf says nothing of it."""
    folder = tmp_path_factory.mktemp("site")
    run_site(folder, {"SchedulerParameters": "bf_max_job_test=10"}, jobs=300)
    return folder


def options_of(folder: Path, **more: object) -> RunOptions:
    return RunOptions.of(folder / "jobs.sacct", "", conf=folder / "slurm.conf", **more)  # type: ignore[arg-type]


def parquet_of(folder: Path, **more: object) -> RunOptions:
    return RunOptions.of(folder / "jobs.parquet", "", conf=folder / "slurm.conf", **more)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_setting_a_log_was_made_with_is_found(site: Path) -> None:
    found = calibrate(parquet_of(site), families=["scheduler", "backfill"], replicates=2, top=2)
    assert found.causes is not None
    best = found.causes.tried[0]
    assert best.candidate.setting == "bf_max_job_test=10"
    assert best.candidate.now == "500"
    assert best.clear and best.factor == pytest.approx(1.0)
    assert best.fit is not None and best.fit.close == 1.0
    assert found.causes.factor > 1.5
    assert "bf_max_job_test=10 (now 500) would explain" in found.causes.sentence
    assert all(best.factor <= one.factor for one in found.causes.tried if one.factor is not None)


def test_a_cause_that_is_not_in_the_list_is_not_made_up(site: Path) -> None:
    found = calibrate(options_of(site), families=["limits", "partitions"], replicates=2, top=2)
    assert found.causes is not None
    assert not found.causes.explaining
    assert found.causes.sentence.startswith("None of the")


def test_nothing_differs_where_the_configuration_is_the_right_one(site: Path) -> None:
    right = parquet_of(site, set=[("SchedulerParameters", "bf_max_job_test=10")])
    found = calibrate(right, families=["scheduler"], replicates=0)
    assert (found.fit.verdict, found.fit.close) == ("good", 1.0)
    assert found.causes is not None and found.causes.factor == pytest.approx(1.0)
    assert "nothing to explain" in found.causes.sentence


def test_the_grade_by_partition_and_class_is_that_of_fidelity(site: Path) -> None:
    found = calibrate(options_of(site), families=None)
    again = assess_log(options_of(site))
    assert found.causes is None
    assert (found.fit, found.by) == (again.fit, again.by)
    assert [name for name, _ in found.by["partition"]] == ["work"]
    assert sum(fit.jobs for _, fit in found.by["class"]) == found.fit.jobs == found.by["partition"][0][1].jobs


def test_a_bundle_replays_to_the_same_grade_and_has_no_name_in_it(site: Path, tmp_path: Path) -> None:
    accounts = tmp_path / "accounts.txt"
    accounts.write_text(
        "add qos Wichtig Priority=10\n"
        "add account zoology Fairshare=3 MaxTRES=cpu=512 QOS=normal,wichtig\n"
        "add account acct1,acct2,acct3 parent=zoology\n"
        + "".join(f"add user user{i} Account=acct1,acct2,acct3\n" for i in range(1, 13))
    )
    options = options_of(site, accounting=[accounts], unknown_accounts="add")
    fit = assess_log(options).fit
    said = write_bundle(options, fit, tmp_path / "shared.tar.gz")
    assert "StateSaveLocation" in said and "/srv/secret" not in said
    with tarfile.open(tmp_path / "shared.tar.gz") as tar:
        assert all(entry.uid == entry.mtime == 0 and not entry.uname for entry in tar)
        tar.extractall(tmp_path / "shared", filter="data")
    assert assess_log(bundle_options(tmp_path / "shared")).fit == fit
    content = b"".join(file.read_bytes() for file in (tmp_path / "shared").iterdir())
    for secret in (b"secretcluster", b"example.org", b"/srv", b"rack", b"hidden", b"zoology", b"acct1", b"Wichtig",
                   b"wichtig", b"threads"):  # fmt: skip
        assert secret not in content, secret
    assert json.loads((tmp_path / "shared" / "bundle.json").read_text())["left_out"] == [
        "SlurmctldHost", "StateSaveLocation",
    ]  # fmt: skip


def test_the_command(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["calibrate", "--conf", str(site / "slurm.conf"), "--log", str(site / "jobs.sacct")]
    assert main([*given, "--no-causes", "--out", str(tmp_path / "out"), "--set", "MCSPlugins=mcs/user"]) == 2
    assert "MCSPlugins" in capsys.readouterr().err
    code = main([*given, "--try", "scheduler", "--replicates", "2", "--out", str(tmp_path / "out")])
    shown = capsys.readouterr().out
    assert code in (0, 1)
    for part in ("Data\n", "Clock\n", "Not modelled\n", "Grade\n", "long wide", "SchedulerType=sched/builtin"):
        assert part in shown
    facts = json.loads((tmp_path / "out" / "calibrate.json").read_text())
    assert facts["causes"]["tried"][0]["candidate"]["setting"] == "SchedulerType=sched/builtin"
    page = (tmp_path / "out" / "calibrate.html").read_text()
    assert "SchedulerType=sched/builtin" in page and "default-src" in page
    assert main([*given, "--list"]) == 0
    assert "bf_max_job_test=10" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--try", "magic"], "no family 'magic'"),
        (["--replicates", "-1"], "--replicates: -1 is too few"),
        (["--bundle", "x.zip"], "no .tar.gz"),
        (["--bundle", "x.tar.gz", "--set", "KillWait=10"], "does not go with --set"),
    ],
)
def test_what_is_refused(site: Path, capsys: pytest.CaptureFixture[str], more: list[str], says: str) -> None:
    given = ["calibrate", "--conf", str(site / "slurm.conf"), "--log", str(site / "jobs.sacct")]
    assert main([*given, *more]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_without_recorded_starts_no_change_is_tried(site: Path) -> None:
    found = calibrate(parquet_of(site, jobs=20), progress=lambda done, total: pytest.fail("a change was replayed"))
    assert (found.fit.verdict, found.causes) == ("none", None)


def test_ctrl_c_keeps_what_was_replayed(site: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    found = calibrate(options_of(site), families=["backfill"], replicates=2, progress=stop)
    assert found.interrupted
    assert found.causes is not None and 1 <= len(found.causes.tried) <= 3


def test_distance_by_hand() -> None:
    logged, replayed = np.array([0.0, 60.0, 540.0, NAN]), np.array([60.0, 60.0, NAN, 5.0])
    # factors 2, 1, and 2 for the one that had waited 1,140 s when the log ended
    expected = 2 * np.log(2) / 3
    assert distance(logged, replayed, np.array([9.0, 9.0, 1140.0, 9.0])) == pytest.approx(expected)
