"""job_submit.lua: fields, return codes, messages and errors, as 22.05, 24.11 and 26.05 have them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("lupa", reason="NOT TESTED: job_submit.lua: the extra lua is not installed")

from slurmsim.cli import main
from slurmsim.errors import ConfigError
from slurmsim.lua import job_fields, names_lua
from slurmsim.lua.constants import NO_VAL, NO_VAL16, NO_VAL64, constants
from slurmsim.lua.job_submit import Caller, JobSubmit, Nowhere, Verdict
from slurmsim.releases import RECORDED_RELEASES

MODIFY = "\nfunction slurm_job_modify(d, j, p, u) return 0 end"
ALICE = Caller(2001, 2002, "alice")
REQUEST = {"name": "n", "min_cpus": 1, "std_in": "/dev/null", "argv": [], "environment": {"HOME": "/h"}}


def submitted(body: str, release: str = "26.05", **request: object) -> Verdict:
    """What becomes of a request when the script has `body`."""
    text = f"function slurm_job_submit(job_desc, part_list, submit_uid) {body} end{MODIFY}"
    script = JobSubmit(text, release, "c", lambda: 0)
    return script.submit({**REQUEST, **request}, ALICE, Nowhere())


def told(name: str, release: str = "26.05", **request: object) -> str:
    """A field as the script sees it, as text."""
    return submitted(f"slurm.log_user('%s', tostring(job_desc.{name}))", release, **request).said[0]


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("account", "nil"), ("begin_time", "0"), ("cores_per_socket", str(NO_VAL16)), ("time_limit", str(NO_VAL)),
        ("min_cpus", "1"), ("max_nodes", str(NO_VAL)), ("pn_min_memory", "1.844674407371e+19"), ("nice", str(NO_VAL)),
        ("min_mem_per_node", "nil"), ("requeue", str(NO_VAL16)), ("shared", str(NO_VAL16)), ("segment_size", "0"),
        ("oversubscribe", str(NO_VAL16)), ("priority", str(NO_VAL)), ("bitflags", "503316480"), ("argc", "0"),
        ("user_id", "2001"), ("group_id", "2002"), ("user_name", "alice"), ("nosuchfield", "nil"), ("contiguous", "0"),
        ("het_job_offset", str(NO_VAL)), ("mail_type", "0"), ("delay_boot", str(NO_VAL)), ("cron_job", "false"),
    ],
)  # fmt: skip
def test_what_is_not_given(name, absent):
    """As real Slurm's script printed it for ``sbatch --wrap``."""
    assert told(name) == absent


def test_what_is_given():
    asked = {"time_limit": 60, "nice": 5, "shared": "exclusive", "pn_min_memory": 100, "requeue": 1, "num_tasks": 4,
             "cpus_per_task": 2, "tres_per_node": "gres:gpu:2", "hold": True}  # fmt: skip
    shown = {name: told(name, **asked) for name in (
        "time_limit", "nice", "shared", "min_mem_per_node", "min_mem_per_cpu", "requeue", "bitflags", "tres_per_task",
        "tres_per_node", "gres", "priority")}  # fmt: skip
    assert shown == {
        "time_limit": "60", "nice": "2147483653", "shared": "0", "min_mem_per_node": "100", "min_mem_per_cpu": "nil",
        "requeue": "1", "bitflags": "503365632", "tres_per_task": "cpu=2", "tres_per_node": "gres/gpu:2",
        "gres": "gres/gpu:2", "priority": "0",
    }  # fmt: skip
    assert told("tres_per_task", "22.05", **asked) == "nil" and told("gres", "22.05", **asked) == "gres:gpu:2"


def test_what_a_script_sets():
    verdict = submitted(
        "job_desc.partition = 'debug' job_desc.time_limit = '12' job_desc.comment = 5 job_desc.account = ''"
        " job_desc.environment['FOO'] = 'bar' job_desc.min_mem_per_cpu = 7 job_desc.shared = 0 job_desc.gres = 'gpu:1'"
        " job_desc.nosuch = 3 job_desc.priority = 0 job_desc.features = 'a' job_desc.tres_per_task = 'cpu=3,gres/gpu=1'"
        " return 0",
        account="old",
    )
    assert verdict.refused is None and "unrecognized field: nosuch" in verdict.logged[0][1]
    changed = {name: value for name, value in verdict.request.items() if REQUEST.get(name) != value}
    assert changed == {
        "partition": "debug", "time_limit": 12, "comment": "5", "environment": {"HOME": "/h", "FOO": "bar"},
        "pn_min_memory": 7, "mem_per_cpu": True, "shared": "exclusive", "tres_per_node": "gres:gpu:1", "hold": True,
        "features": "a", "cpus_per_task": 3, "tres_per_task": "gres/gpu=1",
    }  # fmt: skip
    assert REQUEST["environment"] == {"HOME": "/h"}


@pytest.mark.parametrize(
    ("body", "refused", "said"),
    [
        ("slurm.log_user('a %d', 3) return slurm.SUCCESS", None, ["a 3"]),
        ("slurm.log_user('one') slurm.user_msg('two') return slurm.ERROR", (-1, "Unspecified error"), ["one", "two"]),
        ("return 2015", (2015, "Requested partition configuration not available now"), []),
        ("return slurm.ESLURM_INVALID_PARTITION_NAME", (2000, "Invalid partition name specified"), []),
        ("return 'text'", None, []),
        ("return", None, []),
        ("return true", None, []),
    ],
)
def test_what_a_script_returns(body, refused, said):
    verdict = submitted(body)
    assert (verdict.refused, verdict.said) == (refused, said)


