"""Values of job options, good and bad, as the real commands read them (22.05.8 unless said)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.commands.submit.options import layout_values as layout
from slurmsim.commands.text import values
from slurmsim.commands.text.dates import BadDate, parse_date
from slurmsim.commands.text.values import INFINITE, BadValue, Context

NOW = 1767600000  # 2026-01-05 08:00:00 UTC, a Monday


def context(release: str = "22.05", command: str = "sbatch", **more: Any) -> Context:
    return Context(command, release, now=NOW, uid=2001, cwd="/home/alice", **more)


def complaint(call: Any) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    with pytest.raises(BadValue) as caught:
        call()
    return caught.value.plain, caught.value.errors, caught.value.status


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("90", 90), ("0", INFINITE), ("1:00", 1), ("1:01", 2), ("25:00:00", 1500), ("1-00", 1440), ("5-", 7200),
        ("1-2:3", 1563), ("1-2:3:4", 1564), ("UNLIMITED", INFINITE), ("Infinite", INFINITE), ("-1", INFINITE),
        ("-5", 2**32 - 7199), ("9999999999", 2**32 - 21590357),
    ],
)  # fmt: skip
def test_time_limits(text: str, minutes: int) -> None:
    assert values.time_limit(text, "--time", context()) == minutes


@pytest.mark.parametrize("text", ["", "10x", "1-2-3", "1:2:3:4", ":1", "1:", "1:-2", " 5", "5m", "1-2:", "1.5", "-"])
def test_no_time_limits(text: str) -> None:
    assert complaint(lambda: values.time_limit(text, "--time", context())) == (
        (),
        ("Invalid --time specification",),
        255,
    )


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("1000", 1000),
        ("1k", 1),
        ("1025k", 2),
        ("3GB", 3072),
        ("2gb", 2048),
        ("1T", 1 << 20),
        (" 4", 4),
        ("+5", 5),
        ("0", 0),
    ],
)
def test_sizes(text: str, mib: int) -> None:
    assert values.memory(text, "--mem", context()) == mib


@pytest.mark.parametrize("text", ["", "abc", "-1", "1Gi", "1.5G", "1BB", "99999999999999999999"])
def test_no_sizes(text: str) -> None:
    assert complaint(lambda: values.memory(text, "--tmp", context()))[1] == ("Invalid --tmp specification",)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("4", 4, 4),
        ("2-8", 2, 8),
        ("-3", 1, 3),
        ("1-1k", 1, 1024),
        ("3k", 3072, 3072),
        (" 2", 2, 2),
        ("2 ", 2, 2),
        ("2-0", 2, 0),
    ],
)
def test_node_counts(text: str, least: int, most: int) -> None:
    found = layout.node_count(text, "--nodes", context())
    assert (found["min_nodes"], found["max_nodes"]) == (least, most)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("abc", '"abc" is not a valid node count'),
        ("1-x", '"x" is not a valid node count'),
        ("1-2-3", '"2-3" is not a valid node count'),
        ("1,2", '"1,2" is not a valid node count'),
        ("", '"" is not a valid node count'),
        ("2-1", "Maximum node count 1 is less than minimum node count 2"),
        ("2-", "Maximum node count -1 is less than minimum node count 2"),
    ],
)
def test_no_node_counts(text: str, said: str) -> None:
    assert complaint(lambda: layout.node_count(text, "--nodes", context()))[1] == (said,)


def test_lists_of_node_counts_came_later() -> None:
    found = layout.node_count("2,4-8:2", "--nodes", context("24.11"))
    assert found == {"min_nodes": 2, "max_nodes": 8, "job_size_str": "2,4-8:2"}


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "2k", "3 ", "0x10"])
def test_whole_numbers_end_with_exit_code_1(text: str) -> None:
    found = complaint(lambda: values.positive(text, "--ntasks", context()))
    assert found == ((), (f'Invalid numeric value "{text}" for --ntasks.',), 1)


def test_numbers_too_big_differ_by_release() -> None:
    assert values.positive("4294967297", "--ntasks", context()) == 1  # wraps, as there
    huge = "9" * 30
    assert complaint(lambda: values.positive(huge, "--ntasks", context()))[1] == (
        "Numeric argument (9223372036854775807) to big for --ntasks.",
    )
    assert complaint(lambda: values.positive("4294967297", "--ntasks", context("24.11")))[1] == (
        "Numeric argument (4294967297) too large for --ntasks.",
    )


@pytest.mark.parametrize(
    ("text", "number", "seconds", "flags"),
    [
        ("9", 9, 60, ""), ("SIGUSR1@5", 10, 5, ""), ("BUSR1", 10, 60, "B"), ("RB:10@100", 10, 100, "RB"),
        ("BR:USR2", 12, 60, "RB"), ("R:usr2@", 12, 0, "R"), (" USR1 ", 10, 60, ""),
    ],
)  # fmt: skip
def test_signals(text: str, number: int, seconds: int, flags: str) -> None:
    assert values.warning_signal(text, "--signal", context()) == {
        "warn_signal": number, "warn_time": seconds, "warn_flags": flags,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["bogus", "@5", "USR1@70000", "USR1@5x", "USR1x", "0", ""])
def test_no_signals(text: str) -> None:
    assert complaint(lambda: values.warning_signal(text, "--signal", context()))[1] == (
        "Invalid --signal specification",
    )


def test_only_sbatch_signals_the_script_alone() -> None:
    assert complaint(lambda: values.warning_signal("B:USR1", "--signal", context(command="srun")))[2] == 255


def test_mail_types() -> None:
    read = lambda text: values.mail_type(text, "--mail-type", context())  # noqa: E731
    assert read("END,bogus") == values.MAIL_BITS["END"]
    assert read("begin,none,end") == 0
    assert read("all") == sum(
        values.MAIL_BITS[name] for name in ("INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT")
    )
    assert complaint(lambda: read("bogus"))[1] == ("Invalid --mail-type specification",)
    assert complaint(lambda: read(""))[2] == 255


def test_nice_and_priority() -> None:
    assert values.nice(None, "--nice", context()) == 100
    assert values.nice("x", "--nice", context()) == 0
    assert complaint(lambda: values.nice("2147483646", "--nice", context()))[1] == (
        "Invalid --nice value, out of range (+/- 2147483645)",
    )
    assert values.priority("TOP", "--priority", context()) == 0xFFFFFFFD
    assert complaint(lambda: values.priority("-1", "--priority", context()))[1] == ("Priority must be >= 0",)


@pytest.mark.parametrize(
    ("text", "found", "size"),
    [
        ("*:*", "block:cyclic", None), ("*:block:*", "block:block:block", None), ("pack", "pack", None),
        ("cyclic:cyclic:fcyclic,nopack", "cyclic:cyclic:fcyclic,nopack", None), ("hostfile", "arbitrary", None),
        ("PLANE=3", "plane", 3),
    ],
)  # fmt: skip
def test_distributions(text: str, found: str, size: int | None) -> None:
    assert layout.distribution(text, "--distribution", context()) == {"distribution": found, "plane_size": size}


@pytest.mark.parametrize("text", ["bogus", "fcyclic", "block:x", "block:block:block:block", "", "block,foo"])
def test_no_distributions(text: str) -> None:
    found = complaint(lambda: layout.distribution(text, "--distribution", context()))
    assert found[1] == ("Invalid --distribution specification",)


def test_a_plane_needs_a_size() -> None:
    asked = context(environ={"SLURM_DIST_PLANESIZE": "4"})
    assert layout.distribution("plane", "--distribution", asked)["plane_size"] == 4
    assert complaint(lambda: layout.distribution("plane=0", "--distribution", context()))[1] == (
        "Invalid plane size or size not specified",
        "Invalid --distribution specification",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bogus", 'unrecognized --cpu-freq argument "bogus"'),
        ("high-low", "min cpu-frec (high) must be < max cpu-freq (low)"),
        ("low:performance", "gov on cpu-frec (performance) illegal without max"),
        ("low-high:foo", "illegal governor: foo on --cpu-freq"),
        ("conservative", "governor of conservative is not allowed in slurm.conf"),
    ],
)
def test_no_frequencies(text: str, said: str) -> None:
    found = complaint(lambda: layout.frequency(text, "--cpu-freq", context()))
    assert found[1] == (said, "Invalid --cpu-freq argument")


def test_geometry_bounds() -> None:
    assert layout.geometry("1:*", "-B", context()) == {
        "sockets_per_node": 1, "cores_per_socket": None, "threads_per_core": None,
    }  # fmt: skip
    assert complaint(lambda: layout.geometry("1:x", "-B", context())) == (
        (), ('Invalid numeric value "x" for second arg of -B.',), 1,
    )  # fmt: skip


def test_bindings_to_memory() -> None:
    read = lambda text: layout.memory_binding(text, "--mem-bind", context())  # noqa: E731
    assert read("q,rank,p") == "prefer,rank"
    assert read("map_mem:0*2,1") == "map_mem:0,0,1"
    assert read("mask_mem=0x3,f") == "mask_mem:3,f"
    assert complaint(lambda: read("map_mem"))[1] == ('missing list for "--mem-bind=map_mem:<list>"',)
    assert complaint(lambda: read("map_mem:x"))[1] == ("Failed to validate number: x, the offending character is x",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("now+1hour", "2026-01-05T09:00:00"), ("now+10", "2026-01-05T08:00:10"), ("midnight", "2026-01-06T00:00:00"),
        ("noon", "2026-01-05T12:00:00"), ("07:30", "2026-01-06T07:30:00"), ("16:00", "2026-01-05T16:00:00"),
        ("tomorrow noon", "2026-01-06T12:00:00"), ("noontomorrow", "2026-01-06T12:00:00"),
        ("01/06/26-10:00", "2026-01-06T10:00:00"), ("0203", "2026-02-03T00:00:00"), ("2/3", "2026-02-03T00:00:00"),
        ("01/02", "2027-01-02T00:00:00"), ("2026-02-31", "2026-03-03T00:00:00"), ("10:00pm", "2026-01-05T22:00:00"),
        ("12:00 am", "2026-01-06T00:00:00"), ("12:30pm", "2026-01-05T12:30:00"),
        ("uts1800000000", "2027-01-15T08:00:00"),
    ],
)  # fmt: skip
def test_dates(text: str, said: str) -> None:
    found = values.moment(text, "--begin", context())
    assert time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(found)) == said


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("bogus", 0), ("now+1fortnight", 4), ("now+1min", 4), ("25:00", 0), ("2026-13-01", 5), ("now+", 3), ("nowx", 3),
        ("Today", 1), ("uts12", 0),
    ],
)  # fmt: skip
def test_no_dates(text: str, position: int) -> None:
    found = complaint(lambda: values.moment(text, "--begin", context()))
    assert found == (
        (f"Invalid time specification (pos={position}): {text}",), ("Invalid --begin specification",), 255,
    )  # fmt: skip


@given(st.text(alphabet="0123456789-:/.+T nowtdayhrspmik", max_size=14))
def test_dates_are_read_or_refused(text: str) -> None:
    try:
        assert parse_date(text, NOW) >= 0
    except BadDate as bad:
        assert bad.line.endswith(f": {text}")


@given(st.text(max_size=12))
def test_every_reader_reads_or_refuses(text: str) -> None:
    readers = (
        values.time_limit, values.memory, values.positive, values.natural, values.nice, values.priority,
        values.warning_signal, values.mail_type, values.switches, values.delay, values.moment, values.open_mode,
        values.user_env, layout.node_count, layout.distribution, layout.geometry, layout.frequency, layout.profile,
        layout.sampling, layout.memory_binding, layout.gpu_binding, layout.gpu_frequency, layout.umask,
    )  # fmt: skip
    for read in readers:
        try:
            read(text, "--option", context("24.11"))
        except BadValue as bad:
            assert bad.errors and bad.status in (1, 255)
