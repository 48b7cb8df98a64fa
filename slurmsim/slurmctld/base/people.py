"""Users and groups of a cluster: the machine's, those it was given, and simulated ones by name.

A simulated user gets a uid when the cluster first hears the name: one that no other user has, here or on the machine.
The uid is part of the cluster's state (`new` is written to the journal, the rest is in snapshots), so it stays.
"""

import grp
import pwd
import zlib
from collections.abc import Iterator, Mapping
from itertools import count

from slurmsim.data_classes import dataclass
from slurmsim.numerals import is_number

FIRST_SIMULATED, N_SIMULATED = 60_000, 5_000
"""Where uids of simulated users begin, and how many there are; a name begins to look where its checksum says."""
FURTHER = 100_000  # where those are that found no place there


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
        self._given = frozenset(given)
        self._is_full = False  # no more uids where they begin
        self.new: list[Person] = []  # simulated users that have got a uid since their names were last written down

    def by_name(self, name: str) -> Person:
        """Return the user called `name`; an unknown name becomes a new user with a uid that stays."""
        found = self._by_name.get(name)
        if found is None:
            found = _of_machine(name)
            if found is None or self.is_simulated(found.uid):
                found = _simulated(name, self._free_uid(name))
                self.new.append(found)
            self._know(found)
        return found

    def by_uid(self, uid: int) -> Person:
        """Return the user with that id; its number is its name if it has none."""
        found = self._by_uid.get(uid)
        if found is None:
            try:
                found = self._by_uid[uid] = _person(pwd.getpwuid(uid))
            except (KeyError, OverflowError):  # not kept: a client may ask for any number
                return Person(str(uid), uid, str(uid), uid, "/")
        return found

    def peer(self, uid: int) -> Person:
        """Return the user with that id, who is there: no simulated user gets it any more."""
        return self._by_uid.setdefault(uid, self.by_uid(uid))

    def bound(self, name: str, uid: int) -> Person:
        """Return the user called `name` with the uid that the journal says, whatever a new name would get now."""
        there = self._by_uid.get(uid)
        if there is not None and there.name == name:
            found = there
        elif name in self._by_name:
            return self._by_name[name]
        elif name == str(uid):
            return self.peer(uid)
        else:
            of_machine = _of_machine(name)
            found = of_machine if of_machine is not None and of_machine.uid == uid else _simulated(name, uid)
            self._know(found)
        self.new = [person for person in self.new if person.name != name]
        return found

    def met(self, name: str, uid: int) -> dict[Person, Person]:
        """Give the user called `name` that uid from now on; return the user before and now if that is a change."""
        before = self._by_name.get(name)
        if before is None or before.uid == uid:
            self.bound(name, uid)
            return {}
        self._know(_simulated(name, uid))
        self.new = [person for person in self.new if person.name != name]
        return {before: self._by_name[name]}

    def is_simulated(self, uid: int) -> bool:
        """Return True if that uid was made for a simulated user: it was not given, and is none of the machine's."""
        found = self._by_uid.get(uid)
        return found is not None and found.name != str(uid) and self._was_made(found.name)

    def _was_made(self, name: str) -> bool:
        return name not in self._given and _of_machine(name) is None

    def parted(self) -> dict[Person, Person]:
        """Give users who share a uid one each, but for the first: up to 0.6.0 two names could have the same.

        What those who have another one now were, and are.
        """
        found = {}
        for name, person in list(self._by_name.items()):
            if self._by_uid.get(person.uid, person).name != name and self._was_made(name):
                found[person] = _simulated(name, self._free_uid(name))
                self._know(found[person])
                self.new.append(found[person])
        return found

    def _know(self, person: Person) -> None:
        self._by_name[person.name] = person
        self._by_uid.setdefault(person.uid, person)

    def _free_uid(self, name: str) -> int:
        """Return a number that no user and no group has, here or on the machine."""
        gids = {person.gid for person in self._by_name.values()}
        found = next(uid for uid in self._places(name) if not (uid in self._by_uid or uid in gids or _is_taken(uid)))
        self._is_full |= found >= FURTHER
        return found

    def _places(self, name: str) -> Iterator[int]:
        if not self._is_full:
            first = zlib.crc32(name.encode("utf-8", "surrogateescape"))
            yield from (FIRST_SIMULATED + (first + k) % N_SIMULATED for k in range(N_SIMULATED))
        yield from count(FURTHER)

    def all(self) -> list[Person]:
        """All users that this cluster was given or has met."""
        return list(self._by_name.values())

    def group(self, name: str) -> int | None:
        """Return the id of the group called `name`, of this cluster's users or of the machine; a number is itself."""
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
        """Return the name of the group with that id, of this cluster's users or of the machine; else its number."""
        mine = next((person.group for person in self._by_name.values() if person.gid == gid), None)
        if mine is not None:
            return mine
        try:
            return grp.getgrgid(gid).gr_name
        except KeyError:
            return str(gid)

    def known(self, name: str) -> Person | None:
        """Return the user called `name` if this machine or this cluster has one."""
        if name in self._by_name or _of_machine(name) is not None:
            return self.by_name(name)
        return None


def _of_machine(name: str) -> Person | None:
    try:
        return _person(pwd.getpwnam(name))
    except (KeyError, ValueError):  # a name with a NUL
        return None


def _is_taken(uid: int) -> bool:
    """Return True if the machine has a user or a group of that id."""
    for ask in (pwd.getpwuid, grp.getgrgid):
        try:
            ask(uid)
        except KeyError:
            continue
        return True
    return False


def _simulated(name: str, uid: int) -> Person:
    return Person(name, uid, name, uid, f"/home/{name}")


def _person(entry: pwd.struct_passwd) -> Person:
    try:
        group = grp.getgrgid(entry.pw_gid).gr_name
    except KeyError:
        group = str(entry.pw_gid)
    return Person(entry.pw_name, entry.pw_uid, group, entry.pw_gid, entry.pw_dir)
