"""An oracle: the real run times, which a simulation knows. What is won with it is what predictions could win at most.

In a live cluster run times are unknown, and this predictor is refused. Results name it as an oracle.
Source: the "-R" dispatchers of the PCP'20 paper (docs/systems/eurora.md); the "perfect estimates" of the literature.
"""

from slurmsim.policy import Predictor


class Real(Predictor):
    """Is told; never asked."""

    name = "real"
    summary = "ORACLE: real run times, which only a simulation can know"
    oracle = True
