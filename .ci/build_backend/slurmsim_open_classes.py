"""A plugin for mypy that keeps compiled classes as open as Python's.

By default mypyc's classes may not be extended in Python, nor copied unless their constructor takes no arguments.
``@mypyc_attr(allow_interpreted_subclasses=True)`` lifts both; here every class of the project gets it while it is
compiled, so the sources need neither the decorator nor the package it comes from. Classes with a foreign base
(enumerations) are no classes of mypyc's anyway.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import ARG_NAMED, GDEF, CallExpr, Expression, MypyFile, NameExpr, SymbolTableNode
from mypy.plugin import ClassDefContext, Plugin

OURS = ("slurmsim.", "slurmsim_policies.")
MARK = "mypyc_attr"


class OpenClasses(Plugin):
    """Marks every class of the project."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        return [(10, "mypy_extensions", -1)] if file.fullname.startswith(OURS) else []

    def get_customize_class_mro_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return mark_open if fullname.startswith(OURS) else None


def mark_open(context: ClassDefContext) -> None:
    """Put the decorator on the class, as if it stood in the source."""
    cls = context.cls
    bases = [base.type.fullname for base in cls.info.bases if base.type.fullname != "builtins.object"]
    marked = any(
        isinstance(d, CallExpr) and isinstance(d.callee, NameExpr) and d.callee.name == MARK for d in cls.decorators
    )
    if marked or not all(base.startswith(OURS) for base in bases):  # mypy may come here more than once
        return
    names = context.api.modules[context.api.cur_mod_id].names
    if MARK not in names:
        names[MARK] = SymbolTableNode(
            GDEF, context.api.lookup_fully_qualified(f"mypy_extensions.{MARK}").node, module_public=False
        )
    callee, true = NameExpr(MARK), NameExpr("True")
    call = CallExpr(callee, [true], [ARG_NAMED], ["allow_interpreted_subclasses"])
    parts: tuple[Expression, ...] = (callee, true, call)
    for part in parts:
        part.set_line(cls)
    cls.decorators.append(call)
    call.accept(context.api)  # type: ignore[arg-type]


def plugin(version: str) -> type[Plugin]:
    """Entry point of mypy's plugins."""
    return OpenClasses
