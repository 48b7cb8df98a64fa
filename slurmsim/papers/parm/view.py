"""The parts of the experiment on PARM together: what `slurmsim bench parm` prints and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmsim.experiments.claims import list_of_claims
from slurmsim.experiments.results import write_results
from slurmsim.papers.parm.choices import view as parm_choices_view
from slurmsim.papers.parm.choices.run import ChoiceResult
from slurmsim.papers.parm.contested import view as parm_contested_view
from slurmsim.papers.parm.contested.run import ContestedResult
from slurmsim.papers.parm.data import FEWEST
from slurmsim.papers.parm.goals import LISTED
from slurmsim.papers.parm.large import view as parm_large_view
from slurmsim.papers.parm.large.run import LargeResult
from slurmsim.papers.parm.sweeps import view as parm_sweeps_view
from slurmsim.papers.parm.testbed import view as parm_view
from slurmsim.papers.parm.testbed.run import Result
from slurmsim.report.text import table

PARTS = ("testbed", "choices", "intrepid", "theta", "sweeps", "contested")


@dataclass(frozen=True, slots=True)
class Parts:
    """What was run: the testbed or None, large machines; the sweeps, our choices on the testbed and on Intrepid."""

    testbed: Result | None
    large: Sequence[LargeResult]
    sweeps: LargeResult | None = None
    choices: ChoiceResult | None = None
    contested: ContestedResult | None = None


def as_text(found: Parts) -> str:
    """All tables for a terminal."""
    blocks = [] if found.testbed is None else [parm_view.as_text(found.testbed)]
    blocks += [] if found.choices is None else [parm_choices_view.as_text(found.choices)]
    blocks += [parm_large_view.as_text(one) for one in found.large]
    blocks += [] if found.sweeps is None else [parm_sweeps_view.as_text(found.sweeps)]
    blocks += [] if found.contested is None else [parm_contested_view.as_text(found.contested)]
    found_claims = [] if found.testbed is None else parm_view.claims(found.testbed)
    found_claims += [] if found.choices is None else parm_choices_view.claims(found.choices)
    found_claims += [claim for one in found.large for claim in parm_large_view.claims(one)]
    found_claims += [] if found.sweeps is None else parm_sweeps_view.claims(found.sweeps)
    found_claims += [] if found.contested is None else parm_contested_view.claims(found.contested)
    return "\n\n\n".join([*blocks, table(list_of_claims(LISTED, found_claims))])


def as_dict(found: Parts) -> dict[str, Any]:
    """Return the same for programs."""
    testbed = {} if found.testbed is None else parm_view.as_dict(found.testbed)
    choices = {} if found.choices is None else {"choices": parm_choices_view.as_dict(found.choices)}
    sweeps = {} if found.sweeps is None else {"sweeps": parm_sweeps_view.as_dict(found.sweeps)}
    contested = {} if found.contested is None else {"contested": parm_contested_view.as_dict(found.contested)}
    large = {one.machine: parm_large_view.as_dict(one) for one in found.large}
    return {**testbed, **choices, **large, **sweeps, **contested, "tables": tables(found)}


def tables(found: Parts) -> dict[str, list[list[str]]]:
    """Return the tables for the page, but for claims."""
    made: dict[str, list[list[str]]] = {}
    if found.testbed is not None:
        made |= parm_view.tables(found.testbed)
    if found.choices is not None:
        made["choices"] = parm_choices_view.choices_table(found.choices)
        made["decided"] = parm_choices_view.decided_table(found.choices)
    for one in found.large:
        made[f"speed-ups {one.machine}"] = parm_large_view.speedup_table(one)
        made[f"speed-ups {one.machine} fewest"] = parm_large_view.speedup_table(one, FEWEST)
        made[f"sets {one.machine}"] = parm_large_view.sets_table(one)
        made |= {f"figures {one.machine} {gamma:g}": parm_large_view.figures_table(one, gamma) for gamma in one.gammas}
        made[f"steps {one.machine}"] = parm_large_view.steps_table(one)
    if found.sweeps is not None:
        made["sweeps points"] = parm_sweeps_view.figures_table(found.sweeps)
    if found.contested is not None:
        made["contested"] = parm_contested_view.choices_table(found.contested)
        made["contested decided"] = parm_contested_view.decided_table(found.contested)
    return made


def write(found: Parts, folder: Path) -> list[Path]:
    """Write ``results.txt``, ``results.json`` and a picture a part. Raises OutputError."""
    figures = {} if found.testbed is None else {"parm.png": parm_view.figure(found.testbed)}
    figures |= {f"parm-{one.machine}.png": parm_large_view.figure(one) for one in found.large}
    figures |= {} if found.sweeps is None else {"parm-sweeps.png": parm_sweeps_view.figure(found.sweeps)}
    return write_results(folder, as_text(found), as_dict(found), figures)
