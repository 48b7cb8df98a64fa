"""Random sessions of commands: a scene of jobs, then commands dealt from the tables; as the kit's case files."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from unseen.clusters import USERS, Cluster, draw
from unseen.tables import ALLOCATING, QUIET, VERBS, WITHOUT_NEED, Verb

COMMANDS = 100  # of one session
REST_S = 4  # after whatever changes something: until slurmctld's next pass, whose second no recording holds
KINDS = ("accounts", "priority", "accounts", "plain", "allocating")
"""Clusters of five sessions in a row; ``allocating`` is one with accounts where programs really run."""
_LETTERS = "aAcCdDeEfFgGhHijJklLmnNoOpPqQrSTtuUvVwWxyYzBbKX"
_NODE_LETTERS = "aAbBcCdDfFgGhHiIlLmMnNpPrRsStTuvVwXYzZ"


def _words(text: str) -> list[str]:
    return text.split()


_LONG = _words("""
    Account AccrueTime AdminComment ArrayJobID ArrayTaskID BatchFlag BoardsPerNode BurstBuffer Cluster
    ClusterFeature Comment Container Contiguous cpus-per-task cpus-per-tres Deadline DelayBoot Dependency
    DerivedEC EligibleTime EndTime ExcNodes Feature GroupID GroupName HetJobID HetJobIDSet HetJobOffset
    JobArrayID JobID LastSchedEval Licenses MaxCPUs MaxNodes MCSLabel mem-per-tres MinCPUs MinMemory MinTime
    MinTmpDisk Name Network Nice NodeList Nodes NTPerBoard NTPerCore NTPerNode NTPerSocket NumCPUs NumNodes
    NumTasks Origin OriginRaw OverSubscribe Partition PreemptTime Priority PriorityLong Profile QOS Reason
    ReasonList Reboot ReqNodes ReqSwitch Requeue Reservation ResizeTime RestartCnt ResvPort Schednodes SCT
    SelectJobInfo Shared SiblingsActive SiblingsActiveRaw SiblingsViable SiblingsViableRaw SizeC
    SocketsPerNode SPerBoard StartTime State StateCompact STDERR STDIN STDOUT StepID StepName StepState
    SubmitTime System-comment Threads TimeLeft TimeLimit TimeUsed tres-alloc tres-bind tres-freq tres-per-job
    tres-per-node tres-per-socket tres-per-step tres-per-task UserID UserName Wait4Switch WCKey WorkDir
""")
_NODE_LONG = _words("""
    Available Cluster Comment Cores CPUs CPUsState Disk Extra Features features_act Gres GresUsed Groups
    MaxCPUsPerNode Memory NodeAddr NodeAI NodeAIOT NodeHost NodeList Nodes OverSubscribe Partition
    PartitionName PreemptMode PriorityJobFactor PriorityTier Reason Root Size SocketCoreThread Sockets
    StateCompact StateLong StateComplete Threads Time User Weight DefaultTime AllocMem AllocNodes
""")
_ACCT = _words("""
    Account AllocCPUS AllocNodes AllocTRES AssocID Cluster Comment Constraints Container CPUTime CPUTimeRAW
    DerivedExitCode Eligible End ExitCode Flags GID Group JobID JobIDRaw JobName Layout NCPUS NNodes NodeList
    NTasks Partition Priority QOS QOSRAW Reason ReqCPUS ReqMem ReqNodes ReqTRES Reservation ReservationId
    Reserved Start State Submit SubmitLine Suspended SystemCPU Timelimit TimelimitRaw UID User WCKey WCKeyID
    WorkDir AdminComment BlockID
""")
_SHARE = _words("account user rawshares normshares grptresmins partition cluster grptresraw tresrunmins")
_TEXT = re.compile(r"\{(\w+)\}")
BOOT = "scontrol show config | grep BOOT_TIME"  # since when slurmctld is up: the phase of its passes and scans


class Deck:
    """A verb's options as cards: each comes up before one comes up again, `weight` of them in a pack."""

    def __init__(self, verb: Verb, rng: random.Random) -> None:
        self._entries, self._rng = verb.entries(), rng
        self._pack: list[str] = []
        self._first = True

    def deal(self) -> str:
        """The next card. The first time round each option is there once, then as often as it weighs."""
        if not self._pack:
            self._pack = [text for weight, text in self._entries for _ in range(1 if self._first else weight)]
            self._rng.shuffle(self._pack)
            self._first = False
        return self._pack.pop()


@dataclass
class Command:
    """One drawn command: what it features, by whom, and its text."""

    verb: str
    option: str
    user: str
    text: str
    persona: str = ""


@dataclass
class Drawn:
    """One session as it will be asked: `steps` are commands, and numbers for seconds of rest."""

    name: str
    cluster: Cluster
    scene: list[Command]
    steps: list[Command | int] = field(default_factory=list)

    @property
    def commands(self) -> list[Command]:
        return [step for step in self.steps if isinstance(step, Command)]

    def cases(self) -> str:
        """As a case file of the kit; the scene as setting, which does not count."""
        lines = [line for c in self.scene for line in (f"{c.user}# {c.text}", f"sleep {REST_S}")]
        lines += [f"sleep {s}" if isinstance(s, int) else f"{s.user}$ {s.text}" for s in self.steps]
        return "\n".join(lines) + "\n"


