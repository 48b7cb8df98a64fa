"""Command lines of srun and salloc, as far as the commands themselves judge them (22.05.8)."""

from __future__ import annotations

import io
import shlex
from typing import Any

import pytest

from slurmsim.commands.io import Io
from slurmsim.commands.submit.options.allocation_options import Part, read_allocation
from slurmsim.commands.text.cluster_facts import Cluster
from slurmsim.commands.text.messages import Messages, Stop
from slurmsim.protocol import Refusal


class Daemon:
    patience_s = 0.0

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name == "hello":
            return {
                "slurm_version": "22.05",
                "flavour": "upstream",
                "cluster": "lab",
                "now": 1767600000,
                "uid": 2001,
                "user": "alice",
            }
        raise Refusal(f"Invalid RPC {name!r}")


def read(line: str) -> tuple[list[Part] | None, str, str, int | None]:
    """Parts, standard output, standard error, exit code of a line ``[VARIABLE=…] command …``."""
    words = shlex.split(line)
    environ: dict[str, str] = {}
    while "=" in words[0]:
        name, _, environ_value = words.pop(0).partition("=")
        environ[name] = environ_value
    command = words.pop(0)
    out, err = io.StringIO(), io.StringIO()
    world = Io(Daemon(), stdout=out, stderr=err, environ=environ, cwd="/home/alice")  # type: ignore[arg-type]
    try:
        parts = read_allocation(command, words, world, Messages(world, command), Cluster(world))
    except Stop as stop:
        return None, out.getvalue(), err.getvalue(), stop.code
    return parts, out.getvalue(), err.getvalue(), None


@pytest.mark.parametrize(
    ("line", "said", "code"),
    [
        ("srun", "srun: fatal: No command given to execute.\n", 1),
        (
            "srun --bogus hostname",
            "srun: unrecognized option '--bogus'\nTry \"srun --help\" for more information\n",
            255,
        ),
        ("srun -t bogus hostname", "srun: error: Invalid --time specification\n", 255),
        ("srun -n x true", 'srun: error: Invalid numeric value "x" for --ntasks.\n', 1),
        ("srun --exact --whole true", "srun: error: --exact and --whole are mutually exclusive.\n", 1),
        (
            "SLURM_EXIT_ERROR=9 srun -r 1 -w n01 true",
            "srun: error: -r,--relative not allowed with -w,--nodelist or -x,--exclude.\n",
            9,
        ),
        ("srun --exclusive --overlap true", "srun: error: --exclusive and --overlap are mutually exclusive\n", 1),
        ("srun --pty -o x true", "srun: error: --error/--input/--output are incompatible with --pty\n", 1),
        ("srun --signal=B:USR1 true", "srun: error: Invalid --signal specification\n", 255),
        ("srun -m arbitrary true", "srun: error: invalid number of tasks (-n 0)\n", 1),
        ("srun -Ix true", 'srun: error: Invalid numeric value "x" for immediate.\n', 1),
        (
            "SLURM_MEM_PER_CPU=1G SLURM_MEM_PER_NODE=1G srun true",
            "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.\n",
            1,
        ),
        ("salloc -Kfoo true", "salloc: error: Invalid --kill-command specification\n", 255),
        ("SALLOC_TIMELIMIT=bogus salloc true", "salloc: error: Invalid --time specification\n", 255),
        ("salloc -o x true", "salloc: invalid option -- 'o'\nTry \"salloc --help\" for more information\n", 255),
        ("salloc -Q -v true", "salloc: error: don't specify both --verbose (-v) and --quiet (-Q)\n", 1),
        (
            "salloc -m plane=4 -N4 -n5 true",
            "salloc: error: Too few processes for the requested {plane,node} distribution\n",
            1,
        ),
    ],
)
def test_what_is_refused(line: str, said: str, code: int) -> None:
    assert read(line) == (None, "", said, code)


@pytest.mark.parametrize(
    ("line", "command", "fields"),
    [
        ("srun -N2 hostname -f", ["hostname", "-f"], {"min_nodes": 2, "name": "hostname", "work_dir": "/home/alice"}),
        ("srun -N2 --ntasks-per-node=3 true", ["true"], {"num_tasks": 6, "ntasks_per_node": 3}),
        ("srun -J named -I5 /bin/true", ["/bin/true"], {"name": "named", "immediate": 5}),
        ("SLURM_NTASKS=4 SLURM_PARTITION=p srun true", ["true"], {"num_tasks": 4, "partition": "p"}),
        ("salloc -N1", [], {"min_nodes": 1, "name": "interactive"}),
        ("salloc --no-shell -n3", [], {"num_tasks": 3, "name": "no-shell"}),
        ("salloc -I true", ["true"], {"immediate": 1}),
    ],
)
def test_what_is_asked_for(line: str, command: list[str], fields: dict[str, Any]) -> None:
    parts, out, err, _ = read(line)
    assert parts is not None and (out, err) == ("", "")
    (part,) = parts
    assert part.command == command
    assert {field: part.request.get(field) for field in fields} == fields


def test_nodes_beyond_the_tasks_or_the_limit() -> None:
    _, _, fewer, _ = read("srun -Q -N 2 -n 1 true")
    assert fewer == "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n"  # -Q counts later
    parts, _, trimmed, _ = read("srun -w n[1-3] -N 2 true")
    assert trimmed == (
        "srun: error: Required nodelist includes more nodes than permitted by max-node count (3 > 2). "
        "Eliminating nodes from the nodelist.\n"
    )
    assert parts is not None and parts[0].request["req_nodes"] == "n[1-2]"


def test_heterogeneous_commands() -> None:
    parts, *_ = read("srun -N1 -A a -p x first : -N2 second arg")
    assert parts is not None
    assert [part.command for part in parts] == [["first"], ["second", "arg"]]
    assert [part.request.get("account") for part in parts] == ["a", "a"]
    assert [part.request.get("partition") for part in parts] == ["x", None]


def test_version() -> None:
    assert read("salloc -V --bogus") == (None, "slurm 22.05.8\n", "", 0)
