"""Users and groups of a cluster: the machine's, and simulated ones by name."""

from __future__ import annotations

import grp
import pwd
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from slurmsim.numerals import is_number

FIRST_SIMULATED = 60_000


@dataclass(frozen=True, slots=True)
class Person:
    """One user."""

    name: str
    uid: int
    group: str
    gid: int
    home: str


class People:
    """Who is who.

    Parameters
    ----------
    given
        Simulated users of this cluster: name -> ``uid`` or ``uid:group:gid:home``.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._by_name: dict[str, Person] = {}
        for name, text in given.items():
            parts = text.split(":")
            uid = int(parts[0])
            group = parts[1] if len(parts) > 1 and parts[1] else name
            gid = int(parts[2]) if len(parts) > 2 and parts[2] else uid
            self._by_name[name] = Person(name, uid, group, gid, parts[3] if len(parts) > 3 else f"/home/{name}")
        self._by_uid = {person.uid: person for person in self._by_name.values()}

    def by_name(self, name: str) -> Person:
        """The user called `name`; one nobody knows gets an id that is the same every time."""
        found = self._by_name.get(name)
        if found is None:
            try:
                found = _person(pwd.getpwnam(name))
            except KeyError:
                uid = FIRST_SIMULATED + zlib.crc32(name.encode()) % 5_000
                found = Person(name, uid, name, uid, f"/home/{name}")
            self._by_name[name] = found
            self._by_uid.setdefault(found.uid, found)
        return found

    def by_uid(self, uid: int) -> Person:
        """The user with that id; its number is its name if it has none."""
        found = self._by_uid.get(uid)
        if found is None:
            try:
                found = _person(pwd.getpwuid(uid))
            except KeyError:
                found = Person(str(uid), uid, str(uid), uid, "/")
            self._by_uid[uid] = found
        return found

    def all(self) -> list[Person]:
        """Everybody this cluster was given or has met."""
        return list(self._by_name.values())

    def group(self, name: str) -> int | None:
        """The id of the group called `name`, of this cluster's users or of the machine; a number is itself."""
        if is_number(name):
            return int(name)
        mine = next((person.gid for person in self._by_name.values() if person.group == name), None)
        if mine is not None:
            return mine
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None

    def group_name(self, gid: int) -> str:
        """The name of the group with that id, of this cluster's users or of the machine; else its number."""
        mine = next((person.group for person in self._by_name.values() if person.gid == gid), None)
        if mine is not None:
            return mine
        try:
            return grp.getgrgid(gid).gr_name
        except KeyError:
            return str(gid)

    def known(self, name: str) -> Person | None:
        """The user called `name` if this machine or this cluster has one."""
        if name in self._by_name:
            return self._by_name[name]
        try:
            return self.by_name(pwd.getpwnam(name).pw_name)
        except KeyError:
            return None


def _person(entry: pwd.struct_passwd) -> Person:
    try:
        group = grp.getgrgid(entry.pw_gid).gr_name
    except KeyError:
        group = str(entry.pw_gid)
    return Person(entry.pw_name, entry.pw_uid, group, entry.pw_gid, entry.pw_dir)
