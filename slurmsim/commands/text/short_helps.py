"""``--help`` of commands with few options, in our own words: the line of usage, then a line for each option."""

from __future__ import annotations

from slurmsim.commands.text.option_reader import REQUIRED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmsim.commands.text.option_reader import LongOption

_HEADS = {
    "sacct": "sacct [<OPTION>]\n    Valid <OPTION> values are:",
    "sbcast": "Usage: sbcast [OPTIONS] SOURCE DEST", "scancel": "Usage: scancel [OPTIONS] [JOB[_TASK][.STEP]...]",
    "sprio": "Usage: sprio [OPTIONS]", "sstat": "sstat [<OPTION>] -j <JOB[.STEP]>\n    Valid <OPTION> values are:",
    "strigger": "Usage: strigger [--set | --get | --clear] [OPTIONS]\n"
    "Triggers are not modelled: there are none to get or clear, and --set is refused.",
}  # fmt: skip
_TITLE = "\nHelp options:"
_ASK = ("help", "helpformat", "usage", "version")
_WORDS = """
sacct allusers jobs of all users
sacct accounts jobs of these accounts
sacct allocations no steps
sacct brief few columns
sacct batch-script the script of a job
sacct completion read the log of completed jobs
sacct constraints jobs that asked for these features
sacct delimiter what stands between columns
sacct duplicates every run of a job
sacct federation accepted; there is one cluster
sacct helpformat the columns there are
sacct endtime jobs before this time
sacct env-vars the environment of a job
sacct file a log of completed jobs
sacct flags jobs with these flags
sacct gid jobs of these groups
sacct help this text
sacct local accepted; there is one cluster
sacct name jobs of these names
sacct nnodes jobs of so many nodes, N or N-M
sacct ncpus jobs of so many CPUs, N or N-M
sacct jobs jobs or steps, with commas between them
sacct timelimit-min jobs with at least this time limit
sacct timelimit-max jobs with at most this time limit
sacct long many columns
sacct allclusters accepted; there is one cluster
sacct cluster the cluster by its name
sacct nodelist jobs on these nodes
sacct noconvert numbers as they are, without units
sacct units the unit of numbers
sacct noheader no heading
sacct fields columns, with commas between them
sacct parsable columns end in '|'
sacct parsable2 columns are separated by '|'
sacct qos jobs of these qualities of service
sacct partition jobs of these partitions
sacct reason jobs that waited for these reasons
sacct state jobs in these states
sacct starttime jobs after this time
sacct truncate times cut to the window
sacct uid jobs of these users
sacct use-local-uid names of users from this machine
sacct usage one line of it
sacct wckeys jobs with these keys
sacct whole-hetjob all parts of a heterogeneous job, yes or no
sacct associations jobs of these associations
sacct array a line for each task of an array
sacct helpreason the reasons there are
sacct helpstate the states there are
sacct expand-patterns patterns in file names filled in
sbcast compress    compress what is sent
sbcast exclude     folders of shared objects that are not sent
sbcast fanout      how many nodes each node sends to
sbcast force       replace a file that is there
sbcast jobid       the job on the nodes that get the file, with a part or a step
sbcast send-libs   send the shared objects too
sbcast preserve    keep times and modes
sbcast size        bytes of a block
sbcast timeout     seconds to wait for a node
scancel account    jobs that this account pays for
scancel batch      signal the batch script only
scancel ctld       let the controller do it
scancel cron       also recurring jobs
scancel full       signal the batch script and all steps
scancel hurry      do not wait for data of burst buffers
scancel interactive ask before each job
scancel cluster    jobs of this cluster
scancel clusters   jobs of this cluster
scancel me         your own jobs
scancel name       jobs of this name
scancel jobname    jobs of this name
scancel nodelist   jobs on any of these nodes
scancel partition  jobs in this partition
scancel qos        jobs of this quality of service
scancel quiet      say nothing of jobs that are over
scancel reservation jobs in this reservation
scancel sibling    a part of a job of a federation
scancel signal     send this signal, by name or number
scancel state      jobs in this state: pending, running or suspended
scancel user       jobs of this user
scancel wckey      jobs with this key
sprio  federation  accepted; there is one cluster
sprio  format      letters of the columns, as %.15i
sprio  jobs        these jobs
sprio  local       accepted; there is one cluster
sprio  long        all columns
sprio  cluster     the cluster by its name
sprio  noheader    no heading
sprio  norm        factors between 0 and 1
sprio  partition   jobs in these partitions
sprio  sibling     accepted; there is one cluster
sprio  sort        letters of columns to sort by
sprio  user        jobs of these users
sprio  weights     the weights of the factors
sstat  allsteps    all steps of the jobs
sstat  fields      columns, with commas between them
sstat  format      columns, with commas between them
sstat  helpformat  the columns there are
sstat  jobs        jobs or steps, with commas between them
sstat  noconvert   numbers as they are, without units
sstat  noheader    no heading
sstat  parsable    columns end in '|'
sstat  parsable2   columns are separated by '|'
sstat  pidformat   the processes of the steps
strigger burst_buffer an error of a burst buffer
strigger clear     delete a trigger
strigger cluster   the cluster by its name
strigger down      a node goes down
strigger drained   a node is drained
strigger draining  a node begins to drain
strigger fail      a node is going to fail
strigger fini      a job ends
strigger flags     PERM: not gone once it went off
strigger get       get trigger information
strigger id        the number of a trigger
strigger idle      a node is idle for a time
strigger jobid     a job
strigger node      a node, or any
strigger noheader  no heading
strigger offset    seconds before or after the event
strigger program   what is run
strigger quiet     say nothing of triggers that are not there
strigger reconfig  the configuration changes
strigger resume    a node is resumed
strigger set       create a trigger
strigger time      a job is near its limit
strigger up        a node comes back
strigger user      triggers of this user
* help             this text
* helpformat       letters of columns
* usage            one line of it
* verbose          print detailed messages
* version          the release
"""


def text(command: str, options: Iterable[LongOption], last: str = "") -> str:
    """Return the help of a command: each of its options once, those that only tell something at the end."""
    words: dict[str, str] = {}
    for line in filter(None, _WORDS.split("\n")):
        of, name, what = line.split(None, 2)
        if of in ("*", command):
            words.setdefault(name, what)
    lines: dict[bool, list[str]] = {False: [_HEADS[command]], True: [_TITLE]}
    told: set[str] = set()
    for option in options:
        name, key = option.name or "", option.key
        if name not in words or key in told:
            continue
        told.add(key)
        value = {"no": "", "required": f"={name.upper()}"}.get(option.argument, f"[={_OPTIONAL.get(name, 'VALUE')}]")
        if command in ("sacct", "sstat"):
            value = ":" if option.argument == REQUIRED else ""
        letter = f"-{key}, " if len(key) == 1 else ""
        lines[name in _ASK].append(f"  {letter}--{name}{value}".ljust(30) + f" {words[name]}")
    return "\n".join([*lines[False], *lines[True]]) + "\n" + last


_OPTIONAL = {"node": "host", "jobs": "JOBS", "compress": "LIBRARY"}
