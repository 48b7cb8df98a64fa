"""What squeue -v adds: the options as they were understood (22.05's layout)."""

from slurmsim.commands.squeue.options import Asked
from slurmsim.commands.text.verbose_text import RULE, block, joined
from slurmsim.release_changes import since


def options_text(asked: Asked) -> str:
    """Return the lines before the table."""
    given = asked.given
    rows = {
        "all         ": asked.all, "array       ": asked.array, "federation  ": "federation" in given,
        "format      ": asked.format, "iterate     ": asked.iterate, "job_flag    ": int(asked.jobs),
        "jobs        ": given.get("j"), "licenses    ": joined(asked.licenses),
        "local       ": "local" in given or asked.clusters is not None, "names       ": joined(asked.names),
        "nodes       ": asked.nodes or "", "partitions  ": joined(asked.partitions), "priority    ": asked.priority,
        "reservation ": asked.reservation, "sibling      ": "sibling" in given, "sort        ": asked.sort,
        "start_flag  ": int(asked.start), "states      ": given.get("t"), "step_flag   ": int(asked.steps),
        "steps       ": given.get("s"), "users       ": given.get("u"), "verbose     ": asked.verbose,
    }  # fmt: skip
    if since(asked.release, "new_options_of_verbose"):
        at = list(rows).index("partitions  ")
        rows = dict([*list(rows.items())[:at], ("only_job_state ", asked.only_state), *list(rows.items())[at:]])
    return f"{RULE}{block(rows)}{RULE}\n\n"
