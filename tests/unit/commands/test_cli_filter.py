"""cli_filter.lua around submissions: what it sees, what it changes and what is printed, as real Slurm was recorded."""

from __future__ import annotations

import io as streams
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from engine_client import CONF, PEOPLE, Cluster, _Client

from slurmsim.commands import MODULES
from slurmsim.commands.io import Io
from slurmsim.commands.submit.options.unset_values import unset_value

pytest.importorskip("lupa")
ALL = (
    "account array begin comment constraint core-spec cores-per-socket cpus-per-task deadline delay-boot dependency "
    "error exclude exclusive export gres hint hold job-name kill-on-invalid-dep mail-type mail-user mem mincpus nice "
    "no-kill no-requeue nodelist nodes ntasks ntasks-per-node open-mode output oversubscribe partition priority quiet "
    "requeue signal spread-job switches threads-per-core time time-min tmp use-min-nodes wait-all-nodes chdir bogus "
    "type cpu-freq extra-node-info pty"
)
SCRIPT = """\
local n = 0
function slurm_cli_setup_defaults(options, early)
  n = n + 1
  slurm.log_info("setup %s %s", n, options["type"])
  if os.getenv("TIME") then options["time"] = os.getenv("TIME") end
  if os.getenv("HOLD") then options["hold"] = "set" options["nosuch"] = "x" end
  return tonumber(os.getenv("SETUP") or 0)
end
function slurm_cli_pre_submit(options, offset)
  slurm.cli_store(3, "kept")
  slurm.log_info("pre %s %s %s", offset, tostring(#options.argv), tostring(options.argv[1]))
  if os.getenv("SHOW") then
    local out = {}
    for name in string.gmatch(os.getenv("SHOW"), "%S+") do out[#out + 1] = name .. "=" .. tostring(options[name]) end
    print(table.concat(out, " "))
  end
  if os.getenv("JSON") then print(slurm.json_cli_options(options)) end
  if os.getenv("PART") then options["partition"] = os.getenv("PART") options["comment"] = "by filter" end
  if os.getenv("FAIL") then error("boom") end
  if os.getenv("WORD") then return "x" end
  if os.getenv("CODE") then slurm.log_error("no: %s", "because") return tonumber(os.getenv("CODE")) end
  return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, job_id, step_id)
  slurm.log_info("post %s %s %s %s", offset, job_id, tostring(step_id), tostring(slurm.cli_retrieve(3)))
  return slurm.SUCCESS
end
"""
FILTERED = CONF + "PartitionName=debug Nodes=ALL\nCliFilterPlugins=cli_filter/lua\n"
RELEASES = ("22.05", "24.11", "26.05")


class Site:
    """A cluster whose script stands beside its slurm.conf."""

    def __init__(self, folder: Path, release: str = "24.11", script: str | None = SCRIPT) -> None:
        self.folder = folder
        accounts = "Cluster - tux\nParent - root\nAccount - a\nParent - a\nUser - alice:DefaultAccount=a\n"
        self.cluster = Cluster(folder, FILTERED, accounting=accounts, release=release)
        if script is not None:
            (folder / "cli_filter.lua").write_text(script, "utf-8")
        (folder / "j.sh").write_text("#!/bin/sh\n#SBATCH -n2\nsleep 1\n", "utf-8")

    def run(self, command: str, **environ: str) -> tuple[int, list[str]]:
        """One command of alice: its exit code and all it prints, with the folder left out."""
        program, *words = shlex.split(command)
        out = streams.StringIO()
        client: Any = _Told(self.cluster, PEOPLE["alice"])
        environment = {"SLURMSIM_USER": "alice", "USER": "alice", "PATH": "/bin", **environ}
        world = Io(client, stdin=streams.StringIO(), stdout=out, stderr=out, environ=environment, cwd=str(self.folder),
                   now=lambda: self.cluster.now)  # fmt: skip
        code = import_module(MODULES[program]).run(words, world)
        shown = out.getvalue().replace(f"{self.folder}/", "")
        return code, re.sub(r"\.{3}\S*/", "", shown).splitlines()  # Lua cuts long names


class _Told(_Client):
    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name == "hello":  # as the daemon itself answers
            return {**super().call(name), **self.cluster.call("ping", self.person, {})}
        return super().call(name, **arguments)


