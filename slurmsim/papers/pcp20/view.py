"""The PCP'20 experiment as text, for programs, and as files."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from slurmsim.experiments.claims import Claim, claim_facts, claims_table, list_of_claims
from slurmsim.experiments.results import estimate_facts, write_results
from slurmsim.experiments.verdicts import MISSING
from slurmsim.papers.pcp20.cells import PREDICTORS
from slurmsim.papers.pcp20.figure import figure
from slurmsim.papers.pcp20.goals import LISTED
from slurmsim.papers.pcp20.run import SAVED_BY, Result, schedulers
from slurmsim.papers.pcp20.tables import (
    MEASURES,
    gain_sentence,
    instance_claims,
    instance_table,
    quality_table,
    system_claims,
    system_table,
    times_table,
    variables_claims,
    variables_table,
)
from slurmsim.report.text import table


def as_text(found: Result) -> str:
    """All tables for a terminal."""
    blocks = []
    everything: list[Claim] = []
    for part in found.parts:
        kind, name = part.split("-")
        first = next(iter(found.of(part).values()))
        blocks.append(f"{part}: {first['about']}")
        claims: list[Claim] = []
        if kind == "instances":
            each = found.instances(part)
            contested = sum(one["pcp19_asked"] for one in each)
            blocks[-1] += (f"; {len(each)} of {first['asked']} instances, saved while {SAVED_BY[name]} dispatches, "
                           f"{contested} of them contested")  # fmt: skip
            if each:
                claims = instance_claims(each)
                blocks.append(table(instance_table(each)))
        elif kind == "variables":
            claims = variables_claims(found, part)
            blocks.append(table(variables_table(found, part)))
        elif kind == "systems":
            claims = system_claims(found, part)
            blocks += [table(system_table(found, part)), table(times_table(found, part))]
        else:
            blocks[-1] += f"; {found.sizes.seeds} replicates; ± is the 95 % interval"
            blocks += [table(quality_table(found, part)), gain_sentence(found, part)]
        if claims:
            blocks.append(table(claims_table(claims)))
            everything += claims
    absent = [f"{letter} = {option}" for letter, option in PREDICTORS.items() if letter]
    blocks.append(f"Durations: requested, and where the option exists {', '.join(absent)}.")
    blocks.append(f"On the paper's own jobs: {MISSING}.")
    blocks += [f"{part}: {MISSING}; name a folder with --data or SLURMSIM_DATA." for part in found.left_out]
    return "\n\n".join([*blocks, table(list_of_claims(LISTED, everything))])


def as_dict(found: Result) -> dict[str, Any]:
    """Everything for programs: claims of each part, and the figures of every cell."""
    parts: dict[str, Any] = {}
    for part in found.parts:
        kind = part.split("-")[0]
        parts[part] = {"about": next(iter(found.of(part).values()))["about"]}
        if kind == "instances" and found.instances(part):
            parts[part]["claims"] = claim_facts(instance_claims(found.instances(part)))
        elif kind == "variables":
            parts[part]["claims"] = claim_facts(variables_claims(found, part))
        elif kind == "systems":
            parts[part]["claims"] = claim_facts(system_claims(found, part))
        elif kind == "quality":
            parts[part]["schedulers"] = {
                name: {measure: estimate_facts(found.estimate(part, name, measure)) for measure, _ in MEASURES}
                for name in schedulers(part)
            }
            parts[part]["gain"] = gain_sentence(found, part)
    return {"sizes": asdict(found.sizes), "parts": parts, "not_attempted": found.left_out, "cells": found.cells,
            "tables": tables(found)}  # fmt: skip


def tables(found: Result) -> dict[str, list[list[str]]]:
    """Return the tables for the page, but for claims."""
    made: dict[str, list[list[str]]] = {}
    for part in found.parts:
        kind = part.split("-")[0]
        if kind == "instances" and found.instances(part):
            made[part] = instance_table(found.instances(part))
        elif kind == "variables":
            made[part] = variables_table(found, part)
        elif kind == "systems":
            made |= {part: system_table(found, part), f"times {part}": times_table(found, part)}
        elif kind == "quality":
            made[part] = quality_table(found, part)
    return made


def write(found: Result, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json``, ``pcp20.png`` and ``pcp20.svg``. Raises OutputError."""
    drawn = figure(found)
    return write_results(folder, as_text(found), as_dict(found), {"pcp20.png": drawn, "pcp20.svg": drawn})
