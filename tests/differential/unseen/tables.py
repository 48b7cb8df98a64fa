"""What may be asked: every verb and option, with a weight. Changed only before a new set of questions is drawn.

An entry is ``weight text``; words in braces are filled in from the scene (`sessions.Scene.value`). A verb's entries
are dealt like cards (`sessions.Deck`), so that each comes up before one comes up again, and the rest by weight. What
differs by machine and by nothing else is left out: load, free memory, process ids, ``sdiag``, help texts.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its share of all commands, its options, and the commands they go into.

    `forms` are patterns with ``{options}``; `most` is how many options beside the featured one a command may have.
    `root` is the share of commands that root gives; `needs` names what the cluster must have, or it is asked seldom.
    """

    name: str
    share: float
    forms: tuple[str, ...]
    table: str
    most: int = 0
    root: float = 0.1
    needs: str = ""

    def entries(self) -> list[tuple[int, str]]:
        """(weight, text) of each option."""
        rows = [line.strip().partition(" ") for line in self.table.strip().splitlines()]
        return [(int(weight), text.strip()) for weight, _, text in rows]


SBATCH = Verb(
    "sbatch", 24,
    (
        "sbatch -J {newname} -o /dev/null {options} --wrap 'sleep {length}'",
        "j=$(sbatch --parsable -J {newname} -o /dev/null -t {minutes} {options} --wrap 'sleep {length}')"
        " && scontrol show job ${j:-0}",
    ),
    """
    6 -a {indexes}
    3 --array={indexes}%2
    3 -A {account}
    1 --bb=capacity=1
    4 -b now+{seconds}
    2 --begin=2026-01-05T{hour}:30:00
    2 --begin={hour}:15
    3 --comment='a note'
    1 --cpu-freq=high
    5 -c {few}
    8 -d {kind}:{job}
    3 -d {kind}:{job}:{job}
    2 -d {kind}:{job},{kind}:{job}
    2 -d {kind}:{job}?{kind}:{job}
    2 -d singleton
    2 -d after:{job}+1
    2 -d aftercorr:{array}
    3 --deadline=now+{minutes}minutes
    1 --delay-boot=2
    2 -D /tmp
    1 -e err.txt
    1 --export=NONE
    1 --export=ALL,A=1
    2 --gres={gres}
    1 --gid=2002
    1 --gres-flags=enforce-binding
    6 -H
    1 --ignore-pbs
    1 -i /dev/null
    1 -k
    6 -L {license}
    1 -M oracle
    1 -m block:cyclic
    1 --mail-type=END
    1 --mail-user=bob
    1 --mcs-label=x
    8 -n {tasks}
    3 --nice={number}
    1 --nice
    2 --no-requeue
    1 --requeue
    5 --ntasks-per-node={few}
    8 -N {nodecount}
    4 -N {nodecount}-{manynodes}
    2 -O
    8 -p {part}
    4 -p {part},{part}
    1 --power=level
    3 --priority={number}
    1 --profile=all
    1 --propagate=NONE
    5 -q {qos}
    1 -Q
    1 --reboot
    4 -s
    2 -S 1
    1 --thread-spec=1
    2 --signal=USR1@60
    1 --signal=B:TERM@30
    3 --spread-job
    1 --switches=1@5:00
    6 -t {minutes}
    1 -t {hour}:00:00
    1 -t 1-0
    3 --time-min={fewminutes} -t {minutes}
    1 --uid={user}
    3 --use-min-nodes -N 1-4
    1 -v
    1 --wckey=w1
    3 --contiguous -N {nodecount}
    6 -C {feature}
    3 -C '{feature}&{feature}'
    3 -C '{feature}|{feature}'
    2 -C '[std|fast]' -N 2
    2 -C '{feature}*1' -N 2
    1 -C nosuch
    5 --mem={memory}
    2 --mem=0
    3 --mincpus={few}
    3 --reservation={resv}
    1 --tmp=10
    6 -w {nodes}
    6 -x {nodes}
    6 --exclusive
    2 --exclusive=user
    5 --mem-per-cpu={memory}
    2 --sockets-per-node={few}
    2 --cores-per-socket={few}
    1 --threads-per-core=1
    1 --threads-per-core=2
    2 -B 2:2
    1 --ntasks-per-core=1
    2 --ntasks-per-socket={few}
    1 -G 1
    1 --gpus-per-node=1
    1 --kill-on-invalid-dep=yes
    1 --test-only
    1 -W --test-only
    """,
    most=2, root=0.12,
)  # fmt: skip

