"""docs/api.md is what the docstrings say, has every public name, and says something of each."""

from __future__ import annotations

import re

import api_reference

import slurmsim


def test_the_page_is_what_the_docstrings_say() -> None:
    assert api_reference.PAGE.read_text("utf-8") == api_reference.page(), "python tests/docs/api_reference.py"


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    shown = re.findall(r"^### (\S+)$", api_reference.page(), re.M)
    assert set(slurmsim.__all__) - {"__version__"} <= set(shown) and len(set(shown)) == len(shown)
    for modules in api_reference.NAMES.values():
        for module, names in modules:
            for name in names:
                assert api_reference.read_doc(api_reference.definition(module, name)).text, name
