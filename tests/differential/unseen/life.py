"""Sessions as people type them: personas with habits (personas.toml) on kinds of clusters (sites.toml)."""

from __future__ import annotations

import random
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.clusters import ACCOUNTS, DATABASE, FIXED, MULTIFACTOR, Cluster
from unseen.sessions import BOOT, Command, Drawn

_HERE = Path(__file__).parent
COMMANDS = 40  # of one session, about: a habit is typed to its end
SCENE = 6  # jobs that are there before
REST_S = 3  # after what changes something
LATEST = 6  # a job that is named is one of the last
_WORD = re.compile(r"\{(\w+?)(0?)\}")
_LOOKS = re.compile(
    r"^(squeue|sinfo|sacct|sprio|sshare|sdiag|sreport|cat|scontrol (-\w+ )*(show|ping)|sacctmgr (-\w+ )?(show|list))\b"
)
_SUBMITS = re.compile(r"\bsbatch\b(?!.*--test-only)|^(?:srun|salloc)\b")
_SACCTMGR = """\
add cluster oracle
add qos high Priority=50
add qos low Priority=5
add qos class Priority=10
modify qos high set maxwall=4:00:00 maxtresperuser=cpu=32
add account physics Fairshare=60 Description=physics Organization=physics
add account chem Fairshare=30 Description=chem Organization=chem
add account bio Fairshare=10 Description=bio Organization=bio
add user alice Account=physics Fairshare=10
add user bob Account=chem Fairshare=10
add user carol Account=chem Fairshare=20
add user dave Account=bio Fairshare=10 AdminLevel=Operator
add coordinator account=chem names=carol
modify user where name=alice,bob,carol,dave set qos+=high,low,class
"""


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name).read_text("utf-8"))


PERSONAS, SITES = _table("personas.toml"), _table("sites.toml")
WORDS, SCRIPTS = PERSONAS.pop("words"), PERSONAS.pop("scripts")
WORDS |= {
    "member": ["alice", "bob"], "account": ["physics", "chem", "bio"], "qos": ["high", "low", "normal"],
    "setting": ["SelectType", "PriorityWeight", "SchedulerParameters", "Preempt", "MaxArraySize", "DefMem"],
}  # fmt: skip


def cluster_of(kind: str) -> Cluster:
    """The configuration of a kind of cluster."""
    site = SITES[kind]
    lines = re.sub(r"\bPORT=(\S+)", r"NodeHostname=head NodeAddr=127.0.0.1 Port=\1 State=UNKNOWN", site["conf"])
    common = re.sub(r"(?m)^(SelectTypeParameters|DefMemPerCPU)=.*\n", "", FIXED)
    common += "SchedulerType=sched/backfill\nSchedulerParameters=bf_interval=5,bf_resolution=60\nMinJobAge=300\n"
    files = {name: text.removeprefix("\n") for name, text in site.get("files", {}).items()}
    if "db" in site["has"]:
        common += f"{MULTIFACTOR}PriorityMaxAge=7-0\n{ACCOUNTS}AccountingStorageEnforce=associations,limits,qos\n"
        more = "".join(f"{line}\n" for line in site.get("sacctmgr", ()))
        files |= {"slurmdbd.conf": DATABASE, "sacctmgr.txt": _SACCTMGR + more}
    files["slurm.conf"] = common + lines.removeprefix("\n")
    return Cluster(0, {}, files=files)


@dataclass
class Life(Drawn):
    """A session drawn from habits: what it types is known by persona, and scripts lie in the users' homes."""

    kind: str = ""
    scripts: dict[tuple[str, str], str] = field(default_factory=dict)  # user and file name: text

    def cases(self) -> str:
        """As a case file of the kit: scripts, the scene, and what is typed."""
        files = [f"file {user}/{name}\n{text}end\n" for (user, name), text in self.scripts.items()]
        return "".join(files) + super().cases()


