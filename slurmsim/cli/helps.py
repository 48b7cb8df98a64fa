"""The subcommands and what each is for, in the order of ``slurmsim --help``, which reads no module but this one."""

from __future__ import annotations

GROUPS = {
    "a log": ("run", "check", "diff", "convert", "generate", "calibrate"),
    "its results": ("report", "compare", "why", "validate", "efficiency", "fidelity"),
    "questions": ("whatif", "when", "sweep", "arena", "strategy"),
    "a live cluster": (
        "up", "twin", "down", "status", "shell", "env", "as", "clock", "calls", "web", "mcp", "inject", "snapshot",
        "restore", "fork", "record", "replay", "lua", "conformance",
    ),
    "research": ("policies", "predictors", "new", "dispatch", "parm", "bench"),
}  # fmt: skip
"""What a command is about -> the commands, each once."""

HELPS = {
    "run": "replay a workload and show what happened",
    "compare": "compare runs: summaries, waits, queue, and job by job",
    "efficiency": "packing losses of a run over time: five measures and their weighted sum",
    "report": "make report.html and plots of a run again",
    "validate": "judge a run's trace independently of the simulator",
    "check": "say of each key of a slurm.conf whether it is honoured, harmless or not modelled",
    "diff": "say in words what a change of slurm.conf does, and which rules it touches",
    "convert": "convert a job log between SWF, sacct dumps and Parquet",
    "generate": "make a synthetic workload",
    "policies": "list the installed policies and their options",
    "predictors": "list the installed predictors of run times",
    "new": "write the first files of a policy, a reader of job logs or a command of Slurm",
    "fidelity": "compare replays with recordings of a real slurmctld, or with a log",
    "conformance": "scenarios of Slurm's commands, against slurmsim, a real Slurm, or any other sbatch",
    "why": "explain a job's wait: which rule, who was ahead",
    "calibrate": "a doctor for a site's own data: what is missing, how faithful a replay is, "
    "which setting would explain the rest",
    "whatif": "what would a change do to waits, and how sure is that",
    "when": "when a waiting job of a real cluster starts, and what would let it start sooner",
    "sweep": "run a grid of cells and compare policies",
    "arena": "a leaderboard of policies on a fixed set",
    "strategy": "which way of submitting jobs uses up an allocation",
    "dispatch": "solve one dispatching problem and draw the plan",
    "parm": "solve one power-aware decision",
    "bench": "repeat the experiment of a published system",
    "inject": "faults on request: slurmsim inject timeout command=sbatch every=3",
    "web": "a page to watch the live cluster",
    "up": "start a live cluster: sbatch, squeue … answer as on a real one",
    "mcp": "questions about a cluster as tools for an assistant",
    "twin": "a live cluster made of what a real one's own commands print",
    "down": "stop the live cluster; its state stays",
    "status": "what the live cluster is doing",
    "shell": "a shell with the live cluster's commands on PATH",
    "env": 'shell lines that put the commands on PATH: eval "$(slurmsim env)"',
    "as": "run a command as another user of the live cluster: slurmsim as alice -- sbatch job.sh",
    "clock": "show, freeze, step or scale the live cluster's clock",
    "calls": "the commands the live cluster has been asked by",
    "lua": "test a site's job_submit.lua or cli_filter.lua on made-up submissions: slurmsim lua test FILE",
    "snapshot": "write the live cluster, running or not, into one file",
    "restore": "make a live cluster of what slurmsim snapshot wrote",
    "fork": "a copy of the live cluster with a future of its own: slurmsim fork -- sbatch job.sh",
    "record": "keep every command the live cluster is asked by, with its answer: slurmsim record session.rec",
    "replay": "ask a recorded session again of a fresh cluster, and say what comes out differently",
}