UPDATE_JOB = Verb(
    "scontrol update job", 12, ("scontrol update jobid={job} {options} && scontrol show job {shown}",),
    """
    2 account={account}
    2 adminComment=seen
    2 arraytaskthrottle=1
    1 burstbuffer=
    2 clusterfeatures=
    3 comment=noted
    2 contiguous=yes
    1 corespec=1
    2 cpuspertask={few}
    2 deadline=now+{minutes}minutes
    1 delayboot=1
    4 dependency={kind}:{job}
    2 dependency=
    2 eligibletime=now+{seconds}
    2 endtime=now+{minutes}minutes
    4 excnodelist={nodes}
    2 excnodelist=
    1 extra=x
    4 features={feature}
    1 gres=gpu:1
    3 jobname={newname}
    3 licenses={license}
    1 mailtype=END
    1 mailuser=carol
    2 mincpusnode={few}
    2 minmemorycpu={memory}
    2 minmemorynode={memory}
    1 mintmpdisknode=5
    3 nice={number}
    1 nice
    4 numcpus={tasks}
    2 numcpus={tasks}-64
    4 numnodes={nodecount}
    3 numnodes={nodecount}-{manynodes}
    2 numtasks={tasks}
    2 oversubscribe=yes
    2 oversubscribe=no
    4 partition={part}
    2 partition={part},{part}
    1 prefer={feature}
    4 priority={number}
    1 priority=0
    3 qos={qos}
    1 reboot=no
    2 reqcores=2
    4 reqnodelist={nodes}
    2 reqnodelist=
    2 reqnodes={nodecount}
    1 reqprocs=4
    2 reqsockets=2
    1 reqthreads=1
    2 requeue=0
    3 reservationname={resv}
    1 resetaccruetime
    2 sitefactor={number}
    1 stdout=/tmp/x
    2 shared=1
    4 starttime=now+{seconds}
    1 switches=1@10
    2 tasksperNode={few}
    1 threadspec=1
    6 timelimit={minutes}
    3 timelimit=+{fewminutes}
    2 timelimit=-1
    2 timemin={fewminutes}
    1 userid=bob
    2 wckey=w2
    1 workdir=/tmp
    """,
    most=1, root=0.55,
)  # fmt: skip

UPDATE_NODE = Verb(
    "scontrol update node", 4,
    ("scontrol update nodename={nodes} {options} && scontrol show node {shownnode}",
     "scontrol update nodename={nodes} {options}; sinfo -h -N -o '%N %P %T %E' -n {shownnodes}"),
    """
    2 activefeatures=std
    3 availablefeatures=std,new activefeatures=new
    1 comment='of a node'
    1 cpubind=core
    1 extra=more
    1 gres=gpu:1
    1 nodeaddr=localhost
    1 nodehostname=head
    2 reason='only this'
    1 resumeafter=60
    8 state=drain reason=test
    2 state=drain
    4 state=down reason='pulled plug'
    2 state=down
    3 state=fail reason=failing
    8 state=resume
    3 state=undrain
    2 state=idle
    1 state=future
    1 state=noresp
    1 state=power_down
    1 state=power_up
    1 state=bogus
    4 weight={number}
    """,
    root=0.93,
)  # fmt: skip

UPDATE_PARTITION = Verb(
    "scontrol update partition", 4,
    ("scontrol update partitionname={part} {options} && scontrol show partition {shownpart}",
     "scontrol update partitionname={part} {options}; sinfo -h -o '%P %a %l %D %s %g %h %p' -p {shownpart}"),
    """
    2 allocnodes=ALL
    2 allowaccounts={account}
    2 allowaccounts=ALL
    2 allowgroups={user}
    1 allowgroups=ALL
    2 allowqos={qos}
    1 alternate={part}
    2 cpubind=none
    1 default=yes
    2 defaulttime={minutes}
    2 defmempercpu={memory}
    1 defmempernode={memory}
    2 denyaccounts={account}
    2 denyqos={qos}
    2 disablerootjobs=yes
    2 exclusiveuser=yes
    2 gracetime=10
    2 hidden=yes
    2 hidden=no
    1 jobdefaults=DefCpuPerGPU=2
    1 lln=yes
    2 maxcpuspernode=4
    2 maxmempercpu=800
    1 maxmempernode=12000
    3 maxnodes={nodecount}
    3 maxtime={minutes}
    1 maxtime=UNLIMITED
    2 minnodes={nodecount}
    3 nodes={nodes}
    2 oversubscribe=FORCE:2
    1 oversubscribe=NO
    1 oversubscribe=EXCLUSIVE
    1 overtimelimit=2
    1 preemptmode=off
    3 priorityjobfactor={few}
    2 prioritytier={few}
    1 qos={qos}
    1 reqresv=yes
    1 rootonly=yes
    1 rootonly=no
    2 state=down
    2 state=drain
    1 state=inactive
    6 state=up
    1 tresbillingweights=cpu=2.0
    """,
    root=0.93,
)  # fmt: skip

