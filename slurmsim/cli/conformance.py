"""``slurmsim conformance``: scenarios of Slurm's commands, against slurmsim, a real Slurm, or any other sbatch.

They are a distribution of their own, slurm-conformance, which needs nothing of slurmsim and has its own options.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from slurmsim.errors import ConfigError

DESCRIPTION = """Run scenarios of Slurm's commands against slurmsim or another target, and compare the answers with real
Slurm's. Needs slurm-conformance: pip install tests/conformance in a checkout of slurmsim. Exit code: 0 if nothing
differs, 1 if something does."""


def add_options(parser: argparse.ArgumentParser) -> None:
    if find_spec("slurm_conformance") is not None:
        from slurm_conformance.__main__ import add_options as add_theirs

        add_theirs(parser)


def run(args: argparse.Namespace) -> int:
    """Run the scenarios. Raises ConfigError."""
    if find_spec("slurm_conformance") is None:
        raise ConfigError("slurm-conformance is not installed", field="slurmsim conformance",
                          expected="pip install tests/conformance in a checkout of slurmsim")  # fmt: skip
    from slurm_conformance.__main__ import act
    from slurm_conformance.scenario import FormatError

    try:
        return int(act(args))
    except FormatError as error:
        raise ConfigError(str(error), field="slurmsim conformance") from None
