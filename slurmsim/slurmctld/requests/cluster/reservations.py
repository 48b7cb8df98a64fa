"""scontrol's requests about reservations: create, update, delete."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from slurmsim.core.records.messages import CreateReservation, DeleteReservation, Fact, UpdateReservation
from slurmsim.core.records.reservation import Reservation
from slurmsim.core.reservations.update import KEEPS_USERS
from slurmsim.hostlist import expand
from slurmsim.model.reservation import ReservationSpec, canonical_flag
from slurmsim.protocol import Refusal
from slurmsim.release_changes import since
from slurmsim.slurmctld.base.submit_request import MOST_NAMES
from slurmsim.slurmctld.fields.core_ids import cores_kept
from slurmsim.slurmctld.fields.reservation_fields import may_use
from slurmsim.slurmctld.requests.cluster.nodes import operators_only
from slurmsim.tres import parse_licenses

if TYPE_CHECKING:
    from slurmsim.slurmctld.base.live_cluster import LiveCluster
    from slurmsim.slurmctld.base.people import Person

Arguments = dict[str, Any]
_REPLACING, _FIXED = frozenset({"REPLACE", "REPLACE_DOWN"}), frozenset({"STATIC", "MAINT"})
_RECURRING = frozenset({"HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY"})
_REPLACE_FIXED = "REPLACE and REPLACE_DOWN flags cannot be used with STATIC_ALLOC or MAINT flags"
CHANGES = frozenset({"create_reservation", "update_reservation", "delete_reservation"})
ONE_YEAR_S = 365 * 86400
INFINITE = 0xFFFFFFFE
BAD_LICENSE = "Invalid license specification"
BAD_ACCOUNT = "Invalid account or account/partition combination specified"
BAD_QOS = "Invalid qos specification"
BAD_PARTITION = "Invalid partition name specified"
NOT_SUPPORTED = "Requested operation not supported on this system"
NO_SKIP = "Reservation given is not skipable, try deleting instead"
USERS_OR_GROUPS = "Reservations can't have users and groups specified, only one or the other"


def calls(cluster: LiveCluster) -> dict[str, Callable[[Arguments, Person], Arguments]]:
    """Return the requests by name."""
    control = _Reservations(cluster)
    return {
        "create_reservation": control.create, "update_reservation": control.update,
        "delete_reservation": control.delete,
    }  # fmt: skip


class _Reservations:
    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster

    def _tell(self, fact: Fact) -> None:
        """Tell the controller of a fact. Raises Refusal with Slurm's text."""
        network = self.cluster.network
        already = len(network.refused_reservations)
        network.tell(self.cluster.now, [fact])
        if len(network.refused_reservations) > already:
            text = network.refused_reservations[already][1]
            del network.refused_reservations[already:]
            raise Refusal(self._with_shown_id(text))

    def _with_shown_id(self, text: str) -> str:
        """Name a job that forbids an update as users see it; the core tells its own id."""
        if not text.startswith(KEEPS_USERS):
            return text
        live = self.cluster.job_table.jobs[int(text.removeprefix(KEEPS_USERS))]
        return f"{KEEPS_USERS}{live.array.id if live.own_id is None and live.array is not None else live.own_id}"

    # -- reading ----------------------------------------------------------------------------------------------------

    def _who(
        self, text: str | None, kind: str, before: tuple[str, ...] = (), *, new: bool = False
    ) -> tuple[str, ...] | None:
        """Users or accounts; with ``+`` and ``-`` before them (only one of them may be) beside what there is.

        `new`: of a reservation to be made.
        """
        if text is None:
            return None
        names = [word for word in text.split(",") if word]
        for word in names:
            bare = word.lstrip("+-")
            if kind == "users" and self.cluster.people.known(bare) is None:
                unspecified = new and since(self.cluster.release, "unspecified_user_error")
                raise Refusal("Unspecified error" if unspecified else "Invalid user id")
            accounts = self.cluster.controller.accounting.accounts
            if kind == "accounts" and accounts is not None and not self._account(bare):
                raise Refusal(BAD_ACCOUNT)
        if not before and len({word[0] == "-" for word in names}) > 1:  # some may, others may not
            unspecified = kind == "users" and new and since(self.cluster.release, "unspecified_user_error")
            raise Refusal("Unspecified error" if unspecified else "Invalid user id" if kind == "users" else BAD_ACCOUNT)
        alters = names and before and all(word[0] in "+-" for word in names)
        if alters and since(self.cluster.release, "lists_of_who_may_not"):
            return _altered(names, before, "Invalid user id" if kind == "users" else BAD_ACCOUNT)
        return self._merged(names, before)

    @staticmethod
    def _merged(names: list[str], before: tuple[str, ...]) -> tuple[str, ...]:
        if names and all(word[0] in "+-" for word in names) and before:
            left = [one for one in before if f"-{one}" not in names]
            return (*left, *[word[1:] for word in names if word[0] == "+" and word[1:] not in left])
        return tuple(word.removeprefix("+") for word in names)

    def _account(self, name: str) -> bool:
        accounting = self.cluster.database.accounting() if self.cluster.database.exists else None
        return accounting is None or any(a.account.lower() == name.lower() for a in accounting.associations)

    def _require_associations(self, users: tuple[str, ...], accounts: tuple[str, ...], *, grouped: bool) -> None:
        """Where they are enforced, who may use a reservation has one: each user in each account (_set_assoc_list)."""
        controller = self.cluster.controller
        if (
            controller.state.tree is None
            or not controller.state.enforce.associations
            or any(name[0] == "-" for name in (*users, *accounts))
        ):
            return
        for user in users:
            names = [account.lower() for account in accounts] or [controller.state.tree.default_account(user)]
            if any(controller.state.tree.find(user, name, "") is None for name in names) and (accounts or not grouped):
                raise Refusal(BAD_ACCOUNT)

    def _flags(self, words: list[str]) -> tuple[frozenset[str], frozenset[str]]:
        try:
            found = [(word[0], canonical_flag(word[1:])) for word in words if word[1:] != "SKIP"]
        except ValueError as error:
            raise Refusal(str(error)) from None
        return (frozenset(flag for sign, flag in found if sign == "+"),
                frozenset(flag for sign, flag in found if sign == "-"))  # fmt: skip

    def _check_flags(self, present: frozenset[str], new: frozenset[str], gone: frozenset[str]) -> None:
        """Refuse flags that contradict each other, as slurmctld does since 23.02. Raises Refusal."""
        if not since(self.cluster.release, "contradicting_flags"):
            return
        after = (present | new) - gone
        if (new & _REPLACING and after & _FIXED) or (new & _FIXED and after & _REPLACING):
            raise Refusal(f"{_REPLACE_FIXED}\n{NOT_SUPPORTED}")
        if new & _RECURRING and len(after & _RECURRING) > 1:
            what = "Cannot update reservation to have" if present else "Reservation has"
            raise Refusal(
                f"{what} multiple reoccurring flags. Please specify only one reoccurring flag\n{NOT_SUPPORTED}"
            )

    def _licenses(self, text: str | None) -> tuple[tuple[str, int], ...] | None:
        if text is None:
            return None
        try:
            asked = parse_licenses(text, layers=True)
            return tuple((self.cluster.controller.licenses.matched(name), count) for name, count in asked)
        except ValueError:
            raise Refusal(BAD_LICENSE) from None

    def _nodes(self, text: str | None, before: Reservation | None = None) -> tuple[str, ...]:
        """Names of nodes; those with ``+`` and ``-`` before them beside what there is (_get_update_node_bitmap)."""
        if not text:
            return ()
        if text.upper() == "ALL":
            return ("ALL",)
        try:
            if before is None or text[0] not in "+-":
                return tuple(expand(text, MOST_NAMES))
            names = self.cluster.controller.state.table.names
            found = {names[i]: None for i in range(len(names)) if before.nodes >> i & 1}
            for part in re.split(r",(?=[+-])", text):
                named = dict.fromkeys(expand(part[1:], MOST_NAMES))
                found = {**found, **named} if part[0] == "+" else {n: None for n in found if n not in named}
            return tuple(found)
        except ValueError:
            raise Refusal("Invalid node name specified") from None

    # -- the requests -----------------------------------------------------------------------------------------------

    def create(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol create reservation``."""
        operators_only(self.cluster, person)
        asked = arguments["reservation"]
        get = asked.get
        start = int(get("start_time") or self.cluster.now)
        flags, _ = self._flags(get("flags") or [])
        self._check_flags(frozenset(), flags, frozenset())
        users, accounts = self._who(self._members(asked), "users", new=True), self._who(get("accounts"), "accounts")
        self._require_associations(users or (), accounts or (), grouped=bool(get("groups")))
        spec = ReservationSpec(
            get("name") or "", start, self._end(asked, start), self._nodes(get("node_list")),
            tuple(get("node_cnt") or ()), tuple(get("core_cnt") or ()), get("partition") or "",
            get("features") or "", self._licenses(get("licenses")) or (), users or (), accounts or (), flags,
            int(get("purge_comp") or 300), *self._kinds_of_jobs(asked, None),
        )  # fmt: skip
        before = {r.name for r in self.cluster.controller.state.reserved.all}
        self._tell(CreateReservation(spec))
        # the core names a reservation without a name, so the name is that of the new one
        made = next((r for r in self.cluster.controller.state.reserved.all if r.name not in before), None)
        name = made.name if made is not None else spec.name
        self.cluster.reservation_texts[name] = {
            key: asked[key]
            for key in ("groups", "comment", "max_start_delay", "features")
            if asked.get(key) is not None
        }
        if made is not None and made.cores is not None:
            kept = self.cluster.reservation_texts[name]
            kept["created"] = self.cluster.now
            kept["cores"] = cores_kept(made, self.cluster)
        return {"name": name}

    def _kinds_of_jobs(self, asked: Mapping[str, Any], r: Reservation | None) -> list[Any]:
        """Return the QOS and partitions of jobs that may use it; of an update (`r`) None where nothing changes."""
        cluster = self.cluster
        accounting = cluster.database.accounting() if cluster.database.exists else None
        lists = (
            ("qos", [] if accounting is None else [one.name for one in accounting.qos], BAD_QOS),
            ("allowed_parts", list(cluster.controller.state.cluster.by_name), BAD_PARTITION),
        )
        found: list[Any] = []
        for field, known, refusal in lists:
            text = asked.get(field)
            if r is None:
                found.append(_kinds_of_new(text, known, refusal) if text else ())
            else:
                before = r.qos if field == "qos" else r.allowed_partitions
                found.append(_kinds_after(text, before, known, refusal) if text else None)
        return found

    def _members(self, asked: Mapping[str, Any]) -> str | None:
        """Users, or those of the groups."""
        groups = asked.get("groups")
        if not groups:
            return asked.get("users")
        wanted = [word.lstrip("+-") for word in groups.split(",")]
        found = [person for person in self.cluster.people.all() if person.group in wanted]
        names = [person.name for person in found]
        if found and not any(one.uid for one in found) and not since(self.cluster.release, "root_may_be_a_group"):
            raise Refusal("Unspecified error")  # a list of uids ended with 0
        if not names:
            raise Refusal("Invalid group id" if since(self.cluster.release, "invalid_group") else "Invalid user id")
        return ",".join(names)

    def _end(self, asked: Mapping[str, Any], start: int) -> int:
        if asked.get("end_time") is not None:
            return int(asked["end_time"])
        minutes = asked.get("duration")
        return start + (ONE_YEAR_S if minutes is None or minutes >= INFINITE else int(minutes) * 60)

    def update(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol update reservationname``."""
        operators_only(self.cluster, person)
        asked = arguments["reservation"]
        get = asked.get
        name = str(asked["name"])
        r = self.cluster.controller.state.reserved.find(name)
        on, off = self._flags(get("flags") or [])
        if r is not None:
            self._check_flags(frozenset(r.flags), on, off)
        start, end = get("start_time"), get("end_time")
        skip = r is not None and "+SKIP" in (get("flags") or [])
        if r is not None and skip and not r.repeats:
            raise Refusal(NO_SKIP)
        counts, partition = get("node_cnt"), get("partition")
        if partition == "" and since(self.cluster.release, "partition_of_reservation_stays"):
            raise Refusal(f"Reservation partition cannot be removed\n{BAD_PARTITION}")
        if partition and partition not in self.cluster.controller.state.cluster.by_name:
            raise Refusal(BAD_PARTITION)
        if get("features") and r is not None:  # its nodes would have to be chosen anew
            raise Refusal(NOT_SUPPORTED)
        accounts = self._who(get("accounts"), "accounts", r.accounts if r else ())
        users, groups = self._people(asked, name, r)
        if r is not None:
            self._require_associations(
                r.users if users is None else users, r.accounts if accounts is None else accounts, grouped=bool(groups)
            )
        qos, allowed = self._kinds_of_jobs(asked, r)
        self._tell(UpdateReservation(
            name, start, end, self._duration(asked, r), self._nodes(get("node_list"), r),
            None if not counts else sum(counts), users, accounts, self._licenses(get("licenses")), on, off, partition,
            qos, allowed, skip, None if get("purge_comp") is None else int(get("purge_comp")),
        ))  # fmt: skip
        kept = self.cluster.reservation_texts.setdefault(name, {})
        kept |= {key: asked[key] for key in ("comment", "max_start_delay") if asked.get(key) is not None}
        kept["groups"] = groups
        return {}

    def _people(
        self, asked: Mapping[str, Any], name: str, r: Reservation | None
    ) -> tuple[tuple[str, ...] | None, str | None]:
        """Return its users after an update, None for those it has; and its groups. Raises Refusal for both."""
        before = self.cluster.reservation_texts.get(name, {}).get("groups")
        listed = tuple((before or "").split(",")) if before else ()
        named = r.users if r is not None and not before else ()
        text, groups = asked.get("users"), asked.get("groups")
        if r is not None and before and groups is None and text and all(word[0] == "-" for word in text.split(",")):
            return self._who(text, "users", r.users), before  # who is in the groups is its list of users, too
        users = self._who(text, "users", named)
        if groups is not None:
            listed = self._merged([word for word in groups.split(",") if word], listed)
        if listed and (users or (users is None and named)):
            raise Refusal(USERS_OR_GROUPS)
        text = ",".join(listed) or None
        if text is None:
            return (() if before and users is None else users), None
        return self._who(self._members({"groups": text}), "users"), text

    def _duration(self, asked: Mapping[str, Any], r: Reservation | None) -> int | None:
        minutes = asked.get("duration")
        if minutes is None:
            return None
        seconds = ONE_YEAR_S if minutes >= INFINITE else int(minutes) * 60
        sign = asked.get("duration_sign")
        if r is None or not sign:
            return seconds
        present = r.end - r.start
        return present + seconds if sign == "+" else max(present - seconds, 0)

    def _may_delete(self, name: str, person: Person) -> bool:
        """Return True if a reservation lets those who may use it delete it, and `person` may (validate_resv_uid)."""
        cluster = self.cluster
        r = cluster.controller.state.reserved.find(name)
        if r is None or not since(cluster.release, "reservations_users_delete"):
            return False
        always = "user_resv_delete" in str(cluster.spec.options.get("SlurmctldParameters") or "").lower()
        return (always or "USER_DELETE" in r.flags) and may_use(r, cluster, person)

    def delete(self, arguments: Arguments, person: Person) -> Arguments:
        """Carry out ``scontrol delete reservationname``."""
        name = str(arguments["target"])
        if not self._may_delete(name, person):
            operators_only(self.cluster, person)
        self._tell(DeleteReservation(name))
        self.cluster.reservation_texts.pop(name, None)
        return {}


def _known_kind(word: str, known: list[str], refusal: str) -> str:
    """Return a QOS or partition as it is spelled. Raises Refusal."""
    name = next((one for one in known if one.lower() == word.lower()), None)
    if name is None:
        raise Refusal(refusal)
    return name


def _kinds_of_new(text: str, known: list[str], refusal: str) -> tuple[str, ...]:
    """Return the sorted list of a new reservation; ``-`` is before all of its names or before none. Raises Refusal."""
    words = [word for word in text.split(",") if word]
    if len({word[0] == "-" for word in words}) > 1:
        raise Refusal(refusal)
    names = sorted({_known_kind(word.removeprefix("-"), known, refusal) for word in words})
    return tuple(f"-{name}" if words[0][0] == "-" else name for name in names)


def _kinds_after(text: str, before: tuple[str, ...], known: list[str], refusal: str) -> tuple[str, ...]:
    """Return a list after an update: ``+`` lets in, ``-`` keeps out, bare names replace it. Raises Refusal.

    A list of what is kept out stays one. None that becomes empty is taken (_update_qos_list).
    """
    barred = bool(before) and before[0].startswith("-")
    names = {one.removeprefix("-") for one in before}
    replaced = out = False
    for word in filter(None, text.split(",")):
        if word[0] in "+-":
            out = word[0] == "-"
        elif not replaced:
            names, barred, replaced = set(), False, True
        name = _known_kind(word.lstrip("+-"), known, refusal)
        (names.discard if out != barred else names.add)(name)
    if not names:
        raise Refusal(refusal)
    return tuple(f"-{name}" if barred else name for name in sorted(names))


def _altered(names: list[str], before: tuple[str, ...], refusal: str) -> tuple[str, ...]:
    """Return the list `before` without, or with, each of `names`; one of who may not use it keeps `-` before its names.

    Raises Refusal for who is to be taken out of a list he is not in (_handle_add_remove_names, reservation.c, 24.11).
    """
    barred = before[0].startswith("-")
    found = [one.removeprefix("-") for one in before]
    wanted = [(word[1:], (word[0] == "-") != barred) for word in names]
    for name, out in wanted:
        if out:
            if name not in found:
                raise Refusal(refusal)
            found.remove(name)
    found += dict.fromkeys(name for name, out in wanted if not out and name not in found)
    return tuple(f"-{name}" if barred else name for name in found)