RESERVATION = Verb(
    "scontrol reservation", 5,
    ("scontrol create reservation {newresv} {options} && scontrol show reservation",
     "scontrol create reservation {newresv} {options}; squeue -h -S i -o '%i %T %r' -t pd"),
    """
    3 starttime=now+1hour duration=30 users={user} nodes={nodes}
    2 starttime=now duration={minutes} users={user} nodes={nodes}
    2 starttime=now duration={minutes} users={user} nodes={nodes} flags=ignore_jobs
    2 starttime=2026-01-05T10:00:00 endtime=2026-01-05T11:00:00 accounts={account} nodecnt={nodecount}
    1 starttime=2026-01-05T10:00:00 duration=60 users={user} nodecnt={nodecount} partitionname={part}
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} flags=maint
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} flags=overlap
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} flags=daily
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} flags=weekly
    1 starttime=now+10minutes duration=60 users={user} corecnt=4 partitionname={part}
    1 starttime=now+10minutes duration=60 users={user} nodecnt=1 features={feature}
    1 starttime=now+10minutes duration=60 users={user} tres=node=2
    1 starttime=now+10minutes duration=60 users={user} tres=cpu=4
    1 starttime=now+10minutes duration=60 users=-{user} nodes={nodes}
    1 starttime=now+10minutes duration=60 users={user} licenses={license} flags=license_only
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} maxstartdelay=5
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} purgecomp=1
    1 starttime=now+10minutes duration=60 users={user} flags=part_nodes nodes=ALL partitionname={part}
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} flags=flex
    1 starttime=now+10minutes duration=60 groups={user} nodes={nodes}
    1 starttime=now+10minutes duration=60 users={user} nodes={nodes} flags=any_nodes,static_alloc
    1 duration=60 users={user} nodes={nodes}
    1 starttime=now+10minutes users={user} nodes={nodes}
    1 starttime=now+10minutes duration=60 nodes={nodes}
    """,
    root=0.95,
)  # fmt: skip

UPDATE_RESERVATION = Verb(
    "scontrol update reservation", 3,
    ("scontrol update reservationname={resv} {options} && scontrol show reservation {shownresv}",),
    """
    2 accounts={account}
    1 accounts+={account}
    3 duration={minutes}
    1 duration+=10
    1 duration-=10
    2 endtime=now+3hours
    1 features={feature}
    1 flags=maint
    1 flags+=overlap
    1 flags-=overlap
    1 licenses={license}
    1 maxstartdelay=10
    2 nodecnt={nodecount}
    2 nodecnt+=1
    2 nodes={nodes}
    1 nodes+={nodes}
    1 nodes-={node}
    1 partitionname={part}
    2 starttime=now+2hours
    1 tres=node=1
    2 users={user},{user}
    2 users+={user}
    1 users-={user}
    1 groups={user}
    1 skip
    """,
    root=0.93,
)  # fmt: skip

CONTROL = Verb(
    "scontrol job control", 8, ("scontrol {options}; squeue -h -a -t all -S i -o '%i %t %r %Q' -j {shown}",),
    """
    6 hold {job}
    2 hold {job} {job}
    2 uhold {job}
    1 hold jobname={name}
    6 release {job}
    2 release {array}
    1 release jobname={name}
    4 requeue {job}
    1 requeue {job},{job}
    2 requeuehold {job}
    1 requeuehold incomplete {job}
    3 suspend {job}
    3 resume {job}
    3 top {job}
    1 top {job},{job}
    1 notify {job} hello
    2 hold {task}
    2 release {task}
    1 requeue {task}
    1 suspend {task}
    """,
    root=0.4,
)  # fmt: skip

