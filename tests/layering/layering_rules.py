"""Who may import whom, as tables: the picture of docs/architecture.md in a form a test can read.

A module belongs to the layer with the longest matching prefix. A layer may always import itself; everything else it
may import is listed. A new module that matches no layer is reported, so nobody slips in beside the picture.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Some modules and what they may see.

    Attributes
    ----------
    prefixes
        Dotted names; each covers the module of that name and, if it is a package, everything inside. A trailing
        ``*`` also covers names that continue (``slurmsim.validate*`` covers ``slurmsim.validate_nodes``).
    sees
        Names of the layers it may import; ``ALL`` for a composition root.
    third_party
        Top-level packages it may import besides the standard library.
    late
        Packages of `third_party` it may import only inside functions, because they take long to load.
    sealed
        True when the code may not touch the world: no clock, no files, no processes, no threads, no sockets.
    """

    prefixes: tuple[str, ...]
    sees: frozenset[str] = frozenset()
    third_party: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset({"pandas", "matplotlib"})
    sealed: bool = False


ALL = frozenset({"*"})


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_LATE = _set("pandas pyarrow matplotlib tqdm scipy dask distributed dask_jobqueue argcomplete mcp slurm_conformance")

LAYERS: dict[str, Layer] = {
    "vocabulary": Layer(
        tuple(
            f"slurmsim.{name}"
            for name in (
                "errors",
                "extras",
                "laws",
                "states",
                "colon_fields",
                "csv_rows",
                "hostlist",
                "json_text",
                "fast_imports",
                "data_classes",
                "long_lived",
                "numerals",
                "tres",
                "gpu_bindings",
                "gres_counts",
                "gres_words",
                "task_licenses",
                "purge_age",
                "duration",
                "cron",
                "releases",
                "release_changes",
                "version",
                "shown",
                "sluid",
                "path_patterns",
                "records",
            )
        ),
        sealed=True,
    ),
    # Before everything else, in the package's own __init__.
    "safe path": Layer(("slurmsim.safe_path",)),
    # First files of something new: texts, written out.
    "scaffold": Layer(("slurmsim.scaffold",), _set("vocabulary")),
    "bitmap": Layer(("slurmsim.bitmap",), _set("vocabulary kernel"), _set("numpy"), sealed=True),
    # Files of users that policies and workloads name, and what installed packages offer.
    "user files": Layer(("slurmsim.toml_file", "slurmsim.installed", "slurmsim.input_file"), _set("vocabulary")),
    "parquet files": Layer(
        ("slurmsim.parquet_file", "slurmsim.parquet_footer"),
        _set("vocabulary") | {"user files"},
        _set("pyarrow"),
        _set("pyarrow"),
    ),
    "kernel": Layer(("slurmsim.kernel",), _set("vocabulary"), sealed=False),
    "capacity": Layer(("slurmsim.capacity",), _set("vocabulary bitmap"), _set("numpy"), sealed=True),
    "model": Layer(("slurmsim.model",), _set("vocabulary energy"), sealed=True),
    "energy": Layer(("slurmsim.energy",), _set("vocabulary"), _set("numpy scipy"), _set("scipy"), sealed=True),
    "allocation": Layer(("slurmsim.papers.titan.allocation",), _set("vocabulary"), _set("numpy"), sealed=True),
    # YAML within bounds, for what sites write and clients send.
    "yaml text": Layer(("slurmsim.yaml_text",), frozenset(), _set("yaml"), late=_set("yaml")),
    "config": Layer(("slurmsim.config",), _set("vocabulary model") | {"user files", "yaml text"}),
    "policy": Layer(
        ("slurmsim.policy",),
        _set("vocabulary bitmap capacity model config energy") | {"user files"},
        _set("numpy cloudpickle"),  # the second sends a class of a notebook to a worker
    ),
    "core": Layer(
        ("slurmsim.core",),
        _set("vocabulary bitmap capacity kernel model config policy energy"),
        _set("numpy"),
        sealed=True,
    ),
    "workload": Layer(("slurmsim.workload", "slurmsim.replaying.until"), _set("vocabulary model"), _set("numpy")),
    "schema": Layer(("slurmsim.trace.schema",), _set("vocabulary")),
    "columns": Layer(("slurmsim.trace.columns",), third_party=_set("numpy pyarrow")),
    # What shows things to people, and knows none of them.
    "page": Layer(
        ("slurmsim.report.page", "slurmsim.report.text", "slurmsim.report.web.assets", "slurmsim.report.web.markup"),
        _set("vocabulary"),
    ),
    "trace": Layer(
        ("slurmsim.trace",),
        _set("vocabulary kernel schema model page") | {"user files", "parquet files", "columns"},
        _set("numpy pyarrow pandas"),
    ),
    "sim": Layer(
        ("slurmsim.sim",),
        _set("vocabulary bitmap capacity kernel model config policy core workload schema trace columns energy")
        | {"user files"},
        _set("numpy simpy"),
    ),
    "metrics": Layer(
        ("slurmsim.metrics",),
        _set("vocabulary schema trace columns"),
        _set("numpy pyarrow pandas scipy"),
        _set("pandas matplotlib scipy"),
    ),
    "report": Layer(
        ("slurmsim.report",),
        _set("vocabulary schema trace columns metrics energy page") | {"reasons told"},
        _set("numpy pyarrow pandas matplotlib"),
        late=frozenset(),  # loaded late as a whole
    ),
    "reasons told": Layer(("slurmsim.why.rules",), _set("vocabulary metrics")),
    "why": Layer(
        ("slurmsim.why",),
        _set("vocabulary schema trace columns metrics report page") | {"reasons told"},
        _set("numpy pyarrow pandas"),
        late=frozenset(),
    ),
    # The judge shares nothing with what it judges: no core, no sim, no policy, no capacity profile.
    "validate": Layer(
        ("slurmsim.validate*",),
        _set("vocabulary schema trace columns model config workload") | {"parquet files"},
        _set("numpy pyarrow pandas"),
    ),
    # What the fake commands are made of: nothing that takes long to load.
    "protocol": Layer(("slurmsim.protocol", "slurmsim.wire_json")),
    # What slurmstepd prints, of real jobs (the daemon) and of steps (srun).
    "stepd": Layer(("slurmsim.stepd_notices", "slurmsim.temporary_folder"), _set("vocabulary")),
    # Rules of faults as plain data: the daemon decides by them.
    "faults": Layer(("slurmsim.faults",), _set("vocabulary")),
    "commands": Layer(("slurmsim.commands",), _set("vocabulary protocol stepd lua") | {"token key", "error texts"}),
    # HTTP in front of the socket protocol: a client of the daemon, as the commands are.
    "token key": Layer(("slurmsim.jwt_key",)),
    # Texts of errors; those of the system come from the system.
    "error texts": Layer(("slurmsim.slurm_errors",), _set("vocabulary")),
    # Who is at the other end of an HTTP connection, and how many of them there may be.
    "http doors": Layer(
        ("slurmsim.http_doors", "slurmsim.local_server"), frozenset(), _set("uvicorn"), late=_set("uvicorn")
    ),
    "rest": Layer(
        ("slurmsim.rest",),
        _set("vocabulary protocol commands") | {"token key", "http doors", "error texts", "yaml text"},
        _set("starlette uvicorn anyio jwt"),
        late=_set("starlette uvicorn anyio"),
    ),
    "slurmd": Layer(("slurmsim.slurmd",), _set("vocabulary")),
    # A site's own script, in a Lua that reaches nothing of ours.
    "lua": Layer(("slurmsim.lua",), _set("vocabulary") | {"error texts"}, _set("lupa"), late=_set("lupa")),
    "slurmctld": Layer(
        ("slurmsim.slurmctld",),
        _set(
            "vocabulary lua bitmap capacity model config policy core workload sim protocol stepd slurmd snapshot energy"
        )
        | {"faults", "user files"},
    ),
    # The core's columns are NumPy's: whoever writes them down has to know them.
    "snapshot": Layer(
        ("slurmsim.slurmctld.snapshot",),
        _set("vocabulary bitmap capacity model config policy core sim protocol slurmctld energy faults")
        | {"user files"},
        _set("numpy"),
    ),
    "pytest plugin": Layer(("slurmsim.pytest_plugin",), ALL, _set("pytest")),
    "root": Layer(
        (
            "slurmsim",
            "slurmsim.__main__",
            "slurmsim.cli",
            "slurmsim.live",
            "slurmsim.experiments",
            "slurmsim.campaign",
            "slurmsim.replaying",
            "slurmsim.sessions",
            "slurmsim.fidelity",
            "slurmsim.calibrate",
            "slurmsim.upgrade",
            "slurmsim.whatif",
            "slurmsim.twin",
            "slurmsim.papers",
        ),
        ALL,
        _LATE | {"numpy"},
        late=_LATE,
    ),
    # Questions of an assistant about one cluster.
    "assistant": Layer(("slurmsim.assistant",), ALL, _set("mcp"), late=frozenset()),
    # Agents outside of a simulation, and their policies.
    "gym": Layer(
        ("slurmsim.gym",),
        _set("vocabulary model policy core sim workload root") | {"user files"},
        _set("numpy gymnasium"),
        late=frozenset(),
    ),
    # A process of its own beside the daemon, which asks it as any client does.
    "web": Layer(
        ("slurmsim.web",),
        _set("vocabulary protocol faults page root") | {"http doors"},
        _set("starlette uvicorn"),
        late=frozenset(),  # loaded late as a whole
    ),
    # Plug-ins see their port and the words it is written in, as a stranger's package would.
    "policies": Layer(
        ("slurmsim_policies",),
        _set("vocabulary bitmap capacity kernel model policy") | {"user files"},
        _set("numpy"),
        sealed=True,
    ),
    "learning predictors": Layer(
        ("slurmsim_policies.predictors.learned",),
        _set("vocabulary bitmap capacity kernel model policy policies"),
        _set("numpy sklearn threadpoolctl"),
        sealed=True,
    ),
    "learned policies": Layer(
        ("slurmsim_policies.learned_order",),
        _set("vocabulary model policy policies gym") | {"user files"},
        _set("numpy"),
        sealed=True,
    ),
    "constraint policies": Layer(
        ("slurmsim_policies.cp", "slurmsim_policies.cp_*"),
        _set("vocabulary bitmap capacity model policy policies"),
        _set("numpy ortools"),
        sealed=True,
    ),
    "power policies": Layer(
        ("slurmsim_policies.parm",),
        _set("vocabulary bitmap capacity model policy policies energy"),
        _set("numpy"),
        sealed=True,
    ),
    "workloads": Layer(
        ("slurmsim_workloads",),
        _set("vocabulary kernel model workload") | {"user files", "parquet files", "columns"},
        _set("numpy pyarrow scipy"),
        _set("pandas matplotlib scipy"),
    ),
}

