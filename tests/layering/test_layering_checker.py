"""The checker itself: each rule is broken once in a made-up tree and must be reported, and a good tree must pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from layering_checker import check, circles, load
from layering_rules import LAYERS, PACKAGES

GOOD = {
    "slurmsim/__init__.py": "",
    "slurmsim/errors.py": "from dataclasses import dataclass\n",
    "slurmsim/model/__init__.py": "from ..errors import Oops\n",
    "slurmsim/core/__init__.py": "",
    "slurmsim/core/controller.py": "import numpy as np\nfrom slurmsim.model import Job\nr = np.random.default_rng(3)\n",
    "slurmsim/sim/__init__.py": "import simpy\nfrom slurmsim.core import controller\n",
    "slurmsim/trace/schema.py": "",
    "slurmsim/trace/writer.py": "import pyarrow.parquet as pq\nfrom slurmsim.trace import schema\n",
    "slurmsim/trace/frames.py": "def f():\n    import pandas\n",
    "slurmsim/report/__init__.py": "import matplotlib\n",
    "slurmsim/cli/__init__.py": "from slurmsim import sim\nimport slurmsim_policies\n",
    "policies/__init__.py": "",
    "policies/easy.py": "from slurmsim.errors import Oops\nfrom slurmsim_policies import backfill\n",
    "policies/backfill.py": "def f(random):\n    return random.choice\n",
    "workloads/__init__.py": "",
}


def problems(root: Path, changed: dict[str, str]) -> list[str]:
    for name, source in (GOOD | changed).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    return check(load(root, PACKAGES), LAYERS)


def test_a_good_tree_passes(tmp_path: Path) -> None:
    assert problems(tmp_path, {}) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("slurmsim/states.py", "import slurmsim.model", "slurmsim.states:1: vocabulary may not import model"),
        ("slurmsim/states.py", "import numpy", "slurmsim.states:1: vocabulary may not import the package numpy"),
        ("slurmsim/core/a.py", "import slurmsim.sim", "slurmsim.core.a:1: core may not import sim"),
        ("slurmsim/core/a.py", "from slurmsim import sim", "slurmsim.core.a:1: core may not import sim"),
        ("slurmsim/core/a.py", "from .. import sim", "slurmsim.core.a:1: core may not import sim"),
        ("slurmsim/core/a.py", "from ..sim import x", "slurmsim.core.a:1: core may not import sim"),
        (
            "slurmsim/core/a.py",
            "def f():\n    import simpy",
            "slurmsim.core.a:2: core may not import the package simpy",
        ),
        ("slurmsim/core/a.py", "import pyarrow", "slurmsim.core.a:1: core may not import the package pyarrow"),
        ("slurmsim/core/a.py", "import socket", "slurmsim.core.a:1: core is sealed and may not import socket"),
        ("slurmsim/core/a.py", "from time import time", "slurmsim.core.a:1: core is sealed and may not import time"),
        ("slurmsim/core/a.py", "import datetime\ndatetime.datetime.now()", "may not call datetime.datetime.now()"),
        ("slurmsim/core/a.py", "open('x')", "slurmsim.core.a:1: core is sealed and may not call open()"),
        ("slurmsim/core/a.py", "import random\nrandom.shuffle([])", "random.shuffle uses global random state"),
        ("slurmsim/core/a.py", "from random import choice", "random.choice uses global random state"),
        ("slurmsim/core/a.py", "import random\nrandom.Random()", "random.Random() without a seed"),
        ("slurmsim/sim/a.py", "import numpy as np\nnp.random.rand()", "numpy.random.rand uses global random state"),
        ("slurmsim/sim/a.py", "import slurmsim.cli", "slurmsim.sim.a:1: sim may not import root"),
        ("slurmsim/sim/a.py", "import pyarrow", "slurmsim.sim.a:1: sim may not import the package pyarrow"),
        ("slurmsim/trace/a.py", "import pandas", "slurmsim.trace.a:1: trace may import pandas only inside a function"),
        ("slurmsim/cli/a.py", "import simpy", "slurmsim.cli.a:1: root may not import the package simpy"),
        (
            "slurmsim/validate.py",
            "import slurmsim.core.controller",
            "slurmsim.validate:1: validate may not import core",
        ),
        ("policies/a.py", "import slurmsim.core", "slurmsim_policies.a:1: policies may not import core"),
        ("policies/a.py", "import slurmsim.workload", "slurmsim_policies.a:1: policies may not import workload"),
        ("policies/a.py", "import ortools", "slurmsim_policies.a:1: policies may not import the package ortools"),
        ("workloads/a.py", "import slurmsim.sim", "slurmsim_workloads.a:1: workloads may not import sim"),
        ("slurmsim/newcomer.py", "", "slurmsim.newcomer: belongs to no layer"),
        ("slurmsim/model/__init__.py", "import slurmsim.model.b", "import cycle"),
    ],
)
def test_each_broken_rule_is_reported(tmp_path: Path, file: str, source: str, complaint: str) -> None:
    extra = {"slurmsim/model/b.py": "import slurmsim.model\n"} if complaint == "import cycle" else {}
    found = problems(tmp_path, {file: source, "slurmsim/workload.py": "", **extra})
    assert len(found) == 1, found
    assert complaint in found[0]


def test_an_arrow_needed_only_by_type_checkers_is_still_an_arrow_but_no_cycle(tmp_path: Path) -> None:
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import slurmsim.{}\n"
    assert (
        problems(
            tmp_path,
            {"slurmsim/model/a.py": guarded.format("model.b"), "slurmsim/model/b.py": "import slurmsim.model.a"},
        )
        == []
    )
    assert circles(load(tmp_path, PACKAGES), "slurmsim.model") == [["slurmsim.model.a", "slurmsim.model.b"]]
    found = problems(tmp_path, {"slurmsim/model/a.py": guarded.format("core")})
    assert found == ["slurmsim.model.a:3: model may not import core (slurmsim.core)"]


def test_constraint_solver_only_in_its_own_policies(tmp_path: Path) -> None:
    assert problems(tmp_path, {"policies/cp_dispatch.py": "import ortools.sat.python.cp_model\n"}) == []
