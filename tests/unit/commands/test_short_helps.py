"""``--help`` of the small commands tells every option they take, once."""

from __future__ import annotations

import importlib

import pytest

from slurmsim.commands.text import short_helps


@pytest.mark.parametrize("command", ["sbcast", "scancel", "sprio", "sstat", "strigger"])
def test_every_option_is_told(command: str) -> None:
    folder = "scancel" if command == "scancel" else "small"
    module = importlib.import_module(f"slurmsim.commands.{folder}.{command}")
    options = module._OTHERS if command == "strigger" else module._OPTIONS
    text = short_helps.text(command, options)
    told = {option.key for option in options if option.name and f"--{option.name}" in text}
    assert told == {option.key for option in options if option.name}
    assert "Help options:" in text
