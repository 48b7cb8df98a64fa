"""A diagnosis as text, as JSON, and as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from slurmsim.calibrate.causes import Causes, Tried
from slurmsim.calibrate.remarks import Remark
from slurmsim.calibrate.study import Diagnosis
from slurmsim.config.findings import Finding, Seen
from slurmsim.config.option import Status
from slurmsim.fidelity.grade import Fit
from slurmsim.report import page
from slurmsim.report.text import duration, number, percent, table

SHOWN = 15  # changes shown on a terminal; the page and JSON have all
_FIT = ("", "jobs", "mean wait real", "replayed", "error", "rank correlation", "close", "verdict")
_TRIED = ("change", "now", "explains", "95 % interval", "factor", "error", "rank correlation", "close", "")


def not_modelled(findings: Sequence[Finding], seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """Return the configuration's keys and values that count otherwise here than in Slurm."""
    rows: list[dict[str, Any]] = [
        {"key": f"{one.group}.{one.key}" if one.group else one.key, "line": one.place.line, "value": one.value,
         "why": one.option.why}
        for one in seen if one.option.status is Status.NOT_MODELLED and not one.option.is_off(one.value)
    ]  # fmt: skip
    named = {str(row["key"]).rpartition(".")[2].lower() for row in rows}
    rows += [
        {"key": one.key, "line": one.line, "value": one.value, "why": one.message}
        for one in findings if one.severity == "warning" and one.key.rpartition(".")[2].lower() not in named
    ]  # fmt: skip
    return rows


def as_text(found: Diagnosis, keys: Sequence[dict[str, Any]]) -> str:
    blocks = [f"{found.log}: {found.missing}"] if found.missing else []
    blocks += [_listed("Data", found.data, "nothing is missing"), _listed("Clock", found.clock, "nothing is odd")]
    absent = [_key(row) for row in keys] + [_remark(one) for one in found.options]
    blocks.append("\n".join(["Not modelled", *(f"  {line}" for line in absent or ["nothing"])]))
    blocks.append(f"Grade\n  {found.fit.sentence.replace('baseline', 'replay')}")
    blocks.append(table([_FIT, *_fit_rows(found)]))
    if found.causes is not None:
        blocks.append(f"What would explain the difference\n  {found.causes.sentence}")
        if found.causes.interrupted:
            blocks.append("  Interrupted: not every change was replayed.")
        if found.causes.tried:
            blocks.append(table([_TRIED, *map(_tried_row, found.causes.tried[:SHOWN])]))
            if more := len(found.causes.tried) - SHOWN:
                blocks[-1] += f"\n… and {more} more" if more > 0 else ""
    return "\n\n".join(blocks)


def as_dict(found: Diagnosis, keys: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "log": found.log, "records": found.records, "missing": found.missing,
        "data": [asdict(one) for one in found.data], "clock": [asdict(one) for one in found.clock],
        "not_modelled": {"keys": list(keys), "options": [asdict(one) for one in found.options]},
        "grade": {**asdict(found.fit), "by": {what: {name: asdict(fit) for name, fit in fits}
                                              for what, fits in found.by.items()}},
        "causes": _causes(found.causes) if found.causes is not None else None,
        "interrupted": found.interrupted,
    }  # fmt: skip


def as_page(found: Diagnosis, keys: Sequence[dict[str, Any]]) -> str:
    """Return the diagnosis as one HTML document."""
    sentence = found.fit.sentence.replace("baseline", "replay")
    lines = [found.missing] if found.missing else []
    blocks = [page.heading(f"Calibration: {found.log}", *lines, sentence)]
    if found.causes is not None:
        blocks.append(page.paragraph(found.causes.sentence))
    if found.interrupted:
        blocks.append(page.banner("Interrupted: not every change was replayed."))
    blocks.append(page.section("Grade", page.table(_FIT, _fit_rows(found))))
    if found.causes is not None:
        bands = page.intervals("Share of the difference explained", _bands(found.causes))
        rows = [_tried_row(one) for one in found.causes.tried]
        blocks.append(
            page.section("What would explain the difference", bands, page.table(_TRIED, rows, left=(0, 1, 8)))
        )
    for title, remarks in (("Data", found.data), ("Clock", found.clock)):
        blocks.append(page.section(title, page.bullets(map(_remark, remarks)) or page.paragraph("Nothing is odd.")))
    absent = [*map(_key, keys), *map(_remark, found.options)]
    blocks.append(page.section("Not modelled", page.bullets(absent) or page.paragraph("Nothing.")))
    return page.page("Calibration", blocks)


def _listed(title: str, remarks: Sequence[Remark], nothing: str) -> str:
    return "\n".join([title, *(f"  {_remark(one)}" for one in remarks)]) if remarks else f"{title}\n  {nothing}"


def _remark(one: Remark) -> str:
    count = "" if one.count is None or f"{one.count:,}" in one.text else f" ({one.count:,})"
    return f"{one.severity}: {one.text}{count}"


def _key(row: dict[str, Any]) -> str:
    setting = f"{row['key']}={row['value']}" if row["value"] else row["key"]
    return f"{setting}: {row['why']}"


def _fit_rows(found: Diagnosis) -> Iterator[tuple[str, ...]]:
    yield _fit_row("all", found.fit)
    for what, fits in found.by.items():
        for name, fit in fits:
            yield _fit_row(f"{what} {name}".replace("class ", "").replace("_", " "), fit)


def _fit_row(name: str, fit: Fit) -> tuple[str, ...]:
    rho = "–" if fit.rank_correlation is None else f"{fit.rank_correlation:.2f}"
    return (
        name, number(fit.jobs), duration(fit.mean_logged_s), duration(fit.mean_replayed_s), percent(fit.error), rho,
        percent(fit.close), "too few jobs" if fit.verdict == "none" else fit.verdict,
    )  # fmt: skip


def _tried_row(one: Tried) -> tuple[str, ...]:
    if one.fit is None or one.factor is None:
        return (one.candidate.setting, one.candidate.now, *["–"] * 6, f"not replayed: {one.failed}")
    share = one.explains
    band = "–" if share is None or share.low is None else f"{share.low:.0%} to {share.high:.0%}"
    fit = _fit_row("", one.fit)
    said = (
        "changes nothing here" if one.same_as == "nothing" else f"same schedule as {one.same_as}" if one.same_as else ""
    )
    return (
        one.candidate.setting, one.candidate.now, "–" if share is None else f"{share.mean:.0%}", band,
        f"{one.factor:.2f}", *fit[4:7], said or one.candidate.why,
    )  # fmt: skip


def _bands(causes: Causes) -> Iterator[tuple[str, float, float | None, float | None, str]]:
    for one in causes.tried:
        if (share := one.explains) is not None:
            text = f"{share.mean:.0%}" + ("" if share.low is None else f" ({share.low:.0%} to {share.high:.0%})")
            yield one.candidate.setting, share.mean, share.low, share.high, text


def _causes(causes: Causes) -> dict[str, Any]:
    return {
        "sentence": causes.sentence, "factor": causes.factor, "replicates": causes.replicates,
        "explaining": [one.candidate.setting for one in causes.explaining],
        "tried": [{**asdict(one), "clear": one.clear} for one in causes.tried],
    }  # fmt: skip