@pytest.mark.parametrize("release", RELEASES)
def test_it_is_called_around_a_submission(release: str, tmp_path: Path) -> None:
    site = Site(tmp_path, release)
    code, lines = site.run("sbatch j.sh a")
    assert code == 0
    assert lines == [
        "sbatch: lua: setup 1 sbatch", "sbatch: lua: setup 2 sbatch", "sbatch: lua: pre 0 2 j.sh",
        "sbatch: lua: post 0 1 4294967294 kept", "Submitted batch job 1",
    ]  # fmt: skip
    lines = site.run("sbatch -n1 : -n2 j.sh")[1]
    assert lines[-5:] == [
        "sbatch: lua: setup 3 sbatch", "sbatch: lua: pre 1 1 j.sh", "sbatch: lua: post 0 2 4294967294 kept",
        "sbatch: lua: post 1 2 4294967294 kept", "Submitted batch job 2",
    ]  # fmt: skip
    assert site.run("salloc --no-shell -n1 true", CODE="1") == (1, [
        "salloc: lua: setup 1 salloc", f"salloc: lua: pre 0 {'1 true' if release == '24.11' else '0 nil'}",
        "salloc: error: lua: no: because", "salloc: error: cli_filter plugin terminated with error",
    ])  # fmt: skip
    assert site.run("srun -n2 true", CODE="1")[1][:2] == ["srun: lua: setup 1 srun", "srun: lua: pre 0 1 true"]
    assert site.run("srun -n2 true", CODE="1", SLURM_JOB_ID="1")[1][0] == "srun: lua: pre 0 1 true"


