"""What cli_filter.lua reads of options that are not set: a row for options that look alike.

Names, and the text for sbatch, salloc and srun; ``nil`` where Lua has none, ``-`` for an option of other commands.
``a>24.11:b`` is a before release 24.11, b from then on. As recorded on 22.05, 24.11 and 26.05.
"""

from __future__ import annotations

from slurmsim.releases import row

_ROWS = """\
relative | - | - | -2
bcast-exclude | - | - | /lib,/usr/lib,/lib64,/usr/lib64
msg-timeout | - | - | 10
threads | - | - | 60
accel-bind bcast cpu-bind cpu_bind epilog het-group mpi pack-group prolog send-libs task-epilog | - | - | nil
task-prolog | - | - | nil
compress | - | - | none
slurmd-debug | - | - | quiet>24.11:error
disable-status exact interactive label multi-prog no-allocate overlap preserve-env | - | - | unset
quit-on-interrupt unbuffered whole | - | - | unset
pty | - | - | unset>24.11:nil
bell no-bell | - | bell-after-delay | -
no-shell | - | unset | -
mincpus | -1 | -1 | -1
cores-per-socket nice ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket | -2 | -2 | -2
ntasks-per-tres sockets-per-node tasks-per-node threads-per-core | -2 | -2 | -2
resv-ports | ->24.11:unset | ->24.11:unset | unset
cpus-per-gpu cpus-per-task immediate priority quiet verbose | 0 | 0 | 0
signal | 0@0 | 0@0 | 0@0
ntasks | 1 | 1 | 1
nodes | 1-0 | 1-0 | 1-0
time time-min | 2982616-04:14:00>24.11:nil | 2982616-04:14:00>24.11:nil | 2982616-04:14:00>24.11:nil
delay-boot | 49710-06:28:14>24.11:nil | 49710-06:28:14>24.11:nil | 49710-06:28:14>24.11:nil
wait-all-nodes | 65534 | 65534 | -
mail-type | NONE | NONE | NONE
profile | NotSet | NotSet | NotSet
begin deadline | Unknown | Unknown | Unknown
array batch export-file | nil | - | -
export propagate | nil | - | nil
kill-command | nil | 0 | nil
kill-on-bad-exit | nil | nil | -2
debugger-test jobid | nil | nil | unset
treewidth | nil>24.11:- | nil>24.11:- | nil>24.11:0
external-launcher | nil>24.11:- | nil>24.11:- | nil>24.11:unset
oom-kill-step segment stepmgr | nil>24.11:unset | nil>24.11:unset | nil>24.11:unset
async wait-for-children | nil>26.05:- | nil>26.05:- | nil>26.05:unset
consolidate-segments external get-user-env ignore-signals | nil>26.05:unset | nil>26.05:unset | nil>26.05:unset
mem-update spread-segments | nil>26.05:unset | nil>26.05:unset | nil>26.05:unset
ignore-pbs no-requeue requeue wait | unset | - | -
test-only | unset | - | unset
parsable | unset | ->26.05:unset | ->26.05:unset
contiguous core-spec exclusive extra-node-info gres-flags hold kill-on-invalid-dep mem-bind | unset | unset | unset
no-kill overcommit oversubscribe reboot spread-job switches thread-spec use-min-nodes x11 | unset | unset | unset
power | unset>24.11:nil | unset>24.11:nil | unset>24.11:nil
"""
_COMMANDS = ("sbatch", "salloc", "srun")


def _table() -> dict[str, list[str]]:
    found = {}
    for line in _ROWS.splitlines():
        names, *texts = line.split(" | ")
        found.update(dict.fromkeys(names.split(), texts))
    return found


def unset_value(name: str, command: str, release: str) -> str | None:
    """Return the text of an option that is not set; None for one without, or that nothing is called."""
    texts = _table().get(name)
    if texts is None:
        return None
    first, *later = texts[_COMMANDS.index(command)].split(">")
    text = row({"22.05": first, **dict(one.split(":", 1) for one in later)}, release)
    return {"nil": None, "-": "invalid-context"}.get(text, text)