class _Writer:
    """Fills the words of a site into what a user types, and knows which jobs there would be."""

    def __init__(self, rng: random.Random, site: dict[str, Any]) -> None:
        self._rng, self._words = rng, {**WORDS, **site["words"]}
        self.scripts = [name for name, script in SCRIPTS.items() if script.get("needs", "") in ("", *site["has"])]
        self._words["script"] = [name for name in self.scripts if name != "fail"]
        self.count = 0
        self.of: dict[str, list[int]] = {}
        self._first: dict[str, str] = {}

    def begin(self) -> None:
        """A new habit: words that repeat mean its own."""
        self._first = {}

    def fill(self, text: str, user: str) -> str:
        """`text` with every word in braces replaced."""
        return _WORD.sub(lambda found: self._value(found[1], found[2], user), text)

    def _value(self, word: str, again: str, user: str) -> str:
        if again and word in self._first:
            return self._first[word]
        value = self.fill(self._drawn(word, user), user)
        self._first.setdefault(word, value)
        return value

    def _drawn(self, word: str, user: str) -> str:
        mine = self.of.get(user) or [max(self.count, 1)]
        match word:
            case "last":
                return str(mine[-1])
            case "job":
                return str(self._rng.choice(mine[-LATEST:]))
            case "any":
                return str(self._rng.randint(max(1, self.count - LATEST), max(self.count, 1)))
        return str(self._rng.choice(self._words[word]))

    def submitted(self, text: str, user: str, scripts: dict[tuple[str, str], str]) -> None:
        """Count the jobs a command submits; the tasks of an array take ids once they start."""
        for _ in range(text.count("sbatch") if "sbatch" in text else 1):
            self.of.setdefault(user, []).append(self.count + 1)
            self.count += 1
        whole = text + scripts.get((user, "array.sh"), "") if "array.sh" in text else text
        if found := re.search(r"--array=([\d,:-]+)", whole):
            self.count += _tasks(found[1]) - 1


def _tasks(indexes: str) -> int:
    """How many tasks an array has."""
    count = 0
    for part in indexes.split(","):
        first, _, rest = part.partition("-")
        last, _, step = rest.partition(":")
        count += len(range(int(first), int(last or first) + 1, int(step or 1)))
    return count


def draw_life(seed: int, kind: str) -> Life:
    """One session on a kind of cluster."""
    rng, site = random.Random(f"life {seed} {kind}"), SITES[kind]
    writer = _Writer(rng, site)
    drawn = Life(
        f"s{list(SITES).index(kind):02}-{kind}", cluster_of(kind), [Command("scene", "", "root", BOOT)], kind=kind
    )
    _write_scripts(writer, drawn)
    _set_scene(rng, site, writer, drawn)
    names, shares = zip(*site["personas"].items(), strict=True)
    while len(drawn.commands) < COMMANDS:
        _type(rng, site, writer, drawn, rng.choices(names, shares)[0])
    return drawn


def _write_scripts(writer: _Writer, drawn: Life) -> None:
    for user in ("alice", "bob", "carol", "dave"):
        for name in writer.scripts:
            writer.begin()
            text = writer.fill(SCRIPTS[name]["text"].removeprefix("\n"), user)
            drawn.scripts[user, f"{name}.sh"] = f"#!/bin/bash\n{text}"


def _set_scene(rng: random.Random, site: dict[str, Any], writer: _Writer, drawn: Life) -> None:
    for text in site.get("scene", ()):
        drawn.scene.append(Command("scene", "", "root", text))
    for _ in range(SCENE):
        user = rng.choice(("alice", "bob", "carol"))
        writer.begin()
        text = writer.fill("sbatch {ask} -J {name} -t {walltime} -o /dev/null --wrap 'sleep 600'", user)
        writer.submitted(text, user, {})
        drawn.scene.append(Command("scene", "", user, text))


def _type(rng: random.Random, site: dict[str, Any], writer: _Writer, drawn: Life, name: str) -> None:
    """One habit of a persona, to its end."""
    persona = PERSONAS[name]
    habits = [habit for habit in persona["habits"] if habit[1] in ("", *site["has"])]
    _, _, *texts = rng.choices(habits, [habit[0] for habit in habits])[0]
    user = site.get(name) or rng.choice(persona["users"])
    writer.begin()
    for text in texts:
        typed = writer.fill(text, user)
        verb = " ".join(typed.split()[: 2 if typed.startswith(("scontrol", "sacctmgr")) else 1])
        verb = typed.split("(", 1)[1].split()[0] if typed.startswith("j=$(") else verb
        drawn.steps.append(Command(verb.split(" -")[0], text, user, typed, persona=name))
        if _SUBMITS.search(typed):
            writer.submitted(typed, user, drawn.scripts)
        if not _LOOKS.search(typed):
            drawn.steps.append(REST_S)