def test_what_it_sets_is_a_default(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.run("sbatch j.sh", TIME="7")
    site.run("sbatch -t 3 j.sh", TIME="7")
    site.run("sbatch j.sh", TIME="7", SBATCH_TIMELIMIT="4")
    site.run("sbatch -p batch j.sh", PART="debug", HOLD="1")
    shown = site.cluster.text("squeue -h -S i -o '%l %P %k %r'").splitlines()
    assert [line.rsplit(" ", 1)[0] for line in shown] == [
        "7:00 batch (null)", "3:00 batch (null)", "4:00 batch (null)", "UNLIMITED debug by filter"
    ]  # fmt: skip
    assert shown[3].endswith("JobHeldUser")
    lines = site.run("sbatch j.sh", TIME="bogus")[1]
    assert lines.count("sbatch: error: Invalid --time specification") == 2 and lines[-1] == "Submitted batch job 5"


@pytest.mark.parametrize("release", RELEASES)
def test_options_read_as_recorded(release: str, tmp_path: Path) -> None:
    site = Site(tmp_path, release)
    _, lines = site.run(
        "sbatch -n3 -c2 -N1-2 -t 1:30 --mem=1G -p batch --nice=5 -J nm -o out -e err --exclusive -C a,b -w n01 -x n02 "
        "--mail-type=END,FAIL --mail-user=x --begin=2027-01-05T10:00:00 --deadline=2027-01-06 -d singleton --gres=none "
        "--hold --no-requeue --signal=B:USR1@10 --comment=c --export=A=1,B -D /tmp --switches=2@10 --tmp=5G "
        "--threads-per-core=1 --ntasks-per-node=2 --open-mode=append --spread-job --use-min-nodes --time-min=3 "
        "--kill-on-invalid-dep=yes -a 1-3%2 --cpu-freq=high --hint=nomultithread --delay-boot=5 "
        "--extra-node-info=1:2:1 j.sh a1 a2",
        SHOW=ALL,
    )
    assert lines[3] == (
        "account=nil array=1-3%2 begin=2027-01-05T10:00:00 comment=c constraint=a,b core-spec=unset cores-per-socket=2 "
        "cpus-per-task=2 deadline=2027-01-06T00:00:00 delay-boot=00:05:00 dependency=singleton error=err exclude=n02 "
        "exclusive=exclusive export=A=1,B gres=none hint=nomultithread hold=set job-name=nm kill-on-invalid-dep=yes "
        "mail-type=END,FAIL mail-user=x mem=1G mincpus=-1 nice=5 no-kill=unset no-requeue=no-requeue nodelist=n01 "
        "nodes=1-2 ntasks=3 ntasks-per-node=2 open-mode=a output=out oversubscribe=exclusive partition=batch "
        "priority=0 quiet=0 requeue=no-requeue signal=B:USR1@10 spread-job=set switches=2@00:10:00 "
        "threads-per-core=1 time=00:02:00 time-min=00:03:00 tmp=5G use-min-nodes=set wait-all-nodes=65534 chdir=/tmp "
        "bogus=nil type=sbatch cpu-freq=High extra-node-info=1:2:1 pty=invalid-context"
    )
    _, lines = site.run("sbatch -n3 -t 5 -p batch j.sh x", JSON="1")
    script = str(site.folder).replace("/", "\\/")
    assert lines[3].replace(f"{script}\\/", "") == (
        '{"ntasks":"3","partition":"batch","time":"00:05:00","argv":["j.sh","x"]}'
    )


def test_options_that_are_not_set() -> None:
    assert unset_value("time", "sbatch", "22.05") == "2982616-04:14:00"
    assert unset_value("time", "sbatch", "24.11") is None
    assert unset_value("array", "srun", "26.05") == "invalid-context"
    assert unset_value("parsable", "salloc", "26.05") == "unset"
    assert unset_value("bogus", "srun", "26.05") is None


@pytest.mark.parametrize(("environ", "said"), [
    ({"FAIL": "1"}, "error: cli_filter_p_pre_submit/lua: cli_filter.lua: cli_filter.lua:{line}: boom"),
    ({"WORD": "1"}, "cli_filter/lua: cli_filter_p_pre_submit: cli_filter_p_pre_submit/lua: cli_filter.lua: "
     "non-numeric return code"),
])  # fmt: skip
def test_an_error_lets_the_job_pass(environ: dict[str, str], said: str, tmp_path: Path) -> None:
    code, lines = Site(tmp_path).run("sbatch j.sh", **environ)
    line = 1 + SCRIPT[: SCRIPT.index('error("boom")')].count("\n")
    assert (code, lines[3]) == (0, f"sbatch: {said.format(line=line)}")
    assert lines[-1] == "Submitted batch job 1"


def test_a_number_refuses_it(tmp_path: Path) -> None:
    site = Site(tmp_path)
    end = "sbatch: error: cli_filter plugin terminated with error"
    assert site.run("sbatch j.sh", SETUP="1") == (1, ["sbatch: lua: setup 1 sbatch", end])
    assert site.run("sbatch j.sh", CODE="-1")[1][-2:] == ["sbatch: error: lua: no: because", end]
    assert site.cluster.text("squeue -h") == ""


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("script", "lines"), [
    (None, ["Unable to stat cli_filter.lua: No such file or directory"]),
    ("function slurm_cli_pre_submit(o, p) return 0 end", [
        "cli_filter.lua: missing required function slurm_cli_setup_defaults",
        "cli_filter.lua: missing required function slurm_cli_post_submit"]),
    ("syntax error here", ["cli_filter.lua: cli_filter.lua:1: '=' expected near 'error'"]),
])  # fmt: skip
def test_a_script_that_cannot_be_loaded(script: str | None, lines: list[str], release: str, tmp_path: Path) -> None:
    last = "fatal: failed to initialize cli_filter plugin"
    if release == "22.05":
        last = "error: cli_filter plugin terminated with error"
    if len(lines) > 1 and release == "26.05":
        lines = [*lines, "cli_filter.lua: required function(s) not present"]
    assert Site(tmp_path, release, script).run("sbatch j.sh") == (1, [
        *[f"sbatch: error: cli_filter/lua: {line}" for line in lines],
        "sbatch: error: Couldn't load specified plugin name for cli_filter/lua: Plugin init() callback failed",
        "sbatch: error: cannot create cli_filter context for cli_filter/lua", f"sbatch: {last}",
    ])  # fmt: skip


def test_what_there_is_not_is_refused_by_name(tmp_path: Path) -> None:
    code, lines = Site(tmp_path, script=SCRIPT + "io.open('x')\n").run("sbatch j.sh")
    assert code == 1 and re.search(r"has no io", lines[0])
