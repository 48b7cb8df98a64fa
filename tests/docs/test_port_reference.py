"""docs/port.md is what the port's docstrings say, and tells something of every name."""

from __future__ import annotations

import ast
import re

import port_reference

import slurmsim.policy as port


def test_the_page_is_what_the_docstrings_say() -> None:
    assert port_reference.PAGE.read_text("utf-8") == port_reference.page(), "python tests/docs/port_reference.py"


def test_every_name_is_there_once_and_classes_and_functions_say_what_they_are() -> None:
    text = port_reference.page()
    assert sorted(re.findall(r"^### (\S+)$", text, re.M)) == sorted(port.__all__)
    for name, (_, node, _) in port_reference.definitions().items():
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            assert port_reference.read_doc(node).text, name


def test_a_section_goes_to_its_members() -> None:
    source = (
        'class View:\n    """A view.\n\n'
        '    Attributes\n    ----------\n    first, second\n        Two numbers.\n    """\n'
        "    first: int\n    second: int = 2\n    _hidden: int = 3\n"
        '    @property\n    def third(self) -> str:\n        """A word."""\n'
        '    def asked(self, of: int) -> bool:\n        """Return True if so."""\n'
    )
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.ClassDef) and port_reference.read_doc(node).text == "A view."
    found = [(one.name, one.kind, one.text) for one in port_reference.members_of(node)]
    assert found == [
        ("first", "int", "Two numbers."), ("second", "int = 2", "Two numbers."), ("third", "str", "A word."),
        ("asked(of: int) → bool", "", "Return True if so."),
    ]  # fmt: skip