class Scene:
    """What a session may name: ids as they will be if every submission is accepted, nodes, partitions, users."""

    def __init__(self, rng: random.Random, cluster: Cluster) -> None:
        self.rng, self.cluster = rng, cluster
        self.jobs = 0
        self.arrays: list[int] = []
        self.names: list[str] = []
        self.reservations: list[str] = []
        self._shown: dict[str, str] = {}  # the first value of each word in a command

    def fill(self, text: str) -> str:
        """`text` with every word in braces replaced."""
        self._shown = {}
        return _TEXT.sub(lambda found: self.value(found[1]), text)

    def value(self, word: str) -> str:
        """A value for one word of the tables; ``shown`` before a word asks for the first of that word so far."""
        kind = word.removeprefix("shown") or "job"
        if not word.startswith("shown"):
            found = self._new_value(word)
            self._shown.setdefault("job" if word == "task" else word, found.partition("_")[0])
            return found
        if kind == "node" and "nodes" in self._shown:
            return self._shown["nodes"]
        return self._shown.get(kind) or self._new_value(kind)

    def _new_value(self, word: str) -> str:
        rng, cluster = self.rng, self.cluster
        if word in _SMALL:
            return str(rng.choice(_SMALL[word]))
        if word in _MANY:
            names, least, most, between = _MANY[word]
            return between.join(rng.sample(list(names), rng.randint(least, most)))
        match word:
            case "job":
                return str(rng.randint(max(1, self.jobs - 25), max(self.jobs, 1)))
            case "array":
                return str(rng.choice(self.arrays or [1]))
            case "task":
                return f"{rng.choice(self.arrays or [1])}_{rng.randint(0, 4)}"
            case "name":
                return rng.choice(self.names or ["none"])
            case "newname":
                self.names.append(f"u{len(self.names) + 1}")
                return self.names[-1]
            case "newresv":
                self.reservations.append(f"r{len(self.reservations) + 1}")
                return f"reservationname={self.reservations[-1]}"
            case "resv":
                return rng.choice(self.reservations or ["r1"])
            case "part":
                return rng.choice(sorted(cluster.partitions))
            case "user":
                return rng.choice(USERS)
            case "account":
                return rng.choice(("physics", "chem", "bio"))
            case "qos":
                return rng.choice(cluster.qos or ("normal", "high"))
            case "node":
                return f"n{rng.randint(1, cluster.nodes):02}"
            case "nodes":
                first = rng.randint(1, cluster.nodes)
                last = min(cluster.nodes, first + rng.randint(0, 2))
                return f"n{first:02}" if first == last else f"n[{first:02}-{last:02}]"
            case "letters":
                return "|".join(f"%{rng.choice(('', '.8', '12'))}{x}" for x in rng.sample(_LETTERS, rng.randint(2, 5)))
            case "nodeletters":
                return " ".join(
                    f"%{rng.choice(('', '.8', '12'))}{x}" for x in rng.sample(_NODE_LETTERS, rng.randint(2, 4))
                )
            case "license":
                return f"{rng.choice(('matlab', 'fluent'))}:{rng.choice((1, 2, 3))}"
        raise KeyError(word)


_SMALL: dict[str, tuple[object, ...]] = {
    "few": (1, 2, 3, 4), "two": (1, 2), "fewminutes": (1, 2, 3), "minutes": (1, 2, 5, 8, 10, 15, 30, 60),
    "seconds": (5, 20, 60, 600), "hour": ("09", "10", "12", "07"), "number": (0, 1, 5, 50, 1000),
    "tasks": (1, 2, 3, 4, 6, 8, 9, 12, 16, 30), "nodecount": (1, 2, 3, 4, 6), "manynodes": (4, 6, 8, 12),
    "length": (2, 10, 60, 300, 600, 600), "memory": (50, 200, 900, 3000, 15000, 40000),
    "indexes": ("0-3", "1-4", "1,3,5", "0-8:4", "2-6", "0-20"),
    "kind": ("after", "afterok", "afterany", "afternotok", "afterburstbuffer"),
    "feature": ("std", "bigmem", "fast"), "gres": ("gpu:1", "craynetwork:1"),
    "state": ("pd", "r", "cg", "cd", "ca", "s", "f", "to", "PENDING", "RUNNING", "pr", "oom"),
    "nodestate": ("idle", "alloc", "mix", "drain", "draining", "drained", "down", "resv", "maint", "fail", "comp"),
    "acctstate": ("r", "pd", "cd", "ca", "f", "to", "s", "nf", "rq"), "licname": ("matlab", "fluent"),
    "sortkeys": ("i", "-i", "P,i", "t,i", "-p,i", "u,i", "S,i", "j,i", "l,i", "D,i", "M,i", "N,i"),
    "nodesort": ("N", "-N", "P,N", "t,N", "-t,N", "c,N", "m,N", "w,N", "E,N"), "priosort": ("i", "-i", "y,i", "u,i"),
}  # fmt: skip
_MANY = {
    "longfields": (
        [n + (":.16" if k % 7 == 0 else ":|" if k % 5 == 0 else "") for k, n in enumerate(_LONG)], 2, 5, ","),
    "nodefields": (_NODE_LONG, 2, 4, ","), "acctfields": (_ACCT, 3, 6, ","), "sharefields": (_SHARE, 2, 4, ","),
    "priofields": (["%i", "%Y", "%u", "%r", "%p", "%j", "%f", "%q", "%N", "%o", "%c", "%B", "%s", "%S", "%T", "%n",
                    "%a", "%b", "%P", "%Q", "%F", "%J"], 2, 5, " "),
}  # fmt: skip


