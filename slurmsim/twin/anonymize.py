"""A dump without names of people: users, groups and accounts get pseudonyms; names of jobs, paths and texts go.

Names of nodes, partitions, QOS, features and licenses stay: the twin's answers are about them. Of the configuration
only keys stay that decide something.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from pathlib import Path

from slurmsim.config.option import Status
from slurmsim.config.options import find_scalar
from slurmsim.errors import ConfigError
from slurmsim.report.build import write_file
from slurmsim.twin.dump import Dump

FIRST_ID = 60_000
KEPT = frozenset({"root", "ALL", "(null)", "N/A", "None", ""})
_DROPPED = re.compile(
    r"^\s{0,8}(?:Command|WorkDir|StdErr|StdIn|StdOut|Comment|AdminComment|SystemComment|SubmitLine|MailUser|Extra|"
    r"Container|BatchScript|WCKey)=", re.ASCII,
)  # fmt: skip
_PERSON = re.compile(r"\b(UserId|GroupId|UserName)=([^(\s]{0,256})(?:\((\d{1,10})\))?", re.ASCII)
_ONE = re.compile(r"\b(Account|DefAccount|ParentAccount)=([^(\s]{0,256})", re.ASCII)
_LIST = re.compile(r"\b(Users|Accounts|Groups|AllowAccounts|DenyAccounts|AllowGroups)=(\S{0,65536})", re.ASCII)
_HOST = re.compile(r"\b(NodeAddr|NodeHostName)=\S{1,256} ?", re.ASCII)
_KINDS = {
    "UserId": "user",
    "UserName": "user",
    "GroupId": "user",
    "Users": "user",
    "Groups": "user",
    "AllowGroups": "user",
}
_COLUMNS = {"user": "user", "account": "account", "parentname": "account", "defacct": "account", "def acct": "account"}
_TEXT_COLUMNS = frozenset({"jobname", "comment", "descr", "org", "workdir", "submitline"})
_TABLES = ("assoc.txt", "user.txt", "sshare.txt", "sacct.txt")
_LEFT_OUT = frozenset({"job.json", "step.txt", "sdiag.txt", "failed.txt", "gres.conf"})


class Pseudonyms:
    """One pseudonym a name and kind, in the order they are met."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._ids: dict[str, int] = {}

    def of(self, kind: str, name: str) -> str:
        """Return the pseudonym of a user, or group, or account."""
        if name in KEPT:
            return name
        known = sum(one == kind for one, _ in self._known)
        return self._known.setdefault((kind, name), f"{kind}{known + 1}")

    def number(self, text: str) -> int:
        """Return another uid for a uid."""
        return 0 if text == "0" else self._ids.setdefault(text, FIRST_ID + len(self._ids))

    def names(self) -> set[str]:
        """Return the names that have pseudonyms."""
        return {name for _, name in self._known}


def anonymized(dump: Dump) -> dict[str, str]:
    """Return the files of the dump without names of people."""
    names = Pseudonyms()
    found = {}
    for file, text in sorted(dump.texts.items()):
        if file in _LEFT_OUT:
            continue
        if file in _TABLES:
            found[file] = _table(text, names)
        elif file == "sprio.txt":
            found[file] = _sprio(text, names)
        elif file == "about.txt":
            found[file] = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("user="))
        elif file == "assoc_mgr.txt":
            found[file] = _records("".join(f"{line}\n" for line in text.splitlines() if line[:6].strip()), names)
        else:
            found[file] = _config(text) if file in ("config.txt", "slurm.conf") else _records(text, names)
    return found


def write_anonymized(dump: Dump, file: Path) -> None:
    """Write the anonymised dump as a tar.gz. Raises ConfigError, OutputError."""
    if not file.name.endswith((".tar.gz", ".tgz")):
        raise ConfigError(f"{file.name!r} is no .tar.gz", field="twin anonymize", expected="FILE.tar.gz")
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, text in anonymized(dump).items():
            entry = tarfile.TarInfo(f"dump/{name}")
            content = text.encode("utf-8", "replace")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    write_file(file, gzip.compress(held.getvalue(), mtime=0))


def _records(text: str, names: Pseudonyms) -> str:
    """Return what scontrol shows, line by line."""
    return "".join(f"{_line(line, names)}\n" for line in text.splitlines() if not _DROPPED.match(line))


def _line(line: str, names: Pseudonyms) -> str:
    def person(match: re.Match[str]) -> str:
        number = f"({names.number(match[3])})" if match[3] else ""
        return f"{match[1]}={names.of('user', match[2])}{number}"

    def listed(match: re.Match[str]) -> str:
        kind = _KINDS.get(match[1], "account")
        words = (word[: len(word) - len(word.lstrip("-+"))] + names.of(kind, word.lstrip("-+"))
                 for word in match[2].split(","))  # fmt: skip
        return f"{match[1]}={','.join(words)}"

    if line.startswith("JobId="):
        line = line.partition(" JobName=")[0] + " JobName=job"
    if line.lstrip().startswith("Reason=") and "[" in line:
        line = re.sub(r"Reason=.{0,4096}\[[^@\]]{0,256}@", "Reason=reason [root@", line)
    line = re.sub(r"AllocNode:Sid=\S{0,300}", "AllocNode:Sid=localhost:0", line)
    line = re.sub(r"Lineage=\S{0,4096} ?", "", line)
    line = _HOST.sub("", _PERSON.sub(person, line))
    return _LIST.sub(listed, _ONE.sub(lambda match: f"{match[1]}={names.of('account', match[2])}", line))


def _table(text: str, names: Pseudonyms) -> str:
    lines = text.splitlines()
    titles = [title.strip().lower() for title in lines[0].split("|")] if lines else []
    rows = lines[:1]
    for line in lines[1:]:
        cells = line.split("|")
        for at, title in enumerate(titles[: len(cells)]):
            kind = _COLUMNS.get(title)
            if kind is not None:
                bare = cells[at].strip()
                cells[at] = cells[at].replace(bare, names.of(kind, bare)) if bare else cells[at]
            elif title in _TEXT_COLUMNS:
                cells[at] = "job" if title == "jobname" else ""
        rows.append("|".join(cells))
    return "".join(f"{row}\n" for row in rows)


def _sprio(text: str, names: Pseudonyms) -> str:
    rows = [line.split("|") for line in text.splitlines()]
    for cells in rows:
        if len(cells) > 2:
            cells[2] = names.of("user", cells[2].strip())
    return "".join(f"{'|'.join(cells)}\n" for cells in rows)


def _config(text: str) -> str:
    """Return the lines of keys that decide something, and those that say when slurmctld began."""
    kept = []
    for line in text.splitlines():
        key = line.partition("=")[0].strip().partition("[")[0]
        option = find_scalar(key)
        decides = option is not None and option.status is Status.HONOURED
        if (
            decides
            or key in ("BOOT_TIME", "SLURM_VERSION", "ClusterName")
            or key.startswith(("NodeName", "PartitionName"))
        ):
            kept.append(line)
    return "".join(f"{line}\n" for line in kept)
