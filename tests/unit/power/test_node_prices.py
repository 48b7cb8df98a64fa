"""What nodes cost by the hour: by hand, files that are none, and boots that are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import slurmsim
from slurmsim.errors import ConfigError
from slurmsim.sim.boot_times import BootTime
from slurmsim.validate import validate_trace

HOUR = 3600
CONF = """\
ClusterName=cloud
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SuspendProgram=/s
ResumeProgram=/r
SuspendTime=600
SuspendTimeout=30
ResumeTimeout=1000
NodeName=n1 CPUs=2
NodeName=n[2-3] CPUs=2 State=CLOUD Feature=fast
PartitionName=all Nodes=ALL Default=YES
"""


def jobs(*rows: tuple[int, int, int]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"job_id": k, "submit": at, "run_time": run, "time_limit": run + HOUR, "tasks": cpus, "user": "u"}
         for k, (at, run, cpus) in enumerate(rows, 1)]
    )  # fmt: skip


def ran(folder: Path, frame: pd.DataFrame, prices: str, conf: str = CONF, **options: Any) -> slurmsim.Trace:
    (folder / "prices.toml").write_text(prices)
    (folder / "slurm.conf").write_text(conf)
    out = folder / "out"
    trace = slurmsim.run(
        frame, conf=folder / "slurm.conf", prices=folder / "prices.toml", out=out, report=False, **options
    )
    report = validate_trace(out)
    assert report.valid, report.to_text()
    return trace


def hours_awake(trace: slurmsim.Trace, node: str, begins_off: bool) -> float:
    """The same by another way: second by second, from the events as they are written."""
    usage = trace.usage_frame(dates=False)
    first, last = int(usage["time"].iloc[0]), int(usage["time"].iloc[-1])
    events = trace.events_frame(dates=False)
    power = events[(events["event"] == "POWER") & events["nodes"].map(lambda nodes: node in slurmsim_names(nodes))]
    changes = dict(zip(power["time"], power["state"], strict=True))
    off, awake = begins_off, 0
    for second in range(first, last):
        off = changes[second] == "POWERED_DOWN" if second in changes else off
        awake += not off
    return awake / HOUR


def slurmsim_names(nodes: str) -> list[str]:
    from slurmsim.hostlist import expand

    return list(expand(nodes))


def test_nodes_that_are_off_cost_nothing(tmp_path: Path) -> None:
    """n1 is up all the time; n2 boots for the second job, n3 never."""
    trace = ran(tmp_path, jobs((0, 2 * HOUR, 2), (60, HOUR, 2)), '[nodes]\n"n1" = 1\n"n2" = 10\n"n3" = 1000\n')
    assert trace.summary["node_cost"] == pytest.approx(
        hours_awake(trace, "n1", False) + 10 * hours_awake(trace, "n2", True), abs=1e-5
    )
    assert hours_awake(trace, "n3", True) == 0
    start, end = (trace.jobs_frame(dates=False).set_index("job_id").loc[2, name] for name in ("start", "end"))
    idle_of_n1 = hours_awake(trace, "n1", False) - 2
    idle_of_n2 = hours_awake(trace, "n2", True) - (end - start) / HOUR
    assert trace.summary["idle_node_cost"] == pytest.approx(idle_of_n1 + 10 * idle_of_n2, abs=1e-5)


def test_jobs_that_share_a_node_are_counted_once(tmp_path: Path) -> None:
    """Two jobs of one CPU on one node: 0 to 3600 and 1800 to 5400."""
    conf = "ClusterName=one\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nNodeName=n1 CPUs=2 Feature=a\n"
    conf += "PartitionName=all Nodes=ALL Default=YES\n"
    trace = ran(
        tmp_path,
        jobs((0, HOUR, 1), (HOUR // 2, HOUR, 1), (2 * HOUR, HOUR, 1)),
        "[features]\na = 2\n",
        conf,
        policy="easy",
    )
    assert (trace.summary["node_cost"], trace.summary["idle_node_cost"]) == (6.0, 1.0)


def test_the_first_line_that_names_a_node_counts(tmp_path: Path) -> None:
    frame = jobs((0, HOUR, 2))
    one = ran(tmp_path, frame, '[features]\nfast = 5\n[nodes]\n"n[1-3]" = 1\n')
    assert one.summary["node_cost"] == pytest.approx(hours_awake(one, "n1", False), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no price"), ("[nodes]\n", "has no price"), ("[machines]\na = 1\n", "machines: unknown table"),
        ('[nodes]\n"n9" = 1\n', "no such node: 'n9'"), ('[nodes]\n"n[" = 1\n', "no such node"),
        ("[nodes]\nn1 = -1\n", "n1: '-1'"), ("[nodes]\nn1 = nan\n", "n1: 'nan'"),
        ("[nodes]\nn1 = true\n", "n1: 'True'"), ('[nodes]\nn1 = "1"\n', "n1: '1'"),
        ("[features]\nslow = 1\n", "slow: no node has it"), ("nodes = 3\n", "no table"),
        ('[nodes]\n"n[1-99999999]" = 1\n', "no such node"), ("[nodes\n", "prices.toml"),
    ],
)  # fmt: skip
def test_what_is_no_price_is_told_in_a_line_before_the_run(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ran(tmp_path, jobs((0, 10, 1)), text)
    assert words in str(refused.value) and "\n" not in str(refused.value) and not (tmp_path / "out").exists()


def boots(trace: slurmsim.Trace) -> list[int]:
    """Seconds from powering up to up, of each node that booted."""
    events = trace.events_frame(dates=False)
    begun: dict[str, int] = {}
    found = []
    for time, kind, state, nodes in events[["time", "event", "state", "nodes"]].itertuples(index=False):
        for name in slurmsim_names(nodes) if kind == "POWER" else ():
            if state == "POWERING_UP":
                begun[name] = time
            elif state == "IDLE":
                found.append(time - begun[name])
    return found


def test_boots_are_drawn_by_the_seed(tmp_path: Path) -> None:
    frame = jobs((0, HOUR, 6), (2 * HOUR, HOUR, 6), (4 * HOUR, HOUR, 6))
    prices = "[features]\nfast = 1\n"
    one = boots(ran(tmp_path, frame, prices, boot_time="100-300", seed=1))
    assert len(one) >= 6 and len(set(one)) > 2 and min(one) >= 100 and max(one) <= 300
    again, other = (boots(ran(tmp_path, frame, prices, boot_time="100-300", seed=seed)) for seed in (1, 2))
    assert again == one != other
    assert set(boots(ran(tmp_path, frame, prices, boot_time=70))) == {70}


@pytest.mark.parametrize("text", ["x", "-5", "9-3", "1-", "lognormal", "lognormal:5", "lognormal:5:9", "1e3", "999999"])
def test_what_is_no_boot_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--boot-time"):
        BootTime.parse(text)


def test_lognormal_boots_have_their_median() -> None:
    draw = BootTime.parse("lognormal:90:0.5").drawn_by(0)
    assert draw is not None
    seconds = sorted(draw() for _ in range(4001))
    assert 85 <= seconds[2000] <= 95 and seconds[0] < 40 and seconds[-1] > 250