class Drawer:
    """Draws sessions one after the other; the decks go on from session to session."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._decks = {verb.name: Deck(verb, random.Random(f"deck {seed} {verb.name}")) for verb in VERBS}

    def draw(self, index: int) -> Drawn:
        """The session `index`; to be called for 0, 1, 2, …"""
        rng = random.Random(f"session {self._seed} {index}")
        kind = KINDS[index % len(KINDS)]
        allocating = kind == "allocating"
        cluster = draw(rng, "accounts" if allocating else kind, for_sessions=True)
        scene = Scene(rng, cluster)
        drawn = Drawn(f"s{index:02}", cluster, self._scene(rng, scene, crowded=not allocating))
        verbs = [verb for verb in VERBS if allocating or verb.name not in ALLOCATING]
        shares = [self._share(verb, kind) for verb in verbs]
        for _ in range(COMMANDS):
            command = self._command(rng, scene, rng.choices(verbs, shares)[0])
            drawn.steps.append(command)
            if command.verb not in QUIET:
                drawn.steps.append(REST_S)
        return drawn

    def _share(self, verb: Verb, kind: str) -> float:
        if verb.name in ALLOCATING:
            return verb.share * len(KINDS)  # all of them in one session of five
        here = {"accounts": ("accounts", "priorities"), "allocating": ("accounts", "priorities"),
                "priority": ("priorities",), "plain": ()}[kind]  # fmt: skip
        return verb.share if not verb.needs or verb.needs in here else verb.share * WITHOUT_NEED

    def _command(self, rng: random.Random, scene: Scene, verb: Verb) -> Command:
        featured = self._decks[verb.name].deal()
        options = [featured]
        if verb.most:
            entries = verb.entries()
            more = rng.choices([t for _, t in entries], [w for w, _ in entries], k=rng.randint(0, verb.most))
            options += [text for text in dict.fromkeys(more) if text.split()[0].split("=")[0] not in featured]
        user = "root" if rng.random() < verb.root else rng.choices(USERS, (5, 3, 2, 1))[0]
        form = rng.choice(verb.forms).replace("{options}", " ".join(options))
        text = scene.fill(form)
        if verb.name == "sbatch" and "--test-only" not in text:
            scene.jobs += 1
            if re.search(r" (-a |--array=)", text):
                scene.arrays.append(scene.jobs)
        elif verb.name in ALLOCATING:
            scene.jobs += 1
        return Command(verb.name, featured, user, text)

    def _scene(self, rng: random.Random, scene: Scene, *, crowded: bool) -> list[Command]:
        """Jobs that run, wait for nodes, for each other, or are held; a few arrays; a drained node, a reservation."""
        nodes = scene.cluster.nodes
        asks = ["-n {tasks} -t 60", "-N 2 --exclusive -t 60", "-n {few} -t {minutes}", "-a 1-4 -n 1 -t 30",
                "-H -n {few} -t 10", "-n 1 -t 5 -L matlab:1" if scene.cluster.licenses else "-n 1 -t 5",
                "-n {few} -p {part} -t 5", "-d afterany:{job} -n 1 -t 5"]  # fmt: skip
        if crowded:
            asks += [f"-N {nodes - 3} --exclusive -t 60", f"-N {nodes} --exclusive -t 30", "-a 0-6%2 -n 8 -t 20",
                     "-N 4 --exclusive -t 10", "-d afterok:{job} -N 2 -t 5", "-n 20 -t 20"]  # fmt: skip
        scene_commands = [Command("scene", "", "root", BOOT)]
        rng.shuffle(asks)
        for ask in asks:
            scene.jobs += 1
            if "-a " in ask:
                scene.arrays.append(scene.jobs)
            user = rng.choices(USERS, (5, 3, 2, 1))[0]
            text = scene.fill(f"sbatch -J {{newname}} -o /dev/null {ask} --wrap 'sleep {{length}}'")
            scene_commands.append(Command("scene", "", user, text))
        if rng.random() < 0.5:
            scene_commands.append(Command("scene", "", "root", scene.fill(
                "scontrol update nodename={node} state=drain reason=scene")))  # fmt: skip
        if rng.random() < 0.5:
            text = "scontrol create reservation {newresv} starttime=now+1hour duration=60 users=alice,bob nodes={nodes}"
            scene_commands.append(Command("scene", "", "root", scene.fill(text)))
        return scene_commands
