"""``sshare --json`` of Slurm 24.11 and 26.05."""

from __future__ import annotations

import math

from slurmsim.commands.json import frame as dump_frame
from slurmsim.commands.json.frame import number
from slurmsim.commands.json.versions import chosen
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io

    Record = dict[str, Any]
_UNSET_SHARE = 2.3283064376228985e-10  # what stands for the share of the root, which has none
_ENDLESS = 1.8446744073709552e19  # 26.05 writes this for infinity, and warns


def dump_shares(answer: Record, form: str, io: Io, release: str, argv: list[str], parser: str = "") -> int:
    """Print all; the exit code."""
    version = chosen("sshare", parser, release, io)
    warnings: list[Record] = []
    rows = [_share(row, answer["cluster"], release, warnings) for row in answer["rows"]]
    shares = {"shares": {"shares": rows, "total_shares": 0}}
    dump_frame.write(io, form, release, shares, ["sshare", *argv], answer["cluster"], warnings=warnings,
                     version=version)  # fmt: skip
    return 0


def _share(row: Record, cluster: str, release: str, warnings: list[Record]) -> Record:
    root = row["parent"] is None
    level = row["level_fs"]
    shown = number(level, infinite=level == math.inf)
    if level == math.inf or level is None:
        shown["number"] = 0.0
    if level == math.inf and since(release, "infinity_as_number"):
        shown = number(_ENDLESS)
        warnings.append({"description": "Dumping (0xffffffffffffffff) as place holder for Infinity", "source": ""})
    tres = {
        "run_seconds": [{"name": name, "value": number(count)} for name, count in row["run_seconds"].items()],
        "group_minutes": [
            {"name": name, "value": number(count, infinite=count is None)}
            for name, count in row["group_minutes"].items()
        ],
        "usage": [{"name": name, "value": round(count, 6)} for name, count in row["used_seconds"].items()],
    }
    return {
        "id": row["id"], "cluster": cluster, "name": row["user"] or row["account"], "parent": row["parent"] or "",
        "partition": row["partition"] or "",
        "shares_normalized": number(_UNSET_SHARE if root else row["norm_shares"]), "shares": number(row["shares"]),
        "tres": tres, "effective_usage": _double(row["effective"]), "usage_normalized": _double(row["norm_usage"]),
        "usage": row["usage"], "fairshare": {"factor": _double(row["factor"]), "level": shown},
        "type": ["USER" if row["user"] else "ASSOCIATION"],
    }  # fmt: skip


def _double(value: float | None) -> Record:
    return {"set": value is not None, "infinite": False, "number": float(value or 0)}