SHOW = Verb(
    "scontrol show", 8, ("scontrol {options}",),
    """
    6 show job {job}
    2 -o show job {job}
    3 -d show job {job}
    2 show job {array}
    2 show job {task}
    1 -o show jobs
    3 show node {node}
    1 -o show node {nodes}
    1 -d show node {node}
    3 show partition {part}
    2 show partition
    1 -o show partition
    1 -a show partition
    2 show reservation
    2 show reservation {resv}
    1 -o show reservation
    3 show licenses
    1 show lic matlab
    1 -o show licenses
    1 show hostnames n[01-05,09]
    1 show hostlist n05,n01,n02
    1 show hostlistsorted n05,n01,n02
    1 show step
    1 show step {job}
    1 show topology
    1 show aliases
    1 show burstbuffer
    1 show federation
    1 show frontend
    1 show assoc_mgr flags=qos
    1 show assoc_mgr flags=users
    1 show assoc_mgr flags=assoc users={user}
    1 show config | grep -E '^(Sched|Priority|Max|Enforce|Accounting)'
    1 show bbstat
    1 show nosuch
    1 completing
    1 errnumstr 2015
    1 ping
    1 version
    1 write batch_script {job} -
    1 listpids 99999
    1 setdebug info
    1 schedloglevel 0
    1 setdebugflags +backfill
    1 cancel_reboot {node}
    1 reboot {node}
    1 reconfigure
    1 token
    1 fsdampeningfactor 2
    1 delete reservation={resv}
    1 delete partition={part}
    1 create partitionname=newp nodes={nodes} maxtime=60
    1 update name={name} comment=byname
    """,
    root=0.35,
)  # fmt: skip

SCANCEL = Verb(
    "scancel", 6, ("scancel {options}; sleep 3; squeue -h -a -t all -S i -o '%i %T %r'",),
    """
    1 -A {account} -t pd
    2 -b {job}
    1 -f {job}
    1 -H {job}
    1 -M oracle {job}
    3 -n {name}
    2 -p {part} -t pd
    2 -Q {job}
    2 -q {qos} -t pd
    1 -R {resv}
    2 -s USR1 {job}
    1 -s TERM {job}
    1 -s 9 -b {job}
    1 -s CONT {job}
    2 -t pd -u {user} -n {name}
    1 -t running -n {name}
    1 -t suspended
    1 -u {user} -n {name}
    1 -v {job}
    2 -w {node}
    1 --wckey=w1
    1 --ctld {job}
    1 -i {job} <<<y
    8 {job}
    2 {job} {job}
    3 {task}
    2 {array}
    1 {array}_[0-1]
    1 {job}.0
    1 {job}.batch
    1 99999
    1 abc
    """,
    root=0.3,
)  # fmt: skip

SQUEUE = Verb(
    "squeue", 12, ("squeue {options}", "squeue -h {options}", "squeue -a -t all {options}"),
    """
    1 -A {account}
    2 -a
    1 --array-unique
    2 -h
    1 --hide
    2 -j {job},{job}
    2 -j {task}
    2 -l
    2 -L {licname}
    1 -M oracle
    2 -n {name}
    1 --noconvert -o '%i %m'
    2 -p {part}
    1 -q {qos}
    1 -R {resv}
    3 -r
    2 -s
    1 -s {job}
    2 -S {sortkeys}
    2 --start
    3 -t {state}
    2 -t {state},{state}
    1 -t all
    3 -u {user}
    1 --me
    2 -w {nodes}
    1 -v
    1 --local
    12 -o '{letters}'
    12 -O '{longfields}'
    2 -o '%.10i|%-8u|%.20j|%T' -S {sortkeys}
    1 -i 0
    """,
    most=1, root=0.2,
)  # fmt: skip

SINFO = Verb(
    "sinfo", 7, ("sinfo {options}", "sinfo -h {options}"),
    """
    2 -a
    1 -d
    2 -e
    1 -h
    1 --hide
    2 -l
    1 -M oracle
    3 -n {nodes}
    1 --noconvert -o '%P %m'
    4 -N
    2 -p {part}
    1 -r
    3 -R
    3 -s
    3 -S {nodesort} -N
    3 -t {nodestate}
    1 -t {nodestate},{nodestate}
    2 -T
    1 -v
    12 -o '{nodeletters}'
    12 -O '{nodefields}'
    2 -N -o '%N|%P|%T|%E'
    """,
    most=1, root=0.15,
)  # fmt: skip

