"""scontrol without a daemon: its shell, host lists, ids and small readers."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from slurmsim.commands.scontrol.job_text import mail_names
from slurmsim.commands.scontrol.jobs import job_ids
from slurmsim.commands.scontrol.keywords import tag_matches
from slurmsim.commands.text.host_list_text import encode


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", ["7"]),
        ("5_3,8", ["5_3", "8"]),
        ("5_[1-3]", ["5_1-3"]),
        ("[3-5]", ["3", "4", "5"]),
        ("x", None),
        ("1-2", None),
    ],
)
def test_ids_of_jobs(text: str, found: list[str] | None) -> None:
    assert job_ids(text) == found


def test_a_keyword_may_be_cut_short_but_not_too_short() -> None:
    assert tag_matches("TimeL", "TimeLimit", 5)
    assert not tag_matches("Tim", "TimeLimit", 5)
    assert not tag_matches("TimeLimits", "TimeLimit", 5)


def test_mail_events_in_slurms_order() -> None:
    assert mail_names(0x06) == "END,FAIL"
    assert mail_names(0) == "NONE"


class _Nobody:
    """A cluster that does not answer."""

    def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is to be asked")


@pytest.mark.parametrize(
    ("words", "out", "code"),
    [
        (["show", "hostnames", "n[01-02],x"], "n01\nn02\nx\n", 0),
        (["show", "hostlist", "n2,n1,n3"], "n[2,1,3]\n", 0),
        (["show", "hostlistsorted", "n2,n1,n3"], "n[1-3]\n", 0),
        (["errnumstr", "2017"], "Invalid job id specified\n", 0),
        (["errnumstr"], "", 1),
        (["nosuch"], "", 1),
    ],
)
def test_what_asks_no_daemon(words: list[str], out: str, code: int) -> None:
    from slurmsim.commands.io import Io
    from slurmsim.commands.scontrol.scontrol import process, usage
    from slurmsim.commands.scontrol.session import Session

    stdout, stderr = io.StringIO(), io.StringIO()
    shell = Io(cast(Any, _Nobody()), stdout=stdout, stderr=stderr, environ={}, cwd="/")
    session = Session(shell, "22.05", usage)
    process(session, words)
    assert (stdout.getvalue(), session.code) == (out, code)


def test_host_lists_in_order_count_digits_first() -> None:
    assert encode(["n10", "n9", "n08", "a"], ordered=True) == "a,n[9,08,10]"