@pytest.mark.parametrize("release", RECORDED_RELEASES)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("slurm.log_user('before') local x = nil return x.y", "attempt to index local 'x' (a nil value)"),
        ("job_desc.comment = nil", "bad argument #3 to '?' (string expected, got nil)"),
        ("job_desc.time_limit = 'x'", "bad argument #3 to '?' (number expected, got string)"),
    ],
)
def test_an_error_refuses_from_26_05_on(release, body, words):
    verdict = submitted(body, release)
    if release < "26.05":
        assert verdict.refused is None and verdict.said in ([], ["before"])
    else:
        assert verdict.refused == (7405, "Lua function execution failed due to runtime error")
        assert verdict.said == [f"job_submit.lua:1: {words}"]


def test_names_of_a_release():
    assert "ESLURM_INVALID_QOS" in constants("24.11") and "ESLURM_INVALID_QOS" not in constants("22.05")
    assert told("name and slurm.NO_VAL64") == f"{float(NO_VAL64):.14g}" and math.isclose(
        2**63, constants("22.05")["MEM_PER_CPU"]
    )
    assert names_lua("all_partitions,LUA") and not names_lua("none")


def test_jobs_and_partitions_are_shown():
    class Site(Nowhere):
        def partitions(self):
            return [{"name": "batch", "max_time": 1440}]

        def jobs(self):
            return [{"job_id": 7, "partition": "batch"}]

    text = f"""function slurm_job_submit(d, parts, uid)
      for id, job in pairs(slurm.jobs) do slurm.log_user("%s %s %s", id, type(id), job.partition) end
      for name, part in pairs(parts) do slurm.log_user("%s %d %d", name, part.max_time, uid) end
      return 0
    end{MODIFY}"""
    verdict = JobSubmit(text, "26.05", "c", lambda: 0).submit(REQUEST, ALICE, Site())
    assert verdict.said == ["7 string batch", "batch 1440 2001"]


def test_a_script_needs_both_functions():
    with pytest.raises(ConfigError, match="slurm_job_modify"):
        JobSubmit("function slurm_job_submit() return 0 end", "26.05", "c", lambda: 0)


FIELDS = sorted(job_fields._TEXTS | set(job_fields._ABSENT) | set(job_fields._FLAGS) | set(job_fields._WRITERS))


VALUES = st.one_of(st.none(), st.booleans(), st.text(max_size=8), st.integers(-(1 << 70), 1 << 70), st.floats())


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from([*FIELDS, "nosuch"]), VALUES), max_size=5))
def test_whatever_is_set_fits_the_wire(changes):
    """A script's values end as a request that the daemon's own shapes take, or as Lua's words."""
    from slurmsim.slurmctld.requests.shapes.jobs import JOB

    request: dict[str, object] = dict(REQUEST)
    for name, value in changes:
        try:
            job_fields.write(request, name, value, "26.05")
        except job_fields.Field as wrong:
            assert str(wrong).startswith("bad argument #3")
        job_fields.read(request, name, "26.05")
    JOB.check(request, "job")


def test_cases(tmp_path: Path, capsys):
    script, cases = tmp_path / "job_submit.lua", tmp_path / "job_submit.toml"
    script.write_text(
        "function slurm_job_submit(d) if d.time_limit == slurm.NO_VAL then slurm.log_user('say -t')"
        " return slurm.ESLURM_MISSING_TIME_LIMIT end d.qos = 'q' return 0 end" + MODIFY
    )
    one = '[[case]]\nname = "a"\noptions = "-n 2"\nexpect = {refused = "Time limit", says = "-t"}\n'
    two = '[[case]]\nname = "b"\noptions = "-t 5"\nexpect = {qos = "q", time_limit = 5}\n'
    cases.write_text(one + two)
    assert main(["lua", "test", str(script)]) == 0
    assert "2 of 2 cases hold" in capsys.readouterr().out
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n")
    shown = "d.comment = parts.p.nodes .. ' ' .. parts.p.default_time .. ' ' .. parts.p.max_nodes_orig return 0"
    script.write_text(f"function slurm_job_submit(d, parts) {shown} end{MODIFY}")
    cases.write_text(f'[[case]]\nexpect = {{comment = "n[1-2] {NO_VAL} {0xFFFFFFFF}"}}\n')
    assert main(["lua", "test", str(script), "--conf", str(conf)]) == 0
    script.write_text(
        "function slurm_job_submit(d) if d.time_limit == slurm.NO_VAL then slurm.log_user('say -t')"
        " return slurm.ESLURM_MISSING_TIME_LIMIT end d.qos = 'q' return 0 end" + MODIFY
    )
    capsys.readouterr()
    cases.write_text(one + two.replace('qos = "q"', 'qos = "r"'))
    assert main(["lua", "test", str(script)]) == 1
    assert "qos: expected 'r', is 'q'" in capsys.readouterr().out
    for wrong in ("", "[[case]]\n", "case = 3\n", '[[case]]\noptions = "--nosuch"\nexpect = {qos = ""}\n',
                  '[[case]]\noptions = 3\nexpect = {qos = ""}\n', '[[case]]\nwhat = 3\n', "x = \n"):  # fmt: skip
        cases.write_text(wrong)
        assert main(["lua", "test", str(script)]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("slurmsim: error: ")
