"""sattach: the layout of a step; attaching to its tasks is not modelled, and refused by name.

Mirrors src/sattach of Slurm 22.05.
"""

from __future__ import annotations

from slurmsim.commands.io import text_of
from slurmsim.commands.squeue.step_columns import SPECIAL_STEPS
from slurmsim.commands.text.messages import stoppable
from slurmsim.commands.text.option_reader import NO, REQUIRED, Parser, options
from slurmsim.commands.text.release import version_of
from slurmsim.commands.text.shown_id import shown_id
from slurmsim.fast_imports import pattern
from slurmsim.protocol import Refusal, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("help", NO, "h"), ("label", NO, "l"), ("quiet", NO, "Q"), ("usage", NO, "u"), ("verbose", NO, "v"),
    ("version", NO, "V"), ("layout", NO, "layout"), ("debugger-test", NO, "debugger-test"),
    ("input-filter", REQUIRED, "input-filter"), ("output-filter", REQUIRED, "output-filter"),
    ("error-filter", REQUIRED, "error-filter"), ("pty", NO, "pty"),
)  # fmt: skip
_USAGE = "Usage: sattach [options] <jobid.stepid>\n"
_STEP = pattern(r"(?a)(\d+)\.(\d+|batch|extern|interactive)")


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sattach call in the world `io`; the exit code."""
    parser = Parser(_OPTIONS)
    given: set[str] = set()
    for key, _ in parser.parse_for("sattach", argv, io):
        given.add(key)
        if key in ("V", "h", "u"):
            io.out(version_of(io) if key == "V" else _USAGE)
            return 0
    if len(parser.rest) != 1:
        io.error("sattach: error: too many parameters")
        io.out(_USAGE)
        return 1
    name, dot, step_name = parser.rest[0].partition(".")
    match = _STEP.fullmatch(shown_id(io, name) + dot + step_name)
    if match is None:
        io.error("sattach: error: Failed to parse stepid from command line options")
        io.out(_USAGE)
        return 1
    number = next((k for k, name in SPECIAL_STEPS.items() if name == match[2]), None)
    try:
        step = int(match[2]) if number is None else number
        found = io.client.call("step_layout", job_id=int(match[1]), step_id=step)
    except (Refusal, Unreachable) as error:
        io.error(f"sattach: error: Could not get job step info: {text_of(error)}")
        return 1
    if "layout" not in given:
        io.error("sattach: error: attaching to the tasks of a step is not modelled; --layout shows them")
        return 1
    nodes, tasks = found["nodes"], found["task_ids"]
    count = sum(len(numbers) for numbers in tasks)
    lines = ["Job step layout:", f"\t{count} tasks, {len(nodes)} nodes ({found['node_list']})", ""]
    for k, (name, numbers) in enumerate(zip(nodes, tasks, strict=True)):
        lines.append(f"\tNode {k} ({name}), {len(numbers)} task(s): " + "".join(f"{n} " for n in numbers))
    io.out("\n".join(lines) + "\n")
    return 0
