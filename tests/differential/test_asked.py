"""Small sessions asked of real Slurm for one rule or another, replayed: nothing else differs than what is listed.

`limits` and `enforced` have the same commands without and with EnforcePartLimits; `answers` is refusals and texts,
`reservations` and `cores` which nodes and cores a reservation gets, `arrays` the last task of an array, `versions`
sinfo's ``--exact``, `frequency` what ``--cpu-freq`` shows, `clients` what becomes of jobs whose srun or salloc was
killed, `edits` and `factors` what updates of jobs, partitions and nodes do without a database and with one,
`planned` which nodes are marked as planned, `groups` what jobs wait for that a group keeps out,
`minnodes` what becomes of waiting jobs when MinNodes changes, `signals` how long scancel tries,
`hidden` who is shown nodes, `skip` which periods of reservations can be skipped, `sharing` and `empty` what becomes of
jobs an update told not to share, `requeues` what updates leave of requeued jobs and small answers, `sharedcores`
reservations of cores where partitions share cores, `hetjobs`, `hetends`, `hetids`, `hetlimits` and `hetplans` (of the
rule `hetjob`) heterogeneous jobs, `hetsteps` srun and salloc of several components, `lost` what becomes of jobs and
their scripts when nodes go down, `stepids` how often scancel asks for a step, `qos` what deleting a QOS leaves in
lists, and default QOS nobody may use, `resvplans` and `resvbegin` what is planned beside reservations, `reread` what
``scontrol reconfigure`` leaves, `partqos` a partition's new QOS, `userprio` priorities users lower,
`corr` tasks that correspond to none. `scron`, `scron2`, `cronlife`, `cronlines`, `cronopts`, `cronsub`, `cronval`,
`cronvars`, `cronspec` and `cronedit` are about scrontab: times, options, variables, mistakes, what jobs do as time
goes by; `noscron` and `cronx` the same without `enable` and with `explicit_scancel`. `killwait` has scripts that take
time to die, `killlooks` is how often slurmd looks whether they have. `dumpload` is about sacctmgr's dump and load (its
files are named without folders here), `qosdump` about QOS in them. `tasks` is how many CPUs of a node tasks of several
CPUs get, and which. `blocks` is which nodes jobs get under topology/block, in segments and without, `rings` under
topology/ring, `topologies` in partitions with a topology each, and how those are shown; `exclusivetopo` what jobs keep
from others. `private`, `privateacts` and `privateusage` are what a user, a coordinator, an operator and root see and do
with every word of PrivateData. `layers` is which nodes jobs get beside hierarchical resources, `layershow` how those
are shown, reserved and refused; `fuzzylicenses` is RemoteFuzzyMatch. `relativeqos` is what a QOS with the flag Relative
limits, and the numbers it comes to.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from unseen import kept, ours

RECORDED = Path(__file__).resolve().parents[1] / "conformance" / "asked"
DIFFER: dict[str, set[int]] = {
    # cores of a reservation: their numbers where jobs run, and the split of more cores than there are nodes
    "reservations-24.11": {2, 3, 4, 5, 17, 18, 19, 20, 25}, "reservations-26.05": {4, 17, 18, 19, 20, 25},
    "cores-24.11": {1, 3, 4, 5, 7, 12, 13, 20}, "cores-26.05": {1, 2, 3, 4, 5, 6, 7, 20},
    # lists of partitions of which one does not let the user in (22.05), `clear stats` and `sacct -c` of who may
    "answers-22.05": {44, 45, 52, 55, 72, 81}, "answers-24.11": {48, 52, 55, 72, 81},
    # also that the connection to slurmdbd is given up after a refusal
    "answers-26.05": {52, 56, 57, 58, 69, 72, 81},
    # nodes of jobs that were refused; steps of tasks, and the order in which scancel names them
    "limits-22.05": {17, 18}, "limits-24.11": {17, 18, 27}, "limits-26.05": {17, 18},
    "enforced-22.05": {17, 18, 28, 31}, "enforced-24.11": {17, 18, 19, 25, 27, 28},
    "enforced-26.05": {17, 18, 25, 27, 28},
    # tasks of an array in the order of a hash table, and a node that fails with a job on a part of it
    "arrays-26.05": {13, 21}, "versions-22.05": set(), "frequency-22.05": set(),
    "frequency-24.11": set(), "clients-22.05": set(), "clients-26.05": set(),
    # nodes that are completing, and the second in which a cycle comes
    "planned-22.05": {15}, "planned-24.11": {11}, "planned-26.05": {15},
    "skip-22.05": set(), "skip-24.11": set(), "skip-26.05": set(),
    # the order of sinfo's rows, which its threads make
    "hidden-22.05": {12}, "hidden-24.11": {12}, "hidden-26.05": {12, 16},
    # nodes of jobs whose range sbatch itself narrows to their tasks
    "minnodes-22.05": {18, 19, 20, 21}, "minnodes-24.11": {18, 19, 20, 21}, "minnodes-26.05": {18, 19, 20, 21},
    "signals-22.05": set(), "signals-24.11": set(), "signals-26.05": set(),
    # lists of partitions of which one does not let a group in
    "groups-22.05": {6, 7, 8, 10, 12, 13, 14}, "groups-24.11": {6, 7, 8, 9, 10, 12, 13, 14},
    "groups-26.05": {6, 7, 8, 9, 10, 12, 13, 14},
    "edits-22.05": {43, 44}, "edits-24.11": {43, 44}, "edits-26.05": {43, 44},
    # whether a job that comes in the second of another one is behind it
    # also the order in which jobs that end in one second are written down
    "factors-22.05": {34, 35}, "factors-24.11": {30, 34, 35}, "factors-26.05": {30, 34, 35},
    # the very second in which a job starts or is looked at by one scheduler or the other; a node for one user alone
    "sharing-22.05": {11, 16, 25}, "sharing-24.11": {11, 25}, "sharing-26.05": {25, 29},
    "empty-22.05": {18, 21}, "empty-24.11": {21}, "empty-26.05": {10, 21},
    # whether an allocation is told that it was revoked; 500 tasks at once behind others; a throttle with an account
    "requeues-22.05": {49}, "requeues-24.11": {19, 49, 50}, "requeues-26.05": {10},
    # nodes named as unavailable; a job that grows over what a reservation gave back
    "sharedcores-22.05": {14, 18, 19, 23},
    # whether a cycle came before or after a command within its second, and eligible times of jobs that were held again
    "hetjobs-22.05": {26, 48, 58, 70, 75}, "hetlimits-22.05": {15, 19},
    # measured times of cycles; steps of several components, and srun and salloc with `:`
    # the order in which tasks write and end, and the second in which backfill comes; what waits 90 s
    "hetsteps-22.05": {1, 12, 19, 21, 57, 58, 59, 60, 61},
    "hetsteps-24.11": {1, 3, 7, 9, 11, 18, 19, 54, 56, 57}, "hetsteps-26.05": {3, 7, 9, 11, 18, 54, 55, 56, 57, 58},
    "hetplans-22.05": {17}, "hetends-22.05": {9, 10, 49, 50, 51, 52, 53}, "hetids-22.05": set(),
    # CPUs of jobs that wait once more
    "lost-22.05": set(), "lost-24.11": {23}, "lost-26.05": {23},
    "stepids-22.05": set(), "stepids-26.05": set(),
    # the second in which a pass comes
    "resvplans-22.05": {9}, "resvbegin-22.05": set(), "reread-22.05": set(), "corr-22.05": set(),
    "userprio-22.05": {8, 9, 10, 12, 13, 14, 15}, "userprio-db-22.05": {19, 20},
    # what a QOS counts of jobs that were there before it was the partition's
    "partqos-22.05": {15, 17, 20, 22},
    # which scheduler looked last
    "tasks-22.05": set(), "tasks-24.11": set(), "tasks-26.05": {14},
    # where in a list an addition goes, and whom an account's new list is told to; which accounts are a default
    "qos-22.05": {12, 13, 14}, "qos-24.11": {6, 13}, "qos-26.05": {13},
    # a reason in the second of a submission or beyond a partition's limit, the machine's own clock and paths, and the
    # text somebody without a table begins to edit
    "scron-24.11": set(), "scron-26.05": set(), "noscron-24.11": set(),
    "scron2-24.11": {19, 22, 29, 30, 31, 32, 33, 41, 69, 70}, "scron2-26.05": {19, 22, 29, 30, 31, 32, 33, 41, 69, 70},
    # what waits 60 s, when a job begins to accrue age, exit codes of jobs told to go, the order of scancel's threads,
    # when a job that was suspended and requeued says it was
    "cronlife-24.11": {16, 21, 22, 42, 49}, "cronlife-26.05": {16, 21, 22, 27, 28, 42, 49},
    "cronx-24.11": {8, 9, 20, 30}, "cronx-26.05": {8, 9, 20, 30},
    # a job that waits for the one it replaces, options that are refused, -vvv
    "cronlines-24.11": {9, 31}, "cronlines-26.05": {9, 31},
    "cronopts-24.11": {1, 2, 4, 8, 9, 10}, "cronopts-26.05": {1, 2, 4, 6, 8, 9, 10},
    "cronspec-24.11": set(), "cronspec-26.05": set(), "cronsub-24.11": set(), "cronsub-26.05": set(),
    "cronval-24.11": set(), "cronval-26.05": set(),
    # PATH and files of the node, help, how a requeue counts when a node goes down
    "cronvars-24.11": {12, 16, 17, 22}, "cronvars-26.05": {12, 16, 17, 22}, "cronedit-24.11": {13, 14},
    # when slurmctld hears of it (73), a lock (47, 74, 75), what of a file is lost when one change in it fails there
    # (76, 78, 80), other clusters (81 to 87), oracle.cfg itself (12)
    "dumpload-22.05": {12, 73, 76, 78, 80, 81, 82, 83, 84, 85, 86, 87},
    "dumpload-24.11": {12, 47, 74, 75, 76, 78, 80, 81, 82, 83, 84, 85, 86, 87},
    "dumpload-26.05": {12, 76, 78, 80, 81, 82, 83, 84, 85, 86, 87},
    "qosdump-26.05": {3, 4, 5, 6, 8, 12},  # MinPrioThreshold has another name there
    # fractions of a second: the order of jobs of one second (6, 10), what is gone 20 ms after it was told to go (8),
    # KILL a third of a second before KillWait is over (15), the second of a scan for limits (35) and of a requeue (44);
    # the order of what srun and slurmstepd say (23), and a script whose answer to TERM is still on its way (31)
    "killwait-22.05": {6, 8, 10, 15, 23, 35, 44}, "killwait-24.11": {8, 23, 31, 35, 44},
    "killwait-26.05": {8, 23, 35, 44}, "killlooks-22.05": set(), "blocks-24.11": set(), "blocks-26.05": set(),
    # transactions of sacctmgr before the cluster began, and the length of slurmdbd's statistics
    "private-22.05": {174, 175, 176, 177, 237}, "private-24.11": {174, 175, 176, 177, 237},
    "private-26.05": {174, 175, 176, 177, 234, 235, 236, 237, 242},  # also that the connection is given up
    # the exit code of scancel --ctld, the job that is just over (29), sinfo --json (52, 53), listpids
    "privateacts-22.05": {52, 53, 68, 69}, "privateacts-24.11": {16, 29, 68, 69}, "privateacts-26.05": {16, 68, 69},
    # nodes of jobs of one second (95 to 98), and the order in which they end
    "privateusage-22.05": {106}, "privateusage-24.11": {106}, "privateusage-26.05": {95, 96, 97, 98, 106},
    # the usage of a QOS in its seventh digit, nodes of a waiting job (19), and what is left in one that loses its flag
    "relativeqos-24.11": {19, 43, 45, 47, 49, 51}, "relativeqos-26.05": {43, 45, 47, 49, 51},
    # nodes that move to other units of a topology, which is refused
    "topologies-26.05": {64, 65, 66, 67, 68, 71, 73}, "rings-26.05": set(),
    # blocks of which another job of their own has just ended (17)
    "exclusivetopo-26.05": {17},
    # JSON of `show resources`; a cycle that comes before the pass of its second
    "layers-26.05": {6, 56, 57},
    # licenses of jobs as slurmctld writes them anew when it reads its configuration again
    "layershow-26.05": {37, 44}, "fuzzylicenses-26.05": set(),
}  # fmt: skip
QUICK = ("hetplans-22.05", "limits-22.05", "reservations-24.11", "answers-26.05")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in DIFFER])
def test_what_was_asked_for_a_rule(name: str, tmp_path: Path) -> None:
    recording = kept.unpack(RECORDED / f"{name}.session.xz", tmp_path)
    found = ours.compare(name, recording, tmp_path / "slurm.conf")
    assert len(found) >= 4
    wrong = [one for one in found if one.verdict in ("different", "repeat") and one.number not in DIFFER[name]]
    assert not wrong, "\n".join(f"{one.number} {one.command}\n{one.difference()}" for one in wrong)
