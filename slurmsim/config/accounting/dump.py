"""``sacctmgr dump CLUSTER file=…``: one line an entity, options after colons (sacctmgr's flat file, 22.05).

    Cluster - 'oracle':Fairshare=1:QOS='normal'
    Parent - 'root'
    Account - 'sci':Description='science':Fairshare=60:GrpTRES=cpu=24,mem=10G
    Parent - 'sci'
    User - 'alice':DefaultAccount='sci':Fairshare=10:QOS='+high'

``#`` begins a comment unless escaped, ``\\`` at the end of a line continues it. From 26.05 on
a dump begins with the QOS.
"""

import re

from slurmsim.colon_fields import parts_of
from slurmsim.config.accounting.draft import ROOT, Draft, fail
from slurmsim.config.findings import Place

ENTITY = re.compile(r"(QOS|Machine|Cluster|Parent|Account|Project|User)\s*-\s*(.*)", re.IGNORECASE)


def read_dump(text: str, file: str, draft: Draft) -> None:
    """Add what the dump says to `draft`. Raises ConfigError with file, line and field."""
    parent = "root"
    draft.root(Place(file, None))
    for line, number in _lines(text):
        place = Place(file, number)
        match = ENTITY.fullmatch(line)
        if match is None:
            fail(place, "", f"{line.split(':')[0][:40]!r} is no line of a dump",
                 "QOS, Cluster, Parent, Account or User - 'name'")  # fmt: skip
        kind, (name, options) = match[1].lower(), _options(match[2], place)
        if kind == "qos":
            qos = draft.qos.get(name.lower()) or draft.add_qos(name.lower(), place)
            # a dump that has QOS (26.05) has all of them
            draft.implicit_qos = False
            for key, value in options:
                draft.set_qos(qos, key, value, place)
            continue
        if kind in ("cluster", "machine"):
            if draft.cluster and draft.cluster != name.lower():
                fail(place, "Cluster", f"a second cluster {name}", f"data of {draft.cluster} only")
            draft.cluster = name.lower()
            item = draft.add(ROOT, place)
        elif kind == "parent":
            parent = name.lower()
            if parent != "root" and (parent, "", "") not in draft.associations:
                fail(place, "Parent", f"no account {parent} before this line", "its Account line first")
            continue
        elif kind in ("account", "project"):
            item = draft.add((name.lower(), "", ""), place, parent)
        else:
            partition = next((value for key, value in options if key.lower() == "partition"), "")
            item = draft.add((parent, name, partition), place)
        for key, value in options:
            lower = key.lower()
            if lower == "defaultaccount":
                draft.set_default(name, value, place)
            elif lower != "partition":
                draft.set_association(item, key, value, place)


def _lines(text: str) -> list[tuple[str, int]]:
    """Logical lines with the number of their first physical one."""
    found: list[tuple[str, int]] = []
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?<!\\)((?:\\\\)*)#.*", r"\1", raw).rstrip()
        first = first if held else number
        if re.search(r"(?<!\\)(?:\\\\)*\\$", line):
            held += line[:-1]
            continue
        whole = re.sub(r"\\(.)", r"\1", held + line).strip()
        held = ""
        if whole:
            found.append((whole, first))
    return found


def _options(text: str, place: Place) -> tuple[str, list[tuple[str, str]]]:
    """Return the quoted name and the ``key=value`` options that follow it; colons inside quotes do not separate."""
    parts, quote = parts_of(text)
    if quote:
        fail(place, "", f"a quote is not closed in {parts[-1][:40]!r}", f"another {quote}")
    name = _unquote(parts[0])
    if not name:
        fail(place, "", "no name is given", "KIND - 'name'")
    options: list[tuple[str, str]] = []
    for part in parts[1:]:
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals:
            fail(place, part.strip(), "an option without a value", "KEY=VALUE")
        if _unquote(value):
            options.append((key.strip(), _unquote(value)))
    return name, options


def _unquote(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
