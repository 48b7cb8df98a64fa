"""Scripts name things of their own sites. Here those names become things of the made-up one, by one rule.

A name of a partition, account, QOS, feature, GPU type, license, reservation or node that the site does not have is one
of the site's own: the CRC of its kind and name says which. One name in eight stays, so that refusals are compared too.
A path that begins at / begins in the folder the script is submitted from. What `source` reads is empty, a login shell
is a plain one, and MPI is none: its libraries are not where real Slurm is asked.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

OWN = {
    "partition": ("cpu", "gpu", "long", "gpu-short", "debug", "bigmem", "whole"),
    "account": ("proj1", "proj2", "proj3"),
    "qos": ("normal", "high", "long", "debug"),
    "feature": ("cpu", "skylake", "ib", "gpu", "a100", "v100", "bigmem"),
    "type": ("a100", "v100"),
    "license": ("matlab", "ansys"),
    "reservation": ("class",),
    "node": ("c01", "c02", "g01", "g02", "v01", "m01"),
}
KEPT = 8  # one in so many stays
_NAME = r"[^\s,|&()\[\]*:@\"']+"
_WORDS = {  # option -> kind, and what its value is made of
    "partition": ("-p", "--partition"),
    "account": ("-A", "--account"),
    "qos": ("-q", "--qos"),
    "feature": ("-C", "--constraint", "--prefer"),
    "license": ("-L", "--licenses"),
    "reservation": ("--reservation",),
    "node": ("-w", "-x", "--nodelist", "--exclude"),
}
_KINDS = {option: kind for kind, options in _WORDS.items() for option in options}
_PATHS = ("-o", "-e", "-i", "-D", "--output", "--error", "--input", "--chdir", "--workdir")
_GPUS = ("-G", "--gpus", "--gres", "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket")
_DIRECTIVE = re.compile(r"^(#SBATCH\s+)(.*)$", re.MULTILINE)
_OPTION = re.compile(r"(?<!\S)(--[a-z-]+|-[a-zA-Z])(=|\s+|(?<=-[a-zA-Z]))(?=[^\s-])((?:\"[^\"]*\"|'[^']*'|[^\s\"'])+)")
_SOURCED = re.compile(r"^(\s*)(?:source|\.)[ \t]+[^;&|\n]+", re.MULTILINE)


_LOGIN = re.compile(r"\A(#!.*\bbash)\s+-l\w*(?:ogin)?\s*$", re.MULTILINE)
_MPI = re.compile(r"--mpi[= ](?!list)[\w-]+")


def own(kind: str, name: str) -> str:
    """The site's name for `name`.

    >>> own("account", "proj2"), own("account", "m1234"), own("qos", "boost_qos_dbg")
    ('proj2', 'proj3', 'debug')
    """
    crc = zlib.crc32(f"{kind} {name}".encode())
    if name in OWN[kind] or crc % KEPT == 0:
        return name
    return OWN[kind][crc // KEPT % len(OWN[kind])]


def _named(kind: str) -> Callable[[str], str]:
    return lambda value: re.sub(_NAME, lambda found: _one(kind, found[0]), value)


def _one(kind: str, word: str) -> str:
    return word if kind in ("feature", "license") and word.isdigit() else own(kind, word)


def _gpus(value: str) -> str:
    return re.sub(r"((?:^|,)(?:gres/)?(?:gpu:)?)([a-zA-Z][\w.-]*)(?=[:,]|$)", _type, value)


def _type(found: re.Match[str]) -> str:
    return found[0] if found[2] in ("gpu", "none", "shard", "mps") else found[1] + own("type", found[2])


def _value(option: str, value: str) -> str:
    if option in _KINDS:
        return _named(_KINDS[option])(value)
    if option in _GPUS:
        return _gpus(value)
    return re.sub(r"^([\"']?)/+", r"\1", value) if option in _PATHS else value


def _directive(found: re.Match[str]) -> str:
    told, comment, rest = found[2].partition(" #")
    return found[1] + _OPTION.sub(lambda o: o[1] + o[2] + _value(o[1], o[3]), told) + comment + rest


def mapped(text: str) -> str:
    """A script with the names of the site.

    >>> mapped("#SBATCH --gres=gpu:p100:2 -o /scratch/x.out\\n#SBATCH -pxyz --mem 4G\\n. /opt/setup.sh")
    '#SBATCH --gres=gpu:v100:2 -o scratch/x.out\\n#SBATCH -pgpu-short --mem 4G\\nsource /dev/null'
    """
    text = _MPI.sub("--mpi=none", _LOGIN.sub(r"\1", text))
    return _SOURCED.sub(r"\1source /dev/null", _DIRECTIVE.sub(_directive, text))