# Standard modules through which a sealed layer would reach the world, or the world's time.
WORLD = _set(
    "asyncio concurrent multiprocessing os pathlib queue sched secrets select selectors shutil signal socket"
    " socketserver ssl subprocess sys tempfile threading time urllib http uuid"
)
UNSEALED = {"slurmsim.data_classes": "exec"}
"""Module -> the one call of `WORLD_CALLS` that is its work: it compiles methods, as `dataclasses` does."""
WORLD_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__"})
CLOCK_METHODS = frozenset({"now", "today", "utcnow"})
# What may be taken from the two modules of random numbers: seeded generators, never the hidden global one.
SEEDED = {
    "random": frozenset({"Random"}),
    "numpy.random": frozenset({"Generator", "default_rng", "PCG64", "Philox", "SeedSequence", "BitGenerator"}),
}

# Folder (relative to the repository) -> name it is imported by.
PACKAGES = {"slurmsim": "slurmsim", "policies": "slurmsim_policies", "workloads": "slurmsim_workloads"}
HEAVY = ("pandas", "matplotlib", "pyarrow", "ortools", "simpy")

# The rooms of two packages, each importing only those before it.
ROOMS = {
    "slurmsim.core": (
        "records", "placement", "state", "accounting", "queue", "reservations", "occupancy", "scheduling", "controller",
    ),
    "slurmsim.slurmctld": (
        "base", "fields", "database", "processes", "faults", "requests", "engine", "snapshot", "history", "server",
    ),
}  # fmt: skip
# What is imported upwards all the same, types counted. These lists only shrink.
UPWARD: dict[str, set[tuple[str, str]]] = {
    # A job has its compiled requests.
    "slurmsim.core": {("records > placement", "slurmsim.core.placement.compiled_request")},
    "slurmsim.slurmctld": set(),
}
