"""Every place where a text, a file or a message could become code: found in the sources, and why each may be there.

The search reads the syntax, not the text, so neither a comment nor ``re.compile`` is found. A new place needs a row
below, with its reason; a place that is gone must lose its row.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest
from parsed_sources import below

ROOT = Path(__file__).parents[2]
ROOMS = ("slurmsim", "policies", "workloads")

NAMES = {"eval", "exec", "compile", "__import__", "import_module", "execfile"}
"""Functions that make code of a text, or load a module by a name."""
MODULES = {
    "pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "subprocess", "runpy", "code", "imp",
    "ctypes", "pty", "xmlrpc",
}  # fmt: skip
"""Modules whose very use needs a reason."""
ATTRIBUTES = {
    "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "spawnv", "spawnve",
    "spawnvp", "spawnl", "posix_spawn", "posix_spawnp", "create_subprocess_exec",
    "create_subprocess_shell", "spec_from_file_location", "read_pickle", "to_pickle", "exec_module",
}  # fmt: skip
"""Attributes of any module that start programs or load code."""
OF_OS = {"system", "popen", "forkpty", "startfile"}
"""The same of `os` alone, since other objects have such names too."""
KEYWORDS = {"allow_pickle", "shell"}

CONSTANT = "the name is one of ours, from a table in the sources"
OWN_CHILD = "our own program, started by a list of words without a shell"
OWN_PIPE = "bytes of our own worker process, over a pipe or an encrypted connection to a worker of the same user"
ALLOWED: dict[str, dict[str, str]] = {
    "slurmsim/campaign/dask_slurm.py": {"subprocess": "sbatch and squeue of the Slurm on PATH, by constant words"},
    "slurmsim/campaign/dask_workers.py": {"pickle": OWN_PIPE},
    "slurmsim/campaign/worker.py": {"pickle": OWN_PIPE},
    "slurmsim/campaign/workers.py": {"pickle": OWN_PIPE, "subprocess": OWN_CHILD},
    "slurmsim/cli/__init__.py": {"import_module": CONSTANT},
    "slurmsim/cli/copies.py": {"subprocess": "the command the owner typed behind `slurmsim fork … --`"},
    "slurmsim/cli/live.py": {"execvpe": "the shell or the command the owner typed (`slurmsim shell`, `slurmsim as`)"},
    "slurmsim/cli/sessions.py": {"subprocess": "the command the owner typed behind `slurmsim record`"},
    "slurmsim/commands/__init__.py": {"__import__": CONSTANT},
    "slurmsim/commands/scontrol/scontrol.py": {"import_module": CONSTANT},
    "slurmsim/commands/submit/tasks/prologs.py": {
        "subprocess": "the program the caller names with --task-prolog or --task-epilog, run as his own task is"
    },
    "slurmsim/commands/scrontab/scrontab.py": {"subprocess": "the caller's own EDITOR, as crontab does"},
    "slurmsim/commands/submit/salloc.py": {
        "execve": "the caller's own command, as the caller"
    },
    "slurmsim/commands/submit/tasks/runner.py": {
        "execve": "the caller's own command (srun), as the caller"
    },
    "slurmsim/data_classes.py": {"exec": "methods of our own classes, made of the names of their fields"},
    "slurmsim/fidelity/copies.py": {"pickle": "copies of our own objects within one process; nothing is read"},
    "slurmsim/experiments/pages.py": {"import_module": CONSTANT},
    "slurmsim/kernel/__init__.py": {"import_module": CONSTANT},
    "slurmsim/live/cluster.py": {
        "subprocess": "commands that a caller in Python gives", "shell": "the caller's text",
    },
    "slurmsim/live/daemon.py": {"subprocess": OWN_CHILD},
    "slurmsim/live/web.py": {"subprocess": OWN_CHILD},
    "slurmsim/policy/given.py": {
        "pickle": "a class that a program gave, on its way to a worker over its pipe", "cloudpickle": "the same",
    },
    "slurmsim/policy/policy_file.py": {
        "compile": "the file that the owner named with --policy; files name none (test_given_policies)",
        "exec": "the same",
    },
    "slurmsim/policy/registry.py": {"load": "entry points of installed packages, chosen by name"},
    "slurmsim/replaying/repeat.py": {"subprocess": OWN_CHILD},
    "slurmsim/rest/commands.py": {"import_module": CONSTANT},
    "slurmsim/live/gallery.py": {"import_module": "a command of Slurm, from the table of those there are"},
    "slurmsim/assistant/sandbox.py": {"import_module": "a command of Slurm, from the table of those there are"},
    "slurmsim/upgrade/dry_calls.py": {"import_module": "a command of Slurm, from the table of those there are"},
    "slurmsim/yaml_text.py": {"yaml": "bodies of requests and topology.yaml, read as plain data only"},
    "slurmsim/sessions/clock_programs.py": {"execvp": "commands of a job's own script", "execvpe": "the same"},
    "slurmsim/sessions/player.py": {"subprocess": "waits for what a replay started"},
    "slurmsim/sessions/replay.py": {"subprocess": "Slurm's commands of a recorded session, in the cluster made for it"},
    "slurmsim/sim/pass_watch.py": {"ctypes": "raises one exception of ours in a thread of this process"},
    "slurmsim/sim/solving.py": {"import_module": "a solver that a policy names; files name none (test_named_code)"},
    "slurmsim/sim/sources.py": {"load": "the entry point `streams`"},
    "slurmsim/slurmctld/processes/solver.py": {"create_subprocess_exec": OWN_CHILD},
    "slurmsim/slurmctld/server/metrics_port.py": {"subprocess": OWN_CHILD},
    "slurmsim/assistant/server.py": {"subprocess": "our own commands, on the live cluster, with --allow-write only"},
    "slurmsim/twin/follow.py": {"subprocess": "the command that the caller names, which prints a dump"},
    "slurmsim/twin/collect.py": {"subprocess": "sh and the script of the package, which runs Slurm's commands on PATH"},
    "slurmsim/slurmd/script_runner.py": {"subprocess": f"{OWN_CHILD}; the owner's own triggers (strigger)"},
    "slurmsim/slurmd/supervisor.py": {
        "execve": "the batch script of a job that the owner may run (docs/security.md)",
    },
    "workloads/registry.py": {"load": "entry points of installed packages, chosen by name"},
}  # fmt: skip


def places(source: str, tree: ast.Module) -> set[str]:
    """Names of all that may make code, as `source` uses them."""
    points = "entry_points" in source
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {one.name.partition(".")[0] for one in names} & MODULES
            case ast.ImportFrom(module=module, names=names, level=0):
                found |= {str(module).partition(".")[0]} & MODULES
                found |= {one.name for one in names} & (NAMES | ATTRIBUTES | OF_OS) - {"compile"}
            case ast.Call(func=ast.Name(id=name)) if name in NAMES:
                found.add(name)
            case ast.Attribute(attr=name) if name in ATTRIBUTES or name == "import_module":
                found.add(name)
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in OF_OS:
                found.add(name)
            case ast.Call(func=ast.Attribute(attr="load")) if points:
                found.add("load")
        if isinstance(node, ast.Call):
            found |= {one.arg for one in node.keywords if one.arg} & KEYWORDS
    return found


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import pickle", {"pickle"}),
        ("from yaml import safe_load", {"yaml"}),
        ("def f(x):\n    import subprocess as s\n    s.run(x, shell=True)", {"subprocess", "shell"}),
        ("os.system(x)", {"system"}),
        ("from os import popen", {"popen"}),
        ("eval(x); exec(x); compile(x, '', 'exec'); __import__(x)", {"eval", "exec", "compile", "__import__"}),
        ("import re\nre.compile(x)", set()),
        ("importlib.import_module(x)", {"import_module"}),
        ("np.load(x, allow_pickle=True)", {"allow_pickle"}),
        ("for one in entry_points(group='g'):\n    one.load()", {"load"}),
        ("# eval(x)\n'pickle'", set()),
    ],
)
def test_the_search_finds(source: str, what: set[str]) -> None:
    assert places(source, ast.parse(source)) == what


def test_every_place_has_a_reason() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for room in ROOMS:
        for file, tree in below(ROOT / room).items():
            if names := places(file.read_text("utf-8"), tree):
                found[file.relative_to(ROOT).as_posix()] = names
    assert found == {file: set(reasons) for file, reasons in ALLOWED.items()}
    assert all(reason for reasons in ALLOWED.values() for reason in reasons.values())