SACCT = Verb(
    "sacct", 5, ("sacct {options}", "sacct -X {options}", "sacct -a -P {options}"),
    """
    1 -A {account}
    3 -a
    1 --allusers
    1 -b
    1 -B -j {job}
    1 -c
    2 -D -a
    1 --delimiter=; -P
    1 -E now -S 08:00
    1 --env-vars -j {job}
    1 -f /dev/null
    1 -F -a
    2 -j {job}
    2 -j {array}
    1 -j {task}
    1 -j {job}.batch
    1 -k 1 -K 20 -a -S 08:00
    1 -i 2-4 -a
    1 -I 4-9 -a
    1 -l -j {job}
    1 -M oracle
    1 -n
    1 --name={name} -a
    1 -N {node} -a
    1 --noconvert -o jobid,reqmem
    12 -o {acctfields}
    2 -p
    2 -P
    1 -q {qos} -a
    1 -r {part} -a
    1 -R 1
    2 -s {acctstate} -a -S 08:00 -E now
    2 -S now-1hour -a
    1 -T -a -S 08:00
    1 -u {user}
    1 -g {user}
    1 --units=G -o jobid,reqmem
    1 -W w1 -a
    1 -X
    1 -x 12
    """,
    most=1, root=0.25, needs="accounts",
)  # fmt: skip

SACCTMGR = Verb(
    "sacctmgr", 6, ("sacctmgr -i {options}",),
    """
    2 -n -P list assoc format=account,user,fairshare,grptres,maxjobs,maxsubmit,qos
    1 list assoc account={account} format=account,user,share
    1 list assoc tree format=account%20,user,share
    1 list account
    1 list account withassoc format=account,user,share
    1 list user
    1 list user {user} withassoc format=user,account,qos
    1 list qos format=name,priority,maxwall,grptres,maxtrespu,maxjobspu,maxsubmitpu,flags
    1 list qos {qos} -P
    1 list cluster format=cluster,rpc,fairshare
    1 list tres
    1 list wckey
    1 list coordinator
    1 list event format=node,state,reason
    1 list reservation format=name,tres
    1 list resource
    1 list runaway
    1 list problem
    1 list federation
    1 show stats | head -1
    2 modify user {user} set fairshare={few}
    2 modify user {user} set maxjobs={few}
    2 modify user {user} set maxsubmit={few}
    1 modify user {user} set maxwall={minutes}
    1 modify user {user} set grptres=cpu={tasks}
    1 modify user {user} set maxtres=node={nodecount}
    1 modify user {user} set maxtresmins=cpu=100
    1 modify user {user} set qos+=low
    1 modify user {user} set qos=normal,high
    1 modify user {user} set defaultqos=high
    1 modify user {user} set adminlevel=operator
    1 modify user {user} set priority={number}
    2 modify account {account} set fairshare={few}
    1 modify account {account} set grpjobs={few}
    1 modify account {account} set grpsubmit={few}
    1 modify account {account} set grptres=cpu={tasks},node=4
    1 modify account {account} set grptresmins=cpu=1000
    1 modify account {account} set grptresrunmins=cpu=500
    1 modify account {account} set grpwall=60
    1 modify account {account} set description=new
    1 modify account {account} set organization=new
    1 modify account {account} set parent=physics
    2 modify qos {qos} set priority={number}
    1 modify qos {qos} set maxwall={minutes}
    1 modify qos {qos} set maxtrespu=cpu={tasks}
    1 modify qos {qos} set maxtrespj=cpu={tasks}
    1 modify qos {qos} set maxtrespa=cpu={tasks}
    1 modify qos {qos} set maxtrespernode=cpu=4
    1 modify qos {qos} set maxjobspu={few}
    1 modify qos {qos} set maxjobspa={few}
    1 modify qos {qos} set maxsubmitpu={few}
    1 modify qos {qos} set maxsubmitpa={few}
    1 modify qos {qos} set grpjobs={few}
    1 modify qos {qos} set grpsubmit={few}
    1 modify qos {qos} set grpwall=30
    1 modify qos {qos} set mintrespj=cpu=2
    1 modify qos {qos} set gracetime=10
    1 modify qos {qos} set usagefactor=2
    1 modify qos {qos} set usagethreshold=0.1
    1 modify qos {qos} set flags=DenyOnLimit
    1 modify qos {qos} set flags+=OverPartQOS
    1 modify qos {qos} set preempt=low
    1 modify qos {qos} set preemptmode=requeue
    1 modify qos {qos} set description=new
    1 modify qos {qos} set nosuch=1
    1 modify user nosuch set maxjobs=1
    1 add qos {newname} priority={few}
    1 add account {newname} parent={account} fairshare=2
    1 add user {user} account=bio
    1 add user nosuch account=chem
    1 add coordinator account={account} names={user}
    1 delete coordinator account={account} names={user}
    1 delete user {user} account=bio
    1 delete qos low
    1 delete account bio
    1 add wckey w1
    1 clear stats
    """,
    root=0.85, needs="accounts",
)  # fmt: skip

