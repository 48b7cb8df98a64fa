"""What ``sbatch --usage`` prints: a synopsis of options, as each release words it; and ``--help``, in our words."""

_22_05 = """\
Usage: sbatch [-N nnodes] [-n ntasks]
              [-c ncpus] [-r n] [-p partition] [--hold] [--parsable] [-t minutes]
              [-D path] [--no-kill] [--overcommit]
              [--input file] [--output file] [--error file]
              [--time-min=minutes] [--licenses=names] [--clusters=cluster_names]
              [--chdir=directory] [--oversubscribe] [-m dist] [-J jobname]
              [--verbose] [--gid=group] [--uid=user]
              [--contiguous] [--mincpus=n] [--mem=MB] [--tmp=MB] [-C list]
              [--account=name] [--dependency=type:jobid[+time]] [--comment=name]
              [--mail-type=type] [--mail-user=user] [--nice[=value]] [--wait]
              [--requeue] [--no-requeue] [--ntasks-per-node=n] [--propagate]
              [--nodefile=file] [--nodelist=hosts] [--exclude=hosts]
              [--network=type] [--mem-per-cpu=MB] [--qos=qos] [--gres=list]
              [--mem-bind=...] [--reservation=name] [--mcs-label=mcs]
              [--cpu-freq=min[-max[:gov]]] [--power=flags] [--gres-flags=opts]
              [--switches=max-switches{@max-time-to-wait}] [--reboot]
              [--core-spec=cores] [--thread-spec=threads]
              [--bb=burst_buffer_spec] [--bbf=burst_buffer_file]
              [--array=index_values] [--profile=...] [--ignore-pbs] [--spread-job]
              [--export[=names]] [--export-file=file|fd] [--delay-boot=mins]
              [--use-min-nodes]
              [--cpus-per-gpu=n] [--gpus=n] [--gpu-bind=...] [--gpu-freq=...]
              [--gpus-per-node=n] [--gpus-per-socket=n] [--gpus-per-task=n]
              [--mem-per-gpu=MB]
              executable [args...]
"""
_24_11 = _22_05.replace(
    "[--mem-per-gpu=MB]\n",
    "[--mem-per-gpu=MB] [--tres-bind=...] [--tres-per-task=list]\n              [--oom-kill-step[=0|1]]\n",
)
_26_05 = (
    _24_11.replace(
        "[--uid=user]\n              [--contiguous] ",
        "[--uid=user] [--contiguous]\n"
        "              [--container=path] [--container-id=id] [--container-type=type]\n              ",
    )
    .replace(
        "[--requeue] [--no-requeue] [--ntasks-per-node=n] [--propagate]\n              ",
        "[--requeue[=expedite]] [--no-requeue] [--ntasks-per-node=n]\n              [--propagate] ",
    )
    .replace("[--spread-job]\n", "[--spread-job]\n              [--spread-segments]\n")
)
USAGE: dict[str, str] = {"22.05": _22_05, "24.11": _24_11, "26.05": _26_05}


_VALUES = {
    "begin": "time", "nodes": "N", "ntasks": "n", "cpus-per-task": "n", "qos": "qos", "mincpus": "n", "gpus": "n",
    "partition": "partition", "account": "name", "time": "minutes", "mem": "MB", "nodelist": "hosts", "gres": "list",
}  # fmt: skip
"""What stands for the value of an option; VALUE for others."""
_WIDTH = 80


def _value(name: str, argument: str) -> str:
    word = _VALUES.get(name, "VALUE")
    return {"no": "", "required": f"={word}", "optional": f"[={word}]"}[argument]


def help_text(command: str, names: list[tuple[str | None, str, str]], trailer: str) -> str:
    """Return a list of the options of `command`: (letter, long name, how it takes an argument) each."""
    lines = [f"Usage: {command} [OPTIONS...] {trailer}", "", "Options:"]
    for letter, name, argument in names:
        lines.append(f"  {f'-{letter},' if letter else '   '} --{name}{_value(name, argument)}")
    return "\n".join(lines) + "\n"


def usage_text(command: str, names: list[tuple[str | None, str, str]], trailer: str) -> str:
    """Return a synopsis of the options of `command`, as `help_text` has them."""
    lines, indent = [f"Usage: {command}"], " " * len(f"Usage: {command}")
    for _, name, argument in names:
        word = f" [--{name}{_value(name, argument)}]"
        if len(lines[-1]) + len(word) > _WIDTH:
            lines.append(indent)
        lines[-1] += word
    return "\n".join([*lines, f"{indent} {trailer}"]) + "\n"
