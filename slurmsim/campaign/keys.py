"""The key of a cell: a hash of everything its results depend on, and of nothing else.

Files count by what is in them, never by their names, places or times; slurmsim by its version, its source and what of
it is compiled; plug-ins by their source. To make a key, the cell's configuration and policy are read, so most errors of
a cell come out before any cell runs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from slurmsim import __version__, compiled
from slurmsim.campaign.cells import Cell
from slurmsim.campaign.sources import own_digest, present_source_digest, source_digest
from slurmsim.config.files import Remembering
from slurmsim.config.load import examine, make_cluster
from slurmsim.errors import ConfigError, InputError, WorkloadError
from slurmsim.input_file import open_input, read_text
from slurmsim.installed import entry_points
from slurmsim.kernel import MODULES as KERNELS
from slurmsim.kernel import compiled as kernel_compiled
from slurmsim.policy import GivenPolicy, Policy, choose_policy, configured_policy
from slurmsim.policy.given import can_be_imported
from slurmsim.policy.policy_file import in_file
from slurmsim.replaying.jobs import GENERATE, generator_of
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.preparation import check_options
from slurmsim.toml_file import texts_from
from slurmsim.trace.schema import SCHEMA_VERSION

RESULTS_VERSION = 2  # raised when what is kept of a cell changes
_LISTS = ("accounting", "groups")
_OBJECTS = ("nodename", "partitionname")
"""What a made-up cluster has of these the log may say, so that only the run can tell whether they are there."""
_FILES = ("streams", "node_events", "reservations")


class Keys:
    """Makes keys; reads each file and each configuration once."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._setups: dict[Any, dict[str, Any]] = {}
        self._checked: set[str] = set()
        self._formats: str | None = None

    def of(self, cell: Cell) -> str:
        """Return the key of `cell`: 64 hexadecimal digits.

        Raises
        ------
        SlurmSimError
            Something of the cell cannot work; the message begins with the cell's name.
        """
        try:
            return self.of_options(cell.options)
        except InputError as error:
            raise type(error)(f"{error.message} (cell: {cell.name})", file=error.file, line=error.line,
                              field=error.field, expected=error.expected) from None  # fmt: skip

    def of_options(self, options: RunOptions) -> str:
        """Return the key of a cell with these options."""
        return hashlib.sha256(json.dumps(self._facts(options), sort_keys=True).encode()).hexdigest()

    @property
    def inputs(self) -> dict[str, str]:
        """SHA-256 of every input file seen so far, by the name it was given."""
        return dict(sorted(self._digests.items()))

    def _facts(self, options: RunOptions) -> dict[str, Any]:
        check_options(options)
        facts: dict[str, Any] = {f.name: getattr(options, f.name) for f in fields(options) if f.name != "out"}
        facts["workload"] = self._workload(options)
        facts["policy"] = _without_place(options.policy)
        for name in _FILES:
            facts[name] = self._file(getattr(options, name), "--" + name.replace("_", "-"))
        for name in _LISTS:
            facts[name] = [self._file(one, f"--{name}") for one in getattr(options, name)]
        if options.power_budget is not None and os.path.isfile(options.power_budget):
            facts["power_budget"] = self._file(options.power_budget, "--power-budget")
        if options.carbon is not None:
            facts["carbon"] = self._file(options.carbon, "--carbon")
        if options.prices is not None:
            facts["prices"] = self._file(options.prices, "--prices")
        about = {
            "slurmsim": [__version__, own_digest()], "schema": [SCHEMA_VERSION, RESULTS_VERSION],
            "compiled": [compiled(), *map(kernel_compiled, KERNELS)],
        }  # fmt: skip
        return facts | about | self._setup(options)

    def _workload(self, options: RunOptions) -> list[str | None]:
        """Return what the jobs come from; the ending of a file's name has a say in how it is read."""
        name = options.workload
        if name.startswith(GENERATE):
            if name not in self._checked:
                generator_of(name)
                self._checked.add(name)
            return [name]
        if self._formats is None:
            foreign = [point.module for point in entry_points(group="slurmsim.workloads")]
            foreign = sorted({one for one in foreign if not one.startswith("slurmsim_workloads.")})
            self._formats = ",".join(source_digest(one) for one in foreign)
        return [self._file(name, None), "".join(Path(name).suffixes).lower(), self._formats]

    def _file(self, name: str | None, field: str | None) -> str | None:
        if name is None:
            return None
        if name not in self._digests:
            kind = WorkloadError if field is None else ConfigError
            try:
                with open_input(name) as file:  # no pipe: each cell reads it anew, and to its end
                    self._digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise kind(f"cannot be read: {error.strerror}", file=name, field=field) from None
        return self._digests[name]

    def _setup(self, options: RunOptions) -> dict[str, Any]:
        """Return configuration and policy; they are read once for all cells that share them."""
        which = (options.conf, options.set, options.policy, options.nodes, options.cpus_per_node)
        if which not in self._setups:
            self._setups[which] = self._configured(options)
        return self._setups[which]

    def _configured(self, options: RunOptions) -> dict[str, Any]:
        texts: dict[str, str] = {}
        overrides = list(options.set)
        if options.policy is not None:
            overrides.append(("SchedulerType", f"sched/{choose_policy(options.policy).name}"))
        scheduler = overrides and dict(overrides).get("SchedulerType")
        conf: dict[str, str] | None = None
        if options.conf is None:
            everywhere = [pair for pair in options.set if pair[0].lower() not in _OBJECTS]
            make_cluster(options.nodes or 1, options.cpus_per_node or 1, overrides=everywhere)
        else:
            folder = Path(options.conf).parent
            files = Remembering(folder)
            examination = examine(Path(options.conf), options.set, release=options.release, files=files)
            examination.report.raise_first_error()
            assert examination.cluster is not None
            conf = {name: _digest(text) for name, text in files.texts.items()}
            self._digests |= {str(folder / name): digest for name, digest in conf.items()}
            scheduler = scheduler or examination.cluster.option("SchedulerType")
            conf[""] = conf.pop(Path(options.conf).name)  # whatever it is called
        here = Path() if options.policy is not None or options.conf is None else Path(options.conf).parent
        reading = _reading(here, texts)
        if options.policy is None:
            policy = configured_policy(scheduler or "sched/backfill", reading)
        else:
            with texts_from(reading):
                policy = choose_policy(options.policy).make()
        sources = _sources(options.policy, policy)
        self._digests |= {str(here / name): _digest(text) for name, text in texts.items()}
        return {"conf": conf, "sources": sources, "policy_files": [_digest(text) for text in texts.values()]}


