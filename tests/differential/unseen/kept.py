"""Recordings as they are kept: a compressed file a session or workload, with every file its replay reads."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

AGAIN = "again"  # folders of a session's other recordings begin so; where a kept one has them


def other_times(folder: Path, name: str) -> list[dict[str, Any]]:
    """What else real Slurm answered to the session recorded in the file `name`."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob(f"{AGAIN}*/{name}"))]


def pack(folder: Path, into: Path) -> None:
    """Keep what was recorded in `folder`."""
    into.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("s[0-9]*.json")):
        conf = folder / "conf" / path.stem
        recording = json.loads(path.read_text("utf-8"))
        recording[AGAIN] = other_times(folder, path.name)
        _write(into / f"{path.stem}.session.xz", {"conf": _texts(conf.iterdir()), "recording": recording})
    for path in sorted(path for path in folder.glob("w*.json") if not path.name.endswith(".workload.json")):
        files = _texts(folder.glob(f"{path.stem}.*"))
        _write(into / f"{path.stem}.workload.xz", {"files": files, "recording": path.name})


def _texts(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in sorted(paths)}


def _write(path: Path, kept: dict[str, Any]) -> None:
    path.write_bytes(lzma.compress(json.dumps(kept).encode(), preset=9 | lzma.PRESET_EXTREME))


def unpack(path: Path, folder: Path) -> Any:
    """Write the files of a kept session or workload into `folder`; its recording, or the name of it."""
    kept = json.loads(lzma.decompress(path.read_bytes()))
    for name, text in kept.get("conf", kept.get("files", {})).items():
        (folder / name).write_text(text, "utf-8")
    return kept["recording"]
