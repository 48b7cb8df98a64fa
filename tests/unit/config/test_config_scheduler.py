"""SchedulerParameters: reading, merging, ranges."""

from __future__ import annotations

import pytest
from conf_texts import SMALL
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.config.load import parse_cluster
from slurmsim.config.option import Status
from slurmsim.config.scheduler_options import SUB_OPTIONS, merge_parameters, split_parameters


def read(text: str) -> tuple[dict[str, str], list[str]]:
    cluster, findings = parse_cluster(f'{SMALL}SchedulerParameters="{text}"\n')
    return dict(cluster.scheduler_parameters), [
        str(finding).removeprefix("slurm.conf:5: warning: SchedulerParameters=") for finding in findings
    ]


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("", {}),
        ("bf_interval=30,bf_continue", {"bf_interval": "30", "bf_continue": ""}),
        ("BF_Interval=30, Defer ,", {"bf_interval": "30", "defer": ""}),
        ("bf_interval=30,bf_interval=40", {"bf_interval": "40"}),
        ("bf_interval=-1,sched_interval=-1", {"bf_interval": "-1", "sched_interval": "-1"}),
        ("bf_window=0043", {"bf_window": "43"}),
        ("max_rpc_cnt=150,bf_yield_interval=1000000", {"max_rpc_cnt": "150", "bf_yield_interval": "1000000"}),
        ("preempt_youngest_first,bf_licenses", {"preempt_youngest_first": "", "bf_licenses": ""}),
    ],
)
def test_reading(text: str, parameters: dict[str, str]) -> None:
    assert read(text) == (parameters, [])


@pytest.mark.parametrize(
    ("text", "parameters", "finding"),
    [
        ("bf_interval=0", {}, "bf_interval=0: out of range (-1 or 1 to 10800); its default 30 is used"),
        ("bf_resolution=7200", {}, "bf_resolution=7200: out of range (1 to 3600); its default 60 is used"),
        ("bf_window=50000", {}, "bf_window=50000: out of range (1 to 43200); its default 1440 is used"),
        ("default_queue_depth=-4", {}, "default_queue_depth=-4: out of range (at least 0); its default 100 is used"),
        ("bf_max_job_test=many", {}, "bf_max_job_test=many: 'many' is not a number; its default 500 is used"),
        ("bf_interval", {}, "bf_interval: '' is not a number; its default 30 is used"),
        ("bf_interval=30s", {"bf_interval": "30"}, "bf_interval=30s: read as 30, as Slurm does"),
        ("kill_invalid_depend", {}, "kill_invalid_depend: slurmctld ignores this unknown sub-option silently; it "
         "belongs to DependencyParameters now"),
        ("bf_intervall=30", {}, "bf_intervall=30: slurmctld ignores this unknown sub-option silently; did you mean "
                                "bf_interval?"),
        ("bf_continue=no", {"bf_continue": ""}, "bf_continue=no: a flag takes no value; Slurm counts it as set"),
        ("reduce_completing_frag", {"reduce_completing_frag": ""},
         "reduce_completing_frag: not modelled: CompleteWait stops all partitions"),
    ],
)  # fmt: skip
def test_what_is_said(text: str, parameters: dict[str, str], finding: str) -> None:
    assert read(text) == (parameters, [finding])


@pytest.mark.parametrize(
    ("given_text", "override", "merged"),
    [
        ("", "defer", "defer"),
        ("bf_continue,bf_interval=30", "bf_interval=60,defer", "bf_continue,bf_interval=60,defer"),
        ("bf_continue,bf_interval=30", "-bf_continue", "bf_interval=30"),
        ("BF_Interval=30", "bf_interval=60", "bf_interval=60"),
        ("a=1", "-b", "a=1"),
    ],
)
def test_merging(given_text: str, override: str, merged: str) -> None:
    assert merge_parameters(given_text, override) == merged


PARAMETERS = st.dictionaries(
    st.sampled_from(["defer", "bf_interval", "bf_window", "x"]), st.sampled_from(["", "1", "22"])
)


def text_of(parameters: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" if value else name for name, value in parameters.items())


@given(PARAMETERS, PARAMETERS)
def test_merging_is_a_dictionary_update(left: dict[str, str], right: dict[str, str]) -> None:
    assert split_parameters(merge_parameters(text_of(left), text_of(right))) == {**left, **right}


def test_defaults_are_in_range_and_read_back() -> None:
    for option in SUB_OPTIONS.values():
        if option.status is Status.HONOURED and option.kind == "count" and option.default is not None:
            assert read(f"{option.name}={option.default}") == ({option.name.lower(): str(option.default)}, [])