def _without_place(policy: str | GivenPolicy | None) -> str | None:
    """Return a policy's text without the folder of its file: what is in the file counts, not where it lies."""
    if policy is None or isinstance(policy, GivenPolicy):
        return None if policy is None else policy.name
    found = in_file(policy)
    return policy if found is None else found.text("")


def _sources(chosen: str | GivenPolicy | None, made: Policy) -> list[str]:
    """Return what a policy and its predictor are made of; what no package offers may have changed since last time."""
    classes: Iterable[type] = (type(made),)
    digest: Callable[[str], str] = source_digest
    if isinstance(chosen, GivenPolicy) or (chosen is not None and in_file(str(chosen)) is not None):
        classes, digest = filter(can_be_imported, type(made).__mro__), present_source_digest
    found = [digest(one.__module__) for one in classes]
    if made.predictor is not None:
        found.append(digest(type(made.predictor).__module__))
    return [*found, hashlib.sha256(chosen.pickled()).hexdigest()] if isinstance(chosen, GivenPolicy) else found


def _reading(folder: Path, texts: dict[str, str]) -> Callable[[str], str]:
    """Return a reader of files named relative to `folder`; it keeps what they say in `texts`."""

    def read(name: str) -> str:
        texts[name] = read_text(folder / name)
        return texts[name]

    return read


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
