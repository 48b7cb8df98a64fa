"""A learned order of the queue: a small network scores each job that fits, and the best one starts.

The same network looks at every job, so its answer does not depend on how many wait (the kernel network of D. Zhang and
others, "RLScheduler", SC 2020). Its file is TOML and holds numbers only, so reading a stranger's runs no code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from slurmsim.data_classes import dataclass
from slurmsim.errors import ConfigError
from slurmsim.gym.observing import Question
from slurmsim.toml_file import only_keys, read_toml

Floats = npt.NDArray[np.float64]

FEATURES: Final = ("waited", "limit", "share", "log_share", "slowdown", "free", "queued", "next_end")
"""What the network is told of a job and of the cluster, see `features`."""
FORMAT: Final = 1
MOST_LAYERS, MOST_WIDTH = 4, 256
DIGITS: Final = 9  # of a score that count, so the last bits of a processor's arithmetic decide nothing


def features(jobs: npt.NDArray[np.float32], cluster: npt.NDArray[np.float32]) -> Floats:
    """Return what the network sees of each of `jobs`, rows of an observation: shape (n_jobs, n_features).

    Times are logarithms of minutes, all numbers of about the size of 1. ``slowdown`` is the logarithm of what the
    slowdown would be if the job started now and ran for its limit.
    """
    of = jobs.astype(np.float64)
    waited, limit = 60 * of[:, 0], np.maximum(60 * of[:, 1], 0.1)
    share = np.maximum(of[:, 2], 1e-5)
    seen = np.empty((len(of), len(FEATURES)))
    seen[:, 0] = np.log1p(waited) / 5
    seen[:, 1] = np.log1p(limit) / 5
    seen[:, 2] = share
    seen[:, 3] = np.log2(share) / 8
    seen[:, 4] = np.log1p(waited / limit) / 3
    seen[:, 5] = cluster[0]
    seen[:, 6] = min(float(cluster[1]), 4.0)
    seen[:, 7] = np.log1p(60 * float(cluster[2])) / 5
    return seen


@dataclass(frozen=True, slots=True)
class Order:
    """The network: weights (n_in, n_out) and biases (n_out,) by layer, tanh between them, one number at the end."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    about: str = ""

    @classmethod
    def drawn(cls, rng: np.random.Generator, widths: tuple[int, ...] = (32, 16)) -> Order:
        """Return a network of these hidden widths with random weights; at first all jobs score nearly alike."""
        sizes = (len(FEATURES), *widths, 1)
        drawn = [rng.standard_normal((a, b)) / np.sqrt(a) for a, b in pairwise(sizes)]
        drawn[-1] *= 0.1
        return cls(tuple(drawn), tuple(np.zeros(b) for b in sizes[1:]))

    def layers(self, seen: Floats) -> list[Floats]:
        """Return what each layer answers to `seen`, the input first and the scores, shape (n_jobs, 1), last."""
        found = [seen]
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True), 1):
            inner = found[-1] @ weight + bias
            found.append(inner if number == len(self.weights) else np.tanh(inner))
        return found

    def scores(self, seen: Floats) -> Floats:
        """Return the score of each job, shape (n_jobs,)."""
        found: Floats = self.layers(seen)[-1][:, 0]
        return found

    def choose(self, question: Question) -> int:
        """Return the slot of the job that fits and scores best, the first of equals."""
        rows = np.flatnonzero(question.mask[:-1])
        if len(rows) == 1:
            return int(rows[0])
        return int(rows[np.round(self.scores(features(question.jobs[rows], question.cluster)), DIGITS).argmax()])

    def text(self) -> str:
        """Return the file of the network: TOML, numbers with seven digits."""
        lines = [
            f"format = {FORMAT}",
            f"about = {json.dumps(self.about)}",
            f"features = [{', '.join(map(repr, FEATURES))}]",
        ]
        for weight, bias in zip(self.weights, self.biases, strict=True):
            rows = [f"    [{', '.join(map(_number, row))}],\n" for row in weight.tolist()]
            lines += ["", "[[layer]]", f"bias = [{', '.join(map(_number, bias.tolist()))}]",
                      f"weight = [\n{''.join(rows)}]"]  # fmt: skip
        return "\n".join(lines) + "\n"


def read_order(file: str) -> Order:
    """Return the network of a file. Raises ConfigError naming file and field."""
    return order_of(read_toml(file, "a learned order in TOML"), file)


def order_of(found: Mapping[str, Any], file: str) -> Order:
    """Return the network that TOML tables of `file` describe. Raises ConfigError."""
    only_keys(file, "", dict(found), ("format", "about", "features", "layer"))
    if found.get("format") != FORMAT:
        raise ConfigError(f"{str(found.get('format'))[:40]}", file=file, field="format", expected=str(FORMAT))
    if found.get("features") != list(FEATURES):
        raise ConfigError("not the features of this release", file=file, field="features", expected=", ".join(FEATURES))
    layers = found.get("layer")
    if not isinstance(layers, list) or not 1 <= len(layers) <= MOST_LAYERS:
        raise ConfigError("missing or too many", file=file, field="layer", expected=f"1 to {MOST_LAYERS} [[layer]]")
    weights: list[Floats] = []
    biases: list[Floats] = []
    width = len(FEATURES)
    for number, layer in enumerate(layers, 1):
        where = f"layer {number}."
        if not isinstance(layer, dict):
            raise ConfigError("no table", file=file, field=f"layer {number}", expected="bias and weight")
        only_keys(file, where, layer, ("bias", "weight"))
        bias = _row(layer.get("bias"), None, file, where + "bias")
        if number == len(layers) and len(bias) != 1:
            raise ConfigError(f"{len(bias)} numbers", file=file, field=where + "bias", expected="1, the score")
        rows = layer.get("weight")
        if not isinstance(rows, list) or len(rows) != width:
            raise ConfigError(
                "not as many rows", file=file, field=where + "weight", expected=f"{width} rows of numbers"
            )
        weights.append(np.array([_row(row, len(bias), file, where + "weight") for row in rows]))
        biases.append(np.array(bias))
        width = len(bias)
    about = found.get("about", "")
    return Order(tuple(weights), tuple(biases), about if isinstance(about, str) else "")


def _row(values: Any, width: int | None, file: str, field: str) -> list[float]:
    """Return a list of `width` finite numbers, or of 1 to `MOST_WIDTH`. Raises ConfigError."""
    good = isinstance(values, list) and len(values) == (width or len(values)) and 1 <= len(values) <= MOST_WIDTH
    if not good or not all(type(value) in (int, float) and abs(value) < 1e6 for value in values):
        expected = f"{width or f'1 to {MOST_WIDTH}'} numbers below a million"
        raise ConfigError("no such list of numbers", file=file, field=field, expected=expected)
    return [float(value) for value in values]


def _number(value: float) -> str:
    """Return `value` in TOML with seven digits."""
    text = f"{value:.7g}"
    return text if any(mark in text for mark in ".e") else f"{text}.0"
