"""The jobs of a run: a file, a generator or a DataFrame, and what the options make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from slurmsim.errors import ConfigError
from slurmsim.policy import parse_policy
from slurmsim.replaying.options import RunOptions
from slurmsim.replaying.until import parse_moment
from slurmsim.workload import Workload

FRAME = "a DataFrame"  # the name of a workload that is no file
GENERATE = "generate:"  # what the name of a workload begins with that a generator makes


def generator_of(workload: str) -> tuple[str, dict[str, str]] | None:
    """Model and parameters of ``generate:MODEL[:key=value,…]``; None for the name of a file. Raises ConfigError."""
    if not workload.startswith(GENERATE):
        return None
    from slurmsim_workloads.generators import model
    from slurmsim_workloads.parameters import parse

    try:
        name, parameters = parse_policy(workload.removeprefix(GENERATE))
    except ConfigError as error:
        raise ConfigError(error.message, field="--workload", expected="generate:MODEL:key=value,key=value") from None
    parse(model(name).params, parameters)
    return name, parameters


def jobs_of(options: RunOptions, reader_options: Mapping[str, str], frame: Any = None) -> Workload:
    """Return the jobs as they are before the cluster is asked. Raises ConfigError, WorkloadError."""
    workload = _given(options, reader_options, frame)
    if options.streams is not None:
        workload = _with_streams(workload, options.streams)
    if options.window is not None:
        workload = _within(workload, options.window)
    if options.jobs is not None and options.jobs < len(workload):
        workload = workload.take(np.arange(options.jobs))
    return _varied(workload, options)


def _given(options: RunOptions, reader_options: Mapping[str, str], frame: Any) -> Workload:
    generator = generator_of(options.workload) if frame is None else None
    if frame is None and generator is None:
        from slurmsim_workloads import read_workload

        return read_workload(options.workload, options.format, reader_options)
    if options.format is not None or options.option:
        what = "a generator" if generator else "a DataFrame"
        raise ConfigError(f"{what} has no format", field="--format", expected="neither --format nor --option")
    if generator is None:
        from slurmsim_workloads.parquet import from_frame

        return from_frame(frame, options.workload)
    from slurmsim_workloads.generators import generate

    return generate(*generator, options.seed)


def _with_streams(workload: Workload, file: str) -> Workload:
    """`workload` and the streams of ``--streams`` on top of it."""
    from slurmsim_workloads import read_workload

    if workload.streams is not None:
        raise ConfigError("the workload is streams already", field="--streams", expected="a job log beside it")
    return replace(workload, streams=read_workload(file, "streams").streams)


def _within(workload: Workload, window: str) -> Workload:
    """Return the jobs submitted in ``FROM,TO``, the end not included."""
    expected = "FROM,TO, each as --until has it"
    parts = window.split(",")
    if len(parts) != 2:
        raise ConfigError(repr(window), field="--window", expected=expected)
    try:
        low, high = (parse_moment(part.strip(), workload) for part in parts)
    except ConfigError as error:
        raise ConfigError(error.message, field="--window", expected=expected) from None
    submit = workload.ints["submit"]
    found = workload.take(np.flatnonzero((submit >= low) & (submit < high)))
    if not len(found):
        raise ConfigError(f"{window!r} has no job", field="--window", expected="a part of the log in which jobs come")
    return found


def check_variation(options: RunOptions) -> None:
    """Raise ConfigError for options that do not go together."""
    if options.feedback and (changed := _changes(options)):
        raise ConfigError("recorded ends no longer belong to the submissions", field=f"--feedback with {changed[0]}",
                          expected="one of the two")  # fmt: skip


def _changes(options: RunOptions) -> list[str]:
    return [f"--{name}" for name in ("weeks", "load", "jitter") if getattr(options, name)]


def _varied(workload: Workload, options: RunOptions) -> Workload:
    """Length, load, jitter and feedback, in this order."""
    changed = _changes(options)
    if changed and workload.streams is not None:
        raise ConfigError("streams come at their own times", field=changed[0], expected="a job log without streams")
    if options.weeks is not None:
        from slurmsim_workloads.transforms.loads import lengthened

        workload = lengthened(workload, options.weeks, options.seed, options.workload)
    if options.load is not None:
        from slurmsim_workloads.transforms.loads import with_load

        workload = with_load(workload, options.load, options.load_by, options.seed, options.workload)
    if options.jitter:
        from slurmsim_workloads.transforms.jitter import jittered

        workload = jittered(workload, options.jitter, options.seed)
    if options.feedback:
        from slurmsim_workloads.transforms.feedback import with_feedback

        workload = with_feedback(workload, options.workload)
    return workload