SPRIO = Verb(
    "sprio", 2.5, ("sprio {options}", "sprio -h {options}"),
    """
    2 -j {job},{job}
    3 -l
    1 -M oracle
    2 -n
    5 -o '{priofields}'
    2 -p {part}
    2 -u {user}
    1 -v
    2 -w
    1 --local
    1 --sibling
    2 -S {priosort}
    """,
    most=1, root=0.3, needs="priorities",
)  # fmt: skip

SSHARE = Verb(
    "sshare", 2, ("sshare {options}", "sshare -n {options}"),
    """
    2 -a -o account,user,rawshares,normshares
    1 -A {account} -o account,user,rawshares
    1 -e
    1 -l -o account,user,grptresmins
    1 -m -o account,user,partition
    1 -M oracle -o account,user,rawshares
    2 -o {sharefields}
    1 -p -o account,user,rawshares
    2 -P -a -o {sharefields}
    1 -u {user} -o account,user,rawshares
    1 -U -o account,user,rawshares
    1 -v -o account,user,rawshares
    """,
    root=0.3, needs="accounts",
)  # fmt: skip

SRUN = Verb(
    "srun", 1.5,
    ("srun -J {newname} -t 2 {options} bash -c 'echo $SLURM_PROCID $SLURM_NTASKS $SLURM_JOB_NODELIST' | sort",),
    """
    2 -n {few}
    2 -N {two}
    2 -n {few} -N {two}
    1 -c 2
    1 -p {part} -I
    1 -w n05
    1 -x n[01-03]
    1 --exclusive
    1 -l -n 2
    1 -q {qos}
    1 -A {account}
    1 --mem=500
    1 -C {feature}
    1 --ntasks-per-node=2 -N 2
    1 -K -n 2
    1 --label -n 3
    1 --comment=x
    1 -D /tmp
    1 -n 500 -I
    1 -t 30-0 -I
    1 --test-only -N 2
    1 -Q -n 1
    1 -o /dev/null -n 2
    1 -i none
    1 -m cyclic -n 4 -N 2
    1 --multi-prog nosuch.conf
    1 -W 5
    1 -u
    """,
    root=0.1,
)  # fmt: skip

SALLOC = Verb(
    "salloc", 1,
    ("salloc -J {newname} -t 2 {options} bash -c 'echo $SLURM_JOB_NUM_NODES $SLURM_NTASKS $SLURM_JOB_NODELIST'",),
    """
    2 -n {few}
    2 -N {two}
    1 -N 2 -n 4
    1 -c 2
    1 -p {part} -I
    1 -w n05
    1 -x n[01-03]
    1 --exclusive
    1 -q {qos}
    1 -A {account}
    1 --mem=500
    1 -C {feature}
    1 --ntasks-per-node=2 -N 2
    1 --no-shell
    1 -Q
    1 -n 500 -I
    1 --bell
    1 -L matlab:1
    1 --comment=x
    1 --nice=5
    1 -s
    """,
    root=0.1,
)  # fmt: skip

VERBS = (
    SBATCH, UPDATE_JOB, UPDATE_NODE, UPDATE_PARTITION, RESERVATION, UPDATE_RESERVATION, CONTROL, SHOW, SCANCEL, SQUEUE,
    SINFO, SACCT, SACCTMGR, SPRIO, SSHARE, SRUN, SALLOC,
)  # fmt: skip
ALLOCATING = ("srun", "salloc")
"""Verbs whose programs really run: sessions of their own, a clock that goes on second by second."""
QUIET = ("scontrol show", "squeue", "sinfo", "sacct", "sprio", "sshare")
"""Verbs that change nothing."""
WITHOUT_NEED = 0.05  # of its share, where the cluster lacks what a verb needs
