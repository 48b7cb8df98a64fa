"""Who is in which group: the output of ``getent group`` and ``getent passwd``, for AllowGroups of partitions."""

from collections.abc import Mapping, Sequence

from slurmsim.config.findings import Place, Report
from slurmsim.errors import ConfigError
from slurmsim.input_file import read_text
from slurmsim.model.cluster import ClusterSpec
from slurmsim.numerals import is_number

Groups = Mapping[str, frozenset[str]]
FORMS = "name:password:gid:user,user… (getent group) or name:password:uid:gid:… (getent passwd)"
_WITHOUT = "has no effect without --groups"


def read_groups(files: Sequence[str]) -> Groups | None:
    """Return the groups of each user: those that list the user, and that of the user's gid; None for no files.

    Raises ConfigError with file and line.
    """
    if not files:
        return None
    members: dict[str, set[str]] = {}
    names: dict[str, str] = {}  # of groups, by gid
    own: list[tuple[str, str]] = []  # user and gid
    for file in files:
        for number, line in enumerate(_text(file).splitlines(), 1):
            fields = line.strip().split(":")
            if fields == [""] or line.startswith("#"):
                continue
            if len(fields) == 4 and fields[0] and is_number(fields[2]):
                names.setdefault(fields[2], fields[0])
                for user in filter(None, (word.strip() for word in fields[3].split(","))):
                    members.setdefault(user, set()).add(fields[0])
            elif len(fields) == 7 and fields[0] and is_number(fields[3]):
                own.append((fields[0], fields[3]))
            else:
                raise ConfigError(f"{line.strip()[:40]!r} is no group and no user", file=file, line=number,
                                  expected=FORMS)  # fmt: skip
    for user, gid in own:
        if gid in names:
            members.setdefault(user, set()).add(names[gid])
    if not names:
        raise ConfigError("no group in it", file=files[0], field="--groups", expected=FORMS)
    return {user: frozenset(found) for user, found in members.items()}


def check_groups(groups: Groups, cluster: ClusterSpec, report: Report) -> None:
    """Warn about groups in AllowGroups that have no member."""
    known = frozenset().union(*groups.values())
    for p in cluster.partitions:
        for name in p.allow_groups:
            if name not in known:
                report.warning(Place(), f"PartitionName={p.name} AllowGroups", name, "no user is in this group")


def warn_missing_groups(report: Report) -> None:
    """Add a warning for each AllowGroups, when nothing is known of groups."""
    for seen in report.seen:
        if seen.key == "AllowGroups" and seen.value.strip().upper() not in ("", "ALL"):
            report.warning(seen.place, seen.key, seen.value, f"{_WITHOUT}: jobs of all users are accepted")


def _text(file: str) -> str:
    try:
        return read_text(file)
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error.reason} at byte {error.start}", file=file, expected=FORMS) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", file=file, field="--groups") from None
