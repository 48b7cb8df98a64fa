"""The problems a policy's solver is asked for, saved as files that ``slurmsim dispatch`` reads.

They are what such a policy could not decide by itself: contested instances. Of many a bounded number is kept, evenly
spread over the run and always the same ones: every first, then every second, every fourth and so on.
"""

import json
from collections.abc import Callable
from pathlib import Path

from slurmsim.errors import ConfigError, OutputError

MOST = 1000  # how many instances are kept by default

Solver = Callable[[str, str], str]  # (name, request) -> answer, both texts of JSON: `slurmsim.sim.solving.solve`


def check_folder(folder: Path, most: int) -> None:
    """Raise ConfigError for a folder that cannot be begun, and for a number that says nothing."""
    if most < 1:
        raise ConfigError(f"{most} instances", field="--max-instances", expected="at least 1")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("is there already", file=str(folder), field="--save-instances",
                          expected="a folder that is new or empty")  # fmt: skip


class InstanceSaver:
    """Saves the instances of requests into a folder, ``NNNNNN.json`` for the N-th request.

    Parameters
    ----------
    folder
        Is made with the first of them.
    most
        Whenever there are more, every second one goes.
    """

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self.folder, self.most = folder, most
        # seen: how many requests there have been
        # kept: files, in the order of the requests
        self.seen, self.kept = 0, list[Path]()
        self._every = 1

    def around(self, solve: Solver) -> Solver:
        """`solve`, with the instances of its requests saved first."""

        def saving(name: str, request: str) -> str:
            self.save(request)
            return solve(name, request)

        return saving

    def save(self, request: str) -> None:
        """Save the instance of `request` if it is its turn.

        Raises
        ------
        OutputError
            It cannot be written.
        ConfigError
            The request has none: it is of a policy that is no dispatcher of single instances.
        """
        number, self.seen = self.seen, self.seen + 1
        if number % self._every:
            return
        data = json.loads(request)
        instance = data.get("instance") if isinstance(data, dict) else None
        if not isinstance(instance, dict):
            raise ConfigError("the policy asks its solver for what is no instance", field="--save-instances",
                              expected="a policy of slurmsim dispatch")  # fmt: skip
        file = self.folder / f"{number:06d}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(instance, separators=(",", ":")) + "\n", encoding="utf-8")
            self.kept.append(file)
            if len(self.kept) > self.most:
                for gone in self.kept[1::2]:
                    gone.unlink()
                del self.kept[1::2]
                self._every *= 2
        except OSError as error:
            raise OutputError(f"{file}: cannot be written: {error.strerror}") from None

    def notes(self) -> list[str]:
        """Return what to warn of once the run is over."""
        return [] if self.seen else ["warning: --save-instances: the policy asked no solver, so no instance is saved"]
